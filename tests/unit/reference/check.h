/* Derivatives against central differences, and each other. */
#ifndef GEODEC_TESTS_REFERENCE_CHECK_H
#define GEODEC_TESTS_REFERENCE_CHECK_H

#include "base/mem.h"
#include "base/rng.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>

/* n normal values, the same for the same seed; freed with geodec_mem_free. */
static inline double *check_random(int64_t n, uint64_t seed)
{
    geodec_rng rng = geodec_rng_stream(seed, geodec_rng_id("values", 0));
    double *x = geodec_mem_new(n, sizeof *x);
    cr_assert(x);
    for (int64_t i = 0; i < n; i++) x[i] = geodec_rng_normal(&rng);
    return x;
}

/* y[n_out] = f(x[n_in]), jvp and vjp of k tangents; ctx is the operator's. */
typedef struct check_map {
    const char *name;
    int64_t n_in, n_out;
    void (*run)(const void *ctx, const double *x, double *y);
    void (*jvp)(const void *ctx, const double *x, int64_t k, const double *dx, double *dy);
    void (*vjp)(const void *ctx, const double *x, int64_t k, const double *gy, double *gx);
    const void *ctx;
} check_map;

static inline double check_dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* ||a - b|| / ||b|| */
static inline double check_distance(int64_t n, const double *a, const double *b)
{
    double difference = 0;
    for (int64_t i = 0; i < n; i++) difference += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(difference / check_dot(n, b, b));
}

/* Directional derivative of jvp against (f(x + h v) - f(x - h v)) / 2h, <u, J v> against <J^T u, v>, for three tangents
 * at once, the third of which is the sum of the others (linearity). Returns the largest relative error of a
 * difference. */
static inline double check_derivatives(const check_map *m, const double *x, double h, double tolerance)
{
    enum { K = 3 };
    double *v = check_random(K * m->n_in, 101), *u = check_random(K * m->n_out, 102);
    double *dy = geodec_mem_new(K * m->n_out, sizeof *dy), *gx = geodec_mem_new(K * m->n_in, sizeof *gx);
    double *at = geodec_mem_new(m->n_in, sizeof *at), *plus = geodec_mem_new(m->n_out, sizeof *plus),
           *minus = geodec_mem_new(m->n_out, sizeof *minus), worst = 0;
    for (int64_t i = 0; i < m->n_in; i++) v[2 * m->n_in + i] = v[i] + v[m->n_in + i];
    m->jvp(m->ctx, x, K, v, dy);
    m->vjp(m->ctx, x, K, u, gx);
    for (int64_t j = 0; j < K; j++) {
        const double *dx = v + j * m->n_in, *tangent = dy + j * m->n_out;
        for (int64_t i = 0; i < m->n_in; i++) at[i] = x[i] + h * dx[i];
        m->run(m->ctx, at, plus);
        for (int64_t i = 0; i < m->n_in; i++) at[i] = x[i] - h * dx[i];
        m->run(m->ctx, at, minus);
        for (int64_t i = 0; i < m->n_out; i++) plus[i] = (plus[i] - minus[i]) / (2 * h);
        const double e = check_distance(m->n_out, plus, tangent);
        cr_assert_lt(e, tolerance, "%s: tangent %d is off by %g", m->name, (int)j, e);
        worst = e > worst ? e : worst;
        for (int64_t i = 0; i < K; i++) {
            const double *cotangent = u + i * m->n_out, *pulled = gx + i * m->n_in;
            const double forward = check_dot(m->n_out, cotangent, tangent), back = check_dot(m->n_in, pulled, dx);
            const double scale =
                sqrt(check_dot(m->n_out, cotangent, cotangent) * check_dot(m->n_out, tangent, tangent));
            cr_assert_lt(fabs(forward - back), 1e-12 * scale, "%s: <u, Jv> = %.16g, <J'u, v> = %.16g", m->name, forward,
                         back);
        }
    }
    for (int64_t i = 0; i < m->n_out; i++) plus[i] = dy[i] + dy[m->n_out + i];
    cr_assert_lt(check_distance(m->n_out, plus, dy + 2 * m->n_out), 1e-13, "%s: not linear", m->name);
    double *const all[] = {v, u, dy, gx, at, plus, minus};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    return worst;
}

#endif
