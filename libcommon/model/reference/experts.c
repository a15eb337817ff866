/* Mixture of experts: y = sum over the chosen e of w_e FFN_e(z), or of FFN_e(w_e z) where weights multiply the input.
 * Every (row, rank) has a slot; slots are ordered by expert and then by row, so that an expert's rows are one array.
 * Sums over experts run in ascending id. */
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
                                .scale = c->expert_scale != 0 ? (double)c->expert_scale : 1};
}

/* Runs expert e on its slots from `from` on. */
static geodec__ref_ffn network(const geodec__ref_tape *t, const geodec__layer *l, int64_t e, int64_t from)
{
    const int64_t hidden = e * geodec__pad(l->gate.rows), out = e * geodec__pad(l->down.rows);
    return (geodec__ref_ffn){.gate = geodec__expert(&l->gate, e),
                             .up = geodec__expert(&l->up, e),
                             .down = geodec__expert(&l->down, e),
                             .gate_bias = l->gate_bias ? l->gate_bias + hidden : NULL,
                             .up_bias = l->up_bias ? l->up_bias + hidden : NULL,
                             .down_bias = l->down_bias ? l->down_bias + out : NULL,
                             .activation = geodec__reference_activation(t, l),
                             .scale = l->hidden_scale,
                             .m = t->start[e + 1] - from,
                             .g = t->gate + from * l->gate.rows,
                             .u = t->up + from * l->gate.rows};
}

static void assign_slots(geodec__ref_tape *t)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t used = c->n_expert_used;
    int32_t place = 0;
    for (int32_t e = 0; e < c->n_expert; e++) {
        t->start[e] = place;
        for (int64_t a = 0; a < t->n * used; a++)
            if (t->id[a] == e) {
                t->slot[a] = place;
                t->owner[place++] = (int32_t)a;
            }
        t->vary[e] = t->start[e];
        while (t->vary[e] < place && t->owner[t->vary[e]] / used < t->first) t->vary[e]++;
    }
    t->start[c->n_expert] = place;
}

/* out [k][m][d]: of in [k][n - first][d] the rows of expert e's m slots from `from` on, times their weights when
 * scaled. */
static void gather(const geodec__ref_tape *t, int64_t e, int64_t from, int64_t first, int64_t k, bool scaled,
                   const double *in, double *out)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t d = c->d_model;
    for (int64_t j = 0; j < k; j++)
        for (int64_t s = from; s < t->start[e + 1]; s++, out += d) {
            const double *row = in + (j * (t->n - first) + t->owner[s] / c->n_expert_used - first) * d;
            const double w = scaled ? t->weight[t->owner[s]] : 1;
            for (int64_t i = 0; i < d; i++) out[i] = w * row[i];
        }
}

/* The factor of a slot's output. */
static double weight_of(const geodec__ref_tape *t, int64_t slot)
{
    return t->r->model->config.weighed_input ? 1 : t->weight[t->owner[slot]];
}

geodec_status geodec__reference_experts(geodec__ref_tape *t, const geodec__layer *l, const double *routed,
                                        const double *in, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    const int64_t d = c->d_model;
    double *rows = NULL;
    GEODEC_NEW(rows, t->n * d);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->router, t->n, routed, t->prob, err));
    geodec__reference_bias(t->n, c->n_expert, l->router_bias, t->prob);
    geodec__reference_route(&router, t->n, t->prob, t->prob, t->id, t->weight);
    assign_slots(t);
    memset(t->ffn_out, 0, (size_t)(t->n * d) * sizeof(double));
    for (int32_t e = 0; e < c->n_expert; e++) {
        const geodec__ref_ffn f = network(t, l, e, t->start[e]);
        gather(t, e, t->start[e], 0, 1, c->weighed_input, in, rows);
        GEODEC_TRY(geodec__reference_ffn_run(t->r, &f, rows, t->hidden, t->expert_out + t->start[e] * d, err));
        for (int32_t s = t->start[e]; s < t->start[e + 1]; s++) {
            double *y = t->ffn_out + t->owner[s] / c->n_expert_used * d;
            for (int64_t i = 0; i < d; i++) y[i] += weight_of(t, s) * t->expert_out[s * d + i];
        }
    }
done:
    geodec_mem_free(rows);
    return st;
}

/* rows += the tangents of an expert's weights [k][n][n_expert_used] times its inputs, where weights multiply them. */
static void weigh_jvp(const geodec__ref_tape *t, int64_t e, int64_t k, const double *dweight, double *rows)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t d = c->d_model, used = c->n_expert_used, before = t->first * used, all = t->n * used - before;
    for (int64_t j = 0; c->weighed_input && j < k; j++)
        for (int32_t s = t->vary[e]; s < t->start[e + 1]; s++, rows += d) {
            const double dw = dweight[j * all + t->owner[s] - before], *z = t->expert_in + t->owner[s] / used * d;
            for (int64_t i = 0; i < d; i++) rows[i] += dw * z[i];
        }
}

geodec_status geodec__reference_experts_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *drouted, const double *din, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    const int64_t d = c->d_model, n = t->n - t->first, used = c->n_expert_used, before = t->first * used;
    const int64_t size[] = {k * n * c->n_expert, k * n * used, k * n * d, k * n * d};
    double *buffer[4] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(4, size, buffer, err));
    double *dlogits = buffer[0], *dweight = buffer[1], *rows = buffer[2], *out = buffer[3];
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->router, k * n, drouted, dlogits, err));
    geodec__reference_route_jvp(&router, n, t->prob + t->first * c->n_expert, t->id + before, k, dlogits, dweight);
    memset(dy, 0, (size_t)(k * n * d) * sizeof *dy);
    for (int32_t e = 0; e < c->n_expert; e++) {
        const geodec__ref_ffn f = network(t, l, e, t->vary[e]);
        gather(t, e, t->vary[e], t->first, k, c->weighed_input, din, rows);
        weigh_jvp(t, e, k, dweight, rows);
        GEODEC_TRY(geodec__reference_ffn_jvp(t->r, &f, k, rows, out, err));
        for (int64_t j = 0; j < k; j++)
            for (int32_t s = t->vary[e]; s < t->start[e + 1]; s++) {
                double *to = dy + (j * n + t->owner[s] / used - t->first) * d;
                const double *y = t->expert_out + s * d, *dout = out + (j * f.m + s - t->vary[e]) * d;
                const double w = weight_of(t, s);
                const double dw = c->weighed_input ? 0 : dweight[j * n * used + t->owner[s] - before];
                for (int64_t i = 0; i < d; i++) to[i] += dw * y[i] + w * dout[i];
            }
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* Expert e's part of the derivatives: gin [k][n - first][d_model] += the cotangent of its inputs, and where weights
 * multiply them, those of its weights are set. rows and part are scratch of the size of gin. */
static geodec_status expert_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t e, int64_t k,
                                const double *gy, double *rows, double *part, double *gweight, double *gin,
                                geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t d = c->d_model, n = t->n - t->first, used = c->n_expert_used, before = t->first * used;
    const geodec__ref_ffn f = network(t, l, e, t->vary[e]);
    gather(t, e, t->vary[e], t->first, k, !c->weighed_input, gy, rows);
    GEODEC_PASS(geodec__reference_ffn_vjp(t->r, &f, k, rows, part, err));
    for (int64_t j = 0; j < k; j++)
        for (int32_t s = t->vary[e]; s < t->start[e + 1]; s++) {
            const int64_t row = t->owner[s] / used;
            double *g = part + (j * f.m + s - t->vary[e]) * d;
            if (c->weighed_input) {
                gweight[j * n * used + t->owner[s] - before] = geodec_blas_dot(d, g, t->expert_in + row * d);
                for (int64_t i = 0; i < d; i++) g[i] *= t->weight[t->owner[s]];
            }
            geodec__reference_add(d, g, gin + (j * n + row - t->first) * d);
        }
    return GEODEC_OK;
}

/* grouted += the cotangent of the router's input; glogits and part are scratch. */
static geodec_status router_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *gweight,
                                double *glogits, double *part, double *grouted, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    const int64_t n = t->n - t->first;
    geodec__reference_route_vjp(&router, n, t->prob + t->first * c->n_expert, t->id + t->first * c->n_expert_used, k,
                                gweight, glogits);
    GEODEC_PASS(geodec__reference_product_vjp(t->r->pool, &l->router, k * n, glogits, part, err));
    geodec__reference_add(k * n * c->d_model, part, grouted);
    return GEODEC_OK;
}

geodec_status geodec__reference_experts_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *gy, double *grouted, double *gin, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t d = c->d_model, n = t->n - t->first, used = c->n_expert_used, before = t->first * used;
    const int64_t size[] = {k * n * c->n_expert, k * n * used, k * n * d, k * n * d};
    double *buffer[4] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(4, size, buffer, err));
    double *glogits = buffer[0], *gweight = buffer[1], *rows = buffer[2], *part = buffer[3];
    for (int64_t a = 0; !c->weighed_input && a < k * n * used; a++)
        gweight[a] = geodec_blas_dot(d, gy + a / used * d, t->expert_out + t->slot[before + a % (n * used)] * d);
    if (!c->weighed_input) GEODEC_TRY(router_vjp(t, l, k, gweight, glogits, part, grouted, err));
    for (int32_t e = 0; e < c->n_expert; e++) GEODEC_TRY(expert_vjp(t, l, e, k, gy, rows, part, gweight, gin, err));
    if (c->weighed_input) GEODEC_TRY(router_vjp(t, l, k, gweight, glogits, part, grouted, err));
done:
    geodec_mem_free(buffer[0]);
    return st;
}
