#include "lab/fisher/rank.h"

#include "base/mem.h"
#include "base/rng.h"
#include "fisher/kl_internal.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "session/model.h"

#include <math.h>
#include <string.h>

enum { TANGENTS = 64, STRIP = 256 /* rows of J0 at a time */ };

/* (tr A)^2 / tr(A^2) of a symmetric matrix. */
static double participation(int64_t d, const double *a)
{
    double trace = 0, square = 0;
    for (int64_t i = 0; i < d; i++) trace += a[i * d + i];
    for (int64_t i = 0; i < d * d; i++) square += a[i] * a[i];
    return trace * trace / square;
}

/* One sample: G0 = sum_i p_i j_i j_i^T - m m^T with m = sum_i p_i j_i. rows [STRIP][d], mean [d] are scratch. */
static double control_sample(int64_t d, int64_t v, const double *p, geodec_rng rng, double *g, double *rows,
                             double *mean)
{
    memset(g, 0, (size_t)(d * d) * sizeof *g);
    memset(mean, 0, (size_t)d * sizeof *mean);
    for (int64_t first = 0; first < v; first += STRIP) {
        const int64_t m = v - first < STRIP ? v - first : STRIP;
        for (int64_t i = 0; i < m; i++) {
            const double root = sqrt(p[first + i]);
            for (int64_t j = 0; j < d; j++) {
                const double normal = geodec_rng_normal(&rng);
                rows[i * d + j] = root * normal;
                mean[j] += p[first + i] * normal;
            }
        }
        geodec_blas_syrk(m, d, 1, rows, d, 1, g, d);
    }
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++) g[i * d + j] -= mean[i] * mean[j];
    return participation(d, g);
}

geodec_status geodec_fisher_control(int64_t d_model, int64_t n_vocab, const double *p, int draws, uint64_t seed,
                                    uint64_t stream, double *rank, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *g = NULL, *rows = NULL, *mean = NULL, sum = 0;
    if (draws < 1) GEODEC_THROW(GEODEC_RANGE, "%d draws", draws);
    GEODEC_NEW(g, d_model * d_model);
    GEODEC_NEW(rows, STRIP * d_model);
    GEODEC_NEW(mean, d_model);
    for (int i = 0; i < draws; i++) {
        const uint64_t id = geodec_rng_id("fisher control", stream * (uint64_t)draws + (uint64_t)i);
        sum += control_sample(d_model, n_vocab, p, geodec_rng_stream(seed, id), g, rows, mean);
    }
    *rank = sum / draws;
done:
    GEODEC_FREE(g, rows, mean);
    return st;
}

static geodec_status check_metric(const geodec_reference *r, int32_t from, int64_t n, const double *x, const double *p,
                                  const double *g, uint64_t seed, uint64_t stream, double *check, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(geodec_reference_model(r));
    const int64_t d = c->d_model, v = c->n_vocab;
    const int32_t last = (int32_t)(n - 1);
    const geodec_reference_rows rows = {1, &last};
    geodec_rng rng = geodec_rng_stream(seed, geodec_rng_id("fisher direction", stream));
    double *u = NULL, *at = NULL, *y = NULL, form = 0, kl = 0;
    GEODEC_NEW(u, d);
    GEODEC_NEW(y, v);
    for (int64_t j = 0; j < d; j++) { /* u = G w, w random: in the null space of G both sides are zero */
        const double w = geodec_rng_normal(&rng);
        for (int64_t i = 0; i < d; i++) u[i] += w * g[j * d + i];
    }
    for (int64_t i = 0; i < d; i++) form += u[i] * geodec_blas_dot(d, g + i * d, u);
    GEODEC_NEW_COPY(at, x, n * d);
    const double h = 1e-3 / sqrt(form); /* the divergence is about 5e-7: far above rounding, far below curvature */
    for (int side = -1; side <= 1; side += 2) {
        for (int64_t i = 0; i < d; i++) at[last * d + i] = x[last * d + i] + side * h * u[i];
        GEODEC_TRY(geodec_reference_run(r, from, c->n_layer + 1, n, at, &rows, y, err));
        kl += geodec__kl(v, p, y);
    }
    *check = fabs(kl / (h * h) - form) / form;
done:
    GEODEC_FREE(u, at, y);
    return st;
}

geodec_status geodec_fisher_at(const geodec_reference *r, int32_t from, int64_t n, const double *x, uint64_t seed,
                               uint64_t stream, geodec_fisher_figures *out, double *probability, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(geodec_reference_model(r));
    const int64_t d = c->d_model, v = c->n_vocab;
    geodec_fisher_figures f = {0};
    double *g = NULL, *p = NULL, *w = NULL;
    GEODEC_NEW(g, d * d);
    GEODEC_NEW(p, v);
    GEODEC_NEW(w, d);
    GEODEC_TRY(geodec_reference_fisher(r, from, n, x, d < TANGENTS ? d : TANGENTS, g, p, err));
    GEODEC_TRY(geodec_eig_values(d, g, w, err));
    for (int64_t i = 0; i < v; i++) f.entropy -= p[i] > 0 ? p[i] * log(p[i]) : 0;
    for (int64_t i = 0; i < d; i++) f.trace += g[i * d + i];
    f.largest = w[d - 1] / f.trace;
    f.rank = participation(d, g);
    GEODEC_TRY(check_metric(r, from, n, x, p, g, seed, stream, &f.check, err));
    if (probability) memcpy(probability, p, (size_t)v * sizeof *p);
    *out = f;
done:
    GEODEC_FREE(g, p, w);
    return st;
}
