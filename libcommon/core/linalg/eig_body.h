/* Eigenvalues and vectors of a small symmetric matrix: Householder's reduction to tridiagonal form, then implicit QL
 * with Wilkinson's shift (Golub and Van Loan, Matrix Computations, 8.3; Bowdler, Martin, Reinsch, Wilkinson, Numer.
 * Math. 11 (1968) 293). Eigenvectors are rows, so that reflections and rotations combine whole rows. Written over
 * simd_internal.h. */
#include "base/simd_internal.h"
#include "linalg/small_internal.h"

#include <float.h>
#include <string.h>

enum { MOST_SWEEPS = 60, MAX_VEC = GEODEC__EIG_SMALL / VEC };

/* A = Q T Q^T with T = tridiagonal (d, e): a [n][ld] symmetric is overwritten; r [n][ld] becomes Q^T. V = ld / 8. */
INLINE void reduce(const int V, int64_t n, double *a, double *r, double *d, double *e)
{
    const int64_t ld = V * VEC;
    double u[MAX_VEC * VEC], w[MAX_VEC * VEC];
    memset(r, 0, (size_t)(n * ld) * sizeof *r);
    for (int64_t i = 0; i < n; i++) r[i * ld + i] = 1;
    for (int64_t k = 0; k + 2 < n; k++) {
        const double *row = a + k * ld;
        d[k] = row[k];
        for (int64_t i = 0; i < ld; i++) u[i] = i > k ? row[i] : 0;
        vec ss = v_zero();
        UNROLL
        for (int v = 0; v < V; v++) ss = v_fma(v_load(u + VEC * v), v_load(u + VEC * v), ss);
        const double square = v_sum(ss), first = u[k + 1], rest = square - first * first;
        e[k] = first;
        /* the column is already reduced; `rest` only loses bits that do not count against first^2 */
        if (!(rest > DBL_MIN)) {
            int bare = 1;
            for (int64_t i = k + 2; i < n; i++) bare &= !(fabs(u[i]) > DBL_EPSILON * DBL_EPSILON * fabs(first));
            if (bare) continue;
        }
        const double length = sqrt(square);
        e[k] = first > 0 ? -length : length;
        u[k + 1] = first - e[k];
        const double beta = 1 / (length * (length + fabs(first))); /* 2 / |u|^2 */
        vec p[MAX_VEC], uv[MAX_VEC];
        UNROLL
        for (int v = 0; v < V; v++) {
            p[v] = v_zero();
            uv[v] = v_load(u + VEC * v);
        }
        for (int64_t j = k + 1; j < n; j++) {
            const vec x = v_set1(u[j]);
            UNROLL
            for (int v = 0; v < V; v++) p[v] = v_fma(x, v_load(a + j * ld + VEC * v), p[v]);
        }
        vec pu = v_zero();
        UNROLL
        for (int v = 0; v < V; v++) pu = v_fma(p[v], uv[v], pu);
        const double share = 0.5 * beta * v_sum(pu);
        UNROLL
        for (int v = 0; v < V; v++) {
            p[v] = v_mul(v_set1(beta), v_fnma(v_set1(share), uv[v], p[v]));
            v_store(w + VEC * v, p[v]);
        }
        for (int64_t j = k + 1; j < n; j++) {
            const vec x = v_set1(u[j]), y = v_set1(w[j]);
            UNROLL
            for (int v = 0; v < V; v++)
                v_store(a + j * ld + VEC * v, v_fnma(y, uv[v], v_fnma(x, p[v], v_load(a + j * ld + VEC * v))));
        }
        /* Q^T <- H Q^T */
        UNROLL
        for (int v = 0; v < V; v++) p[v] = v_zero();
        for (int64_t j = k + 1; j < n; j++) {
            const vec x = v_set1(u[j]);
            UNROLL
            for (int v = 0; v < V; v++) p[v] = v_fma(x, v_load(r + j * ld + VEC * v), p[v]);
        }
        for (int64_t j = k + 1; j < n; j++) {
            const vec x = v_set1(beta * u[j]);
            UNROLL
            for (int v = 0; v < V; v++) v_store(r + j * ld + VEC * v, v_fnma(x, p[v], v_load(r + j * ld + VEC * v)));
        }
    }
    if (n > 1) {
        d[n - 2] = a[(n - 2) * ld + n - 2];
        e[n - 2] = a[(n - 2) * ld + n - 1];
    }
    d[n - 1] = a[(n - 1) * ld + n - 1];
    e[n - 1] = 0;
}

/* Rotations (c, s)[i] of rows i and i+1, i = m-1 down to l. */
INLINE void rotate(const int V, int64_t l, int64_t m, const double *c, const double *s, double *r)
{
    const int64_t ld = V * VEC;
    vec f[MAX_VEC];
    UNROLL
    for (int v = 0; v < V; v++) f[v] = v_load(r + m * ld + VEC * v);
    for (int64_t i = m - 1; i >= l; i--) {
        const vec cv = v_set1(c[i]), sv = v_set1(s[i]);
        UNROLL
        for (int v = 0; v < V; v++) {
            const vec z = v_load(r + i * ld + VEC * v);
            v_store(r + (i + 1) * ld + VEC * v, v_fma(sv, z, v_mul(cv, f[v])));
            f[v] = v_fnma(sv, f[v], v_mul(cv, z));
        }
    }
    UNROLL
    for (int v = 0; v < V; v++) v_store(r + l * ld + VEC * v, f[v]);
}

/* False when it does not converge. */
INLINE int diagonalise(const int V, int64_t n, double *d, double *e, double *r)
{
    double cs[GEODEC__EIG_SMALL], sn[GEODEC__EIG_SMALL];
    for (int64_t l = 0; l < n; l++)
        for (int sweep = 0;; sweep++) {
            int64_t m = l;
            while (m + 1 < n && fabs(e[m]) > 0.5 * DBL_EPSILON * (fabs(d[m]) + fabs(d[m + 1])) + 1e-290) m++;
            if (m == l) break;
            if (sweep == MOST_SWEEPS) return 0;
            double g = (d[l + 1] - d[l]) / (2 * e[l]), c = 1, s = 1, p = 0;
            /* for a huge g the shift is d[l] itself */
            const double root = fabs(g) < 1e100 ? sqrt(g * g + 1) : fabs(g);
            g = d[m] - d[l] + e[l] / (g + copysign(root, g));
            int64_t i = m - 1;
            for (; i >= l; i--) {
                const double f = s * e[i], b = c * e[i], square = f * f + g * g, length = sqrt(square);
                e[i + 1] = length;
                if (!(square > 1e-290)) { /* the matrix splits here */
                    d[i + 1] -= p;
                    e[m] = 0;
                    break;
                }
                const double inverse = length * (1 / square); /* square root and quotient in parallel */
                s = f * inverse;
                c = g * inverse;
                g = d[i + 1] - p;
                const double t = (d[i] - g) * s + 2 * c * b;
                p = s * t;
                d[i + 1] = g + p;
                g = c * t - b;
                cs[i] = c;
                sn[i] = s;
            }
            rotate(V, i < l ? l : i + 1, m, cs, sn, r);
            if (i >= l) continue;
            d[l] -= p;
            e[l] = g;
            e[m] = 0;
        }
    return 1;
}

INLINE int solve(const int V, int64_t n, const double *a, double *w, double *v, double *work)
{
    const int64_t ld = V * VEC;
    double *full = work, *r = work + n * ld, d[GEODEC__EIG_SMALL], e[GEODEC__EIG_SMALL], most = 0;
    int exponent = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) most = fmax(most, fabs(a[i * n + j]));
    if (most > 0) (void)frexp(most, &exponent);
    /* entries of at most 1: squares neither overflow nor underflow where they count */
    const int first = exponent / 2;
    const double scale = ldexp(1, -first), more = ldexp(1, first - exponent);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) full[i * ld + j] = full[j * ld + i] = a[i * n + j] * scale * more;
        for (int64_t j = n; j < ld; j++) full[i * ld + j] = 0;
    }
    reduce(V, n, full, r, d, e);
    if (!diagonalise(V, n, d, e, r)) return 0;
    int order[GEODEC__EIG_SMALL];
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && d[order[at - 1]] > d[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    for (int64_t i = 0; i < n; i++) {
        w[i] = ldexp(ldexp(d[order[i]], first), exponent - first);
        memcpy(v + i * n, r + order[i] * ld, (size_t)n * sizeof *v);
    }
    return 1;
}

static int eig(int64_t n, const double *a, double *w, double *v, double *work)
{
    work += (64 - (uintptr_t)work % 64) % 64 / sizeof *work;
    switch ((n + VEC - 1) / VEC) {
    case 1:
        return solve(1, n, a, w, v, work);
    case 2:
        return solve(2, n, a, w, v, work);
    case 3:
        return solve(3, n, a, w, v, work);
    default:
        return solve(4, n, a, w, v, work);
    }
}
