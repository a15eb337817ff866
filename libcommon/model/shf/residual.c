#include "shf/residual.h"

#include "base/mem.h"
#include "base/vec_internal.h"

#include <string.h>

/* out^k = Gamma^k_ij u^i v^j */
static void contract(int64_t n, const double *gamma, const double *u, const double *v, double *out)
{
    memset(out, 0, (size_t)n * sizeof *out);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            const double c = u[i] * v[j], *row = gamma + (i * n + j) * n;
            for (int64_t k = 0; k < n; k++) out[k] += c * row[k];
        }
}

static void differences(int64_t n, const double *x, double *d1, double *d2)
{
    for (int64_t i = 0; i < n; i++) {
        d1[i] = 0.5 * (x[n + i] - x[i - n]);
        d2[i] = x[n + i] - 2 * x[i] + x[i - n];
    }
}

static void put(double *to, int64_t at, double value)
{
    if (to) to[at] = value;
}

geodec_status geodec_residual_path(const geodec_space *s, int64_t nodes, const double *xs,
                                   const geodec_residual_parts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n;
    double *g = NULL;
    if (nodes < 3) GEODEC_THROW(GEODEC_RANGE, "a residual needs 3 nodes, not %lld", (long long)nodes);
    GEODEC_NEW(g, n * n + n * n * n + 4 * n);
    double *gamma = g + n * n, *d1 = gamma + n * n * n, *d2 = d1 + n, *c = d2 + n, *r = c + n;
    for (int64_t l = 1; l + 1 < nodes; l++) {
        differences(n, xs + l * n, d1, d2);
        GEODEC_TRY_MSG(s->at(s, xs + l * n, g, NULL, gamma, err), "node %lld", (long long)l);
        contract(n, gamma, d1, d1, c);
        for (int64_t i = 0; i < n; i++) r[i] = d2[i] + c[i];
        put(out->total, l - 1, geodec__dot(n, r, r));
        put(out->kinetic, l - 1, geodec__dot(n, d2, d2));
        put(out->connection, l - 1, geodec__dot(n, c, c));
        put(out->total_g, l - 1, geodec__norm2(n, g, r));
        put(out->kinetic_g, l - 1, geodec__norm2(n, g, d2));
        put(out->step_g, l - 1, geodec__norm2(n, g, d1));
    }
done:
    geodec_mem_free(g);
    return st;
}

geodec_status geodec_residual_jacobi(const geodec_space *s, int64_t nodes, const double *xs, const double *ys,
                                     double *jacobi, double *field, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, n3 = n * n * n;
    double *g = NULL;
    if (nodes < 3) GEODEC_THROW(GEODEC_RANGE, "a residual needs 3 nodes, not %lld", (long long)nodes);
    GEODEC_NEW(g, n * n + n3 + n * n3 + 6 * n + 3 * n);
    double *gamma = g + n * n, *dgamma = gamma + n3, *d1 = dgamma + n * n3, *d2 = d1 + n, *j1 = d2 + n, *j2 = j1 + n,
           *c = j2 + n, *q = c + n, *j = q + n;
    for (int64_t l = 1; l + 1 < nodes; l++) {
        const double *x = xs + l * n, *y = ys + l * n;
        differences(n, x, d1, d2);
        for (int64_t i = 0; i < 3 * n; i++) j[i] = y[i - n] - x[i - n];
        differences(n, j + n, j1, j2);
        GEODEC_TRY_MSG(s->at(s, x, g, NULL, gamma, err), "node %lld", (long long)l);
        GEODEC_TRY_MSG(geodec_space_dgamma(s, x, dgamma, err), "node %lld", (long long)l);
        contract(n, gamma, d1, j1, c);
        for (int64_t i = 0; i < n; i++) q[i] = j2[i] + 2 * c[i];
        for (int64_t m = 0; m < n; m++) {
            contract(n, dgamma + m * n3, d1, d1, c);
            for (int64_t i = 0; i < n; i++) q[i] += j[n + m] * c[i];
        }
        put(jacobi, l - 1, geodec__norm2(n, g, q));
        put(field, l - 1, geodec__norm2(n, g, j2));
    }
done:
    geodec_mem_free(g);
    return st;
}

geodec_status geodec_residual_penalty(const geodec_space *s, int64_t nodes, const double *xs, double *penalty,
                                      double *gradient, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, n3 = n * n * n;
    double *gamma = NULL, sum = 0, *to = NULL;
    if (nodes < 3) GEODEC_THROW(GEODEC_RANGE, "a residual needs 3 nodes, not %lld", (long long)nodes);
    GEODEC_NEW(gamma, n3 + n * n3 + 4 * n);
    GEODEC_NEW(to, nodes * n);
    double *dgamma = gamma + n3, *d1 = dgamma + n * n3, *d2 = d1 + n, *c = d2 + n, *r = c + n;
    for (int64_t l = 1; l + 1 < nodes; l++) {
        const double *x = xs + l * n;
        differences(n, x, d1, d2);
        GEODEC_TRY_MSG(s->at(s, x, NULL, NULL, gamma, err), "node %lld", (long long)l);
        contract(n, gamma, d1, d1, c);
        for (int64_t i = 0; i < n; i++) r[i] = d2[i] + c[i];
        sum += geodec__dot(n, r, r);
        if (!gradient) continue;
        GEODEC_TRY_MSG(geodec_space_dgamma(s, x, dgamma, err), "node %lld", (long long)l);
        double *before = to + (l - 1) * n, *here = to + l * n, *after = to + (l + 1) * n;
        for (int64_t m = 0; m < n; m++) {
            double turn = 0; /* r_k Gamma^k_mj d1^j */
            for (int64_t j = 0; j < n; j++) turn += d1[j] * geodec__dot(n, gamma + (m * n + j) * n, r);
            contract(n, dgamma + m * n3, d1, d1, c);
            before[m] += 2 * (r[m] - turn);
            here[m] += 2 * (geodec__dot(n, c, r) - 2 * r[m]);
            after[m] += 2 * (r[m] + turn);
        }
    }
    *penalty = sum;
    if (gradient) memcpy(gradient, to, (size_t)(nodes * n) * sizeof *gradient);
done:
    GEODEC_FREE(gamma, to);
    return st;
}
