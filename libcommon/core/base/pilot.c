#include "base/pilot.h"

#include "base/clock.h"

#include <string.h>

geodec_status geodec_pilot_run(geodec_pilot_fn fn, void *ctx, int64_t least, int64_t most, double budget,
                               geodec_pilot *out, geodec_err *err)
{
    int64_t m = least < most ? least : most, before = 0;
    double time = 0, time_before = 0;
    *out = (geodec_pilot){0};
    for (int trial = 0;; trial++) {
        const double begin = geodec_clock_process_seconds();
        GEODEC_PASS(fn(ctx, m, err));
        time = geodec_clock_process_seconds() - begin;
        out->spent += time;
        if (out->spent >= budget) break;
        if (trial == 0) continue; /* the same once more: the first trial also touches memory and fills caches */
        if (m == most) break;
        before = m;
        time_before = time;
        /* as many as should take half of what is left, but at least twice and at most 16 times as many */
        const double fit = 0.5 * (budget - out->spent) / (time > 1e-7 ? time : 1e-7);
        const double times = fit < 2 ? 2 : fit > 16 ? 16 : fit;
        m = (double)m * times < (double)most ? (int64_t)((double)m * times) : most;
    }
    out->items = m;
    out->item = before > 0 ? (time - time_before) / (double)(m - before) : time / (double)m;
    if (before > 0 && !(out->item * (double)m <= time)) out->item = time / (double)m; /* less than nothing is fixed */
    if (before > 0 && !(out->item > 0)) out->item = 0;
    out->fixed = time - out->item * (double)m;
    return GEODEC_OK;
}

static int watch(void *ctx, const char *what, int64_t done, int64_t total)
{
    geodec_pilot_watch *w = ctx;
    if (w->hooks && w->hooks->progress && w->hooks->progress(w->hooks->ctx, what, done, total) != 0) {
        w->asked = true;
        return 1;
    }
    if (strcmp(what, w->what) != 0) return 0;
    w->end = geodec_clock_process_seconds();
    if (w->total == 0) {
        w->begin = w->end;
        w->first = done;
    }
    w->done = done;
    w->total = total;
    return w->done > w->first && w->end - w->begin >= w->budget;
}

geodec_hooks geodec_pilot_watch_hooks(geodec_pilot_watch *w, const char *what, double budget, const geodec_hooks *hooks)
{
    *w = (geodec_pilot_watch){.what = what, .budget = budget, .hooks = hooks, .begun = geodec_clock_process_seconds()};
    return (geodec_hooks){.ctx = w, .progress = watch};
}

void geodec_pilot_watch_result(const geodec_pilot_watch *w, double *before, double *rest)
{
    const double now = geodec_clock_process_seconds();
    *before = (w->total > 0 ? w->begin : now) - w->begun;
    *rest = 0;
    if (w->total == 0) return;
    /* a stage that was not stopped has done everything by now */
    *rest = w->done > w->first && w->end - w->begin >= w->budget
                ? (w->end - w->begin) * (double)(w->total - w->first) / (double)(w->done - w->first)
                : now - w->begin;
}
