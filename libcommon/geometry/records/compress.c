#include "records/compress.h"

#include "base/f16.h"
#include "base/mem.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

/* ---- propagators ------------------------------------------------------------------------------------------------ */

int64_t geodec_compress_factors_size(int64_t n, int64_t count, int32_t rank, bool full)
{
    return count * (full ? n * n : 2 * n * rank);
}

static double frobenius(int64_t n, const double *a)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * a[i];
    return sqrt(s);
}

static void minus_identity(int64_t n, const double *phi, double *m)
{
    memcpy(m, phi, (size_t)(n * n) * sizeof *m);
    for (int64_t a = 0; a < n; a++) m[a * n + a] -= 1;
}

/* Smallest r with |s_{r+1..n}| <= limit; s is in falling order. */
static int32_t rank_for(int64_t n, const double *s, double limit)
{
    double tail = 0;
    int64_t r = n;
    for (; r > 0; r--) {
        tail += s[r - 1] * s[r - 1];
        if (sqrt(tail) > limit) break;
    }
    return (int32_t)r;
}

void geodec_compress_factors_expand(int64_t n, int32_t rank, bool full, const float *packed, int64_t i, double *phi)
{
    const int64_t nn = n * n;
    if (full) {
        const float *m = packed + i * nn;
        for (int64_t k = 0; k < nn; k++) phi[k] = m[k];
    } else {
        const float *u = packed + i * 2 * n * rank, *v = u + n * rank;
        for (int64_t a = 0; a < n; a++) {
            for (int64_t b = 0; b < n; b++) {
                double sum = 0;
                for (int32_t k = 0; k < rank; k++) sum += (double)u[a * rank + k] * (double)v[b * rank + k];
                phi[a * n + b] = sum;
            }
        }
    }
    for (int64_t a = 0; a < n; a++) phi[a * n + a] += 1;
}

/* U S V^T of m [n][n] by the eigenvectors of m^T m: s_k = |m v_k| falls, u_k = m v_k / s_k. The truncation to rank r is
 * m V_r V_r^T. Its error is the tail of s for any accuracy of V; only directions whose s is within 1e-8 of the largest
 * s may be interchanged. scratch: 2 n^2 + n + geodec_eig_sym_scratch(n). u and vt may be NULL. */
static geodec_status factorise(int64_t n, const double *m, double *u, double *s, double *vt, double *scratch,
                               geodec_err *err)
{
    const int64_t nn = n * n;
    double *gram = scratch, *v = gram + nn, *w = v + nn, *more = w + n;
    memset(gram, 0, (size_t)nn * sizeof *gram);
    for (int64_t i = 0; i < n; i++)
        for (int64_t a = 0; a < n; a++) {
            const double t = m[i * n + a];
            for (int64_t b = 0; b < n; b++) gram[a * n + b] += t * m[i * n + b];
        }
    GEODEC_PASS(geodec_eig_sym_ws(n, gram, w, v, more, err));
    for (int64_t k = 0; k < n; k++) {
        const double *row = v + (n - 1 - k) * n;
        double *image = gram, norm = 0;
        for (int64_t i = 0; i < n; i++) {
            image[i] = 0;
            for (int64_t a = 0; a < n; a++) image[i] += m[i * n + a] * row[a];
            norm += image[i] * image[i];
        }
        s[k] = sqrt(norm);
        for (int64_t i = 0; u && i < n; i++) u[i * n + k] = s[k] > 0 ? image[i] / s[k] : 0;
        if (vt) memcpy(vt + k * n, row, (size_t)n * sizeof *vt);
    }
    return GEODEC_OK;
}

static void by_rank(int64_t n, const double *s, double norm, float *out)
{
    for (int64_t r = 0; r < n; r++) out[r] = norm > 0 ? (float)(frobenius(n - r - 1, s + r + 1) / norm) : 0;
}

geodec_status geodec_compress_factors_by_rank(int64_t n, const double *phi, float *cut, float *naive, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    GEODEC_NEW(block, n * n + n + 2 * n * n + n + geodec_eig_sym_scratch(n));
    double *m = block, *s = m + n * n, *scratch = s + n;
    const double norm = frobenius(n * n, phi);
    GEODEC_TRY(factorise(n, phi, NULL, s, NULL, scratch, err));
    by_rank(n, s, norm, naive);
    minus_identity(n, phi, m);
    GEODEC_TRY(factorise(n, m, NULL, s, NULL, scratch, err));
    by_rank(n, s, norm, cut);
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_compress_factors_make(int64_t n, int64_t count, const double *phi, double tolerance, float *packed,
                                           geodec_compress_factors *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t nn = n * n;
    double *block = NULL;
    bool *split = NULL; /* decomposed */
    geodec_compress_factors f = {0};
    if (n < 1 || count < 1 || !(tolerance >= 0))
        GEODEC_THROW(GEODEC_RANGE, "%lld matrices of size %lld, tolerance %g", (long long)count, (long long)n,
                     tolerance);
    for (int64_t k = 0; k < count * nn; k++)
        if (!isfinite(phi[k])) GEODEC_THROW(GEODEC_NUMERIC, "propagator %lld is not finite", (long long)(k / nn));
    GEODEC_NEW(block, count * (2 * nn + n) + 4 * nn + 2 * n + geodec_eig_sym_scratch(n));
    GEODEC_NEW(split, count);
    double *u = block, *vt = u + count * nn, *s = vt + count * nn, *m = s + count * n, *back = m + nn,
           *plain = back + nn, *scratch = plain + n;
    /* Starts from the last matrix, which differs most from I. A matrix that needs the full form ends the search; one
     * within the tolerance of I needs no decomposition. */
    for (int64_t i = count - 1; i >= 0 && 2 * n * f.rank < nn; i--) {
        const double limit = tolerance * frobenius(nn, phi + i * nn);
        minus_identity(n, phi + i * nn, m);
        split[i] = frobenius(nn, m) > limit;
        if (!split[i]) continue;
        GEODEC_TRY(factorise(n, m, u + i * nn, s + i * n, vt + i * nn, scratch, err));
        const int32_t r = rank_for(n, s + i * n, limit);
        if (r > f.rank) f.rank = r;
    }
    f.full = 2 * n * f.rank >= nn;
    if (f.full) f.rank = (int32_t)n;
    for (int64_t i = 0; i < count && !f.full && f.rank > 0; i++) {
        if (split[i]) continue;
        minus_identity(n, phi + i * nn, m);
        GEODEC_TRY(factorise(n, m, u + i * nn, s + i * n, vt + i * nn, scratch, err));
    }
    for (int64_t i = 0; i < count; i++) {
        if (f.full) {
            minus_identity(n, phi + i * nn, m);
            for (int64_t k = 0; k < nn; k++) packed[i * nn + k] = (float)m[k];
        } else {
            float *pu = packed + i * 2 * n * f.rank, *pv = pu + n * f.rank;
            for (int64_t a = 0; a < n; a++) {
                for (int32_t k = 0; k < f.rank; k++) {
                    const double root = sqrt(s[i * n + k]);
                    pu[a * f.rank + k] = (float)(u[i * nn + a * n + k] * root);
                    pv[a * f.rank + k] = (float)(vt[i * nn + k * n + a] * root);
                }
            }
        }
        const double norm = frobenius(nn, phi + i * nn);
        geodec_compress_factors_expand(n, f.rank, f.full, packed, i, back);
        for (int64_t k = 0; k < nn; k++) back[k] -= phi[i * nn + k];
        if (norm > 0) f.error = fmax(f.error, frobenius(nn, back) / norm);
        if (f.rank == n) continue; /* full rank: no truncation */
        if (f.rank == 0) {         /* rank 0: everything is removed */
            f.naive = 1;
            continue;
        }
        GEODEC_TRY(factorise(n, phi + i * nn, NULL, plain, NULL, scratch, err));
        if (norm > 0) f.naive = fmax(f.naive, frobenius(n - f.rank, plain + f.rank) / norm);
    }
    *out = f;
done:
    GEODEC_FREE(split, block);
    return st;
}

/* ---- paths ------------------------------------------------------------------------------------------------------ */

static float largest_offset(int64_t n, int64_t count, int64_t stride, const double *rows, const double *origin)
{
    double top = 0;
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < n; i++) top = fmax(top, fabs(rows[k * stride * n + i] - (origin ? origin[i] : 0)));
    return top > 0 ? (float)top : 1;
}

void geodec_compress_waypoints_make(int64_t n, int64_t steps, int64_t stride, const double *xs, const double *vs,
                                    uint16_t *x, uint16_t *v, float *x_scale, float *v_scale)
{
    const int64_t count = steps / stride + 1;
    *x_scale = largest_offset(n, count, stride, xs, xs);
    *v_scale = largest_offset(n, count, stride, vs, NULL);
    for (int64_t k = 0; k < count; k++) {
        for (int64_t i = 0; i < n; i++) {
            const int64_t from = k * stride * n + i;
            x[k * n + i] = geodec_f32_to_f16((float)((xs[from] - xs[i]) / (double)*x_scale));
            v[k * n + i] = geodec_f32_to_f16((float)(vs[from] / (double)*v_scale));
        }
    }
}

void geodec_compress_waypoints_at(const geodec_compress_waypoints *w, double t, double *x)
{
    const double h = w->interval;
    int64_t k = (int64_t)(t / h);
    k = k < 0 ? 0 : k > w->count - 2 ? w->count - 2 : k;
    const double c = t / h - (double)k, d = 1 - c;
    const double h00 = (1 + 2 * c) * d * d, h10 = c * d * d * h, h01 = c * c * (3 - 2 * c), h11 = -c * c * d * h;
    const uint16_t *x0 = w->x + k * w->n, *v0 = w->v + k * w->n;
    for (int64_t i = 0; i < w->n; i++) {
        const double xa = geodec_f16_to_f32(x0[i]), xb = geodec_f16_to_f32(x0[w->n + i]);
        const double va = geodec_f16_to_f32(v0[i]), vb = geodec_f16_to_f32(v0[w->n + i]);
        x[i] = w->origin[i] + (double)w->x_scale * (h00 * xa + h01 * xb) + (double)w->v_scale * (h10 * va + h11 * vb);
    }
}
