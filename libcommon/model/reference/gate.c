/* From attention's result a to the argument of the output matrix: N(f(G z) a), with f a sigmoid or softplus that gives
 * a factor of each head or element, and N a norm; each part where the layer has it. */
#include "base/mem.h"
#include "linalg/blas.h"
#include "reference/reference_internal.h"

/* f(x) and its derivative. */
static double factor(const geodec__ref_tape *t, double x, double *slope)
{
    const double s = geodec__reference_sigmoid(x);
    const bool softplus = t->r->model->config.gate_softplus;
    *slope = softplus ? s : s * (1 - s);
    return softplus ? geodec__reference_softplus(x) : s;
}

/* Elements that have a factor in common. */
static int64_t part_of(const geodec__layer *l) { return l->o.cols / geodec__reference_gate_rows(l); }

/* The argument of the norm. */
static const double *before_norm(const geodec__ref_tape *t, const geodec__layer *l)
{
    return geodec__reference_gate_rows(l) > 0 ? t->gated : t->mixed;
}

geodec_status geodec__reference_gate(const geodec__ref_tape *t, const geodec__layer *l, const double **out,
                                     geodec_err *err)
{
    const int64_t width = l->o.cols, rows = geodec__reference_gate_rows(l);
    if (rows > 0) {
        const int64_t part = part_of(l);
        GEODEC_PASS(geodec__reference_queries(t, l, true, t->n, t->z, t->gating, err));
        for (int64_t i = 0; i < t->n * width; i++) {
            double slope;
            t->gated[i] = factor(t, t->gating[i / part], &slope) * t->mixed[i];
        }
    }
    *out = before_norm(t, l);
    if (!l->mixed_norm.weight) return GEODEC_OK;
    geodec__reference_norm(t->n, &l->mixed_norm, *out, t->mixed_normed);
    *out = t->mixed_normed;
    return GEODEC_OK;
}

geodec_status geodec__reference_gate_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *dz,
                                         double *d_o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, width = l->o.cols, size = n * width, before = t->first * width,
                  rows = geodec__reference_gate_rows(l);
    double *dgating = NULL;
    if (rows > 0) {
        const int64_t part = part_of(l);
        GEODEC_NEW(dgating, k * n * rows);
        GEODEC_TRY(geodec__reference_queries(t, l, true, k * n, dz, dgating, err));
        for (int64_t i = 0; i < k * size; i++) {
            const int64_t at = before + i % size;
            double slope;
            const double f = factor(t, t->gating[at / part], &slope);
            d_o[i] = f * d_o[i] + slope * dgating[i / part] * t->mixed[at];
        }
    }
    if (l->mixed_norm.weight) geodec__reference_norm_jvp(n, &l->mixed_norm, before_norm(t, l) + before, k, d_o, d_o);
done:
    geodec_mem_free(dgating);
    return st;
}

geodec_status geodec__reference_gate_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *go,
                                         double *scratch, double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, width = l->o.cols, size = n * width, before = t->first * width,
                  rows = geodec__reference_gate_rows(l);
    double *ggating = NULL;
    if (l->mixed_norm.weight) geodec__reference_norm_vjp(n, &l->mixed_norm, before_norm(t, l) + before, k, go, go);
    if (rows == 0) return GEODEC_OK;
    const int64_t part = part_of(l);
    GEODEC_NEW(ggating, k * n * rows);
    for (int64_t i = 0; i < k * size; i += part) {
        const int64_t at = before + i % size;
        double slope;
        const double f = factor(t, t->gating[at / part], &slope);
        ggating[i / part] = slope * geodec_blas_dot(part, go + i, t->mixed + at);
        for (int64_t j = i; j < i + part; j++) go[j] *= f;
    }
    GEODEC_TRY(geodec__reference_queries_vjp(t, l, true, k * n, ggating, scratch, err));
    geodec__reference_add(k * n * t->r->model->config.d_model, scratch, gz);
done:
    geodec_mem_free(ggating);
    return st;
}
