#include "base/extremes_internal.h"
#include "session/recurrence_states_internal.h"

#include "base/mem.h"
#include "recurrence/recurrence.h"

#include <math.h>
#include <string.h>

enum { SMALL_WORK = 1 << 15 /* multiply-adds below which dispatch costs more than it saves */ };

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

/* Sizes of what a layer of this shape keeps. */
static void measure(geodec__recur *a, const geodec_recurrence_shape *shape, bool half)
{
    a->shape = *shape;
    a->half = half && shape->width == 0;
    a->heads = geodec_recurrence_heads(shape);
    a->stride = geodec_recurrence_stride(shape->r);
    for (a->unit = shape->share; a->unit > 0 && a->unit % GEODEC_RECURRENCE_LANES; a->unit += shape->share) {
    }
    const int64_t gates = shape->kind == GEODEC_RECURRENCE_DELTA ? 2 : 1;
    a->row = shape->width + gates * a->heads + shape->d + shape->keys * a->stride;
    a->window = geodec_recurrence_window(shape) * (int64_t)sizeof(float);
    a->state = a->window + shape->d * a->stride * (a->half ? 2 : 4);
}

/* Rows of the log. */
static int32_t rows_of(const geodec_session *s, const geodec__recur *a)
{
    const int64_t few = (int64_t)s->back + GEODEC__RECUR_KEEP + s->max_batch;
    const int64_t all = s->n_ctx * a->layers * a->row * (int64_t)sizeof(float);
    const bool forgets = geodec__session_forgets(s) || (a->shape.width > 0 && all > GEODEC__RECUR_MOST);
    return forgets && few < s->n_ctx ? (int32_t)few : s->n_ctx;
}

static geodec_status new_memory(geodec_session *s, geodec__recur *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t all = a->layers * a->state, n = s->max_batch;
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
    GEODEC_NEW_EACH(rows, a->in, a->g, a->b, a->v, a->k, a->q, a->y);
    GEODEC_NEW(a->tap, rows * a->shape.taps);
done:
    return st;
}

geodec_status geodec__recurrence_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = s->model;
    geodec__recur *a = NULL;
    if (!geodec__model_recurs(m)) return GEODEC_OK;
    GEODEC_NEW(a, 1);
    s->recur = a; /* geodec__recurrence_destroy frees it */
    GEODEC_NEW(a->place, m->config.n_layer);
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        a->place[i] = geodec__layer_recurs(&m->layer[i]) ? a->layers++ : -1;
        if (a->place[i] == 0) measure(a, &m->layer[i].recurrent.shape, s->kv != GEODEC_KV_F32);
    }
    a->rows = rows_of(s, a);
    a->most = a->rows / GEODEC__RECUR_KEEP + 1;
    a->after_position = -1;
    GEODEC_TRY(new_memory(s, a, err));
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
    GEODEC_FREE(a->place, a->now, a->after, a->kept_at, a->scratch, a->tap);
    GEODEC_FREE(a->in, a->g, a->b, a->v, a->k, a->q, a->y, a);
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

static void run_task(void *ctx, int64_t task, int worker)
{
    const geodec__recur_run *w = ctx;
    const geodec__recur *a = w->s->recur;
    const int64_t first = task * a->unit, end = geodec__min(first + a->unit, a->shape.d);
    if (w->before) w->before(w, first, end);
    geodec_recurrence_run(w->s->kernels->isa, &a->shape, w->from, w->to, a->half, first, end, &w->rows,
                          a->scratch + worker * (1 + (int64_t)w->s->max_batch) * a->stride);
    if (w->after) w->after(w, first, end);
}

static void run_channels(geodec__recur_run *w)
{
    const geodec__recur *a = w->s->recur;
    if (a->shape.d == 0) return;
    const int64_t tasks = (a->shape.d + a->unit - 1) / a->unit;
    geodec_pool *pool = w->rows.n * a->shape.d * a->stride < SMALL_WORK ? NULL : w->s->pool;
    geodec_pool_run_dynamic(pool, tasks, run_task, w);
}

/* Points the rows of a run at the log, for n tokens from a position on. */
static void point(geodec__recur *a, int64_t position, int32_t place, int64_t n)
{
    for (int64_t t = 0; t < n; t++) {
        a->in[t] = log_row(a, position + t, place);
        a->g[t] = a->in[t] + a->shape.width;
        a->b[t] = a->g[t] + a->heads;
        a->v[t] = a->b[t] + (a->shape.kind == GEODEC_RECURRENCE_DELTA ? a->heads : 0);
        a->k[t] = a->v[t] + a->shape.d;
    }
}

#define ROWS(x) ((const float *const *)(x))

static geodec_recurrence_rows rows_of_run(const geodec__recur *a, const geodec__layer *l, int64_t n)
{
    return (geodec_recurrence_rows){
        .n = n, .g = ROWS(a->g), .v = ROWS(a->v), .k = ROWS(a->k), .b = ROWS(a->b), .a = l->recurrent.a};
}

/* The layer at a place. */
static const geodec__layer *layer_at(const geodec_session *s, int32_t place)
{
    int32_t i = 0;
    while (s->recur->place[i] != place) i++;
    return &s->model->layer[i];
}

/* Rows from .. to - 1 of the log into the states at `from`. */
static void replay(geodec_session *s, int32_t from, int32_t to)
{
    geodec__recur *a = s->recur;
    for (int32_t at = from; at < to;) {
        const int32_t n = to - at < GEODEC__RECUR_KEEP ? to - at : GEODEC__RECUR_KEEP;
        for (int32_t place = 0; place < a->layers; place++) {
            uint8_t *state = a->now + place * a->state;
            float *window = (float *)(void *)state;
            point(a, at, place, n);
            if (a->window > 0) geodec_recurrence_slide(&a->shape, window, n, ROWS(a->in), window);
            geodec__recur_run w = {.s = s, .from = state + a->window, .to = state + a->window};
            w.rows = rows_of_run(a, layer_at(s, place), n);
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
    if (end > a->rows) a->floor = (int32_t)geodec__max(a->floor, a->n_kept > 0 ? kept_at(a, 0) : end);
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

void geodec__recurrence_rows(geodec_session *s, int32_t layer, int64_t n)
{
    geodec__recur *a = s->recur;
    point(a, s->length, a->place[layer], n);
    for (int64_t t = 0; t < n; t++) a->y[t] = s->mixed_row[t];
}

/* The states that a pass of a layer continues, and those that a chain leaves. */
static uint8_t *states_before(const geodec_session *s, int32_t layer)
{
    const geodec__recur *a = s->recur;
    return (s->continued ? a->after : a->now) + a->place[layer] * a->state;
}
static uint8_t *states_after(const geodec_session *s, int32_t layer)
{
    return s->recur->after + s->recur->place[layer] * s->recur->state;
}

typedef struct convolution {
    const geodec_session *s;
    const geodec__recurrent *l;
    int64_t n;
    bool silu;
    float *const *out;
} convolution;

static void convolve_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const convolution *w = ctx;
    const geodec__recur *a = w->s->recur;
    const int64_t first = task * GEODEC__RECUR_BLOCK, end = geodec__min(first + GEODEC__RECUR_BLOCK, a->shape.width);
    geodec_recurrence_convolve(w->s->kernels->isa, &a->shape, w->l->conv, w->l->conv_bias, w->n, a->tap, first, end,
                               w->out);
    for (int64_t t = 0; w->silu && t < w->n; t++)
        w->s->kernels->activate(GEODEC_SILU, NULL, w->out[t] + first, NULL, end - first);
}

void geodec__recurrence_convolve(geodec_session *s, int32_t layer, int64_t n, bool chain, bool silu, float *const *out)
{
    geodec__recur *a = s->recur;
    const float *from = (const float *)(const void *)states_before(s, layer);
    const int64_t tasks = (a->shape.width + GEODEC__RECUR_BLOCK - 1) / GEODEC__RECUR_BLOCK;
    convolution w = {s, &s->model->layer[layer].recurrent, n, silu, out};
    geodec_recurrence_taps(&a->shape, from, n, ROWS(a->in), chain ? NULL : s->parent, a->tap);
    geodec_pool *pool = n * a->shape.width * a->shape.taps < SMALL_WORK ? NULL : s->pool;
    geodec_pool_run_dynamic(pool, tasks, convolve_task, &w);
    if (chain) geodec_recurrence_slide(&a->shape, from, n, ROWS(a->in), (float *)(void *)states_after(s, layer));
    geodec__rows_end(out, n, a->shape.width);
}

void geodec__recurrence_step(geodec__recur_run *w, int32_t index, bool chain)
{
    geodec_session *s = w->s;
    const geodec__recur *a = s->recur;
    w->from = states_before(s, index) + a->window;
    w->to = chain ? states_after(s, index) + a->window : NULL;
    w->rows = rows_of_run(a, w->layer, w->n);
    w->rows.q = ROWS(a->q);
    w->rows.y = a->y;
    w->rows.parent = chain ? NULL : s->parent;
    run_channels(w);
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
    const int64_t d = a->shape.d;
    const float least = c->recur_log_decay_min < 0 ? (float)exp((double)c->recur_log_decay_min) : 0;
    const float scale = (float)(1 / sqrt((double)c->recur_rank));
    geodec__rows_end(s->query_row, n, c->recur_rank);
    geodec__recurrence_rows(s, layer, n);
    for (int64_t t = 0; t < n; t++) {
        for (int64_t i = 0; i < d; i++) a->g[t][i] = gate(s->decay_row[t][i] + l->decay_bias[i], least);
        memcpy(a->v[t], s->value_row[t], (size_t)d * sizeof(float));
        for (int64_t j = 0; j < c->recur_rank; j++) a->k[t][j] = scale * s->key_row[t][j];
        a->q[t] = s->query_row[t];
    }
    geodec__recur_run w = {.s = s, .layer = l, .n = n};
    geodec__recurrence_step(&w, layer, chain);
    for (int64_t t = 0; t < n; t++) geodec__norm_row(s->kernels, &l->read_norm, s->mixed_row[t], s->mixed_row[t]);
    geodec__rows_end(s->mixed_row, n, d);
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
