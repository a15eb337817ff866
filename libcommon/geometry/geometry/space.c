#include "geometry/space.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "linalg/chol.h"

#include <math.h>
#include <string.h>

enum { SPACE_MAX_N = 64 };

static geodec_status path_of_one(const geodec_space *s, const double *x, const double *v, double *speed2, double *accel,
                                 double *work, geodec_err *err)
{
    const int64_t n = s->n;
    double *gamma = work, *g = work + n * n * n;
    GEODEC_PASS(s->at(s, x, speed2 ? g : NULL, NULL, accel ? gamma : NULL, err));
    if (speed2) *speed2 = geodec__norm2(n, g, v);
    if (accel) geodec_geodesic_accel(n, gamma, v, accel);
    return GEODEC_OK;
}

geodec_status geodec_space_path(const geodec_space *s, int64_t points, const double *x, const double *v, double *speed2,
                                double *accel, double *work, geodec_err *err)
{
    const int64_t n = s->n;
    int64_t together = GEODEC_SPACE_TOGETHER;
    for (int64_t i = 0; i < points;) {
        const int64_t now = points - i < together ? points - i : together;
        double *q = speed2 ? speed2 + i : NULL, *a = accel ? accel + i * n : NULL;
        bool done_here = false;
        if (s->path) GEODEC_PASS(s->path(s, now, x + i * n, v + i * n, q, a, &done_here, err));
        if (!done_here && s->path && now > 1) { /* each point decides for itself */
            together = 1;
            continue;
        }
        if (!done_here)
            for (int64_t k = 0; k < now; k++)
                GEODEC_PASS(path_of_one(s, x + (i + k) * n, v + (i + k) * n, q ? q + k : NULL, a ? a + k * n : NULL,
                                        work, err));
        i += now;
    }
    return GEODEC_OK;
}

static geodec_status variation_of_one(const geodec_space *s, const double *x, const double *v, double *gv, double *dgvv,
                                      double *work, geodec_err *err)
{
    const int64_t n = s->n, nn = n * n, n3 = nn * n;
    double *gamma = work, *dgamma = work + n3;
    GEODEC_PASS(s->at(s, x, NULL, NULL, gamma, err));
    GEODEC_PASS(geodec_space_dgamma(s, x, dgamma, err));
    memset(gv, 0, (size_t)nn * sizeof *gv);
    memset(dgvv, 0, (size_t)nn * sizeof *dgvv);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++) gv[k * n + j] += v[i] * gamma[(i * n + j) * n + k];
    for (int64_t c = 0; c < n; c++) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j <= i; j++) { /* symmetric in i, j */
                const double w = (i == j ? 1 : 2) * v[i] * v[j];
                const double *row = dgamma + c * n3 + (i * n + j) * n;
                for (int64_t k = 0; k < n; k++) dgvv[k * n + c] += w * row[k];
            }
        }
    }
    return GEODEC_OK;
}

geodec_status geodec_space_variation(const geodec_space *s, int64_t points, const double *x, const double *v,
                                     double *gv, double *dgvv, double *work, geodec_err *err)
{
    const int64_t n = s->n, nn = n * n;
    int64_t together = GEODEC_SPACE_TOGETHER;
    for (int64_t i = 0; i < points;) {
        const int64_t now = points - i < together ? points - i : together;
        bool done_here = false;
        if (s->variation)
            GEODEC_PASS(s->variation(s, now, x + i * n, v + i * n, gv + i * nn, dgvv + i * nn, &done_here, err));
        if (!done_here && s->variation && now > 1) { /* each point decides for itself */
            together = 1;
            continue;
        }
        if (!done_here)
            for (int64_t k = i; k < i + now; k++)
                GEODEC_PASS(variation_of_one(s, x + k * n, v + k * n, gv + k * nn, dgvv + k * nn, work, err));
        i += now;
    }
    return GEODEC_OK;
}

/* Central differences of gamma or of g with step h: result [n][n][n][n] or [n][n][n]. */
static geodec_status differences(const geodec_space *s, const double *x, double h, bool of_gamma, double *result,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *out = NULL;
    const int64_t n = s->n, size = n * n * (of_gamma ? n : 1);
    GEODEC_NEW(out, (n + 1) * size + n);
    double *minus = out + n * size, *y = minus + size;
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int64_t c = 0; c < n; c++) {
        /* span: the actual step, after rounding of x + h and x - h */
        const double up = x[c] + h, down = x[c] - h, span = up - down, scale = 1 / span;
        double *plus = out + c * size;
        y[c] = up;
        GEODEC_TRY(s->at(s, y, of_gamma ? NULL : plus, NULL, of_gamma ? plus : NULL, err));
        y[c] = down;
        GEODEC_TRY(s->at(s, y, of_gamma ? NULL : minus, NULL, of_gamma ? minus : NULL, err));
        y[c] = x[c];
        for (int64_t i = 0; i < size; i++)
            plus[i] = of_gamma ? (plus[i] - minus[i]) * scale : (plus[i] - minus[i]) / span;
    }
    memcpy(result, out, (size_t)(n * size) * sizeof *result);
done:
    geodec_mem_free(out);
    return st;
}

geodec_status geodec_space_dgamma(const geodec_space *s, const double *x, double *dgamma, geodec_err *err)
{
    if (s->dgamma) return s->dgamma(s, x, dgamma, err);
    if (!(s->fd_step > 0))
        GEODEC_FAIL(GEODEC_INVAL, "space %s has no derivative of gamma and no step for differences", s->name);
    GEODEC_PASS(differences(s, x, s->fd_step, true, dgamma, err));
    return GEODEC_OK;
}

geodec_status geodec_space_christoffel(int32_t n32, const double *g, const double *dg, double *gamma, geodec_err *err)
{
    double l[SPACE_MAX_N * SPACE_MAX_N];
    const int64_t n = n32;
    if (n < 1 || n > SPACE_MAX_N)
        GEODEC_FAIL(GEODEC_RANGE, "dimension %lld is outside 1..%d", (long long)n, SPACE_MAX_N);
    memcpy(l, g, (size_t)(n * n) * sizeof *l);
    if (geodec_chol_factor(n, l, NULL) != GEODEC_OK) {
        GEODEC_FAIL(GEODEC_NUMERIC, "the metric is not positive definite or not finite");
    }
    /* Lowered symbols of the pairs i <= j, packed at the front of gamma, raised there, then spread out from the back:
     * the packed place of a pair is never behind its final one. */
    double *row = gamma;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = i; j < n; j++, row += n) {
            const double *di = dg + (i * n + j) * n; /* d_i g_jl */
            const double *dj = dg + (j * n + i) * n; /* d_j g_il */
            for (int64_t k = 0; k < n; k++) row[k] = 0.5 * (di[k] + dj[k] - dg[(k * n + i) * n + j]);
        }
    }
    geodec_chol_solve(n, l, n * (n + 1) / 2, gamma);
    const size_t bytes = (size_t)n * sizeof *gamma;
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t j = n - 1; j >= i; j--) {
            row -= n;
            double *ij = gamma + (i * n + j) * n, *ji = gamma + (j * n + i) * n;
            if (ji != row) memcpy(ji, row, bytes);
            if (ij != row && ij != ji) memcpy(ij, row, bytes);
        }
    }
    return GEODEC_OK;
}

geodec_status geodec_space_dg_fd(const geodec_space *s, const double *x, double h, double *dg, geodec_err *err)
{
    if (!(h > 0)) GEODEC_FAIL(GEODEC_RANGE, "differences with step %g", h);
    GEODEC_PASS(differences(s, x, h, false, dg, err));
    return GEODEC_OK;
}

geodec_status geodec_space_christoffel_fd(const geodec_space *s, const double *x, double h, double *gamma,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *g = NULL;
    const int64_t n = s->n, nn = n * n;
    GEODEC_NEW(g, nn + n * nn);
    double *dg = g + nn;
    GEODEC_TRY(geodec_space_dg_fd(s, x, h, dg, err));
    GEODEC_TRY(s->at(s, x, g, NULL, NULL, err));
    GEODEC_TRY(geodec_space_christoffel((int32_t)n, g, dg, gamma, err));
done:
    geodec_mem_free(g);
    return st;
}
