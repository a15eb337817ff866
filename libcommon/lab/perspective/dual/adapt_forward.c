#include "lab/perspective/dual/adapt_forward.h"

#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void normals(uint64_t seed, const char *what, uint64_t index, uint64_t k, int64_t n, double scale, double *v)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id(what, index) ^ geodec_rng_id("adapt", k));
    for (int64_t i = 0; i < n; i++) v[i] = scale * geodec_rng_normal(&r);
}

void geodec_adapt_lora(int64_t rows, int64_t cols, int64_t rank, uint64_t seed, uint64_t index, double *ab)
{
    normals(seed, "adapt lora", index, 0, rank * cols, 1 / sqrt((double)cols), ab);
    memset(ab + rank * cols, 0, (size_t)(rows * rank) * sizeof *ab);
}

/* ---- gradients from directions ----------------------------------------------------------------------------------- */

/* One evaluation of several: results are in its place, and errors too, so that the first one is reported. */
typedef struct outcome {
    double loss, derivative;
    geodec_status status;
    geodec_err err;
} outcome;

typedef struct estimate {
    geodec_adapt_jvp jvp;
    geodec_adapt_loss of;
    void *ctx;
    int64_t n;
    const double *x;
    const geodec_adapt_directions *o;
    const geodec_adapt_nes *nes;
    double scale;
    double *v;    /* [threads][n] */
    outcome *out; /* [count] */
} estimate;

static void direction(const estimate *e, int64_t k, double *v)
{
    normals(e->o->seed, "adapt direction", e->o->index, (uint64_t)k, e->n, e->scale, v);
}

static void one_direction(void *ctx, int64_t k, int worker)
{
    const estimate *const e = ctx;
    double *const v = e->v + worker * e->n;
    outcome *const r = &e->out[k];
    direction(e, k, v);
    r->status = e->jvp(e->ctx, e->n, e->x, v, worker, &r->loss, &r->derivative, &r->err);
}

static geodec_status first_error(const outcome *out, int64_t n, geodec_err *err)
{
    for (int64_t k = 0; k < n; k++)
        if (out[k].status != GEODEC_OK) {
            if (err) *err = out[k].err;
            return out[k].status;
        }
    return GEODEC_OK;
}

geodec_status geodec_adapt_gradient(geodec_adapt_jvp jvp, void *ctx, int64_t n, const double *x,
                                    const geodec_adapt_directions *o, double *gradient, double *loss, geodec_pool *pool,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    estimate e = {.jvp = jvp, .ctx = ctx, .n = n, .x = x, .o = o, .scale = o->published ? 1 / sqrt((double)n) : 1};
    double *sum = NULL;
    if (n < 1 || o->count < 1)
        GEODEC_THROW(GEODEC_RANGE, "%lld directions of %lld numbers", (long long)o->count, (long long)n);
    GEODEC_NEW(e.v, geodec_pool_threads(pool) * n);
    GEODEC_NEW(e.out, o->count);
    GEODEC_NEW(sum, n);
    geodec_pool_run_dynamic(pool, o->count, one_direction, &e);
    GEODEC_TRY(first_error(e.out, o->count, err));
    for (int64_t k = 0; k < o->count; k++) {
        const double by = e.out[k].derivative / (double)o->count;
        if (!isfinite(by) || !isfinite(e.out[k].loss))
            GEODEC_THROW(GEODEC_NUMERIC, "direction %lld: loss %g, derivative %g", (long long)k, e.out[k].loss,
                         e.out[k].derivative);
        direction(&e, k, e.v); /* made again: all of them may not fit in memory */
        for (int64_t i = 0; i < n; i++) sum[i] += by * e.v[i];
    }
    memcpy(gradient, sum, (size_t)n * sizeof *sum);
    if (loss) *loss = e.out[0].loss;
done:
    GEODEC_FREE(e.v, e.out, sum);
    return st;
}

/* ---- evolution strategies ---------------------------------------------------------------------------------------- */

static void offset(const estimate *e, int64_t pair, double *v)
{
    normals(e->nes->seed, "adapt nes", e->nes->index, (uint64_t)pair, e->n, 1, v);
}

static double period_of(const double *period, int64_t i) { return period ? period[i] : 0; }

/* Candidate 2 k: x + sigma e_k, 2 k + 1: x - sigma e_k. */
static void one_candidate(void *ctx, int64_t c, int worker)
{
    const estimate *const e = ctx;
    double *const v = e->v + worker * e->n;
    outcome *const r = &e->out[c];
    const double sigma = c % 2 ? -e->nes->sigma : e->nes->sigma;
    offset(e, c / 2, v);
    for (int64_t i = 0; i < e->n; i++) v[i] = geodec_adapt_wrap(e->x[i] + sigma * v[i], period_of(e->nes->period, i));
    r->status = e->of(e->ctx, e->n, v, worker, &r->loss, &r->err);
}

typedef struct ranked {
    double loss;
    int64_t candidate;
} ranked;

static int by_loss(const void *a, const void *b)
{
    const ranked *const x = a, *const y = b;
    if (x->loss < y->loss || x->loss > y->loss) return x->loss < y->loss ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* max(0, ln(n / 2 + 1) - ln rank), over their sum, less 1 / n; equal losses get the mean of theirs. */
static void utilities(int64_t n, const ranked *r, double *u)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += fmax(0, log((double)n / 2 + 1) - log((double)(i + 1)));
    for (int64_t i = 0; i < n;) {
        int64_t end = i;
        double mean = 0;
        for (; end < n && r[end].loss <= r[i].loss; end++)
            mean += fmax(0, log((double)n / 2 + 1) - log((double)(end + 1)));
        mean /= (double)(end - i);
        for (; i < end; i++) u[r[i].candidate] = mean / sum - 1 / (double)n;
    }
}

geodec_status geodec_adapt_nes_gradient(geodec_adapt_loss loss, void *ctx, int64_t n, const double *x,
                                        const geodec_adapt_nes *o, double *gradient, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    estimate e = {.of = loss, .ctx = ctx, .n = n, .x = x, .nes = o};
    ranked *r = NULL;
    double *u = NULL, *sum = NULL;
    if (n < 1 || o->pairs < 1 || o->pairs > INT32_MAX || !(o->sigma > 0) || !isfinite(o->sigma))
        GEODEC_THROW(GEODEC_RANGE, "%lld pairs of %lld numbers, sigma %g", (long long)o->pairs, (long long)n, o->sigma);
    const int64_t count = 2 * o->pairs;
    GEODEC_NEW(e.v, geodec_pool_threads(pool) * n);
    GEODEC_NEW(e.out, count);
    GEODEC_NEW(r, count);
    GEODEC_NEW(u, count);
    GEODEC_NEW(sum, n);
    geodec_pool_run_dynamic(pool, count, one_candidate, &e);
    GEODEC_TRY(first_error(e.out, count, err));
    for (int64_t c = 0; c < count; c++) {
        if (isnan(e.out[c].loss)) GEODEC_THROW(GEODEC_NUMERIC, "candidate %lld has no loss", (long long)c);
        r[c] = (ranked){e.out[c].loss, c};
    }
    qsort(r, (size_t)count, sizeof *r, by_loss);
    utilities(count, r, u);
    for (int64_t k = 0; k < o->pairs; k++) {
        const double by = -(u[2 * k] - u[2 * k + 1]) / o->sigma; /* utility falls where the loss rises */
        offset(&e, k, e.v);
        for (int64_t i = 0; i < n; i++) sum[i] += by * e.v[i];
    }
    memcpy(gradient, sum, (size_t)n * sizeof *sum);
done:
    GEODEC_FREE(e.v, e.out, r, u, sum);
    return st;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

double geodec_adapt_wrap(double x, double period)
{
    if (!(period > 0) || (x >= 0 && x < period)) return x;
    const double rest = x - period * floor(x / period);
    return rest >= period || rest < 0 ? 0 : rest; /* rounding at the ends */
}

void geodec_adapt_step(int64_t n, double rate, const double *gradient, double lambda, const double *anchor,
                       const double *period, double *x)
{
    if (rate == 0) return; /* a wrap, or a sum with 0, could change bits */
    for (int64_t i = 0; i < n; i++) {
        const double whole = period_of(period, i);
        double away = anchor ? x[i] - anchor[i] : 0;
        if (whole > 0) away -= whole * round(away / whole);
        x[i] = geodec_adapt_wrap(x[i] - rate * ((gradient ? gradient[i] : 0) + 2 * lambda * away), whole);
    }
}

int64_t geodec_adapt_fit(double budget, double seconds_each, int64_t least, int64_t most)
{
    const double n = budget / seconds_each;
    if (!(seconds_each > 0) || !(n > (double)least)) return least;
    return n < (double)most ? (int64_t)n : most;
}

typedef struct course {
    double *x, *best, *anchor, *gradient; /* [n] */
} course;

static geodec_status check_run(const geodec_adapt_problem *p, const geodec_adapt_run *o, int64_t n, geodec_err *err)
{
    if (n < 1 || o->steps < 1 || o->directions < 1 || !isfinite(o->rate) || !(o->lambda >= 0) || !(o->rise >= 0) ||
        !(o->sigma >= 0))
        GEODEC_FAIL(GEODEC_RANGE, "%lld steps of %lld directions, rate %g, anchor %g, rise %g, sigma %g",
                    (long long)o->steps, (long long)o->directions, o->rate, o->lambda, o->rise, o->sigma);
    if (!p->held_out || (o->sigma > 0 ? !p->loss : !p->jvp))
        GEODEC_FAIL(GEODEC_INVAL, "a run of adaptation without its functions");
    return GEODEC_OK;
}

/* The loss of the adaptation text at x, with a scratch [n]. */
static geodec_status loss_at(const geodec_adapt_problem *p, int64_t n, const double *x, const geodec_adapt_run *o,
                             double *scratch, double *loss, geodec_err *err)
{
    double derivative;
    if (o->sigma > 0) return p->loss(p->ctx, n, x, 0, loss, err);
    memset(scratch, 0, (size_t)n * sizeof *scratch);
    return p->jvp(p->ctx, n, x, scratch, 0, loss, &derivative, err);
}

static geodec_status gradient_of_step(const geodec_adapt_problem *p, int64_t n, course *c, const geodec_adapt_run *o,
                                      int64_t step, geodec_pool *pool, geodec_err *err)
{
    const geodec_adapt_nes e = {
        .pairs = o->directions, .sigma = o->sigma, .period = o->period, .seed = o->seed, .index = (uint64_t)step};
    const geodec_adapt_directions d = {.count = o->directions, .seed = o->seed, .index = (uint64_t)step};
    return o->sigma > 0 ? geodec_adapt_nes_gradient(p->loss, p->ctx, n, c->x, &e, c->gradient, pool, err)
                        : geodec_adapt_gradient(p->jvp, p->ctx, n, c->x, &d, c->gradient, NULL, pool, err);
}

static geodec_status run_steps(const geodec_adapt_problem *p, int64_t n, course *c, const geodec_adapt_run *o,
                               geodec_adapt_report *r, geodec_pool *pool, geodec_err *err)
{
    GEODEC_PASS(loss_at(p, n, c->x, o, c->gradient, &r->start, err));
    GEODEC_PASS(p->held_out(p->ctx, n, c->x, 0, &r->held_start, err));
    r->held = r->held_start;
    while (r->steps < o->steps && !r->rolled_back) {
        double held;
        GEODEC_PASS(gradient_of_step(p, n, c, o, r->steps, pool, err));
        geodec_adapt_step(n, o->rate, c->gradient, o->lambda, c->anchor, o->period, c->x);
        r->steps++;
        GEODEC_PASS(p->held_out(p->ctx, n, c->x, 0, &held, err));
        /* not a number counts as a rise */
        r->rolled_back = !(held <= r->held_start + o->rise * fabs(r->held_start));
        if (r->rolled_back) break;
        memcpy(c->best, c->x, (size_t)n * sizeof *c->x);
        r->kept = r->steps;
        r->held = held;
    }
    return loss_at(p, n, c->best, o, c->gradient, &r->end, err);
}

geodec_status geodec_adapt_descend(const geodec_adapt_problem *p, int64_t n, double *x, const geodec_adapt_run *o,
                                   geodec_adapt_report *report, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_adapt_report r = {0};
    course c = {0};
    GEODEC_TRY(check_run(p, o, n, err));
    GEODEC_NEW_COPY(c.x, x, n);
    GEODEC_NEW_COPY(c.best, x, n);
    GEODEC_NEW_COPY(c.anchor, x, n);
    GEODEC_NEW(c.gradient, n);
    GEODEC_TRY(run_steps(p, n, &c, o, &r, pool, err));
    memcpy(x, c.best, (size_t)n * sizeof *x);
    if (report) *report = r;
done:
    GEODEC_FREE(c.x, c.best, c.anchor, c.gradient);
    return st;
}
