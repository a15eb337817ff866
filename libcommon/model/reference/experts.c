/* Mixture of experts: y = sum over the chosen e of w_e FFN_e(z), or of FFN_e(w_e z) where weights multiply the input.
 * Every (row, rank) has a slot; slots are ordered by expert and then by row, so that an expert's rows are one array.
 * Sums over experts run in ascending id. Adjugate experts are added to it: y += s sum over their chosen g of v_g
 * FFN_g(y), where g is the group of an expert that was chosen. */
#include "base/mem.h"
#include "linalg/blas.h"
#include "reference/reference_internal.h"

#include <string.h>

static geodec__ref_router router_of(const geodec_model_config *c, const geodec__layer *l)
{
    return (geodec__ref_router){.n_expert = c->n_expert,
                                .n_used = c->n_expert_used,
                                .keep = c->expert_keep_weights && c->gating != GEODEC_GATING_CHOSEN,
                                .sigmoid = c->gating == GEODEC_GATING_SIGMOID,
                                .groups = c->n_expert_group,
                                .open = c->n_expert_group_used,
                                .bias = l->expert_bias,
                                .factor = l->expert_factor,
                                .scale = c->expert_scale != 0 ? (double)c->expert_scale : 1};
}

/* The weights of adjugate experts from the probabilities of the router's. */
static geodec__ref_router adjugate_router_of(const geodec__ref_tape *t)
{
    const geodec_model_config *c = &t->r->model->config;
    return (geodec__ref_router){.n_expert = c->n_expert,
                                .n_used = t->adjugate.used,
                                .sigmoid = c->gating == GEODEC_GATING_SIGMOID,
                                .scale = (double)c->adjugate_scale,
                                .least = 6.103515625e-5}; /* as in session/experts.c */
}

/* Whether weights multiply the input of these experts, not their output. */
static bool weighs_input(const geodec__ref_tape *t, const geodec__ref_bank *b)
{
    return t->r->model->config.weighed_input && b == &t->experts;
}

/* Runs expert e on its slots from `from` on. */
static geodec__ref_ffn network(const geodec__ref_tape *t, const geodec__layer *l, const geodec__ref_bank *b, int64_t e,
                               int64_t from)
{
    geodec__ref_ffn f = {.activation = geodec__reference_activation(t, l), .m = b->start[e + 1] - from};
    if (b == &t->adjugate) {
        f.gate = geodec__expert(&l->adjugate_gate, e);
        f.up = geodec__expert(&l->adjugate_up, e);
        f.down = geodec__expert(&l->adjugate_down, e);
    } else {
        const int64_t hidden = e * geodec__pad(l->gate.rows), out = e * geodec__pad(l->down.rows);
        f.gate = geodec__expert(&l->gate, e);
        f.up = geodec__expert(&l->up, e);
        f.down = geodec__expert(&l->down, e);
        f.gate_bias = l->gate_bias ? l->gate_bias + hidden : NULL;
        f.up_bias = l->up_bias ? l->up_bias + hidden : NULL;
        f.down_bias = l->down_bias ? l->down_bias + out : NULL;
        f.scale = l->hidden_scale;
    }
    f.g = b->gate + from * f.gate.rows;
    f.u = b->up + from * f.gate.rows;
    return f;
}

static void assign_slots(const geodec__ref_tape *t, geodec__ref_bank *b)
{
    int32_t place = 0;
    for (int32_t e = 0; e < b->count; e++) {
        b->start[e] = place;
        for (int64_t a = 0; a < t->n * b->used; a++)
            if (b->id[a] == e) {
                b->slot[a] = place;
                b->owner[place++] = (int32_t)a;
            }
        b->vary[e] = b->start[e];
        while (b->vary[e] < place && b->owner[b->vary[e]] / b->used < t->first) b->vary[e]++;
    }
    b->start[b->count] = place;
}

/* out [k][m][d]: of in [k][n - first][d] the rows of expert e's m slots from `from` on, times their weights when
 * scaled. */
static void gather(const geodec__ref_tape *t, const geodec__ref_bank *b, int64_t e, int64_t from, int64_t first,
                   int64_t k, bool scaled, const double *in, double *out)
{
    const int64_t d = t->r->model->config.d_model;
    for (int64_t j = 0; j < k; j++)
        for (int64_t s = from; s < b->start[e + 1]; s++, out += d) {
            const double *row = in + (j * (t->n - first) + b->owner[s] / b->used - first) * d;
            const double w = scaled ? b->weight[b->owner[s]] : 1;
            for (int64_t i = 0; i < d; i++) out[i] = w * row[i];
        }
}

/* The factor of a slot's output. */
static double weight_of(const geodec__ref_tape *t, const geodec__ref_bank *b, int64_t slot)
{
    return weighs_input(t, b) ? 1 : b->weight[b->owner[slot]];
}

/* y [n][d_model] += the weighted sum of the chosen. */
static geodec_status add_chosen(geodec__ref_tape *t, const geodec__layer *l, geodec__ref_bank *b, const double *in,
                                double *y, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model;
    double *rows = NULL;
    GEODEC_NEW(rows, t->n * b->most * d);
    assign_slots(t, b);
    for (int32_t e = 0; e < b->count; e++) {
        const geodec__ref_ffn f = network(t, l, b, e, b->start[e]);
        gather(t, b, e, b->start[e], 0, 1, weighs_input(t, b), in, rows);
        GEODEC_TRY(geodec__reference_ffn_run(t->r, &f, rows, t->hidden, b->out + b->start[e] * d, err));
        for (int32_t s = b->start[e]; s < b->start[e + 1]; s++) {
            double *to = y + b->owner[s] / b->used * d;
            for (int64_t i = 0; i < d; i++) to[i] += weight_of(t, b, s) * b->out[s * d + i];
        }
    }
done:
    geodec_mem_free(rows);
    return st;
}

/* rows += the tangents of an expert's weights [k][n][used] times its inputs, where weights multiply them. */
static void weigh_jvp(const geodec__ref_tape *t, const geodec__ref_bank *b, int64_t e, int64_t k, const double *dweight,
                      double *rows)
{
    const int64_t d = t->r->model->config.d_model, before = t->first * b->used, all = t->n * b->used - before;
    for (int64_t j = 0; weighs_input(t, b) && j < k; j++)
        for (int32_t s = b->vary[e]; s < b->start[e + 1]; s++, rows += d) {
            const double dw = dweight[j * all + b->owner[s] - before], *z = b->in + b->owner[s] / b->used * d;
            for (int64_t i = 0; i < d; i++) rows[i] += dw * z[i];
        }
}

/* dy += the tangents of that sum. */
static geodec_status add_chosen_jvp(const geodec__ref_tape *t, const geodec__layer *l, const geodec__ref_bank *b,
                                    int64_t k, const double *dweight, const double *din, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, n = t->n - t->first, before = t->first * b->used;
    const bool weighed = weighs_input(t, b);
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * b->most * d, k * n * b->most * d}, buffer, err));
    double *rows = buffer[0], *out = buffer[1];
    for (int32_t e = 0; e < b->count; e++) {
        const geodec__ref_ffn f = network(t, l, b, e, b->vary[e]);
        gather(t, b, e, b->vary[e], t->first, k, weighed, din, rows);
        weigh_jvp(t, b, e, k, dweight, rows);
        GEODEC_TRY(geodec__reference_ffn_jvp(t->r, &f, k, rows, out, err));
        for (int64_t j = 0; j < k; j++)
            for (int32_t s = b->vary[e]; s < b->start[e + 1]; s++) {
                double *to = dy + (j * n + b->owner[s] / b->used - t->first) * d;
                const double *y = b->out + s * d, *dout = out + (j * f.m + s - b->vary[e]) * d;
                const double w = weight_of(t, b, s);
                const double dw = weighed ? 0 : dweight[j * n * b->used + b->owner[s] - before];
                for (int64_t i = 0; i < d; i++) to[i] += dw * y[i] + w * dout[i];
            }
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* Cotangents of the weights of outputs. */
static void weigh_vjp(const geodec__ref_tape *t, const geodec__ref_bank *b, int64_t k, const double *gy,
                      double *gweight)
{
    const int64_t d = t->r->model->config.d_model, before = t->first * b->used, all = t->n * b->used - before;
    for (int64_t a = 0; a < k * all; a++)
        gweight[a] = geodec_blas_dot(d, gy + a / b->used * d, b->out + b->slot[before + a % all] * d);
}

/* gin [k][n - first][d_model] += the cotangent of the inputs, and where weights multiply them, gweight is set. */
static geodec_status add_chosen_vjp(const geodec__ref_tape *t, const geodec__layer *l, const geodec__ref_bank *b,
                                    int64_t k, const double *gy, double *gweight, double *gin, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = t->r->model->config.d_model, n = t->n - t->first, before = t->first * b->used;
    const bool weighed = weighs_input(t, b);
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * b->most * d, k * n * b->most * d}, buffer, err));
    double *rows = buffer[0], *part = buffer[1];
    for (int32_t e = 0; e < b->count; e++) {
        const geodec__ref_ffn f = network(t, l, b, e, b->vary[e]);
        gather(t, b, e, b->vary[e], t->first, k, !weighed, gy, rows);
        GEODEC_TRY(geodec__reference_ffn_vjp(t->r, &f, k, rows, part, err));
        for (int64_t j = 0; j < k; j++)
            for (int32_t s = b->vary[e]; s < b->start[e + 1]; s++) {
                const int64_t row = b->owner[s] / b->used;
                double *g = part + (j * f.m + s - b->vary[e]) * d;
                if (weighed) {
                    gweight[j * n * b->used + b->owner[s] - before] = geodec_blas_dot(d, g, b->in + row * d);
                    for (int64_t i = 0; i < d; i++) g[i] *= b->weight[b->owner[s]];
                }
                geodec__reference_add(d, g, gin + (j * n + row - t->first) * d);
            }
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* The tangents of weights from those of the router's input. */
static geodec_status router_jvp(const geodec__ref_tape *t, const geodec__layer *l, const geodec__ref_router *router,
                                const geodec__ref_bank *b, int64_t k, const double *drouted, double *dweight,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, experts = router->n_expert;
    double *dlogits = NULL;
    GEODEC_NEW(dlogits, k * n * experts);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->router, k * n, drouted, dlogits, err));
    geodec__reference_route_jvp(router, n, t->prob + t->first * experts, b->id + t->first * b->used, k, dlogits,
                                dweight);
done:
    geodec_mem_free(dlogits);
    return st;
}

/* grouted += the cotangent of the router's input. */
static geodec_status router_vjp(const geodec__ref_tape *t, const geodec__layer *l, const geodec__ref_router *router,
                                const geodec__ref_bank *b, int64_t k, const double *gweight, double *grouted,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, experts = router->n_expert, d = t->r->model->config.d_model;
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * experts, k * n * d}, buffer, err));
    double *glogits = buffer[0], *part = buffer[1];
    geodec__reference_route_vjp(router, n, t->prob + t->first * experts, b->id + t->first * b->used, k, gweight,
                                glogits);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->router, k * n, glogits, part, err));
    geodec__reference_add(k * n * d, part, grouted);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* ---- the router's experts ---------------------------------------------------------------------------------------- */

geodec_status geodec__reference_experts(geodec__ref_tape *t, const geodec__layer *l, const double *routed,
                                        const double *in, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    GEODEC_PASS(geodec__reference_product(t->r->pool, &l->router, t->n, routed, t->prob, err));
    geodec__reference_bias(t->n, c->n_expert, l->router_bias, t->prob);
    geodec__reference_route(&router, t->n, t->prob, t->prob, t->experts.id, t->experts.weight);
    memset(t->ffn_out, 0, (size_t)(t->n * c->d_model) * sizeof(double));
    return add_chosen(t, l, &t->experts, in, t->ffn_out, err);
}

geodec_status geodec__reference_experts_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *drouted, const double *din, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    const int64_t n = t->n - t->first;
    double *dweight = NULL;
    GEODEC_NEW(dweight, k * n * t->experts.used);
    GEODEC_TRY(router_jvp(t, l, &router, &t->experts, k, drouted, dweight, err));
    memset(dy, 0, (size_t)(k * n * c->d_model) * sizeof *dy);
    GEODEC_TRY(add_chosen_jvp(t, l, &t->experts, k, dweight, din, dy, err));
done:
    geodec_mem_free(dweight);
    return st;
}

geodec_status geodec__reference_experts_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *gy, double *grouted, double *gin, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__ref_bank *b = &t->experts;
    const geodec__ref_router router = router_of(&t->r->model->config, l);
    double *gweight = NULL;
    GEODEC_NEW(gweight, k * (t->n - t->first) * b->used);
    if (!weighs_input(t, b)) weigh_vjp(t, b, k, gy, gweight);
    GEODEC_TRY(add_chosen_vjp(t, l, b, k, gy, gweight, gin, err));
    GEODEC_TRY(router_vjp(t, l, &router, b, k, gweight, grouted, err));
done:
    geodec_mem_free(gweight);
    return st;
}

/* ---- adjugate experts -------------------------------------------------------------------------------------------- */

geodec_status geodec__reference_adjugate(geodec__ref_tape *t, const geodec__layer *l, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    geodec__ref_bank *b = &t->adjugate;
    if (!l->adjugate_gate.data) return GEODEC_OK;
    const geodec__ref_router router = adjugate_router_of(t);
    for (int64_t a = 0; a < t->n * b->used; a++)
        b->id[a] = t->experts.id[a / b->used * t->experts.used + a % b->used] / c->adjugate_group;
    geodec__reference_weigh(&router, t->n, t->prob, b->id, b->weight);
    memcpy(b->in, t->ffn_out, (size_t)(t->n * c->d_model) * sizeof(double));
    return add_chosen(t, l, b, b->in, t->ffn_out, err);
}

geodec_status geodec__reference_adjugate_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                             const double *drouted, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    double *buffer[2] = {NULL};
    if (!l->adjugate_gate.data) return GEODEC_OK;
    const geodec__ref_router router = adjugate_router_of(t);
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * t->adjugate.used, k * n * d}, buffer, err));
    double *dweight = buffer[0], *din = buffer[1];
    GEODEC_TRY(router_jvp(t, l, &router, &t->adjugate, k, drouted, dweight, err));
    memcpy(din, dy, (size_t)(k * n * d) * sizeof *dy);
    GEODEC_TRY(add_chosen_jvp(t, l, &t->adjugate, k, dweight, din, dy, err));
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_adjugate_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gy,
                                             double *grouted, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    double *buffer[2] = {NULL};
    if (!l->adjugate_gate.data) return GEODEC_OK;
    const geodec__ref_router router = adjugate_router_of(t);
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * t->adjugate.used, k * n * d}, buffer, err));
    double *gweight = buffer[0], *gin = buffer[1];
    weigh_vjp(t, &t->adjugate, k, gy, gweight);
    GEODEC_TRY(add_chosen_vjp(t, l, &t->adjugate, k, gy, gweight, gin, err));
    GEODEC_TRY(router_vjp(t, l, &router, &t->adjugate, k, gweight, grouted, err));
    geodec__reference_add(k * n * d, gin, gy);
done:
    geodec_mem_free(buffer[0]);
    return st;
}
