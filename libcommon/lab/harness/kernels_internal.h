/* Internal: the two inner loops of the published manifold, one variant for each instruction set, all with the same bits
 * (lane by lane, no fused operations). */
#ifndef GEODEC_LAB_HARNESS_KERNELS_INTERNAL_H
#define GEODEC_LAB_HARNESS_KERNELS_INTERNAL_H

#include <stdint.h>

enum { LANES = 8 };

typedef struct geodec__harness_kernels {
    /* d2 [last - first] = |site_p - x|^2 of sites first .. last - 1, multiples of LANES; site_t [n][sites]. */
    void (*distances)(int64_t sites, int64_t first, int64_t last, int64_t n, const double *site_t, const double *x,
                      double *d2);
    /* Steps of classical Runge-Kutta with constant symbols, n <= LANES: as many of `steps` as have all their stages
     * within sqrt(inner2) of the centre; the number of them. packed: pairs i <= j of [LANES] values, zero beyond n;
     * centre, x, v [LANES], zero beyond n. */
    int64_t (*steps)(int64_t n, const double *packed, const double *centre, double inner2, double *x, double *v,
                     int64_t steps, double dl);
} geodec__harness_kernels;
extern const geodec__harness_kernels geodec__harness_kernels_scalar, geodec__harness_kernels_avx2,
    geodec__harness_kernels_avx512;
const geodec__harness_kernels *geodec__harness_kernels_best(void);

#endif
