/* The published record store against the goldens' `records` and `lookup`. */
#include "lab/published/records.h"

#include "base/f16.h"
#include "base/mem.h"
#include "linalg/svd.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void products(int64_t count, int64_t n, int64_t r, const float *u, const float *v, double *out)
{
    for (int64_t m = 0; m < count; m++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double s = 0;
                for (int64_t k = 0; k < r; k++) s += (double)u[(m * n + i) * r + k] * (double)v[(m * n + j) * r + k];
                out[(m * n + i) * n + j] = s;
            }
}

static void store(const char *path)
{
    geodec_err err = {0};
    int64_t shape[8], other[8];
    double *point = test_h5(path, "/cloud/points", shape, NULL), *v0 = test_h5(path, "/records/v0", other, NULL);
    geodec_records_published_draws d = {
        .points = shape[0], .n = shape[1], .point = point, .records = other[0], .v0 = v0};
    double *query = test_h5(path, "/lookup/queries", shape, NULL), *index = test_h5(path, "/lookup/index", NULL, NULL),
           *u = test_h5(path, "/records/U", other, NULL), *v = test_h5(path, "/records/V", NULL, NULL),
           *xs = test_h5(path, "/records/xs_f16", NULL, NULL);
    d.query = query, d.queries = shape[0], d.steps = other[1] - 1, d.rank = other[3];
    d.dl = test_h5_attr(path, "/geodesic", "dl"), d.anchors = 24, d.eps = 3;
    const geodec_harness_options o = geodec_harness_defaults();
    geodec_records_published r;
    test_ok(geodec_records_published_compute(&d, &o, NULL, NULL, &r, &err), &err);

    const int64_t n = d.n, count = r.records * r.nodes;
    double *g = geodec_mem_new(r.records * n * n, sizeof *g), *mine = geodec_mem_new(count * n * n, sizeof *mine),
           *want = geodec_mem_new(count * n * n, sizeof *want);
    float *fu = geodec_mem_new(count * n * d.rank, sizeof *fu), *fv = geodec_mem_new(count * n * d.rank, sizeof *fv);
    for (int64_t i = 0; i < count * n * d.rank; i++) {
        fu[i] = (float)u[i];
        fv[i] = (float)v[i];
    }
    products(count, n, d.rank, fu, fv, want);
    products(count, n, d.rank, r.u, r.v, mine);
    double *phi = test_h5(path, "/propagator/ref_phi", NULL, NULL);
    int64_t unique = 0;
    double worst = 0;
    for (int64_t m = 0; m < count; m++) {
        double s[64], a = 0, b = 0;
        const double *x = mine + m * n * n, *y = want + m * n * n, *f = phi + m * n * n;
        test_ok(geodec_svd_values(n, n, f, s, &err), &err);
        const bool apart = d.rank >= n || s[d.rank - 1] - s[d.rank] > 1e-6 * s[0];
        unique += apart;
        if (apart) worst = fmax(worst, test_max_abs_diff(x, y, n * n));
        /* Where the values on both sides of the cut coincide, many cuts are equally good and the library's version
         * decides: then both must miss Phi by the same. */
        for (int64_t i = 0; i < n * n; i++) {
            a += (x[i] - f[i]) * (x[i] - f[i]);
            b += (y[i] - f[i]) * (y[i] - f[i]);
        }
        cr_assert_float_eq(sqrt(a), sqrt(b), 1e-5, "%s: node %lld", path, (long long)m);
    }
    (void)fprintf(
        stderr,
        "golden %s/records/U V^T: worst deviation %.2e (limit 1e-05) at the %lld of %lld nodes with one best cut\n",
        strrchr(path, '/') + 1, worst, (long long)unique, (long long)count);
    cr_assert_leq(worst, 1e-5, "%s: products differ by %g", path, worst);
    for (int64_t i = 0; i < r.records * n * n; i++) g[i] = (double)r.g[i];
    goldens_compare(path, "/records/g_q", r.records * n * n, g, 1e-6);
    goldens_compare(path, "/records/sv_phi_T", r.records * n, r.singular, 1e-6);
    goldens_compare(path, "/records/rank_error", r.records * n, r.rank_error, 1e-6);
    goldens_compare(path, "/lookup/g_query", r.queries * n * n, r.g_query, 1e-9);
    goldens_compare(path, "/lookup/gdist", r.queries, r.distance, 1e-8);
    for (int64_t i = 0; i < r.queries; i++) cr_assert_eq(r.index[i], (int64_t)index[i], "query %lld", (long long)i);
    /* A float16 may round the other way where the paths differ in their last bits. */
    for (int64_t i = 0; i < count * n; i++)
        cr_assert_float_eq((double)geodec_f16_to_f32(r.xs[i]), xs[i], fabs(xs[i]) * 0x1p-10 + 1e-7);
    /* Rank n loses nothing, either way of cutting loses less with every rank, and the factors are larger than the
     * matrices they replace. */
    for (int64_t i = 0; i < r.records; i++) {
        cr_assert_lt(r.rank_error[i * n + n - 1], 1e-12);
        cr_assert_lt(r.shift_error[i * n + n - 1], 1e-12);
        for (int64_t k = 1; k < n; k++) {
            cr_assert_leq(r.rank_error[i * n + k], r.rank_error[i * n + k - 1]);
            cr_assert_leq(r.shift_error[i * n + k], r.shift_error[i * n + k - 1]);
        }
    }
    cr_assert(r.hit <= r.hit_exact && r.recall <= 1);
    if (2 * d.rank > n) cr_assert_gt(r.bytes, r.bytes_full);
    geodec_records_published_clear(&r);
    void *all[] = {phi, point, v0, query, index, u, v, xs, g, mine, want, fu, fv};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
}
Test(published, records) { goldens_each(store); }
