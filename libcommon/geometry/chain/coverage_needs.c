#include "chain/coverage_needs.h"

#include "base/clock.h"

typedef struct trial {
    const geodec_cloud *cloud;
    int64_t n;
    const double *x;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} trial;

/* Processor seconds of the experiment with these options, or of the task if states is not NULL. */
static geodec_status time_of(const trial *t, const geodec_artifact *states, const geodec_coverage_options *o,
                             double *seconds, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_coverage v = {0};
    geodec_coverage_task task = {0};
    const double begin = geodec_clock_process_seconds();
    if (states)
        GEODEC_TRY(geodec_coverage_task_states(t->cloud, t->n, t->x, states, o, t->pool, t->hooks, &task, err));
    else
        GEODEC_TRY(geodec_coverage_compute(t->cloud->points, t->n, t->x, o, t->pool, t->hooks, &v, err));
    *seconds = geodec_clock_process_seconds() - begin;
done:
    geodec_coverage_clear(&v);
    geodec_coverage_task_clear(&task);
    return st;
}

geodec_status geodec_coverage_needs(const geodec_cloud *cloud, int64_t n, const double *x,
                                    const geodec_artifact *states, const geodec_coverage_options *o, int64_t shares,
                                    geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs, geodec_err *err)
{
    const trial t = {cloud, n, x, pool, hooks};
    geodec_coverage_options one = *o;
    const double repeats = (double)o->repeats, clouds = (double)(o->nulls * o->null_repeats), parts = (double)shares;
    double split, both, task = 0;
    one.sweep = NULL;
    one.repeats = 1;
    one.nulls = 0;
    GEODEC_PASS(time_of(&t, NULL, &one, &split, err));
    both = split;
    if (o->nulls > 0) {
        one.nulls = one.null_repeats = 1;
        GEODEC_PASS(time_of(&t, NULL, &one, &both, err));
    }
    if (states) GEODEC_PASS(time_of(&t, states, &one, &task, err));
    const double null = both > split ? both - split : 0;
    geodec_needs_size(needs, "points", (double)o->size[o->n_sizes > 0 ? o->n_sizes - 1 : 0]);
    geodec_needs_size(needs, "dimension", (double)n);
    geodec_needs_size(needs, "splits", repeats);
    geodec_needs_size(needs, "null_splits", 2 * clouds);
    geodec_needs_time(needs, "splits", 0, repeats * split / parts);
    geodec_needs_time(needs, "nulls", 0, clouds * null / parts);
    if (states) geodec_needs_time(needs, "task", 0, repeats * task / parts);
    return GEODEC_OK;
}
