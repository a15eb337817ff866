/* Mixture of experts: y = sum over the chosen e of w_e FFN_e(z). Every (row, rank) has a slot; slots are ordered by
 * expert and then by row, so that an expert's rows are one array. Sums over experts run in ascending id. */
#include "base/mem.h"
#include "linalg/blas.h"
#include "reference/reference_internal.h"

#include <string.h>

static geodec__ref_router router_of(const geodec_model_config *c, const geodec__layer *l)
{
    return (geodec__ref_router){.n_expert = c->n_expert,
                                .n_used = c->n_expert_used,
                                .keep = c->expert_keep_weights,
                                .sigmoid = c->gating == GEODEC_GATING_SIGMOID,
                                .groups = c->n_expert_group,
                                .open = c->n_expert_group_used,
                                .bias = l->expert_bias,
                                .scale = c->expert_scale != 0 ? (double)c->expert_scale : 1};
}

/* Runs expert e on its slots from `from` on. */
static geodec__ref_ffn network(const geodec__ref_tape *t, const geodec__layer *l, int64_t e, int64_t from)
{
    return (geodec__ref_ffn){.gate = geodec__expert(&l->gate, e),
                             .up = geodec__expert(&l->up, e),
                             .down = geodec__expert(&l->down, e),
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

geodec_status geodec__reference_experts(geodec__ref_tape *t, const geodec__layer *l, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    const int64_t d = c->d_model;
    double *rows = NULL;
    GEODEC_NEW(rows, t->n * d);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->router, t->n, t->z, t->prob, err));
    geodec__reference_route(&router, t->n, t->prob, t->prob, t->id, t->weight);
    assign_slots(t);
    memset(t->ffn_out, 0, (size_t)(t->n * d) * sizeof(double));
    for (int32_t e = 0; e < c->n_expert; e++) {
        const geodec__ref_ffn f = network(t, l, e, t->start[e]);
        gather(t, e, t->start[e], 0, 1, false, t->z, rows);
        GEODEC_TRY(geodec__reference_ffn_run(t->r, &f, rows, t->hidden, t->expert_out + t->start[e] * d, err));
        for (int32_t s = t->start[e]; s < t->start[e + 1]; s++) {
            double *y = t->ffn_out + t->owner[s] / c->n_expert_used * d;
            for (int64_t i = 0; i < d; i++) y[i] += t->weight[t->owner[s]] * t->expert_out[s * d + i];
        }
    }
done:
    geodec_mem_free(rows);
    return st;
}

geodec_status geodec__reference_experts_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *dz, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    const int64_t d = c->d_model, n = t->n - t->first, used = c->n_expert_used, before = t->first * used;
    const int64_t size[] = {k * n * c->n_expert, k * n * used, k * n * d, k * n * d};
    double *buffer[4] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(4, size, buffer, err));
    double *dlogits = buffer[0], *dweight = buffer[1], *rows = buffer[2], *out = buffer[3];
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->router, k * n, dz, dlogits, err));
    geodec__reference_route_jvp(&router, n, t->prob + t->first * c->n_expert, t->id + before, k, dlogits, dweight);
    memset(dy, 0, (size_t)(k * n * d) * sizeof *dy);
    for (int32_t e = 0; e < c->n_expert; e++) {
        const geodec__ref_ffn f = network(t, l, e, t->vary[e]);
        gather(t, e, t->vary[e], t->first, k, false, dz, rows);
        GEODEC_TRY(geodec__reference_ffn_jvp(t->r, &f, k, rows, out, err));
        for (int64_t j = 0; j < k; j++)
            for (int32_t s = t->vary[e]; s < t->start[e + 1]; s++) {
                double *to = dy + (j * n + t->owner[s] / used - t->first) * d;
                const double *y = t->expert_out + s * d, *dout = out + (j * f.m + s - t->vary[e]) * d;
                const double w = t->weight[t->owner[s]], dw = dweight[j * n * used + t->owner[s] - before];
                for (int64_t i = 0; i < d; i++) to[i] += dw * y[i] + w * dout[i];
            }
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_experts_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                            const double *gy, double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const geodec__ref_router router = router_of(c, l);
    const int64_t d = c->d_model, n = t->n - t->first, used = c->n_expert_used, before = t->first * used;
    const int64_t size[] = {k * n * c->n_expert, k * n * used, k * n * d, k * n * d};
    double *buffer[4] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(4, size, buffer, err));
    double *glogits = buffer[0], *gweight = buffer[1], *rows = buffer[2], *part = buffer[3];
    for (int64_t a = 0; a < k * n * used; a++)
        gweight[a] = geodec_blas_dot(d, gy + a / used * d, t->expert_out + t->slot[before + a % (n * used)] * d);
    geodec__reference_route_vjp(&router, n, t->prob + t->first * c->n_expert, t->id + before, k, gweight, glogits);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->router, k * n, glogits, gz, err));
    for (int32_t e = 0; e < c->n_expert; e++) {
        const geodec__ref_ffn f = network(t, l, e, t->vary[e]);
        gather(t, e, t->vary[e], t->first, k, true, gy, rows);
        GEODEC_TRY(geodec__reference_ffn_vjp(t->r, &f, k, rows, part, err));
        for (int64_t j = 0; j < k; j++)
            for (int32_t s = t->vary[e]; s < t->start[e + 1]; s++)
                geodec__reference_add(d, part + (j * f.m + s - t->vary[e]) * d,
                                      gz + (j * n + t->owner[s] / used - t->first) * d);
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}
