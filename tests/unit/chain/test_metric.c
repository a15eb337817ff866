/* Local metrics: golden parity, the definition written out, refusals, the artifact, determinism. */
#include "base/mem.h"
#include "base/rng.h"
#include "chain/metric.h"
#include "io/h5.h"
#include "linalg/chol.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <math.h>
#include <string.h>

static double *cloud(int64_t count, int64_t n, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("cloud", 0));
    double *x = geodec_mem_new(count * n, 8);
    for (int64_t i = 0; i < count * n; i++) x[i] = (i % n ? 1 : 10) * geodec_rng_normal(&r);
    return x;
}

static void golden(const char *path)
{
    int64_t shape[8], m, n, k;
    double *x = test_h5(path, "cloud/points", shape, NULL);
    m = shape[0];
    n = shape[1];
    double *knn = test_h5(path, "metric/knn_index", shape, NULL);
    k = shape[1];
    geodec_metric_options o = geodec_metric_defaults();
    o.k = k;
    o.force_k = true;
    o.centre = GEODEC_CENTRE_POINT;
    o.shrink = 0;
    o.ridge = test_h5_attr(path, "/", "ridge");
    o.clip_min = 1e-3;
    o.clip_max = 1e3;
    o.sigma = test_h5_attr(path, "/", "sigma");
    geodec_metric f;
    geodec_err err = {0};
    test_ok(geodec_metric_fit(m, n, x, &o, NULL, NULL, &f, &err), &err);
    double *g = geodec_mem_new(m * n * n, 8);
    for (int64_t p = 0; p < m; p++) test_ok(geodec_metric_at_point(&f, p, g + p * n * n, &err), &err);
    for (int64_t i = 0; i < m * k; i++) cr_assert_eq(f.knn_index[i], (int32_t)knn[i]);
    goldens_compare(path, "/metric/g_raw", m * n * n, g, 1e-9);

    geodec_rbf *field = NULL;
    test_ok(geodec_metric_field(&f, &field, &err), &err);
    test_ok(geodec_rbf_eval(field, m, x, g, NULL, NULL, NULL, NULL, &err), &err);
    goldens_compare(path, "/metric/g_smooth_own", m * n * n, g, 1e-9);
    geodec_rbf_destroy(field);
    geodec_metric_clear(&f);

    o.force_k = false; /* 8 neighbours in 8 dimensions */
    if (k <= n) cr_assert_eq(geodec_metric_fit(m, n, x, &o, NULL, NULL, &f, NULL), GEODEC_RANGE);
    geodec_mem_free(x);
    geodec_mem_free(knn);
    geodec_mem_free(g);
}

Test(geometry, golden_metrics) { goldens_each(golden); }

/* The control of a Gaussian cloud is the cloud itself, up to sampling error; a flat ribbon differs from its own. */
Test(geometry, metric_control_tells_structure_from_noise)
{
    enum { M = 1500, N = 4 };
    double *x = cloud(M, N, 11);
    const geodec_metric_options o = geodec_metric_defaults();
    geodec_metric m;
    geodec_metric_medians own, control, again;
    test_ok(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), NULL);
    test_ok(geodec_metric_summary(&m, &own, NULL), NULL);
    test_ok(geodec_metric_control(&m, 1, NULL, NULL, &control, NULL), NULL);
    test_ok(geodec_metric_control(&m, 1, NULL, NULL, &again, NULL), NULL);
    cr_assert_arr_eq(&control, &again, sizeof control);
    cr_assert(fabs(own.condition / control.condition - 1) < 0.1, "%g %g", own.condition, control.condition);
    cr_assert(fabs(own.nn_distance / control.nn_distance - 1) < 0.05, "%g %g", own.nn_distance, control.nn_distance);
    cr_assert(fabs(own.shrinkage - control.shrinkage) < 0.05);
    geodec_metric_clear(&m);
    for (int i = 0; i < M; i++) { /* a plane rolled up: thin everywhere, but with a round covariance */
        const double a = x[i * N], b = x[i * N + 1];
        x[i * N] = 5 * cos(a);
        x[i * N + 1] = 5 * sin(a);
        x[i * N + 2] = b + 0.01 * x[i * N + 2];
        x[i * N + 3] = 0.1 * x[i * N + 3];
    }
    test_ok(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), NULL);
    test_ok(geodec_metric_summary(&m, &own, NULL), NULL);
    test_ok(geodec_metric_control(&m, 1, NULL, NULL, &control, NULL), NULL);
    cr_assert_gt(own.condition, 1.2 * control.condition, "%g %g", own.condition, control.condition);
    geodec_metric_clear(&m);
    geodec_mem_free(x);
}

/* Default options: neighbours' mean, Ledoit-Wolf from the stored intensity, inverse by Cholesky. */
Test(geometry, local_metric_is_the_inverse_shrunk_covariance)
{
    enum { M = 300, N = 5 };
    double *x = cloud(M, N, 1);
    const geodec_metric_options o = geodec_metric_defaults();
    geodec_metric m;
    test_ok(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), NULL);
    cr_assert_eq(m.k, 16);
    int between = 0;
    for (int p = 0; p < M; p += 37) {
        double mean[N] = {0}, c[N * N] = {0}, g[N * N], trace = 0;
        for (int i = 0; i < 16; i++)
            for (int a = 0; a < N; a++) mean[a] += x[m.knn_index[p * 16 + i] * N + a] / 16;
        for (int i = 0; i < 16; i++)
            for (int a = 0; a < N; a++)
                for (int b = 0; b < N; b++)
                    c[a * N + b] += (x[m.knn_index[p * 16 + i] * N + a] - mean[a]) *
                                    (x[m.knn_index[p * 16 + i] * N + b] - mean[b]) / 15;
        for (int a = 0; a < N; a++) trace += c[a * N + a];
        const double s = m.shrinkage[p];
        cr_assert(s >= 0 && s <= 1);
        between += s > 0 && s < 1;
        for (int a = 0; a < N; a++)
            for (int b = 0; b < N; b++) c[a * N + b] = (1 - s) * c[a * N + b] + (a == b ? s * trace / N : 0);
        test_ok(geodec_chol_factor(N, c, NULL), NULL);
        double inverse[N * N];
        geodec_chol_inverse(N, c, inverse);
        test_ok(geodec_metric_at_point(&m, p, g, NULL), NULL);
        cr_assert_lt(test_max_abs_diff(g, inverse, N * N), 1e-12 * test_max_abs(inverse, N * N));
        cr_assert(m.condition[p] >= 1 && m.clipped[p] == 0);
    }
    cr_assert_gt(between, 3);
    geodec_metric_clear(&m);
    geodec_mem_free(x);
}

Test(geometry, metric_options_are_checked)
{
    enum { M = 40, N = 3 };
    double *x = cloud(M, N, 2);
    geodec_metric m;
    geodec_metric_options o = geodec_metric_defaults();
    o.k = 40;
    cr_assert_eq(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), GEODEC_RANGE);
    o.k = 3;
    cr_assert_eq(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), GEODEC_RANGE);
    o = geodec_metric_defaults();
    o.shrink = 1.5;
    cr_assert_eq(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), GEODEC_RANGE);
    o = geodec_metric_defaults();
    o.clip_min = 5;
    o.clip_max = 2;
    cr_assert_eq(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), GEODEC_RANGE);
    o.clip_min = 0.9; /* clipping is counted, and a full clip makes the metric a multiple of I */
    o.clip_max = 0.9;
    test_ok(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), NULL);
    double g[N * N];
    test_ok(geodec_metric_at_point(&m, 7, g, NULL), NULL);
    cr_assert(m.clipped[7] == N && fabs(g[0] - 0.9) < 1e-15 && fabs(g[1]) < 1e-15);
    geodec_metric_clear(&m);
    o = geodec_metric_defaults();
    o.sigma_nn = 2.5;
    test_ok(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), NULL);
    cr_assert_eq(m.sigma, 2.5 * m.median_nn);
    geodec_metric_clear(&m);
    for (int i = 0; i < 20 * N; i++) x[i] = 1; /* twenty equal points */
    geodec_err err = {0};
    char line[300];
    cr_assert_eq(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, &err), GEODEC_SCARCE);
    cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "point 0"), "%s", line);
    x[5] = INFINITY;
    cr_assert_eq(geodec_metric_fit(M, N, x, &o, NULL, NULL, &m, NULL), GEODEC_NUMERIC);
    geodec_mem_free(x);
}

/* The default number of neighbours shrinks with the cloud, down to the smallest that spans its dimension. */
Test(geometry, metric_default_neighbours_adapt_to_few_points)
{
    enum { N = 3 };
    double *x = cloud(17, N, 2);
    const geodec_metric_options o = geodec_metric_defaults();
    geodec_metric m;
    geodec_err err = {0};
    char line[300];
    for (int points = N + 2; points <= 17; points++) {
        test_ok(geodec_metric_fit(points, N, x, &o, NULL, NULL, &m, &err), &err);
        cr_assert_eq(m.k, points - 1);
        geodec_metric_clear(&m);
    }
    for (int points = 0; points < N + 2; points++) {
        cr_assert_eq(geodec_metric_fit(points, N, x, &o, NULL, NULL, &m, &err), GEODEC_SCARCE);
        cr_assert_not_null(strstr(geodec_err_line(&err, line, sizeof line), "needs at least 5"), "%s", line);
    }
    geodec_mem_free(x);
}

/* A field of 2e9 points in 64 dimensions takes 62 TiB: refused before a point is read. */
Test(geometry, metric_beyond_the_memory_is_refused_with_its_need)
{
    const double point[64] = {0};
    geodec_metric_options o = geodec_metric_defaults();
    geodec_metric m;
    geodec_err err = {0};
    char line[512];
    o.k = 128;
    cr_assert_eq(geodec_metric_fit(2000000000, 64, point, &o, NULL, NULL, &m, &err), GEODEC_LIMIT);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "can be used here"), "%s", line);
}

Test(geometry, metric_is_the_same_with_three_threads_and_survives_the_file)
{
    enum { M = 500, N = 4, D = 9 };
    geodec_io_init();
    double *x = cloud(M, N, 3), basis[N * D], mean[D];
    for (int i = 0; i < N * D; i++) basis[i] = sin(i);
    for (int i = 0; i < D; i++) mean[i] = cos(i);
    int32_t *row = geodec_mem_new(M, sizeof *row);
    for (int i = 0; i < M; i++) row[i] = 3 * i;
    geodec_pool *pool = NULL;
    geodec_metric a, b, c;
    geodec_err err = {0};
    const geodec_metric_options o = geodec_metric_defaults();
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_metric_fit(M, N, x, &o, NULL, NULL, &a, &err), &err);
    test_ok(geodec_metric_fit(M, N, x, &o, pool, NULL, &b, &err), &err);
    cr_assert_arr_eq(a.log_g, b.log_g, sizeof(double) * M * N * (N + 1) / 2);
    cr_assert_arr_eq(a.knn_index, b.knn_index, sizeof(int32_t) * M * 16);
    cr_assert_eq(a.sigma, b.sigma);

    const char *path = test_tmp("metric.h5");
    geodec_provenance p = {.tool = "test", .command_line = "test"};
    geodec_artifact *file = NULL;
    const geodec_metric_source source = {
        .cloud_row = row, .activation_row = row, .d = D, .basis = basis, .mean = mean, .layer = 2};
    test_ok(geodec_artifact_create(&geodec_metric_kind, path, &p, &file, &err), &err);
    test_ok(geodec_metric_write(&a, &source, file, &err), &err);
    test_ok(geodec_artifact_commit(file, &err), &err);
    test_ok(geodec_artifact_open(&geodec_metric_kind, path, &file, &err), &err);
    test_ok(geodec_metric_read(file, &c, &err), &err);
    cr_assert_arr_eq(a.log_g, c.log_g, sizeof(double) * M * N * (N + 1) / 2);
    cr_assert(c.points == M && c.n == N && c.k == 16 && c.sigma == a.sigma && c.median_nn == a.median_nn);

    geodec_rbf *f = NULL, *f2 = NULL;
    double g[N * N], g2[N * N];
    test_ok(geodec_metric_field_from(file, &c, geodec_metric_field_limit(), &f, &err), &err);
    geodec_artifact_close(file);
    test_ok(geodec_metric_field(&a, &f2, &err), &err);
    test_ok(geodec_rbf_eval(f, 1, x, g, NULL, NULL, NULL, NULL, &err), &err);
    test_ok(geodec_rbf_eval(f2, 1, x, g2, NULL, NULL, NULL, NULL, &err), &err);
    cr_assert_arr_eq(g, g2, sizeof g);
    geodec_rbf_destroy(f);
    geodec_rbf_destroy(f2);
    geodec_metric_clear(&a);
    geodec_metric_clear(&b);
    geodec_metric_clear(&c);
    geodec_pool_destroy(pool);
    geodec_mem_free(x);
    geodec_mem_free(row);
}

static geodec_status collect(void *ctx, int64_t first, int64_t count, const double *log_g, geodec_err *err)
{
    double **to = ctx;
    const int64_t packed = 20 * 21 / 2;
    (void)err;
    memcpy(*to + first * packed, log_g, (size_t)(count * packed) * sizeof *log_g);
    return GEODEC_OK;
}

static geodec_status none(void *ctx, int64_t first, int64_t count, double *log_g, geodec_err *err)
{
    (void)ctx, (void)first, (void)count, (void)log_g, (void)err;
    return GEODEC_INTERNAL;
}

/* Two slabs at dimension 20, whose matrices take 1680 bytes a point. */
Test(geometry, metric_in_slabs_has_the_bits_of_the_whole)
{
    enum { N = 20, M = GEODEC_METRIC_SLAB / (N * (N + 1) / 2 * 8) + 50, PACKED = N * (N + 1) / 2 };
    double *x = cloud(M, N, 4), *log_g = geodec_mem_new((int64_t)M * PACKED, sizeof *log_g), *back;
    geodec_metric_options o = geodec_metric_defaults();
    geodec_metric whole, slabs, tables;
    geodec_pool *pool;
    geodec_err err = {0};
    o.k = 21;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    test_ok(geodec_metric_fit(M, N, x, &o, pool, NULL, &whole, &err), &err);
    test_ok(geodec_metric_fit_slabs(M, N, x, &o, collect, &log_g, pool, NULL, &slabs, &err), &err);
    cr_assert_null(slabs.log_g);
    cr_assert_eq(memcmp(log_g, whole.log_g, sizeof(double) * M * PACKED), 0);
    cr_assert_eq(memcmp(slabs.condition, whole.condition, sizeof(double) * M), 0);
    cr_assert_eq(memcmp(slabs.knn_index, whole.knn_index, sizeof(int32_t) * M * 21), 0);

    /* and in a file, rounded to float32 by at most the stated error */
    const char *path = test_tmp("metric-f32.h5");
    const geodec_provenance p = {.tool = "test", .command_line = "test"};
    geodec_metric_writer w = {.n = N, .f32 = true};
    geodec_io_init();
    test_ok(geodec_artifact_create(&geodec_metric_kind, path, &p, &w.file, &err), &err);
    test_ok(geodec_metric_write_slab(&w, 0, M / 2, log_g, &err), &err);
    test_ok(geodec_metric_write_slab(&w, M / 2, M - M / 2, log_g + (int64_t)(M / 2) * PACKED, &err), &err);
    slabs.rounded = true;
    slabs.rounding = w.rounding;
    test_ok(geodec_metric_write(&slabs, NULL, w.file, &err), &err);
    test_ok(geodec_artifact_commit(w.file, &err), &err);
    test_ok(geodec_artifact_open(&geodec_metric_kind, path, &w.file, &err), &err);
    test_ok(geodec_metric_read(w.file, &tables, &err), &err);
    double largest = 0, stated;
    back = tables.log_g;
    for (int64_t i = 0; i < (int64_t)M * PACKED; i++) {
        cr_assert_eq(back[i], (double)(float)log_g[i]);
        largest = fmax(largest, fabs(back[i] - log_g[i]));
    }
    test_ok(geodec_artifact_get_f64(w.file, "log_g_rounding", &stated, &err), &err);
    cr_assert(stated >= largest && stated < 40 * largest && largest > 0, "%g %g", stated, largest);
    cr_assert_eq(memcmp(tables.point, x, sizeof(double) * M * N), 0);

    /* a field in a mapped file has the values of one in memory, and leaves no file */
    geodec_rbf *memory, *mapped;
    double g[2][N * N], dg[2][N * N * N];
    test_ok(geodec_metric_field_from(w.file, &tables, INT64_MAX, &memory, &err), &err);
    test_ok(geodec_metric_field_from(w.file, &tables, 0, &mapped, &err), &err);
    for (int i = 0; i < 3; i++) {
        test_ok(geodec_rbf_eval(memory, 1, x + i * 1000 * N, g[0], dg[0], NULL, NULL, NULL, &err), &err);
        test_ok(geodec_rbf_eval(mapped, 1, x + i * 1000 * N, g[1], dg[1], NULL, NULL, NULL, &err), &err);
        cr_assert_arr_eq(g[0], g[1], sizeof g[0]);
        cr_assert_arr_eq(dg[0], dg[1], sizeof dg[0]);
    }
    geodec_rbf_destroy(memory);
    geodec_rbf_destroy(mapped);
    DIR *folder = opendir(test_tmpdir());
    cr_assert_not_null(folder);
    for (const struct dirent *e; (e = readdir(folder)) != NULL;) cr_assert_neq(strncmp(e->d_name, ".field", 6), 0);
    (void)closedir(folder);
    cr_assert_eq(geodec_rbf_create_rows(M, N, x, none, NULL, 1, "/nonexistent", &mapped, &err), GEODEC_IO);
    geodec_artifact_close(w.file);
    geodec_metric_clear(&whole);
    geodec_metric_clear(&slabs);
    geodec_metric_clear(&tables);
    geodec_pool_destroy(pool);
    geodec_mem_free(x);
    geodec_mem_free(log_g);
}

/* The inverse covariance against sums over the points; the identity. */
Test(metric, one_matrix_everywhere)
{
    enum { COUNT = 50, DIM = 3 };
    geodec_err err = {0};
    double x[COUNT * DIM], mean[DIM] = {0}, *g, *unit;
    for (int i = 0; i < COUNT * DIM; i++) x[i] = sin(1.7 * i * i) * (1 + i % DIM) + 3, mean[i % DIM] += x[i] / COUNT;
    test_ok(geodec_metric_constant(COUNT, DIM, x, true, NULL, &g, &err), &err);
    test_ok(geodec_metric_constant(COUNT, DIM, x, false, NULL, &unit, &err), &err);
    for (int a = 0; a < DIM; a++)
        for (int b = 0; b < DIM; b++) {
            double product = 0;
            for (int k = 0; k < DIM; k++) {
                double cov = 0;
                for (int i = 0; i < COUNT; i++)
                    cov += (x[i * DIM + a] - mean[a]) * (x[i * DIM + k] - mean[k]) / (COUNT - 1);
                product += cov * g[(COUNT - 1) * DIM * DIM + k * DIM + b];
            }
            cr_assert_float_eq(product, a == b, 1e-10);
            cr_assert_eq(g[a * DIM + b], g[(COUNT / 2 * DIM + a) * DIM + b]);
            cr_assert_eq(unit[(7 * DIM + a) * DIM + b], a == b);
        }
    geodec_mem_free(g);
    geodec_mem_free(unit);
}
