#include "linalg/simplex_ls.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/chol.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

typedef struct search {
    int64_t k, m;       /* points; those of the active set */
    int64_t first;      /* the point of smallest norm */
    const double *gram; /* [k][k] */
    double size;        /* largest squared norm */
    int64_t *set;       /* [m] */
    double *weight;     /* [m] */
    double *a, *work;   /* [k], [k][k] scratch */
} search;

/* a = the affine combination of the active points nearest to the origin: (G + s 1 1^T) b = 1, a = b / sum b, with the
 * Gram matrix G of the points and s > 0 of its size. False when they are not affinely independent to working
 * precision. */
static bool affine(const search *s)
{
    const int64_t k = s->k, m = s->m;
    const double size = fmax(s->size, 1e-300);
    double sum = 0, *a = s->a;
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < m; j++) s->work[i * m + j] = s->gram[s->set[i] * k + s->set[j]] + size;
        s->work[i * m + i] += 1e-15 * size;
        a[i] = 1;
    }
    if (geodec_chol_factor(m, s->work, NULL) != GEODEC_OK) return false;
    geodec_chol_solve(m, s->work, 1, a);
    for (int64_t i = 0; i < m; i++) sum += a[i];
    for (int64_t i = 0; i < m; i++) a[i] /= sum;
    return isfinite(sum) && sum != 0;
}

static void begin(search *s)
{
    s->set[0] = s->first;
    s->weight[0] = 1;
    s->m = 1;
}

/* Moves to the minimum over the active points and drops those of weight zero. */
static void descend(search *s)
{
    double *weight = s->weight, *a = s->a;
    for (;;) {
        if (!affine(s)) {
            /* the new point is in the span of the others: the minimum is reached to working precision */
            if (weight[s->m - 1] == 0) s->m--;
            return;
        }
        double theta = 1;
        bool positive = true;
        for (int64_t q = 0; q < s->m; q++) {
            if (a[q] > 1e-14) continue;
            positive = false;
            if (weight[q] - a[q] > 0) theta = fmin(theta, weight[q] / (weight[q] - a[q]));
        }
        if (positive) {
            memcpy(weight, a, (size_t)s->m * sizeof *a);
            return;
        }
        int64_t kept = 0;
        for (int64_t q = 0; q < s->m; q++) {
            const double v = (1 - theta) * weight[q] + theta * a[q];
            if (v <= 1e-14) continue;
            weight[kept] = v;
            s->set[kept++] = s->set[q];
        }
        if (kept == s->m) kept--; /* rounding kept all weights positive: drop the newest point */
        s->m = kept;
        if (kept < 1) begin(s);
    }
}

/* Active sets until no point is nearer; *gap = x.x - min_i x.p_i there. along: [k] scratch. */
static geodec_status minimise(search *s, double *along, double *gap, geodec_err *err)
{
    const int64_t k = s->k;
    for (int64_t step = 0;; step++) {
        int64_t best = -1;
        double least = INFINITY, xx = 0;
        for (int64_t i = 0; i < k; i++) {
            along[i] = 0;
            for (int64_t q = 0; q < s->m; q++) along[i] += s->weight[q] * s->gram[i * k + s->set[q]];
        }
        for (int64_t q = 0; q < s->m; q++) xx += s->weight[q] * along[s->set[q]];
        for (int64_t i = 0; i < k; i++) {
            if (along[i] >= least) continue;
            least = along[i];
            best = i;
        }
        *gap = xx - least;
        bool inside = false;
        for (int64_t q = 0; q < s->m; q++) inside = inside || s->set[q] == best;
        if (*gap <= 1e-14 * s->size || inside) break;
        if (step > 100 + 10 * k)
            GEODEC_FAIL(GEODEC_NOCONV, "no minimum over the simplex after %lld steps", (long long)step);
        s->set[s->m] = best;
        s->weight[s->m++] = 0;
        descend(s);
    }
    return GEODEC_OK;
}

geodec_status geodec_simplex_ls(int64_t k, int64_t d, const double *rows, const double *target, double *w,
                                double *residual, double *kkt, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL, gap = 0, sum = 0;
    search s = {.k = k};
    if (k < 1 || d < 1) GEODEC_THROW(GEODEC_RANGE, "%lld points in %lld dimensions", (long long)k, (long long)d);
    GEODEC_NEW(block, k * d + 2 * k * k + 3 * k);
    GEODEC_NEW(s.set, k);
    double *p = block, *gram = p + k * d, *along;
    s.gram = gram;
    s.work = gram + k * k, s.weight = s.work + k * k, s.a = s.weight + k, along = s.a + k;
    for (int64_t i = 0; i < k; i++) {
        for (int64_t j = 0; j < d; j++) p[i * d + j] = rows[i * d + j] - target[j];
        for (int64_t j = 0; j <= i; j++) gram[i * k + j] = gram[j * k + i] = geodec__dot(d, p + i * d, p + j * d);
        if (!isfinite(gram[i * k + i])) GEODEC_THROW(GEODEC_NUMERIC, "point %lld is not finite", (long long)i);
        s.size = fmax(s.size, gram[i * k + i]);
        if (gram[i * k + i] < gram[s.first * k + s.first]) s.first = i;
    }
    begin(&s);
    GEODEC_TRY(minimise(&s, along, &gap, err));
    for (int64_t q = 0; q < s.m; q++) sum += s.weight[q];
    memset(w, 0, (size_t)k * sizeof *w);
    for (int64_t q = 0; q < s.m; q++) w[s.set[q]] = s.weight[q] / sum;
    if (residual) {
        double r = 0;
        for (int64_t j = 0; j < d; j++) {
            double x = 0;
            for (int64_t i = 0; i < k; i++) x += w[i] * p[i * d + j];
            r += x * x;
        }
        *residual = sqrt(r);
    }
    if (kkt) *kkt = s.size > 0 ? fmax(gap, 0) / s.size : 0;
done:
    GEODEC_FREE(block, s.set);
    return st;
}
