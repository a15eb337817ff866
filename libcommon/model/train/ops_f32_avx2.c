/* float operators, avx2. */
#define REAL float
#define REAL_IS_FLOAT 1
#define MADD(a, b, c) __builtin_fmaf((a), (b), (c))
#define OPS_TYPE geodec_ops_f32
#define OPS_TABLE geodec__ops_f32_avx2
#define OPS_ISA "avx2"
#include "train/ops.inc"
