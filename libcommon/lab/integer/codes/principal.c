#include "lab/integer/codes/principal_internal.h"

#include "base/mem.h"
#include "linalg/eig.h"

#include <math.h>

/* root and inverse [dim][dim]: M^(1/2) and M^(-1/2), eigenvalues at least 1e-4 of their mean. */
static geodec_status roots(int64_t dim, const double *metric, double *root, double *inverse, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *w = NULL, *v = NULL, *f = NULL, mean = 0;
    GEODEC_NEW_EACH(dim, w, f);
    GEODEC_NEW(v, dim * dim);
    GEODEC_TRY_MSG(geodec_eig_sym(dim, metric, w, v, err), "metric of errors");
    for (int64_t i = 0; i < dim; i++) mean += w[i] / (double)dim;
    if (!(mean > 0)) GEODEC_THROW(GEODEC_NUMERIC, "the metric of errors is zero");
    for (int64_t i = 0; i < dim; i++) {
        w[i] = sqrt(w[i] > 1e-4 * mean ? w[i] : 1e-4 * mean);
        f[i] = 1 / w[i];
    }
    geodec_eig_compose(dim, w, v, root);
    geodec_eig_compose(dim, f, v, inverse);
done:
    GEODEC_FREE(w, v, f);
    return st;
}

static void covariance(int64_t dim, const geodec_codes_sample *s, const float *mean, double *c)
{
    double d[GEODEC_CODES_DIM_MAX];
    for (int64_t k = 0; k < s->n; k++) {
        for (int64_t i = 0; i < dim; i++) d[i] = (double)s->x[k * dim + i] - (double)mean[i];
        for (int64_t i = 0; i < dim; i++)
            for (int64_t j = 0; j <= i; j++) c[i * dim + j] += d[i] * d[j];
    }
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j <= i; j++) c[j * dim + i] = c[i * dim + j] /= (double)s->n;
}

/* out = a b of symmetric order dim. */
static void product(int64_t dim, const double *a, const double *b, double *out)
{
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j < dim; j++) {
            double sum = 0;
            for (int64_t k = 0; k < dim; k++) sum += a[i * dim + k] * b[k * dim + j];
            out[i * dim + j] = sum;
        }
}

geodec_status geodec__principal_fit(int64_t dim, const geodec_codes_sample *s, float *mean, float *analysis,
                                    float *synthesis, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *c = NULL, *root = NULL, *inverse = NULL, *t = NULL, *w = NULL;
    GEODEC_NEW_EACH(dim * dim, c, root, inverse, t);
    GEODEC_NEW(w, dim);
    for (int64_t k = 0; k < s->n; k++)
        for (int64_t i = 0; i < dim; i++) w[i] += (double)s->x[k * dim + i];
    for (int64_t i = 0; i < dim; i++) mean[i] = (float)(w[i] / (double)s->n);
    covariance(dim, s, mean, c);
    if (s->metric) {
        GEODEC_TRY(roots(dim, s->metric, root, inverse, err));
        product(dim, root, c, t);
        product(dim, t, root, c);
    }
    GEODEC_TRY_MSG(geodec_eig_sym(dim, c, w, t, err), "covariance of the calibration vectors");
    for (int64_t i = 0; i < dim; i++)
        for (int64_t j = 0; j < dim; j++) {
            const double *v = t + (dim - 1 - i) * dim;
            double a = v[j], b = v[j];
            if (s->metric) {
                a = b = 0;
                for (int64_t k = 0; k < dim; k++) {
                    a += v[k] * root[k * dim + j];
                    b += v[k] * inverse[k * dim + j];
                }
            }
            analysis[j * dim + i] = (float)a;
            synthesis[i * dim + j] = (float)b;
        }
done:
    GEODEC_FREE(c, root, inverse, t, w);
    return st;
}

void geodec__principal_analyse(int64_t dim, int64_t n, const float *mean, const float *analysis, const float *x,
                               double *y)
{
    double d[GEODEC_CODES_DIM_MAX];
    for (int64_t i = 0; i < dim; i++) d[i] = (double)x[i] - (double)mean[i];
    for (int64_t i = 0; i < n; i++) y[i] = 0;
    for (int64_t j = 0; j < dim; j++)
        for (int64_t i = 0; i < n; i++) y[i] += (double)analysis[j * dim + i] * d[j];
}

void geodec__principal_synthesise(int64_t dim, int64_t n, const float *mean, const float *synthesis, const double *y,
                                  float *x)
{
    double sum[GEODEC_CODES_DIM_MAX];
    for (int64_t j = 0; j < dim; j++) sum[j] = (double)mean[j];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < dim && y[i] != 0; j++) sum[j] += y[i] * (double)synthesis[i * dim + j];
    for (int64_t j = 0; j < dim; j++) x[j] = (float)sum[j];
}
