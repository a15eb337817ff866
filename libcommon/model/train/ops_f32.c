/* float operators, scalar. */
#define REAL float
#define REAL_IS_FLOAT 1
#define MADD(a, b, c) ((a) * (b) + (c))
#define OPS_TYPE geodec_ops_f32
#define OPS_TABLE geodec__ops_f32_scalar
#define OPS_ISA "scalar"
#include "train/ops.inc"
