/* Routing on a torus. */
#include "base/mem.h"
#include "base/rng.h"
#include "evaluate/routing.h"
#include "routing/torus.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

static const int32_t lattice[3] = {8, 4, 4};
enum { EXPERTS = 128 };

static void places(float *position)
{
    for (int32_t e = 0; e < EXPERTS; e++) geodec_torus_place(lattice, e, position + 3 * e);
}

Test(torus, the_lattice_is_the_documented_one)
{
    float p[3];
    geodec_torus_place(lattice, 2 * 32 + 1 * 8 + 5, p);
    cr_assert_eq(p[0], 5.5f / 8);
    cr_assert_eq(p[1], 1.5f / 4);
    cr_assert_eq(p[2], 2.5f / 4);
}

/* Published distances of neighbours: 0.125 (2 experts), 0.25 (6), 0.2795 (8). */
Test(torus, distances_of_the_lattice)
{
    float position[3 * EXPERTS];
    int at_eighth = 0, at_quarter = 0, next = 0;
    places(position);
    for (int32_t e = 1; e < EXPERTS; e++) {
        const double d = sqrt((double)geodec_torus_distance2(position, position + 3 * e));
        at_eighth += fabs(d - 0.125) < 1e-6;
        at_quarter += fabs(d - 0.25) < 1e-6;
        next += fabs(d - sqrt(0.125 * 0.125 + 0.25 * 0.25)) < 1e-6;
    }
    cr_assert_eq(at_eighth, 2);
    cr_assert_eq(at_quarter, 6);
    cr_assert_eq(next, 8);
}

Test(torus, neighbours_are_the_384_edges)
{
    int32_t edge[400][2];
    cr_assert_eq(geodec_torus_edges(lattice, NULL), 384);
    cr_assert_eq(geodec_torus_edges(lattice, edge), 384);
    int degree[EXPERTS] = {0};
    float position[3 * EXPERTS];
    places(position);
    for (int i = 0; i < 384; i++) {
        cr_assert_lt(edge[i][0], edge[i][1]);
        if (i) cr_assert(edge[i - 1][0] < edge[i][0] || (edge[i - 1][0] == edge[i][0] && edge[i - 1][1] < edge[i][1]));
        degree[edge[i][0]]++;
        degree[edge[i][1]]++;
        const double d = sqrt((double)geodec_torus_distance2(position + 3 * edge[i][0], position + 3 * edge[i][1]));
        cr_assert(fabs(d - 0.125) < 1e-6 || fabs(d - 0.25) < 1e-6);
    }
    for (int e = 0; e < EXPERTS; e++) cr_assert_eq(degree[e], 6);
    const int32_t small[3] = {4, 2, 2}, line[3] = {3, 1, 1}, one[3] = {1, 1, 1};
    cr_assert_eq(geodec_torus_edges(small, NULL), 16 + 8 + 8);
    cr_assert_eq(geodec_torus_edges(line, NULL), 3);
    cr_assert_eq(geodec_torus_edges(one, NULL), 0);
}

Test(torus, positions_wrap)
{
    float z[3];
    const float u[3] = {-1e-9f, 3.25f, NAN};
    geodec_torus_project(GEODEC_TORUS_MOD, u, z); /* -1e-9 - floor(-1e-9) rounds to 1 */
    cr_assert_eq(z[0], 0);
    cr_assert_eq(z[1], 0.25f);
    cr_assert_eq(z[2], 0);
}

Test(torus, an_angle_does_not_depend_on_scale)
{
    const float u[6] = {1, 0, -1, 1, 1, 0}, w[6] = {1000, 0, -1000, 1000, 1000, 0};
    float z[3], y[3];
    geodec_torus_project(GEODEC_TORUS_ANGLE, u, z);
    geodec_torus_project(GEODEC_TORUS_ANGLE, w, y);
    cr_assert_eq(z[0], 0.125f);
    cr_assert_eq(z[1], 0);
    cr_assert_eq(z[2], 0.75f);
    for (int a = 0; a < 3; a++) cr_assert_eq(z[a], y[a]);
}

/* The nearest expert, the lowest id on ties. */
static int32_t nearest(const float *position, const float z[3])
{
    int32_t best = 0;
    for (int32_t e = 1; e < EXPERTS; e++)
        if (geodec_torus_distance2(z, position + 3 * e) < geodec_torus_distance2(z, position + 3 * best)) best = e;
    return best;
}

/* Every expert is nearest somewhere; 10,000 uniform rows have a published Gini coefficient of 0.064: 40 draws
 * of the multinomial give 0.0637 with a deviation of 0.004. */
Test(torus, load_of_uniform_rows)
{
    enum { ROWS = 10000 };
    geodec_err err = {0};
    float position[3 * EXPERTS];
    int64_t count[EXPERTS] = {0};
    double gini;
    geodec_rng rng = geodec_rng_stream(3, 9);
    places(position);
    for (int i = 0; i < ROWS; i++) {
        const float z[3] = {(float)geodec_rng_uniform(&rng), (float)geodec_rng_uniform(&rng),
                            (float)geodec_rng_uniform(&rng)};
        count[nearest(position, z)]++;
    }
    test_ok(geodec_routing_gini(EXPERTS, count, &gini, &err), &err);
    cr_assert(gini > 0.05 && gini < 0.08, "%g", gini);
    for (int e = 0; e < EXPERTS; e++) cr_assert_gt(count[e], 0);
}

/* The control: W h around one point has a load that depends on its spread (published: 0.1: 0.90; 0.3: 0.22). */
Test(torus, load_of_a_narrow_projection)
{
    enum { ROWS = 10000 };
    static const double spread[] = {0.1, 0.3, 0.5}, want[] = {0.90, 0.22, 0.07};
    geodec_err err = {0};
    float position[3 * EXPERTS];
    places(position);
    for (int s = 0; s < 3; s++) {
        int64_t count[EXPERTS] = {0};
        double gini;
        geodec_rng rng = geodec_rng_stream(4, (uint64_t)s);
        for (int i = 0; i < ROWS; i++) {
            float u[3], z[3];
            for (int a = 0; a < 3; a++) u[a] = (float)(spread[s] * geodec_rng_normal(&rng));
            geodec_torus_project(GEODEC_TORUS_MOD, u, z);
            count[nearest(position, z)]++;
        }
        test_ok(geodec_routing_gini(EXPERTS, count, &gini, &err), &err);
        cr_assert_float_eq(gini, want[s], 0.03, "spread %g: %g", spread[s], gini);
    }
}
