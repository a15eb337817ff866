#include "base/mem.h"
#include "model/internal.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_BATCH = 64, MAX_BATCH = 4096, MAX_SESSION_CONTEXT = 1 << 24 };

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

/* ---- creation --------------------------------------------------------------------------------------------------- */

/* The cache is written as it fills; one that can never fit is refused now, not by the kernel in the middle of a run. */
static geodec_status check_memory(const geodec_model_config *c, int64_t n_ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const double row =
        (double)c->n_layer * c->n_kv_head * (double)(c->head_dim + geodec__pad(c->head_dim)) * sizeof(float);
    const double total = row * (double)n_ctx, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    if (total > memory)
        GEODEC_THROW(GEODEC_LIMIT,
                     "a cache of %lld tokens takes %.1f GiB; this machine has %.1f (choose a shorter context)",
                     (long long)n_ctx, total / 0x1p30, memory / 0x1p30);
done:
    return st;
}

static geodec_status new_rows(float **data, float ***row, int64_t n, int64_t width, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t stride = geodec__pad(width);
    GEODEC_NEW(*data, n * stride);
    GEODEC_NEW(*row, n);
    for (int64_t i = 0; i < n; i++) (*row)[i] = *data + i * stride;
done:
    return st;
}

static geodec_status new_activations(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t n = s->max_batch, q = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim;
    const int64_t places = n * larger(1, c->n_expert_used);
    GEODEC_TRY(new_rows(&s->x, &s->x_row, n, c->d_model, err));
    GEODEC_TRY(new_rows(&s->norm, &s->norm_row, n, c->d_model, err));
    GEODEC_TRY(new_rows(&s->query, &s->query_row, n, q, err));
    GEODEC_TRY(new_rows(&s->key, &s->key_row, n, kv, err));
    GEODEC_TRY(new_rows(&s->value, &s->value_row, n, kv, err));
    GEODEC_TRY(new_rows(&s->mixed, &s->mixed_row, n, q, err));
    GEODEC_TRY(new_rows(&s->gate, &s->gate_row, places, c->d_ff, err));
    GEODEC_TRY(new_rows(&s->up, &s->up_row, places, c->d_ff, err));
    GEODEC_TRY(new_rows(&s->down, &s->down_row, places, c->d_model, err));
    GEODEC_NEW(s->input, places);
    GEODEC_NEW(s->output, n);
    GEODEC_NEW(s->want, n);
    GEODEC_NEW(s->parent, n);
    GEODEC_NEW(s->depth, n);
    GEODEC_NEW(s->job, larger(3, c->n_expert));
    if (c->n_expert > 0) {
        GEODEC_TRY(new_rows(&s->router, &s->router_row, n, c->n_expert, err));
        GEODEC_NEW(s->expert_id, places * c->n_layer);
        GEODEC_NEW(s->expert_weight, places * c->n_layer);
        GEODEC_NEW(s->assigned, places);
    }
done:
    return st;
}

static geodec_status new_workers(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t widest = larger(larger(c->d_model, c->d_ff), (int64_t)c->n_head * c->head_dim);
    const int threads = geodec_pool_threads(s->pool);
    GEODEC_NEW(s->worker, threads);
    s->n_workers = threads;
    for (int i = 0; i < threads; i++) {
        geodec__worker *w = &s->worker[i];
        GEODEC_NEW(w->weights, GEODEC__STRIP * geodec__pad(widest));
        GEODEC_NEW(w->scores, geodec__pad(s->n_ctx));
        GEODEC_NEW(w->head, geodec__pad(c->head_dim));
        GEODEC_NEW(w->path, s->max_batch);
    }
done:
    return st;
}

/* Angles in double, rounded once: angle of pair i at position p is p base^(-2i/rope_dim). */
static geodec_status new_rotations(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t pairs = c->rope_dim / 2;
    GEODEC_NEW(s->cosine, s->n_ctx * pairs);
    GEODEC_NEW(s->sine, s->n_ctx * pairs);
    for (int64_t i = 0; i < pairs; i++) {
        const double step = pow(c->rope_base, -2.0 * (double)i / (double)c->rope_dim);
        for (int64_t p = 0; p < s->n_ctx; p++) {
            s->cosine[p * pairs + i] = (float)cos((double)p * step);
            s->sine[p * pairs + i] = (float)sin((double)p * step);
        }
    }
done:
    return st;
}

geodec_status geodec_session_create(const geodec_model *m, const geodec_session_options *o, geodec_session **out,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_session *s = NULL;
    const geodec_model_config *c = &m->config;
    const geodec_session_options defaults = {0};
    if (!o) o = &defaults;
    if (o->n_ctx < 0 || o->n_ctx > MAX_SESSION_CONTEXT)
        GEODEC_THROW(GEODEC_RANGE, "a context of %d tokens is outside 1 to %d", o->n_ctx, MAX_SESSION_CONTEXT);
    if (o->max_batch < 0 || o->max_batch > MAX_BATCH)
        GEODEC_THROW(GEODEC_RANGE, "a batch of %d rows is outside 1 to %d", o->max_batch, MAX_BATCH);
    GEODEC_NEW(s, 1);
    s->model = m;
    s->pool = o->pool;
    s->n_ctx = o->n_ctx ? o->n_ctx : c->n_ctx;
    s->max_batch = o->max_batch ? o->max_batch : DEFAULT_BATCH;
    s->kernels = geodec__kernels_for(o->isa);
    if (!s->kernels) GEODEC_THROW(GEODEC_UNSUPPORTED, "this processor has no %s instructions", geodec_isa_name(o->isa));
    GEODEC_TRY(check_memory(c, s->n_ctx, err));
    s->k_head = geodec__pad(s->n_ctx) * c->head_dim;
    s->v_head = (int64_t)s->n_ctx * geodec__pad(c->head_dim);
    GEODEC_NEW(s->k, (int64_t)c->n_layer * c->n_kv_head * s->k_head);
    GEODEC_NEW(s->v, (int64_t)c->n_layer * c->n_kv_head * s->v_head);
    GEODEC_TRY(new_rotations(s, err));
    GEODEC_TRY(new_activations(s, err));
    GEODEC_TRY(new_workers(s, err));
    *out = s;
    s = NULL;
done:
    geodec_session_destroy(s);
    return st;
}

void geodec_session_destroy(geodec_session *s)
{
    if (!s) return;
    float *const data[] = {s->k,     s->v,     s->cosine, s->sine, s->x,    s->norm,   s->query,        s->key,
                           s->value, s->mixed, s->gate,   s->up,   s->down, s->router, s->expert_weight};
    float **const rows[] = {s->x_row,    s->norm_row, s->query_row, s->key_row,    s->value_row, s->mixed_row,
                            s->gate_row, s->up_row,   s->down_row,  s->router_row, s->output};
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) geodec_mem_free(data[i]);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) geodec_mem_free(rows[i]);
    geodec_mem_free(s->input);
    geodec_mem_free(s->want);
    geodec_mem_free(s->parent);
    geodec_mem_free(s->depth);
    geodec_mem_free(s->job);
    geodec_mem_free(s->expert_id);
    geodec_mem_free(s->assigned);
    for (int i = 0; i < s->n_workers; i++) {
        geodec_mem_free(s->worker[i].weights);
        geodec_mem_free(s->worker[i].scores);
        geodec_mem_free(s->worker[i].head);
        geodec_mem_free(s->worker[i].path);
    }
    geodec_mem_free(s->worker);
    geodec_mem_free(s);
}

/* ---- questions and the cache ------------------------------------------------------------------------------------- */

const geodec_model *geodec_session_model(const geodec_session *s) { return s->model; }
int32_t geodec_session_n_ctx(const geodec_session *s) { return s->n_ctx; }
geodec_isa geodec_session_isa(const geodec_session *s) { return s->kernels->isa; }
int32_t geodec_session_length(const geodec_session *s) { return s->length; }
geodec_counters geodec_session_counters(const geodec_session *s) { return s->counters; }
const int32_t *geodec_session_expert_ids(const geodec_session *s) { return s->expert_id; }
const float *geodec_session_expert_weights(const geodec_session *s) { return s->expert_weight; }

void geodec_session_truncate(geodec_session *s, int32_t length)
{
    if (length >= 0 && length < s->length) s->length = length;
}

/* Cache row `from` becomes row `to` in every layer and head. */
static void move_row(geodec_session *s, int64_t from, int64_t to)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t heads = (int64_t)c->n_layer * c->n_kv_head, dim = c->head_dim, stride = geodec__pad(dim);
    for (int64_t h = 0; h < heads; h++) {
        float *v = s->v + h * s->v_head;
        memcpy(v + to * stride, v + from * stride, (size_t)stride * sizeof *v);
        float *k = s->k + h * s->k_head;
        for (int64_t d = 0; d < dim; d++)
            k[(to / 16 * dim + d) * 16 + to % 16] = k[(from / 16 * dim + d) * 16 + from % 16];
    }
}

void geodec_session_compact(geodec_session *s, int32_t base, const int32_t *row, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (row[i] != i) move_row(s, (int64_t)base + row[i], (int64_t)base + i);
    s->length = base + n;
}
