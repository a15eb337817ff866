/* Principal components, TwoNN and the cloud built from activations. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud.h"
#include "chain/null.h"
#include "io/file.h"
#include "io/h5.h"
#include "linalg/blas.h"
#include "linalg/svd.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* n rows in d dimensions whose variances fall, with a mean far from zero and correlated columns. */
static double *rows(int64_t n, int64_t d, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("rows", 0));
    double *x = geodec_mem_new(n * d, 8);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < d; c++) {
            const double z = geodec_rng_normal(&r) * exp(-0.2 * (double)c);
            for (int64_t j = 0; j <= c; j++) x[i * d + j] += z * cos((double)(j * 3 + c));
            x[i * d + c] += 5 + 0.1 * (double)c;
        }
    return x;
}

/* Gram and covariance routes against singular values of the centred matrix, which share no code with them. */
Test(geometry, principal_components_agree_with_singular_values)
{
    const int64_t sizes[][2] = {{12, 30}, {30, 30}, {31, 30}, {400, 7}, {5000, 110}};
    for (size_t t = 0; t < sizeof sizes / sizeof *sizes; t++) {
        const int64_t n = sizes[t][0], d = sizes[t][1], r = n < d ? n : d;
        double *x = rows(n, d, t), *mean = geodec_mem_new(d, 8), *c = geodec_mem_new(n * d, 8);
        for (int64_t i = 0; i < n * d; i++) mean[i % d] += x[i] / (double)n;
        for (int64_t i = 0; i < n * d; i++) c[i] = x[i] - mean[i % d];
        double *u = geodec_mem_new(n * r, 8), *s = geodec_mem_new(r, 8), *vt = geodec_mem_new(r * d, 8);
        test_ok(geodec_svd_thin(n, d, c, u, s, vt, NULL), NULL);
        geodec_pca p;
        geodec_err err = {0};
        test_ok(geodec_pca_from_rows(n, d, x, 0.95, NULL, &p, &err), &err);
        cr_assert_lt(test_max_abs_diff(p.mean, mean, d), 1e-12);
        cr_assert_eq(p.values, n - 1 < d ? n - 1 : d);
        const double scale = s[0] * s[0] / (double)(n - 1);
        double total = 0, sum = 0;
        int64_t want_k = 0;
        for (int64_t i = 0; i < r; i++) total += s[i] * s[i];
        for (; want_k < r && sum < 0.95 * total; want_k++) sum += s[want_k] * s[want_k];
        cr_assert_eq(p.k, want_k);
        cr_assert(fabs(p.explained - sum / total) < 1e-12 && fabs(p.total - total / (double)(n - 1)) < 1e-12 * p.total);
        for (int64_t i = 0; i < p.values; i++)
            cr_assert_lt(fabs(p.eigenvalue[i] - s[i] * s[i] / (double)(n - 1)), 1e-12 * scale);
        for (int64_t i = 0; i < p.k; i++) {
            const double dot = geodec_blas_dot(d, p.basis + i * d, vt + i * d);
            cr_assert_lt(fabs(fabs(dot) - 1), 1e-9);
            for (int64_t j = 0; j <= i; j++)
                cr_assert_lt(fabs(geodec_blas_dot(d, p.basis + i * d, p.basis + j * d) - (i == j)), 1e-10);
        }
        /* coordinates have mean 0 and the eigenvalues as variances */
        double *y = geodec_mem_new(n * p.k, 8);
        test_ok(geodec_pca_project(d, p.k, p.basis, p.mean, n, x, y, NULL, NULL), NULL);
        for (int64_t k = 0; k < p.k; k++) {
            double m = 0, v = 0;
            for (int64_t i = 0; i < n; i++) m += y[i * p.k + k];
            for (int64_t i = 0; i < n; i++) v += y[i * p.k + k] * y[i * p.k + k];
            cr_assert(fabs(m / (double)n) < 1e-11 && fabs(v / (double)(n - 1) - p.eigenvalue[k]) < 1e-10 * scale);
        }
        geodec_pca_clear(&p);
        double *all[] = {x, mean, c, u, s, vt, y};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    }
}

Test(geometry, principal_components_refuse_bad_input)
{
    double x[8] = {1, 2, 1, 2, 1, 2, 1, 2};
    geodec_pca p;
    cr_assert_eq(geodec_pca_from_rows(4, 2, x, 0.95, NULL, &p, NULL), GEODEC_SCARCE);
    x[3] = 7;
    cr_assert_eq(geodec_pca_from_rows(4, 2, x, 0, NULL, &p, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_pca_from_rows(1, 2, x, 0.9, NULL, &p, NULL), GEODEC_SCARCE);
    x[5] = NAN;
    cr_assert_eq(geodec_pca_from_rows(4, 2, x, 0.9, NULL, &p, NULL), GEODEC_NUMERIC);
    const double w[] = {4, 3, 2, 1, 0};
    cr_assert_eq(geodec_pca_pick(5, w, 0.4), 1);
    cr_assert_eq(geodec_pca_pick(5, w, 0.41), 2);
    cr_assert_eq(geodec_pca_pick(5, w, 1), 4);
}

/* mu sampled from its own distribution F = 1 - mu^-D: both estimates find D, and the intervals have the right width. */
Test(geometry, twonn_recovers_the_dimension_of_its_distribution)
{
    enum { N = 20000 };
    const double dims[] = {1, 5, 17.25};
    for (size_t t = 0; t < sizeof dims / sizeof *dims; t++) {
        double *d2 = geodec_mem_new(2 * N, 8);
        geodec_rng r = geodec_rng_stream(9, t);
        for (int i = 0; i < N; i++) {
            d2[2 * i] = 1 + geodec_rng_uniform(&r);
            d2[2 * i + 1] = d2[2 * i] * pow(1 - geodec_rng_uniform(&r), -2 / dims[t]);
        }
        d2[0] = 0;     /* a duplicate: dropped */
        d2[3] = d2[2]; /* mu = 1: dropped */
        const geodec_twonn_options o = geodec_twonn_defaults();
        geodec_twonn w;
        test_ok(geodec_twonn_from_distances(N, d2, &o, &w, NULL), NULL);
        cr_assert(w.points == N && w.used == N - 2);
        const double se = dims[t] / sqrt(N);
        cr_assert_lt(fabs(w.ml - dims[t]), 4 * se);
        cr_assert_lt(fabs(w.fit - dims[t]), 6 * se);
        cr_assert(w.ml_low < w.ml && w.ml < w.ml_high && w.fit_low < w.fit && w.fit < w.fit_high);
        cr_assert(fabs((w.ml_high - w.ml_low) / (2 * 1.96 * se) - 1) < 0.25, "%g %g", w.ml_high - w.ml_low, se);
        geodec_mem_free(d2);
    }
}

/* The two formulas written out on a handful of points. */
Test(geometry, twonn_formulas)
{
    const double x[] = {0, 1, 3, 6, 10, 15, 21, 28, 36, 45};
    geodec_twonn_options o = geodec_twonn_defaults();
    o.replicates = 0;
    geodec_twonn w;
    test_ok(geodec_twonn_estimate(10, 1, x, &o, NULL, NULL, &w, NULL), NULL);
    /* r1, r2: (1,3) (1,2) (2,3) (3,4) (4,5) (5,6) (6,7) (7,8) (8,9) (9,17): sorted mu */
    const double mu[] = {9.0 / 8, 8.0 / 7, 7.0 / 6, 6.0 / 5, 5.0 / 4, 4.0 / 3, 3.0 / 2, 17.0 / 9, 2, 3};
    double sum = 0, xx = 0, xy = 0;
    for (int i = 0; i < 10; i++) sum += log(mu[i]);
    for (int i = 0; i < 9; i++) {
        xx += log(mu[i]) * log(mu[i]);
        xy += log(mu[i]) * -log(1 - (i + 1) / 10.0);
    }
    cr_assert_lt(fabs(w.ml - 10 / sum), 1e-13);
    cr_assert_lt(fabs(w.fit - xy / xx), 1e-13);
    const double same[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    cr_assert_eq(geodec_twonn_estimate(8, 1, same, &o, NULL, NULL, &w, NULL),
                 GEODEC_SCARCE); /* all mu = 1 but the ends' */
    cr_assert_eq(geodec_twonn_estimate(7, 1, same, &o, NULL, NULL, &w, NULL), GEODEC_SCARCE);
}

/* ---- the cloud ----------------------------------------------------------------------------------------------------
 */

enum { LAYERS = 2 };

/* Activations of `n` rows: layer 4 holds x in float32 (or float16), layer 1 noise; every 40th row repeats row 0. */
static const char *activations(const char *name, int64_t n, int64_t d, const double *x, bool half)
{
    const char *path = test_tmp(name);
    geodec_err err = {0};
    geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "", .tokenizer_fingerprint = ""};
    geodec_artifact *a = NULL;
    const int32_t layer[LAYERS] = {1, 4};
    test_ok(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "L", LAYERS, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "d", d, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "M", 1, &err), &err);
    test_ok(geodec_artifact_write(a, "/layer", layer, &err), &err);
    float *f = geodec_mem_new(n * LAYERS * d, sizeof *f);
    uint16_t *h = geodec_mem_new(n * LAYERS * d, sizeof *h);
    int32_t *id = geodec_mem_new(n, sizeof *id);
    for (int64_t r = 0; r < n; r++) {
        const int64_t from = r % 40 == 39 ? 0 : r;
        id[r] = (int32_t)r;
        for (int64_t c = 0; c < d; c++) {
            f[(r * LAYERS + 0) * d + c] = (float)sin((double)(r * d + c));
            f[(r * LAYERS + 1) * d + c] = (float)x[from * d + c];
        }
    }
    for (int64_t i = 0; i < n * LAYERS * d; i++) h[i] = geodec_f32_to_f16(f[i]);
    test_ok(geodec_artifact_append(a, half ? "/state_f16" : "/state", n, half ? (void *)h : (void *)f, &err), &err);
    static const char *const ids[] = {"/token", "/position", "/sequence", "/next_token", "/argmax", "/top_index"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) test_ok(geodec_artifact_append(a, ids[i], n, id, &err), &err);
    test_ok(geodec_artifact_append(a, "/top_logit", n, f, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_layer", 4, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "d_model", d, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_vocab", 1000, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_ctx", 64, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    geodec_mem_free(f);
    geodec_mem_free(h);
    geodec_mem_free(id);
    return path;
}

static geodec_status build(const char *from, const char *to, const geodec_cloud_options *o, geodec_pool *pool,
                           geodec_cloud_summary *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL, *out = NULL;
    geodec_activations v;
    geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "", .tokenizer_fingerprint = ""};
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, from, &a, err));
    GEODEC_TRY(geodec_activations_view(a, &v, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_cloud_kind, to, &p, &out, err));
    GEODEC_TRY(geodec_cloud_build(&v, o, out, s, pool, NULL, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
done:
    geodec_artifact_close(out);
    geodec_artifact_close(a);
    return st;
}

static void check_cloud(int64_t n, int64_t d, bool half)
{
    geodec_io_init();
    geodec_err err = {0};
    double *x = rows(n, d, 7);
    const char *from = activations("activations.h5", n, d, x, half), *to = test_tmp("cloud.h5");
    geodec_cloud_options o = geodec_cloud_defaults();
    o.layer = 4;
    geodec_cloud_summary s;
    test_ok(build(from, to, &o, NULL, &s, &err), &err);
    const int64_t twins = n / 40, kept = n - twins;
    cr_assert(s.rows == n && s.duplicates == twins && s.points == kept);

    /* the same from rows in memory */
    double *y = geodec_mem_new(kept * d, 8);
    for (int64_t r = 0, i = 0; r < n; r++) {
        if (r % 40 == 39) continue;
        for (int64_t c = 0; c < d; c++, i++)
            y[i] = (double)(half ? geodec_f16_to_f32(geodec_f32_to_f16((float)x[r * d + c])) : (float)x[r * d + c]);
    }
    geodec_pca p;
    test_ok(geodec_pca_from_rows(kept, d, y, 0.95, NULL, &p, &err), &err);
    cr_assert(p.k == s.k && fabs(p.total / s.total_variance - 1) < 1e-12);
    geodec_artifact *a = NULL;
    geodec_cloud c;
    test_ok(geodec_artifact_open(&geodec_cloud_kind, to, &a, &err), &err);
    test_ok(geodec_cloud_read(a, &c, &err), &err);
    cr_assert(c.points == kept && c.k == p.k && c.d == d && c.layer == 4 && c.k_int == s.k_int && c.values == p.values);
    cr_assert_lt(test_max_abs_diff(c.eigenvalue, p.eigenvalue, p.values), 1e-11 * p.eigenvalue[0]);
    double *z = geodec_mem_new(kept * p.k, 8);
    test_ok(geodec_pca_project(d, p.k, p.basis, p.mean, kept, y, z, NULL, &err), &err);
    cr_assert_lt(test_max_abs_diff(c.coordinate, z, kept * p.k), 1e-8 * test_max_abs(z, kept * p.k));
    for (int64_t i = 0, r = 0; i < kept; i++, r++) {
        if (r % 40 == 39) r++;
        cr_assert(c.row[i] == r && c.token[i] == r && c.sequence[i] == r && c.position[i] == r);
    }
    /* The data are Gaussian: the control must equal the cloud, within the intervals. */
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        cr_assert(labs((long)(s.subset[t].components - s.control[t].components)) <= 1);
        cr_assert(s.subset[t].twonn.ml_low < s.control[t].twonn.ml_high &&
                  s.subset[t].twonn.ml_high > s.control[t].twonn.ml_low);
        cr_assert_eq(s.subset[t].points, kept >> (2 - t));
    }
    geodec_twonn w;
    geodec_twonn_options to_ = geodec_twonn_defaults();
    test_ok(geodec_twonn_estimate(kept, p.k, z, &to_, NULL, NULL, &w, &err), &err);
    cr_assert_lt(fabs(w.fit - s.subset[2].kept.fit), 1e-6 * w.fit); /* the order of points does not matter */
    test_ok(geodec_twonn_estimate(kept, d, y, &to_, NULL, NULL, &w, &err), &err);
    cr_assert_lt(fabs(w.fit - s.subset[2].twonn.fit), 1e-6 * w.fit); /* in the space of the states */
    cr_assert_eq(s.k_int, (int64_t)llround(w.fit) < p.k ? (int64_t)llround(w.fit) : p.k);
    /* thinning keeps whole rows, in order */
    const int64_t some = kept / 3;
    geodec_cloud_thin(&c, some, 5);
    cr_assert_eq(c.points, some);
    for (int64_t i = 0; i < some; i++) {
        const int64_t r = c.cloud_row[i];
        cr_assert((i == 0 || r > c.cloud_row[i - 1]) && r < kept);
        cr_assert(c.row[i] == r + r / 39 && c.token[i] == c.row[i]);
        cr_assert_lt(test_max_abs_diff(c.coordinate + i * p.k, z + r * p.k, p.k), 1e-8 * test_max_abs(z, kept * p.k));
    }
    cr_assert_gt(c.cloud_row[some - 1], kept - 40); /* and reaches to the end */
    /* its first coordinates */
    double *first;
    test_ok(geodec_cloud_coordinates(&c, 3, &first, &err), &err);
    for (int64_t i = 0; i < 3 * some; i++) cr_assert_eq(first[i], c.coordinate[i / 3 * c.k + i % 3]);
    geodec_mem_free(first);
    geodec_artifact_close(a);
    geodec_cloud_clear(&c);
    geodec_pca_clear(&p);
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_mem_free(z);
}

Test(geometry, cloud_from_a_stream_of_float32_states) { check_cloud(2600, 24, false); }
Test(geometry, cloud_from_float16_states) { check_cloud(2600, 24, true); }
Test(geometry, cloud_of_fewer_points_than_dimensions) { check_cloud(160, 200, false); }

/* One large direction rules the components of 95 % of the variance and hides the others from TwoNN of the kept
 * coordinates, not from TwoNN of the states. Rows of extreme norm are counted, and left out on demand. */
Test(geometry, one_large_direction_hides_no_dimension)
{
    enum { ROWS = 1200, D = 16, DIM = 6, MASSIVE = 7, KEPT = ROWS - ROWS / 40 }; /* 30 repeat row 0 */
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(5, geodec_rng_id("large", 0));
    double *x = geodec_mem_new(ROWS * D, 8), map[DIM * D];
    for (int64_t i = 0; i < DIM * D; i++) map[i] = geodec_rng_normal(&r);
    for (int64_t i = 0; i < ROWS; i++) {
        for (int64_t j = 0; j < DIM; j++) {
            const double z = geodec_rng_normal(&r);
            for (int64_t c = 0; c < D; c++) x[i * D + c] += z * map[j * D + c];
        }
        x[i * D + 3] += 100 * geodec_rng_normal(&r);
    }
    const char *from = activations("large.h5", ROWS, D, x, false);
    geodec_cloud_options o = geodec_cloud_defaults();
    geodec_cloud_summary s;
    o.layer = 4;
    test_ok(build(from, test_tmp("large-cloud.h5"), &o, NULL, &s, &err), &err);
    const geodec_cloud_subset *all = &s.subset[2], *noise = &s.control[2];
    cr_assert(s.k == 1 && all->kept.fit > 0.9 && all->kept.fit < 1.1 && noise->kept.fit < 1.1);
    cr_assert(all->twonn.fit > 4.8 && all->twonn.fit < 7.5 && all->twonn.used == KEPT, "%g", all->twonn.fit);
    cr_assert(fabs(noise->twonn.fit - all->twonn.fit) < 1, "the data are Gaussian: %g", noise->twonn.fit);
    cr_assert(s.extreme == 0 && s.dropped == 0);

    for (int64_t i = 0; i < MASSIVE; i++)
        for (int64_t c = 0; c < D; c++) x[i * 100 * D + c] += 3e4;
    from = activations("massive.h5", ROWS, D, x, false);
    test_ok(build(from, test_tmp("massive-cloud.h5"), &o, NULL, &s, &err), &err);
    cr_assert(s.extreme == MASSIVE && s.dropped == 0 && s.points == KEPT && s.extreme_share > 0.9);
    o.drop_outliers = true;
    test_ok(build(from, test_tmp("massive-dropped.h5"), &o, NULL, &s, &err), &err);
    cr_assert(s.extreme == MASSIVE && s.dropped == MASSIVE && s.points == KEPT - MASSIVE);
    geodec_mem_free(x);
}

Test(geometry, dimension_of_later_stages_is_bounded)
{
    const int64_t k_int[] = {1, 2, 7, 12, 13, 40, 1, 9}, k[] = {30, 30, 30, 30, 30, 40, 1, 5},
                  want[] = {2, 2, 7, 12, 12, 12, 1, 5};
    for (int i = 0; i < 8; i++)
        cr_assert_eq(geodec_cloud_dimension(&(geodec_cloud){.k = k[i], .k_int = k_int[i]}), want[i], "case %d", i);
}

Test(geometry, cloud_file_is_the_same_with_any_number_of_threads)
{
    geodec_io_init();
    geodec_err err = {0};
    double *x = rows(1500, 120, 3);
    const char *from = activations("a.h5", 1500, 120, x, false), *one = test_tmp("one.h5"),
               *three = test_tmp("three.h5");
    geodec_cloud_options o = geodec_cloud_defaults();
    o.layer = 1;
    o.max_points = 777;
    geodec_pool *pool = NULL;
    char a[GEODEC_SHA256_HEX], b[GEODEC_SHA256_HEX];
    geodec_cloud_summary s;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(build(from, one, &o, NULL, &s, &err), &err);
    test_ok(build(from, three, &o, pool, &s, &err), &err);
    test_ok(geodec_file_sha256(one, a, &err), &err);
    test_ok(geodec_file_sha256(three, b, &err), &err);
    cr_assert_str_eq(a, b);
    cr_assert(s.points == 777 && s.rows == 1500);
    o.seed = 2; /* another seed takes other points */
    test_ok(build(from, three, &o, pool, &s, &err), &err);
    test_ok(geodec_file_sha256(three, b, &err), &err);
    cr_assert_str_neq(a, b);
    o.k_int = 5; /* layer 1 holds a plane curve: two components */
    cr_assert_eq(build(from, three, &o, pool, &s, NULL), GEODEC_RANGE);
    o.layer = 4;
    test_ok(build(from, three, &o, pool, &s, &err), &err);
    cr_assert_eq(s.k_int, 5);

    char line[300];
    o.k_int = 0;
    o.layer = 3;
    cr_assert_eq(build(from, three, &o, pool, &s, &err), GEODEC_NOTFOUND);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "there are: 1 4"), "%s", line);
    o.layer = 4;
    o.variance = 0;
    cr_assert_eq(build(from, three, &o, pool, &s, NULL), GEODEC_RANGE);
    o = geodec_cloud_defaults();
    o.layer = 4;
    o.max_points = GEODEC_CLOUD_MIN_POINTS - 1;
    cr_assert_eq(build(from, three, &o, pool, &s, &err), GEODEC_SCARCE);
    cr_assert_str_eq(geodec_err_line(&err, line, sizeof line), "31 different states; a cloud needs at least 32");
    o.max_points = GEODEC_CLOUD_MIN_POINTS;
    test_ok(build(from, three, &o, pool, &s, &err), &err);
    geodec_pool_destroy(pool);
    geodec_mem_free(x);
}

/* A cloud through a sketch: components that explain the share, marked as randomised, the same bytes on
 * threads. */
Test(geometry, cloud_through_randomised_components)
{
    geodec_io_init();
    enum { N_ROWS = 1800, DIM = 150 };
    geodec_err err = {0};
    double *x = rows(N_ROWS, DIM, 3);
    const char *from = activations("a.h5", N_ROWS, DIM, x, false), *one = test_tmp("one.h5"),
               *three = test_tmp("three.h5");
    geodec_cloud_options o = geodec_cloud_defaults();
    o.layer = 4;
    geodec_pool *pool = NULL;
    geodec_cloud_summary exact, s;
    char a[GEODEC_SHA256_HEX], b[GEODEC_SHA256_HEX];
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(build(from, one, &o, NULL, &exact, &err), &err);
    cr_assert_eq(exact.sketch_width, 0);
    o.pca = GEODEC_CLOUD_PCA_RANDOMIZED;
    test_ok(build(from, one, &o, NULL, &s, &err), &err);
    test_ok(build(from, three, &o, pool, &s, &err), &err);
    test_ok(geodec_file_sha256(one, a, &err), &err);
    test_ok(geodec_file_sha256(three, b, &err), &err);
    cr_assert_str_eq(a, b);
    cr_assert_eq(s.sketch_width, 64);
    cr_assert_lt(s.sketch_residual, 1e-3);
    cr_assert_eq(s.k, exact.k);
    cr_assert_float_eq(s.total_variance, exact.total_variance, 1e-9 * exact.total_variance);
    cr_assert_float_eq(s.explained, exact.explained, 1e-6);
    cr_assert_float_eq(s.participation, exact.participation, 1e-4 * exact.participation);
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        cr_assert_eq(s.subset[t].components, exact.subset[t].components);
        cr_assert_float_eq(s.subset[t].twonn.fit, exact.subset[t].twonn.fit, 1e-3 * exact.subset[t].twonn.fit);
    }
    o.layer = 1; /* a plane curve: rank 2, less than the sketch is wide */
    test_ok(build(from, one, &o, NULL, &s, &err), &err);
    cr_assert_eq(s.k, 2);
    geodec_pool_destroy(pool);
    geodec_mem_free(x);
}

Test(geometry, null_cloud_keeps_the_spectrum_and_nothing_else)
{
    geodec_io_init();
    geodec_err err = {0};
    double *x = rows(4000, 12, 4);
    const char *from = activations("a.h5", 4000, 12, x, false), *to = test_tmp("cloud.h5"), *null = test_tmp("null.h5");
    geodec_cloud_options o = geodec_cloud_defaults();
    geodec_cloud_summary s;
    geodec_artifact *in = NULL, *out = NULL, *back = NULL;
    geodec_cloud c, g;
    const geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "", .tokenizer_fingerprint = ""};
    o.layer = 4;
    test_ok(build(from, to, &o, NULL, &s, &err), &err);
    test_ok(geodec_artifact_open(&geodec_cloud_kind, to, &in, &err), &err);
    test_ok(geodec_artifact_create(&geodec_cloud_kind, null, &p, &out, &err), &err);
    test_ok(geodec_null_build(in, GEODEC_SURROGATE_GAUSSIAN, 9, out, &err), &err);
    test_ok(geodec_artifact_commit(out, &err), &err);
    test_ok(geodec_artifact_open(&geodec_cloud_kind, null, &back, &err), &err);
    test_ok(geodec_cloud_read(in, &c, &err), &err);
    test_ok(geodec_cloud_read(back, &g, &err), &err);
    cr_assert(g.points == c.points && g.k == c.k && g.k_int == c.k_int && g.d == c.d);
    const double n = (double)g.points;
    for (int64_t j = 0; j < g.k; j++) {
        double variance = 0, cross = 0;
        for (int64_t i = 0; i < g.points; i++) {
            variance += g.coordinate[i * g.k + j] * g.coordinate[i * g.k + j] / n;
            cross += g.coordinate[i * g.k + j] * c.coordinate[i * g.k + j] / n;
        }
        /* Five standard errors of a variance of n normal samples, and of a product with the cloud it came from. */
        cr_assert_lt(fabs(variance / g.eigenvalue[j] - 1), 5 * sqrt(2 / n));
        cr_assert_lt(fabs(cross / g.eigenvalue[j]), 5 / sqrt(n));
    }
    for (int64_t i = 0; i < g.points; i++) cr_assert(g.sequence[i] == i && g.position[i] == 0);
    geodec_cloud_clear(&c);
    geodec_cloud_clear(&g);
    geodec_artifact_close(in);
    geodec_artifact_close(back);
    geodec_mem_free(x);
}

/* ---- the dimension along a text, and what it is in doubt for: planted cases and clean ones, 20 seeds each ----------
 */

static geodec_cloud_summary of_points(int64_t n, int64_t d, const double *x, bool consecutive, int64_t theiler)
{
    geodec_err err = {0};
    geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "", .tokenizer_fingerprint = ""};
    geodec_cloud_options o = geodec_cloud_defaults();
    geodec_artifact *out = NULL;
    geodec_cloud_summary s;
    const geodec_cloud_points points = {
        .points = n, .k = d, .x = x, .consecutive = consecutive, .source = "coordinates"};
    o.theiler = theiler;
    test_ok(geodec_artifact_create(&geodec_cloud_kind, test_tmp("along.h5"), &p, &out, &err), &err);
    test_ok(geodec_cloud_from_points(&points, &o, out, &s, NULL, NULL, &err), &err);
    test_ok(geodec_artifact_commit(out, &err), &err);
    return s;
}

/* Consecutive states of one text: normal vectors of dimension d, filtered twice over `memory` steps. */
static geodec_cloud_summary along_a_text(int64_t n, int64_t d, double memory, bool consecutive, int64_t theiler,
                                         uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("along a text", 0));
    const double a = memory > 0 ? exp(-1 / memory) : 0;
    double *x = geodec_mem_new(n * d, 8), *fast = geodec_mem_new(d, 8), *slow = geodec_mem_new(d, 8);
    for (int64_t i = 0; i < n; i++)
        for (int steps = i == 0 ? 1 + (int)(12 * memory) : 1; steps > 0; steps--)
            for (int64_t c = 0; c < d; c++) {
                fast[c] = a * fast[c] + sqrt(1 - a * a) * geodec_rng_normal(&r);
                slow[c] = a * slow[c] + (1 - a) * fast[c];
                x[i * d + c] = slow[c];
            }
    const geodec_cloud_summary s = of_points(n, d, x, consecutive, theiler);
    GEODEC_FREE(x, fast, slow);
    return s;
}

enum { TRIALS = 20, ALL = GEODEC_CLOUD_SUBSETS - 1 };

Test(geometry, time_neighbours_of_a_cloud)
{
    geodec_io_init();
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        const geodec_cloud_summary s = along_a_text(2000, 4, 3, true, -1, seed);
        cr_assert(s.doubt & GEODEC_CLOUD_DOUBT_TIME, "seed %d", (int)seed);
        cr_assert(s.theiler_window > 1 && s.theiler_parts == s.theiler_window && s.time_near > 20 * s.time_chance);
        const geodec_theiler *t = &s.subset[ALL].theiler, *noise = &s.control[ALL].theiler;
        cr_assert(t->part_points == 2000 / s.theiler_parts && noise->part_points == t->part_points);
        cr_assert(fabs(t->dimension - 4) < 0.8 && fabs(noise->dimension - 4) < 0.8, "seed %d: %g, control %g",
                  (int)seed, t->dimension, noise->dimension);
        const geodec_cloud_summary clean = along_a_text(2000, 4, 0, true, -1, seed);
        cr_assert(clean.doubt == 0 && clean.theiler_window == 1 && clean.theiler_parts == 1,
                  "seed %d: doubt %d, window %d; %g to %g, then %g to %g", (int)seed, (int)clean.doubt,
                  (int)clean.theiler_window, clean.subset[0].theiler.low, clean.subset[0].theiler.high,
                  clean.subset[ALL].theiler.low, clean.subset[ALL].theiler.high);
        cr_assert_eq(memcmp(&clean.subset[ALL].theiler.twonn, &clean.subset[ALL].twonn, sizeof(geodec_twonn)), 0);
    }
    /* rows of no text, and the window turned off: plain, though the points lie on a path */
    const geodec_cloud_summary apart = along_a_text(2000, 4, 3, false, -1, 1),
                               off = along_a_text(2000, 4, 3, true, 0, 1),
                               asked = along_a_text(2000, 4, 3, true, 10, 1);
    cr_assert(apart.theiler_window == 1 && apart.doubt == 0 && apart.time_near == 0);
    cr_assert(off.theiler_window == 1 && off.theiler_parts == 1 && off.time_near > 0.1);
    cr_assert(asked.theiler_window == 10 && asked.theiler_parts == 10 && !(asked.doubt & GEODEC_CLOUD_DOUBT_TIME));
    cr_assert(asked.subset[ALL].twonn.fit == off.subset[ALL].twonn.fit &&
              asked.subset[ALL].theiler.twonn.fit != off.subset[ALL].twonn.fit);
}

Test(geometry, too_few_points_for_the_dimension)
{
    geodec_io_init();
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        const geodec_cloud_summary few = along_a_text(200, 16, 0, false, -1, seed),
                                   enough = along_a_text(2000, 3, 0, false, -1, seed);
        cr_assert_eq(few.doubt, GEODEC_CLOUD_DOUBT_FEW, "seed %d", (int)seed);
        cr_assert_eq(enough.doubt, 0, "seed %d", (int)seed);
    }
    /* a thread: one dimension for few points, three for many */
    enum { THREAD = 4000 };
    static double x[THREAD * 3];
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("thread", 0));
        for (int64_t i = 0; i < 3 * THREAD; i++) x[i] = geodec_rng_uniform(&r) * (i % 3 == 0 ? 1 : 0.0005);
        const geodec_cloud_summary s = of_points(THREAD, 3, x, false, -1);
        cr_assert_eq(s.doubt, GEODEC_CLOUD_DOUBT_FEW, "seed %d: %g, then %g", (int)seed, s.subset[0].theiler.dimension,
                     s.subset[ALL].theiler.dimension);
    }
    /* on a path that nothing leaves */
    const geodec_cloud_summary path = along_a_text(400, 6, 500, true, -1, 3);
    cr_assert(path.doubt & GEODEC_CLOUD_DOUBT_REMAINS, "%d", (int)path.doubt);
}
