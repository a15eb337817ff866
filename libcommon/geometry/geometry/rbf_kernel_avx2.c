#include "geometry/rbf_kernel_internal.h"

#if defined(__AVX2__)
#include <immintrin.h>

#define VARIANT(name) name##_avx2
#define LANES 4
#include "geometry/rbf_kernel.inc"

static inline vec all(double x) { return (vec)_mm256_set1_pd(x); }
static inline vec madd(vec a, vec b, vec c) { return (vec)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
static inline vec root(vec a) { return (vec)_mm256_sqrt_pd((__m256d)a); }
static inline vec pick(ints mask, vec a, vec b) { return (vec)_mm256_blendv_pd((__m256d)b, (__m256d)a, (__m256d)mask); }
static inline bool any(ints a) { return !_mm256_testz_si256((__m256i)a, (__m256i)a); }

const geodec__rbf_kernels geodec__rbf_avx2 = {"avx2", {path_avx2, variation_avx2, field_avx2, riemann_avx2}, exp_avx2};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__rbf_kernels geodec__rbf_avx2 = {0};
#endif
