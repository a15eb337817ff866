#include "base/extremes_internal.h"
#include "base/mem.h"
#include "reference/recurrent_internal.h"

#include <string.h>

void geodec__reference_add(int64_t n, const double *src, double *dst)
{
    for (int64_t i = 0; i < n; i++) dst[i] += src[i];
}

void geodec__reference_scale(const geodec__ref_tape *t, int64_t n, double *x)
{
    const double scale = (double)t->r->model->config.residual_scale;
    for (int64_t i = 0; scale != 0 && i < n; i++) x[i] *= scale;
}

geodec_status geodec__reference_scratch(int count, const int64_t *size, double **out, geodec_err *err)
{
    enum { LINE = 8 }; /* values of a cache line */
    geodec_status st = GEODEC_OK;
    int64_t total = 0;
    for (int i = 0; i < count; i++) total += (size[i] + LINE - 1) / LINE * LINE;
    GEODEC_NEW(out[0], total);
    for (int i = 1; i < count; i++) out[i] = out[i - 1] + (size[i - 1] + LINE - 1) / LINE * LINE;
done:
    return st;
}

void geodec__reference_bias(int64_t n, int64_t width, const float *bias, double *y)
{
    for (int64_t t = 0; bias && t < n; t++)
        for (int64_t i = 0; i < width; i++) y[t * width + i] += (double)bias[i];
}

geodec__ref_activation geodec__reference_activation(const geodec__ref_tape *t, const geodec__layer *l)
{
    return (geodec__ref_activation){
        .kind = t->r->model->config.activation, .constant = l->xielu, .limit = (double)l->limit};
}

/* ---- entry of a half --------------------------------------------------------------------------------------------- */

static void copy(int64_t n, const double *x, double *y)
{
    if (y != x) memcpy(y, x, (size_t)n * sizeof *x);
}

void geodec__reference_enter(int64_t n, int64_t d, const geodec__norm *norm, const double *x, double *z)
{
    if (norm->weight)
        geodec__reference_norm(n, norm, x, z);
    else
        copy(n * d, x, z);
}

void geodec__reference_enter_jvp(int64_t n, int64_t d, const geodec__norm *norm, const double *x, int64_t k,
                                 const double *dx, double *dz)
{
    if (norm->weight)
        geodec__reference_norm_jvp(n, norm, x, k, dx, dz);
    else
        copy(k * n * d, dx, dz);
}

void geodec__reference_enter_vjp(int64_t n, int64_t d, const geodec__norm *norm, const double *x, int64_t k,
                                 const double *gz, double *gx)
{
    if (norm->weight)
        geodec__reference_norm_vjp(n, norm, x, k, gz, gx);
    else
        copy(k * n * d, gz, gx);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

/* Parts that some layer of this model has, and its widest rows. */
typedef struct parts {
    bool qk_norm, v_norm, laurel, experts, local_rope, mixed_norm, hidden_norm, expert_input, router_norm;
    int64_t gate_rows, query, key; /* numbers of the widest rows */
} parts;

static parts parts_of(const geodec_model *m)
{
    parts p = {.expert_input = m->config.weighed_input};
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        p.qk_norm = p.qk_norm || l->q_norm.weight || l->k_norm.weight;
        p.v_norm = p.v_norm || l->v_norm.weight;
        p.laurel = p.laurel || l->laurel_in.data;
        p.experts = p.experts || l->router.data;
        p.local_rope = p.local_rope || l->rope == 1;
        p.mixed_norm = p.mixed_norm || l->mixed_norm.weight;
        p.hidden_norm = p.hidden_norm || l->hidden_norm.weight;
        p.expert_input = p.expert_input || l->expert_norm.weight;
        p.router_norm = p.router_norm || l->router_norm.weight;
        p.query = geodec__max(p.query, (int64_t)l->n_head * l->head_dim);
        p.key = geodec__max(p.key, (int64_t)l->n_kv_head * l->head_dim);
        p.gate_rows = geodec__max(p.gate_rows, geodec__reference_gate_rows(l));
    }
    return p;
}

geodec_status geodec__reference_tape_create(const geodec_reference *r, int64_t n, int64_t first, geodec__ref_tape *out,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    const parts p = parts_of(r->model);
    const int64_t d = c->d_model, q = p.query, kv = p.key;
    const int64_t used = p.experts ? c->n_expert_used : 1;
    geodec__ref_tape t = {.r = r, .n = n, .first = first};
#define BUFFER(member, count)                                                                                          \
    do {                                                                                                               \
        if (t.n_all == GEODEC__REF_BUFFERS) GEODEC_THROW(GEODEC_INTERNAL, "too many buffers");                         \
        GEODEC_NEW(t.member, count);                                                                                   \
        t.all[t.n_all++] = t.member;                                                                                   \
    } while (0)
#define BANK(member, number, of_row, same)                                                                             \
    do {                                                                                                               \
        t.member.count = (number);                                                                                     \
        t.member.used = (of_row);                                                                                      \
        t.member.most = (same);                                                                                        \
        BUFFER(member.weight, n *t.member.used);                                                                       \
        BUFFER(member.id, n *t.member.used);                                                                           \
        BUFFER(member.slot, n *t.member.used);                                                                         \
        BUFFER(member.start, t.member.count + 1);                                                                      \
        BUFFER(member.vary, t.member.count);                                                                           \
        BUFFER(member.owner, n *t.member.used);                                                                        \
        BUFFER(member.out, n *t.member.used *d);                                                                       \
    } while (0)
    GEODEC_TRY(geodec__reference_angles_create(c, 0, r->divisor, n, &t.angles[0], err));
    if (p.local_rope)
        GEODEC_TRY(
            geodec__reference_angles_create(c, 1, c->rope_local_scaled ? r->divisor : NULL, n, &t.angles[1], err));
    BUFFER(x, n * d);
    BUFFER(z, n * d);
    if (p.qk_norm) {
        BUFFER(q0, n * q);
        BUFFER(k0, n * kv);
    }
    if (p.v_norm) BUFFER(v0, n * kv);
    if (c->qkv_clamp != 0) {
        BUFFER(q_raw, n * q);
        BUFFER(k_raw, n * kv);
        BUFFER(v_raw, n * kv);
    }
    BUFFER(q, n * q);
    BUFFER(k, n * kv);
    BUFFER(v, n * kv);
    BUFFER(mixed, n * q);
    if (p.gate_rows > 0) {
        BUFFER(gating, n * p.gate_rows);
        BUFFER(gated, n * q);
    }
    if (p.mixed_norm) BUFFER(mixed_normed, n * q);
    BUFFER(attn_out, n * d);
    if (c->n_streams > 0) {
        BUFFER(streams_in, c->n_streams * n * d);
        BUFFER(streams_left, c->n_streams * n * d);
        BUFFER(stream_out, n * d);
        BUFFER(modes_in, n * c->n_streams);
        BUFFER(modes_out, n * c->n_streams);
    }
    if (p.laurel) BUFFER(laurel, n * d);
    BUFFER(middle, n * d);
    BUFFER(gate, n * geodec__max(used * c->d_ff, c->d_ff_dense));
    BUFFER(up, n * geodec__max(used * c->d_ff, c->d_ff_dense));
    if (p.hidden_norm) BUFFER(hidden_raw, n * geodec__max(c->d_ff, c->d_ff_dense));
    if (p.expert_input) BUFFER(experts.in, n * d);
    if (p.router_norm) {
        BUFFER(routed, n * d);
        BUFFER(chosen_out, n * d);
        BUFFER(shared_raw, n * d);
    }
    const int64_t wide = geodec__max(used * c->d_ff_adjugate, geodec__max(c->d_ff_dense, c->d_ff_shared));
    BUFFER(hidden, n * geodec__max(c->d_ff, wide));
    BUFFER(ffn_out, n * d);
    if (c->d_inputs > 0) {
        BUFFER(input, n * c->d_inputs);
        BUFFER(input_gate, n * c->d_inputs);
        BUFFER(input_out, n * d);
    }
    if (p.experts) {
        BUFFER(prob, n * c->n_expert);
        BANK(experts, c->n_expert, used, 1);
        t.experts.gate = t.gate;
        t.experts.up = t.up;
    }
    if (p.experts && c->d_ff_adjugate > 0) {
        const int64_t groups = c->n_expert / c->adjugate_group;
        const int64_t chosen = geodec__min(used, groups);
        BANK(adjugate, groups, chosen, geodec__min(chosen, c->adjugate_group));
        BUFFER(adjugate.gate, n * t.adjugate.used * c->d_ff_adjugate);
        BUFFER(adjugate.up, n * t.adjugate.used * c->d_ff_adjugate);
        BUFFER(adjugate.in, n * d);
    }
    if (c->d_ff_shared > 0) {
        BUFFER(shared_gate, n * c->d_ff_shared);
        BUFFER(shared_up, n * c->d_ff_shared);
        BUFFER(shared_out, n * d);
        BUFFER(shared_logit, n);
    }
#undef BANK
#undef BUFFER
    GEODEC_TRY(geodec__reference_recurrent_tape(&t, err));
    GEODEC_TRY(geodec__reference_latent_create(c, n, &t.latent, err));
    GEODEC_MOVE(*out, t);
done:
    geodec__reference_tape_destroy(&t);
    return st;
}

void geodec__reference_tape_destroy(geodec__ref_tape *t)
{
    for (int i = 0; i < t->n_all; i++) geodec_mem_free(t->all[i]);
    for (int i = 0; i < 2; i++) geodec__reference_angles_destroy(&t->angles[i]);
    geodec__reference_recurrent_destroy(t->recurrent);
    geodec__reference_latent_destroy(t->latent);
    *t = (geodec__ref_tape){0};
}
