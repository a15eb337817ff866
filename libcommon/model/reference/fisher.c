/* The Fisher metric of the next-token distribution on the residual stream of a sequence's last row. */
#include "base/mem.h"
#include "reference/reference_internal.h"

/* y = (diag p - p p^T) y */
static void covariance(int64_t n, const double *p, double *y)
{
    double mean = 0;
    for (int64_t i = 0; i < n; i++) mean += p[i] * y[i];
    for (int64_t i = 0; i < n; i++) y[i] = p[i] * (y[i] - mean);
}

geodec_status geodec_reference_fisher(const geodec_reference *r, int32_t from, int64_t n, const double *x, int64_t k,
                                      double *metric, double *probability, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    const int64_t d = c->d_model, v = c->n_vocab;
    const int32_t last = (int32_t)(n - 1), head = c->n_layer + 1;
    const geodec_reference_rows rows = {1, &last};
    geodec_reference_point *point = NULL;
    double *p = NULL, *unit = NULL, *dy = NULL;
    if (k < 1 || k > d) GEODEC_THROW(GEODEC_RANGE, "%lld tangents at a time, of %lld", (long long)k, (long long)d);
    GEODEC_TRY(geodec_reference_linearise(r, from, head, n, x, last, &rows, &point, err));
    GEODEC_NEW(p, v);
    GEODEC_NEW(unit, k * d);
    GEODEC_NEW(dy, k * v);
    GEODEC_TRY(geodec_reference_run(r, from, head, n, x, &rows, p, err));
    geodec__reference_softmax(v, p, p);
    for (int64_t first = 0; first < d; first += k) {
        const int64_t m = d - first < k ? d - first : k;
        for (int64_t j = 0; j < m; j++)
            for (int64_t i = 0; i < d; i++) unit[j * d + i] = i == first + j;
        GEODEC_TRY(geodec_reference_jvp(point, m, unit, dy, err));
        for (int64_t j = 0; j < m; j++) covariance(v, p, dy + j * v);
        GEODEC_TRY(geodec_reference_vjp(point, m, dy, metric + first * d, err));
    }
    for (int64_t i = 0; i < d; i++) /* symmetric but for rounding */
        for (int64_t j = i + 1; j < d; j++)
            metric[i * d + j] = metric[j * d + i] = 0.5 * (metric[i * d + j] + metric[j * d + i]);
    for (int64_t i = 0; probability && i < v; i++) probability[i] = p[i];
done:
    geodec_reference_point_destroy(point);
    GEODEC_FREE(p, unit, dy);
    return st;
}
