#include "base/pool.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

/* How long a waiting thread spins before it sleeps: decoding hands out a piece of work every few microseconds, and a
 * futex round trip costs more than that. */
enum { SPIN = 4000, MAX_THREADS = 1024 };

struct geodec_pool {
    int threads;
    int started; /* helper threads running (threads - 1 unless creation failed half-way) */
    pthread_t *helper;
    pthread_mutex_t mutex;
    pthread_cond_t wake, done;
    atomic_uint_fast64_t epoch; /* number of the current job */
    atomic_int busy;            /* helpers still working on it */
    atomic_int quit;
    geodec_pool_fn fn;
    void *ctx;
    int64_t n_tasks;
    int dynamic;
    atomic_int_fast64_t next_task;
};

typedef struct helper_arg {
    geodec_pool *pool;
    int worker;
} helper_arg;

static inline void pause_cpu(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static void work(geodec_pool *p, int worker)
{
    if (p->dynamic) {
        for (;;) {
            int64_t t = atomic_fetch_add(&p->next_task, 1);
            if (t >= p->n_tasks) return;
            p->fn(p->ctx, t, worker);
        }
    }
    const int64_t begin = p->n_tasks * worker / p->threads, end = p->n_tasks * (worker + 1) / p->threads;
    for (int64_t t = begin; t < end; t++) p->fn(p->ctx, t, worker);
}

static void *helper_main(void *arg)
{
    geodec_pool *p = ((helper_arg *)arg)->pool;
    const int worker = ((helper_arg *)arg)->worker;
    geodec_mem_free(arg);
    uint_fast64_t seen = 0;
    for (;;) {
        for (int i = 0; i < SPIN && atomic_load(&p->epoch) == seen && !atomic_load(&p->quit); i++) pause_cpu();
        if (atomic_load(&p->epoch) == seen) {
            pthread_mutex_lock(&p->mutex);
            while (atomic_load(&p->epoch) == seen && !atomic_load(&p->quit)) pthread_cond_wait(&p->wake, &p->mutex);
            pthread_mutex_unlock(&p->mutex);
        }
        if (atomic_load(&p->quit)) return NULL;
        seen = atomic_load(&p->epoch);
        work(p, worker);
        if (atomic_fetch_sub(&p->busy, 1) == 1) {
            pthread_mutex_lock(&p->mutex);
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->mutex);
        }
    }
}

geodec_status geodec_pool_create(int threads, geodec_pool **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pool *p = NULL;
    if (threads == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        threads = online < 1 ? 1 : online > MAX_THREADS ? MAX_THREADS : (int)online;
    }
    if (threads < 1 || threads > MAX_THREADS)
        GEODEC_THROW(GEODEC_RANGE, "%d threads asked for; 1 to %d are allowed", threads, MAX_THREADS);
    GEODEC_NEW(p, 1);
    p->threads = threads;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->done, NULL);
    GEODEC_NEW(p->helper, threads);
    for (int w = 1; w < threads; w++) {
        helper_arg *arg;
        GEODEC_NEW(arg, 1);
        arg->pool = p;
        arg->worker = w;
        if (pthread_create(&p->helper[w], NULL, helper_main, arg) != 0) {
            geodec_mem_free(arg);
            GEODEC_THROW(GEODEC_NOMEM, "cannot start thread %d of %d", w + 1, threads);
        }
        p->started++;
    }
    *out = p;
    p = NULL;
done:
    geodec_pool_destroy(p);
    return st;
}

void geodec_pool_destroy(geodec_pool *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->quit, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    for (int w = 1; w <= p->started; w++) pthread_join(p->helper[w], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    geodec_mem_free(p->helper);
    geodec_mem_free(p);
}

int geodec_pool_threads(const geodec_pool *p) { return p ? p->threads : 1; }

static void run(geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx, int dynamic)
{
    if (!p || p->threads == 1 || n_tasks < 2) {
        for (int64_t t = 0; t < n_tasks; t++) fn(ctx, t, 0);
        return;
    }
    p->fn = fn;
    p->ctx = ctx;
    p->n_tasks = n_tasks;
    p->dynamic = dynamic;
    atomic_store(&p->next_task, 0);
    atomic_store(&p->busy, p->threads - 1);
    pthread_mutex_lock(&p->mutex);
    atomic_fetch_add(&p->epoch, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    work(p, 0);
    for (int i = 0; i < SPIN && atomic_load(&p->busy); i++) pause_cpu();
    if (atomic_load(&p->busy)) {
        pthread_mutex_lock(&p->mutex);
        while (atomic_load(&p->busy)) pthread_cond_wait(&p->done, &p->mutex);
        pthread_mutex_unlock(&p->mutex);
    }
}

void geodec_pool_run(geodec_pool *p, int64_t n, geodec_pool_fn fn, void *ctx) { run(p, n, fn, ctx, 0); }
void geodec_pool_run_dynamic(geodec_pool *p, int64_t n, geodec_pool_fn fn, void *ctx) { run(p, n, fn, ctx, 1); }
