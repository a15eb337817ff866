#include "lab/density/density.h"

#include "artifact/binding.h"
#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

geodec_density_options geodec_density_defaults(void)
{
    return (geodec_density_options){.held_out = 0.3,
                                    .n_windows = 7,
                                    .window = {1, 2, 4, 8, 16, 32, 64},
                                    .nulls = 6,
                                    .surrogate = GEODEC_SURROGATE_SHUFFLE,
                                    .replicates = 1000,
                                    .seed = 1};
}

enum { PIECES = 8 };

/* The texts of the points, numbered from 0, and whether each is held out. */
typedef struct texts {
    int64_t count, held;
    int64_t *of;     /* [points] */
    uint8_t *online; /* [points] */
} texts;

typedef struct search {
    int64_t points, n;
    const double *x;
    const int32_t *position;
    const texts *t;
    const geodec_density_options *o;
    double *nearest; /* [points] online or offline distance; -1 = none */
    double *within;  /* [windows][points]; -1 = none */
} search;

typedef struct place {
    int32_t sequence;
    int64_t point;
} place;

static int by_text(const void *a, const void *b)
{
    const place *x = a, *y = b;
    if (x->sequence != y->sequence) return x->sequence < y->sequence ? -1 : 1;
    return (x->point > y->point) - (x->point < y->point);
}

static geodec_status split(int64_t points, const int32_t *sequence, const geodec_density_options *o, texts *t,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    place *row = NULL;
    int64_t *order = NULL;
    uint8_t *held = NULL;
    GEODEC_NEW_EACH(points, t->of, t->online, row);
    for (int64_t i = 0; i < points; i++) row[i] = (place){sequence[i], i};
    qsort(row, (size_t)points, sizeof *row, by_text);
    for (int64_t i = 0; i < points; i++) {
        t->count += i == 0 || row[i].sequence != row[i - 1].sequence;
        t->of[row[i].point] = t->count - 1;
    }
    if (t->count < 4) { /* one long text: pieces of it serve as texts */
        t->count = PIECES;
        for (int64_t i = 0; i < points; i++) t->of[row[i].point] = i * PIECES / points;
    }
    t->held = (int64_t)floor(o->held_out * (double)t->count + 0.5);
    if (t->held < 1) t->held = 1;
    if (t->held > t->count - 2) t->held = t->count - 2; /* offline distances go from text to text */
    GEODEC_NEW_EACH(t->count, order, held);
    geodec__choose_order(o->seed, geodec_rng_id("density texts", 0), t->count, order);
    for (int64_t i = 0; i < t->held; i++) held[order[i]] = 1;
    for (int64_t i = 0; i < points; i++) t->online[i] = held[t->of[i]];
done:
    GEODEC_FREE(row, order, held);
    return st;
}

/* The squared distance; once the sum reaches the limit, any value >= limit. */
static double distance2(int64_t n, const double *a, const double *b, double limit)
{
    double s = 0;
    for (int64_t k = 0; k < n && s < limit; k++) s += (a[k] - b[k]) * (a[k] - b[k]);
    return s;
}

static geodec_status point_task(void *ctx, int64_t i, geodec_err *err)
{
    const search *s = ctx;
    const double *x = s->x + i * s->n;
    double best = INFINITY, within[GEODEC_DENSITY_WINDOWS];
    (void)err;
    for (int64_t w = 0; w < s->o->n_windows; w++) within[w] = INFINITY;
    for (int64_t j = 0; j < s->points; j++) {
        if (j == i) continue;
        const bool same = s->t->of[i] == s->t->of[j];
        if (!same && !s->t->online[j]) best = fmin(best, distance2(s->n, x, s->x + j * s->n, best));
        if (!same || !s->t->online[i]) continue;
        const int64_t apart = s->position[i] < s->position[j] ? (int64_t)s->position[j] - s->position[i]
                                                              : (int64_t)s->position[i] - s->position[j];
        const double d = distance2(s->n, x, s->x + j * s->n, INFINITY);
        for (int64_t w = 0; w < s->o->n_windows && apart >= s->o->window[w]; w++) within[w] = fmin(within[w], d);
    }
    s->nearest[i] = isfinite(best) ? sqrt(best) : -1;
    for (int64_t w = 0; w < s->o->n_windows; w++)
        s->within[w * s->points + i] = isfinite(within[w]) ? sqrt(within[w]) : -1;
    return GEODEC_OK;
}

/* Mean of the distances of one side with its interval over texts; p50, p90 may be NULL. */
static geodec_status side(const search *s, bool online, int64_t replicates, geodec_estimate *mean, double *p50,
                          double *p90, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *sum = NULL, *sorted = NULL;
    int64_t count = 0;
    GEODEC_NEW(sum, 2 * s->t->count);
    GEODEC_NEW(sorted, s->points);
    double *number = sum + s->t->count;
    for (int64_t i = 0; i < s->points; i++) {
        if ((s->t->online[i] != 0) != online || s->nearest[i] < 0) continue;
        sum[s->t->of[i]] += s->nearest[i];
        number[s->t->of[i]] += 1;
        sorted[count++] = s->nearest[i];
    }
    int64_t groups = 0;
    for (int64_t g = 0; g < s->t->count; g++) {
        if (!(number[g] > 0)) continue;
        sum[groups] = sum[g];
        number[groups++] = number[g];
    }
    if (count == 0) GEODEC_THROW(GEODEC_SCARCE, "no distance from text to text; the density needs two texts");
    GEODEC_TRY(geodec_stats_ratio(groups, sum, number, replicates, s->o->seed,
                                  geodec_rng_id("density bootstrap", online ? 1 : 0), mean, err));
    geodec_stats_sort(count, sorted);
    if (p50) *p50 = geodec_stats_percentile(count, sorted, 0.5);
    if (p90) *p90 = geodec_stats_percentile(count, sorted, 0.9);
done:
    GEODEC_FREE(sum, sorted);
    return st;
}

static geodec_status measure(search *s, geodec_pool *pool, const geodec_hooks *hooks, const char *what, geodec_err *err)
{
    const int64_t size = sizeof(double);
    const geodec_sweep_result result[] = {{s->nearest, 1, size}, {s->within, s->o->n_windows, size}};
    return geodec_sweep_run(s->o->sweep, pool, hooks, what, s->points, 1, point_task, s, result, 2, err);
}

static void mean_within(const search *s, double *mean, int64_t *count)
{
    for (int64_t w = 0; w < s->o->n_windows; w++) {
        double sum = 0;
        int64_t n = 0;
        for (int64_t i = 0; i < s->points; i++) {
            const double d = s->within[w * s->points + i];
            if (d < 0) continue;
            sum += d;
            n++;
        }
        mean[w] = n ? sum / (double)n : 0;
        if (count) count[w] = n;
    }
}

static geodec_status nulls(search s, const double *x, geodec_pool *pool, const geodec_hooks *hooks, geodec_density *d,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t B = s.o->nulls;
    double *y = NULL, *ratio = NULL, within[GEODEC_DENSITY_WINDOWS];
    geodec_estimate online, offline;
    if (B == 0) goto done;
    GEODEC_NEW(y, s.points * s.n);
    GEODEC_NEW(ratio, B);
    for (int64_t b = 0; b < B; b++) {
        GEODEC_TRY(geodec_surrogate_draw(s.o->surrogate, s.points, s.n, x, s.o->seed,
                                         geodec_rng_id("density null", (uint64_t)b), y, err));
        s.x = y;
        GEODEC_TRY(measure(&s, pool, hooks, "surrogate states", err));
        if (geodec_sweep_partial(s.o->sweep)) continue;
        GEODEC_TRY(side(&s, true, 0, &online, NULL, NULL, err));
        GEODEC_TRY(side(&s, false, 0, &offline, NULL, NULL, err));
        if (!(offline.value > 0))
            GEODEC_THROW(GEODEC_SCARCE, "all states of a surrogate coincide; the density needs different ones");
        ratio[b] = online.value / offline.value;
        mean_within(&s, within, NULL);
        for (int64_t w = 0; w < s.o->n_windows; w++) d->within_null[w] += within[w] / (double)B;
    }
    if (geodec_sweep_partial(s.o->sweep)) goto done;
    d->null_ratio = geodec_stats_mean(B, ratio);
    if (B > 1) {
        d->null_sd = sqrt(geodec_stats_variance(B, ratio));
        d->z = d->null_sd > 0 ? (d->ratio.value - d->null_ratio) / d->null_sd : 0;
    }
done:
    GEODEC_FREE(y, ratio);
    return st;
}

static geodec_status library_dimension(const search *s, geodec_pool *pool, const geodec_hooks *hooks, geodec_density *d,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_twonn_options o = geodec_twonn_defaults();
    double *library = NULL;
    int64_t count = 0;
    GEODEC_NEW(library, s->points * s->n);
    for (int64_t i = 0; i < s->points; i++)
        if (!s->t->online[i]) memcpy(library + count++ * s->n, s->x + i * s->n, (size_t)s->n * sizeof *library);
    d->offline_points = count;
    d->online_points = s->points - count;
    o.seed = s->o->seed;
    o.stream = geodec_rng_id("density dimension", 0);
    GEODEC_TRY(geodec_twonn_estimate(count, s->n, library, &o, pool, hooks, &d->dimension, err));
done:
    geodec_mem_free(library);
    return st;
}

/* ratio^n; the interval has the smallest and the largest of its four ends. */
static geodec_estimate power(geodec_estimate r, const geodec_twonn *n)
{
    const double ends[4] = {pow(r.low, n->fit_low), pow(r.low, n->fit_high), pow(r.high, n->fit_low),
                            pow(r.high, n->fit_high)};
    geodec_estimate e = {pow(r.value, n->fit), ends[0], ends[0]};
    for (int i = 1; i < 4; i++) {
        e.low = fmin(e.low, ends[i]);
        e.high = fmax(e.high, ends[i]);
    }
    return e;
}

geodec_status geodec_density_run(int64_t points, int64_t n, const double *x, const int32_t *sequence,
                                 const int32_t *position, const geodec_density_options *o, geodec_pool *pool,
                                 const geodec_hooks *hooks, geodec_density *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_density d = {
        .points = points, .n = n, .n_windows = o->n_windows, .nulls = o->nulls, .surrogate = o->surrogate};
    texts t = {0};
    search s = {.points = points, .n = n, .x = x, .position = position, .t = &t, .o = o};
    if (points < 16) GEODEC_THROW(GEODEC_SCARCE, "%lld points; the density needs at least 16", (long long)points);
    if (n < 1 || !(o->held_out > 0) || !(o->held_out < 1) || o->n_windows < 1 ||
        o->n_windows > GEODEC_DENSITY_WINDOWS || o->nulls < 0 || o->nulls > 1000 || o->replicates < 0)
        GEODEC_THROW(GEODEC_RANGE, "density of %lld points, dimension %lld, share %g held out, %lld nulls",
                     (long long)points, (long long)n, o->held_out, (long long)o->nulls);
    for (int64_t w = 0; w < o->n_windows; w++)
        if (o->window[w] <= (w ? o->window[w - 1] : 0)) GEODEC_THROW(GEODEC_RANGE, "windows must rise from 1");
    if (!geodec__finite(points * n, x)) GEODEC_THROW(GEODEC_NUMERIC, "points that are not finite");
    GEODEC_TRY(split(points, sequence, o, &t, err));
    d.texts = t.count;
    d.held_texts = t.held;
    GEODEC_NEW_EACH(o->n_windows, d.window, d.within_count, d.within, d.within_null);
    GEODEC_NEW(s.nearest, points);
    GEODEC_NEW(s.within, o->n_windows * points);
    memcpy(d.window, o->window, (size_t)o->n_windows * sizeof *d.window);
    GEODEC_TRY(measure(&s, pool, hooks, "states", err));
    if (geodec_sweep_partial(o->sweep)) {
        GEODEC_TRY(nulls(s, x, pool, hooks, &d, err));
        goto give;
    }
    GEODEC_TRY(side(&s, true, o->replicates, &d.online, &d.online_p50, &d.online_p90, err));
    GEODEC_TRY(side(&s, false, o->replicates, &d.offline, &d.offline_p50, &d.offline_p90, err));
    if (!(d.offline.low > 0))
        GEODEC_THROW(GEODEC_SCARCE, "states of different texts coincide; the density needs different ones");
    mean_within(&s, d.within, d.within_count);
    GEODEC_TRY(library_dimension(&s, pool, hooks, &d, err));
    d.ratio = (geodec_estimate){d.online.value / d.offline.value, d.online.low / d.offline.high,
                                d.online.high / d.offline.low};
    d.enrichment = power(d.ratio, &d.dimension);
    d.published_rule = ceil(d.ratio.value * d.ratio.value);
    GEODEC_TRY(nulls(s, x, pool, hooks, &d, err));
give:
    GEODEC_MOVE(*out, d);
done:
    geodec_density_clear(&d);
    GEODEC_FREE(t.of, t.online, s.nearest, s.within);
    return st;
}

void geodec_density_clear(geodec_density *d)
{
    GEODEC_FREE(d->window, d->within_count, d->within, d->within_null);
    *d = (geodec_density){0};
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_density, m)
#define IN(m) GEODEC_IN(geodec_density, m)

static const geodec_field fields[] = {
    {"/window", GEODEC_I64, "W", 0, "token", "w: states of the same text nearer in time than this are left out", 0,
     AT(window)},
    {"/within", GEODEC_F64, "W", 0, "activation",
     "mean distance of a held-out state to the nearest of its own text, at least w tokens away; 0 = there is none", 0,
     AT(within)},
    {"/within_count", GEODEC_I64, "W", 0, "1", "states that have one", 0, AT(within_count)},
    {"/within_null", GEODEC_F64, "W", 0, "activation", "control: the same on surrogates", 0, AT(within_null)},
};

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "states", IN(points)},
    {"n", GEODEC_ATTR_I64, 0, "principal coordinates that distances are taken in", IN(n)},
    {"texts", GEODEC_ATTR_I64, 0, "texts", IN(texts)},
    {"held_texts", GEODEC_ATTR_I64, 0, "texts held out of the library", IN(held_texts)},
    {"online_points", GEODEC_ATTR_I64, 0, "held-out states", IN(online_points)},
    {"offline_points", GEODEC_ATTR_I64, 0, "library states", IN(offline_points)},
    {"online", GEODEC_ATTR_F64, 0, "mean distance of a held-out state to the nearest library state", IN(online.value)},
    {"online_low", GEODEC_ATTR_F64, 0, "lower end of its 95 % bootstrap interval over texts", IN(online.low)},
    {"online_high", GEODEC_ATTR_F64, 0, "upper end", IN(online.high)},
    {"online_p50", GEODEC_ATTR_F64, 0, "median", IN(online_p50)},
    {"online_p90", GEODEC_ATTR_F64, 0, "90th percentile", IN(online_p90)},
    {"offline", GEODEC_ATTR_F64, 0, "mean distance of a library state to the nearest one of another text",
     IN(offline.value)},
    {"offline_low", GEODEC_ATTR_F64, 0, "lower end of its interval", IN(offline.low)},
    {"offline_high", GEODEC_ATTR_F64, 0, "upper end", IN(offline.high)},
    {"offline_p50", GEODEC_ATTR_F64, 0, "median", IN(offline_p50)},
    {"offline_p90", GEODEC_ATTR_F64, 0, "90th percentile", IN(offline_p90)},
    {"ratio", GEODEC_ATTR_F64, 0, "online / offline", IN(ratio.value)},
    {"ratio_low", GEODEC_ATTR_F64, 0, "lower end: ends of the intervals combined", IN(ratio.low)},
    {"ratio_high", GEODEC_ATTR_F64, 0, "upper end", IN(ratio.high)},
    {"dimension", GEODEC_ATTR_F64, 0, "TwoNN dimension of the library (line fit)", IN(dimension.fit)},
    {"dimension_low", GEODEC_ATTR_F64, 0, "lower end of its 95 % interval", IN(dimension.fit_low)},
    {"dimension_high", GEODEC_ATTR_F64, 0, "upper end", IN(dimension.fit_high)},
    {"enrichment", GEODEC_ATTR_F64, 0, "ratio^dimension: times as many library states for ratio 1",
     IN(enrichment.value)},
    {"enrichment_low", GEODEC_ATTR_F64, 0, "lower end over both intervals", IN(enrichment.low)},
    {"enrichment_high", GEODEC_ATTR_F64, 0, "upper end", IN(enrichment.high)},
    {"published_rule", GEODEC_ATTR_F64, 0,
     "for comparison: ceil(ratio^2), which the harness prints for ratios above 1.5", IN(published_rule)},
    {"surrogate", GEODEC_ATTR_STR, 0, "of the null: phase or shuffle",
     GEODEC_NAMED(geodec_density, surrogate, geodec_surrogate_names)},
    {"nulls", GEODEC_ATTR_I64, 0, "surrogates", IN(nulls)},
    {"null_ratio", GEODEC_ATTR_F64, 0, "control: mean ratio of surrogates", IN(null_ratio)},
    {"null_sd", GEODEC_ATTR_F64, 0, "its standard deviation over them", IN(null_sd)},
    {"z", GEODEC_ATTR_F64, 0, "(ratio - null_ratio) / null_sd; 0 below 2 surrogates", IN(z)},
};

static const geodec_extent extents[] = {{"W", IN(n_windows), 0, 0}};

const geodec_kind geodec_density_kind = {
    GEODEC_ABOUT("density", 1, 0, "geodec-density",
                 "distances of held-out states to a library and within it, in one metric"),
    GEODEC_TABLES(fields, attrs, extents),
};
