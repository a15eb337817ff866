#include "geometry/analytic.h"

#include "base/mem.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
    *a = (analytic_space){.curved = i < 6, .n = list[i].n};
    (void)snprintf(a->group, sizeof a->group, "%s", list[i].group);
    if (i < 6) test_ok(geodec_space_conformal_init(&a->space.conformal, list[i].n, list[i].curvature, &err), &err);
    if (i == 6) geodec_space_polar_init(&a->space.base);
    if (i == 7) test_ok(geodec_space_torus_init(&a->space.torus, list[i].n, (double[]){1, 2, 3, 0.5}, &err), &err);
    if (i == 8) geodec_space_fisher_init(&a->space.base);
    return &a->space.base;
}

static bool begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

/* Fills a from a group; false when it is no space. */
static bool recognise(const char *file, const char *group, analytic_space *a)
{
    geodec_err err = {0};
    int64_t shape[8];
    if (begins(group, "spd_log")) return false; /* tested in linalg */
    *a = (analytic_space){0};
    (void)snprintf(a->group, sizeof a->group, "%s", group);
    geodec_mem_free(analytic_read(file, group, "points", shape));
    a->n = shape[1];
    if (begins(group, "polar")) {
        geodec_space_polar_init(&a->space.base);
    } else if (begins(group, "gaussian_fisher")) {
        geodec_space_fisher_init(&a->space.base);
    } else if (begins(group, "flat")) {
        double side[GEODEC_SPACE_DIM_MAX], *g = analytic_read(file, group, "g", NULL);
        for (int64_t i = 0; i < a->n; i++) side[i] = sqrt(g[i * a->n + i]);
        test_ok(geodec_space_torus_init(&a->space.torus, (int32_t)a->n, side, &err), &err);
        geodec_mem_free(g);
    } else if (begins(group, "sphere") || begins(group, "hyperbolic") ||
               (test_h5_has_attr(file, group, "K") && test_h5_has_attr(file, group, "chart"))) {
        a->curved = true;
        test_ok(geodec_space_conformal_init(&a->space.conformal, (int32_t)a->n, test_h5_attr(file, group, "K"), &err),
                &err);
    } else {
        cr_assert_fail("%s: the group %s is not recognised", file, group);
    }
    cr_assert_eq(a->space.base.n, a->n);
    return true;
}

const char *analytic_load(analytic_space list[ANALYTIC_MAX], int *count)
{
    static char names[ANALYTIC_MAX][TEST_H5_NAME];
    const char *file = test_shared("golden/ott/analytic.h5");
    *count = 0;
    const int groups = test_h5_members(file, "/", ANALYTIC_MAX, names);
    for (int i = 0; i < groups; i++) *count += recognise(file, names[i], &list[*count]);
    cr_assert_gt(*count, 0);
    return file;
}

double *analytic_read(const char *file, const char *group, const char *name, int64_t shape[8])
{
    char path[128];
    (void)snprintf(path, sizeof path, "/%s/%s", group, name);
    return test_h5(file, path, shape, NULL);
}
