#include "base/tasks.h"

#include <pthread.h>

enum { ROUND = 8 }; /* groups per thread between two progress reports */

typedef struct round_state {
    geodec__group_fn fn;
    geodec__worker_fn worker_fn; /* used in place of fn for groups of one task */
    void *ctx;
    int64_t first, end, size; /* tasks of this round, tasks of a group */
    pthread_mutex_t mutex;
    int64_t failed; /* lowest failing task, -1 = none */
    geodec_status status;
    geodec_err err;
} round_state;

static void run_one(void *ctx, int64_t group, int worker)
{
    round_state *r = ctx;
    geodec_err err = {0};
    const int64_t first = r->first + group * r->size;
    int64_t failed = first;
    const int64_t count = r->end - first < r->size ? r->end - first : r->size;
    const geodec_status st =
        r->worker_fn ? r->worker_fn(r->ctx, first, worker, &err) : r->fn(r->ctx, first, count, &failed, &err);
    if (st == GEODEC_OK) return;
    pthread_mutex_lock(&r->mutex);
    if (r->failed < 0 || failed < r->failed) {
        r->failed = failed;
        r->status = st;
        r->err = err;
    }
    pthread_mutex_unlock(&r->mutex);
}

static geodec_status run(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n, int64_t most,
                         round_state r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t threads = geodec_pool_threads(pool);
    const int64_t rounds = (n + most * threads - 1) / (most * threads), groups = rounds > 0 ? rounds * threads : 1;
    r.size = (n + groups - 1) / groups;
    r.failed = -1;
    r.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    const int64_t step = ROUND * threads * r.size;
    GEODEC_TRY(geodec_hooks_progress(hooks, what, 0, n, err));
    for (r.first = 0; r.first < n; r.first += step) {
        r.end = n - r.first < step ? n : r.first + step;
        geodec_pool_run_dynamic(pool, (r.end - r.first + r.size - 1) / r.size, run_one, &r);
        if (r.failed >= 0) {
            if (err) *err = r.err;
            st = geodec_err_add(err, r.status, __func__, __LINE__, "%s %lld", what, (long long)r.failed);
            goto done;
        }
        GEODEC_TRY(geodec_hooks_progress(hooks, what, r.end, n, err));
    }
done:
    (void)pthread_mutex_destroy(&r.mutex);
    return st;
}

geodec_status geodec__tasks_run_groups(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n,
                                       int64_t most, geodec__group_fn fn, void *ctx, geodec_err *err)
{
    return run(pool, hooks, what, n, most, (round_state){.fn = fn, .ctx = ctx}, err);
}

geodec_status geodec__tasks_run_workers(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n,
                                        geodec__worker_fn fn, void *ctx, geodec_err *err)
{
    return run(pool, hooks, what, n, 1, (round_state){.worker_fn = fn, .ctx = ctx}, err);
}

typedef struct single {
    geodec__task_fn fn;
    void *ctx;
} single;

static geodec_status run_single(void *ctx, int64_t first, int64_t count, int64_t *failed, geodec_err *err)
{
    (void)count;
    const single *s = ctx;
    *failed = first;
    return s->fn(s->ctx, first, err);
}

geodec_status geodec__tasks_run(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n,
                                geodec__task_fn fn, void *ctx, geodec_err *err)
{
    single s = {fn, ctx};
    return geodec__tasks_run_groups(pool, hooks, what, n, 1, run_single, &s, err);
}
