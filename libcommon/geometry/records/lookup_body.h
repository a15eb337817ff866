/* Internal: the search, compiled once for each instruction set; KERNELS is the name of the table. Dimension 8 is
 * unrolled. */
#define F_INLINE INLINE
#include "base/simd_internal.h"
#include "records/lookup_internal.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { LANES_F = GEODEC__LOOKUP_LANES };
/* Above this value of records times tr(g) tr(g^-1) / n^2, tighter bounds pay because fewer boxes are opened. */
#define SKEWED 3e5

/* ---- distances in float64 ---------------------------------------------------------------------------------------- */

INLINE double distance_n(int64_t n, const double *q, const double *c, const double *g)
{
    double x[GEODEC_RBF_MAX_N], s = 0;
    for (int64_t i = 0; i < n; i++) x[i] = q[i] - c[i];
    for (int64_t i = 0; i < n; i++) {
        double t = g[i * n + i] * x[i];
        for (int64_t j = i + 1; j < n; j++) t = fma(2 * g[i * n + j], x[j], t);
        s = fma(x[i], t, s);
    }
    return s;
}

INLINE double distance_own_n(int64_t n, const double *q, const double *c, const float *g)
{
    double x[GEODEC_RBF_MAX_N], s = 0;
    for (int64_t i = 0; i < n; i++) x[i] = q[i] - c[i];
    for (int64_t i = 0; i < n; i++) {
        double t = (double)*g++ * x[i];
        for (int64_t j = i + 1; j < n; j++) t = fma(2 * (double)*g++, x[j], t);
        s = fma(x[i], t, s);
    }
    return s;
}

static double distance(int64_t n, const double *q, const double *c, const double *g)
{
    return n == 8 ? distance_n(8, q, c, g) : distance_n(n, q, c, g);
}

static double distance_own(int64_t n, const double *q, const double *c, const float *g)
{
    return n == 8 ? distance_own_n(8, q, c, g) : distance_own_n(n, q, c, g);
}

/* ---- a metric's factor and bounds -------------------------------------------------------------------------------- */

/* g = U^T D U with U unit upper triangular, from the upper triangle: u [n][n] above the diagonal, d [n], r [n] = 1 / d.
 * False unless every pivot is positive and finite. */
INLINE bool pivots(int64_t n, const double *g, double *u, double *d, double *r)
{
    double a[GEODEC_RBF_MAX_N * GEODEC_RBF_MAX_N];
    bool good = true;
    UNROLL for (int64_t i = 0; i < n; i++) UNROLL for (int64_t j = i; j < n; j++) a[i * n + j] = g[i * n + j];
    UNROLL for (int64_t k = 0; k < n; k++)
    {
        const double p = a[k * n + k];
        good &= p > 0 && p <= DBL_MAX;
        d[k] = p;
        r[k] = 1 / p;
        UNROLL for (int64_t i = k + 1; i < n; i++)
        {
            u[k * n + i] = a[k * n + i] * r[k];
            UNROLL for (int64_t j = i; j < n; j++) a[i * n + j] = fma(-u[k * n + i], a[k * n + j], a[i * n + j]);
        }
    }
    return good;
}

static void set_slack(int64_t n, double trace, double trace_inverse, geodec__lookup_bounds *b)
{
    b->norm = sqrt(trace);
    b->skew = trace * trace_inverse / (double)(n * n);
    b->slack = 1 + 256 * (double)(n * n) * DBL_EPSILON * trace * trace_inverse;
}

INLINE bool bounds_n(int64_t n, const double *g, geodec__lookup_bounds *b)
{
    double u[GEODEC_RBF_MAX_N * GEODEC_RBF_MAX_N], d[GEODEC_RBF_MAX_N], r[GEODEC_RBF_MAX_N];
    double trace = 0, trace_inverse = 0;
    if (!pivots(n, g, u, d, r)) return false;
    /* F = D^1/2 U */
    for (int64_t k = 0; k < n; k++) {
        const double root = sqrt(d[k]);
        b->factor[k * n + k] = (float)root;
        for (int64_t j = k + 1; j < n; j++) b->factor[k * n + j] = (float)(root * u[k * n + j]);
        trace += g[k * n + k];
    }
    /* V = U^-1 (unit upper) over u, then g^-1 = V D^-1 V^T. */
    for (int64_t j = n - 1; j > 0; j--)
        for (int64_t i = j - 1; i >= 0; i--) {
            double s = -u[i * n + j];
            for (int64_t k = i + 1; k < j; k++) s = fma(-u[i * n + k], u[k * n + j], s);
            u[i * n + j] = s;
        }
    double row[GEODEC_RBF_MAX_N] = {0}, diagonal[GEODEC_RBF_MAX_N];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i; j < n; j++) {
            double s = i == j ? r[j] : u[i * n + j] * r[j];
            for (int64_t k = j + 1; k < n; k++) s = fma(u[i * n + k] * r[k], u[j * n + k], s);
            if (i == j)
                diagonal[i] = s;
            else
                row[j] += fabs(s);
            row[i] += fabs(s);
        }
    for (int64_t i = 0; i < n; i++) {
        b->w[i] = (float)(1 / diagonal[i]);
        b->v[i] = (float)(1 / row[i]);
        trace_inverse += diagonal[i];
    }
    set_slack(n, trace, trace_inverse, b);
    return true;
}

/* bounds_n for n = 8, with columns of V in the lanes: c_j = e_j - sum_{k<j} u_kj c_k. */
static bool bounds_8(const double *g, geodec__lookup_bounds *b)
{
    double u[64], d[8], r[8], scaled[64], root[8], out[8], trace = 0, trace_inverse = 0;
    if (!pivots(8, g, u, d, r)) return false;
    v_store(root, v_sqrt(v_load(d)));
    UNROLL
    for (int k = 0; k < 8; k++) {
        b->factor[k * 8 + k] = (float)root[k];
        UNROLL
        for (int j = 0; j < 8; j++)
            if (j > k) b->factor[k * 8 + j] = (float)(root[k] * u[k * 8 + j]);
        trace += g[k * 8 + k];
    }
    vec c[8], diagonal = v_zero(), row = v_zero();
    UNROLL
    for (int j = 0; j < 8; j++) {
        static const double unit[15] = {0, 0, 0, 0, 0, 0, 0, 1};
        c[j] = v_load(unit + 7 - j);
        UNROLL
        for (int k = 0; k < 8; k++)
            if (k < j) c[j] = v_fnma(v_set1(u[k * 8 + j]), c[k], c[j]);
        const vec t = v_mul(v_set1(r[j]), c[j]);
        v_store(scaled + 8 * j, t);
        diagonal = v_fma(c[j], t, diagonal);
    }
    UNROLL
    for (int m = 0; m < 8; m++) { /* column m of the inverse */
        vec s = v_zero();
        UNROLL
        for (int j = 0; j < 8; j++)
            if (j >= m) s = v_fma(v_set1(scaled[8 * j + m]), c[j], s);
        row = v_add(row, v_abs(s));
    }
    v_store(out, v_div(v_set1(1), diagonal));
    for (int i = 0; i < 8; i++) b->w[i] = (float)out[i];
    v_store(out, v_div(v_set1(1), row));
    for (int i = 0; i < 8; i++) b->v[i] = (float)out[i];
    trace_inverse = v_sum(diagonal);
    set_slack(8, trace, trace_inverse, b);
    return true;
}

static bool bounds(int64_t n, const double *g, geodec__lookup_bounds *b)
{
    return n == 8 ? bounds_8(g, b) : bounds_n(n, g, b);
}

/* ---- one search -------------------------------------------------------------------------------------------------- */

typedef struct search {
    const geodec_lookup *l;
    const double *q, *g;
    float y[GEODEC_RBF_MAX_N], above[GEODEC_RBF_MAX_N], below[GEODEC_RBF_MAX_N]; /* relative to the centre */
    geodec__lookup_bounds b;                                                     /* of g */
    double slack;                                                                /* error of F x over |F|_F */
    double reach;                                                                /* longest length that can still win */
    float limit, box_limit;                                                      /* of squared lengths */
    float slab_slack;                                                            /* error of f_k x in `slabs`, twice */
    bool skewed;                                                                 /* the bounds of `slabs` are used */
    float wide[GEODEC_RBF_MAX_N * GEODEC_RBF_MAX_N];                             /* |F|, when skewed */
    int64_t best;
    double best2;
    int64_t evaluations;
} search;

/* Error of F x in float32. Query and anchor (both relative to the centre), the entries of F, and n products and sums
 * are rounded; together the error is below (n + 4) u |F|_F (|y| + |c|). The sum of n squares adds a relative error of
 * (n + 2) u. u = 2^-24 is doubled throughout. */
static float panel_limit(const search *s, double norm)
{
    const double r = s->reach + norm * s->slack + 1e-38;
    return (float)(r * r * (1 + 4 * (double)FLT_EPSILON)) + FLT_MIN;
}

static void set_limits(search *s, double slack)
{
    const double n = (double)s->l->n, t = fmax(s->best2, 0) * slack;
    s->reach = sqrt(t) * (1 + (n + 8) * (double)FLT_EPSILON);
    s->box_limit = (float)(t * (1 + (n + 8) * (double)FLT_EPSILON)) + FLT_MIN;
    if (s->g) s->limit = panel_limit(s, s->b.norm);
}

INLINE void evaluate(search *s, int64_t n, int64_t r)
{
    const double *c = s->l->q + r * n;
    const double d2 = s->g ? distance_n(n, s->q, c, s->g) : distance_own_n(n, s->q, c, s->l->g + r * (n * (n + 1) / 2));
    s->evaluations++;
    if (!(d2 < s->best2 || (d2 == s->best2 && r < s->best))) return;
    s->best2 = d2;
    s->best = r;
}

static void all_records(search *s)
{
    for (int64_t r = 0; r < s->l->records; r++) evaluate(s, s->l->n, r);
}

/* Distances of the anchors of panel p in `mask`, the most promising first. */
INLINE void refine(search *s, int64_t n, int64_t p, fvec sum, unsigned mask)
{
    const geodec_lookup *l = s->l;
    const int32_t *index = l->index + p * LANES_F;
    const double slack = s->g ? s->b.slack : l->slack;
    float d2[LANES_F];
    f_store(d2, sum);
    while (mask) {
        int k = __builtin_ctz(mask);
        if (s->best < 0)
            for (unsigned m = mask & (mask - 1); m; m &= m - 1)
                if (d2[__builtin_ctz(m)] < d2[k]) k = __builtin_ctz(m);
        mask &= ~(1u << k);
        if (index[k] < 0) continue;
        const double before = s->best2;
        evaluate(s, n, index[k]);
        if (s->best2 < before) {
            set_limits(s, slack);
            mask &= f_not_above(sum, s->g ? s->limit : panel_limit(s, (double)l->norm[p]));
        }
    }
}

/* P panels at once, which share the entries of F, row by row until the sum is large enough. The last k rows give the
 * minimum length over the other coordinates; the first rows weigh the stiff directions (row 1 is g e_1 / sqrt(g_11)),
 * and in a badly conditioned metric two of them usually suffice. */
INLINE void panels(const int P, const int stiff_first, search *s, int64_t n, const int64_t *p)
{
    const float *f = s->b.factor;
    fvec x[2][GEODEC_RBF_MAX_N], sum[2];
    UNROLL
    for (int q = 0; q < P; q++) {
        const float *a = s->l->anchor + p[q] * n * LANES_F;
        sum[q] = f_set1(0);
        UNROLL for (int64_t i = 0; i < n; i++) x[q][i] = f_sub(f_set1(s->y[i]), f_load(a + i * LANES_F));
    }
    UNROLL for (int64_t r = 0; r < n; r++)
    {
        const int64_t k = stiff_first ? r : n - 1 - r;
        fvec z[2], e = f_set1(f[k * n + k]);
        UNROLL
        for (int q = 0; q < P; q++) z[q] = f_mul(e, x[q][k]);
        UNROLL for (int64_t j = k + 1; j < n; j++)
        {
            e = f_set1(f[k * n + j]);
            UNROLL
            for (int q = 0; q < P; q++) z[q] = f_fma(e, x[q][j], z[q]);
        }
        UNROLL
        for (int q = 0; q < P; q++) sum[q] = f_fma(z[q], z[q], sum[q]);
        if (stiff_first ? r == (n - 1) / 4 || r == n / 2 : k == n / 2) {
            unsigned any = 0;
            UNROLL
            for (int q = 0; q < P; q++) any |= f_not_above(sum[q], s->limit);
            if (!any) return;
        }
    }
    UNROLL
    for (int q = 0; q < P; q++) {
        const unsigned mask = f_not_above(sum[q], s->limit);
        if (mask) refine(s, n, p[q], sum[q], mask);
    }
}

/* Distances of a panel in the records' own metrics. */
INLINE void panel_own(search *s, int64_t n, int64_t p)
{
    const geodec_lookup *l = s->l;
    const float *a = l->anchor + p * n * LANES_F, *f = l->factor + p * (n * (n + 1) / 2) * LANES_F;
    const float limit = panel_limit(s, (double)l->norm[p]);
    fvec x[GEODEC_RBF_MAX_N], sum = f_set1(0);
    UNROLL for (int64_t i = 0; i < n; i++) x[i] = f_sub(f_set1(s->y[i]), f_load(a + i * LANES_F));
    UNROLL for (int64_t k = n - 1; k >= 0; k--)
    {
        fvec z = f_mul(f_load(f), x[k]);
        UNROLL for (int64_t j = k + 1; j < n; j++) z = f_fma(f_load(f + (j - k) * LANES_F), x[j], z);
        f += (n - k) * LANES_F;
        sum = f_fma(z, z, sum);
        if (k == n / 2 && !f_not_above(sum, limit)) return;
    }
    const unsigned mask = f_not_above(sum, limit);
    if (mask) refine(s, n, p, sum, mask);
}

/* Visits the panels of a group in `mask`, whose boxes are at distance `bound`: the nearest first, the rest in their
 * order. */
INLINE void leaves(search *s, int64_t n, int64_t group, fvec bound, unsigned mask)
{
    int k = __builtin_ctz(mask);
    if (s->best < 0) {
        float b[LANES_F];
        f_store(b, bound);
        for (unsigned m = mask & (mask - 1); m; m &= m - 1)
            if (b[__builtin_ctz(m)] < b[k]) k = __builtin_ctz(m);
    }
    while (mask) {
        const float before = s->box_limit;
        int64_t p[2] = {group * LANES_F + k, 0};
        mask &= ~(1u << k);
        if (!s->g)
            panel_own(s, n, p[0]);
        else if (mask && before < INFINITY) {
            p[1] = group * LANES_F + __builtin_ctz(mask);
            mask &= mask - 1;
            if (s->skewed)
                panels(2, 1, s, n, p);
            else
                panels(2, 0, s, n, p);
        } else if (s->skewed)
            panels(1, 1, s, n, p);
        else
            panels(1, 0, s, n, p);
        if (s->box_limit < before) mask &= f_not_above(bound, s->box_limit);
        if (mask) k = __builtin_ctz(mask);
    }
}

/* Lower bounds of the squared lengths to sixteen boxes. */
INLINE fvec boxes(const search *s, int64_t n, const geodec__lookup_level *at, int64_t group)
{
    const float *lo = at->lo + group * n * LANES_F, *hi = at->hi + group * n * LANES_F;
    const float *w = s->g ? NULL : at->w + group * n * LANES_F, *v = s->g ? NULL : at->v + group * n * LANES_F;
    fvec top = f_set1(0), sum = f_set1(0);
    UNROLL for (int64_t i = 0; i < n; i++)
    {
        const fvec d = f_max(f_max(f_sub(f_load(lo + i * LANES_F), f_set1(s->above[i])),
                                   f_sub(f_set1(s->below[i]), f_load(hi + i * LANES_F))),
                             f_set1(0));
        const fvec d2 = f_mul(d, d);
        top = f_max(top, f_mul(d2, w ? f_load(w + i * LANES_F) : f_set1(s->b.w[i])));
        sum = f_fma(d2, v ? f_load(v + i * LANES_F) : f_set1(s->b.v[i]), sum);
    }
    return f_max(top, sum);
}

/* Lower bounds of the squared lengths to sixteen boxes, by the rows of F: |F (q - x)|^2 is the sum of (f_k (q - x))^2,
 * and each term is at least the square of |f_k (q - m)| - |f_k| h, the distance of the box from zero, where m is the
 * middle of the box and h half its sides. */
INLINE fvec slabs(const search *s, int64_t n, const geodec__lookup_level *at, int64_t group, fvec bound)
{
    const float *lo = at->lo + group * n * LANES_F, *hi = at->hi + group * n * LANES_F, *f = s->b.factor;
    const fvec zero = f_set1(0), two = f_set1(2), slack = f_set1(s->slab_slack);
    fvec x[GEODEC_RBF_MAX_N], h[GEODEC_RBF_MAX_N], sum = zero; /* twice q - m and h */
    UNROLL for (int64_t i = 0; i < n; i++)
    {
        const fvec l = f_load(lo + i * LANES_F), u = f_load(hi + i * LANES_F), y = f_set1(s->y[i]);
        x[i] = f_sub(f_sub(f_mul(two, y), l), u);
        h[i] = f_sub(u, l);
    }
    UNROLL for (int64_t k = 0; k < n; k++)
    {
        fvec z = f_mul(f_set1(f[k * n + k]), x[k]), w = f_fma(f_set1(f[k * n + k]), h[k], slack);
        UNROLL for (int64_t j = k + 1; j < n; j++)
        {
            z = f_fma(f_set1(f[k * n + j]), x[j], z);
            w = f_fma(f_set1(s->wide[k * n + j]), h[j], w);
        }
        const fvec gap = f_max(f_sub(f_max(z, f_sub(zero, z)), w), zero);
        sum = f_fma(gap, gap, sum);
        if (k == (n - 1) / 4 && !f_not_above(sum, 4 * s->box_limit)) return f_mul(f_set1(0.25F), sum);
    }
    return f_max(bound, f_mul(f_set1(0.25F), sum));
}

#define VISIT(name, N)                                                                                                 \
    static void name(search *s, int level, int64_t group)                                                              \
    {                                                                                                                  \
        const geodec_lookup *l = s->l;                                                                                 \
        const int64_t n = (N), left = l->level[level].boxes - group * LANES_F;                                         \
        fvec bound = boxes(s, n, &l->level[level], group);                                                             \
        unsigned mask = f_not_above(bound, s->box_limit);                                                              \
        if (mask && s->skewed) {                                                                                       \
            bound = slabs(s, n, &l->level[level], group, bound);                                                       \
            mask = f_not_above(bound, s->box_limit);                                                                   \
        }                                                                                                              \
        if (left < LANES_F) mask &= (1u << left) - 1u;                                                                 \
        if (level == 0) {                                                                                              \
            if (mask) leaves(s, n, group, bound, mask);                                                                \
            return;                                                                                                    \
        }                                                                                                              \
        float b[LANES_F];                                                                                              \
        f_store(b, bound);                                                                                             \
        while (mask) {                                                                                                 \
            int k = __builtin_ctz(mask);                                                                               \
            for (unsigned m = mask & (mask - 1); m; m &= m - 1)                                                        \
                if (b[__builtin_ctz(m)] < b[k]) k = __builtin_ctz(m);                                                  \
            mask &= ~(1u << k);                                                                                        \
            name(s, level - 1, group * LANES_F + k);                                                                   \
            mask &= f_not_above(bound, s->box_limit);                                                                  \
        }                                                                                                              \
    }
VISIT(visit_8, 8)
VISIT(visit_any, l->n)

static bool prepare(search *s)
{
    const geodec_lookup *l = s->l;
    const int64_t n = l->n;
    double far = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = s->q[i] - l->centre[i];
        s->y[i] = (float)d;
        far += d * d;
    }
    far = sqrt(far) + l->reach;
    const double shift = 4 * (double)FLT_EPSILON * far;
    for (int64_t i = 0; i < n; i++) {
        const double d = s->q[i] - l->centre[i];
        s->above[i] = (float)(d + shift);
        s->below[i] = (float)(d - shift);
    }
    s->slack = ((double)n + 4) * (double)FLT_EPSILON * far;
    s->skewed = s->g && s->b.skew * (double)l->records > SKEWED;
    if (s->skewed) {
        /* a corner of a box may be at sqrt(n) times the reach */
        const double corner = far + 2 * sqrt((double)n) * l->reach;
        s->slab_slack = (float)(s->b.norm * (4 * (double)n + 16) * (double)FLT_EPSILON * corner);
        for (int64_t k = 0; k < n; k++)
            for (int64_t j = k; j < n; j++) s->wide[k * n + j] = fabsf(s->b.factor[k * n + j]);
    }
    const double norm = s->g ? s->b.norm : l->stiff, slack = s->g ? s->b.slack : l->slack;
    s->limit = s->box_limit = INFINITY;
    s->reach = INFINITY;
    return far * fmax(norm, 1) < GEODEC__LOOKUP_FAR && slack < GEODEC__LOOKUP_SLACK;
}

/* ---- few records: float64 throughout ----------------------------------------------------------------------------- */

/* Eight records in the lanes. */
INLINE void few(search *s, int64_t n)
{
    const geodec_lookup *l = s->l;
    vec best = v_set1(INFINITY), at = v_set1(-1);
    for (int64_t p = 0; p * VEC < l->records; p++) {
        const double *c = l->minus + p * n * VEC;
        vec x[GEODEC_RBF_MAX_N], sum = v_zero();
        UNROLL for (int64_t i = 0; i < n; i++) x[i] = v_add(v_set1(s->q[i]), v_load(c + i * VEC));
        UNROLL for (int64_t i = 0; i < n; i++)
        {
            vec t = v_mul(v_set1(s->g[i * n + i]), x[i]);
            UNROLL for (int64_t j = i + 1; j < n; j++) t = v_fma(v_set1(2 * s->g[i * n + j]), x[j], t);
            sum = v_fma(x[i], t, sum);
        }
        v_min_at(sum, (double)(p * VEC), &best, &at);
    }
    double d2[VEC], first[VEC];
    v_store(d2, best);
    v_store(first, at);
    for (int k = 0; k < VEC; k++) {
        if (first[k] < 0) continue;
        int64_t r = (int64_t)first[k] + k;
        if (r >= l->records) r = l->records - 1; /* repeats the last record */
        if (d2[k] < s->best2 || (d2[k] == s->best2 && r < s->best)) {
            s->best2 = d2[k];
            s->best = r;
        }
    }
    s->evaluations = l->records;
}

/* Eight queries in the lanes: rows of 8 of the upper triangle, and of the queries. */
INLINE void eight_n(const geodec_lookup *l, int64_t n, const double *q, const double *g, geodec_lookup_hit *hit)
{
    const int64_t packed = n * (n + 1) / 2;
    double at_g[GEODEC__LOOKUP_PACKED * VEC], at_q[GEODEC_RBF_MAX_N * VEC], work[GEODEC__LOOKUP_PACKED * VEC];
    if (n == VEC) {
        double *to = at_g, all[VEC * VEC];
        v_transpose(q, VEC, at_q);
        UNROLL
        for (int i = 0; i < VEC; i++, to += (VEC - i + 1) * VEC) {
            v_transpose(g + i * VEC, VEC * VEC, all);
            memcpy(to, all + i * VEC, (size_t)((VEC - i) * VEC) * sizeof *to);
        }
    } else {
        for (int64_t k = 0; k < VEC; k++) {
            const double *row = g + k * n * n;
            int64_t e = k;
            for (int64_t i = 0; i < n; i++) {
                at_q[i * VEC + k] = q[k * n + i];
                for (int64_t j = i; j < n; j++, e += VEC) at_g[e] = row[i * n + j];
            }
        }
    }
    /* Pivots, as in `pivots`. */
    vec lowest = v_set1(INFINITY), largest = v_zero();
    memcpy(work, at_g, (size_t)(packed * VEC) * sizeof *work);
    double *a = work;
    UNROLL for (int64_t k = 0; k < n; a += (n - k) * VEC, k++)
    {
        const vec p = v_load(a), r = v_div(v_set1(1), p);
        vec none = v_zero();
        v_min_at(p, 0, &lowest, &none);
        largest = v_add(largest, v_abs(p));
        double *b = a + (n - k) * VEC;
        UNROLL for (int64_t i = k + 1; i < n; i++)
        {
            const vec f = v_mul(v_load(a + (i - k) * VEC), r);
            UNROLL for (int64_t j = i; j < n; j++, b += VEC)
                v_store(b, v_fnma(f, v_load(a + (j - k) * VEC), v_load(b)));
        }
    }
    int64_t e = 0;
    UNROLL for (int64_t i = 0; i < n; i++) UNROLL for (int64_t j = i; j < n; j++, e += VEC) if (j > i)
        v_store(at_g + e, v_mul(v_set1(2), v_load(at_g + e)));
    vec best = v_set1(INFINITY), at = v_set1(-1);
    for (int64_t c = 0; c < l->records; c++) {
        vec x[GEODEC_RBF_MAX_N], sum = v_zero();
        UNROLL for (int64_t i = 0; i < n; i++) x[i] = v_add(v_load(at_q + i * VEC), v_set1(-l->q[c * n + i]));
        const double *m = at_g;
        UNROLL for (int64_t i = 0; i < n; i++)
        {
            vec t = v_mul(v_load(m), x[i]);
            m += VEC;
            UNROLL for (int64_t j = i + 1; j < n; j++, m += VEC) t = v_fma(v_load(m), x[j], t);
            sum = v_fma(x[i], t, sum);
        }
        v_min_at(sum, (double)c, &best, &at);
    }
    double d2[VEC], index[VEC], low[VEC], top[VEC];
    v_store(d2, best);
    v_store(index, at);
    v_store(low, lowest);
    v_store(top, largest);
    for (int k = 0; k < VEC; k++) {
        const bool good = low[k] > 0 && top[k] <= DBL_MAX;
        hit[k] = (geodec_lookup_hit){good ? (int64_t)index[k] : -1, sqrt(d2[k] > 0 ? d2[k] : 0), l->records};
    }
}

static void eight(const geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit)
{
    if (l->n == 8)
        eight_n(l, 8, q, g, hit);
    else
        eight_n(l, l->n, q, g, hit);
}

static bool sound(int64_t n, const double *g)
{
    double u[GEODEC_RBF_MAX_N * GEODEC_RBF_MAX_N], d[GEODEC_RBF_MAX_N], r[GEODEC_RBF_MAX_N];
    return n == 8 ? pivots(8, g, u, d, r) : pivots(n, g, u, d, r);
}

static void nearest(const geodec_lookup *l, const double *q, const double *g, geodec_lookup_hit *hit)
{
    search s;
    s.l = l;
    s.q = q;
    s.g = g;
    s.best = -1;
    s.best2 = INFINITY;
    s.evaluations = 0;
    *hit = (geodec_lookup_hit){-1, 0, 0};
    if (g && l->minus) {
        if (!sound(l->n, g)) return;
        if (l->n == 8)
            few(&s, 8);
        else
            few(&s, l->n);
    } else {
        if (g && !bounds(l->n, g, &s.b)) return;
        if (!prepare(&s))
            all_records(&s);
        else if (l->n == 8)
            visit_8(&s, l->levels - 1, 0);
        else
            visit_any(&s, l->levels - 1, 0);
    }
    *hit = (geodec_lookup_hit){s.best, sqrt(s.best2 > 0 ? s.best2 : 0), s.evaluations};
}

const geodec__lookup_kernels KERNELS = {KERNEL_NAME, distance, distance_own, bounds, nearest, eight};
