/* Thread pool: an explicit object, created by a tool and passed down; NULL always means "run on the caller's thread".
 *
 * Work is cut into tasks 0..n-1 and a task's result must not depend on which worker runs it or when, so 1 and n threads
 * give the same bytes. Sums over tasks are made by the caller, in task order. */
#ifndef GEODEC_BASE_POOL_H
#define GEODEC_BASE_POOL_H

#include "base/err.h"

#include <stdint.h>

typedef struct geodec_pool geodec_pool;

/* task in 0..n_tasks-1; worker in 0..threads-1 (index for per-worker scratch memory). */
typedef void (*geodec_pool_fn)(void *ctx, int64_t task, int worker);

/* threads >= 1 workers, the caller included; 0 = number of online processors. */
GEODEC_API geodec_status geodec_pool_create(int threads, geodec_pool **out, geodec_err *err) GEODEC_MUST_USE;
/* Joins the workers. NULL ok. */
GEODEC_API void geodec_pool_destroy(geodec_pool *pool);
/* 1 for NULL. */
GEODEC_API int geodec_pool_threads(const geodec_pool *pool);

/* Runs all tasks and returns when they are done. Worker w takes the contiguous range [n w / T, n (w+1) / T).
 * Not re-entrant: fn must not call run on the same pool. One caller at a time. */
GEODEC_API void geodec_pool_run(geodec_pool *pool, int64_t n_tasks, geodec_pool_fn fn, void *ctx);
/* The same with tasks handed out one by one, for uneven work. */
GEODEC_API void geodec_pool_run_dynamic(geodec_pool *pool, int64_t n_tasks, geodec_pool_fn fn, void *ctx);

#endif
