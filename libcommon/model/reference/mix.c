/* The attention half of a block: x += [N] (Wo attention(R [N] (Wq z + b), R [N] (Wk z + b), Wv z + b) + b), z = N(x).
 */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <math.h>
#include <string.h>

static void add_bias(int64_t n, int64_t width, const float *bias, double *y)
{
    for (int64_t t = 0; bias && t < n; t++)
        for (int64_t i = 0; i < width; i++) y[t * width + i] += (double)bias[i];
}

geodec__ref_attention geodec__reference_attention_of(const geodec__ref_tape *t, const geodec__layer *l)
{
    const geodec_model_config *c = &t->r->model->config;
    return (geodec__ref_attention){.n = t->n,
                                   .first = t->first,
                                   .n_head = c->n_head,
                                   .n_kv_head = c->n_kv_head,
                                   .head_dim = c->head_dim,
                                   .window = l->window,
                                   .scale = c->attn_scale != 0 ? c->attn_scale : 1 / sqrt((double)c->head_dim),
                                   .cap = (double)c->attn_softcap,
                                   .q = t->q,
                                   .k = t->k,
                                   .v = t->v};
}

/* The norm, if there is one; before [n][width] receives its argument. */
static void norm_heads(const geodec__ref_tape *t, const geodec__norm *norm, double *before, double *y)
{
    if (!norm->weight) return;
    memcpy(before, y, (size_t)(t->n * norm->width) * sizeof *y);
    geodec__reference_norm(t->n, norm, y, y);
}

/* y = R [N] (W z + bias), or [N] R (W z + bias). */
static geodec_status project(const geodec__ref_tape *t, const geodec__layer *l, const geodec__matrix *w,
                             const float *bias, const geodec__norm *norm, int64_t heads, double *before, double *y,
                             geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    GEODEC_PASS(geodec__reference_product(t->r->pool, w, t->n, t->z, y, err));
    add_bias(t->n, w->rows, bias, y);
    if (!c->qk_norm_rotated) norm_heads(t, norm, before, y);
    geodec__reference_rotate(c, &t->angles[l->rope], 0, 1, heads, false, y);
    if (c->qk_norm_rotated) norm_heads(t, norm, before, y);
    return GEODEC_OK;
}

geodec_status geodec__reference_mix(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n, d = c->d_model;
    memcpy(t->x, x, (size_t)(n * d) * sizeof *x);
    geodec__reference_norm(n, &l->attn_norm, x, t->z);
    GEODEC_PASS(project(t, l, &l->q, l->q_bias, &l->q_norm, c->n_head, t->q0, t->q, err));
    GEODEC_PASS(project(t, l, &l->k, l->k_bias, &l->k_norm, c->n_kv_head, t->k0, t->k, err));
    GEODEC_PASS(geodec__reference_product(t->r->pool, &l->v, n, t->z, t->v, err));
    add_bias(n, l->v.rows, l->v_bias, t->v);
    const geodec__ref_attention a = geodec__reference_attention_of(t, l);
    GEODEC_PASS(geodec__reference_attend(t->r->pool, &a, t->mixed, err));
    GEODEC_PASS(geodec__reference_product(t->r->pool, &l->o, n, t->mixed, t->attn_out, err));
    add_bias(n, d, l->o_bias, t->attn_out);
    geodec__reference_scale(t, n * d, t->attn_out);
    if (l->attn_post_norm.weight) { /* z is free: the feed-forward half writes its own */
        geodec__reference_norm(n, &l->attn_post_norm, t->attn_out, t->z);
        geodec__reference_add(n * d, t->z, x);
    } else {
        geodec__reference_add(n * d, t->attn_out, x);
    }
    return GEODEC_OK;
}

static geodec_status project_jvp(const geodec__ref_tape *t, const geodec__layer *l, const geodec__matrix *w,
                                 const geodec__norm *norm, int64_t heads, const double *before, int64_t k,
                                 const double *dz, double *dy, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first;
    GEODEC_PASS(geodec__reference_product(t->r->pool, w, k * n, dz, dy, err));
    if (c->qk_norm_rotated) geodec__reference_rotate(c, &t->angles[l->rope], t->first, k, heads, false, dy);
    if (norm->weight) geodec__reference_norm_jvp(n, norm, before + t->first * w->rows, k, dy, dy);
    if (!c->qk_norm_rotated) geodec__reference_rotate(c, &t->angles[l->rope], t->first, k, heads, false, dy);
    return GEODEC_OK;
}

geodec_status geodec__reference_mix_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first, d = c->d_model;
    const int64_t size[] = {k * n * d, k * n * l->q.rows, k * n * l->k.rows, k * n * l->v.rows, k * n * l->q.rows};
    double *buffer[5] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(5, size, buffer, err));
    double *dz = buffer[0], *dq = buffer[1], *dk = buffer[2], *dv = buffer[3], *d_o = buffer[4];
    geodec__reference_norm_jvp(n, &l->attn_norm, t->x + t->first * d, k, dx, dz);
    GEODEC_TRY(project_jvp(t, l, &l->q, &l->q_norm, c->n_head, t->q0, k, dz, dq, err));
    GEODEC_TRY(project_jvp(t, l, &l->k, &l->k_norm, c->n_kv_head, t->k0, k, dz, dk, err));
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->v, k * n, dz, dv, err));
    const geodec__ref_attention a = geodec__reference_attention_of(t, l);
    GEODEC_TRY(geodec__reference_attend_jvp(t->r->pool, &a, k, dq, dk, dv, d_o, err));
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->o, k * n, d_o, dz, err));
    geodec__reference_scale(t, k * n * d, dz);
    if (l->attn_post_norm.weight)
        geodec__reference_norm_jvp(n, &l->attn_post_norm, t->attn_out + t->first * d, k, dz, dz);
    geodec__reference_add(k * n * d, dz, dx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_project_vjp(const geodec__ref_tape *t, const geodec__layer *l, const geodec__matrix *w,
                                            const geodec__norm *norm, int64_t heads, const double *before, int64_t k,
                                            double *gy, double *scratch, double *gz, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first;
    if (!c->qk_norm_rotated) geodec__reference_rotate(c, &t->angles[l->rope], t->first, k, heads, true, gy);
    if (norm->weight) geodec__reference_norm_vjp(n, norm, before + t->first * w->rows, k, gy, gy);
    if (c->qk_norm_rotated) geodec__reference_rotate(c, &t->angles[l->rope], t->first, k, heads, true, gy);
    GEODEC_PASS(geodec__reference_product_vjp(t->r->pool, w, k * n, gy, scratch, err));
    geodec__reference_add(k * n * c->d_model, scratch, gz);
    return GEODEC_OK;
}

geodec_status geodec__reference_mix_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first, d = c->d_model;
    const int64_t size[] = {k * n * d,         k * n * d,         k * n * l->q.rows,
                            k * n * l->q.rows, k * n * l->k.rows, k * n * l->v.rows};
    double *buffer[6] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(6, size, buffer, err));
    double *gz = buffer[0], *part = buffer[1], *go = buffer[2], *gq = buffer[3], *gk = buffer[4], *gv = buffer[5];
    memcpy(part, gx, (size_t)(k * n * d) * sizeof *part);
    if (l->attn_post_norm.weight)
        geodec__reference_norm_vjp(n, &l->attn_post_norm, t->attn_out + t->first * d, k, gx, part);
    geodec__reference_scale(t, k * n * d, part);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->o, k * n, part, go, err));
    const geodec__ref_attention a = geodec__reference_attention_of(t, l);
    GEODEC_TRY(geodec__reference_attend_vjp(t->r->pool, &a, k, go, gq, gk, gv, err));
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->v, k * n, gv, gz, err));
    GEODEC_TRY(geodec__reference_project_vjp(t, l, &l->q, &l->q_norm, c->n_head, t->q0, k, gq, part, gz, err));
    GEODEC_TRY(geodec__reference_project_vjp(t, l, &l->k, &l->k_norm, c->n_kv_head, t->k0, k, gk, part, gz, err));
    geodec__reference_norm_vjp(n, &l->attn_norm, t->x + t->first * d, k, gz, gz);
    geodec__reference_add(k * n * d, gz, gx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}
