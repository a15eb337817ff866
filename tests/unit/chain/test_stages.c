/* The stages on a small cloud, as the tools run them: metric -> geodesics -> curvature, propagators -> validity,
 * through the artifacts. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/geodesics.h"
#include "chain/propagators.h"
#include "chain/riemann.h"
#include "chain/validity.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { POINTS = 120, N = 3, SEQUENCES = 6, LENGTH = POINTS / SEQUENCES };

typedef struct stage {
    geodec_metric metric;
    geodec_rbf *field;
    geodec_artifact *file;
} stage;

static const geodec_provenance provenance = {.tool = "test", .command_line = "test", .seed = 1};

/* Random walks that pull back to the origin; in text order, one state of each sequence missing. */
static stage make(bool with_text)
{
    stage s = {0};
    geodec_err err = {0};
    double x[POINTS * N], basis[N * N] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, mean[N] = {0}, walk[N] = {0};
    int32_t row[POINTS], sequence[POINTS], position[POINTS];
    geodec_rng r = geodec_rng_stream(2, geodec_rng_id("walk", 0));
    for (int i = 0; i < POINTS; i++) {
        for (int a = 0; a < N; a++) x[i * N + a] = walk[a] = 0.7 * walk[a] + geodec_rng_normal(&r) * (1 + a);
        sequence[i] = i / LENGTH;
        position[i] = i % LENGTH + (i % LENGTH > 9); /* position 10 is not in the cloud */
        row[i] = 1000 + i;
    }
    const geodec_metric_options o = geodec_metric_defaults();
    test_ok(geodec_metric_fit(POINTS, N, x, &o, NULL, NULL, &s.metric, &err), &err);
    test_ok(geodec_metric_field(&s.metric, &s.field, &err), &err);
    const geodec_metric_source source = {.cloud_row = row,
                                         .activation_row = row,
                                         .sequence = with_text ? sequence : NULL,
                                         .position = with_text ? position : NULL,
                                         .d = N,
                                         .basis = basis,
                                         .mean = mean,
                                         .layer = 1};
    const char *path = test_tmp(with_text ? "metric.h5" : "bare.h5");
    geodec_artifact *a;
    test_ok(geodec_artifact_create(&geodec_metric_kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_metric_write(&s.metric, &source, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_metric_kind, path, &s.file, &err), &err);
    return s;
}

static void release(stage *s)
{
    geodec_metric_clear(&s->metric);
    geodec_rbf_destroy(s->field);
    geodec_artifact_close(s->file);
}

Test(stages, geodesics_follow_the_text)
{
    stage s = make(true);
    geodec_geodesics g, back;
    geodec_err err = {0};
    geodec_geodesics_options o = geodec_geodesics_defaults();
    o.paths = 0;
    test_ok(geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &o, NULL, NULL, &g, &err), &err);
    /* a sequence of 20 states with one gap has 18 steps */
    cr_assert_eq(g.paths, SEQUENCES * (LENGTH - 2));
    cr_assert_lt(g.refinement_error, 1e-5);
    cr_assert_gt(g.hull_radius, 0);
    for (int64_t p = 0; p < g.paths; p++) {
        const int32_t from = g.point[p], to = g.next[p];
        cr_assert_eq(to, from + 1);
        cr_assert(from % LENGTH != LENGTH - 1 && from % LENGTH != 9);
        cr_assert_eq(g.activation_row[p], 1000 + from);
        cr_assert_eq(g.next_row[p], 1000 + to);
        const double *x = s.metric.point + from * N, *y = s.metric.point + to * N, *v = g.v + p * g.nodes * N;
        double along = 0, step = 0, speed = 0;
        for (int a = 0; a < N; a++) {
            cr_assert_eq(g.x[p * g.nodes * N + a], x[a]);
            along += v[a] * (y[a] - x[a]), step += (y[a] - x[a]) * (y[a] - x[a]), speed += v[a] * v[a];
        }
        cr_assert_float_eq(along, sqrt(step * speed), 1e-12 * along);
        cr_assert_float_eq(g.speed2[p * g.nodes], 1, 1e-12);
        cr_assert(g.status[p] == GEODEC_PATH_OK || g.status[p] == GEODEC_PATH_LEFT_HULL);
    }
    const char *path = test_tmp("geodesics.h5");
    geodec_artifact *a;
    test_ok(geodec_artifact_create(&geodec_geodesics_kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_geodesics_write(&g, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_geodesics_kind, path, &a, &err), &err);
    test_ok(geodec_geodesics_read(a, &back, &err), &err);
    geodec_artifact_close(a);
    cr_assert_eq(back.paths, g.paths);
    cr_assert_eq(memcmp(back.x, g.x, (size_t)(g.paths * g.nodes * N) * sizeof *g.x), 0);
    cr_assert_eq(memcmp(back.next_row, g.next_row, (size_t)g.paths * sizeof *g.next_row), 0);
    cr_assert(back.options.steps == 16 && back.dl == 0.1 && back.velocity == GEODEC_VELOCITY_SEQUENCE);
    geodec_geodesics_clear(&back);
    geodec_geodesics_clear(&g);
    release(&s);
}

Test(stages, a_metric_without_its_place_in_the_text_needs_random_velocities)
{
    stage s = make(false);
    geodec_geodesics g;
    geodec_err err = {0};
    geodec_geodesics_options o = geodec_geodesics_defaults();
    cr_assert_eq(geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &o, NULL, NULL, &g, NULL),
                 GEODEC_NOTFOUND);
    o.velocity = GEODEC_VELOCITY_RANDOM;
    o.paths = 10;
    test_ok(geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &o, NULL, NULL, &g, &err), &err);
    cr_assert_eq(g.paths, 10);
    for (int64_t p = 0; p < g.paths; p++) {
        cr_assert(g.next[p] == -1 && g.next_row[p] == -1);
        cr_assert_float_eq(g.speed2[p * g.nodes], 1, 1e-12);
        if (p) cr_assert_gt(g.point[p], g.point[p - 1]);
    }
    geodec_geodesics_clear(&g);
    release(&s);
}

/* A tiny hull: every path leaves it, and reports it. */
Test(stages, paths_that_leave_the_hull_are_marked)
{
    stage s = make(true);
    geodec_geodesics g;
    geodec_err err = {0};
    geodec_geodesics_options o = geodec_geodesics_defaults();
    o.paths = 8;
    o.hull_radius = 1e-6;
    test_ok(geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &o, NULL, NULL, &g, &err), &err);
    for (int64_t p = 0; p < g.paths; p++) cr_assert(g.status[p] == GEODEC_PATH_LEFT_HULL && g.good[p] == 16);
    geodec_geodesics_clear(&g);
    o.hull_radius = -1;
    test_ok(geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &o, NULL, NULL, &g, &err), &err);
    for (int64_t p = 0; p < g.paths; p++) cr_assert_eq(g.status[p], GEODEC_PATH_OK);
    geodec_geodesics_clear(&g);
    release(&s);
}

Test(stages, curvature_with_its_controls)
{
    stage s = make(true);
    geodec_geodesics g;
    geodec_riemann c;
    geodec_err err = {0};
    geodec_geodesics_options go = geodec_geodesics_defaults();
    go.paths = 5;
    test_ok(geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &go, NULL, NULL, &g, &err), &err);
    const geodec_riemann_options o = {.samples = 20, .midpoints = 10, .tensors = true, .seed = 1};
    test_ok(geodec_riemann_compute(&s.metric, geodec_rbf_space(s.field), &g, &o, NULL, NULL, &c, &err), &err);
    cr_assert_eq(c.points, 20 + 10 + 2 * 5);
    cr_assert_lt(c.worst.first_pair, 1e-9);
    cr_assert_lt(c.worst.bianchi, 1e-9);
    cr_assert_lt(c.sphere_error, 1e-12);
    cr_assert_lt(c.differences_gap, 1e-4);
    for (int64_t q = 0; q < c.points; q++) {
        const double *x = s.metric.point + c.index[q] * N;
        for (int a = 0; a < N; a++) {
            const double y = c.place[q] == GEODEC_PLACE_MIDPOINT ? s.metric.point[c.partner[q] * N + a] : x[a];
            if (c.place[q] != GEODEC_PLACE_PATH) cr_assert_eq(c.x[q * N + a], 0.5 * (x[a] + y));
        }
        if (c.place[q] == GEODEC_PLACE_MIDPOINT)
            cr_assert_eq(c.partner[q], s.metric.knn_index[c.index[q] * s.metric.k]);
        if (c.place[q] == GEODEC_PLACE_PATH)
            cr_assert_eq(memcmp(c.x + q * N, g.x + (c.index[q] * g.nodes + c.partner[q]) * N, N * sizeof(double)), 0);
    }
    cr_assert(c.median_abs_scalar[0] > 0 && c.median_abs_scalar[1] > 0 && c.median_abs_scalar[2] > 0);
    geodec_artifact *a;
    test_ok(geodec_artifact_create(&geodec_riemann_kind, test_tmp("riemann.h5"), &provenance, &a, &err), &err);
    test_ok(geodec_artifact_save(a, &c, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_riemann_kind, test_tmp("riemann.h5"), &a, &err), &err);
    double *riem;
    test_ok(geodec_artifact_read(a, "/riemann", &riem, &err), &err);
    cr_assert_eq(memcmp(riem, c.riem, (size_t)(c.points * N * N * N * N) * sizeof *riem), 0);
    geodec_mem_free(riem);
    geodec_artifact_close(a);
    geodec_riemann_clear(&c);
    geodec_geodesics_clear(&g);
    release(&s);
}

Test(stages, propagators_with_their_control)
{
    stage s = make(true);
    geodec_geodesics g;
    geodec_propagators p, back;
    geodec_err err = {0};
    geodec_geodesics_options go = geodec_geodesics_defaults();
    go.paths = 6;
    test_ok(geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &go, NULL, NULL, &g, &err), &err);
    geodec_propagators_options o = geodec_propagators_defaults();
    o.flow = true;
    o.control = 3;
    test_ok(geodec_propagators_compute(geodec_rbf_space(s.field), &g, &o, NULL, NULL, &p, &err), &err);
    cr_assert_null(g.x); /* taken over */
    cr_assert_eq(p.controls, 3);
    for (int64_t c = 0; c < 3; c++) cr_assert_lt(p.control_gap[c], 1e-5, "%g", p.control_gap[c]);
    for (int64_t i = 0; i < 6; i++) {
        cr_assert_lt(p.report[i].symplectic, 1e-3);
        cr_assert_geq(p.singular[i * N], p.singular[i * N + N - 1]);
    }
    const char *path = test_tmp("propagators.h5");
    geodec_artifact *a;
    test_ok(geodec_artifact_create(&geodec_propagators_kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_propagators_write(&p, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_propagators_kind, path, &a, &err), &err);
    cr_assert(geodec_artifact_has(a, "/flow"));
    test_ok(geodec_propagators_read(a, &back, &err), &err);
    geodec_artifact_close(a);
    cr_assert_eq(memcmp(back.phi, p.phi, (size_t)(6 * 17 * N * N) * sizeof *p.phi), 0);
    cr_assert(back.options.scheme == GEODEC_MAGNUS_MAGNUS4 && back.paths.options.steps == 16);
    geodec_propagators_clear(&back);
    geodec_propagators_clear(&p);
    release(&s);
}

Test(stages, validity_of_the_field_and_the_sphere)
{
    enum { STARTS = 4 };
    stage s = make(true);
    geodec_validity v, sphere;
    geodec_err err = {0};
    geodec_validity_options o = geodec_validity_defaults();
    const geodec_space *space = geodec_rbf_space(s.field);
    double x0[STARTS * N], v0[STARTS * N];
    o.perturbations = 3;
    o.bootstrap = 50;
    geodec_validity_grid(&o, 6, 0.01, 1);
    cr_assert(o.eps[0] == 0.01 && o.eps[5] == 1);
    test_ok(geodec_validity_starts(&s.metric, space, STARTS, 1, x0, v0, &err), &err);
    test_ok(geodec_validity_run(space, &o, NULL, NULL, STARTS, x0, v0, NULL, 1, &v, &err), &err);
    test_ok(geodec_validity_sphere(N, &o, NULL, NULL, 3, 1, &sphere, &err), &err);
    cr_assert(v.slope_ok && fabs(v.slope.value - 2) < 0.15, "slope %g", v.slope.value);
    cr_assert(fabs(sphere.slope.value - 2) < 0.15);
    for (int64_t e = 0; e < 3; e++) cr_assert_lt(v.mean[e], v.shift[e]); /* better than no propagator */
    geodec_artifact *a;
    const char *path = test_tmp("validity.h5");
    test_ok(geodec_artifact_create(&geodec_validity_kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_validity_write(&v, &sphere, NULL, &o, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_validity_kind, path, &a, &err), &err);
    const char *verdict;
    double *mean;
    test_ok(geodec_artifact_get_str(a, "slope_verdict", &verdict, &err), &err);
    cr_assert_str_eq(verdict, "pass");
    test_ok(geodec_artifact_read(a, "/sphere/mean", &mean, &err), &err);
    cr_assert_eq(memcmp(mean, sphere.mean, 6 * sizeof *mean), 0);
    geodec_mem_free(mean);
    geodec_artifact_close(a);
    cr_assert_eq(geodec_validity_starts(&s.metric, space, POINTS + 1, 1, x0, v0, NULL), GEODEC_RANGE);
    geodec_validity_clear(&v);
    geodec_validity_clear(&sphere);
    release(&s);
}

/* Whichever allocation fails in the three stages, the call returns an error; the sanitizer build looks for leaks. */
Test(stages, every_failing_allocation_is_reported)
{
    stage s = make(true);
    geodec_geodesics_options go = geodec_geodesics_defaults();
    const geodec_riemann_options co = {.samples = 2, .midpoints = 1, .seed = 1};
    geodec_propagators_options po = geodec_propagators_defaults();
    go.paths = 2;
    go.path.steps = 3;
    go.control = 1;
    po.control = 1;
    int64_t k = 1;
    for (bool done = false; !done; k += 1 + k / 24) {
        geodec_geodesics g = {0};
        geodec_riemann c = {0};
        geodec_propagators p = {0};
        geodec_mem_fail_after(k);
        geodec_status st =
            geodec_geodesics_compute(&s.metric, geodec_rbf_space(s.field), s.file, &go, NULL, NULL, &g, NULL);
        if (st == GEODEC_OK)
            st = geodec_riemann_compute(&s.metric, geodec_rbf_space(s.field), &g, &co, NULL, NULL, &c, NULL);
        if (st == GEODEC_OK) st = geodec_propagators_compute(geodec_rbf_space(s.field), &g, &po, NULL, NULL, &p, NULL);
        geodec_mem_fail_after(0);
        done = st == GEODEC_OK;
        if (!done) cr_assert_eq(st, GEODEC_NOMEM, "allocation %d: %s", (int)k, geodec_status_name(st));
        if (done)
            for (int64_t i = 0; i < 2; i++) cr_assert_eq(p.paths.status[i], GEODEC_PATH_OK);
        geodec_geodesics_clear(&g);
        geodec_riemann_clear(&c);
        geodec_propagators_clear(&p);
    }
    cr_assert_gt(k, 100);
    release(&s);
}
