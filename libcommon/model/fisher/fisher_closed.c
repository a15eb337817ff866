#include "fisher/fisher_closed.h"

#include <math.h>

/* The grid of the normal family: the trapezoidal sum of a smooth function that vanishes at both ends has an error of
 * the order exp(-2 pi^2 (sigma / spacing)^2). */
enum { MOST = 8, GRID = 241, DIMENSIONS = MOST + 1 };
static const double spacing = 0.125;

const char *const geodec_fisher_closed_names[GEODEC_FISHER_CLOSED + 1] = {"simplex", "independent", "normal"};
const double geodec_fisher_closed_curvature[GEODEC_FISHER_CLOSED] = {0.25, 0, -0.5};

/* Each ctx is a number of dimensions. */
static const int32_t dimensions[DIMENSIONS] = {0, 1, 2, 3, 4, 5, 6, 7, MOST};

/* l of outcome t at z, or its derivative along z with `tangent`: these two families are linear. */
static double linear(geodec_fisher_closed kind, int64_t n, int64_t t, const double *z)
{
    double sum = 0;
    if (kind == GEODEC_FISHER_SIMPLEX) return t < n ? z[t] : 0;
    for (int64_t i = 0; i < n; i++) sum += (t >> i & 1) ? z[i] : 0;
    return sum;
}

static void linear_at(geodec_fisher_closed kind, int64_t n, int64_t v, int64_t points, const double *z, int64_t k,
                      const double *dir, double *logits, double *tangent)
{
    for (int64_t a = 0; logits && a < points; a++)
        for (int64_t t = 0; t < v; t++) logits[a * v + t] = linear(kind, n, t, z + a * n);
    for (int64_t j = 0; j < k; j++)
        for (int64_t a = 0; a < points; a++)
            for (int64_t t = 0; t < v; t++) tangent[(j * points + a) * v + t] = linear(kind, n, t, dir + j * n);
}

static geodec_status simplex_at(const void *ctx, int64_t points, const double *z, int64_t k, const double *dir,
                                double *logits, double *tangent, geodec_err *err)
{
    const int64_t n = *(const int32_t *)ctx;
    (void)err;
    linear_at(GEODEC_FISHER_SIMPLEX, n, n + 1, points, z, k, dir, logits, tangent);
    return GEODEC_OK;
}

static geodec_status independent_at(const void *ctx, int64_t points, const double *z, int64_t k, const double *dir,
                                    double *logits, double *tangent, geodec_err *err)
{
    const int64_t n = *(const int32_t *)ctx;
    (void)err;
    linear_at(GEODEC_FISHER_INDEPENDENT, n, (int64_t)1 << n, points, z, k, dir, logits, tangent);
    return GEODEC_OK;
}

/* l = -((x - mean) / deviation)^2 / 2 */
static geodec_status normal_at(const void *ctx, int64_t points, const double *z, int64_t k, const double *dir,
                               double *logits, double *tangent, geodec_err *err)
{
    (void)ctx;
    (void)err;
    for (int64_t a = 0; a < points; a++) {
        const double scale = exp(-z[2 * a + 1]);
        for (int64_t t = 0; t < GRID; t++) {
            const double u = (spacing * (double)(t - GRID / 2) - z[2 * a]) * scale;
            if (logits) logits[a * GRID + t] = -0.5 * u * u;
            for (int64_t j = 0; j < k; j++)
                tangent[(j * points + a) * GRID + t] = dir[2 * j] * u * scale + dir[2 * j + 1] * u * u;
        }
    }
    return GEODEC_OK;
}

geodec_status geodec_fisher_closed_map(geodec_fisher_closed kind, int32_t n, geodec_fisher_map *out, geodec_err *err)
{
    if (n < 1 || n > MOST || (kind == GEODEC_FISHER_NORMAL && n != 2))
        GEODEC_FAIL(GEODEC_RANGE, "a family of %d dimensions", n);
    *out = (geodec_fisher_map){.n = n, .ctx = &dimensions[n]};
    switch (kind) {
    case GEODEC_FISHER_SIMPLEX:
        out->outcomes = n + 1;
        out->at = simplex_at;
        break;
    case GEODEC_FISHER_INDEPENDENT:
        out->outcomes = (int64_t)1 << n;
        out->at = independent_at;
        break;
    default:
        out->outcomes = GRID;
        out->at = normal_at;
    }
    return GEODEC_OK;
}
