/* Tasks on a pool that can fail. */
#ifndef GEODEC_BASE_TASKS_H
#define GEODEC_BASE_TASKS_H

#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"

#include <stdint.h>

typedef geodec_status (*geodec__task_fn)(void *ctx, int64_t task, geodec_err *err);
/* Runs tasks first .. first+count-1; on failure *failed is the lowest task that fails. */
typedef geodec_status (*geodec__group_fn)(void *ctx, int64_t first, int64_t count, int64_t *failed, geodec_err *err);

/* Runs tasks 0..n-1, dispatched one by one; a task's result may depend only on its number. Progress is reported between
 * rounds of tasks. When tasks fail, the error of the lowest-numbered one is returned, whatever the number of
 * threads. */
geodec_status geodec__tasks_run(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n,
                                geodec__task_fn fn, void *ctx, geodec_err *err) GEODEC_MUST_USE;
/* As geodec__tasks_run, in groups of up to `most` tasks that share work. Groups have equal sizes, and each thread gets
 * the same number of groups. */
geodec_status geodec__tasks_run_groups(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n,
                                       int64_t most, geodec__group_fn fn, void *ctx, geodec_err *err) GEODEC_MUST_USE;

/* As geodec__tasks_run, for tasks that use memory of their worker: worker is 0 .. threads-1, and each runs one task at
 * a time. */
typedef geodec_status (*geodec__worker_fn)(void *ctx, int64_t task, int worker, geodec_err *err);
geodec_status geodec__tasks_run_workers(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n,
                                        geodec__worker_fn fn, void *ctx, geodec_err *err) GEODEC_MUST_USE;

#endif
