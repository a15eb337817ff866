/* The atlas against worlds, whose geodesics are known. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "geometry/atlas.h"
#include "lab/worlds/worlds.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

static geodec_world made(const geodec_world_options *o)
{
    geodec_world w = {0};
    geodec_err err = {0};
    geodec_linalg_init();
    test_ok(geodec_world_make(o, &w, &err), &err);
    return w;
}

/* Root mean square gap of fitted and true geodesics from rows of w at the arc length s, in units of s; directions are
 * the first tangent vectors of their frames. *left: share that does not reach it. */
static double gap(const geodec_world *w, const geodec_atlas *a, double s, int starts, double *left, double *straight)
{
    geodec_err err = {0};
    double sum = 0, flat = 0;
    int good = 0;
    for (int i = 0; i < starts; i++) {
        const int64_t row = (int64_t)i * w->points / starts;
        geodec_atlas_chart c;
        geodec_atlas_report r;
        double t[12], u[12], *y = geodec_mem_new(4 * w->ambient, sizeof *y), *tangent = geodec_mem_new(w->n * w->ambient, sizeof *y);
        double *truth = y + w->ambient;
        double unit[12] = {1};
        geodec_world_tangent(w, row, tangent);
        test_ok(geodec_world_geodesic(w, row, unit, s, truth, NULL, &err), &err);
        test_ok(geodec_atlas_chart_at(a, w->clean + row * w->ambient, GEODEC_ATLAS_NONE, NULL, &c, &err), &err);
        test_ok(geodec_atlas_project(&c, w->clean + row * w->ambient, t, &err), &err);
        test_ok(geodec_atlas_velocity(&c, t, tangent, u, &err), &err);
        test_ok(geodec_atlas_exp(a, &c, GEODEC_ATLAS_NONE, t, u, 1, &s, y, NULL, &r, &err), &err);
        if (r.good == 1) {
            good++;
            sum += geodec__gap2(w->ambient, y, truth);
            for (int64_t j = 0; j < w->ambient; j++) y[j] = w->clean[row * w->ambient + j] + s * tangent[j];
            flat += geodec__gap2(w->ambient, y, truth);
        }
        geodec_atlas_chart_clear(&c);
        geodec_mem_free(y);
        geodec_mem_free(tangent);
    }
    *left = 1 - (double)good / starts;
    *straight = sqrt(flat / good) / s;
    return sqrt(sum / good) / s;
}

Test(atlas, try)
{
    static const struct { geodec_world_set set; int n; double cap; } all[] = {
        {GEODEC_WORLD_SPHERE, 2, 0}, {GEODEC_WORLD_SPHERE, 5, 0}, {GEODEC_WORLD_PRODUCT, 4, 0}, {GEODEC_WORLD_TORUS, 2, 0}, {GEODEC_WORLD_HYPERBOLIC, 3, 0}};
    for (int i = 0; i < 5; i++)
        for (int f = 2; f <= 4; f++) {
            geodec_world_options o = geodec_world_defaults();
            geodec_err err = {0};
            geodec_atlas a;
            o.set = all[i].set; o.n = all[i].n; o.points = 3000; o.noise = 1e-3; o.ambient = 16;
            geodec_world w = made(&o);
            test_ok(geodec_atlas_init(&a, o.n, w.points, w.ambient, w.x, NULL, f * GEODEC_QUADRATIC_COEFFICIENTS(o.n), &err), &err);
            for (double s = 0.1; s < 3.3; s *= 2) {
                double left, flat, g = gap(&w, &a, s, 40, &left, &flat);
                fprintf(stderr, "set %d n %d f %d s %g: gap %.4f flat %.4f left %.2f\n", all[i].set, o.n, f, s, g, flat, left);
            }
            geodec_world_clear(&w);
        }
    (void)pi;
}
