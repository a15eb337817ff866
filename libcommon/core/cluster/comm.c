#include "cluster/comm.h"

#include "base/mem.h"

#include <sched.h>
#include <string.h>
#include <time.h>

struct geodec_comm {
    const geodec_driver *driver;
    void *state;
    int rank, size;
    geodec_hooks hooks;
    bool agreed;
};

geodec_status geodec_comm_open(const geodec_driver *driver, const geodec_hooks *hooks, geodec_comm **out,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_comm *c = NULL;
    char text[GEODEC_DRIVER_TEXT] = "";
    if (driver->version != GEODEC_DRIVER_VERSION)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "the driver of messages has version %d, not %d", driver->version,
                     (int)GEODEC_DRIVER_VERSION);
    GEODEC_NEW(c, 1);
    const int code = driver->start(&c->state);
    if (code != 0) {
        driver->text(code, text);
        GEODEC_THROW(GEODEC_UNSUPPORTED, "cannot join the job of ranks: %s", text);
    }
    c->driver = driver;
    if (hooks) c->hooks = *hooks;
    c->rank = driver->rank(c->state);
    c->size = driver->size(c->state);
    *out = c;
    c = NULL;
done:
    geodec_mem_free(c);
    return st;
}

void geodec_comm_close(geodec_comm *c)
{
    if (!c) return;
    c->driver->stop(c->state);
    geodec_mem_free(c);
}

void geodec_comm_abort(geodec_comm *c, int code)
{
    if (c) c->driver->end_all(c->state, code);
}

int geodec_comm_rank(const geodec_comm *c) { return c ? c->rank : 0; }
int geodec_comm_size(const geodec_comm *c) { return c ? c->size : 1; }
const char *geodec_comm_host(const geodec_comm *c) { return c ? c->driver->host(c->state) : "this machine"; }
const char *geodec_comm_about(const geodec_comm *c) { return c ? c->driver->about(c->state) : "one process"; }
bool geodec_comm_agreed(const geodec_comm *c) { return c && c->agreed; }

void geodec_comm_range(const geodec_comm *c, int64_t n, int rank, int64_t *first, int64_t *end)
{
    const int64_t size = geodec_comm_size(c), each = n / size, left = n % size;
    *first = each * rank + left * rank / size; /* n rank / size without overflow */
    *end = each * (rank + 1) + left * (rank + 1) / size;
}

/* ---- transfers -------------------------------------------------------------------------------------------------- */

static geodec_status failed(const geodec_comm *c, const char *what, int other, int code, geodec_err *err)
{
    char text[GEODEC_DRIVER_TEXT] = "";
    c->driver->text(code, text);
    GEODEC_FAIL(GEODEC_IO, "rank %d cannot %s rank %d: %s", c->rank, what, other, text);
}

static int64_t piece(int64_t bytes) { return bytes < GEODEC_DRIVER_MESSAGE ? bytes : GEODEC_DRIVER_MESSAGE; }

static geodec_status check_size(int64_t bytes, geodec_err *err)
{
    if (bytes < 0 || bytes > (int64_t)GEODEC_COMM_PIECES * GEODEC_DRIVER_MESSAGE)
        GEODEC_FAIL(GEODEC_LIMIT, "a message of %lld bytes", (long long)bytes);
    return GEODEC_OK;
}

geodec_status geodec_comm_send(geodec_comm *c, int to, const void *data, int64_t bytes, geodec_comm_transfer *t,
                               geodec_err *err)
{
    const char *from = data;
    t->n = 0;
    GEODEC_PASS(check_size(bytes, err));
    for (; c && bytes > 0; bytes -= piece(bytes), from += GEODEC_DRIVER_MESSAGE) {
        const int code = c->driver->send(c->state, to, from, piece(bytes), &t->request[t->n]);
        if (code != 0) return failed(c, "send to", to, code, err);
        t->n++;
    }
    return GEODEC_OK;
}

geodec_status geodec_comm_receive(geodec_comm *c, int from, void *data, int64_t bytes, geodec_comm_transfer *t,
                                  geodec_err *err)
{
    char *to = data;
    t->n = 0;
    GEODEC_PASS(check_size(bytes, err));
    for (; c && bytes > 0; bytes -= piece(bytes), to += GEODEC_DRIVER_MESSAGE) {
        const int code = c->driver->receive(c->state, from, to, piece(bytes), &t->request[t->n]);
        if (code != 0) return failed(c, "receive from", from, code, err);
        t->n++;
    }
    return GEODEC_OK;
}

geodec_status geodec_comm_poll(geodec_comm *c, geodec_comm_transfer *t, bool *ended, geodec_err *err)
{
    int left = 0;
    for (int i = 0; i < t->n; i++) {
        int over = 0;
        const int code = c->driver->test(c->state, &t->request[i], &over);
        if (code != 0) return failed(c, "exchange with", c->rank, code, err);
        if (!over) t->request[left++] = t->request[i];
    }
    t->n = left;
    *ended = left == 0;
    return GEODEC_OK;
}

/* Yields at first, then sleeps, up to half a millisecond at a time. */
static void rest(int64_t round)
{
    if (round < 20) {
        (void)sched_yield();
        return;
    }
    const int64_t us = round < 100 ? 20 : round < 200 ? 100 : 500;
    const struct timespec t = {0, (long)(us * 1000)};
    (void)nanosleep(&t, NULL);
}

geodec_status geodec_comm_wait(geodec_comm *c, geodec_comm_transfer *t, geodec_err *err)
{
    bool ended = t->n == 0;
    for (int64_t round = 0; !ended; round++) {
        GEODEC_PASS(geodec_comm_poll(c, t, &ended, err));
        if (ended) break;
        rest(round);
        if (round % 16 == 0) GEODEC_PASS(geodec_hooks_progress(&c->hooks, "waiting for other ranks", 0, 0, err));
    }
    return GEODEC_OK;
}

static geodec_status put(geodec_comm *c, int to, const void *data, int64_t bytes, geodec_err *err)
{
    geodec_comm_transfer t;
    GEODEC_PASS(geodec_comm_send(c, to, data, bytes, &t, err));
    return geodec_comm_wait(c, &t, err);
}

static geodec_status get(geodec_comm *c, int from, void *data, int64_t bytes, geodec_err *err)
{
    geodec_comm_transfer t;
    GEODEC_PASS(geodec_comm_receive(c, from, data, bytes, &t, err));
    return geodec_comm_wait(c, &t, err);
}

/* ---- collectives ------------------------------------------------------------------------------------------------ */

/* A binomial tree: a rank receives from the rank without its lowest bit, and sends to those with one lower bit more. */
geodec_status geodec_comm_broadcast(geodec_comm *c, void *data, int64_t bytes, geodec_err *err)
{
    if (!c || c->size == 1 || bytes == 0) return GEODEC_OK;
    int bit = 1;
    while (bit < c->size && !(c->rank & bit)) bit <<= 1;
    if (c->rank) GEODEC_PASS(get(c, c->rank - bit, data, bytes, err));
    for (bit >>= 1; bit > 0; bit >>= 1)
        if (c->rank + bit < c->size) GEODEC_PASS(put(c, c->rank + bit, data, bytes, err));
    return GEODEC_OK;
}

/* own [bytes] of every rank into all [size][bytes] of rank 0 (elsewhere not read). */
static geodec_status gather(geodec_comm *c, const void *own, int64_t bytes, void *all, geodec_err *err)
{
    const int rank = geodec_comm_rank(c), size = geodec_comm_size(c);
    if (bytes == 0) return GEODEC_OK;
    if (rank) return put(c, 0, own, bytes, err);
    memcpy(all, own, (size_t)bytes);
    for (int r = 1; r < size; r++) GEODEC_PASS(get(c, r, (char *)all + r * bytes, bytes, err));
    return GEODEC_OK;
}

geodec_status geodec_comm_share(geodec_comm *c, const void *own, int64_t bytes, void *all, geodec_err *err)
{
    GEODEC_PASS(gather(c, own, bytes, all, err));
    GEODEC_PASS(geodec_comm_broadcast(c, all, bytes * geodec_comm_size(c), err));
    return GEODEC_OK;
}

geodec_status geodec_comm_barrier(geodec_comm *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *all = NULL, own = 0;
    GEODEC_NEW(all, geodec_comm_size(c));
    GEODEC_TRY(geodec_comm_share(c, &own, 1, all, err));
done:
    geodec_mem_free(all);
    return st;
}

typedef struct outcome {
    int32_t status, rank;
    char line[2 * GEODEC_ERR_TEXT];
} outcome;

geodec_status geodec_comm_agree(geodec_comm *c, geodec_status own, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    outcome mine = {.status = (int32_t)own, .rank = geodec_comm_rank(c)}, *all = NULL;
    if (!c) return own;
    GEODEC_NEW(all, c->size);
    if (own != GEODEC_OK && err) (void)geodec_err_line(err, mine.line, sizeof mine.line);
    GEODEC_TRY(geodec_comm_share(c, &mine, (int64_t)sizeof mine, all, err));
    for (int r = 0; r < c->size && st == GEODEC_OK; r++) {
        st = (geodec_status)all[r].status;
        if (st == GEODEC_OK) continue;
        c->agreed = true;
        if (r != c->rank) {
            geodec_err_clear(err);
            (void)geodec_err_set(err, st, __func__, __LINE__, "rank %d: %.200s", r, all[r].line);
        }
    }
done:
    geodec_mem_free(all);
    return st;
}
