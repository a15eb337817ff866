#include "base/extremes_internal.h"
#include "base/mem.h"
#include "integer/engine/engine.h"
#include "session/arithmetic.h"
#include "session/integer_session_internal.h"
#include "session/recurrence_states_internal.h"
#include "session/streamed_internal.h"
#include "session/team_internal.h"

#include <string.h>

enum { DEFAULT_BATCH = 64, MAX_BATCH = 4096, DEFAULT_BACK = 256, MAX_SESSION_CONTEXT = 1 << 24 };

/* ---- creation --------------------------------------------------------------------------------------------------- */

geodec_status geodec__session_rows(float ***row, int64_t n, int64_t width, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t stride = geodec__apart(width), head = (n * (int64_t)sizeof(float *) + 63) / 64 * 64;
    uint8_t *memory;
    GEODEC_NEW(memory, head + n * stride * (int64_t)sizeof(float));
    *row = (float **)(void *)memory;
    for (int64_t i = 0; i < n; i++) (*row)[i] = (float *)(void *)(memory + head) + i * stride;
done:
    return st;
}

/* Width of the dense networks of a mixture; 0: none. */
static int64_t dense_width(const geodec_model_config *c) { return geodec__max(c->d_ff_dense, c->d_ff_shared); }
/* Of the experts, and of networks without any. */
static int64_t expert_width(const geodec_model_config *c) { return geodec__max(c->d_ff, c->d_ff_adjugate); }
/* Columns of the widest small matrix of a layer. */
static int64_t small_width(const geodec_model_config *c) { return geodec__max(c->d_inputs, c->laurel_rank); }

/* Numbers of the queries of the widest layer. */
static int64_t widest_query(const geodec_model *m)
{
    int64_t most = 0;
    for (int32_t i = 0; i < m->config.n_layer; i++)
        most = geodec__max(most, (int64_t)m->layer[i].n_head * m->layer[i].head_dim);
    return most;
}

/* Numbers of attention's result in the widest layer. */
static int64_t widest_mixed(const geodec_session *s)
{
    int64_t most = 0;
    for (int32_t i = 0; i < s->model->config.n_layer; i++)
        most = geodec__max(most, s->model->layer[i].n_head * s->cache.shape[i].v_dim);
    return most;
}

static geodec_status new_activations(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t n = s->max_batch, q = widest_query(s->model), mixed = widest_mixed(s);
    const int64_t places = n * geodec__max(1, c->n_expert_used);
    GEODEC_TRY(geodec__session_rows(&s->x_row, n, geodec__streams_width(s->model), err));
    GEODEC_TRY(geodec__session_rows(&s->norm_row, n, c->d_model, err));
    const int64_t rank = c->recur_rank, wide = rank > 0 ? c->d_model : 0; /* of recurrent layers */
    GEODEC_TRY(geodec__session_rows(&s->query_row, n, geodec__max(q, rank), err));
    GEODEC_TRY(geodec__session_rows(&s->key_row, n, geodec__max(s->cache.k_width, rank), err));
    GEODEC_TRY(geodec__session_rows(&s->value_row, n, geodec__max(s->cache.v_width, wide), err));
    const int64_t widest = geodec__max(mixed, geodec__max(wide, geodec__recurrent_widest(s->model)));
    GEODEC_TRY(geodec__session_rows(&s->mixed_row, n, widest, err));
    if (rank > 0) GEODEC_TRY(geodec__session_rows(&s->decay_row, n, wide, err));
    bool gated = false, own = false, both = false;
    for (int32_t i = 0; i < c->n_layer; i++) {
        both = both || s->model->layer[i].gated_query;
        gated = gated || both || s->model->layer[i].attn_gate.data;
        own = own || s->model->layer[i].expert_norm.weight;
    }
    if (both) GEODEC_TRY(geodec__session_rows(&s->both_row, n, 2 * q, err));
    if (gated) GEODEC_TRY(geodec__session_rows(&s->gating_row, n, q, err));
    if (own) GEODEC_TRY(geodec__session_rows(&s->own_row, n, c->d_model, err));
    if (c->embed_added) GEODEC_TRY(geodec__session_rows(&s->entry_row, n, c->d_model, err));
    GEODEC_TRY(geodec__layer_inputs_create(s, err));
    if (c->weighed_input) GEODEC_NEW(s->place_weight, places);
    if (s->model->low && s->attend_dim != c->head_dim)
        GEODEC_TRY(geodec__session_rows(&s->wide_row, n, c->n_head * s->attend_dim, err));
    GEODEC_TRY(geodec__session_rows(&s->gate_row, places, c->d_ff, err));
    GEODEC_TRY(geodec__session_rows(&s->up_row, places, c->d_ff, err));
    GEODEC_TRY(geodec__session_rows(&s->down_row, places, c->d_model, err));
    if (dense_width(c) > 0) {
        GEODEC_TRY(geodec__session_rows(&s->dense_gate_row, n, dense_width(c), err));
        GEODEC_TRY(geodec__session_rows(&s->dense_up_row, n, dense_width(c), err));
    }
    if (c->d_ff_shared > 0) GEODEC_TRY(geodec__session_rows(&s->shared_row, n, c->d_model, err));
    if (s->model->factor_rank) GEODEC_TRY(geodec__session_rows(&s->low_row, 3 * n, s->model->factor_rank, err));
    GEODEC_NEW(s->input, places);
    GEODEC_NEW_EACH(n, s->output, s->want, s->parent, s->depth);
    GEODEC_NEW(s->job, geodec__max(GEODEC__JOBS, c->n_expert));
    if (c->n_expert > 0) {
        GEODEC_TRY(geodec__session_rows(&s->router_row, n, 2 * geodec__pad(c->n_expert), err));
        GEODEC_NEW_EACH(places * c->n_layer, s->expert_id, s->expert_weight);
        for (int64_t i = 0; i < places * c->n_layer; i++) s->expert_id[i] = -1; /* stays so in dense layers */
        GEODEC_NEW(s->assigned, places);
        if (c->d_ff_adjugate > 0) {
            GEODEC_NEW_EACH(places, s->adjugate_id, s->adjugate_weight);
            GEODEC_TRY(geodec__session_rows(&s->adjugate_gate_row, places, c->d_ff_adjugate, err));
            GEODEC_TRY(geodec__session_rows(&s->adjugate_up_row, places, c->d_ff_adjugate, err));
        }
        GEODEC_NEW_EACH(c->n_expert, s->expert_end, s->needed);
    }
done:
    return st;
}

static geodec_status new_workers(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t mixed = geodec__max((int64_t)c->n_head * s->attend_dim, geodec__recurrent_widest(s->model)),
                  inner = geodec__max(dense_width(c), small_width(c)),
                  widest = geodec__max(geodec__max(c->d_model, geodec__max(expert_width(c), inner)), mixed);
    const int threads = geodec_pool_threads(s->pool);
    GEODEC_NEW(s->worker, threads);
    s->n_workers = threads;
    for (int i = 0; i < threads; i++) {
        geodec__worker *w = &s->worker[i];
        GEODEC_NEW(w->weights, geodec__product_scratch(widest));
        if (threads == 1) continue;
        GEODEC_NEW(w->job, geodec__max(GEODEC__JOBS, c->n_expert));
        GEODEC_NEW(w->expert_end, geodec__max(1, c->n_expert));
    }
done:
    return st;
}

/* Slots for the inputs of one dispatch: query, key and value may need three roundings, gate and up two. */
static geodec_status new_product(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t n = s->max_batch, places = n * geodec__max(1, c->n_expert_used), d = geodec__pad(c->d_model);
    GEODEC_TRY(geodec__prepare_of(s->model, s->arithmetic, GEODEC__PREPARE_PANELS, &s->prepared, err));
    const int64_t slots = s->model->streamed ? geodec__streamed_widest(s->model->streamed) : 0;
    const int64_t widest = geodec__max(geodec__prepare_widest(s->prepared), slots);
    if (geodec__prepare_empty(s->prepared) && slots == 0) {
        s->prepared = NULL;
    } else {
        s->product = geodec__product_of(geodec__products_for(s->kernels->isa), s->arithmetic);
        s->made_bytes = s->product->block_bytes;
        for (int i = 0; i < s->n_workers; i++) GEODEC_NEW(s->worker[i].panel, widest);
    }
    if (s->kernels->gemm) s->made_bytes = geodec__max(s->made_bytes, 32 * (int64_t)sizeof(float));
    const int64_t mixed = geodec__max(c->n_head * s->attend_dim, geodec__recurrent_widest(s->model)),
                  inner = geodec__max(dense_width(c), small_width(c)),
                  wide = geodec__max(geodec__pad(inner), geodec__pad(mixed));
    const int64_t inputs =
        geodec__max(geodec__max(3 * n, 2 * places) * d, geodec__max(places * geodec__pad(expert_width(c)), n * wide));
    s->made_size = (inputs + 31) / 32;
    GEODEC_NEW(s->made, geodec__max(1, s->made_size * s->made_bytes));
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
    if (!m->streamed && m->layer && o->arithmetic != GEODEC_INTEGER) GEODEC_TRY(geodec__model_resident(m, err));
    if (o->n_ctx < 0 || o->n_ctx > MAX_SESSION_CONTEXT)
        GEODEC_THROW(GEODEC_RANGE, "a context of %d tokens is outside 1 to %d", o->n_ctx, MAX_SESSION_CONTEXT);
    if (o->max_batch < 0 || o->max_batch > MAX_BATCH)
        GEODEC_THROW(GEODEC_RANGE, "a batch of %d rows is outside 1 to %d", o->max_batch, MAX_BATCH);
    if (o->max_pass < 0 || o->max_pass > MAX_SESSION_CONTEXT)
        GEODEC_THROW(GEODEC_RANGE, "a pass of %d rows is outside 1 to %d", o->max_pass, MAX_SESSION_CONTEXT);
    if (o->back < 0) GEODEC_THROW(GEODEC_RANGE, "a return of %d tokens", o->back);
    if (o->n_blocks < 0 || o->n_blocks > c->n_layer)
        GEODEC_THROW(GEODEC_RANGE, "%d blocks are more than the model's %d", o->n_blocks, c->n_layer);
    const int32_t n_ctx = o->n_ctx ? o->n_ctx : c->n_ctx;
    if (m->positions.data && n_ctx > m->positions.rows)
        GEODEC_THROW(GEODEC_RANGE, "a context of %d tokens is longer than the %lld learned positions", n_ctx,
                     (long long)m->positions.rows);
    GEODEC_NEW(s, 1);
    s->model = m;
    s->n_blocks = o->n_blocks ? o->n_blocks : c->n_layer;
    s->pool = o->pool;
    s->arithmetic = m->layer ? o->arithmetic : GEODEC_INTEGER;
    s->kv = o->kv;
    s->n_ctx = o->n_ctx ? o->n_ctx : c->n_ctx;
    s->max_batch = o->max_batch ? o->max_batch : DEFAULT_BATCH;
    s->max_pass = (int32_t)geodec__max(o->max_pass, s->max_batch);
    s->back = (int32_t)geodec__max(o->back ? o->back : DEFAULT_BACK, s->max_batch);
    if (s->arithmetic != GEODEC_INTEGER && o->scores)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "scores by %s need integer arithmetic, not %s", o->scores->name,
                     geodec_arithmetic_name(s->arithmetic));
    if (s->arithmetic == GEODEC_INTEGER) {
        GEODEC_TRY(geodec__integer_session_open(s, o, err));
        GEODEC_MOVE(*out, s);
        goto done;
    }
    s->kernels = geodec__kernels_for(o->isa);
    if (!s->kernels)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "this processor has no %s instructions", geodec_kernels_isa_name(o->isa));
    GEODEC_TRY(geodec__cache_create(s, err));
    s->attend_dim = geodec__max(c->head_dim, s->cache.widest);
    GEODEC_TRY(geodec__rope_create(s, err));
    GEODEC_TRY(new_activations(s, err));
    GEODEC_TRY(new_workers(s, err));
    GEODEC_TRY(geodec__recurrence_create(s, err));
    GEODEC_TRY(geodec__recurrent_create(s, err));
    if (s->n_workers > 1 && !m->streamed && !s->recur) s->team_rows = geodec__team_rows(m);
    GEODEC_TRY(geodec__attention_create(s, err));
    GEODEC_TRY(geodec__prepare_of(m, s->arithmetic, GEODEC__PREPARE_COPIES, &s->copies, err));
    if (s->kernels->columns && !m->streamed)
        GEODEC_TRY(geodec__prepare_of(m, GEODEC_EXACT, GEODEC__PREPARE_COLUMNS, &s->columns, err));
    GEODEC_TRY(new_product(s, err));
    GEODEC_TRY(geodec__attnres_create(s, &o->attnres, err));
    if (m->streamed) GEODEC_TRY(geodec__streamed_open(s, err));
    *out = s;
    s = NULL;
done:
    geodec_session_destroy(s);
    return st;
}

void geodec_session_destroy(geodec_session *s)
{
    if (!s) return;
    if (s->arithmetic == GEODEC_INTEGER) {
        geodec__integer_session_close(s);
        return;
    }
    geodec__streamed_leave(s);
    geodec__recurrence_destroy(s);
    geodec__recurrent_destroy(s);
    geodec__cache_destroy(s);
    GEODEC_FREE(s->x_row, s->norm_row, s->query_row, s->key_row, s->value_row, s->mixed_row, s->gate_row, s->up_row,
                s->down_row, s->dense_gate_row, s->dense_up_row, s->shared_row, s->router_row, s->low_row,
                s->update_row, s->wide_row, s->both_row, s->decay_row, s->gating_row, s->inputs_row, s->inner_row,
                s->own_row, s->entry_row, s->place_weight, s->output, s->cosine, s->sine, s->expert_weight,
                s->rope_step, s->input, s->want, s->parent, s->depth, s->job, s->made, s->expert_id, s->assigned,
                s->expert_end, s->needed, s->adjugate_id, s->adjugate_weight, s->adjugate_gate_row, s->adjugate_up_row);
    for (int i = 0; i < s->n_workers; i++)
        GEODEC_FREE(s->worker[i].weights, s->worker[i].panel, s->worker[i].job, s->worker[i].expert_end);
    geodec__attention_destroy(s);
    geodec__attnres_destroy(s->attnres);
    geodec__rewrite_destroy(s->rewrite);
    geodec__streamed_unforeseen(s);
    geodec__streamed_price_destroy(s);
    geodec__resident_price_destroy(s);
    GEODEC_FREE(s->worker, s);
}

/* Rows are counted without the padding that keeps them apart, and with what each thread needs for a product. */
int64_t geodec__session_bytes(const geodec_session *s)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t n = s->max_batch, k = geodec__max(1, c->n_expert_used), q = (int64_t)c->n_head * s->attend_dim;
    const int64_t kv = s->cache.k_width + s->cache.v_width;
    const int64_t hidden = 2 * ((int64_t)c->d_ff + c->d_ff_adjugate); /* gate and up */
    const int64_t row = 2 * (int64_t)c->d_model + geodec__streams_width(s->model) + 2 * q + kv +
                        k * (hidden + c->d_model) + c->n_expert;
    const int64_t angles = (int64_t)c->rope_dim * s->rope_rows * (c->rope_base_local > 0 ? 2 : 1);
    const int64_t routes = 2 * k * c->n_layer;
    return s->cache.bytes + geodec_session_recurrence_bytes(s).most + geodec__recurrent_bytes(s) +
           (n * (row + routes) + angles) * (int64_t)sizeof(float) + s->made_size * s->made_bytes;
}

/* ---- accessors --------------------------------------------------------------------------------------------------- */

void geodec_session_watch(geodec_session *s, geodec_watch fn, void *ctx)
{
    s->watch = fn;
    s->watch_ctx = ctx;
}

geodec_status geodec_session_watch_updates(geodec_session *s, geodec_watch_update fn, void *ctx, geodec_err *err)
{
    if (fn && s->model->config.n_streams > 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "a residual of several streams is not observed by halves of a layer");
    if (fn && !s->update_row)
        GEODEC_PASS(geodec__session_rows(&s->update_row, s->max_batch, s->model->config.d_model, err));
    s->watch_update = fn;
    s->watch_update_ctx = ctx;
    return GEODEC_OK;
}

const geodec_model *geodec_session_model(const geodec_session *s) { return s->model; }
int32_t geodec_session_n_ctx(const geodec_session *s) { return s->n_ctx; }
geodec_isa geodec_session_isa(const geodec_session *s)
{
    return s->engine ? geodec_engine_isa(s->engine) : s->kernels->isa;
}
geodec_arithmetic geodec_session_arithmetic(const geodec_session *s) { return s->arithmetic; }
geodec_kv_type geodec_session_kv(const geodec_session *s) { return s->kv; }
const geodec_attnres *geodec_session_attnres(const geodec_session *s) { return geodec__attnres_how(s->attnres); }
int32_t geodec_session_length(const geodec_session *s) { return s->length; }
geodec_counters geodec_session_counters(const geodec_session *s) { return s->counters; }
const int32_t *geodec_session_expert_ids(const geodec_session *s)
{
    return s->engine ? geodec_engine_expert_ids(s->engine) : s->expert_id;
}
const float *geodec_session_expert_weights(const geodec_session *s) { return s->expert_weight; }
