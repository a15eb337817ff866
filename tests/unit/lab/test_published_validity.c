/* The published validity radius against the goldens; on the sphere, the control that isolates the propagator's fault.
 */
#include "base/mem.h"
#include "geometry/space_closed.h"
#include "lab/published/validity.h"
#include "support/goldens.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct draws {
    geodec_published_perturbations p;
    double *x0, *v0, *delta0, *eps, *tau, *point;
    int64_t samples, n;
} draws;

/* v0: which velocities; point: where the sample points lie. */
static draws draws_of(const char *path, const char *points, const char *v0)
{
    draws d = {0};
    int64_t shape[8];
    d.point = test_h5(path, points, shape, NULL);
    d.samples = shape[0], d.n = shape[1];
    d.delta0 = test_h5(path, "/validity/delta0", shape, NULL);
    double *index = test_h5(path, "/validity/seed_index", NULL, NULL);
    d.v0 = test_h5(path, v0, NULL, NULL);
    d.eps = test_h5(path, "/validity/eps", NULL, NULL);
    d.x0 = geodec_mem_new(shape[0] * d.n, sizeof *d.x0);
    for (int64_t i = 0; i < shape[0]; i++)
        memcpy(d.x0 + i * d.n, d.point + (int64_t)index[i] * d.n, (size_t)d.n * sizeof *d.x0);
    geodec_mem_free(index);
    d.p = (geodec_published_perturbations){.starts = shape[0],
                                           .n_eps = shape[1],
                                           .perturbations = shape[2],
                                           .steps = (int64_t)test_h5_attr(path, "/validity", "T"),
                                           .dl = test_h5_attr(path, "/validity", "dl"),
                                           .x0 = d.x0,
                                           .v0 = d.v0,
                                           .delta0 = d.delta0,
                                           .eps = d.eps};
    d.tau = test_h5(path, "/validity/tau", shape, NULL);
    d.p.tau = d.tau, d.p.n_tau = shape[0];
    return d;
}

static void draws_free(draws *d)
{
    double *all[] = {d->x0, d->v0, d->delta0, d->eps, d->tau, d->point};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
}

static void compare(const char *path, const draws *d, const geodec_validity_published *v)
{
    const int64_t starts = d->p.starts, n = d->n;
    goldens_compare(path, "/validity/x_T", starts * n, v->x_T, 1e-8);
    goldens_compare(path, "/validity/phi_T", starts * n * n, v->phi, 1e-6);
    goldens_compare_each(path, "/validity/rel_error", starts * v->n_eps * v->perturbations, v->error, 1e-5, 1e-9);
    goldens_compare_each(path, "/validity/mean", v->n_eps, v->mean, 1e-5, 1e-9);
    goldens_compare_each(path, "/validity/median", v->n_eps, v->median, 1e-5, 1e-9);
    goldens_compare_each(path, "/validity/p95", v->n_eps, v->p95, 1e-5, 1e-9);
    goldens_compare(path, "/validity/eps_star", v->n_tau, v->radius, 0);
}

/* The reader of the library gives the values that are read here field by field. */
static void same_draws(const char *path, const draws *d, bool sphere)
{
    geodec_err err = {0};
    geodec_validity_published_draws r;
    const geodec_published_perturbations *p = &d->p;
    test_ok(geodec_validity_published_draws_read(path, &r, &err), &err);
    cr_assert(r.sphere == sphere && r.m.n == d->n && r.m.samples == d->samples && r.p.starts == p->starts);
    cr_assert(r.p.n_eps == p->n_eps && r.p.perturbations == p->perturbations && r.p.steps == p->steps);
    cr_assert(r.p.n_tau == p->n_tau && r.p.dl == p->dl);
    const int64_t starts = p->starts * d->n;
    cr_assert_eq(memcmp(r.p.x0, p->x0, (size_t)starts * sizeof(double)), 0);
    cr_assert_eq(memcmp(r.p.v0, p->v0, (size_t)starts * sizeof(double)), 0);
    cr_assert_eq(memcmp(r.p.delta0, p->delta0, (size_t)(starts * p->n_eps * p->perturbations) * sizeof(double)), 0);
    cr_assert_eq(memcmp(r.p.eps, p->eps, (size_t)p->n_eps * sizeof(double)), 0);
    cr_assert_eq(memcmp(r.p.tau, p->tau, (size_t)p->n_tau * sizeof(double)), 0);
    geodec_validity_published_draws_clear(&r);
}

static void clouds(const char *path)
{
    geodec_err err = {0};
    draws d = draws_of(path, "/validity/sample_points", "/validity/v0");
    double *g = test_h5(path, "/validity/g_field", NULL, NULL), *gamma = test_h5(path, "/validity/gamma", NULL, NULL);
    geodec_harness_manifold m;
    geodec_validity_published v;
    test_ok(
        geodec_harness_manifold_table(d.samples, d.n, d.point, g, gamma, test_h5_attr(path, "/", "sigma"), &m, &err),
        &err);
    test_ok(geodec_validity_published_run(&m, &d.p, NULL, NULL, &v, &err), &err);
    compare(path, &d, &v);
    same_draws(path, &d, false);
    geodec_validity_published_clear(&v);
    geodec_harness_manifold_clear(&m);
    geodec_mem_free(g);
    geodec_mem_free(gamma);
    draws_free(&d);
}
Test(published_validity, clouds) { goldens_each(clouds); }

/* The sampled sphere as published; its first order is the rule's own fault, for exact geodesics and the true
 * curvature leave it (slope 1), and the right map has slope 2 on the same samples. */
Test(published_validity, sphere)
{
    const char *path = test_shared("golden/ott/sphere_n4.h5");
    geodec_err err = {0};
    draws d = draws_of(path, "/points", "/validity/v0"), exact = draws_of(path, "/points", "/correct/v0");
    double *g = test_h5(path, "/g", NULL, NULL), *gamma = test_h5(path, "/gamma_fd", NULL, NULL);
    geodec_harness_manifold m;
    geodec_validity_published v, control;
    geodec_space_conformal sphere;
    test_ok(geodec_harness_manifold_table(d.samples, d.n, d.point, g, gamma, GEODEC_PUBLISHED_SPHERE_SIGMA, &m, &err),
            &err);
    test_ok(geodec_validity_published_run(&m, &d.p, NULL, NULL, &v, &err), &err);
    compare(path, &d, &v);
    cr_assert(v.slope > 0.7 && v.slope < 1.2, "slope %g", v.slope);
    same_draws(path, &d, true);
    test_ok(geodec_space_conformal_init(&sphere, (int32_t)d.n, 1, &err), &err);
    test_ok(geodec_validity_published_control(&sphere.base, &exact.p, NULL, NULL, &control, &err), &err);
    goldens_compare_each(path, "/correct/exact_riemann_but_reference_propagator_mean", control.n_eps, control.mean,
                         1e-5, 1e-9);
    cr_assert(control.slope > 0.9 && control.slope < 1.2, "slope %g", control.slope);
    geodec_validity_published_clear(&v);
    geodec_validity_published_clear(&control);
    geodec_harness_manifold_clear(&m);
    geodec_mem_free(g);
    geodec_mem_free(gamma);
    draws_free(&d);
    draws_free(&exact);
}

/* Paths that blow up are counted, not averaged; bad input is refused. */
Test(published_validity, broken_paths_and_refusals)
{
    geodec_err err = {0};
    const double point[1] = {0}, g[1] = {1}, gamma[1] = {-40}, x0[2] = {0, 0}, v0[2] = {1, 1e-3},
                 delta0[4] = {0.01, 0.1, 0.01, 0.1}, eps[2] = {0.01, 0.1}, tau[1] = {0.05};
    geodec_published_perturbations p = {.starts = 2,
                                        .n_eps = 2,
                                        .perturbations = 1,
                                        .steps = 30,
                                        .n_tau = 1,
                                        .dl = 0.1,
                                        .x0 = x0,
                                        .v0 = v0,
                                        .delta0 = delta0,
                                        .eps = eps,
                                        .tau = tau};
    geodec_harness_manifold m;
    geodec_validity_published v;
    test_ok(geodec_harness_manifold_table(1, 1, point, g, gamma, 0, &m, &err), &err);
    test_ok(geodec_validity_published_run(&m, &p, NULL, NULL, &v, &err), &err);
    cr_assert(v.broken[0] == 1 && v.broken[1] == 1 && v.error[0] == -1 && v.error[2] >= 0);
    cr_assert(isfinite(v.mean[0]) && v.radius[0] == 0);
    geodec_validity_published_clear(&v);
    p.dl = 0;
    cr_assert_eq(geodec_validity_published_run(&m, &p, NULL, NULL, &v, &err), GEODEC_RANGE);
    p.dl = 0.1, p.eps = delta0 + 1;
    cr_assert_eq(geodec_validity_published_run(&m, &p, NULL, NULL, &v, &err), GEODEC_RANGE);
    geodec_harness_manifold_clear(&m);
}
