/* Internal: the packed anchors of a lookup, and its kernels, one variant for each instruction set. All give the same
 * bits: every sum has a fixed order, and each lane uses fused multiply-adds exactly where the code has fma.
 *
 * The anchors are stored in the order of a k-d tree as float32, relative to the centre. A panel has sixteen anchors,
 * with a row of sixteen for each coordinate. Sixteen panels share a group of boxes, sixteen groups share one of the
 * next level, and so on. */
#ifndef GEODEC_RECORDS_LOOKUP_INTERNAL_H
#define GEODEC_RECORDS_LOOKUP_INTERNAL_H

#include "geometry/rbf.h"
#include "records/lookup.h"

enum {
    GEODEC__LOOKUP_LANES = 16,
    GEODEC__LOOKUP_SMALL = 48, /* up to this many records, plain float64 is faster than a search with bounds */
    GEODEC__LOOKUP_LEVELS = 16,
    GEODEC__LOOKUP_PACKED = GEODEC_RBF_MAX_N * (GEODEC_RBF_MAX_N + 1) / 2
};

typedef struct geodec__lookup_level {
    int64_t boxes;
    float *lo, *hi; /* [groups][n][16], relative to the centre */
    float *w, *v;   /* [groups][n][16] smallest bound weights of the records below; NULL without their metrics */
} geodec__lookup_level;

struct geodec_lookup {
    int64_t records, n;
    const double *q; /* [R][n], the caller's */
    const float *g;  /* [R][n(n+1)/2], the caller's, or NULL */
    const struct geodec__lookup_kernels *kernels;
    double *centre; /* [n] */
    double reach;   /* largest |q - centre| */
    int64_t panels;
    int32_t *index; /* [panels][16]; -1 = empty */
    float *anchor;  /* [panels][n][16] */
    float *factor;  /* [panels][n(n+1)/2][16] or NULL: rows of F of the records' metrics, the last row first */
    float *norm; /* [panels] largest |F|_F; zero for a metric too badly conditioned for bounds, so that its distance is
                    always computed */
    double slack, stiff; /* largest `slack` and `norm` of the records (geodec__lookup_bounds) */
    int levels;
    geodec__lookup_level level[GEODEC__LOOKUP_LEVELS];
    double *minus; /* [ceil(R / 8)][n][8] -q, the last repeated; up to GEODEC__LOOKUP_SMALL records, else NULL */
};

/* Search data of a metric: g = F^T F with F upper triangular (factor [n][n]; entries below the diagonal are not set),
 * and weights of two lower bounds that hold for every x:
 *     x^T g x >= max_i w_i x_i^2,  w_i = 1 / (g^-1)_ii              (the box around the ellipsoid)
 *     x^T g x >= sum_i v_i x_i^2,  v_i = 1 / sum_j |(g^-1)_ij|      (Gershgorin: g^-1 <= diag(sum_j |(g^-1)_ij|))
 * slack: factor on squared lengths that covers the rounding of all of these and of distances computed in float64. Each
 * result is exact for a metric that differs from g by at most c n^2 eps tr(g) with a small constant c (backward error
 * of the factorisation, of the triangular inverse and of a quadratic form). Relative to x^T g x this is at most c n^2
 * eps tr(g) tr(g^-1); slack uses 256 n^2 eps tr(g) tr(g^-1). */
typedef struct geodec__lookup_bounds {
    double norm, slack;
    double skew; /* tr(g) tr(g^-1) / n^2, at least 1 */
    float w[GEODEC_RBF_MAX_N], v[GEODEC_RBF_MAX_N], factor[GEODEC_RBF_MAX_N * GEODEC_RBF_MAX_N];
} geodec__lookup_bounds;

/* The largest length and `slack` for which the bounds are used; above them every record is computed in float64. */
#define GEODEC__LOOKUP_FAR 1e18
#define GEODEC__LOOKUP_SLACK 1.5

typedef struct geodec__lookup_kernels {
    const char *name;
    /* x^T g x, x = q - c, from the upper triangle: sum_i x_i (g_ii x_i + sum_{j>i} 2 g_ij x_j), fma throughout. g
     * [n][n] or packed [n(n+1)/2] float32. */
    double (*distance)(int64_t n, const double *q, const double *c, const double *g);
    double (*distance_own)(int64_t n, const double *q, const double *c, const float *g);
    /* False when g [n][n] has no Cholesky factor or is not finite. */
    bool (*bounds)(int64_t n, const double *g, geodec__lookup_bounds *out);
    /* hit->index is -1 when the query or the metric is not valid. */
    void (*nearest)(const struct geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit);
    /* Eight queries q [8][n] with metrics g [8][n][n], at most GEODEC__LOOKUP_SMALL records. */
    void (*eight)(const struct geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit);
} geodec__lookup_kernels;
extern const geodec__lookup_kernels geodec__lookup_scalar, geodec__lookup_avx2, geodec__lookup_avx512;
const geodec__lookup_kernels *geodec__lookup_best(void);

/* Panels, boxes and weights of l, whose q, g, n, records and kernels are set (lookup_pack.c). */
geodec_status geodec__lookup_pack(struct geodec_lookup *l, geodec_err *err) GEODEC_MUST_USE;

#endif
