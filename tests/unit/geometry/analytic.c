#include "geometry/analytic.h"

#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>

const geodec_space *analytic_case(int i, analytic_space *a)
{
    static const struct {
        const char *group;
        int32_t n;
        double curvature;
    } list[ANALYTIC_SPACES] = {
        {"sphere_n2", 2, 1},      {"sphere_n4", 4, 1},      {"sphere_n8", 8, 1},
        {"hyperbolic_n2", 2, -1}, {"hyperbolic_n4", 4, -1}, {"hyperbolic_n8", 8, -1},
        {"polar_plane", 2, 0},    {"flat_torus_n4", 4, 0},  {"gaussian_fisher", 2, 0},
    };
    geodec_err err = {0};
    *a = (analytic_space){.group = list[i].group, .curved = i < 6, .n = list[i].n};
    if (i < 6) test_ok(geodec_space_conformal_init(&a->space.conformal, list[i].n, list[i].curvature, &err), &err);
    if (i == 6) geodec_space_polar_init(&a->space.base);
    if (i == 7) test_ok(geodec_space_torus_init(&a->space.torus, list[i].n, (double[]){1, 2, 3, 0.5}, &err), &err);
    if (i == 8) geodec_space_fisher_init(&a->space.base);
    return &a->space.base;
}

double *analytic_read(const char *file, const char *group, const char *name, int64_t shape[8])
{
    char path[128];
    (void)snprintf(path, sizeof path, "/%s/%s", group, name);
    return test_h5(file, path, shape, NULL);
}
