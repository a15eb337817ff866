#include "geometry/twonn.h"

#include "base/mem.h"
#include "base/rng.h"
#include "geometry/twonn_internal.h"
#include "linalg/knn.h"
#include "linalg/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

geodec_twonn_options geodec_twonn_defaults(void)
{
    return (geodec_twonn_options){.trim = 0.1, .replicates = 200, .seed = 1, .stream = geodec_rng_id("twonn", 0)};
}

/* Smaller differences of logarithms are ties that rounding has separated: float32 states resolve no less. */
static const double tie = 1e-9;

/* Both estimates of a sample that holds log_mu[i] (ascending) times[i] times; times NULL = once. rank_y[r] = -ln(1 -
 * (r+1)/n) for the n values themselves; a sample of another size has its ranks in proportion. */
static void estimate(int64_t n, const double *log_mu, const int64_t *times, const double *rank_y, int64_t kept,
                     double *ml, double *fit)
{
    double sum = 0, xx = 0, xy = 0;
    int64_t rank = 0, size = n;
    if (times) {
        size = 0;
        for (int64_t i = 0; i < n; i++) size += times[i];
    }
    const double step = size > 0 ? (double)n / (double)size : 1;
    for (int64_t i = 0; i < n; i++) {
        const double x = log_mu[i];
        for (int64_t c = times ? times[i] : 1; c > 0; c--, rank++) {
            const int64_t r = size == n ? rank : (int64_t)((double)rank * step);
            sum += x;
            if (r < kept) {
                xx += x * x;
                xy += x * rank_y[r];
            }
        }
    }
    *ml = (double)size / sum;
    *fit = xy / xx;
}

/* Values that differ by more than the rounding, of ascending log_mu. */
static int64_t count_values(int64_t n, const double *log_mu)
{
    int64_t count = n > 0;
    for (int64_t i = 1; i < n; i++) count += log_mu[i] - log_mu[i - 1] > tie;
    return count;
}

static geodec_twonn unmeasured(int64_t n, int64_t used, int64_t ratios)
{
    return (geodec_twonn){.points = n,
                          .used = used,
                          .ratios = ratios,
                          .ml = NAN,
                          .ml_low = NAN,
                          .ml_high = NAN,
                          .fit = NAN,
                          .fit_low = NAN,
                          .fit_high = NAN};
}

typedef struct ratio {
    double log_mu;
    int64_t block;
} ratio;

static int by_ratio(const void *pa, const void *pb)
{
    const ratio *a = pa, *b = pb;
    if (a->log_mu != b->log_mu) return a->log_mu < b->log_mu ? -1 : 1;
    return (a->block > b->block) - (a->block < b->block);
}

/* The ascending log_mu of the points with two different distances, and the block of each; *used of them. */
static geodec_status collect(int64_t n, const double *d2, const int32_t *block, double *log_mu, int64_t *of,
                             int64_t *used, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    ratio *all = NULL;
    int64_t count = 0;
    GEODEC_NEW(all, n);
    for (int64_t i = 0; i < n; i++) {
        const double r1 = d2[2 * i], r2 = d2[2 * i + 1];
        const double l = r1 > 0 && r2 > r1 && isfinite(r2) ? 0.5 * log(r2 / r1) : 0;
        if (l > tie) all[count++] = (ratio){l, block ? block[i] : i};
    }
    qsort(all, (size_t)count, sizeof *all, by_ratio);
    for (int64_t i = 0; i < count; i++) {
        log_mu[i] = all[i].log_mu;
        of[i] = all[i].block;
    }
    *used = count;
done:
    geodec_mem_free(all);
    return st;
}

/* 95 % percentile bootstraps, of single ratios or of blocks of them. */
static geodec_status intervals(int64_t used, const double *log_mu, const int64_t *of, int64_t blocks,
                               const double *rank_y, int64_t kept, const geodec_twonn_options *o, geodec_twonn *t,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *ml = NULL, *fit = NULL;
    int64_t *index = NULL, *times = NULL, *drawn = NULL;
    const int64_t b = o->replicates, units = blocks > 0 ? blocks : used;
    GEODEC_NEW_EACH(b, ml, fit);
    GEODEC_NEW_EACH(units, index, drawn);
    GEODEC_NEW(times, used);
    for (int64_t r = 0; r < b; r++) {
        geodec_stats_resample(o->seed, o->stream, (uint64_t)r, units, index);
        for (int64_t i = 0; i < units; i++) drawn[i] = 0;
        for (int64_t i = 0; i < units; i++) drawn[index[i]]++;
        for (int64_t i = 0; i < used; i++) times[i] = drawn[blocks > 0 ? of[i] : i];
        estimate(used, log_mu, times, rank_y, kept, &ml[r], &fit[r]);
    }
    geodec_stats_sort(b, ml);
    geodec_stats_sort(b, fit);
    t->ml_low = geodec_stats_percentile(b, ml, 0.025);
    t->ml_high = geodec_stats_percentile(b, ml, 0.975);
    t->fit_low = geodec_stats_percentile(b, fit, 0.025);
    t->fit_high = geodec_stats_percentile(b, fit, 0.975);
done:
    GEODEC_FREE(ml, fit, index, times, drawn);
    return st;
}

geodec_status geodec__twonn_blocks(int64_t n, const double *d2, const int32_t *block, int64_t blocks,
                                   const geodec_twonn_options *o, geodec_twonn *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *log_mu = NULL, *rank_y = NULL;
    int64_t *of = NULL, used = 0;
    if (!(o->trim >= 0) || !(o->trim < 1) || o->replicates < 0)
        GEODEC_THROW(GEODEC_RANGE, "TwoNN with trim %g", o->trim);
    GEODEC_NEW(log_mu, n);
    GEODEC_NEW(of, n);
    GEODEC_TRY(collect(n, d2, block, log_mu, of, &used, err));
    *out = unmeasured(n, used, count_values(used, log_mu));
    if (used < 4)
        GEODEC_THROW(GEODEC_SCARCE, "TwoNN: %lld of %lld points have two different neighbour distances; 4 are needed",
                     (long long)used, (long long)n);
    if (2 * out->ratios < n)
        GEODEC_THROW(GEODEC_SCARCE,
                     "TwoNN: ties dominate: %lld of %lld points have two different neighbour distances, with %lld "
                     "different ratios; half of the points are needed",
                     (long long)used, (long long)n, (long long)out->ratios);
    /* F of rank r is (r+1)/used; the last one is 1 and never kept */
    int64_t kept = (int64_t)floor((1 - o->trim) * (double)used);
    if (kept > used - 1) kept = used - 1;
    if (kept < 2)
        GEODEC_THROW(GEODEC_SCARCE, "TwoNN: the trim leaves %lld of %lld points; 2 are needed", (long long)kept,
                     (long long)used);
    GEODEC_NEW(rank_y, kept);
    for (int64_t r = 0; r < kept; r++) rank_y[r] = -log1p(-(double)(r + 1) / (double)used);
    geodec_twonn t = {.points = n, .used = used, .ratios = out->ratios};
    estimate(used, log_mu, NULL, rank_y, kept, &t.ml, &t.fit);
    if (!isfinite(t.ml) || !isfinite(t.fit))
        GEODEC_THROW(GEODEC_SCARCE, "TwoNN: the neighbour distances of each point are all but equal");
    t.ml_low = t.ml_high = t.ml;
    t.fit_low = t.fit_high = t.fit;
    if (o->replicates > 0) GEODEC_TRY(intervals(used, log_mu, of, block ? blocks : 0, rank_y, kept, o, &t, err));
    *out = t;
done:
    GEODEC_FREE(log_mu, of, rank_y);
    return st;
}

geodec_status geodec_twonn_from_distances(int64_t n, const double *d2, const geodec_twonn_options *o, geodec_twonn *out,
                                          geodec_err *err)
{
    return geodec__twonn_blocks(n, d2, NULL, 0, o, out, err);
}

/* ---- equal points ------------------------------------------------------------------------------------------------ */

typedef struct row_key {
    uint64_t hash;
    int64_t row;
} row_key;

static int by_hash(const void *pa, const void *pb)
{
    const row_key *a = pa, *b = pb;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Rows equal in value have equal hashes (-0 is 0). */
static uint64_t hash_row(int64_t d, const double *x)
{
    uint64_t h = UINT64_C(0x9e3779b97f4a7c15);
    for (int64_t c = 0; c < d; c++) {
        const double v = x[c] + 0.0;
        uint64_t bits;
        memcpy(&bits, &v, sizeof bits);
        h = (h ^ bits) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    return h;
}

static int equal_rows(int64_t d, const double *a, const double *b)
{
    for (int64_t c = 0; c < d; c++)
        if (a[c] != b[c]) return 0;
    return 1;
}

/* first [n]: 1 for rows that equal no earlier one; *count of them. */
static geodec_status find_first(int64_t n, int64_t d, const double *x, uint8_t *first, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    row_key *key = NULL;
    GEODEC_NEW(key, n);
    for (int64_t i = 0; i < n; i++) key[i] = (row_key){hash_row(d, x + i * d), i};
    qsort(key, (size_t)n, sizeof *key, by_hash);
    *count = 0;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && key[end].hash == key[begin].hash; end++) {
            int known = 0; /* different rows may have equal hashes */
            for (int64_t j = begin; j < end && !known; j++)
                known = first[key[j].row] && equal_rows(d, x + key[j].row * d, x + key[end].row * d);
            first[key[end].row] = (uint8_t)!known;
            *count += !known;
        }
    }
done:
    geodec_mem_free(key);
    return st;
}

/* The power of two that brings the largest entry into [1/2, 1), in two factors so that each is finite. */
static void choose_scale(int64_t count, const double *x, double factor[2])
{
    double most = 0;
    int exponent = 0;
    for (int64_t i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
    if (most > 0) (void)frexp(most, &exponent);
    factor[0] = ldexp(1, -(exponent / 2));
    factor[1] = ldexp(1, exponent / 2 - exponent);
}

geodec_status geodec__twonn_points(int64_t n, int64_t d, const double *x, double **point, int32_t **row, int64_t *kept,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double factor[2], *out = NULL;
    uint8_t *first = NULL;
    int32_t *from = NULL;
    int64_t at = 0;
    if (n < 8) GEODEC_THROW(GEODEC_SCARCE, "%lld points; TwoNN needs at least 8", (long long)n);
    for (int64_t i = 0; i < n * d; i++)
        if (!isfinite(x[i])) GEODEC_THROW(GEODEC_NUMERIC, "TwoNN of points that are not finite");
    GEODEC_NEW(first, n);
    GEODEC_TRY(find_first(n, d, x, first, kept, err));
    if (*kept < 4)
        GEODEC_THROW(GEODEC_SCARCE, "TwoNN: %lld of %lld points differ; 4 are needed", (long long)*kept, (long long)n);
    choose_scale(n * d, x, factor);
    GEODEC_NEW(out, *kept * d);
    GEODEC_NEW(from, *kept);
    for (int64_t i = 0; i < n; i++) {
        if (!first[i]) continue;
        for (int64_t c = 0; c < d; c++) out[at * d + c] = x[i * d + c] * factor[0] * factor[1];
        from[at++] = (int32_t)i;
    }
    *point = out;
    *row = from;
    out = NULL;
    from = NULL;
done:
    GEODEC_FREE(first, out, from);
    return st;
}

geodec_status geodec_twonn_estimate(int64_t n, int64_t d, const double *x, const geodec_twonn_options *o,
                                    geodec_pool *pool, const geodec_hooks *hooks, geodec_twonn *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *index = NULL, *row = NULL;
    double *d2 = NULL, *point = NULL;
    int64_t kept = 0;
    *out = unmeasured(n, 0, 0);
    GEODEC_TRY(geodec__twonn_points(n, d, x, &point, &row, &kept, err));
    GEODEC_NEW_EACH(2 * kept, index, d2);
    GEODEC_TRY(geodec_knn_search(kept, d, point, 0, NULL, 2, index, d2, pool, hooks, err));
    st = geodec_twonn_from_distances(kept, d2, o, out, err);
    out->points = n;
    out->duplicates = n - kept;
done:
    GEODEC_FREE(point, row, index, d2);
    return st;
}
