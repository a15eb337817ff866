#include "geometry/tasks.h"

#include <pthread.h>

enum { ROUND = 8 }; /* tasks per thread between two progress reports */

typedef struct round_state {
    geodec__task_fn fn;
    void *ctx;
    int64_t first;
    pthread_mutex_t mutex;
    int64_t failed; /* lowest failing task, -1 = none */
    geodec_status status;
    geodec_err err;
} round_state;

static void run_one(void *ctx, int64_t task, int worker)
{
    (void)worker;
    round_state *r = ctx;
    geodec_err err = {0};
    const int64_t t = r->first + task;
    const geodec_status st = r->fn(r->ctx, t, &err);
    if (st == GEODEC_OK) return;
    pthread_mutex_lock(&r->mutex);
    if (r->failed < 0 || t < r->failed) {
        r->failed = t;
        r->status = st;
        r->err = err;
    }
    pthread_mutex_unlock(&r->mutex);
}

geodec_status geodec__tasks_run(geodec_pool *pool, const geodec_hooks *hooks, const char *what, int64_t n,
                                geodec__task_fn fn, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    round_state r = {.fn = fn, .ctx = ctx, .mutex = PTHREAD_MUTEX_INITIALIZER, .failed = -1};
    const int64_t step = (int64_t)ROUND * geodec_pool_threads(pool);
    GEODEC_TRY(geodec_hooks_progress(hooks, what, 0, n, err));
    for (r.first = 0; r.first < n; r.first += step) {
        const int64_t count = n - r.first < step ? n - r.first : step;
        geodec_pool_run_dynamic(pool, count, run_one, &r);
        if (r.failed >= 0) {
            if (err) *err = r.err;
            st = geodec_err_add(err, r.status, __func__, __LINE__, "%s %lld", what, (long long)r.failed);
            goto done;
        }
        GEODEC_TRY(geodec_hooks_progress(hooks, what, r.first + count, n, err));
    }
done:
    (void)pthread_mutex_destroy(&r.mutex);
    return st;
}
