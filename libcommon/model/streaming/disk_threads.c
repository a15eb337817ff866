/* Reads by threads that call pread. */
#include "base/mem.h"
#include "streaming/disk_internal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4 };

typedef struct threads {
    pthread_t worker[WORKERS];
    int started;
    pthread_mutex_t mutex;
    pthread_cond_t more;
    geodec__disk_part *first, *last; /* to be read, in order */
    geodec__disk_part *ended;
    atomic_int n_ended;
    bool quit;
    geodec_disk *disk;
} threads;

static int64_t read_part(const geodec__disk_part *p)
{
    for (;;) {
        const ssize_t n = pread(p->fd, p->to, (size_t)p->bytes, (off_t)(p->offset - p->start));
        if (n >= 0) return n;
        if (errno != EINTR) return -(int64_t)errno;
    }
}

static void *worker_main(void *arg)
{
    threads *t = arg;
    pthread_mutex_lock(&t->mutex);
    for (;;) {
        while (!t->first && !t->quit) pthread_cond_wait(&t->more, &t->mutex);
        geodec__disk_part *p = t->first;
        if (!p) break;
        t->first = p->next;
        pthread_mutex_unlock(&t->mutex);
        p->result = read_part(p);
        pthread_mutex_lock(&t->mutex);
        p->next = t->ended;
        t->ended = p;
        atomic_fetch_add(&t->n_ended, 1);
        pthread_mutex_unlock(&t->mutex);
        geodec__disk_wake(t->disk);
        pthread_mutex_lock(&t->mutex);
    }
    pthread_mutex_unlock(&t->mutex);
    return NULL;
}

static void threads_close(geodec_disk *d)
{
    threads *t = d->engine;
    if (!t) return;
    pthread_mutex_lock(&t->mutex);
    t->quit = true;
    pthread_cond_broadcast(&t->more);
    pthread_mutex_unlock(&t->mutex);
    for (int i = 0; i < t->started; i++) (void)pthread_join(t->worker[i], NULL);
    pthread_cond_destroy(&t->more);
    pthread_mutex_destroy(&t->mutex);
    geodec_mem_free(t);
    d->engine = NULL;
}

static geodec_status threads_open(geodec_disk *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    threads *t;
    GEODEC_NEW(t, 1);
    pthread_mutex_init(&t->mutex, NULL);
    pthread_cond_init(&t->more, NULL);
    t->disk = d;
    d->engine = t;
    for (; t->started < WORKERS; t->started++)
        if (pthread_create(&t->worker[t->started], NULL, worker_main, t) != 0) break;
    if (t->started == 0) {
        threads_close(d);
        GEODEC_THROW(GEODEC_NOMEM, "cannot start a thread that reads");
    }
done:
    return st;
}

static void threads_begin(geodec_disk *d, geodec__disk_part *p)
{
    threads *t = d->engine;
    p->next = NULL;
    pthread_mutex_lock(&t->mutex);
    if (t->first)
        t->last->next = p;
    else
        t->first = p;
    t->last = p;
    pthread_cond_signal(&t->more);
    pthread_mutex_unlock(&t->mutex);
}

static void sleep_for(geodec_disk *d, double seconds)
{
    const struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
    struct pollfd f = {.fd = d->event, .events = POLLIN};
    uint64_t events;
    if (ppoll(&f, 1, seconds < 0 ? NULL : &t, NULL) == 1 && read(d->event, &events, sizeof events) < 0) return;
}

static int32_t threads_reap(geodec_disk *d, double seconds, geodec__disk_part **ended)
{
    threads *t = d->engine;
    if (seconds != 0) {
        if (geodec__disk_may_sleep(d) && atomic_load(&t->n_ended) == 0) sleep_for(d, seconds);
        atomic_store(&d->asleep, 0);
    }
    if (atomic_load(&t->n_ended) == 0) return 0;
    int32_t n = 0;
    pthread_mutex_lock(&t->mutex);
    for (; t->ended; t->ended = t->ended->next) ended[n++] = t->ended;
    atomic_store(&t->n_ended, 0);
    pthread_mutex_unlock(&t->mutex);
    return n;
}

const geodec__disk_ops geodec__disk_threads = {"threads", threads_open, threads_close, threads_begin, threads_reap};
