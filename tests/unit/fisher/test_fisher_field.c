/* The Fisher metric as a field: families of known curvature, its connection against differences of the metric, and
 * models, whose curvature by the Gauss equation is that of the differentiated connection. */
#include "../reference/check.h"
#include "../reference/models.h"
#include "fisher/fisher_chart.h"
#include "fisher/fisher_closed.h"
#include "fisher/fisher_metric.h"
#include "geometry/curvature.h"
#include "geometry/geodesic.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <math.h>
#include <string.h>

/* Of fourth order on logits of size 1, (1e-3)^4; rounding 1e-16 / 1e-3 in the second derivatives. */
static const double step = 1e-3;

static geodec_fisher_field closed(geodec_fisher_closed kind, int32_t n)
{
    geodec_err err = {0};
    geodec_fisher_field f;
    geodec_fisher_map map;
    geodec_linalg_init();
    test_ok(geodec_fisher_closed_map(kind, n, &map, &err), &err);
    test_ok(geodec_fisher_field_init(&f, &map, step, &err), &err);
    return f;
}

Test(fisher_field, families_of_known_curvature)
{
    static const double at[2][6] = {{0.3, -0.4, 0.2, 0.1, -0.3, 0.35}, {-0.1, 0.25, -0.45, 0.4, 0.05, -0.2}};
    for (int kind = 0; kind < GEODEC_FISHER_CLOSED; kind++) {
        const double want = geodec_fisher_closed_curvature[kind];
        for (int32_t n = 2; n <= (kind == GEODEC_FISHER_NORMAL ? 2 : 6); n += 2)
            for (int i = 0; i < 2; i++) {
                geodec_err err = {0};
                const geodec_fisher_field f = closed((geodec_fisher_closed)kind, n);
                geodec_fisher_curvature c;
                geodec_curvature_invariants inv;
                test_ok(geodec_fisher_field_curvature(&f, at[i], &c, &err), &err);
                cr_assert_float_eq(c.sectional, want, 1e-10, "%s, n = %d: %.12g", geodec_fisher_closed_names[kind], n,
                                   c.sectional);
                cr_assert_float_eq(c.sectional_min, want, 1e-10);
                cr_assert_float_eq(c.sectional_max, want, 1e-10);
                cr_assert_float_eq(c.scalar, want * n * (n - 1), 1e-9);
                cr_assert_lt(c.asymmetry, 1e-9);
                cr_assert(c.condition >= 1 && c.entropy > 0);
                if (kind == GEODEC_FISHER_SIMPLEX) cr_assert_lt(c.second, 1e-6);
                /* the other way, through dGamma by differences of second order: 1e-6 of Gamma's second derivatives */
                test_ok(geodec_curvature_at(&f.base, at[i], NULL, NULL, &inv, &err), &err);
                cr_assert_float_eq(inv.scalar, c.scalar, 2e-4, "%s: %g, not %g", geodec_fisher_closed_names[kind],
                                   inv.scalar, c.scalar);
            }
    }
}

/* N(mean, deviation e^s): g = diag(e^-2s, 2), and the only symbols Gamma^m_ms = -1, Gamma^s_mm = e^-2s / 2. */
Test(fisher_field, normal_distributions_in_closed_form)
{
    geodec_err err = {0};
    const geodec_fisher_field f = closed(GEODEC_FISHER_NORMAL, 2);
    const double z[2] = {0.2, -0.3}, e = exp(0.6), want[4] = {e, 0, 0, 2},
                 want_gamma[8] = {0, e / 2, -1, 0, -1, 0, 0, 0}, want_dg[8] = {0, 0, 0, 0, -2 * e, 0, 0, 0},
                 u[2] = {0.7, -1.1};
    double g[4], dg[8], gamma[8], accel[2], speed2, straight[2];
    bool done_here = false;
    test_ok(f.base.at(&f.base, z, g, dg, gamma, &err), &err);
    cr_assert_lt(test_max_abs_diff(g, want, 4), 1e-11);
    cr_assert_lt(test_max_abs_diff(gamma, want_gamma, 8), 1e-9);
    cr_assert_lt(test_max_abs_diff(dg, want_dg, 8), 1e-9);
    test_ok(f.base.path(&f.base, 1, z, u, &speed2, accel, &done_here, &err), &err);
    cr_assert(done_here);
    cr_assert_float_eq(speed2, e * u[0] * u[0] + 2 * u[1] * u[1], 1e-10);
    geodec_geodesic_accel(2, want_gamma, u, straight);
    cr_assert_lt(test_max_abs_diff(accel, straight, 2), 1e-9);
    test_ok(f.base.path(&f.base, 1, z, u, &speed2, NULL, &done_here, &err), &err);
    cr_assert_float_eq(speed2, e * u[0] * u[0] + 2 * u[1] * u[1], 1e-10);
}

/* A geodesic of the whole simplex is a great circle: its length is the bound; a chord is longer. In a flat family of
 * bits the length is that of the coordinates 2 arcsin sqrt(p). */
Test(fisher_field, lengths_of_geodesics_and_chords)
{
    geodec_err err = {0};
    const double a[3] = {0.5, -0.7, 0.3}, b[3] = {-0.8, 0.6, 1.1};
    double w[3], g[9], bound, chord, error;
    bool found;
    geodec_logmap_options o = geodec_logmap_defaults();
    o.rtol = 1e-10;
    o.tolerance = 1e-8;
    o.rounds = 40;
    for (int kind = 0; kind < 2; kind++) {
        const geodec_fisher_field f = closed((geodec_fisher_closed)kind, 3);
        double length = 0, want = 0;
        test_ok(geodec_logmap(&f.base, &o, a, b, w, &found, &err), &err);
        cr_assert(found);
        test_ok(f.base.at(&f.base, a, g, NULL, NULL, &err), &err);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) length += w[i] * g[3 * i + j] * w[j];
        length = sqrt(length);
        test_ok(geodec_fisher_field_bound(&f, a, b, &bound, &err), &err);
        test_ok(geodec_fisher_field_chord(&f, a, b, &chord, &error, &err), &err);
        for (int i = 0; i < 3; i++) {
            const double arc = 2 * asin(sqrt(1 / (1 + exp(-b[i])))) - 2 * asin(sqrt(1 / (1 + exp(-a[i]))));
            want += arc * arc;
        }
        want = kind == GEODEC_FISHER_SIMPLEX ? bound : sqrt(want);
        cr_assert_float_eq(length, want, 1e-7, "%s: %.10g, not %.10g", geodec_fisher_closed_names[kind], length, want);
        cr_assert(length >= bound - 1e-9 && chord > length && error < 1e-9 * chord);
        if (kind == GEODEC_FISHER_INDEPENDENT) cr_assert_gt(length, bound + 1e-3);
    }
}

Test(fisher_field, the_step_is_chosen)
{
    geodec_err err = {0};
    const double z[2] = {0.1, -0.2};
    geodec_fisher_field f = closed(GEODEC_FISHER_NORMAL, 2);
    geodec_fisher_curvature c;
    double error;
    test_ok(geodec_fisher_field_tune(&f, z, 0.5, 14, &c, &error, &err), &err);
    cr_assert(f.step < 0.5 && f.step > 1e-4 && f.base.fd_step == f.step, "%g", f.step);
    cr_assert_lt(error, 1e-10);
    cr_assert_float_eq(c.sectional, -0.5, 1e-9, "%.12g", c.sectional);
    /* a wide step has an error of the fourth order: 16 times as much at twice the width. In this family it lies in the
     * tangent space, so the connection has it and the curvature does not. */
    double gamma[2][8], error_at[2];
    for (int i = 0; i < 2; i++) {
        f.step = 0.1 * (i + 1);
        test_ok(f.base.at(&f.base, z, NULL, NULL, gamma[i], &err), &err);
        error_at[i] = fabs(gamma[i][4] + 1); /* Gamma^m_sm */
    }
    cr_assert(error_at[0] > 1e-8 && error_at[1] / error_at[0] > 15 && error_at[1] / error_at[0] < 18, "%g %g",
              error_at[0], error_at[1]);
}

enum { TOKENS = 7, N = 3, CLAMPED = 18 /* models before this kind are smooth */ };

/* The state of token 4 of a text at a boundary. */
typedef struct setting {
    geodec_model *m;
    geodec_reference *r;
    int32_t token[TOKENS];
    int64_t d, first;
    int32_t position;
    double *basis, *state;
    geodec_fisher_states s;
    geodec_fisher_chart *chart;
} setting;

static void begin(setting *t, int kind, int32_t layer)
{
    geodec_err err = {0};
    *t = (setting){.m = models_create(kind), .position = 4};
    geodec_linalg_init();
    test_ok(geodec_reference_create(t->m, NULL, &t->r, &err), &err);
    const geodec_model_config *c = geodec_model_configuration(t->m);
    t->d = c->d_model;
    if (layer < 0) layer = c->n_layer + 1 + layer;
    models_tokens(t->m, t->token, TOKENS);
    t->basis = check_random(N * t->d, 5);
    t->state = geodec_mem_new(t->d, sizeof(double));
    double *x = geodec_mem_new(TOKENS * t->d, sizeof *x), *y = geodec_mem_new(TOKENS * t->d, sizeof *y);
    test_ok(geodec_reference_embed(t->r, t->token, TOKENS, x, &err), &err);
    geodec_reference *own = models_reference(t->m, t->token, TOKENS);
    test_ok(geodec_reference_run(own, 0, layer, TOKENS, x, NULL, y, &err), &err);
    geodec_reference_destroy(own);
    memcpy(t->state, y + t->position * t->d, (size_t)t->d * sizeof *y);
    geodec_mem_free(x);
    geodec_mem_free(y);
    t->s = (geodec_fisher_states){.layer = layer,
                                  .count = 1,
                                  .state = t->state,
                                  .token = t->token,
                                  .tokens = TOKENS,
                                  .first = &t->first,
                                  .position = &t->position};
    test_ok(geodec_fisher_chart_create(t->r, &t->s, 0, N, t->basis, &t->chart, &err), &err);
}

static void end(setting *t)
{
    geodec_fisher_chart_destroy(t->chart);
    geodec_mem_free(t->basis);
    geodec_mem_free(t->state);
    geodec_reference_destroy(t->r);
    models_destroy(t->m);
}

/* At z = 0 and at another point: g is that of fisher_metric.h at the moved state; dg is its difference; the curvature
 * is that of the connection. */
static void field_of_model(int kind, int32_t layer)
{
    geodec_err err = {0};
    setting t;
    begin(&t, kind, layer);
    const geodec_fisher_map map = geodec_fisher_chart_map(t.chart);
    double size = 0, z[N] = {0}, g[N * N], dg[N * N * N], want[N * N], want_dg[N * N * N], error;
    for (int64_t i = 0; i < t.d; i++) size += t.state[i] * t.state[i];
    size = sqrt(size);
    for (int at = 0; at < 2; at++) {
        geodec_fisher_field f;
        geodec_fisher_curvature c;
        geodec_curvature_invariants inv;
        test_ok(geodec_fisher_field_init(&f, &map, 1e-3, &err), &err);
        test_ok(geodec_fisher_field_tune(&f, z, 0.02, 8, &c, &error, &err), &err);
        /* the largest of all kinds is 1e-11 */
        cr_assert_lt(error, 1e-10 * fmax(1, fabs(c.sectional)), "%s layer %d: %g of %g", models_name(kind), layer,
                     error, c.sectional);
        cr_assert_lt(c.asymmetry, 1e-10);
        test_ok(f.base.at(&f.base, z, g, dg, NULL, &err), &err);
        test_ok(geodec_fisher_metric(t.r, &t.s, N, t.basis, NULL, NULL, want, NULL, NULL, &err), &err);
        cr_assert_lt(test_max_abs_diff(g, want, N * N), 1e-11 * test_max_abs(want, N * N), "%s", models_name(kind));
        /* second order in a step of 1e-4: 1e-8 of third derivatives, rounding 1e-12 */
        test_ok(geodec_space_dg_fd(&f.base, z, 1e-4, want_dg, &err), &err);
        cr_assert_lt(test_max_abs_diff(dg, want_dg, N * N * N), 1e-5 * test_max_abs(want_dg, N * N * N), "%s",
                     models_name(kind));
        f.base.fd_step = 1e-4;
        test_ok(geodec_curvature_at(&f.base, z, NULL, NULL, &inv, &err), &err);
        cr_assert_float_eq(inv.scalar, c.scalar, 2e-4 * fmax(1, fabs(c.scalar)), "%s layer %d: %g, not %g",
                           models_name(kind), layer, inv.scalar, c.scalar);
        for (int i = 0; i < N; i++) {
            z[i] = 0.05 * (i - 0.7);
            for (int64_t k = 0; k < t.d; k++) t.state[k] += z[i] * t.basis[i * t.d + k];
        }
    }
    int64_t tangents, points;
    geodec_fisher_chart_cost(t.chart, &tangents, &points);
    cr_assert(tangents > 8 * (4 * N * N + N) && points < tangents);
    end(&t);
}

Test(fisher_field, of_models, .timeout = 120)
{
    for (int kind = 0; kind < CLAMPED; kind += 3) {
        field_of_model(kind, -1);
        field_of_model(kind, -2);
    }
}

/* A clamp of the values has no derivative where it begins: there is no second order, and the figures say so. */
Test(fisher_field, a_kink_shows_in_the_error_and_the_asymmetry)
{
    geodec_err err = {0};
    setting t;
    const double z[N] = {0};
    geodec_fisher_field f;
    geodec_fisher_curvature c;
    double error;
    begin(&t, CLAMPED, -2);
    const geodec_fisher_map map = geodec_fisher_chart_map(t.chart);
    test_ok(geodec_fisher_field_init(&f, &map, 1e-3, &err), &err);
    test_ok(geodec_fisher_field_tune(&f, z, 0.02, 8, &c, &error, &err), &err);
    cr_assert(error > 1e-3 && c.asymmetry > 1e-3, "%g %g", error, c.asymmetry);
    end(&t);
}

/* Other directions of the same plane: the scalar curvature is the same. */
Test(fisher_field, curvature_does_not_depend_on_coordinates)
{
    geodec_err err = {0};
    setting t;
    begin(&t, 0, 1);
    const double z[N] = {0}, mix[N * N] = {0.6, -0.8, 0, 2, 1.5, 0, 0.3, 0, -1};
    double *other = geodec_mem_new(N * t.d, sizeof *other);
    geodec_fisher_curvature a, b;
    geodec_fisher_field f;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int64_t k = 0; k < t.d; k++) other[i * t.d + k] += mix[i * N + j] * t.basis[j * t.d + k];
    geodec_fisher_map map = geodec_fisher_chart_map(t.chart);
    test_ok(geodec_fisher_field_init(&f, &map, 1e-3, &err), &err);
    test_ok(geodec_fisher_field_curvature(&f, z, &a, &err), &err);
    test_ok(geodec_fisher_chart_turn(t.chart, N, other, &err), &err);
    test_ok(geodec_fisher_field_curvature(&f, z, &b, &err), &err);
    cr_assert_float_eq(a.scalar, b.scalar, 1e-7 * fmax(1, fabs(a.scalar)), "%g, not %g", b.scalar, a.scalar);
    geodec_mem_free(other);
    end(&t);
}

Test(fisher_field, refuses)
{
    geodec_err err = {0};
    setting t;
    geodec_fisher_field f;
    geodec_fisher_curvature c;
    geodec_fisher_map map;
    geodec_fisher_chart *chart = NULL;
    const double z[N] = {0};
    double g[4], gamma[8];
    begin(&t, 0, 1);
    cr_assert_eq(geodec_fisher_chart_create(t.r, &t.s, 1, N, t.basis, &chart, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_fisher_chart_create(t.r, &t.s, 0, 17, t.basis, &chart, NULL), GEODEC_RANGE);
    t.s.layer = 99;
    cr_assert_eq(geodec_fisher_chart_create(t.r, &t.s, 0, N, t.basis, &chart, NULL), GEODEC_RANGE);
    t.s.layer = 1;
    t.s.token = NULL;
    cr_assert_eq(geodec_fisher_chart_create(t.r, &t.s, 0, N, t.basis, &chart, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_fisher_closed_map(GEODEC_FISHER_NORMAL, 3, &map, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_fisher_closed_map(GEODEC_FISHER_SIMPLEX, 9, &map, NULL), GEODEC_RANGE);
    map = geodec_fisher_chart_map(t.chart);
    cr_assert_eq(geodec_fisher_field_init(&f, &map, 0, NULL), GEODEC_RANGE);
    map.n = 1;
    test_ok(geodec_fisher_field_init(&f, &map, 1e-3, &err), &err);
    cr_assert_eq(geodec_fisher_field_curvature(&f, z, &c, NULL), GEODEC_RANGE);
    /* two equal directions: no metric */
    memcpy(t.basis + t.d, t.basis, (size_t)t.d * sizeof *t.basis);
    test_ok(geodec_fisher_chart_turn(t.chart, 2, t.basis, &err), &err);
    map = geodec_fisher_chart_map(t.chart);
    test_ok(geodec_fisher_field_init(&f, &map, 1e-3, &err), &err);
    cr_assert_eq(f.base.at(&f.base, z, g, NULL, gamma, NULL), GEODEC_NUMERIC);
    test_ok(f.base.at(&f.base, z, g, NULL, NULL, &err), &err);
    end(&t);
}
