#include "base/pool.h"

#include "base/mem.h"
#include "base/topology.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum {
    /* How long a waiting thread spins before it sleeps. Decoding dispatches a job every few microseconds, and a futex
     * round trip costs more than that. With more workers than processors it spins briefly, since others need the
     * processor. */
    SPIN = 4000,
    SPIN_CROWDED = 50,
    MAX_THREADS = 1024,
    TASK_BITS = 40, /* task bits of a range's head; the upper bits are the job number */
};

/* State that one worker publishes, in its own cache lines. A counter shared by dozens of threads would cost more than a
 * short job. */
typedef struct slot {
    /* Head of the worker's range in a dynamic job: the next task in the low bits, the job number above. A head of an
     * older job means the beginning of the range, so heads need no reset. The caller visits every range before a job
     * ends, so a head is at most one dynamic job old. */
    _Alignas(128) atomic_uint_fast64_t head;
    /* Dynamic job: its number while the worker is inside. Static job: its number when the worker is done. */
    _Alignas(128) atomic_uint_fast64_t inside;
    atomic_uint_fast64_t done;
} slot;

struct geodec_pool {
    int threads;
    int started; /* helper threads running (threads - 1 unless creation failed half-way) */
    int spin;
    pthread_t *helper;
    slot *slot;      /* [threads] */
    geodec_cpu *cpu; /* processors of the pinned workers, or NULL */
    int n_cpus;
    bool pinned_caller;
    cpu_set_t caller_mask;
    pthread_mutex_t mutex;
    pthread_cond_t wake, left;
    /* written by the caller between jobs */
    geodec_pool_fn fn;
    void *ctx;
    int64_t n_tasks;
    _Alignas(128) atomic_uint_fast64_t epoch; /* number of the current job, odd for a dynamic one */
    atomic_uint_fast64_t open;                /* dynamic job that accepts workers, or 0 */
    atomic_int quit;
    _Alignas(128) atomic_int sleeping; /* sleeping helpers */
    atomic_int waiting;                /* the caller waits for a worker to leave */
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

void geodec_pool_range(const geodec_pool *p, int64_t n_tasks, int worker, int64_t *begin, int64_t *end)
{
    const int64_t threads = geodec_pool_threads(p);
    *begin = n_tasks * worker / threads;
    *end = n_tasks * (worker + 1) / threads;
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

static void work_range(const geodec_pool *p, int worker)
{
    int64_t begin, end;
    geodec_pool_range(p, p->n_tasks, worker, &begin, &end);
    for (int64_t t = begin; t < end; t++) p->fn(p->ctx, t, worker);
}

/* Next task of a range, or one past its end. Only workers inside the job call this, and the caller waits for all of
 * them before the next job. A head of an older job is therefore untouched in this job. */
static int64_t take(slot *s, uint64_t job, int64_t begin, int64_t end)
{
    const uint64_t mask = ((uint64_t)1 << TASK_BITS) - 1, tag = job << TASK_BITS;
    uint_fast64_t head = atomic_load_explicit(&s->head, memory_order_relaxed);
    while ((head & ~mask) != tag) {
        const int64_t next = begin < end ? begin + 1 : end;
        if (atomic_compare_exchange_weak(&s->head, &head, tag | (uint64_t)next)) return begin;
    }
    if ((int64_t)(head & mask) >= end) return end;
    const int64_t t = (int64_t)(atomic_fetch_add(&s->head, 1) & mask);
    return t < end ? t : end;
}

static void work_shared(geodec_pool *p, int worker, uint64_t job)
{
    for (int k = 0; k < p->threads; k++) {
        const int owner = worker + k < p->threads ? worker + k : worker + k - p->threads;
        int64_t begin, end, t;
        geodec_pool_range(p, p->n_tasks, owner, &begin, &end);
        while ((t = take(&p->slot[owner], job, begin, end)) < end) p->fn(p->ctx, t, worker);
    }
}

/* ---- waiting ---------------------------------------------------------------------------------------------------- */

/* In each pair below, each side stores its own flag and then loads the flag of the other (sequentially consistent). At
 * least one side sees the other's store, so no wake-up is lost. */

/* Publishes a job and wakes sleeping helpers. */
static void announce(geodec_pool *p, uint_fast64_t epoch)
{
    atomic_store(&p->epoch, epoch);
    if (!atomic_load(&p->sleeping)) return;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
}

/* A helper waits for a job other than `seen`, or for the end of the pool. */
static void await_job(geodec_pool *p, uint_fast64_t seen)
{
    for (int i = 0; i < p->spin; i++) {
        if (atomic_load_explicit(&p->epoch, memory_order_acquire) != seen || atomic_load(&p->quit)) return;
        pause_cpu();
    }
    pthread_mutex_lock(&p->mutex);
    atomic_fetch_add(&p->sleeping, 1);
    while (atomic_load(&p->epoch) == seen && !atomic_load(&p->quit)) pthread_cond_wait(&p->wake, &p->mutex);
    atomic_fetch_sub(&p->sleeping, 1);
    pthread_mutex_unlock(&p->mutex);
}

/* A worker reports in its slot that it is done. */
static void left(geodec_pool *p)
{
    if (!atomic_load(&p->waiting)) return;
    pthread_mutex_lock(&p->mutex);
    pthread_cond_signal(&p->left);
    pthread_mutex_unlock(&p->mutex);
}

/* The caller waits until *x is `value`. */
static void await_slot(geodec_pool *p, atomic_uint_fast64_t *x, uint_fast64_t value)
{
    for (int i = 0; i < p->spin; i++) {
        if (atomic_load(x) == value) return;
        pause_cpu();
    }
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->waiting, 1);
    while (atomic_load(x) != value) pthread_cond_wait(&p->left, &p->mutex);
    atomic_store(&p->waiting, 0);
    pthread_mutex_unlock(&p->mutex);
}

static void *helper_main(void *arg)
{
    geodec_pool *p = ((helper_arg *)arg)->pool;
    const int worker = ((helper_arg *)arg)->worker;
    slot *s = &p->slot[worker];
    geodec_mem_free(arg);
    for (uint_fast64_t seen = 0;;) {
        await_job(p, seen);
        if (atomic_load(&p->quit)) return NULL;
        seen = atomic_load(&p->epoch);
        if (seen & 1u) {
            /* A helper enters first and then checks that the job is open; the caller closes the job first and then
             * checks who is inside. A helper that still sleeps then costs nothing, which matters when there are more
             * runnable threads than processors. */
            atomic_store(&s->inside, seen);
            if (atomic_load(&p->open) == seen) work_shared(p, worker, seen);
            atomic_store(&s->inside, 0);
        } else {
            work_range(p, worker);
            atomic_store(&s->done, seen);
        }
        left(p);
    }
}

/* ---- creation --------------------------------------------------------------------------------------------------- */

static int set_mask(pthread_t thread, int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu >= CPU_SETSIZE) return -1;
    CPU_SET((size_t)cpu, &set);
    return pthread_setaffinity_np(thread, sizeof set, &set);
}

static geodec_status pin_workers(geodec_pool *p, const char *sysfs, geodec_err *err)
{
    GEODEC_PASS(geodec_topology_cpus_usable(sysfs, &p->cpu, &p->n_cpus, err));
    geodec_topology_cpus_order(p->cpu, p->n_cpus, p->threads);
    if (pthread_getaffinity_np(pthread_self(), sizeof p->caller_mask, &p->caller_mask) != 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "cannot read the affinity mask of this thread");
    for (int w = 0; w < p->threads; w++) {
        if (set_mask(w ? p->helper[w] : pthread_self(), geodec_pool_cpu(p, w)) != 0)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "worker %d cannot be pinned to processor %d", w, geodec_pool_cpu(p, w));
        p->pinned_caller = true;
    }
    return GEODEC_OK;
}

geodec_status geodec_pool_create_with(const geodec_pool_options *o, geodec_pool **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pool *p = NULL;
    const int usable = geodec_topology_usable();
    const int threads = o->threads != 0 ? o->threads : usable > MAX_THREADS ? MAX_THREADS : usable;
    if (threads < 1 || threads > MAX_THREADS)
        GEODEC_THROW(GEODEC_RANGE, "%d threads are outside 1 to %d", threads, MAX_THREADS);
    p = geodec_mem_new(1, (sizeof *p + 127) / 128 * 128);
    if (!p) GEODEC_THROW(GEODEC_NOMEM, "no memory for a pool");
    p->threads = threads;
    p->spin = threads > usable ? SPIN_CROWDED : SPIN;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    pthread_cond_init(&p->left, NULL);
    GEODEC_NEW_EACH(threads, p->helper, p->slot);
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
    if (o->pin) GEODEC_TRY(pin_workers(p, o->sysfs, err));
    *out = p;
    p = NULL;
done:
    geodec_pool_destroy(p);
    return st;
}

geodec_status geodec_pool_create(int threads, geodec_pool **out, geodec_err *err)
{
    return geodec_pool_create_with(&(geodec_pool_options){.threads = threads}, out, err);
}

void geodec_pool_destroy(geodec_pool *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->mutex);
    atomic_store(&p->quit, 1);
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    for (int w = 1; w <= p->started; w++) pthread_join(p->helper[w], NULL);
    if (p->pinned_caller) (void)pthread_setaffinity_np(pthread_self(), sizeof p->caller_mask, &p->caller_mask);
    pthread_cond_destroy(&p->left);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->mutex);
    GEODEC_FREE(p->cpu, p->slot, p->helper, p);
}

int geodec_pool_threads(const geodec_pool *p) { return p ? p->threads : 1; }

int geodec_pool_cpu(const geodec_pool *p, int worker)
{
    return p && p->cpu ? geodec_topology_cpus_of_worker(p->cpu, p->n_cpus, p->threads, worker)->number : -1;
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

static int alone(const geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx)
{
    if (p && p->threads > 1 && n_tasks > 1) return 0;
    for (int64_t t = 0; t < n_tasks; t++) fn(ctx, t, 0);
    return 1;
}

static void set_job(geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx)
{
    p->fn = fn;
    p->ctx = ctx;
    p->n_tasks = n_tasks;
}

void geodec_pool_run(geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx)
{
    if (alone(p, n_tasks, fn, ctx)) return;
    const uint_fast64_t epoch = (atomic_load(&p->epoch) | 1u) + 1;
    set_job(p, n_tasks, fn, ctx);
    announce(p, epoch);
    work_range(p, 0);
    for (int w = 1; w < p->threads; w++) await_slot(p, &p->slot[w].done, epoch);
}

void geodec_pool_run_dynamic(geodec_pool *p, int64_t n_tasks, geodec_pool_fn fn, void *ctx)
{
    if (alone(p, n_tasks, fn, ctx)) return;
    const uint_fast64_t epoch = (atomic_load(&p->epoch) + 1) | 1u;
    set_job(p, n_tasks, fn, ctx);
    atomic_store(&p->open, epoch);
    announce(p, epoch);
    work_shared(p, 0, epoch);
    atomic_store(&p->open, 0);
    for (int w = 1; w < p->threads; w++) await_slot(p, &p->slot[w].inside, 0);
}
