#include "base/extremes_internal.h"
#include "session/recurrence_states_internal.h"

#include "base/mem.h"
#include "recurrence/recurrence.h"

#include <math.h>
#include <string.h>

enum { CHANNELS = 16, SMALL_WORK = 1 << 15 /* multiply-adds below which dispatch costs more than it saves */ };

static float *log_row(const geodec__recur *a, int64_t position, int64_t place)
{
    return a->log + (position % a->rows * a->layers + place) * a->row;
}

/* Index of the i-th oldest of the kept states. */
static int32_t kept_index(const geodec__recur *a, int32_t i) { return (a->oldest + i) % a->most; }
static int32_t kept_at(const geodec__recur *a, int32_t i) { return a->kept_at[kept_index(a, i)]; }

static void drop_kept_after(geodec__recur *a, int32_t position)
{
    while (a->n_kept > 0 && kept_at(a, a->n_kept - 1) > position) a->n_kept--;
}

/* ---- creation --------------------------------------------------------------------------------------------------- */

geodec_status geodec__recurrence_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t n = s->max_batch;
    geodec__recur *a = NULL;
    if (c->recur_rank == 0) return GEODEC_OK;
    GEODEC_NEW(a, 1);
    s->recur = a; /* geodec__recurrence_destroy frees it */
    GEODEC_NEW(a->place, c->n_layer);
    for (int32_t i = 0; i < c->n_layer; i++) a->place[i] = s->model->layer[i].decay.data ? a->layers++ : -1;
    a->half = s->kv != GEODEC_KV_F32;
    a->stride = geodec_recurrence_stride(c->recur_rank);
    a->d = c->d_model;
    a->row = 2 * a->d + a->stride;
    a->state = a->d * a->stride * (a->half ? 2 : 4);
    a->rows = s->n_ctx;
    if (geodec__session_forgets(s) && s->back + GEODEC__RECUR_KEEP + s->max_batch < s->n_ctx)
        a->rows = s->back + GEODEC__RECUR_KEEP + s->max_batch;
    a->most = a->rows / GEODEC__RECUR_KEEP + 1;
    a->after_position = -1;
    const int64_t all = a->layers * a->state;
    const double total = (double)a->rows * (double)(a->layers * a->row) * sizeof(float) + (double)a->most * (double)all;
    if (total > 0x1p46)
        GEODEC_THROW(GEODEC_LIMIT, "recurrent states and rows of %d tokens take %g bytes", a->rows, total);
    a->log = geodec_mem_map(a->rows * a->layers * a->row * (int64_t)sizeof(float));
    a->kept = geodec_mem_map(a->most * all);
    a->text = geodec_mem_map(s->n_ctx * (int64_t)sizeof *a->text);
    if (((!a->log || !a->kept) && all > 0) || !a->text)
        GEODEC_THROW(GEODEC_NOMEM, "no memory for recurrent states and rows of %d tokens", a->rows);
    GEODEC_NEW_EACH(all, a->now, a->after);
    GEODEC_NEW(a->kept_at, a->most);
    GEODEC_NEW(a->scratch, s->n_workers * (1 + n) * a->stride);
    const int64_t rows = n > GEODEC__RECUR_KEEP ? n : GEODEC__RECUR_KEEP;
    GEODEC_NEW_EACH(rows, a->g, a->v, a->k, a->q, a->y);
done:
    return st;
}

void geodec__recurrence_destroy(geodec_session *s)
{
    geodec__recur *a = s->recur;
    if (!a) return;
    geodec_mem_unmap(a->log, a->rows * a->layers * a->row * (int64_t)sizeof(float));
    geodec_mem_unmap(a->kept, a->most * a->layers * a->state);
    geodec_mem_unmap(a->text, s->n_ctx * (int64_t)sizeof *a->text);
    GEODEC_FREE(a->place, a->now, a->after, a->kept_at, a->scratch);
    GEODEC_FREE(a->g, a->v, a->k, a->q, a->y, a);
}

geodec_recurrence_bytes geodec_session_recurrence_bytes(const geodec_session *s)
{
    const geodec__recur *a = s->recur;
    if (!a) return (geodec_recurrence_bytes){0};
    const int64_t state = a->layers * a->state, row = a->layers * a->row * (int64_t)sizeof(float);
    return (geodec_recurrence_bytes){.state = state,
                                     .row = row,
                                     .kept = a->n_kept * state,
                                     .most =
                                         (2 + a->most) * state + a->rows * row + s->n_ctx * (int64_t)sizeof *a->text};
}

/* ---- running ---------------------------------------------------------------------------------------------------- */

typedef struct run {
    const geodec_session *s;
    const void *from;
    void *to;
    geodec_recurrence_rows rows;
} run;

static void run_task(void *ctx, int64_t task, int worker)
{
    const run *w = ctx;
    const geodec__recur *a = w->s->recur;
    const int64_t first = task * CHANNELS, end = first + CHANNELS < a->d ? first + CHANNELS : a->d;
    geodec_recurrence_run(w->s->kernels->isa, w->from, w->to, a->half, a->stride, first, end, &w->rows,
                          a->scratch + worker * (1 + (int64_t)w->s->max_batch) * a->stride);
}

static void run_channels(run *w)
{
    const geodec__recur *a = w->s->recur;
    const int64_t tasks = (a->d + CHANNELS - 1) / CHANNELS;
    geodec_pool *pool = w->rows.n * a->d * a->stride < SMALL_WORK ? NULL : w->s->pool;
    geodec_pool_run_dynamic(pool, tasks, run_task, w);
}

/* Rows from .. to - 1 of the log into the states at `from`. */
static void replay(geodec_session *s, int32_t from, int32_t to)
{
    geodec__recur *a = s->recur;
    for (int32_t at = from; at < to;) {
        const int32_t n = to - at < GEODEC__RECUR_KEEP ? to - at : GEODEC__RECUR_KEEP;
        for (int32_t place = 0; place < a->layers; place++) {
            for (int32_t t = 0; t < n; t++) {
                a->g[t] = log_row(a, at + t, place);
                a->v[t] = a->g[t] + a->d;
                a->k[t] = a->v[t] + a->d;
            }
            uint8_t *state = a->now + place * a->state;
            run w = {s, state, state, {.n = n, .g = a->g, .v = a->v, .k = a->k}};
            run_channels(&w);
        }
        at += n;
    }
    a->position = to;
}

geodec_status geodec__recurrence_read_again(geodec_session *s, int32_t begin, geodec_err *err)
{
    geodec__recur *a = s->recur;
    const int32_t length = s->length, floor = a ? a->floor : 0;
    if (begin >= floor) return GEODEC_OK;
    const geodec_watch watch = s->watch;
    const geodec_watch_update watch_update = s->watch_update;
    a->floor = a->n_kept = s->length = 0;
    a->position = INT32_MAX;
    a->after_position = -1;
    s->watch = NULL;
    s->watch_update = NULL;
    const geodec_status st = length > 0 ? geodec_forward_prefill(s, a->text, length, NULL, err) : GEODEC_OK;
    s->watch = watch;
    s->watch_update = watch_update;
    if (st != GEODEC_OK) {
        s->length = length;
        a->floor = (int32_t)geodec__max(floor, length + 1); /* no row is right now */
        a->n_kept = 0;
        a->position = INT32_MAX;
        a->after_position = -1;
    }
    return st;
}

/* A pass that ends at `end` writes over the oldest rows of the log and the cache. */
static void forget(geodec_session *s, int32_t end)
{
    geodec__recur *a = s->recur;
    for (; a->n_kept > 0 && kept_at(a, 0) < end - a->rows; a->n_kept--) a->oldest = kept_index(a, 1);
    a->floor = (int32_t)geodec__max(a->floor, (int32_t)geodec__cache_floor(s, end));
    if (end > a->rows)
        a->floor = (int32_t)geodec__max(a->floor, kept_at(a, 0)); /* there is one: recurrence_states_internal.h */
}

void geodec__recurrence_begin(geodec_session *s, const int32_t *token, int32_t n)
{
    geodec__recur *a = s->recur;
    const int64_t all = a->layers * a->state;
    if (a->after_position == s->length) {
        uint8_t *now = a->now;
        a->now = a->after;
        a->after = now;
        a->position = s->length;
    } else if (a->position > s->length) {
        drop_kept_after(a, s->length);
        a->position = a->n_kept > 0 ? kept_at(a, a->n_kept - 1) : 0;
        if (a->n_kept > 0)
            memcpy(a->now, a->kept + kept_index(a, a->n_kept - 1) * all, (size_t)all);
        else
            memset(a->now, 0, (size_t)all);
    }
    a->after_position = -1;
    replay(s, a->position, s->length);
    if (token) memmove(a->text + s->length, token, (size_t)n * sizeof *token); /* read again: from there */
    const int32_t last = a->n_kept > 0 ? kept_at(a, a->n_kept - 1) : 0;
    if (s->length - last >= GEODEC__RECUR_KEEP && a->n_kept < a->most) {
        const int32_t at = kept_index(a, a->n_kept++);
        memcpy(a->kept + at * all, a->now, (size_t)all);
        a->kept_at[at] = s->length;
    }
    forget(s, s->length + n);
}

/* In double, as in experts.c: the same bits on every instruction set. */
static float gate(float x, float least)
{
    const float g = (float)(1 / (1 + exp(-(double)x)));
    return g > least ? g : least;
}

void geodec__recurrence_run(geodec_session *s, int32_t layer, int64_t n, bool chain)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__layer *l = &s->model->layer[layer];
    geodec__recur *a = s->recur;
    const int32_t place = a->place[layer];
    const float least = c->recur_log_decay_min < 0 ? (float)exp((double)c->recur_log_decay_min) : 0;
    const float scale = (float)(1 / sqrt((double)c->recur_rank));
    geodec__rows_end(s->query_row, n, c->recur_rank);
    for (int64_t t = 0; t < n; t++) {
        float *g = log_row(a, s->length + t, place), *v = g + a->d, *k = v + a->d;
        for (int64_t i = 0; i < a->d; i++) g[i] = gate(s->decay_row[t][i] + l->decay_bias[i], least);
        memcpy(v, s->value_row[t], (size_t)a->d * sizeof *v);
        for (int64_t j = 0; j < c->recur_rank; j++) k[j] = scale * s->key_row[t][j];
        a->g[t] = g;
        a->v[t] = v;
        a->k[t] = k;
        a->q[t] = s->query_row[t];
        a->y[t] = s->mixed_row[t];
    }
    run w = {s,
             (s->continued ? a->after : a->now) + place * a->state,
             chain ? a->after + place * a->state : NULL,
             {n, a->g, a->v, a->k, a->q, a->y, chain ? NULL : s->parent}};
    run_channels(&w);
    for (int64_t t = 0; t < n; t++) geodec__norm_row(s->kernels, &l->read_norm, s->mixed_row[t], s->mixed_row[t]);
    geodec__rows_end(s->mixed_row, n, a->d);
}

void geodec__recurrence_end(geodec_session *s, int64_t n, bool chain)
{
    s->recur->after_position = chain ? s->length + (int32_t)n : -1;
}

void geodec__recurrence_truncate(geodec_session *s, int32_t base, const int32_t *row, int32_t n)
{
    geodec__recur *a = s->recur;
    bool moved = false;
    for (int32_t i = 0; row && i < n; i++) {
        if (row[i] == i) continue;
        moved = true;
        memcpy(log_row(a, base + i, 0), log_row(a, base + row[i], 0), (size_t)(a->layers * a->row) * sizeof(float));
        a->text[base + i] = a->text[base + row[i]];
    }
    const int32_t same = moved ? base : base + n; /* rows that are as they were */
    if (a->after_position > same) a->after_position = -1;
    drop_kept_after(a, same);
    if (a->position > same) a->position = INT32_MAX; /* geodec__recurrence_begin starts from one that is kept */
}
