/* float operators, avx512. */
#define REAL float
#define REAL_IS_FLOAT 1
#define MADD(a, b, c) __builtin_fmaf((a), (b), (c))
#define OPS_TYPE geodec_ops_f32
#define OPS_TABLE geodec__ops_f32_avx512
#define OPS_ISA "avx512"
#include "train/ops.inc"
