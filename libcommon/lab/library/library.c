#include "lab/library/library.h"

#include "artifact/binding.h"
#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/knn.h"
#include "linalg/stats.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { W = GEODEC_LIBRARY_STREAMS, P = GEODEC_LIBRARY_PREDICTIONS, STEPS = 40 };

geodec_library_options geodec_library_defaults(void)
{
    return (geodec_library_options){.n_radii = 10,
                                    .radius = {0.25, 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8},
                                    .target = 0.922,
                                    .surrogate = GEODEC_SURROGATE_SHUFFLE,
                                    .seed = 1};
}

typedef struct sweep {
    int64_t points, n;
    const double *stream[W]; /* [points][n] */
    const geodec_successors *next;
    const geodec_library_options *o;
    const geodec_hooks *hooks;
    geodec_library_sweep *s;
} sweep;

/* ---- quality ----------------------------------------------------------------------------------------------------- */

/* Mean errors of the four predictions over hits of the text stream; first [stored]: the point each record came from. */
static void judge(const sweep *w, const uint8_t *hit, const int64_t *assigned, const int64_t *first, int64_t stored,
                  double quality[P], int64_t *judged)
{
    const int64_t n = w->n, k = w->next->k;
    const uint64_t stream = geodec_rng_id("library chance", 0);
    double sum[P] = {0};
    int64_t count = 0;
    for (int64_t q = 0; q < w->points; q++) {
        const int64_t r = hit[q] ? first[assigned[q]] : -1;
        if (r < 0 || !w->next->has[q] || !w->next->has[r]) continue;
        /* a random earlier record with a next state: 16 attempts, then the record of the hit */
        int64_t c = r;
        for (int t = 0; t < 16; t++) {
            const double u = geodec_rng_uniform_at(w->o->seed, stream, (uint64_t)(q * 16 + t));
            const int64_t pick = first[(int64_t)(u * (double)stored)];
            if (pick < q && w->next->has[pick]) {
                c = pick;
                break;
            }
        }
        double e[P] = {0};
        const double *truth = w->next->coordinate + q * k, *x = w->stream[GEODEC_LIBRARY_TEXT] + q * n,
                     *y = w->stream[GEODEC_LIBRARY_TEXT] + r * n, *s = w->next->coordinate + r * k,
                     *other = w->next->coordinate + c * k;
        for (int64_t a = 0; a < n; a++) {
            const double d[P] = {s[a] - truth[a], s[a] + x[a] - y[a] - truth[a], x[a] - truth[a], other[a] - truth[a]};
            for (int p = 0; p < P; p++) e[p] += d[p] * d[p];
        }
        for (int p = 0; p < P; p++) sum[p] += sqrt(e[p]);
        count++;
    }
    for (int p = 0; p < P; p++)
        quality[p] = count && w->next->rms_step > 0 ? sum[p] / ((double)count * w->next->rms_step) : 0;
    *judged = count;
}

/* One stream at one radius (in units); optionally the quality of the text stream. */
static geodec_status run_one(const sweep *w, int stream, double radius, geodec_library_summary *summary,
                             double quality[P], int64_t *judged, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *hit = NULL;
    int64_t *assigned = NULL, *first = NULL, stored = 0;
    const bool wanted = quality && w->next && stream == GEODEC_LIBRARY_TEXT;
    if (wanted) GEODEC_NEW_EACH(w->points, hit, assigned, first);
    GEODEC_TRY(
        geodec_library_run(w->points, w->n, w->stream[stream], radius * w->s->unit, NULL, hit, assigned, summary, err));
    if (!wanted) goto done;
    for (int64_t q = 0; q < w->points; q++)
        if (!hit[q]) first[stored++] = q;
    judge(w, hit, assigned, first, stored, quality, judged);
done:
    GEODEC_FREE(hit, assigned, first);
    return st;
}

static geodec_status radius_task(void *ctx, int64_t task, geodec_err *err)
{
    const sweep *w = ctx;
    const int64_t R = w->o->n_radii, r = task % R;
    return run_one(w, (int)(task / R), w->o->radius[r], &w->s->summary[task], w->s->quality + r * P, w->s->judged + r,
                   err);
}

/* The radius of the target by bisection. The share of hits is not monotone in the radius (a larger one stores other
 * records), so the result is one of the crossings. */
static geodec_status target_task(void *ctx, int64_t stream, geodec_err *err)
{
    const sweep *w = ctx;
    geodec_library_summary got;
    double low = 0, high = 1;
    int64_t unused;
    for (int i = 0; i < STEPS; i++, high *= 2) {
        GEODEC_PASS(run_one(w, (int)stream, high, &got, NULL, NULL, err));
        if (got.hit_rate >= w->o->target) break;
        low = high;
    }
    if (got.hit_rate < w->o->target) return GEODEC_OK; /* not reached: too few points */
    while (high > 1.01 * low && high > 1e-6) {
        const double mid = low > 0 ? sqrt(low * high) : high / 2;
        GEODEC_PASS(run_one(w, (int)stream, mid, &got, NULL, NULL, err));
        if (got.hit_rate >= w->o->target)
            high = mid;
        else
            low = mid;
    }
    w->s->target_radius[stream] = high;
    GEODEC_PASS(run_one(w, (int)stream, high, &w->s->target_summary[stream], w->s->target_quality, &unused, err));
    return GEODEC_OK;
}

/* ---- the sweep --------------------------------------------------------------------------------------------------- */

static geodec_status input_ok(int64_t points, int64_t n, const double *x, const geodec_successors *next,
                              const geodec_library_options *o, geodec_err *err)
{
    if (points < 8) GEODEC_FAIL(GEODEC_SCARCE, "%lld points; the library needs at least 8", (long long)points);
    if (n < 1 || o->n_radii < 1 || o->n_radii > GEODEC_LIBRARY_RADII || !(o->target > 0) || !(o->target < 1))
        GEODEC_FAIL(GEODEC_RANGE, "library of %lld points, dimension %lld, %lld radii, target %g", (long long)points,
                    (long long)n, (long long)o->n_radii, o->target);
    for (int64_t r = 0; r < o->n_radii; r++)
        if (!(o->radius[r] > (r ? o->radius[r - 1] : 0)) || !isfinite(o->radius[r]))
            GEODEC_FAIL(GEODEC_RANGE, "radii must rise from above 0");
    if (!geodec__finite(points * n, x)) GEODEC_FAIL(GEODEC_NUMERIC, "points that are not finite");
    if (next && (next->points != points || next->k < n)) GEODEC_FAIL(GEODEC_INVAL, "next states of other points");
    return GEODEC_OK;
}

static geodec_status unit_of(int64_t points, int64_t n, const double *x, geodec_pool *pool, const geodec_hooks *hooks,
                             double *unit, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *index = NULL;
    double *d2 = NULL;
    GEODEC_NEW_EACH(points, index, d2);
    GEODEC_TRY(geodec_knn_search(points, n, x, 0, NULL, 1, index, d2, pool, hooks, err));
    GEODEC_TRY(geodec_stats_median(points, d2, unit, err));
    *unit = sqrt(*unit);
    if (!(*unit > 0))
        GEODEC_THROW(GEODEC_SCARCE, "half of the points coincide with another; the library needs different ones");
done:
    GEODEC_FREE(index, d2);
    return st;
}

geodec_status geodec_library_sweep_run(int64_t points, int64_t n, const double *x, const geodec_successors *next,
                                       const geodec_library_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                       geodec_library_sweep *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_library_sweep s = {.points = points,
                              .n = n,
                              .n_radii = o->n_radii,
                              .has_quality = next != NULL,
                              .target = o->target,
                              .surrogate = o->surrogate};
    sweep w = {.points = points, .n = n, .next = next, .o = o, .hooks = hooks, .s = &s};
    double *block = NULL;
    int64_t *order = NULL;
    GEODEC_TRY(input_ok(points, n, x, next, o, err));
    GEODEC_NEW(s.summary, W * o->n_radii);
    GEODEC_NEW(s.quality, o->n_radii * P);
    GEODEC_NEW(s.judged, o->n_radii);
    GEODEC_NEW(block, 3 * points * n);
    GEODEC_NEW(order, points);
    GEODEC_NEW_COPY(s.radius, o->radius, o->n_radii);
    double *shuffled = block, *gaussian = shuffled + points * n, *surrogate = gaussian + points * n;
    geodec__choose_order(o->seed, geodec_rng_id("library order", 0), points, order);
    for (int64_t i = 0; i < points; i++) memcpy(shuffled + i * n, x + order[i] * n, (size_t)n * sizeof *x);
    GEODEC_TRY(geodec_surrogate_draw(GEODEC_SURROGATE_GAUSSIAN, points, n, x, o->seed, geodec_rng_id("library null", 0),
                                     gaussian, err));
    GEODEC_TRY(
        geodec_surrogate_draw(o->surrogate, points, n, x, o->seed, geodec_rng_id("library null", 1), surrogate, err));
    w.stream[GEODEC_LIBRARY_TEXT] = x;
    w.stream[GEODEC_LIBRARY_SHUFFLED] = shuffled;
    w.stream[GEODEC_LIBRARY_GAUSSIAN] = gaussian;
    w.stream[GEODEC_LIBRARY_SURROGATE] = surrogate;
    GEODEC_TRY(unit_of(points, n, x, pool, hooks, &s.unit, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "library radii", W * o->n_radii, radius_task, &w, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "library streams", W, target_task, &w, err));
    GEODEC_MOVE(*out, s);
done:
    geodec_library_sweep_clear(&s);
    GEODEC_FREE(block, order);
    return st;
}

enum { REPORT = 1024, DOUBLINGS = 64 };

static double spacing(int64_t count, int64_t n, const double *x)
{
    double total = 0;
    for (int64_t a = 0; a < n; a++) {
        double mean = 0, square = 0;
        for (int64_t i = 0; i < count; i++) mean += x[i * n + a];
        mean /= (double)count;
        for (int64_t i = 0; i < count; i++) square += (x[i * n + a] - mean) * (x[i * n + a] - mean);
        total += square / (double)count;
    }
    return sqrt(total);
}

geodec_status geodec_library_run(int64_t queries, int64_t n, const double *query, double radius,
                                 const geodec_hooks *hooks, uint8_t *hit, int64_t *assigned,
                                 geodec_library_summary *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_library_summary s = {.queries = queries};
    double *record = NULL, seen[DOUBLINGS], size[DOUBLINGS];
    int64_t hits = 0, late = 0, marks = 0, next = 1;
    if (queries < 1 || n < 1 || !(radius >= 0))
        GEODEC_THROW(GEODEC_RANGE, "library of %lld queries, dimension %lld, radius %g", (long long)queries,
                     (long long)n, radius);
    for (int64_t i = 0; i < queries * n; i++)
        if (!isfinite(query[i])) GEODEC_THROW(GEODEC_NUMERIC, "query %lld is not finite", (long long)(i / n));
    GEODEC_NEW(record, queries * n);
    for (int64_t q = 0; q < queries; q++) {
        if (q % REPORT == 0) GEODEC_TRY(geodec_hooks_progress(hooks, "queries", q, queries, err));
        const double *x = query + q * n;
        double least = INFINITY;
        int64_t best = -1;
        for (int64_t r = 0; r < s.stored; r++) {
            const double *y = record + r * n;
            double d = 0;
            for (int64_t a = 0; a < n && d < least; a++) d += (x[a] - y[a]) * (x[a] - y[a]); /* it only grows */
            if (d < least) {
                least = d;
                best = r;
            }
        }
        const bool found = best >= 0 && sqrt(least) <= radius;
        if (found) {
            hits++;
            late += q >= queries / 2;
            s.distance += sqrt(least);
        } else {
            best = s.stored++;
            memcpy(record + best * n, x, (size_t)n * sizeof *x);
        }
        if (hit) hit[q] = found ? 1 : 0;
        if (assigned) assigned[q] = best;
        if (q + 1 == next || q + 1 == queries) {
            seen[marks] = log((double)(q + 1));
            size[marks++] = log((double)s.stored);
            next *= 2;
        }
    }
    s.hit_rate = (double)hits / (double)queries;
    s.second_half = (double)late / (double)(queries - queries / 2);
    if (hits > 0) s.distance /= (double)hits;
    s.rms_spacing = spacing(queries, n, query);
    if (queries >= 4) {
        geodec_stats_line line;
        GEODEC_TRY(geodec_stats_fit_line(marks, seen, size, NULL, &line, err));
        s.exponent = line.slope;
    }
    *out = s;
done:
    geodec_mem_free(record);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_library_sweep, m)
#define IN(m) GEODEC_IN(geodec_library_sweep, m)
static const geodec_rows target = {"W", sizeof(geodec_library_summary), offsetof(geodec_library_sweep, target_summary),
                                   true};
#define OF(m) GEODEC_OF_ROW(geodec_library_summary, m)
#define TARGET(m) GEODEC_OF_ROWS(&target, geodec_library_summary, m, 0, 0)

static const geodec_field fields[] = {
    {"/radius", GEODEC_F64, "R", 0, "1", "radii, multiples of the median distance to the nearest neighbour", 0,
     AT(radius)},
    {"/stored", GEODEC_I64, "W,R", 0, "1",
     "records stored; streams: text order, shuffled order, Gaussian, surrogate (attribute)", 0, OF(stored)},
    {"/hit", GEODEC_F64, "W,R", 0, "1", "share of hits; stored + hits = all: one number", 0, OF(hit_rate)},
    {"/second_half", GEODEC_F64, "W,R", 0, "1", "share of hits in the second half of the stream", 0, OF(second_half)},
    {"/exponent", GEODEC_F64, "W,R", 0, "1", "growth: slope of ln stored over ln seen; 1 never repeats, 0 finished", 0,
     OF(exponent)},
    {"/distance", GEODEC_F64, "W,R", 0, "activation", "mean distance of a hit to its record", 0, OF(distance)},
    {"/quality", GEODEC_F64, "R,4", GEODEC_FIELD_OPTIONAL, "rms step",
     "error of a hit's next state in text order: record's next state, moved by the difference; controls: the state "
     "itself, a random record's next state",
     0, AT(quality)},
    {"/judged", GEODEC_I64, "R", GEODEC_FIELD_OPTIONAL, "1", "hits with known next states", 0, AT(judged)},
    {"/target/radius", GEODEC_F64, "W", 0, "1", "smallest radius found with the share `target` of hits; 0 = none", 0,
     GEODEC_ARRAY(geodec_library_sweep, target_radius, [0])},
    {"/target/hit", GEODEC_F64, "W", 0, "1", "share of hits there", 0, TARGET(hit_rate)},
    {"/target/second_half", GEODEC_F64, "W", 0, "1", "the same in the second half", 0, TARGET(second_half)},
    {"/target/exponent", GEODEC_F64, "W", 0, "1", "growth there", 0, TARGET(exponent)},
    {"/target/quality", GEODEC_F64, "4", GEODEC_FIELD_OPTIONAL, "rms step", "as /quality, at the target", 0},
};

static const geodec_attr attrs[] = {
    {"points", GEODEC_ATTR_I64, 0, "length of the streams", IN(points)},
    {"n", GEODEC_ATTR_I64, 0, "dimension: first principal coordinates", IN(n)},
    {"unit", GEODEC_ATTR_F64, 0, "median distance to the nearest neighbour", IN(unit)},
    {"rms_spacing", GEODEC_ATTR_F64, 0, "rms distance of a point to the mean: that of a random hit"},
    {"target", GEODEC_ATTR_F64, 0, "share of hits whose radius was looked for", IN(target)},
    {"surrogate", GEODEC_ATTR_STR, 0,
     "fourth stream: phase (random Fourier phases along the text) or shuffle (each coordinate permuted)",
     GEODEC_NAMED(geodec_library_sweep, surrogate, geodec_surrogate_names)},
};

static const geodec_extent extents[] = {{"W", .plus = GEODEC_LIBRARY_STREAMS}, {"R", IN(n_radii)}};

/* Writes the field that is absent without next states, and a number of the first row. */
static geodec_status put(const void *object, geodec_artifact *a, const char *name, geodec_err *err)
{
    const geodec_library_sweep *s = object;
    if (strcmp(name, "rms_spacing") == 0) return geodec_artifact_put_f64(a, name, s->summary[0].rms_spacing, err);
    return s->has_quality ? geodec_artifact_write(a, name, s->target_quality, err) : GEODEC_OK;
}

const geodec_kind geodec_library_kind = {
    GEODEC_ABOUT("library", 1, 0, "geodec-library",
                 "growth of a library that stores what it misses, compared with its nulls, and the value of its hits"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"W,R", sizeof(geodec_library_summary), offsetof(geodec_library_sweep, summary), false},
    .put = put,
};

geodec_status geodec_library_sweep_write(const geodec_library_sweep *s, geodec_artifact *a, geodec_err *err)
{
    geodec_library_sweep saved = *s;
    if (!s->has_quality) {
        saved.quality = NULL;
        saved.judged = NULL;
    }
    return geodec_artifact_save(a, &saved, err);
}

void geodec_library_sweep_clear(geodec_library_sweep *s)
{
    geodec_artifact_clear(&geodec_library_kind, s);
    *s = (geodec_library_sweep){0};
}

void geodec_library_say(const geodec_hooks *hooks, const geodec_library_sweep *s)
{
    static const char *const streams[GEODEC_LIBRARY_STREAMS] = {"text", "shuffled", "gaussian", NULL};
    for (int w = 0; w < GEODEC_LIBRARY_STREAMS; w++) {
        const geodec_library_summary *t = &s->target_summary[w];
        const char *name = streams[w] ? streams[w] : geodec_surrogate_name(s->surrogate);
        if (s->target_radius[w] > 0)
            geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                             "%-8s %.1f %% hits at %.3g median distances: second half %.1f %%, stored ~ seen^%.2f",
                             name, 100 * t->hit_rate, s->target_radius[w], 100 * t->second_half, t->exponent);
        else
            geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%-8s never reaches %.1f %% hits", name, 100 * s->target);
    }
    if (s->has_quality)
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "error of such a hit's next state in rms steps: %.2f, moved by the difference %.2f; state itself %.2f, "
            "random record %.2f",
            s->target_quality[GEODEC_LIBRARY_COPY], s->target_quality[GEODEC_LIBRARY_TRANSPORT],
            s->target_quality[GEODEC_LIBRARY_IDENTITY], s->target_quality[GEODEC_LIBRARY_RANDOM]);
}
