#include "train/layout.h"

#include "base/mem.h"
#include "recurrence/recurrence.h"
#include "session/arch_internal.h"

#include <stdarg.h>
#include <stdio.h>

enum { PER_LAYER = 16, MAX_DIM = 1 << 20, MAX_LAYERS = 1024 };
static const int64_t MAX_TOTAL = (int64_t)1 << 31;

static geodec_status check(const geodec_model_config *c, geodec_err *err)
{
    const struct {
        const char *name;
        int64_t value, min, max;
    } dims[] = {
        {"layers", c->n_layer, 1, MAX_LAYERS},
        {"d_model", c->d_model, 1, MAX_DIM},
        {"heads", c->n_head, 1, 1 << 14},
        {"KV heads", c->n_kv_head, 1, 1 << 14},
        {"head_dim", c->head_dim, 2, 1 << 14},
        {"rope_dim", c->rope_dim, 0, c->head_dim},
        {"d_ff", c->d_ff, 1, MAX_DIM},
        {"vocabulary", c->n_vocab, 2, MAX_DIM},
        {"context", c->n_ctx, 1, MAX_DIM},
        {"experts", c->n_expert, 0, 1 << 12},
        {"experts used", c->n_expert_used, c->n_expert ? 1 : 0, c->n_expert},
        {"rank", c->recur_rank, 0, c->recur_period ? GEODEC_RECURRENCE_RANK : 0},
        {"period", c->recur_period, 0, MAX_LAYERS},
        {"window", c->window, 0, c->recur_period ? MAX_DIM : 0},
        {"dense d_ff", c->d_ff_dense, c->recur_period && c->n_expert ? 1 : 0, c->recur_period ? MAX_DIM : 0},
    };
    for (size_t i = 0; i < sizeof dims / sizeof dims[0]; i++)
        if (dims[i].value < dims[i].min || dims[i].value > dims[i].max)
            GEODEC_FAIL(GEODEC_RANGE, "%s = %lld is outside %lld to %lld", dims[i].name, (long long)dims[i].value,
                        (long long)dims[i].min, (long long)dims[i].max);
    if (c->n_head % c->n_kv_head)
        GEODEC_FAIL(GEODEC_INVAL, "%d heads cannot share %d KV heads evenly", c->n_head, c->n_kv_head);
    if (c->recur_period && c->n_expert_used > 1)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%d experts used; models with recurrences are trained with one",
                    c->n_expert_used);
    if (c->rope_dim % 2) GEODEC_FAIL(GEODEC_INVAL, "rope dimension %d is odd", c->rope_dim);
    if (!(c->rms_eps >= 0) || !(c->rope_base > 0)) GEODEC_FAIL(GEODEC_INVAL, "rms_eps or rope_base is out of range");
    return GEODEC_OK;
}

typedef struct builder {
    geodec_layout *l;
    bool overflow;
} builder;

/* Appends a tensor [d0, d1, d2] (0 = no such dimension) and returns its offset. */
static int64_t add(builder *b, geodec_param_role role, int64_t d0, int64_t d1, int64_t d2, const char *fmt, ...)
    GEODEC_PRINTF(6, 7);
static int64_t add(builder *b, geodec_param_role role, int64_t d0, int64_t d1, int64_t d2, const char *fmt, ...)
{
    geodec_layout *l = b->l;
    geodec_param *p = &l->param[l->n_params++];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(p->name, sizeof p->name, fmt, ap);
    va_end(ap);
    p->n_dims = d2 ? 3 : d1 ? 2 : 1;
    p->dim[0] = d0;
    p->dim[1] = d1 ? d1 : 1;
    p->dim[2] = d2 ? d2 : 1;
    p->role = role;
    p->offset = l->total;
    int64_t plane = 0;
    if (geodec_mem_mul(p->dim[0], p->dim[1], &plane) || geodec_mem_mul(plane, p->dim[2], &p->size) ||
        p->size > MAX_TOTAL - l->total) {
        b->overflow = true;
        p->size = 0;
    }
    l->total += p->size;
    return p->offset;
}

static void lay_recurrence(builder *b, int i)
{
    geodec_layer_offsets *o = &b->l->layer[i];
    const int64_t d = b->l->config.d_model, r = b->l->config.recur_rank;
    o->recur = add(b, GEODEC_PARAM_MATRIX, d, d, 0, "blk.%d.recur_decay.weight", i);
    (void)add(b, GEODEC_PARAM_MATRIX, d, d, 0, "blk.%d.recur_v.weight", i);
    (void)add(b, GEODEC_PARAM_MATRIX, d, r, 0, "blk.%d.recur_q.weight", i);
    (void)add(b, GEODEC_PARAM_MATRIX, d, r, 0, "blk.%d.recur_k.weight", i);
    o->recur_bias = add(b, GEODEC_PARAM_BIAS, d, 0, 0, "blk.%d.recur_decay.bias", i);
    o->recur_norm = add(b, GEODEC_PARAM_NORM, d, 0, 0, "blk.%d.recur_norm.weight", i);
    o->recur_output = add(b, GEODEC_PARAM_RESIDUAL, d, d, 0, "blk.%d.recur_output.weight", i);
}

static void lay_router(builder *b, int i)
{
    const geodec_model_config *c = &b->l->config;
    geodec_layer_offsets *o = &b->l->layer[i];
    if (c->route == GEODEC_ROUTE_SCORES) {
        o->router = add(b, GEODEC_PARAM_MATRIX, c->d_model, c->n_expert, 0, "blk.%d.ffn_gate_inp.weight", i);
        return;
    }
    const int64_t rows = geodec_torus_rows(c->route == GEODEC_ROUTE_ANGLE ? GEODEC_TORUS_ANGLE : GEODEC_TORUS_MOD);
    o->router = add(b, GEODEC_PARAM_ROUTER, c->d_model, rows, 0, "blk.%d.ffn_gate_inp.weight", i);
    o->router_bias = add(b, GEODEC_PARAM_BIAS, rows, 0, 0, "blk.%d.ffn_gate_inp.bias", i);
    o->place = add(b, GEODEC_PARAM_FIXED, GEODEC_TORUS_AXES, c->n_expert, 0, "blk.%d.ffn_expert_place.weight", i);
}

static void lay_feed_forward(builder *b, int i)
{
    const geodec_model_config *c = &b->l->config;
    geodec_layer_offsets *o = &b->l->layer[i];
    const int64_t d = c->d_model;
    o->ffn_norm = add(b, GEODEC_PARAM_NORM, d, 0, 0, "blk.%d.ffn_norm.weight", i);
    if (c->n_expert && (c->recur_period == 0 || geodec__recurs(c, i))) {
        lay_router(b, i);
        o->gate = add(b, GEODEC_PARAM_MATRIX, d, c->d_ff, c->n_expert, "blk.%d.ffn_gate_exps.weight", i);
        o->up = add(b, GEODEC_PARAM_MATRIX, d, c->d_ff, c->n_expert, "blk.%d.ffn_up_exps.weight", i);
        o->down = add(b, GEODEC_PARAM_RESIDUAL, c->d_ff, d, c->n_expert, "blk.%d.ffn_down_exps.weight", i);
    } else {
        if (c->recur_period > 0 && c->n_expert > 0) o->ff = c->d_ff_dense;
        o->gate = add(b, GEODEC_PARAM_MATRIX, d, o->ff, 0, "blk.%d.ffn_gate.weight", i);
        o->up = add(b, GEODEC_PARAM_MATRIX, d, o->ff, 0, "blk.%d.ffn_up.weight", i);
        o->down = add(b, GEODEC_PARAM_RESIDUAL, o->ff, d, 0, "blk.%d.ffn_down.weight", i);
    }
}

static void lay_layer(builder *b, int i)
{
    const geodec_model_config *c = &b->l->config;
    geodec_layer_offsets *o = &b->l->layer[i];
    const int64_t d = c->d_model, q = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim;
    *o = (geodec_layer_offsets){.recur = -1, .router = -1, .router_bias = -1, .place = -1, .ff = c->d_ff};
    o->attn_norm = add(b, GEODEC_PARAM_NORM, d, 0, 0, "blk.%d.attn_norm.weight", i);
    if (c->recur_rank > 0 && geodec__recurs(c, i)) {
        lay_recurrence(b, i);
        lay_feed_forward(b, i);
        return;
    }
    o->qkv = add(b, GEODEC_PARAM_MATRIX, d, q, 0, "blk.%d.attn_q.weight", i);
    (void)add(b, GEODEC_PARAM_MATRIX, d, kv, 0, "blk.%d.attn_k.weight", i);
    (void)add(b, GEODEC_PARAM_MATRIX, d, kv, 0, "blk.%d.attn_v.weight", i);
    o->attn_output = add(b, GEODEC_PARAM_RESIDUAL, q, d, 0, "blk.%d.attn_output.weight", i);
    lay_feed_forward(b, i);
}

geodec_status geodec_layout_create(const geodec_model_config *c, geodec_layout **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_layout *l = NULL;
    GEODEC_TRY(check(c, err));
    GEODEC_NEW(l, 1);
    l->config = *c;
    GEODEC_NEW(l->layer, c->n_layer);
    GEODEC_NEW(l->param, PER_LAYER * (int64_t)c->n_layer + 3);
    builder b = {.l = l};
    l->token_embd = add(&b, GEODEC_PARAM_EMBED, c->d_model, c->n_vocab, 0, "token_embd.weight");
    for (int i = 0; i < c->n_layer; i++) lay_layer(&b, i);
    l->output_norm = add(&b, GEODEC_PARAM_NORM, c->d_model, 0, 0, "output_norm.weight");
    l->output = c->tied ? l->token_embd : add(&b, GEODEC_PARAM_EMBED, c->d_model, c->n_vocab, 0, "output.weight");
    if (b.overflow) GEODEC_THROW(GEODEC_LIMIT, "a model of this shape has more than 2^31 parameters");
    GEODEC_MOVE(*out, l);
done:
    geodec_layout_destroy(l);
    return st;
}

void geodec_layout_destroy(geodec_layout *l)
{
    if (!l) return;
    GEODEC_FREE(l->param, l->layer, l);
}
