#include "lab/adapt/adaptation.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

enum { DIRECTIONS_MAX = 4096 };

/* Windows of a text. */
typedef struct windows {
    int64_t n;
    geodec_network_window *at;
    int32_t *token, *target;
} windows;

typedef struct task {
    geodec_network *network;
    windows text, held;
    bool places;
} task;

static void free_windows(windows *w) { GEODEC_FREE(w->at, w->token, w->target); }

static geodec_status cut(const geodec_text *t, const char *name, int64_t n, int64_t length, windows *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t cursor = 0;
    GEODEC_NEW(w->at, n);
    GEODEC_NEW_EACH(n * length, w->token, w->target);
    for (; w->n < n; w->n++) {
        int32_t *token = w->token + w->n * length, *target = w->target + w->n * length;
        if (geodec_text_next_window(t, &cursor, length, token, target) == 0) break;
        w->at[w->n] = (geodec_network_window){length, token, target};
    }
    if (w->n < n)
        GEODEC_THROW(GEODEC_SCARCE, "%s has %lld windows of %lld tokens; %lld are needed", name, (long long)w->n,
                     (long long)length, (long long)n);
done:
    return st;
}

/* Mean over the windows. */
static geodec_status evaluate(const task *t, const windows *w, const double *x, const double *v, int worker,
                              double *loss, double *derivative, geodec_err *err)
{
    double sum = 0, slope = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < w->n; i++) {
        double one, d;
        int64_t counted;
        GEODEC_PASS(geodec_network_loss(t->network, worker, &w->at[i], t->places ? NULL : x, v, t->places ? x : NULL,
                                        &one, &d, &counted, err));
        sum += one;
        slope += d;
        count += counted;
    }
    *loss = sum / (double)count;
    *derivative = slope / (double)count;
    return GEODEC_OK;
}

static geodec_status jvp(void *ctx, int64_t n, const double *x, const double *v, int worker, double *loss,
                         double *derivative, geodec_err *err)
{
    const task *t = ctx;
    (void)n;
    return evaluate(t, &t->text, x, v, worker, loss, derivative, err);
}

static geodec_status text_loss(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *err)
{
    const task *t = ctx;
    double none;
    (void)n;
    return evaluate(t, &t->text, x, NULL, worker, loss, &none, err);
}

static geodec_status held_loss(void *ctx, int64_t n, const double *x, int worker, double *loss, geodec_err *err)
{
    const task *t = ctx;
    double none;
    (void)n;
    return evaluate(t, &t->held, x, NULL, worker, loss, &none, err);
}

/* Losses at start + length direction / |direction|. */
static geodec_status step_along(task *t, int64_t n, const double *start, const double *direction, double length,
                                double *loss, double *held, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, norm = 0;
    GEODEC_NEW(x, n);
    for (int64_t i = 0; i < n; i++) norm += direction[i] * direction[i];
    norm = norm > 0 ? length / sqrt(norm) : 0;
    for (int64_t i = 0; i < n; i++) {
        x[i] = start[i] + norm * direction[i];
        if (t->places) x[i] = geodec_adapt_wrap(x[i], 1);
    }
    GEODEC_TRY(text_loss(t, n, x, 0, loss, err));
    GEODEC_TRY(held_loss(t, n, x, 0, held, err));
done:
    geodec_mem_free(x);
    return st;
}

static geodec_status controls(task *t, int64_t n, const double *start, const geodec_adaptation_options *o,
                              geodec_adaptation *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("adapt control", 0));
    double *direction = NULL, *unit = NULL, loss;
    GEODEC_NEW_EACH(n, direction, unit);
    for (int64_t i = 0; i < n; i++) {
        double d = a->x[i] - start[i];
        if (t->places) d -= round(d);
        a->length += d * d;
    }
    a->length = sqrt(a->length);
    for (int64_t i = 0; i < n; i++) direction[i] = geodec_rng_normal(&r);
    GEODEC_TRY(step_along(t, n, start, direction, a->length, &a->random, &a->random_held, err));
    for (int64_t i = 0; o->exact && !t->places && i < n; i++) {
        unit[i] = 1;
        GEODEC_TRY(jvp(t, n, start, unit, 0, &loss, &direction[i], err));
        unit[i] = 0;
        direction[i] = -direction[i];
    }
    if (o->exact && !t->places)
        GEODEC_TRY(step_along(t, n, start, direction, a->length, &a->exact, &a->exact_held, err));
done:
    GEODEC_FREE(direction, unit);
    return st;
}

static geodec_status check(const geodec_adaptation_options *o, geodec_err *err)
{
    if (o->windows < 1 || o->windows > 1 << 20 || o->steps < 0 || o->directions < 0 || !isfinite(o->rate) ||
        !(o->lambda >= 0) || !(o->rise >= 0) || !(o->sigma > 0) || !(o->budget > 0))
        GEODEC_FAIL(GEODEC_RANGE, "%lld windows, %lld steps of %lld directions, rate %g, anchor %g, rise %g, sigma %g",
                    (long long)o->windows, (long long)o->steps, (long long)o->directions, o->rate, o->lambda, o->rise,
                    o->sigma);
    return GEODEC_OK;
}

/* Losses at the start, and the time of one evaluation with a derivative. */
static geodec_status measure_start(task *t, int64_t n, const double *x, geodec_adaptation *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *v = NULL, derivative;
    GEODEC_NEW(v, n);
    v[0] = 1;
    const double from = geodec_clock_thread_seconds();
    GEODEC_TRY(jvp(t, n, x, v, 0, &a->report.start, &derivative, err));
    a->seconds = geodec_clock_thread_seconds() - from;
    GEODEC_TRY(held_loss(t, n, x, 0, &a->report.held_start, err));
    a->report.end = a->report.start;
    a->report.held = a->report.held_start;
done:
    geodec_mem_free(v);
    return st;
}

void geodec_adaptation_clear(geodec_adaptation *a)
{
    GEODEC_FREE(a->x);
    *a = (geodec_adaptation){0};
}

geodec_status geodec_adaptation_run(geodec_network *n, int64_t length, const geodec_text *text,
                                    const geodec_text *held_out, const geodec_adaptation_options *o, geodec_pool *pool,
                                    const geodec_hooks *hooks, geodec_adaptation *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    task t = {.network = n, .places = o->places};
    geodec_adaptation a = {.exact = NAN, .exact_held = NAN};
    double *start = NULL, *period = NULL;
    GEODEC_TRY(check(o, err));
    a.numbers = o->places ? GEODEC_TORUS_AXES * geodec_network_places(n) : geodec_network_size(n);
    if (a.numbers < 1) GEODEC_THROW(GEODEC_UNSUPPORTED, "a model without experts on a torus has no places");
    GEODEC_TRY(cut(text, "the text", o->windows, length, &t.text, err));
    GEODEC_TRY(cut(held_out, "the held-out text", o->windows, length, &t.held, err));
    GEODEC_NEW(a.x, a.numbers);
    if (o->places) {
        GEODEC_NEW(period, a.numbers);
        for (int64_t i = 0; i < a.numbers; i++) period[i] = 1;
        geodec_network_read_places(n, a.x);
    } else {
        geodec_network_start(n, o->seed, a.x);
    }
    GEODEC_NEW_COPY(start, a.x, a.numbers);
    GEODEC_TRY(measure_start(&t, a.numbers, a.x, &a, err));
    /* an evaluation without a derivative is taken to be as long; the time is divided among the threads */
    a.directions = o->directions
                       ? o->directions
                       : geodec_adapt_fit(o->budget * geodec_pool_threads(pool), a.seconds, 1, DIRECTIONS_MAX);
    GEODEC_TRY(geodec_hooks_progress(hooks, "adapting", 0, 1, err));
    if (o->steps) {
        const geodec_adapt_problem problem = {jvp, text_loss, held_loss, &t};
        const geodec_adapt_run run = {.steps = o->steps,
                                      .directions = a.directions,
                                      .sigma = o->places ? o->sigma : 0,
                                      .period = period,
                                      .rate = o->rate,
                                      .lambda = o->lambda,
                                      .rise = o->rise,
                                      .seed = o->seed};
        GEODEC_TRY(geodec_adapt_descend(&problem, a.numbers, a.x, &run, &a.report, pool, err));
    }
    GEODEC_TRY(controls(&t, a.numbers, start, o, &a, err));
    GEODEC_MOVE(*out, a);
done:
    free_windows(&t.text);
    free_windows(&t.held);
    GEODEC_FREE(start, period);
    geodec_adaptation_clear(&a);
    return st;
}
