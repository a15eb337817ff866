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
    atomic_uint_fast64_t epoch; /* number of the current job, odd for a dynamic one */
    atomic_int quit;
    geodec_pool_fn fn;
    void *ctx;
    int64_t n_tasks;
    atomic_int busy; /* static job: helpers that have not finished their range */
    /* Dynamic job: helpers may join while it is open, and only those who did are waited for. A helper that the system
     * has not woken yet then costs nothing, which matters when there are more runnable threads than processors. */
    atomic_uint_fast64_t open; /* its epoch, or 0 */
    atomic_int inside;
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

static void work_range(const geodec_pool *p, int worker)
{
    const int64_t begin = p->n_tasks * worker / p->threads, end = p->n_tasks * (worker + 1) / p->threads;
    for (int64_t t = begin; t < end; t++) p->fn(p->ctx, t, worker);
}

static void work_shared(geodec_pool *p, int worker)
{
    for (;;) {
        const int64_t t = atomic_fetch_add(&p->next_task, 1);
        if (t >= p->n_tasks) return;
        p->fn(p->ctx, t, worker);
    }
}

/* One less in the count; the last one wakes the caller. */
static void leave(geodec_pool *p, atomic_int *count)
{
    if (atomic_fetch_sub(count, 1) != 1) return;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_signal(&p->done);
    pthread_mutex_unlock(&p->mutex);
}

static void wait_for(geodec_pool *p, atomic_int *count)
{
    for (int i = 0; i < SPIN && atomic_load(count); i++) pause_cpu();
    if (!atomic_load(count)) return;
    pthread_mutex_lock(&p->mutex);
    while (atomic_load(count)) pthread_cond_wait(&p->done, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
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
        if (seen & 1u) {
            /* Counted in first, then the look whether the job is still this one: the caller closes it first and then
             * looks at the count, so one of the two sees the other. */
            atomic_fetch_add(&p->inside, 1);
            if (atomic_load(&p->open) == seen) work_shared(p, worker);
            leave(p, &p->inside);
        } else {
            work_range(p, worker);
            leave(p, &p->busy);
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

static int alone(const geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx)
{
    if (p && p->threads > 1 && n_tasks > 1) return 0;
    for (int64_t t = 0; t < n_tasks; t++) fn(ctx, t, 0);
    return 1;
}

/* Announces a job; its number is odd for a dynamic one. */
static void announce(geodec_pool *p, uint_fast64_t epoch)
{
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->epoch, epoch);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

void geodec_pool_run(geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx)
{
    if (alone(p, n_tasks, fn, ctx)) return;
    p->fn = fn;
    p->ctx = ctx;
    p->n_tasks = n_tasks;
    atomic_store(&p->busy, p->threads - 1);
    announce(p, (atomic_load(&p->epoch) | 1u) + 1);
    work_range(p, 0);
    wait_for(p, &p->busy);
}

void geodec_pool_run_dynamic(geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx)
{
    if (alone(p, n_tasks, fn, ctx)) return;
    const uint_fast64_t epoch = ((atomic_load(&p->epoch) + 1) | 1u);
    p->fn = fn;
    p->ctx = ctx;
    p->n_tasks = n_tasks;
    atomic_store(&p->next_task, 0);
    atomic_store(&p->open, epoch);
    announce(p, epoch);
    work_shared(p, 0);
    atomic_store(&p->open, 0);
    wait_for(p, &p->inside);
}
