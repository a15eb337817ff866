#define PORTABLE
#include "base/cpu_internal.h"
#include "geometry/rbf_kernel_internal.h"

#define VARIANT(name) name##_scalar
#define LANES 2
#include "geometry/rbf_kernel.inc"

static inline vec all(double x) { return (vec){x, x}; }
static inline vec madd(vec a, vec b, vec c) { return a * b + c; }
static inline vec root(vec a) { return (vec){sqrt(a[0]), sqrt(a[1])}; }
static inline vec pick(ints mask, vec a, vec b) { return pick_bits(mask, a, b); }
static inline bool any(ints a) { return (a[0] | a[1]) != 0; }

/* weights, coordinates, two more of a value a site */
int64_t geodec__rbf_own(int64_t n, int64_t count) { return (count + 7) / 8 * 8 * (3 + n); }

/* coordinates in the frame, rows of weights */
int64_t geodec__rbf_common(geodec__rbf_task task, int64_t n, int64_t count)
{
    const int64_t rows[] = {
        [RBF_PATH] = 0, [RBF_VARIATION] = 2 * n, [RBF_FIELD] = n, [RBF_RIEMANN] = n + n * (n + 1) / 2};
    return (count + 7) / 8 * 8 * (n + rows[task]);
}

const geodec__rbf_kernels geodec__rbf_scalar = {
    "scalar", {path_scalar, variation_scalar, field_scalar, riemann_scalar}, exp_scalar};

const geodec__rbf_kernels *geodec__rbf_best(void)
{
#if defined(__x86_64__)
    if (geodec__cpu() & GEODEC__CPU_AVX512) return &geodec__rbf_avx512;
    if (geodec__cpu() & GEODEC__CPU_AVX2) return &geodec__rbf_avx2;
#endif
    return &geodec__rbf_scalar;
}
