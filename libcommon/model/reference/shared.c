/* The network of every row beside its experts: y += s F(z) with F gated and s = sigmoid(a . z), or 1 without a. */
#include "base/mem.h"
#include "linalg/blas.h"
#include "reference/reference_internal.h"

/* The shared network, for rows first .. n-1. */
static geodec__ref_ffn network(const geodec__ref_tape *t, const geodec__layer *l, int64_t first)
{
    const int64_t before = first * l->shared_gate.rows;
    return (geodec__ref_ffn){.gate = l->shared_gate,
                             .up = l->shared_up,
                             .down = l->shared_down,
                             .activation = geodec__reference_activation(t, l),
                             .m = t->n - first,
                             .g = t->shared_gate + before,
                             .u = t->shared_up + before};
}

void geodec__reference_scale_mixture(const geodec__ref_tape *t, const geodec__layer *l, int64_t n, double *y)
{
    const double scale = (double)t->r->model->config.feed_scale;
    for (int64_t i = 0; l->shared_gate.data && scale != 0 && i < n; i++) y[i] *= scale;
}

static double factor(const geodec__ref_tape *t, const geodec__layer *l, int64_t row)
{
    return l->shared_factor.data ? geodec__reference_sigmoid(t->shared_logit[row]) : 1;
}

geodec_status geodec__reference_shared(geodec__ref_tape *t, const geodec__layer *l, geodec_err *err)
{
    if (!l->shared_gate.data) return GEODEC_OK;
    const int64_t d = t->r->model->config.d_model;
    const geodec__ref_ffn f = network(t, l, 0);
    const bool normed = l->shared_post_norm.weight;
    GEODEC_PASS(geodec__reference_ffn_run(t->r, &f, t->z, t->hidden, normed ? t->shared_raw : t->shared_out, err));
    if (normed) geodec__reference_norm(t->n, &l->shared_post_norm, t->shared_raw, t->shared_out);
    if (l->shared_factor.data)
        GEODEC_PASS(geodec__reference_product(t->r->pool, &l->shared_factor, t->n, t->z, t->shared_logit, err));
    for (int64_t i = 0; i < t->n * d; i++) t->ffn_out[i] += factor(t, l, i / d) * t->shared_out[i];
    return GEODEC_OK;
}

geodec_status geodec__reference_shared_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                           const double *dz, double *dy, geodec_err *err)
{
    if (!l->shared_gate.data) return GEODEC_OK;
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    const geodec__ref_ffn f = network(t, l, t->first);
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * d, k * n}, buffer, err));
    double *out = buffer[0], *dlogit = buffer[1];
    GEODEC_TRY(geodec__reference_ffn_jvp(t->r, &f, k, dz, out, err));
    if (l->shared_post_norm.weight)
        geodec__reference_norm_jvp(n, &l->shared_post_norm, t->shared_raw + t->first * d, k, out, out);
    if (l->shared_factor.data)
        GEODEC_TRY(geodec__reference_product(t->r->pool, &l->shared_factor, k * n, dz, dlogit, err));
    for (int64_t row = 0; row < k * n; row++) {
        const int64_t at = t->first + row % n;
        const double s = factor(t, l, at), ds = l->shared_factor.data ? s * (1 - s) * dlogit[row] : 0;
        for (int64_t i = 0; i < d; i++) dy[row * d + i] += s * out[row * d + i] + ds * t->shared_out[at * d + i];
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_shared_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                           const double *gy, double *gz, geodec_err *err)
{
    if (!l->shared_gate.data) return GEODEC_OK;
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    const geodec__ref_ffn f = network(t, l, t->first);
    double *buffer[3] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){k * n * d, k * n * d, k * n}, buffer, err));
    double *scaled = buffer[0], *part = buffer[1], *glogit = buffer[2];
    for (int64_t row = 0; row < k * n; row++) {
        const int64_t at = t->first + row % n;
        const double s = factor(t, l, at);
        for (int64_t i = 0; i < d; i++) scaled[row * d + i] = s * gy[row * d + i];
        glogit[row] = s * (1 - s) * geodec_blas_dot(d, gy + row * d, t->shared_out + at * d);
    }
    if (l->shared_post_norm.weight)
        geodec__reference_norm_vjp(n, &l->shared_post_norm, t->shared_raw + t->first * d, k, scaled, scaled);
    GEODEC_TRY(geodec__reference_ffn_vjp(t->r, &f, k, scaled, part, err));
    geodec__reference_add(k * n * d, part, gz);
    if (l->shared_factor.data) {
        GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->shared_factor, k * n, glogit, part, err));
        geodec__reference_add(k * n * d, part, gz);
    }
done:
    geodec_mem_free(buffer[0]);
    return st;
}
