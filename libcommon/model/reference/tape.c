#include "base/extremes_internal.h"
#include "base/mem.h"
#include "reference/recurrent_internal.h"

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

/* Features of the architectures that this model's layers have. */
typedef struct parts {
    bool qk_norm, experts, local_rope;
} parts;

static parts parts_of(const geodec_model *m)
{
    parts p = {0};
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        p.qk_norm = p.qk_norm || m->layer[i].q_norm.weight || m->layer[i].k_norm.weight;
        p.experts = p.experts || m->layer[i].router.data;
        p.local_rope = p.local_rope || m->layer[i].rope == 1;
    }
    return p;
}

geodec_status geodec__reference_tape_create(const geodec_reference *r, int64_t n, int64_t first, geodec__ref_tape *out,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    const parts p = parts_of(r->model);
    const int64_t d = c->d_model, q = (int64_t)c->n_head * c->head_dim, kv = (int64_t)c->n_kv_head * c->head_dim;
    const int64_t used = p.experts ? c->n_expert_used : 1;
    geodec__ref_tape t = {.r = r, .n = n, .first = first};
#define BUFFER(member, count)                                                                                          \
    do {                                                                                                               \
        if (t.n_all == GEODEC__REF_BUFFERS) GEODEC_THROW(GEODEC_INTERNAL, "too many buffers");                         \
        GEODEC_NEW(t.member, count);                                                                                   \
        t.all[t.n_all++] = t.member;                                                                                   \
    } while (0)
    GEODEC_TRY(geodec__reference_angles_create(c, 0, r->divisor, n, &t.angles[0], err));
    if (p.local_rope) GEODEC_TRY(geodec__reference_angles_create(c, 1, NULL, n, &t.angles[1], err));
    BUFFER(x, n * d);
    BUFFER(z, n * d);
    if (p.qk_norm) {
        BUFFER(q0, n * q);
        BUFFER(k0, n * kv);
    }
    BUFFER(q, n * q);
    BUFFER(k, n * kv);
    BUFFER(v, n * kv);
    BUFFER(mixed, n * q);
    BUFFER(attn_out, n * d);
    BUFFER(middle, n * d);
    BUFFER(gate, n * geodec__max(used * c->d_ff, c->d_ff_dense));
    BUFFER(up, n * geodec__max(used * c->d_ff, c->d_ff_dense));
    BUFFER(hidden, n * geodec__max(c->d_ff, geodec__max(c->d_ff_dense, c->d_ff_shared)));
    BUFFER(ffn_out, n * d);
    if (p.experts) {
        BUFFER(prob, n * c->n_expert);
        BUFFER(weight, n * used);
        BUFFER(id, n * used);
        BUFFER(slot, n * used);
        BUFFER(start, c->n_expert + 1);
        BUFFER(vary, c->n_expert);
        BUFFER(owner, n * used);
        BUFFER(expert_out, n * used * d);
    }
    if (c->d_ff_shared > 0) {
        BUFFER(shared_gate, n * c->d_ff_shared);
        BUFFER(shared_up, n * c->d_ff_shared);
        BUFFER(shared_out, n * d);
        BUFFER(shared_logit, n);
    }
#undef BUFFER
    GEODEC_TRY(geodec__reference_recurrent_tape(&t, err));
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
    *t = (geodec__ref_tape){0};
}
