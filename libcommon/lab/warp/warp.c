#include "lab/warp/warp.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "geometry/space_warped.h"

#include <math.h>
#include <string.h>

enum { N_MAX = GEODEC_SPACE_DIM_MAX, DRAWS = 16 };

geodec_warp_options geodec_warp_defaults(void)
{
    return (geodec_warp_options){.facts = 12,
                                 .holdouts = 4,
                                 .steps = 8,
                                 .length = 1.6,
                                 .angle = M_PI / 6,
                                 .strengths = 5,
                                 .widths = 3,
                                 .alpha = {0, 0.7, 1.4, -1.4, -2.1},
                                 .width = {0.25, 0.5, 1},
                                 .radius = {0, 1, 2, 3},
                                 .bootstrap = 1000,
                                 .seed = 1};
}

typedef struct run {
    const geodec_space *s;
    const geodec_warp_options *o;
    const double *point;
    int64_t points, n;
    geodec_warp *w;
    uint8_t *lost;    /* [facts] broken down without any warp */
    uint8_t *planted; /* [facts] */
} run;

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static int64_t nearest(const run *r, int64_t p)
{
    int64_t best = -1;
    double least = INFINITY;
    for (int64_t i = 0; i < r->points; i++) {
        const double d = geodec__gap2(r->n, r->point + i * r->n, r->point + p * r->n);
        if (i != p && d > 0 && d < least) {
            least = d;
            best = i;
        }
    }
    return best;
}

/* Length of y - x in the metric at their middle; *fine: the metric is defined there. */
static geodec_status distance(const geodec_space *s, const double *x, const double *y, double *d, bool *fine,
                              geodec_err *err)
{
    double g[N_MAX * N_MAX], v[N_MAX], m[N_MAX];
    for (int64_t i = 0; i < s->n; i++) {
        v[i] = y[i] - x[i];
        m[i] = 0.5 * (x[i] + y[i]);
    }
    const geodec_status st = s->at(s, m, g, NULL, NULL, err);
    *fine = st == GEODEC_OK;
    if (st == GEODEC_NUMERIC) return GEODEC_OK; /* outside the chart: counted, not fatal */
    if (st != GEODEC_OK) return st;
    const double q = geodec__norm2(s->n, g, v);
    *fine = isfinite(q) && q >= 0;
    *d = *fine ? sqrt(q) : 0;
    return GEODEC_OK;
}

/* End of the path of unit parameter length from x with velocity v: |v| is its length. */
static geodec_status shoot(const run *r, const geodec_space *s, const double *x, const double *v, double *end,
                           bool *fine, double *xs, geodec_err *err)
{
    geodec_geodesic_options o = geodec_geodesic_defaults();
    geodec_path_report report = {0};
    o.steps = r->o->steps;
    o.dl = 1 / (double)r->o->steps;
    geodec_status st = geodec_geodesic_path(s, &o, x, v, xs, xs + (o.steps + 1) * r->n, NULL, &report, err);
    *fine = st == GEODEC_OK && report.status != GEODEC_PATH_NONFINITE;
    if (st == GEODEC_NUMERIC) return GEODEC_OK;
    if (st != GEODEC_OK) return st;
    memcpy(end, xs + o.steps * r->n, (size_t)r->n * sizeof *end);
    return GEODEC_OK;
}

/* Velocity of g-length `length` from point p towards point to. */
static geodec_status aim(const run *r, int64_t p, int64_t to, double *v, geodec_err *err)
{
    for (int64_t i = 0; i < r->n; i++) v[i] = r->point[to * r->n + i] - r->point[p * r->n + i];
    GEODEC_PASS(geodec_geodesic_unit(r->s, r->point + p * r->n, v, err));
    for (int64_t i = 0; i < r->n; i++) v[i] *= r->o->length;
    return GEODEC_OK;
}

/* The velocity that leads to the target: v turned by `angle` in the plane of v and a random other point's direction. */
static geodec_status rotated(const run *r, int64_t q, const double *v, geodec_rng *rng, double *u, geodec_err *err)
{
    const int64_t n = r->n;
    double g[N_MAX * N_MAX], e[N_MAX];
    GEODEC_PASS(r->s->at(r->s, r->point + q * n, g, NULL, NULL, err));
    const double vv = geodec__norm2(n, g, v);
    for (int attempt = 0; attempt < DRAWS; attempt++) {
        const int64_t p = (int64_t)geodec_rng_below(rng, (uint64_t)r->points);
        double ev = 0, ee = 0;
        for (int64_t i = 0; i < n; i++) e[i] = r->point[p * n + i] - r->point[q * n + i];
        for (int64_t i = 0; i < n; i++) ev += v[i] * geodec__dot(n, g + i * n, e);
        const double whole = geodec__norm2(n, g, e);
        for (int64_t i = 0; i < n; i++) e[i] -= ev / vv * v[i];
        ee = geodec__norm2(n, g, e);
        if (!(ee > 1e-6 * whole)) continue; /* the query itself, or straight ahead */
        const double scale = sqrt(vv / ee);
        for (int64_t i = 0; i < n; i++) u[i] = cos(r->o->angle) * v[i] + sin(r->o->angle) * scale * e[i];
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_SCARCE, "all points lie on one line through point %lld; a warp needs a second direction",
                (long long)q);
    return GEODEC_OK;
}

/* ---- one fact ---------------------------------------------------------------------------------------------------- */

/* Moves the target t, of which `end` is the end of the path without a warp, to where the path ends in the warp with the
 * longest lengths and the middle width around q towards t. *fine false: no such target was found, and t is as it was.
 */
static geodec_status plant(const run *r, const double *q, const double *v, const double *end, double *t, bool *fine,
                           double *xs, geodec_err *err)
{
    enum { TURNS = 200 };
    const int64_t n = r->n;
    const geodec_warp_options *o = r->o;
    const double sigma = sqrt(geodec__gap2(n, end, q)) * o->width[o->widths / 2];
    double alpha = o->alpha[0], at[N_MAX], next[N_MAX], direction[N_MAX], step[N_MAX], was[N_MAX], before[N_MAX];
    for (int64_t i = 1; i < o->strengths; i++) alpha = o->alpha[i] < alpha ? o->alpha[i] : alpha;
    memcpy(at, t, (size_t)n * sizeof *at);
    *fine = false;
    /* the fixed point by Anderson's mixing of depth 1 (J. ACM 12 (1965) 547): the plain iteration creeps or swings */
    for (int turn = 0; turn < TURNS; turn++) {
        geodec_space_warped s;
        bool there;
        double along = 0, all = 0;
        for (int64_t i = 0; i < n; i++) direction[i] = at[i] - q[i];
        GEODEC_PASS(geodec_space_warped_init(&s, r->s, q, direction, alpha, sigma, err));
        GEODEC_PASS(shoot(r, &s.base, q, v, next, &there, xs, err));
        if (!there) return GEODEC_OK;
        for (int64_t i = 0; i < n; i++) step[i] = next[i] - at[i];
        if (geodec__dot(n, step, step) <= 1e-20 * geodec__gap2(n, next, q)) {
            *fine = geodec__gap2(n, at, end) > 1e-6 * geodec__gap2(n, at, q); /* a warp along the path turns nothing */
            if (*fine) memcpy(t, at, (size_t)n * sizeof *t);
            return GEODEC_OK;
        }
        for (int64_t i = 0; turn > 0 && i < n; i++) {
            along += step[i] * (step[i] - was[i]);
            all += (step[i] - was[i]) * (step[i] - was[i]);
        }
        const double mix = all > 0 ? fmin(fmax(along / all, -2), 2) : 0;
        for (int64_t i = 0; i < n; i++) {
            const double here = at[i] + 0.5 * step[i], last = turn > 0 ? before[i] : here;
            was[i] = step[i];
            before[i] = here;
            at[i] = here - mix * (here - last);
        }
    }
    return GEODEC_OK;
}

typedef struct holdout {
    double v[N_MAX], end[N_MAX], before;
    int64_t to;
    bool fine;
} holdout;

static geodec_status fact_cells(const run *r, int64_t f, const double *v, const double *end, const holdout *hold,
                                double *xs, geodec_err *err)
{
    geodec_warp *w = r->w;
    const geodec_warp_options *o = r->o;
    const int64_t n = r->n;
    const double *q = r->point + w->query[f] * n, *t = w->target + f * n;
    const double extent = sqrt(geodec__gap2(n, end, q));
    double direction[N_MAX], after[N_MAX];
    for (int64_t i = 0; i < n; i++) direction[i] = t[i] - q[i];
    for (int64_t c = 0; c < w->cells; c++) {
        const double alpha = o->alpha[c / 2 / o->widths], sigma = extent * o->width[c / 2 % o->widths];
        const double *centre = c % 2 == GEODEC_WARP_QUERY ? q : t;
        geodec_space_warped s;
        bool fine;
        double d = 0, dw = 0;
        GEODEC_PASS(geodec_space_warped_init(&s, r->s, centre, direction, alpha, sigma, err));
        GEODEC_PASS(shoot(r, &s.base, q, v, after, &fine, xs, err));
        if (fine) GEODEC_PASS(distance(r->s, after, t, &d, &fine, err));
        if (fine) GEODEC_PASS(distance(&s.base, after, t, &dw, &fine, err));
        w->after[c * w->facts + f] = fine ? d : -1;
        w->after_warped[c * w->facts + f] = fine ? dw : -1;
        for (int64_t h = 0; h < w->holdouts; h++) {
            const int64_t p = w->holdout[f * w->holdouts + h], at = (c * w->facts + f) * w->holdouts + h;
            const double *x = r->point + p * n;
            w->away[at] = sqrt(geodec__gap2(n, x, centre)) / sigma;
            w->spillover[at] = w->shift[at] = -1;
            if (!hold[h].fine) continue;
            GEODEC_PASS(shoot(r, &s.base, x, hold[h].v, after, &fine, xs, err));
            if (fine) GEODEC_PASS(distance(r->s, after, r->point + hold[h].to * n, &d, &fine, err));
            if (fine) GEODEC_PASS(distance(r->s, hold[h].end, after, &dw, &fine, err));
            if (!fine) continue;
            w->spillover[at] = fabs(d - hold[h].before) / hold[h].before;
            w->shift[at] = dw / o->length;
        }
    }
    return GEODEC_OK;
}

static geodec_status fact_task(void *ctx, int64_t f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const run *r = ctx;
    geodec_warp *w = r->w;
    const int64_t n = r->n;
    geodec_rng rng = geodec_rng_stream(r->o->seed, geodec_rng_id("warp fact", (uint64_t)f));
    double u[N_MAX], end[N_MAX], *v = w->velocity + f * n, *xs = NULL;
    holdout *hold = NULL;
    bool fine;
    GEODEC_NEW(xs, 2 * (r->o->steps + 1) * n);
    GEODEC_NEW(hold, w->holdouts);
    geodec_rng chance = geodec_rng_stream(r->o->seed, geodec_rng_id("warp planted", (uint64_t)f));
    const bool plants = geodec_rng_uniform(&chance) < r->o->planted;
    int64_t q = 0;
    for (int draw = 0; draw < DRAWS; draw++) { /* of points; the first one that a planted fact fits */
        bool found = !plants;
        w->query[f] = q = (int64_t)geodec_rng_below(&rng, (uint64_t)r->points);
        const double *x = r->point + q * n;
        const int64_t to = nearest(r, q);
        if (to < 0) GEODEC_THROW(GEODEC_SCARCE, "all points are equal; a warp needs different ones");
        GEODEC_TRY(aim(r, q, to, v, err));
        GEODEC_TRY(rotated(r, q, v, &rng, u, err));
        GEODEC_TRY(shoot(r, r->s, x, u, w->target + f * n, &fine, xs, err));
        if (fine) GEODEC_TRY(shoot(r, r->s, x, v, end, &fine, xs, err));
        if (fine && plants) GEODEC_TRY(plant(r, x, v, end, w->target + f * n, &found, xs, err));
        r->planted[f] = plants && fine && found;
        if (found) break;
    }
    if (fine) GEODEC_TRY(distance(r->s, end, w->target + f * n, &w->before[f], &fine, err));
    for (int64_t h = 0; h < w->holdouts; h++) {
        int64_t p = (int64_t)geodec_rng_below(&rng, (uint64_t)r->points - 1);
        if (p >= q) p++; /* any but the query */
        w->holdout[f * w->holdouts + h] = p;
        hold[h].to = nearest(r, p);
        GEODEC_TRY(aim(r, p, hold[h].to, hold[h].v, err));
        GEODEC_TRY(shoot(r, r->s, r->point + p * n, hold[h].v, hold[h].end, &hold[h].fine, xs, err));
        if (hold[h].fine)
            GEODEC_TRY(distance(r->s, hold[h].end, r->point + hold[h].to * n, &hold[h].before, &hold[h].fine, err));
        hold[h].fine = hold[h].fine && hold[h].before > 0;
    }
    if (!fine) {
        r->lost[f] = 1;
        memset(w->target + f * n, 0, (size_t)n * sizeof *w->target);
        goto done;
    }
    GEODEC_TRY(fact_cells(r, f, v, end, hold, xs, err));
done:
    GEODEC_FREE(xs, hold);
    return st;
}

/* ---- aggregates -------------------------------------------------------------------------------------------------- */

static geodec_estimate complement(geodec_estimate e)
{
    return (geodec_estimate){.value = 1 - e.value, .low = 1 - e.high, .high = 1 - e.low};
}

/* p95 over the holdouts that count with its interval over facts. */
static geodec_status p95_of(const run *r, int64_t c, double radius, geodec_estimate *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_warp *w = r->w;
    const int64_t facts = w->facts, holds = w->holdouts, replicates = r->o->bootstrap;
    double *values = NULL, *each = NULL;
    int64_t *index = NULL, got = 0;
    GEODEC_NEW(values, facts * holds + 1);
    GEODEC_NEW(each, replicates + 1);
    GEODEC_NEW(index, facts);
    *out = (geodec_estimate){0};
    for (int64_t b = -1; b < replicates; b++) {
        int64_t count = 0;
        for (int64_t f = 0; f < facts; f++) index[f] = f;
        if (b >= 0)
            geodec_stats_resample(r->o->seed, geodec_rng_id("warp p95", (uint64_t)c), (uint64_t)b, facts, index);
        for (int64_t f = 0; f < facts; f++)
            for (int64_t h = 0; h < holds; h++) {
                const int64_t at = (c * facts + index[f]) * holds + h;
                if (w->spillover[at] >= 0 && w->away[at] >= radius) values[count++] = w->spillover[at];
            }
        if (count == 0) continue;
        geodec_stats_sort(count, values);
        const double p = geodec_stats_percentile(count, values, 0.95);
        if (b < 0)
            out->value = out->low = out->high = p;
        else
            each[got++] = p;
    }
    if (got > 0) {
        geodec_stats_sort(got, each);
        out->low = geodec_stats_percentile(got, each, 0.025);
        out->high = geodec_stats_percentile(got, each, 0.975);
    }
done:
    GEODEC_FREE(values, each, index);
    return st;
}

static geodec_status mean_of(const run *r, int64_t groups, const double *num, const double *den, int64_t c,
                             geodec_estimate *out, geodec_err *err)
{
    double total = 0;
    for (int64_t i = 0; i < groups; i++) total += den[i];
    *out = (geodec_estimate){0};
    if (!(total > 0)) return GEODEC_OK;
    return geodec_stats_ratio(groups, num, den, r->o->bootstrap, r->o->seed, geodec_rng_id("warp cell", (uint64_t)c),
                              out, err);
}

static geodec_status aggregate(const run *r, int64_t c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp *w = r->w;
    const int64_t facts = w->facts, holds = w->holdouts;
    const bool zero = r->o->alpha[c / 2 / r->o->widths] == 0;
    geodec_warp_cell *cell = &w->cell[c];
    double *num = NULL, *den = NULL;
    GEODEC_NEW_EACH(facts, num, den);
    for (int pass = 0; pass < 2; pass++) {
        const double *after = (pass ? w->after_warped : w->after) + c * facts;
        for (int64_t f = 0; f < facts; f++) {
            const bool in = !r->lost[f] && after[f] >= 0;
            num[f] = in ? after[f] : 0;
            den[f] = in ? w->before[f] : 0;
            if (pass == 0 && !r->lost[f] && after[f] < 0) cell->broken++;
            if (zero && in && after[f] != w->before[f]) w->zero_failures++;
        }
        geodec_estimate e;
        GEODEC_TRY(mean_of(r, facts, num, den, c, &e, err));
        if (e.value > 0) *(pass ? &cell->reduction_warped : &cell->reduction) = complement(e);
    }
    for (int64_t i = c * facts * holds; i < (c + 1) * facts * holds; i++) {
        if (r->lost[i / holds % facts]) continue;
        if (w->spillover[i] < 0) cell->broken++;
        if (zero && w->spillover[i] >= 0 && (w->spillover[i] != 0 || w->shift[i] != 0)) w->zero_failures++;
    }
    for (int k = 0; k < GEODEC_WARP_RADII; k++) {
        for (int pass = 0; pass < 2; pass++) {
            const double *x = pass ? w->shift : w->spillover;
            cell->spills[k] = 0;
            for (int64_t f = 0; f < facts; f++) {
                num[f] = den[f] = 0;
                for (int64_t h = 0; h < holds; h++) {
                    const int64_t at = (c * facts + f) * holds + h;
                    if (x[at] < 0 || w->away[at] < r->o->radius[k]) continue;
                    num[f] += x[at];
                    den[f] += 1;
                    cell->spills[k]++;
                }
            }
            GEODEC_TRY(mean_of(r, facts, num, den, c, pass ? &cell->shift[k] : &cell->spill[k], err));
        }
        GEODEC_TRY(p95_of(r, c, r->o->radius[k], &cell->spill_p95[k], err));
    }
    cell->pass =
        cell->broken == 0 && cell->reduction.value >= 0.5 && cell->spills[2] > 0 && cell->spill_p95[2].value <= 0.05;
    w->passes += cell->pass ? 1 : 0;
done:
    GEODEC_FREE(num, den);
    return st;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static geodec_status check(const geodec_space *s, int64_t points, const geodec_warp_options *o, geodec_err *err)
{
    bool zero = false;
    if (s->n < 1 || s->n > N_MAX) GEODEC_FAIL(GEODEC_RANGE, "a warp in dimension %d", (int)s->n);
    if (s->n < 2 || points < 3)
        GEODEC_FAIL(GEODEC_SCARCE, "%lld points in %d dimensions; a warp needs at least 3 in 2", (long long)points,
                    (int)s->n);
    if (o->facts < 1 || o->holdouts < 0 || o->steps < 1 || !(o->length > 0) || !(o->angle > 0) || !(o->angle < M_PI) ||
        o->strengths < 1 || o->strengths > GEODEC_WARP_STRENGTHS || o->widths < 1 || o->widths > GEODEC_WARP_WIDTHS ||
        o->bootstrap < 0 || !(o->planted >= 0) || !(o->planted <= 1))
        GEODEC_FAIL(GEODEC_RANGE, "options of the warp are out of range");
    for (int64_t i = 0; i < o->strengths; i++) zero |= o->alpha[i] == 0;
    for (int64_t i = 0; i < o->widths; i++)
        if (!(o->width[i] > 0)) GEODEC_FAIL(GEODEC_RANGE, "a warp of width %g", o->width[i]);
    if (!zero) GEODEC_FAIL(GEODEC_RANGE, "no strength is 0: a sweep needs its control");
    return GEODEC_OK;
}

geodec_status geodec_warp_run(const geodec_space *s, int64_t points, const double *point, const geodec_warp_options *o,
                              geodec_pool *pool, const geodec_hooks *hooks, geodec_warp *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_warp w = {.n = s->n, .facts = o->facts, .holdouts = o->holdouts};
    run r = {.s = s, .o = o, .point = point, .points = points, .n = s->n, .w = &w};
    double *ones = NULL;
    int64_t lost = 0;
    GEODEC_TRY(check(s, points, o, err));
    w.cells = o->strengths * o->widths * GEODEC_WARP_PLACES;
    GEODEC_NEW(w.query, w.facts);
    GEODEC_NEW(w.holdout, w.facts * w.holdouts);
    GEODEC_NEW_EACH(w.facts * w.n, w.velocity, w.target);
    GEODEC_NEW(w.before, w.facts);
    GEODEC_NEW_EACH(w.cells * w.facts, w.after, w.after_warped);
    GEODEC_NEW_EACH(w.cells * w.facts * w.holdouts, w.spillover, w.shift, w.away);
    GEODEC_NEW(w.cell, w.cells);
    GEODEC_NEW_EACH(w.facts, r.lost, r.planted, ones);
    const int64_t size = sizeof(double), held = w.holdouts * size;
    const geodec_sweep_result result[] = {{w.query, 1, size},
                                          {w.holdout, 1, held},
                                          {w.velocity, 1, w.n * size},
                                          {w.target, 1, w.n * size},
                                          {w.before, 1, size},
                                          {r.lost, 1, 1},
                                          {r.planted, 1, 1},
                                          {w.after, w.cells, size},
                                          {w.after_warped, w.cells, size},
                                          {w.spillover, w.cells, held},
                                          {w.shift, w.cells, held},
                                          {w.away, w.cells, held}};
    GEODEC_TRY(geodec_sweep_run(o->sweep, pool, hooks, "warp: fact", w.facts, 1, fact_task, &r, result,
                                sizeof result / sizeof *result, err));
    if (geodec_sweep_partial(o->sweep)) goto give;
    for (int64_t f = 0; f < w.facts; f++) {
        lost += r.lost[f];
        w.planted += r.planted[f];
        ones[f] = r.lost[f] ? 0 : 1;
        if (r.lost[f]) w.before[f] = 0;
    }
    if (lost == w.facts)
        GEODEC_THROW(GEODEC_SCARCE, "none of %lld paths holds before any warp; one is needed", (long long)w.facts);
    GEODEC_TRY(mean_of(&r, w.facts, w.before, ones, -1, &w.before_mean, err));
    for (int64_t c = 0; c < w.cells; c++) {
        GEODEC_TRY(aggregate(&r, c, err));
        w.cell[c].broken += lost;
    }
give:
    GEODEC_MOVE(*out, w);
done:
    geodec_warp_clear(&w);
    GEODEC_FREE(r.lost, r.planted, ones);
    return st;
}

geodec_status geodec_warp_exact(int32_t n, double curvature, const geodec_warp_options *o, geodec_pool *pool,
                                const geodec_hooks *hooks, geodec_warp *out, geodec_err *err)
{
    enum { POINTS = 64 };
    geodec_status st = GEODEC_OK;
    geodec_space_conformal s;
    double *point = NULL;
    GEODEC_TRY(geodec_space_conformal_init(&s, n, curvature, err));
    GEODEC_NEW(point, POINTS * n);
    for (int64_t p = 0; p < POINTS; p++) {
        geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("warp ball", (uint64_t)p));
        double r2 = 0, *x = point + p * n;
        for (int32_t i = 0; i < n; i++) {
            x[i] = geodec_rng_normal(&rng);
            r2 += x[i] * x[i];
        }
        const double scale = (curvature > 0 ? 1 : 2) * pow(geodec_rng_uniform(&rng), 1 / (double)n) / sqrt(r2);
        for (int32_t i = 0; i < n; i++) x[i] *= scale;
    }
    GEODEC_TRY(geodec_warp_run(&s.base, POINTS, point, o, pool, hooks, out, err));
done:
    geodec_mem_free(point);
    return st;
}

void geodec_warp_clear(geodec_warp *w)
{
    GEODEC_FREE(w->query, w->holdout, w->velocity, w->target, w->before, w->after, w->after_warped, w->spillover,
                w->shift, w->away, w->cell);
    *w = (geodec_warp){0};
}
