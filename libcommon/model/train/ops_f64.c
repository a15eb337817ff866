/* double operators. */
#define REAL double
#define REAL_IS_FLOAT 0
#define MADD(a, b, c) ((a) * (b) + (c))
#define OPS_TYPE geodec_ops_f64
#define OPS_TABLE geodec__ops_f64_scalar
#define OPS_ISA "scalar"
#include "train/ops.inc"
