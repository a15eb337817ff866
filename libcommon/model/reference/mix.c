/* The attention half of a block: x += [N] (Wo gate(attention(q, k, v)) + b), with q, k and v from z = N(x) (project.c,
 * gate.c). */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <math.h>
#include <string.h>

geodec__ref_attention geodec__reference_attention_of(const geodec__ref_tape *t, const geodec__layer *l)
{
    const geodec_model_config *c = &t->r->model->config;
    return (geodec__ref_attention){.n = t->n,
                                   .first = t->first,
                                   .n_head = l->n_head,
                                   .n_kv_head = l->n_kv_head,
                                   .head_dim = l->head_dim,
                                   .window = l->window,
                                   .chunks = c->chunks,
                                   .scale = c->attn_scale != 0 ? c->attn_scale : 1 / sqrt((double)l->head_dim),
                                   .cap = (double)c->attn_softcap,
                                   .alibi = (double)c->alibi,
                                   .sinks = l->sinks,
                                   .q = t->q,
                                   .k = t->k,
                                   .v = t->v};
}

/* The factors of what attention adds. */
static void scale(const geodec__ref_tape *t, int64_t n, double *y)
{
    const double factor = (double)t->r->model->config.value_scale;
    for (int64_t i = 0; factor != 0 && i < n; i++) y[i] *= factor;
    geodec__reference_scale(t, n, y);
}

static int32_t index_of(const geodec__ref_tape *t, const geodec__layer *l) { return (int32_t)(l - t->r->model->layer); }

/* Numbers of the keys of a row, and of the values. */
static int64_t key_width(const geodec__layer *l) { return (int64_t)l->n_kv_head * l->head_dim; }

/* Keys and values: of the block, and for later ones if they read them, or of an earlier one. */
static geodec_status keys(geodec__ref_tape *t, const geodec__layer *l, geodec_err *err)
{
    const int32_t index = index_of(t, l);
    const size_t bytes = (size_t)(t->n * key_width(l)) * sizeof *t->k;
    const geodec__ref_beside *b = t->value;
    if (l->kv_layer != index) {
        memcpy(t->k, b->k[l->kv_layer], bytes);
        memcpy(t->v, b->v[l->kv_layer], bytes);
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec__reference_project(t, l, GEODEC__REF_KEY, err));
    GEODEC_PASS(geodec__reference_project(t, l, GEODEC__REF_VALUE, err));
    if (!b || !b->k[index] || b->complete) return GEODEC_OK;
    memcpy(b->k[index], t->k, bytes);
    memcpy(b->v[index], t->v, bytes);
    return GEODEC_OK;
}

static geodec_status keys_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *dz,
                              double *dk, double *dv, geodec_err *err)
{
    const int32_t index = index_of(t, l);
    const size_t bytes = (size_t)(k * (t->n - t->first) * key_width(l)) * sizeof *dk;
    const geodec__ref_beside *b = t->change;
    if (l->kv_layer != index) {
        memcpy(dk, b->k[l->kv_layer], bytes);
        memcpy(dv, b->v[l->kv_layer], bytes);
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec__reference_project_jvp(t, l, GEODEC__REF_KEY, k, dz, dk, err));
    GEODEC_PASS(geodec__reference_project_jvp(t, l, GEODEC__REF_VALUE, k, dz, dv, err));
    if (!b->k[index]) return GEODEC_OK;
    memcpy(b->k[index], dk, bytes);
    memcpy(b->v[index], dv, bytes);
    return GEODEC_OK;
}

/* gk and gv may be overwritten; part is scratch. */
static geodec_status keys_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gk, double *gv,
                              double *part, double *gz, geodec_err *err)
{
    const int32_t index = index_of(t, l);
    const int64_t size = k * (t->n - t->first) * key_width(l);
    const geodec__ref_beside *b = t->change;
    if (l->kv_layer != index) {
        geodec__reference_add(size, gk, b->k[l->kv_layer]);
        geodec__reference_add(size, gv, b->v[l->kv_layer]);
        return GEODEC_OK;
    }
    if (b->k[index]) {
        geodec__reference_add(size, b->k[index], gk);
        geodec__reference_add(size, b->v[index], gv);
    }
    GEODEC_PASS(geodec__reference_project_vjp(t, l, GEODEC__REF_VALUE, k, gv, part, gz, err));
    return geodec__reference_project_vjp(t, l, GEODEC__REF_KEY, k, gk, part, gz, err);
}

geodec_status geodec__reference_mix(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    const int64_t n = t->n, d = t->r->model->config.d_model;
    const double *heads;
    memcpy(t->x, x, (size_t)(n * d) * sizeof *x);
    geodec__reference_enter(n, d, &l->attn_norm, x, t->z);
    GEODEC_PASS(geodec__reference_project(t, l, GEODEC__REF_QUERY, err));
    GEODEC_PASS(keys(t, l, err));
    const geodec__ref_attention a = geodec__reference_attention_of(t, l);
    GEODEC_PASS(geodec__reference_attend(t->r->pool, &a, t->mixed, err));
    GEODEC_PASS(geodec__reference_gate(t, l, &heads, err));
    GEODEC_PASS(geodec__reference_product(t->r->pool, &l->o, n, heads, t->attn_out, err));
    geodec__reference_bias(n, d, l->o_bias, t->attn_out);
    scale(t, n * d, t->attn_out);
    if (l->attn_post_norm.weight) { /* z is free: the feed-forward half writes its own */
        geodec__reference_norm(n, &l->attn_post_norm, t->attn_out, t->z);
        geodec__reference_add(n * d, t->z, x);
    } else {
        geodec__reference_add(n * d, t->attn_out, x);
    }
    return GEODEC_OK;
}

geodec_status geodec__reference_mix_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    const int64_t kv = k * n * key_width(l), size[] = {k * n * d, k * n * l->q.rows, kv, kv, k * n * l->q.rows};
    double *buffer[5] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(5, size, buffer, err));
    double *dz = buffer[0], *dq = buffer[1], *dk = buffer[2], *dv = buffer[3], *d_o = buffer[4];
    geodec__reference_enter_jvp(n, d, &l->attn_norm, t->x + t->first * d, k, dx, dz);
    GEODEC_TRY(geodec__reference_project_jvp(t, l, GEODEC__REF_QUERY, k, dz, dq, err));
    GEODEC_TRY(keys_jvp(t, l, k, dz, dk, dv, err));
    const geodec__ref_attention a = geodec__reference_attention_of(t, l);
    GEODEC_TRY(geodec__reference_attend_jvp(t->r->pool, &a, k, dq, dk, dv, d_o, err));
    GEODEC_TRY(geodec__reference_gate_jvp(t, l, k, dz, d_o, err));
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->o, k * n, d_o, dz, err));
    scale(t, k * n * d, dz);
    if (l->attn_post_norm.weight)
        geodec__reference_norm_jvp(n, &l->attn_post_norm, t->attn_out + t->first * d, k, dz, dz);
    geodec__reference_add(k * n * d, dz, dx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_mix_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    const int64_t q = k * n * l->q.rows, kv = k * n * key_width(l), size[] = {k * n * d, k * n * d, q, q, kv, kv};
    double *buffer[6] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(6, size, buffer, err));
    double *gz = buffer[0], *part = buffer[1], *go = buffer[2], *gq = buffer[3], *gk = buffer[4], *gv = buffer[5];
    memcpy(part, gx, (size_t)(k * n * d) * sizeof *part);
    if (l->attn_post_norm.weight)
        geodec__reference_norm_vjp(n, &l->attn_post_norm, t->attn_out + t->first * d, k, gx, part);
    scale(t, k * n * d, part);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->o, k * n, part, go, err));
    GEODEC_TRY(geodec__reference_gate_vjp(t, l, k, go, part, gz, err));
    const geodec__ref_attention a = geodec__reference_attention_of(t, l);
    GEODEC_TRY(geodec__reference_attend_vjp(t->r->pool, &a, k, go, gq, gk, gv, err));
    GEODEC_TRY(geodec__reference_project_vjp(t, l, GEODEC__REF_QUERY, k, gq, part, gz, err));
    GEODEC_TRY(keys_vjp(t, l, k, gk, gv, part, gz, err));
    geodec__reference_enter_vjp(n, d, &l->attn_norm, t->x + t->first * d, k, gz, gz);
    geodec__reference_add(k * n * d, gz, gx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}
