#include "chain/second_form.h"

#include "artifact/binding.h"
#include "base/choose.h"
#include "base/clock.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/pilot.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "chain/metric_internal.h"
#include "chain/second_form_internal.h"
#include "geometry/quadratic.h"
#include "linalg/knn.h"
#include "linalg/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNGS = GEODEC_SECOND_FORM_RUNGS, PILOT = 32, GROUPS_MAX = 64 };
/* Neighbours of the first rung, in numbers of coefficients; each further one has so many times those of the one before,
 * and the ladder ends PAST rungs after the best. */
static const double rung_step = 1.5;
enum { PAST = 3, MOST_NEIGHBOURS = 4000 };

geodec_second_form_options geodec_second_form_defaults(void)
{
    return (geodec_second_form_options){.samples = 256, .groups = 12, .control = true};
}

/* ---- fits at centres ----------------------------------------------------------------------------------------------
 */

/* The points, and the groups that are left out one by one. */
typedef struct points {
    int64_t count, d, n, groups;
    const double *x;
    uint8_t *group; /* [count] */
} points;

/* Fits at some centres with k neighbours, from lists of the nearest k + 1 points, the centre among them. */
typedef struct fits {
    const points *p;
    int64_t k;
    const int32_t *centre;
    const int32_t *near; /* [centres][k + 1] */
    const double *dist2; /* [centres][k + 1] */
    geodec_second_form_centre *at;
    double *without; /* [centres][groups] */
} fits;

/* A fit, or NaN where the points do not determine one. */
static geodec_status scalar_of(geodec_quadratic *q, int64_t count, const double *z, const double *zero, double radius,
                               const double *share, const double *start, double *scalar, geodec_err *err)
{
    const geodec_status st = geodec_quadratic_fit(q, count, z, zero, radius, share, start, err);
    *scalar = NAN;
    if (st == GEODEC_SCARCE) {
        geodec_err_clear(err);
        return GEODEC_OK;
    }
    GEODEC_PASS(st);
    *scalar = geodec_quadratic_curvature_of(q, NULL).scalar;
    return GEODEC_OK;
}

static double jackknife(int64_t groups, const double *without)
{
    const double mean = geodec_stats_mean(groups, without);
    double s = 0;
    for (int64_t g = 0; g < groups; g++) s += (without[g] - mean) * (without[g] - mean);
    return sqrt(s * (double)(groups - 1) / (double)groups);
}

static geodec_status fit_centre(void *ctx, int64_t task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const fits *f = ctx;
    const points *p = f->p;
    const int32_t *near = f->near + task * (f->k + 1);
    geodec_second_form_centre *at = f->at + task;
    double *without = f->without + task * p->groups, *y = NULL, *z = NULL, *basis = NULL, *share = NULL, *start = NULL;
    geodec_quadratic q = {0};
    double *zero = NULL;
    int64_t rank;
    const int64_t room = geodec__min(f->k, p->d);
    const double radius = sqrt(f->dist2[task * (f->k + 1) + f->k]);
    *at = (geodec_second_form_centre){NAN, NAN, NAN, NAN, NAN, NAN, radius, NAN, NAN};
    for (int64_t g = 0; g < p->groups; g++) without[g] = NAN;
    if (!(radius > 0)) return GEODEC_OK;
    GEODEC_NEW(y, f->k * p->d);
    GEODEC_NEW(z, f->k * room);
    GEODEC_NEW(basis, room * p->d);
    GEODEC_NEW(share, f->k);
    GEODEC_NEW(zero, room);
    for (int64_t i = 0; i < f->k; i++) memcpy(y + i * p->d, p->x + near[i] * p->d, (size_t)p->d * sizeof *y);
    GEODEC_TRY(geodec_quadratic_reduce(f->k, p->d, y, p->x + f->centre[task] * p->d, z, basis, &rank, err));
    if (rank < p->n) goto done;
    GEODEC_NEW(start, p->n * rank);
    GEODEC_TRY(geodec_quadratic_init(&q, (int32_t)p->n, rank, err));
    GEODEC_TRY(scalar_of(&q, f->k, z, zero, radius, NULL, NULL, &at->scalar, err));
    if (isnan(at->scalar)) goto done;
    const geodec_quadratic_curvature c = geodec_quadratic_curvature_of(&q, NULL);
    at->sectional_min = c.sectional_min;
    at->sectional_max = c.sectional_max;
    at->mean_squared = c.mean_squared;
    at->noise = q.noise / (double)(p->d - p->n);
    at->offset = q.offset;
    at->left_out = q.left_out;
    memcpy(start, q.tangent, (size_t)(p->n * rank) * sizeof *start);
    for (int64_t g = 0; g < p->groups; g++) {
        int64_t kept = 0;
        for (int64_t i = 0; i < f->k; i++) kept += (share[i] = p->group[near[i]] != g) > 0;
        without[g] = at->scalar; /* of a group that is not among the neighbours */
        if (kept < f->k) GEODEC_TRY(scalar_of(&q, f->k, z, zero, radius, share, start, without + g, err));
    }
    at->scalar_se = jackknife(p->groups, without);
done:
    geodec_quadratic_clear(&q);
    GEODEC_FREE(y, z, basis, share, zero, start);
    return st;
}

geodec_status geodec__second_form_pool(int64_t centres, int64_t stride, const double *scalar, const double *offset,
                                       int64_t groups, const double *without, geodec_second_form_pool *out,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_second_form_pool r = {.mean = NAN, .mean_se = NAN, .median = NAN, .median_se = NAN};
    double *value = NULL, mean[GROUPS_MAX], median[GROUPS_MAX];
    int64_t *inside = NULL;
    GEODEC_NEW(value, centres);
    GEODEC_NEW(inside, centres);
    for (int64_t c = 0; c < centres; c++) {
        bool sound = isfinite(scalar[c * stride]);
        for (int64_t g = 0; sound && g < groups; g++) sound = isfinite(without[c * groups + g]);
        if (!sound)
            r.failed++;
        else if (offset[c * stride] > geodec__second_form_edge)
            r.edge++;
        else
            inside[r.centres++] = c;
    }
    for (int64_t g = -1; r.centres > 0 && g < groups; g++) {
        for (int64_t i = 0; i < r.centres; i++)
            value[i] = g < 0 ? scalar[inside[i] * stride] : without[inside[i] * groups + g];
        const double m = geodec_stats_mean(r.centres, value);
        geodec_stats_sort(r.centres, value);
        const double middle = geodec_stats_percentile(r.centres, value, 0.5);
        *(g < 0 ? &r.mean : mean + g) = m;
        *(g < 0 ? &r.median : median + g) = middle;
    }
    if (r.centres > 0) {
        r.mean_se = jackknife(groups, mean);
        r.median_se = jackknife(groups, median);
    }
    *out = r;
done:
    GEODEC_FREE(value, inside);
    return st;
}

static double median_of(int64_t n, const double *first, int64_t stride, double *work)
{
    int64_t m = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(first[i * stride])) work[m++] = first[i * stride];
    geodec_stats_sort(m, work);
    return m ? geodec_stats_percentile(m, work, 0.5) : NAN;
}

geodec_status geodec__second_form_noise(int64_t centres, int64_t stride, const double *noise, double *deviation,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *work = NULL;
    GEODEC_NEW(work, centres);
    *deviation = sqrt(median_of(centres, noise, stride, work));
done:
    geodec_mem_free(work);
    return st;
}

/* Neighbours of centres, and the fits. at [centres] and without [centres][groups] are new memory. */
static geodec_status fit_all(const points *p, int64_t centres, const int32_t *centre, int64_t k,
                             geodec_second_form_centre **at, double **without, geodec_pool *pool,
                             const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *y = NULL, *dist2 = NULL;
    int32_t *near = NULL;
    fits f = {.p = p, .k = k, .centre = centre};
    GEODEC_NEW(y, centres * p->d);
    GEODEC_NEW(near, centres * (k + 1));
    GEODEC_NEW(dist2, centres * (k + 1));
    GEODEC_NEW(*at, centres);
    GEODEC_NEW(*without, centres * p->groups);
    for (int64_t c = 0; c < centres; c++) memcpy(y + c * p->d, p->x + centre[c] * p->d, (size_t)p->d * sizeof *y);
    if (centres > 0)
        GEODEC_TRY(geodec_knn_search(p->count, p->d, p->x, centres, y, k + 1, near, dist2, pool, hooks, err));
    f.near = near;
    f.dist2 = dist2;
    f.at = *at;
    f.without = *without;
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "second form", centres, fit_centre, &f, err));
done:
    GEODEC_FREE(y, near, dist2);
    return st;
}

/* ---- the ladder ---------------------------------------------------------------------------------------------------
 */

/* The square of the slope of a centre's bias over radius^2, from the differences of its values between rungs beyond
 * their variance. The values of a rung vary by what is left of those of the rung before, so that a difference has the
 * variance point_se^2 of that rung less this one's. moved [count]: median squared difference to the rung before. */
static double bias_slope2(int64_t count, const geodec_second_form_rung *rung, const double *moved)
{
    double above = 0, below = 0;
    for (int64_t r = 1; r < count; r++) {
        const double before = rung[r - 1].point_se * rung[r - 1].point_se, now = rung[r].point_se * rung[r].point_se;
        const double apart = rung[r].radius * rung[r].radius - rung[r - 1].radius * rung[r - 1].radius;
        if (!(before > 0) || !(now >= 0) || !isfinite(moved[r]) || !(apart > 0)) continue;
        above += apart * apart * (moved[r] - fmax(0, before - now)) / (before * before);
        below += apart * apart * apart * apart / (before * before);
    }
    return above > 0 ? above / below : 0;
}

/* A rung at the centres of the pilot. last [centres]: scalar curvatures of the rung before; of this one afterwards. */
static geodec_status climb_one(const points *p, int64_t centres, const int32_t *centre, int64_t k, double *last,
                               geodec_second_form_rung *rung, double *moved, geodec_pool *pool,
                               const geodec_hooks *hooks, geodec_err *err)
{
    enum { STRIDE = sizeof(geodec_second_form_centre) / sizeof(double) };
    geodec_status st = GEODEC_OK;
    geodec_second_form_centre *at = NULL;
    double *without = NULL, work[PILOT], square[PILOT];
    geodec_second_form_pool pooled;
    GEODEC_TRY(fit_all(p, centres, centre, k, &at, &without, pool, hooks, err));
    GEODEC_TRY(geodec__second_form_pool(centres, STRIDE, &at->scalar, &at->offset, p->groups, without, &pooled, err));
    *rung = (geodec_second_form_rung){.k = k,
                                      .radius = median_of(centres, &at->radius, STRIDE, work),
                                      .median = pooled.median,
                                      .median_se = pooled.median_se,
                                      .point_se = median_of(centres, &at->scalar_se, STRIDE, work)};
    for (int64_t c = 0; c < centres; c++) {
        square[c] = (at[c].scalar - last[c]) * (at[c].scalar - last[c]);
        last[c] = at[c].scalar;
    }
    *moved = median_of(centres, square, 1, work);
done:
    GEODEC_FREE(at, without);
    return st;
}

/* The rungs at the centres of the pilot, the chosen number of neighbours, and the slope of a centre's bias. seconds
 * [RUNGS]: processor time of each rung, or NULL. */
static geodec_status climb(const points *p, int64_t centres, const int32_t *centre, int64_t given,
                           geodec_second_form_rung *rung, int64_t *count, int64_t *k, double *slope, double *seconds,
                           geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    const int64_t coefficients = GEODEC_QUADRATIC_COEFFICIENTS(p->n);
    double last[PILOT], moved[RUNGS], size = rung_step * (double)coefficients;
    int64_t best = 0;
    for (int64_t c = 0; c < centres; c++) last[c] = NAN;
    for (*count = 0, *k = given; *count < RUNGS && *count <= best + PAST; size *= rung_step) {
        const int64_t m = (int64_t)ceil(size) + 2;
        if (m > p->count / (*count < 2 ? 4 : 24) || m > MOST_NEIGHBOURS) break; /* a larger part is not local */
        const double begin = geodec_clock_process_seconds();
        GEODEC_PASS(climb_one(p, centres, centre, m, last, rung + *count, moved + *count, pool, hooks, err));
        if (seconds) seconds[*count] = geodec_clock_process_seconds() - begin;
        (*count)++;
        const double slope2 = bias_slope2(*count, rung, moved);
        double least = INFINITY;
        *slope = sqrt(slope2);
        for (int64_t r = 0; r < *count; r++) {
            const double radius2 = rung[r].radius * rung[r].radius;
            const double error = rung[r].point_se * rung[r].point_se + slope2 * radius2 * radius2;
            if (error < least) least = error, best = r;
        }
        if (isinf(least))
            best = *count; /* no fit yet */
        else if (given == 0)
            *k = rung[best].k;
    }
    if (*count == 0)
        GEODEC_FAIL(GEODEC_SCARCE,
                    "%lld points; a quadratic fit in %lld dimensions has %lld coefficients and needs %lld",
                    (long long)p->count, (long long)p->n, (long long)coefficients,
                    4 * ((long long)ceil(rung_step * (double)coefficients) + 2));
    if (*k == 0)
        GEODEC_FAIL(GEODEC_SCARCE, "no number of neighbours determines a quadratic fit in %lld dimensions",
                    (long long)p->n);
    return GEODEC_OK;
}

/* The rung whose number of neighbours is nearest to k. */
static int64_t rung_at(int64_t k, int64_t count, const geodec_second_form_rung *rung)
{
    int64_t best = 0;
    for (int64_t r = 1; r < count; r++)
        if (llabs(rung[r].k - k) < llabs(rung[best].k - k)) best = r;
    return best;
}

/* ---- groups and centres -------------------------------------------------------------------------------------------
 */

/* Texts are dealt to groups at random, if there are two for each; otherwise groups are runs of points. */
static void deal(const geodec_cloud *c, uint64_t seed, points *p)
{
    int64_t texts = 0;
    for (int64_t i = 0; i < p->count; i++) texts += i == 0 || c->sequence[i] != c->sequence[i - 1];
    for (int64_t i = 0; i < p->count; i++) {
        const uint64_t stream = geodec_rng_id("second form group", 0);
        p->group[i] = (uint8_t)(texts >= 2 * p->groups
                                    ? geodec_rng_at(seed, stream, (uint64_t)c->sequence[i]) % (uint64_t)p->groups
                                    : (uint64_t)(i * p->groups / p->count));
    }
}

static geodec_status choose_centres(const geodec_second_form_options *o, int64_t points_of, int64_t *count,
                                    int32_t **centre, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *subset = NULL;
    *count = o->samples > 0 ? geodec__min(o->samples, points_of) : points_of;
    GEODEC_NEW(subset, *count);
    GEODEC_NEW(*centre, *count);
    GEODEC_TRY(geodec__choose_subset(o->seed, geodec_rng_id("second form", 0), points_of, *count, subset, err));
    for (int64_t i = 0; i < *count; i++) (*centre)[i] = (int32_t)subset[i];
done:
    geodec_mem_free(subset);
    return st;
}

/* `most` of the centres, spread over all. */
static int64_t pilot_of(int64_t count, const int32_t *centre, int64_t most, int32_t *pilot)
{
    const int64_t m = geodec__min(count, most);
    for (int64_t i = 0; i < m; i++) pilot[i] = centre[i * count / m];
    return m;
}

/* The same at the same numbers of points in noise, whatever the slice of the centres. */
static geodec_status control(const points *p, const geodec_second_form_options *o, int64_t count, const int32_t *centre,
                             geodec_pool *pool, const geodec_hooks *hooks, geodec_second_form *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    points noise = *p;
    geodec_second_form_rung rung[RUNGS];
    geodec_second_form_centre *at = NULL;
    int32_t pilot[PILOT];
    double *x = NULL, *without = NULL, slope;
    int64_t rungs_of;
    GEODEC_NEW(x, p->count * p->d);
    GEODEC_TRY(geodec__metric_control_points(p->count, p->d, p->x, o->seed, pool, x, err));
    noise.x = x;
    GEODEC_TRY(climb(&noise, pilot_of(count, centre, PILOT, pilot), pilot, o->k, rung, &rungs_of, &out->control_k,
                     &slope, NULL, pool, hooks, err));
    GEODEC_TRY(fit_all(&noise, count, centre, out->control_k, &at, &without, pool, hooks, err));
    GEODEC_TRY(geodec__second_form_pool(count, sizeof *at / sizeof(double), &at->scalar, &at->offset, p->groups,
                                        without, &out->control, err));
done:
    GEODEC_FREE(x, at, without);
    return st;
}

/* The set, its points in groups, and all centres. The caller frees p->group and *centre. */
static geodec_status prepare(const geodec_cloud *cloud, int64_t d, const double *x, const geodec_second_form_options *o,
                             points *p, int64_t *count, int32_t **centre, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *p = (points){.count = cloud->points, .d = d, .groups = o->groups, .x = x};
    p->n = o->n > 0 ? o->n : geodec_cloud_dimension(cloud);
    if (p->n > GEODEC_QUADRATIC_MAX_N || p->n >= d)
        GEODEC_FAIL(GEODEC_RANGE,
                    "a set of dimension %lld in %lld coordinates; at most %d and fewer than the coordinates",
                    (long long)p->n, (long long)d, GEODEC_QUADRATIC_MAX_N);
    if (o->groups < 2 || o->groups > GROUPS_MAX || o->k < 0 || o->k >= cloud->points)
        GEODEC_FAIL(GEODEC_RANGE, "%lld groups, %lld neighbours", (long long)o->groups, (long long)o->k);
    GEODEC_NEW(p->group, p->count);
    deal(cloud, o->seed, p);
    GEODEC_TRY(choose_centres(o, p->count, count, centre, err));
done:
    return st;
}

geodec_status geodec_second_form_compute(const geodec_cloud *cloud, int64_t d, const double *x,
                                         const geodec_second_form_options *o, geodec_pool *pool,
                                         const geodec_hooks *hooks, geodec_second_form *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_second_form s = {.points = cloud->points, .d = d, .groups = o->groups};
    points p = {0};
    int32_t *centre = NULL, pilot[PILOT];
    double slope;
    int64_t count, first, end;
    GEODEC_TRY(prepare(cloud, d, x, o, &p, &count, &centre, err));
    s.n = p.n;
    GEODEC_NEW(s.rung, RUNGS);
    GEODEC_TRY(climb(&p, pilot_of(count, centre, PILOT, pilot), pilot, o->k, s.rung, &s.rungs, &s.k, &slope, NULL, pool,
                     hooks, err));
    GEODEC_TRY(geodec_shard_range(o->shard, count, &first, &end, err));
    s.centres = end - first;
    GEODEC_NEW(s.index, s.centres);
    memcpy(s.index, centre + first, (size_t)s.centres * sizeof *centre);
    GEODEC_TRY(fit_all(&p, s.centres, s.index, s.k, &s.at, &s.without, pool, hooks, err));
    GEODEC_TRY(geodec__second_form_pool(s.centres, sizeof *s.at / sizeof(double), &s.at->scalar, &s.at->offset,
                                        s.groups, s.without, &s.pool, err));
    const double radius = s.rung[rung_at(s.k, s.rungs, s.rung)].radius;
    s.bias = slope * radius * radius;
    GEODEC_TRY(geodec__second_form_noise(s.centres, sizeof *s.at / sizeof(double), &s.at->noise, &s.noise, err));
    if (o->control) GEODEC_TRY(control(&p, o, count, centre, pool, hooks, &s, err));
    *out = s;
done:
    GEODEC_FREE(p.group, centre);
    if (st != GEODEC_OK) geodec_second_form_clear(&s);
    return st;
}

/* ---- the plan -----------------------------------------------------------------------------------------------------
 */

/* The ladder of the run, at a few of its centres: it needs no budget to end, and where it ends is what the time of the
 * run depends on most. */
enum { TRIAL = 4 };

typedef struct noise_trial {
    const points *p;
    uint64_t seed;
    geodec_pool *pool;
} noise_trial;

static geodec_status draw_noise(void *ctx, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const noise_trial *t = ctx;
    double *x = NULL;
    GEODEC_NEW(x, items * t->p->d);
    GEODEC_TRY(geodec__metric_control_points(items, t->p->d, t->p->x, t->seed, t->pool, x, err));
done:
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_second_form_needs(const geodec_cloud *cloud, int64_t d, const double *x,
                                       const geodec_second_form_options *o, double budget, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    points p = {0};
    geodec_second_form_rung rung[RUNGS];
    int32_t *centre = NULL, pilot[TRIAL];
    double seconds[RUNGS], slope, ladder = 0;
    int64_t count, first, end, rungs, k;
    GEODEC_TRY(prepare(cloud, d, x, o, &p, &count, &centre, err));
    GEODEC_TRY(geodec_shard_range(o->shard, count, &first, &end, err));
    const int64_t tried = pilot_of(count, centre, TRIAL, pilot);
    GEODEC_TRY(climb(&p, tried, pilot, o->k, rung, &rungs, &k, &slope, seconds, pool, hooks, err));
    for (int64_t r = 0; r < rungs; r++) ladder += seconds[r];
    const int64_t nearest = rung_at(k, rungs, rung);
    const double item = seconds[nearest] / (double)tried * (double)k / (double)rung[nearest].k;
    const double pilots = ladder / (double)tried * (double)geodec__min(count, PILOT);
    const geodec_size_dim dims[] = {{"Q", end - first}, {"G", o->groups}, {"L", rungs}};
    GEODEC_TRY(geodec_size_of(&geodec_second_form_kind, 3, dims, NULL, size, err));
    geodec_needs_size(needs, "points", (double)p.count);
    geodec_needs_size(needs, "coordinates", (double)d);
    geodec_needs_size(needs, "dimension", (double)p.n);
    geodec_needs_size(needs, "centres", (double)(end - first));
    geodec_needs_size(needs, "neighbours", (double)k);
    geodec_needs_size(needs, "rungs", (double)rungs);
    const double neighbours = (double)(end - first) * ((double)d * sizeof(double) + 12 * (double)(k + 1));
    geodec_needs_memory(needs, "results", (double)size->fields + neighbours);
    geodec_needs_time(needs, "ladder", 0, pilots);
    geodec_needs_time(needs, "centres", 0, item * (double)(end - first));
    if (o->control) { /* of all centres, whatever the slice; taken to need as many neighbours */
        noise_trial t = {.p = &p, .seed = o->seed, .pool = pool};
        geodec_pilot drawn;
        GEODEC_TRY(geodec_pilot_run(draw_noise, &t, geodec__min(64, p.count), p.count, budget, &drawn, err));
        geodec_needs_memory(needs, "control", (double)(p.count * d) * sizeof(double));
        geodec_needs_time(needs, "control", drawn.fixed, drawn.item * (double)p.count + pilots + item * (double)count);
    }
done:
    GEODEC_FREE(p.group, centre);
    return st;
}
