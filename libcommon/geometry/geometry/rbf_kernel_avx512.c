#include "geometry/rbf_kernel_internal.h"

#if defined(__AVX512F__)
#include <immintrin.h>

#define VARIANT(name) name##_avx512
#define LANES 8
#include "geometry/rbf_kernel.inc"

static inline vec all(double x) { return (vec)_mm512_set1_pd(x); }
static inline vec madd(vec a, vec b, vec c) { return (vec)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
static inline vec root(vec a) { return (vec)_mm512_sqrt_pd((__m512d)a); }
static inline vec pick(ints mask, vec a, vec b) { return pick_bits(mask, a, b); }
static inline bool any(ints a) { return _mm512_test_epi64_mask((__m512i)a, (__m512i)a) != 0; }

const geodec__rbf_kernels geodec__rbf_avx512 = {
    "avx512", {path_avx512, variation_avx512, field_avx512, riemann_avx512}, exp_avx512};
#else
/* Compiled without these instructions: never chosen by the dispatcher. */
const geodec__rbf_kernels geodec__rbf_avx512 = {0};
#endif
