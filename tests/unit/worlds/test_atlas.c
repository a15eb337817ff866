/* The atlas against worlds, whose geodesics are known. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/atlas.h"
#include "lab/worlds/worlds.h"
#include "linalg/knn.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { AMBIENT = 16 };
static const double pi = 3.14159265358979323846;

static geodec_world made(const geodec_world_options *o)
{
    geodec_world w = {0};
    geodec_err err = {0};
    geodec_linalg_init();
    test_ok(geodec_world_make(o, &w, &err), &err);
    return w;
}

/* A unit vector of each frame. */
static const double first[GEODEC_QUADRATIC_MAX_N] = {1};

typedef struct start {
    geodec_atlas_chart chart;
    double t[GEODEC_QUADRATIC_MAX_N], v[GEODEC_QUADRATIC_MAX_N];
} start;

/* A chart at the clean place of a row, and the velocity of the first vector of its frame there. */
static void begin(const geodec_world *w, const geodec_atlas *a, int64_t row, start *s)
{
    geodec_err err = {0};
    double *tangent = geodec_mem_new(w->n * w->ambient, sizeof *tangent);
    const double *x = w->clean + row * w->ambient;
    geodec_world_tangent(w, row, tangent);
    test_ok(geodec_atlas_chart_at(a, x, GEODEC_ATLAS_NONE, NULL, &s->chart, &err), &err);
    test_ok(geodec_atlas_project(&s->chart, x, s->t, &err), &err);
    test_ok(geodec_atlas_velocity(&s->chart, s->t, tangent, s->v, &err), &err);
    geodec_mem_free(tangent);
}

/* Root mean square gap of fitted and true geodesics of the arc length s from `starts` rows, in units of s; *left: the
 * share that does not reach it; *straight: the gap of the tangent. */
static double gap(const geodec_world *w, const geodec_atlas *a, double s, int starts, double *left, double *straight)
{
    geodec_err err = {0};
    double sum = 0, flat = 0, y[AMBIENT], velocity[AMBIENT], truth[AMBIENT], tangent[AMBIENT * AMBIENT];
    int good = 0;
    for (int i = 0; i < starts; i++) {
        const int64_t row = (int64_t)i * w->points / starts;
        geodec_atlas_report r;
        start at;
        begin(w, a, row, &at);
        test_ok(geodec_world_geodesic(w, row, first, s, truth, NULL, &err), &err);
        test_ok(geodec_atlas_exp(a, &at.chart, GEODEC_ATLAS_NONE, at.t, at.v, 1, &s, y, velocity, &r, &err), &err);
        cr_assert(r.good == (r.end == GEODEC_ATLAS_REACHED));
        if (r.good == 1) {
            good++;
            sum += geodec__gap2(AMBIENT, y, truth);
            /* the speed is kept from chart to chart */
            cr_assert_float_eq(sqrt(geodec__dot(AMBIENT, velocity, velocity)), 1, 0.01);
            geodec_world_tangent(w, row, tangent);
            for (int j = 0; j < AMBIENT; j++) y[j] = w->clean[row * AMBIENT + j] + s * tangent[j];
            flat += geodec__gap2(AMBIENT, y, truth);
        }
        geodec_atlas_chart_clear(&at.chart);
    }
    *left = 1 - (double)good / starts;
    *straight = sqrt(flat / good) / s;
    return sqrt(sum / good) / s;
}

static geodec_world cloud(geodec_world_set set, int n, geodec_atlas *a)
{
    geodec_err err = {0};
    geodec_world_options o = geodec_world_defaults();
    o.set = set;
    o.n = n;
    o.points = 3000;
    o.noise = 1e-3;
    o.ambient = AMBIENT;
    const geodec_world w = made(&o);
    test_ok(geodec_atlas_init(a, n, w.points, w.ambient, w.x, w.sequence, 0, &err), &err);
    return w;
}

/* Closed sets, to beyond half of a great circle. The charts err in the fourth order of half their extent, 0.1 to 0.4,
 * and by the noise of 1e-3 of the start. */
Test(atlas, geodesics_of_closed_sets)
{
    static const struct {
        geodec_world_set set;
        int n;
    } all[] = {{GEODEC_WORLD_SPHERE, 2}, {GEODEC_WORLD_SPHERE, 5}, {GEODEC_WORLD_PRODUCT, 4}, {GEODEC_WORLD_TORUS, 2}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        geodec_atlas a;
        geodec_world w = cloud(all[i].set, all[i].n, &a);
        for (double s = 0.4; s < 4; s *= 2) {
            double left, flat;
            const double g = gap(&w, &a, s, 40, &left, &flat);
            cr_assert(g < 0.012 && flat > 0.16, "set %d, length %g: %g, straight %g", all[i].set, s, g, flat);
            cr_assert(left <= 0.15, "set %d, length %g: %g left", all[i].set, s, left);
        }
        geodec_world_clear(&w);
    }
}

/* A piece with edges: geodesics that leave it are reported, and the others follow the closed form of H^3. */
Test(atlas, a_piece_of_hyperbolic_space)
{
    geodec_atlas a;
    geodec_world w = cloud(GEODEC_WORLD_HYPERBOLIC, 3, &a);
    double left, flat;
    const double g = gap(&w, &a, 0.2, 60, &left, &flat);
    cr_assert(g < 0.75 * flat && left < 0.2, "%g, straight %g, left %g", g, flat, left);
    gap(&w, &a, 1.6, 60, &left, &flat);
    cr_assert_gt(left, 0.5); /* the piece has the size 1 */
    geodec_world_clear(&w);
}

/* After half of a great circle the place is the antipode. */
Test(atlas, half_a_great_circle)
{
    geodec_err err = {0};
    geodec_atlas a;
    geodec_world w = cloud(GEODEC_WORLD_SPHERE, 5, &a);
    for (int64_t row = 0; row < 3000; row += 300) {
        geodec_atlas_report r;
        start at;
        double y[AMBIENT], truth[AMBIENT];
        begin(&w, &a, row, &at);
        test_ok(geodec_atlas_exp(&a, &at.chart, GEODEC_ATLAS_NONE, at.t, at.v, 1, &pi, y, NULL, &r, &err), &err);
        cr_assert(r.end == GEODEC_ATLAS_REACHED && r.charts > 3);
        test_ok(geodec_world_geodesic(&w, row, first, pi, truth, NULL, &err), &err);
        cr_assert_lt(sqrt(geodec__gap2(AMBIENT, y, truth)), 0.03);
        cr_assert_gt(sqrt(geodec__gap2(AMBIENT, y, w.clean + row * AMBIENT)), 1.97);
        geodec_atlas_chart_clear(&at.chart);
    }
    geodec_world_clear(&w);
}

enum { GRAPH = 12 };

/* Lengths of the shortest paths of the graph of GRAPH nearest neighbours from point `from` (Dijkstra, as in Isomap). */
static void shortest(int64_t n, const int32_t *near, const double *x, int64_t from, double *length)
{
    bool *done = geodec_mem_new(n, sizeof *done);
    for (int64_t i = 0; i < n; i++) length[i] = i == from ? 0 : INFINITY;
    for (int64_t round = 0; round < n; round++) {
        int64_t at = -1;
        for (int64_t i = 0; i < n; i++)
            if (!done[i] && (at < 0 || length[i] < length[at])) at = i;
        done[at] = true;
        for (int64_t i = 0; i < n; i++) /* edges in both directions */
            for (int k = 0; k < GRAPH; k++) {
                const int64_t other = near[i * GRAPH + k], to = i == at ? other : i;
                if (i != at && other != at) continue;
                length[to] =
                    fmin(length[to], length[at] + sqrt(geodec__gap2(AMBIENT, x + at * AMBIENT, x + to * AMBIENT)));
            }
    }
    geodec_mem_free(done);
}

/* The length of a geodesic and that of the shortest path of the graph to its end: the path zigzags, which makes it
 * longer by up to a sixth, and it ends at the nearest point. */
Test(atlas, lengths_agree_with_shortest_paths_of_the_graph)
{
    geodec_err err = {0};
    geodec_atlas a;
    geodec_world w = cloud(GEODEC_WORLD_TORUS, 2, &a);
    const int64_t n = 3000;
    int32_t *near = geodec_mem_new(n * GRAPH, sizeof *near);
    double *length = geodec_mem_new(n, sizeof *length);
    test_ok(geodec_knn_search(n, AMBIENT, w.x, 0, NULL, GRAPH, near, NULL, NULL, NULL, &err), &err);
    for (int64_t row = 0; row < n; row += 600) {
        const double s[] = {0.6, 1.2};
        double y[2 * AMBIENT];
        geodec_atlas_report r;
        start at;
        begin(&w, &a, row, &at);
        test_ok(geodec_atlas_exp(&a, &at.chart, GEODEC_ATLAS_NONE, at.t, at.v, 2, s, y, NULL, &r, &err), &err);
        cr_assert_eq(r.good, 2);
        shortest(n, near, w.x, row, length);
        for (int k = 0; k < 2; k++) {
            int64_t end = 0;
            for (int64_t i = 0; i < n; i++)
                if (geodec__gap2(AMBIENT, y + k * AMBIENT, w.x + i * AMBIENT) <
                    geodec__gap2(AMBIENT, y + k * AMBIENT, w.x + end * AMBIENT))
                    end = i;
            const double off = sqrt(geodec__gap2(AMBIENT, y + k * AMBIENT, w.x + end * AMBIENT));
            cr_assert(length[end] > s[k] - off - 0.02 && length[end] < 1.17 * s[k] + off,
                      "row %d: graph %g, geodesic %g", (int)row, length[end], s[k]);
        }
        geodec_atlas_chart_clear(&at.chart);
    }
    geodec_mem_free(near);
    geodec_mem_free(length);
    geodec_world_clear(&w);
}

/* A text is left out; the control has the tangent space of the place and another curvature; velocities that arrive. */
Test(atlas, charts)
{
    geodec_err err = {0};
    geodec_atlas a, b;
    geodec_atlas_chart c, other;
    geodec_world w = cloud(GEODEC_WORLD_SPHERE, 2, &a);
    int64_t *to = geodec_mem_new(w.points, sizeof *to);
    double from[2], t[2], v[2], y[AMBIENT];
    cr_assert_eq(geodec_atlas_init(&b, 0, w.points, AMBIENT, w.x, NULL, 0, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_atlas_init(&b, 2, w.points, AMBIENT, w.x, NULL, 6, NULL), GEODEC_RANGE);
    cr_assert_eq(geodec_atlas_init(&b, 2, 24, AMBIENT, w.x, NULL, 0, NULL), GEODEC_SCARCE);
    for (int64_t row = 0; row < w.points; row += 500) {
        const double *x = w.x + row * AMBIENT;
        test_ok(geodec_atlas_chart_at(&a, x, GEODEC_ATLAS_NONE, NULL, &c, &err), &err);
        cr_assert_eq(c.nearest, row);
        geodec_atlas_chart_clear(&c);
        test_ok(geodec_atlas_chart_at(&a, x, w.sequence[row], NULL, &c, &err), &err);
        cr_assert_neq(c.nearest, row);
        cr_assert(c.inside && c.extent > 0.5 * c.q.radius && c.extent <= c.q.radius);
        /* from the place of a velocity v on the chart back to the centre: the unit sphere's length of the chord */
        from[0] = -0.1, from[1] = 0, t[0] = t[1] = 0;
        geodec_atlas_arrival(&c, from, t, v);
        cr_assert_float_eq(v[0], asin(0.1), 2e-4);
        cr_assert_gt(geodec_atlas_certain(&c, v), 0.8, "%g", geodec_atlas_certain(&c, v));
        geodec_quadratic_point(&c.q, from, NULL, y, NULL);
        test_ok(geodec_atlas_project(&c, y, t, &err), &err);
        cr_assert(fabs(t[0] - from[0]) < 1e-9 && fabs(t[1]) < 1e-9);
        for (int64_t i = 0; i < w.points; i++) to[i] = (i + 1234) % w.points;
        b = a;
        b.other = to;
        test_ok(geodec_atlas_chart_at(&b, x, w.sequence[row], NULL, &other, &err), &err);
        cr_assert_eq(memcmp(c.q.tangent, other.q.tangent, 2 * AMBIENT * sizeof *c.q.tangent), 0);
        cr_assert_gt(sqrt(geodec__gap2(3 * AMBIENT, c.q.second, other.q.second)), 0.2);
        geodec_atlas_chart_clear(&c);
        geodec_atlas_chart_clear(&other);
    }
    const double edge = a.edge;
    test_ok(geodec_atlas_edge(&a, 100, &err), &err);
    cr_assert(a.edge >= edge && a.edge < 2 * edge);
    geodec_mem_free(to);
    geodec_world_clear(&w);
}
