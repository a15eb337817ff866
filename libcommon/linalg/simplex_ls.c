#include "linalg/simplex_ls.h"

#include "base/mem.h"
#include "linalg/chol.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The affine combination of the chosen points nearest to the origin: (G + s 1 1^T) b = 1, a = b / sum b, with the Gram
 * matrix G of the points and s > 0 of its size. False when they are not affinely independent to working precision. */
static bool affine(int64_t k, const double *gram, double size, int64_t m, const int64_t *set, double *a, double *work)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++) work[i * m + j] = gram[set[i] * k + set[j]] + size;
        work[i * m + i] += 1e-15 * size;
        a[i] = 1;
    }
    if (geodec_chol_factor(m, work, NULL) != GEODEC_OK) return false;
    geodec_chol_solve(m, work, 1, a);
    for (int64_t i = 0; i < m; i++) sum += a[i];
    for (int64_t i = 0; i < m; i++) a[i] /= sum;
    return isfinite(sum) && sum != 0;
}

geodec_status geodec_simplex_ls(int64_t k, int64_t d, const double *rows, const double *target, double *w,
                                double *residual, double *kkt, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL;
    int64_t *set = NULL, m = 0;
    if (k < 1 || d < 1) GEODEC_THROW(GEODEC_RANGE, "%lld points in %lld dimensions", (long long)k, (long long)d);
    GEODEC_NEW(block, k * d + 2 * k * k + 3 * k);
    GEODEC_NEW(set, k);
    double *p = block, *gram = p + k * d, *work = gram + k * k, *weight = work + k * k, *a = weight + k, *along = a + k;
    double size = 0;
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < d; j++) p[i * d + j] = rows[i * d + j] - target[j];
        for (int64_t j = 0; j <= i; j++) {
            double s = 0;
            for (int64_t q = 0; q < d; q++) s += p[i * d + q] * p[j * d + q];
            gram[i * k + j] = gram[j * k + i] = s;
        }
        if (!isfinite(gram[i * k + i])) GEODEC_THROW(GEODEC_NUMERIC, "point %lld is not finite", (long long)i);
        size = fmax(size, gram[i * k + i]);
    }
    /* begin with the point of smallest norm */
    int64_t first = 0;
    for (int64_t i = 1; i < k; i++)
        if (gram[i * k + i] < gram[first * k + first]) first = i;
    set[0] = first;
    weight[0] = 1;
    m = 1;
    const double tiny = 1e-14 * size;
    double xx = 0, gap = 0;
    for (int64_t step = 0;; step++) {
        int64_t best = -1;
        double least = INFINITY;
        for (int64_t i = 0; i < k; i++) {
            along[i] = 0;
            for (int64_t q = 0; q < m; q++) along[i] += weight[q] * gram[i * k + set[q]];
        }
        xx = 0;
        for (int64_t q = 0; q < m; q++) xx += weight[q] * along[set[q]];
        for (int64_t i = 0; i < k; i++) {
            if (along[i] >= least) continue;
            least = along[i];
            best = i;
        }
        gap = xx - least;
        bool inside = false;
        for (int64_t q = 0; q < m; q++) inside = inside || set[q] == best;
        if (gap <= tiny || inside) break;
        if (step > 100 + 10 * k)
            GEODEC_THROW(GEODEC_NOCONV, "no minimum over the simplex after %lld steps", (long long)step);
        set[m] = best;
        weight[m++] = 0;
        for (;;) {
            if (!affine(k, gram, fmax(size, 1e-300), m, set, a, work)) {
                /* the new point is in the span of the others: the minimum is reached to working precision */
                if (weight[m - 1] == 0) m--;
                break;
            }
            double theta = 1;
            bool positive = true;
            for (int64_t q = 0; q < m; q++) {
                if (a[q] > 1e-14) continue;
                positive = false;
                if (weight[q] - a[q] > 0) theta = fmin(theta, weight[q] / (weight[q] - a[q]));
            }
            if (positive) {
                memcpy(weight, a, (size_t)m * sizeof *a);
                break;
            }
            int64_t kept = 0;
            for (int64_t q = 0; q < m; q++) {
                const double v = (1 - theta) * weight[q] + theta * a[q];
                if (v <= 1e-14) continue;
                weight[kept] = v;
                set[kept++] = set[q];
            }
            if (kept == m) kept = m - 1; /* rounding kept all weights positive: drop the newest point */
            if (kept < 1) {
                set[0] = first;
                weight[0] = 1;
                kept = 1;
            }
            m = kept;
        }
    }
    double sum = 0;
    for (int64_t q = 0; q < m; q++) sum += weight[q];
    memset(w, 0, (size_t)k * sizeof *w);
    for (int64_t q = 0; q < m; q++) w[set[q]] = weight[q] / sum;
    if (residual) {
        double r = 0;
        for (int64_t j = 0; j < d; j++) {
            double s = 0;
            for (int64_t i = 0; i < k; i++) s += w[i] * p[i * d + j];
            r += s * s;
        }
        *residual = sqrt(r);
    }
    if (kkt) *kkt = size > 0 ? fmax(gap, 0) / size : 0;
done:
    geodec_mem_free(block);
    geodec_mem_free(set);
    return st;
}
