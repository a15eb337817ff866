#include "geometry/curvature.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/curvature_internal.h"
#include "geometry/space_closed.h"
#include "linalg/blas.h"
#include "linalg/chol.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* riem from gamma, dgamma and room for the product; quad [n][n][n][n]. */
static void assemble(int64_t n, const double *gamma, const double *dgamma, double *quad, double *riem)
{
    const int64_t n2 = n * n, n3 = n2 * n;
    /* quad[b][d][c][a] = Gamma^e_bd Gamma^a_ec: with the upper index last, both factors are gamma in its
     * memory layout. */
    geodec_blas_gemm(false, false, n2, n2, n, 1, gamma, n, gamma, n2, 0, quad, n2);
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = 0; b < n; b++) {
            for (int64_t c = 0; c < n; c++) {
                double *row = riem + a * n3 + b * n2 + c * n;
                row[c] = 0;
                for (int64_t d = 0; d < c; d++) {
                    const double r = dgamma[c * n3 + b * n2 + d * n + a] - dgamma[d * n3 + b * n2 + c * n + a] +
                                     quad[b * n3 + d * n2 + c * n + a] - quad[b * n3 + c * n2 + d * n + a];
                    row[d] = r;
                    riem[a * n3 + b * n2 + d * n + c] = -r;
                }
            }
        }
    }
}

geodec_status geodec_curvature_tensor(int32_t n32, const double *gamma, const double *dgamma, double *riem,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *quad = NULL;
    const int64_t n = n32;
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_RANGE, "dimension %lld is outside 1..%d", (long long)n, GEODEC_SPACE_DIM_MAX);
    GEODEC_NEW(quad, n * n * n * n);
    assemble(n, gamma, dgamma, quad, riem);
done:
    geodec_mem_free(quad);
    return st;
}

/* R^a_bcd in the frame E = L^-T (columns g-orthonormal, g = L L^T): riem[a][b][c][d] becomes R(e_a, e_b, e_c, e_d); the
 * frame is orthonormal, so upper and lower indices are equal. Each product contracts the last index and brings it to
 * the front. lower_inverse_t [n][n] = (L^-1)^T; tmp [n][n][n][n]. */
static void to_frame(int64_t n, const double *l, const double *lower_inverse_t, double *riem, double *tmp)
{
    const int64_t n3 = n * n * n;
    geodec_blas_gemm(true, true, n, n3, n, 1, lower_inverse_t, n, riem, n, 0, tmp, n3);
    geodec_blas_gemm(true, true, n, n3, n, 1, lower_inverse_t, n, tmp, n, 0, riem, n3);
    geodec_blas_gemm(true, true, n, n3, n, 1, lower_inverse_t, n, riem, n, 0, tmp, n3);
    geodec_blas_gemm(true, true, n, n3, n, 1, l, n, tmp, n, 0, riem, n3); /* the upper index takes L^T */
}

void geodec__curvature_invariants(int64_t n, const double *f, bool flat, geodec_curvature_invariants *inv)
{
    const int64_t n2 = n * n, n3 = n2 * n;
    double top = 0, sum2 = 0, scalar = 0, first = 0, last = 0, exchange = 0, bianchi = 0, kmax = -INFINITY,
           kmin = INFINITY;
#define R(a, b, c, d) f[(a)*n3 + (b)*n2 + (c)*n + (d)]
    for (int64_t i = 0; i < n3 * n; i++) {
        sum2 += f[i] * f[i];
        top = fmax(top, fabs(f[i]));
    }
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = 0; b < n; b++) {
            scalar += R(a, b, a, b);
            if (a < b) {
                kmax = fmax(kmax, R(a, b, a, b));
                kmin = fmin(kmin, R(a, b, a, b));
            }
            for (int64_t c = 0; c < n; c++) {
                for (int64_t d = 0; d < n; d++) {
                    first = fmax(first, fabs(R(a, b, c, d) + R(b, a, c, d)));
                    last = fmax(last, fabs(R(a, b, c, d) + R(a, b, d, c)));
                    exchange = fmax(exchange, fabs(R(a, b, c, d) - R(c, d, a, b)));
                    bianchi = fmax(bianchi, fabs(R(a, b, c, d) + R(a, c, d, b) + R(a, d, b, c)));
                }
            }
        }
    }
#undef R
    const double unit = flat || top == 0 ? 0 : 1 / top;
    inv->scalar = scalar;
    inv->norm = sqrt(sum2);
    inv->sectional_max = n > 1 ? kmax : 0;
    inv->sectional_min = n > 1 ? kmin : 0;
    inv->check = (geodec_curvature_check){
        .first_pair = first * unit, .last_pair = last * unit, .exchange = exchange * unit, .bianchi = bianchi * unit};
}

/* Many values at once: x * 0 is 0 for a finite x, else NaN. */
static bool all_finite(int64_t n, const double *x)
{
    double zero[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) zero[j] += x[i + j] * 0;
    for (; i < n; i++) zero[0] += x[i] * 0;
    for (int j = 1; j < 8; j++) zero[0] += zero[j];
    return zero[0] == 0;
}

geodec_status geodec_curvature_at(const geodec_space *s, const double *x, double *riem, double *ricci,
                                  geodec_curvature_invariants *inv, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    const int64_t n = s->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_RANGE, "dimension %lld is outside 1..%d", (long long)n, GEODEC_SPACE_DIM_MAX);
    if (riem && !ricci && !inv && s->riemann) {
        bool done_here;
        GEODEC_TRY(s->riemann(s, x, riem, &done_here, err));
        if (done_here && !all_finite(n4, riem)) GEODEC_THROW(GEODEC_NUMERIC, "the curvature is not finite");
        if (done_here) goto done;
    }
    GEODEC_NEW(block, 3 * n4 + n3 + 2 * n2);
    double *dgamma = block, *quad = dgamma + n4, *r = quad + n4, *gamma = r + n4, *g = gamma + n3, *eye = g + n2;
    GEODEC_TRY(s->at(s, x, g, NULL, gamma, err));
    GEODEC_TRY(geodec_space_dgamma(s, x, dgamma, err));
    assemble(n, gamma, dgamma, quad, r);
    /* Where the terms cancel to rounding the space is flat, and the ratio of two roundings has no meaning. */
    const double gm = geodec__largest(n3, gamma), terms = geodec__largest(n4, dgamma) + (double)n * gm * gm;
    const bool flat = geodec__largest(n4, r) <= 1e-12 * terms;
    GEODEC_TRY(geodec_chol_factor(n, g, err));
    for (int64_t i = 0; i < n; i++) eye[i * n + i] = 1;
    geodec_chol_solve_lower(n, g, n, eye);
    if (riem) memcpy(riem, r, (size_t)n4 * sizeof *riem);
    if (ricci) {
        for (int64_t b = 0; b < n; b++) {
            for (int64_t d = 0; d < n; d++) {
                double sum = 0;
                for (int64_t a = 0; a < n; a++) sum += r[a * n3 + b * n2 + a * n + d];
                ricci[b * n + d] = sum;
            }
        }
    }
    if (!geodec__finite(n4, r)) GEODEC_THROW(GEODEC_NUMERIC, "the curvature is not finite");
    if (!inv) goto done;
    to_frame(n, g, eye, r, quad);
    if (!geodec__finite(n4, r)) GEODEC_THROW(GEODEC_NUMERIC, "the curvature is not finite");
    geodec__curvature_invariants(n, r, flat, inv);
done:
    geodec_mem_free(block);
    return st;
}

typedef struct batch {
    const geodec_space *s;
    const double *x;
    double *riem, *ricci;
    geodec_curvature_invariants *inv;
} batch;

static geodec_status batch_task(void *ctx, int64_t p, geodec_err *err)
{
    batch *b = ctx;
    const int64_t n = b->s->n, n2 = n * n;
    return geodec_curvature_at(b->s, b->x + p * n, b->riem ? b->riem + p * n2 * n2 : NULL,
                               b->ricci ? b->ricci + p * n2 : NULL, b->inv ? &b->inv[p] : NULL, err);
}

geodec_status geodec_curvature_batch(const geodec_space *s, geodec_pool *pool, const geodec_hooks *hooks,
                                     int64_t n_points, const double *x, double *riem, double *ricci,
                                     geodec_curvature_invariants *inv, geodec_err *err)
{
    batch b = {s, x, riem, ricci, inv};
    return geodec__tasks_run(pool, hooks, "curvature", n_points, batch_task, &b, err);
}
