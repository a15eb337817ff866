/* The operators in float. */
#define REAL float
#define DUAL(name) geodec_dual_f32_##name
#include "lab/perspective/dual/dual.inc"
