/* The checker: exact spaces pass, golden fields pass, broken ones fail and are named. */
#include "base/mem.h"
#include "geometry/rbf.h"
#include "geometry/space_closed.h"
#include "lab/verification/verification.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <hdf5.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void say(const geodec_verification *v)
{
    for (int c = 0; c < GEODEC_VERIFY_CHECKS; c++)
        if (v->check[c].run)
            (void)fprintf(stderr, "  %-22s %.2e  limit %.0e\n", geodec_verification_abouts[c].name, v->check[c].worst,
                          v->check[c].limit);
    for (int i = 0; i < v->notes; i++) (void)fprintf(stderr, "  note: %s\n", v->note[i]);
}

Test(verify, controls)
{
    geodec_err err = {0};
    geodec_verification_control c;
    for (uint64_t seed = 1; seed < 4; seed++) {
        test_ok(geodec_verification_controls(seed, &c, &err), &err);
        for (int i = 0; i < GEODEC_VERIFY_EXACT; i++)
            cr_assert(c.exact[i].pass, "%s: %.1e of its limit", c.exact[i].name, c.exact[i].worst);
        for (int i = 0; i < GEODEC_VERIFY_FAULTS; i++) cr_assert(c.fault[i].found, "%s", c.fault[i].name);
        cr_assert(c.pass);
    }
}

/* Every group of the golden file that has a metric, whichever are there. */
typedef struct groups {
    int count;
    char name[64][64];
} groups;

static herr_t group(hid_t file, const char *name, const H5L_info_t *info, void *ctx)
{
    groups *g = ctx;
    char set[128];
    (void)info;
    (void)snprintf(set, sizeof set, "%s/g", name);
    if (g->count < 64 && H5Lexists(file, set, H5P_DEFAULT) > 0)
        (void)snprintf(g->name[g->count++], sizeof g->name[0], "%s", name);
    return 0;
}

static double *optional(hid_t file, const char *path, const char *name, const char *set)
{
    char full[128];
    (void)snprintf(full, sizeof full, "%s/%s", name, set);
    return H5Lexists(file, full, H5P_DEFAULT) > 0 ? test_h5(path, full, NULL, NULL) : NULL;
}

Test(verify, golden_closed_forms)
{
    const char *path = test_shared("golden/ott/analytic.h5");
    const hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    groups all = {0};
    cr_assert_geq(H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, group, &all), 0);
    cr_assert_gt(all.count, 0);
    for (int i = 0; i < all.count; i++) {
        geodec_err err = {0};
        geodec_verification v;
        char full[128];
        int64_t shape[8];
        (void)snprintf(full, sizeof full, "%s/points", all.name[i]);
        double *x = test_h5(path, full, shape, NULL);
        double *sets[] = {optional(file, path, all.name[i], "g"), optional(file, path, all.name[i], "gamma"),
                          optional(file, path, all.name[i], "riemann"),
                          optional(file, path, all.name[i], "scalar_curvature")};
        const geodec_verification_field f = {.points = shape[0],
                                             .n = shape[1],
                                             .x = x,
                                             .g = sets[0],
                                             .gamma = sets[1],
                                             .riem = sets[2],
                                             .scalar = sets[3]};
        test_ok(geodec_verification_arrays(&f, NULL, NULL, NULL, &v, &err), &err);
        if (!v.pass) say(&v);
        cr_assert(v.pass, "%s", all.name[i]);
        if (H5Aexists_by_name(file, all.name[i], "K", H5P_DEFAULT) > 0) {
            const double k = test_h5_attr(path, all.name[i], "K"), wrong = k + 1;
            geodec_verification_options o = geodec_verification_defaults();
            o.curvature = &k;
            geodec_verification_clear(&v);
            test_ok(geodec_verification_arrays(&f, &o, NULL, NULL, &v, &err), &err);
            cr_assert(v.check[GEODEC_VERIFY_CLOSED_FORM].run && v.pass, "%s", all.name[i]);
            o.curvature = &wrong;
            geodec_verification_clear(&v);
            test_ok(geodec_verification_arrays(&f, &o, NULL, NULL, &v, &err), &err);
            cr_assert(!v.pass && !v.check[GEODEC_VERIFY_CLOSED_FORM].pass);
        }
        geodec_verification_clear(&v);
        geodec_mem_free(x);
        for (int k = 0; k < 4; k++) geodec_mem_free(sets[k]);
    }
    (void)H5Fclose(file);
}

/* A field without symmetry, as a space: all checks run and pass; its shifted dg fails only the differences. */
static geodec_status shifted(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                             geodec_err *err)
{
    const geodec_space *inner = *(const geodec_space *const *)(s + 1);
    const geodec_status st = inner->at(inner, x, g, dg, gamma, err);
    if (st == GEODEC_OK && g) g[0] += 1e-4 * x[0] * x[0];
    return st;
}

Test(verify, field_as_space)
{
    enum { SITES = 12, N = 4, PACKED = N * (N + 1) / 2, P = 10 };
    double site[SITES * N], log_g[SITES * PACKED], x[P * N];
    geodec_err err = {0};
    geodec_rbf *f = NULL;
    geodec_verification v;
    for (int i = 0; i < SITES * N; i++) site[i] = sin(1.3 * i * i + 0.2);
    for (int i = 0; i < SITES * PACKED; i++) log_g[i] = cos(0.7 * i * i);
    for (int i = 0; i < P * N; i++) x[i] = 0.8 * sin(2.1 * i * i + 1);
    test_ok(geodec_rbf_create(SITES, N, site, log_g, 0.9, &f, &err), &err);
    test_ok(geodec_verification_space(geodec_rbf_space(f), P, x, NULL, NULL, NULL, &v, &err), &err);
    say(&v);
    cr_assert(v.pass);
    cr_assert(v.check[GEODEC_VERIFY_BIANCHI_2].run && v.check[GEODEC_VERIFY_DGAMMA_DIFFERENCES].run);
    geodec_verification_clear(&v);
    struct {
        geodec_space base;
        const geodec_space *inner;
    } wrong = {*geodec_rbf_space(f), geodec_rbf_space(f)};
    wrong.base.at = shifted;
    wrong.base.dgamma = NULL;
    test_ok(geodec_verification_space(&wrong.base, P, x, NULL, NULL, NULL, &v, &err), &err);
    cr_assert(!v.pass && !v.check[GEODEC_VERIFY_DG_DIFFERENCES].pass);
    geodec_verification_clear(&v);
    geodec_rbf_destroy(f);
}

Test(verify, what_is_no_metric_is_named)
{
    const double x[2] = {0, 0}, lorentz[4] = {-1, 0, 0, 1}, skew[4] = {1, 0.5, -0.5, 1}, degenerate[4] = {1, 1, 1, 1};
    geodec_err err = {0};
    geodec_verification v;
    geodec_verification_field f = {.points = 1, .n = 2, .x = x, .g = lorentz};
    test_ok(geodec_verification_arrays(&f, NULL, NULL, NULL, &v, &err), &err);
    cr_assert(!v.pass && v.check[GEODEC_VERIFY_G_POSITIVE].worst == 1);
    cr_assert(strstr(v.note[0], "Lorentzian"));
    geodec_verification_clear(&v);
    f.g = skew;
    test_ok(geodec_verification_arrays(&f, NULL, NULL, NULL, &v, &err), &err);
    cr_assert(!v.check[GEODEC_VERIFY_G_SYMMETRY].pass && strstr(v.note[0], "not symmetric"));
    geodec_verification_clear(&v);
    f.g = degenerate;
    test_ok(geodec_verification_arrays(&f, NULL, NULL, NULL, &v, &err), &err);
    cr_assert(!v.check[GEODEC_VERIFY_G_POSITIVE].pass && !v.check[GEODEC_VERIFY_CONDITION].pass);
    geodec_verification_clear(&v);
    const double hole[4] = {1, 0, 0, NAN};
    f.g = hole;
    cr_assert_eq(geodec_verification_arrays(&f, NULL, NULL, NULL, &v, &err), GEODEC_NUMERIC);
    f.n = 65;
    cr_assert_eq(geodec_verification_arrays(&f, NULL, NULL, NULL, &v, &err), GEODEC_RANGE);
}
