#include "lab/harness/three_metrics.h"

#include "base/choose.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/blas.h"
#include "linalg/expm.h"

#include <math.h>
#include <string.h>

enum { MAX_N = GEODEC_RBF_MAX_N };

/* q [n][n]: rows orthonormal, uniform over rotations and reflections (normal samples, orthogonalised twice). */
static void random_rotation(int64_t n, geodec_rng *r, double *q)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < n; k++) q[i * n + k] = geodec_rng_normal(r);
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < i; j++) {
                const double dot = geodec__dot(n, q + i * n, q + j * n);
                for (int64_t k = 0; k < n; k++) q[i * n + k] -= dot * q[j * n + k];
            }
        const double norm = sqrt(geodec__dot(n, q + i * n, q + i * n));
        for (int64_t k = 0; k < n; k++) q[i * n + k] /= norm;
    }
}

/* packed = Q L Q^T of a packed L. */
static void turn(int64_t n, const double *q, double *packed)
{
    double l[MAX_N * MAX_N], a[MAX_N * MAX_N];
    geodec_sym_unpack(n, packed, l);
    geodec_blas_mul_small(n, q, l, a);
    geodec_blas_mul_small_t(n, a, q, l);
    geodec_sym_pack(n, l, packed);
}

geodec_status geodec_three_metrics_make(const geodec_harness_sites *f, int64_t n, const geodec_harness_split *o,
                                        geodec_three_metrics *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t packed = geodec_sym_packed(n);
    int64_t count = 0, *kept = NULL, *order = NULL;
    double *site = NULL, *log_g = NULL, *other = NULL, q[MAX_N * MAX_N];
    if (n < 1 || n > MAX_N || (f->space && f->space->n != n))
        GEODEC_THROW(GEODEC_RANGE, "a metric for a chart of %lld dimensions", (long long)n);
    GEODEC_NEW_EACH(f->sites, kept, order);
    for (int64_t i = 0; i < f->sites; i++)
        if (!f->text || geodec_harness_split_on(o, f->text[i], false)) kept[count++] = i;
    if (count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points of the metric are from training texts; at least 2 are needed",
                     (long long)count);
    geodec__choose_order(o->seed, geodec_rng_id("sites", 0), count, order);
    const int64_t sites = f->whole || count < o->sites ? count : o->sites;
    GEODEC_NEW(site, sites * n);
    GEODEC_NEW_EACH(sites * packed, log_g, other);
    for (int64_t i = 0; i < sites; i++) {
        const int64_t p = kept[order[i]];
        memcpy(site + i * n, f->site + p * n, (size_t)n * sizeof *site);
        memcpy(log_g + i * packed, f->log_g + p * packed, (size_t)packed * sizeof *log_g);
    }
    if (!f->space) GEODEC_TRY(geodec_rbf_create(sites, n, site, log_g, f->sigma, &out->field[0], err));
    geodec__choose_order(o->seed, geodec_rng_id("shuffled metric", 0), sites, order);
    for (int64_t i = 0; i < sites; i++)
        memcpy(other + i * packed, log_g + order[i] * packed, (size_t)packed * sizeof *log_g);
    GEODEC_TRY(geodec_rbf_create(sites, n, site, other, f->sigma, &out->field[1], err));
    for (int64_t i = 0; i < sites; i++) {
        geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("turned metric", (uint64_t)i));
        random_rotation(n, &r, q);
        turn(n, q, log_g + i * packed);
    }
    GEODEC_TRY(geodec_rbf_create(sites, n, site, log_g, f->sigma, &out->field[2], err));
    out->own = f->space ? f->space : geodec_rbf_space(out->field[0]);
    out->shuffled = geodec_rbf_space(out->field[1]);
    out->random = geodec_rbf_space(out->field[2]);
done:
    GEODEC_FREE(kept, order, site, log_g, other);
    return st;
}

void geodec_three_metrics_clear(geodec_three_metrics *m)
{
    for (int i = 0; i < 3; i++) geodec_rbf_destroy(m->field[i]);
    *m = (geodec_three_metrics){0};
}
