/* The operators in double. */
#define REAL double
#define DUAL(name) geodec_dual_f64_##name
#include "lab/perspective/dual/dual.inc"
