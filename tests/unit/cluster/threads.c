#include "cluster/threads.h"

#include "support/support.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

typedef struct message {
    struct message *next;
    int64_t bytes;
    void *data;
} message;

static struct {
    pthread_mutex_t lock;
    int size;
    message *first[MOST][MOST], **last[MOST][MOST]; /* [from][to] */
    int64_t asked[MOST][MOST], taken[MOST][MOST];   /* messages that were asked for and received */
} job = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local int my_rank;

typedef struct self {
    int rank;
} self;

typedef struct wanted {
    int from, to;
    void *data;
    int64_t bytes, number;
} wanted;

static int start(void **state)
{
    self *s = malloc(sizeof *s);
    s->rank = my_rank;
    *state = s;
    return 0;
}
static void stop(void *state) { free(state); }
static int rank(const void *state) { return ((const self *)state)->rank; }
static int size(const void *state)
{
    (void)state;
    return job.size;
}
static const char *name(const void *state)
{
    (void)state;
    return "threads";
}

static int send_now(void *state, int to, const void *data, int64_t bytes, void **request)
{
    const int from = rank(state);
    message *m = malloc(sizeof *m);
    m->next = NULL;
    m->bytes = bytes;
    m->data = malloc((size_t)bytes);
    memcpy(m->data, data, (size_t)bytes);
    pthread_mutex_lock(&job.lock);
    *job.last[from][to] = m;
    job.last[from][to] = &m->next;
    pthread_mutex_unlock(&job.lock);
    *request = NULL;
    return 0;
}

static int receive_later(void *state, int from, void *data, int64_t bytes, void **request)
{
    wanted *w = malloc(sizeof *w);
    pthread_mutex_lock(&job.lock);
    *w = (wanted){from, rank(state), data, bytes, job.asked[from][rank(state)]++};
    pthread_mutex_unlock(&job.lock);
    *request = w;
    return 0;
}

static int test(void *state, void **request, int *done)
{
    wanted *w = *request;
    (void)state;
    *done = w == NULL;
    if (!w) return 0;
    pthread_mutex_lock(&job.lock);
    /* as with MPI, messages go to the receives in the order in which these were called, whichever is tested first */
    message *m = w->number == job.taken[w->from][w->to] ? job.first[w->from][w->to] : NULL;
    if (m) {
        job.taken[w->from][w->to]++;
        job.first[w->from][w->to] = m->next;
        if (!m->next) job.last[w->from][w->to] = &job.first[w->from][w->to];
    }
    pthread_mutex_unlock(&job.lock);
    if (!m) return 0;
    const int bad = m->bytes != w->bytes;
    if (!bad) memcpy(w->data, m->data, (size_t)m->bytes);
    free(m->data);
    free(m);
    free(w);
    *request = NULL;
    *done = 1;
    return bad;
}

static void end(void *state, int code)
{
    (void)state;
    exit(code);
}

static void text(int code, char out[GEODEC_DRIVER_TEXT])
{
    (void)snprintf(out, GEODEC_DRIVER_TEXT, "code %d: a message of another size", code);
}

static const geodec_driver driver = {GEODEC_DRIVER_VERSION, start, stop, rank, size, name, name, send_now,
                                     receive_later,         test,  end,  text};

typedef struct thread {
    int rank;
    void (*fn)(geodec_comm *c, void *ctx);
    void *ctx;
} thread;

static void *run(void *arg)
{
    const thread *t = arg;
    geodec_comm *c = NULL;
    geodec_err err = {0};
    my_rank = t->rank;
    test_ok(geodec_comm_open(&driver, NULL, &c, &err), &err);
    t->fn(c, t->ctx);
    geodec_comm_close(c);
    return NULL;
}

void threads_run(int n, void (*fn)(geodec_comm *c, void *ctx), void *ctx)
{
    pthread_t id[MOST];
    thread t[MOST];
    job.size = n;
    for (int a = 0; a < n; a++)
        for (int b = 0; b < n; b++) {
            job.asked[a][b] = job.taken[a][b] = 0;
            job.first[a][b] = NULL;
            job.last[a][b] = &job.first[a][b];
        }
    for (int r = 0; r < n; r++) {
        t[r] = (thread){r, fn, ctx};
        cr_assert_eq(pthread_create(&id[r], NULL, run, &t[r]), 0);
    }
    for (int r = 0; r < n; r++) pthread_join(id[r], NULL);
}
