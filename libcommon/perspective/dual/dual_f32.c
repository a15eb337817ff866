/* The operators in float. */
#define REAL float
#define DUAL(name) geodec_dual_f32_##name
#include "perspective/dual/dual.inc"
