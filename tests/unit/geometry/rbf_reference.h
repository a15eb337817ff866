/* The log-Euclidean field by the formulas of geometry/rbf.h in plain loops, without blocking, cut-off or BLAS: the
 * reference of the fast field. g [n][n] and dg [n][n][n] may be NULL. */
#ifndef GEODEC_TESTS_RBF_REFERENCE_H
#define GEODEC_TESTS_RBF_REFERENCE_H

#include "base/mem.h"
#include "geometry/rbf_internal.h"
#include "linalg/eig.h"
#include "linalg/expm.h"

#include <math.h>
#include <string.h>

static inline geodec_status rbf_reference(const geodec_rbf *f, const double *x, double *g, double *dg, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->n, nn = n * n;
    double *w = NULL, *mean = NULL, *log_at = NULL, *l = NULL, *v = NULL, *full = NULL, *out = NULL;
    GEODEC_NEW(w, f->n_sites);
    GEODEC_NEW(mean, n);
    GEODEC_NEW(log_at, (n + 1) * f->packed);
    GEODEC_NEW(l, n);
    GEODEC_NEW(v, nn);
    GEODEC_NEW(full, nn);
    GEODEC_NEW(out, (n + 1) * nn);
    double largest = -INFINITY, sum = 0;
    for (int64_t p = 0; p < f->n_sites; p++) {
        double d2 = 0;
        for (int64_t a = 0; a < n; a++) d2 += (x[a] - f->site[p * n + a]) * (x[a] - f->site[p * n + a]);
        w[p] = -d2 / (2 * f->sigma * f->sigma);
        largest = fmax(largest, w[p]);
    }
    for (int64_t p = 0; p < f->n_sites; p++) sum += w[p] = exp(w[p] - largest);
    for (int64_t p = 0; p < f->n_sites; p++) w[p] /= sum;
    for (int64_t p = 0; p < f->n_sites; p++)
        for (int64_t a = 0; a < n; a++) mean[a] += w[p] * f->site[p * n + a];
    for (int64_t p = 0; p < f->n_sites; p++)
        for (int64_t i = 0; i < f->packed; i++) {
            const double q = f->log_g[p * f->row + i];
            log_at[i] += w[p] * q;
            for (int64_t a = 0; a < n; a++)
                log_at[(a + 1) * f->packed + i] += w[p] * (f->site[p * n + a] - mean[a]) / (f->sigma * f->sigma) * q;
        }
    geodec_sym_unpack(n, log_at, full);
    GEODEC_TRY(geodec_eig_sym(n, full, l, v, err));
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++) out[i * n + j] += v[k * n + i] * exp(l[k]) * v[k * n + j];
    for (int64_t a = 0; a < n; a++) { /* d_a g = sum_kq v_k (v_k . dL v_q) exp[l_k,l_q] v_q^T */
        geodec_sym_unpack(n, log_at + (a + 1) * f->packed, full);
        for (int64_t k = 0; k < n; k++)
            for (int64_t q = 0; q < n; q++) {
                double inner = 0;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++) inner += v[k * n + i] * full[i * n + j] * v[q * n + j];
                const double d = l[k] - l[q];
                inner *= fabs(d) < 1e-6 ? exp(0.5 * (l[k] + l[q])) : exp(l[q]) * expm1(d) / d;
                for (int64_t i = 0; i < n; i++)
                    for (int64_t j = 0; j < n; j++)
                        out[((a + 1) * n + i) * n + j] += v[k * n + i] * inner * v[q * n + j];
            }
    }
    if (g) memcpy(g, out, (size_t)nn * sizeof *g);
    if (dg) memcpy(dg, out + nn, (size_t)(nn * n) * sizeof *dg);
done:
    geodec_mem_free(w);
    geodec_mem_free(mean);
    geodec_mem_free(log_at);
    geodec_mem_free(l);
    geodec_mem_free(v);
    geodec_mem_free(full);
    geodec_mem_free(out);
    return st;
}

#endif
