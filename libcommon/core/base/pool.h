/* The thread pool (geodec/run.h): how work is divided, and pinning.
 *
 * Work is divided into tasks 0..n-1. Their results must not depend on the worker or on the time at which they run, so
 * that any number of threads gives the same bytes. The caller sums over tasks, in task order.
 *
 * Memory. Worker w owns the contiguous tasks [n w / T, n (w+1) / T) in both kinds of run (geodec_pool_range): in
 * geodec_pool_run it runs exactly these, in geodec_pool_run_dynamic it runs these first and then helps others. Pages
 * belong to the NUMA node of the thread that first writes them, so data filled by geodec_pool_run is local to the
 * workers that later read the same range, as long as workers are pinned. */
#ifndef GEODEC_BASE_POOL_H
#define GEODEC_BASE_POOL_H

#include "base/err.h"
#include "geodec/run.h"

#include <stdbool.h>
#include <stdint.h>

/* task in 0..n_tasks-1; worker in 0..threads-1 (index for per-worker scratch memory). */
typedef void (*geodec_pool_fn)(void *ctx, int64_t task, int worker);

typedef struct geodec_pool_options {
    int threads;       /* workers, the caller included; 0 = processors this process may use */
    bool pin;          /* each worker is pinned to one processor (base/topology.h); the caller too, until destroy */
    const char *sysfs; /* NULL = /sys/devices/system; tests describe other machines */
} geodec_pool_options;

/* GEODEC_UNSUPPORTED when the system refuses to pin. */
geodec_status geodec_pool_create_with(const geodec_pool_options *o, geodec_pool **out, geodec_err *err) GEODEC_MUST_USE;
/* Processor a worker is pinned to, in the kernel's numbering; -1 when it is not pinned. */
int geodec_pool_cpu(const geodec_pool *pool, int worker);
/* Tasks begin .. end-1 of n that a worker owns. */
void geodec_pool_range(const geodec_pool *pool, int64_t n_tasks, int worker, int64_t *begin, int64_t *end);

/* Runs all tasks and returns when they are done. Worker w runs only its own range, so this waits for every worker. Not
 * re-entrant: fn must not call run on the same pool. One caller at a time. */
void geodec_pool_run(geodec_pool *pool, int64_t n_tasks, geodec_pool_fn fn, void *ctx);
/* As geodec_pool_run, for uneven work and short runs: a worker that has finished its range, or that starts before
 * others are awake, takes tasks of other ranges one by one. Waits only for workers that joined. */
void geodec_pool_run_dynamic(geodec_pool *pool, int64_t n_tasks, geodec_pool_fn fn, void *ctx);

#endif
