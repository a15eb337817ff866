#include "base/mem.h"
#include "base/rng.h"
#include "geometry/space_closed.h"
#include "records/lookup.h"
#include "records/records.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 3, P = 12, T = 16, S = T + 1 };

/* Paths and propagators on the unit sphere, as the earlier stages would hand them over; path 5 is not ok. */
static geodec_propagators make_propagators(const geodec_space *s)
{
    geodec_geodesics g = {.paths = P, .nodes = S, .n = N, .dl = 0.1, .options = geodec_geodesic_defaults()};
    geodec_propagators p;
    geodec_propagators_options o = geodec_propagators_defaults();
    geodec_path_report report[P];
    geodec_err err = {0};
    double x0[P * N], v0[P * N];
    geodec_rng r = geodec_rng_stream(4, geodec_rng_id("starts", 0));
    g.x = geodec_mem_new(P * S * N, sizeof *g.x);
    g.v = geodec_mem_new(P * S * N, sizeof *g.v);
    g.speed2 = geodec_mem_new(P * S, sizeof *g.speed2);
    g.drift = geodec_mem_new(P, sizeof *g.drift);
    g.status = geodec_mem_new(P, sizeof *g.status);
    g.good = geodec_mem_new(P, sizeof *g.good);
    g.point = geodec_mem_new(P, sizeof *g.point);
    g.next = geodec_mem_new(P, sizeof *g.next);
    g.activation_row = geodec_mem_new(P, sizeof *g.activation_row);
    g.next_row = geodec_mem_new(P, sizeof *g.next_row);
    for (int i = 0; i < P * N; i++) x0[i] = 0.3 * geodec_rng_normal(&r);
    for (int p_ = 0; p_ < P; p_++) {
        test_ok(geodec_validity_direction(s, x0 + p_ * N, 3, (uint64_t)p_, v0 + p_ * N, &err), &err);
        g.point[p_] = g.activation_row[p_] = p_;
        g.next[p_] = g.next_row[p_] = p_ % 2 ? p_ + 1 : -1;
        g.good[p_] = T;
    }
    test_ok(geodec_geodesic_batch(s, &g.options, NULL, NULL, P, x0, v0, g.x, g.v, g.speed2, NULL, report, &err), &err);
    g.status[5] = GEODEC_PATH_LEFT_HULL;
    o.control = 2;
    test_ok(geodec_propagators_compute(s, &g, &o, NULL, NULL, &p, &err), &err);
    for (int64_t c = 0; c < p.controls; c++) cr_assert_lt(p.control_gap[c], 1e-5);
    return p;
}

static double relative(const double *a, const double *b)
{
    double e = 0, s = 0;
    for (int i = 0; i < N * N; i++) e += (a[i] - b[i]) * (a[i] - b[i]), s += b[i] * b[i];
    return sqrt(e / s);
}

Test(records, records_hold_paths_and_propagators)
{
    geodec_space_conformal sphere;
    geodec_records r;
    geodec_err err = {0};
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    geodec_propagators p = make_propagators(&sphere.base);
    geodec_records_options o = geodec_records_defaults();
    test_ok(geodec_records_compute(&p, &sphere.base, NULL, &o, NULL, NULL, &r, &err), &err);
    cr_assert_eq(r.records, P - 1);
    cr_assert_eq(r.dropped, 1);
    cr_assert_null(r.logit_index);
    double at_rho = 0;
    cr_assert(T % r.stride == 0 && r.waypoints == T / r.stride + 1);
    for (int64_t i = 0; i < r.records; i++) {
        const int64_t path = i + (i >= 5);
        const double *xs = p.paths.x + path * S * N, *phis = p.phi + path * S * N * N;
        double x[N], phi[N * N], g[N * N], worst = 0, d[N] = {0.01, -0.02, 0.005}, predicted[N];
        test_ok(sphere.base.at(&sphere.base, xs, g, NULL, NULL, &err), &err);
        for (int k = 0; k <= T; k++) { /* conformal: g-length = sqrt(g_00) Euclid */
            double e2 = 0;
            geodec_records_x(&r, i, 0.1 * k, x);
            for (int a = 0; a < N; a++) e2 += (x[a] - xs[k * N + a]) * (x[a] - xs[k * N + a]);
            worst = fmax(worst, sqrt(e2 * g[0]));
        }
        cr_assert_float_eq(worst, (double)r.x_error[i], 1e-6 * worst);
        cr_assert_leq(worst, o.x_tolerance);
        worst = 0;
        for (int64_t w = 0; w < r.waypoints; w++) {
            geodec_records_phi(&r, i, w, phi);
            worst = fmax(worst, relative(phi, phis + w * r.stride * N * N));
        }
        cr_assert_float_eq(worst, (double)r.phi_error[i], 1e-6 * worst + 1e-9);
        cr_assert_leq(worst, o.phi_tolerance * 1.001);
        /* prediction: x_T + Phi_T d from the stored parts */
        geodec_records_predict(&r, i, d, predicted);
        geodec_records_x(&r, i, 1.6, x);
        geodec_records_phi(&r, i, r.waypoints - 1, phi);
        for (int a = 0; a < N; a++) {
            for (int b = 0; b < N; b++) x[a] += phi[a * N + b] * d[b];
            cr_assert_float_eq(predicted[a], x[a], 1e-12);
        }
        /* on the unit sphere the radius at 10 % is a few tenths; directions differ, their mean below does not */
        cr_assert(r.rho[i] > 0.1F && r.rho[i] < 1.5F, "rho %g", (double)r.rho[i]);
        cr_assert_eq(r.rho_censored[i], GEODEC_CENSORED_NONE);
        cr_assert(r.rho_error[i] > 0 && r.rho_error[i] < 1);
        at_rho += (double)r.rho_error[i] / (double)r.records;
        cr_assert_eq(r.activation_row[i], path);
    }
    cr_assert(at_rho > 0.05 && at_rho < 0.25, "mean miss %g at rho, for tau 0.1", at_rho);
    cr_assert_lt(geodec_records_bytes(&r), geodec_records_bytes_plain(&r));
    geodec_records_clear(&r);
    geodec_propagators_clear(&p);
}

Test(records, every_record_is_its_own_nearest)
{
    geodec_space_conformal sphere;
    geodec_records r;
    geodec_lookup_trial trial;
    geodec_err err = {0};
    double queries[200 * N];
    geodec_rng rng = geodec_rng_stream(8, geodec_rng_id("queries", 0));
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    geodec_propagators p = make_propagators(&sphere.base);
    const geodec_records_options o = geodec_records_defaults();
    test_ok(geodec_records_compute(&p, &sphere.base, NULL, &o, NULL, NULL, &r, &err), &err);
    test_ok(geodec_lookup_try(&r, &sphere.base, r.records, r.q, NULL, NULL, &trial, &err), &err);
    cr_assert(trial.recall == 1 && trial.inside == 1 && trial.recall_screen == 1);
    for (int i = 0; i < 200 * N; i++) queries[i] = geodec_rng_normal(&rng);
    test_ok(geodec_lookup_try(&r, &sphere.base, 200, queries, NULL, NULL, &trial, &err), &err);
    cr_assert(trial.recall == 1 && trial.inside < 0.9);
    geodec_records_clear(&r);
    geodec_propagators_clear(&p);
}

static void write_store(const char *path, const geodec_records *r)
{
    const geodec_lookup_trial trial = {.queries = 1, .recall = 1};
    const geodec_provenance provenance = {.tool = "test", .command_line = "test", .seed = 1};
    geodec_artifact *a;
    geodec_err err = {0};
    test_ok(geodec_artifact_create(&geodec_records_kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_records_write(r, &trial, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
}

static geodec_status read_store(const char *path, geodec_records *r)
{
    geodec_artifact *a;
    geodec_err err = {0};
    test_ok(geodec_artifact_open(&geodec_records_kind, path, &a, &err), &err);
    const geodec_status st = geodec_records_read(a, r, NULL);
    geodec_artifact_close(a);
    return st;
}

/* What is read back gives the same numbers; a store whose sizes contradict each other is refused. */
Test(records, round_trip_and_refusal_of_contradictions)
{
    geodec_space_conformal sphere;
    geodec_records r, back;
    geodec_err err = {0};
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    geodec_propagators p = make_propagators(&sphere.base);
    geodec_records_options o = geodec_records_defaults();
    o.phi_tolerance = 0.3; /* low ranks */
    test_ok(geodec_records_compute(&p, &sphere.base, NULL, &o, NULL, NULL, &r, &err), &err);
    const char *path = test_tmp("records.h5");
    write_store(path, &r);
    cr_assert_eq(read_store(path, &back), GEODEC_OK);
    for (int64_t i = 0; i < r.records; i++) {
        const double d[N] = {0.1, 0.2, -0.1};
        double a[N], b[N];
        geodec_records_predict(&r, i, d, a);
        geodec_records_predict(&back, i, d, b);
        cr_assert_eq(memcmp(a, b, sizeof a), 0);
        cr_assert_eq(r.rho[i], back.rho[i]);
    }
    cr_assert_eq(geodec_records_bytes(&r), geodec_records_bytes(&back));
    cr_assert_eq(back.figures.noise_length, 0.0, "unknown");
    geodec_records_clear(&back);
    /* an error as long as the radius of record 4: the radii of the others are above or below their own */
    double g[N * N], below = 0;
    test_ok(sphere.base.at(&sphere.base, r.q + 4 * N, g, NULL, NULL, &err), &err);
    r.options.noise = 1.0001 * (double)r.rho[4] / sqrt(N * g[0]);
    for (int64_t i = 0; i < r.records; i++) {
        test_ok(sphere.base.at(&sphere.base, r.q + i * N, g, NULL, NULL, &err), &err);
        below += (double)r.rho[i] < r.options.noise * sqrt(N * g[0]);
    }
    cr_assert(below >= 1 && below < (double)r.records, "%g", below);
    write_store(path, &r);
    cr_assert_eq(read_store(path, &back), GEODEC_OK);
    cr_assert_float_eq(back.figures.rho_below_noise, below / (double)r.records, 1e-12);
    cr_assert_gt(back.figures.noise_length, 0.0);
    geodec_records_clear(&back);
    r.options.noise = 0;
    const int32_t rank = r.rank[2];
    for (int bad = 0; bad < 5; bad++) {
        if (bad == 0) r.rank[2] = rank + 1;
        if (bad == 1) r.rank[2] = -1;
        if (bad == 2) r.full[2] ^= 1;
        if (bad == 3) r.offset[1] += 1;
        if (bad == 4) r.dl = -1;
        const char *file = test_tmp("bad.h5");
        write_store(file, &r);
        cr_assert_eq(read_store(file, &back), GEODEC_FORMAT, "case %d", bad);
        r.rank[2] = rank;
        if (bad == 2) r.full[2] ^= 1;
        if (bad == 3) r.offset[1] -= 1;
    }
    geodec_records_clear(&r);
    geodec_propagators_clear(&p);
}

Test(records, one_and_three_threads_agree_bit_for_bit)
{
    geodec_space_conformal sphere;
    geodec_records r[2];
    geodec_err err = {0};
    geodec_pool *pool;
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    geodec_propagators p = make_propagators(&sphere.base);
    const geodec_records_options o = geodec_records_defaults();
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int t = 0; t < 2; t++)
        test_ok(geodec_records_compute(&p, &sphere.base, NULL, &o, t ? pool : NULL, NULL, &r[t], &err), &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(r[0].offset[r[0].records], r[1].offset[r[1].records]);
    cr_assert_eq(memcmp(r[0].factor, r[1].factor, (size_t)r[0].offset[r[0].records] * sizeof(float)), 0);
    cr_assert_eq(memcmp(r[0].rho, r[1].rho, (size_t)r[0].records * sizeof(float)), 0);
    cr_assert_eq(memcmp(r[0].x, r[1].x, (size_t)(r[0].records * r[0].waypoints * N) * sizeof(uint16_t)), 0);
    geodec_records_clear(&r[0]);
    geodec_records_clear(&r[1]);
    geodec_propagators_clear(&p);
}

/* Whichever allocation fails, the call returns an error; the sanitizer build looks for leaks. */
Test(records, every_failing_allocation_is_reported)
{
    geodec_space_conformal sphere;
    geodec_err err = {0};
    test_ok(geodec_space_conformal_init(&sphere, N, 1, &err), &err);
    geodec_propagators p = make_propagators(&sphere.base);
    for (int64_t i = 1; i < P; i++) p.paths.status[i] = GEODEC_PATH_DRIFT; /* one record */
    geodec_records_options o = geodec_records_defaults();
    o.directions = 1;
    o.tau = 1e9; /* no bisection */
    int64_t k = 1;
    for (bool done = false; !done; k += 1 + k / 24) {
        geodec_records r = {0};
        geodec_lookup_trial trial;
        geodec_mem_fail_after(k);
        geodec_status st = geodec_records_compute(&p, &sphere.base, NULL, &o, NULL, NULL, &r, NULL);
        if (st == GEODEC_OK) st = geodec_lookup_try(&r, &sphere.base, 1, r.q, NULL, NULL, &trial, NULL);
        geodec_mem_fail_after(0);
        done = st == GEODEC_OK;
        if (!done) cr_assert_eq(st, GEODEC_NOMEM, "allocation %d: %s", (int)k, geodec_status_name(st));
        if (done) cr_assert(r.rho_censored[0] == GEODEC_CENSORED_ABOVE && trial.inside == 1);
        geodec_records_clear(&r);
    }
    cr_assert_gt(k, 30);
    geodec_propagators_clear(&p);
}
