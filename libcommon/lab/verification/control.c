/* The control of the checker: exact geometries must pass, and each fault must be named. */
#include "base/mem.h"
#include "base/rng.h"
#include "geometry/curvature.h"
#include "geometry/rbf.h"
#include "geometry/space_closed.h"
#include "lab/verification/verification_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { POINTS = 6, FAULT_N = 3, SITES = 5, DIM_MAX = 8 };

/* ---- exact spaces ------------------------------------------------------------------------------------------------ */

typedef enum shape { CONFORMAL, TORUS, POLAR, NORMAL } shape;
static const struct {
    const char *name;
    shape shape;
    int32_t n;
    double curvature;
} exact[] = {
    {"sphere, n = 2", CONFORMAL, 2, 1},
    {"sphere, n = 3", CONFORMAL, 3, 1},
    {"sphere, n = 8", CONFORMAL, 8, 1},
    {"hyperbolic, n = 2", CONFORMAL, 2, -1},
    {"hyperbolic, n = 3", CONFORMAL, 3, -1},
    {"hyperbolic, n = 8", CONFORMAL, 8, -1},
    {"Euclidean, n = 4", CONFORMAL, 4, 0},
    {"flat torus, n = 4", TORUS, 4, 0},
    {"polar plane", POLAR, 2, 0},
    {"normal distributions", NORMAL, 2, -0.5},
};
enum { SPACES = sizeof exact / sizeof *exact };

typedef union any_space {
    geodec_space base;
    geodec_space_conformal conformal;
    geodec_space_torus torus;
} any_space;

static geodec_status make(int e, any_space *s, geodec_err *err)
{
    const double sides[4] = {1, 1.5, 2, 0.5};
    switch (exact[e].shape) {
    case CONFORMAL:
        return geodec_space_conformal_init(&s->conformal, exact[e].n, exact[e].curvature, err);
    case TORUS:
        return geodec_space_torus_init(&s->torus, exact[e].n, sides, err);
    case POLAR:
        geodec_space_polar_init(&s->base);
        break;
    case NORMAL:
        geodec_space_fisher_init(&s->base);
        break;
    }
    return GEODEC_OK;
}

/* Points inside the chart: |x_i| < 0.6 / sqrt(n) keeps those of the ball; r and sigma in 1..2. */
static void points_of(int e, uint64_t seed, double *x)
{
    const int64_t n = exact[e].n;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("verify-control", (uint64_t)e));
    for (int64_t i = 0; i < POINTS * n; i++) x[i] = (2 * geodec_rng_uniform(&r) - 1) * 0.6 / sqrt((double)n);
    for (int64_t p = 0; p < POINTS && exact[e].shape >= POLAR; p++) {
        const double positive = 1 + geodec_rng_uniform(&r);
        x[p * n + (exact[e].shape == POLAR ? 0 : 1)] = positive;
    }
}

static double worst_ratio(const geodec_verification *v)
{
    double worst = 0;
    for (int c = 0; c < GEODEC_VERIFY_CHECKS; c++) {
        if (!v->check[c].run) continue;
        worst = fmax(worst, v->check[c].limit > 0 ? v->check[c].worst / v->check[c].limit
                                                  : (v->check[c].worst > 0 ? 1e300 : 0));
    }
    return worst;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* The arrays of POINTS points in one block, and the field that borrows them. */
typedef struct parts {
    double *x, *g, *dg, *gamma, *dgamma, *riem;
} parts;

static int64_t block_size(int64_t n) { return POINTS * (n + n * n + 2 * n * n * n + 2 * n * n * n * n); }

static parts divide(int64_t n, double *block, geodec_verification_field *f)
{
    const int64_t n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    parts p = {.x = block};
    p.g = p.x + POINTS * n;
    p.dg = p.g + POINTS * n2;
    p.gamma = p.dg + POINTS * n3;
    p.dgamma = p.gamma + POINTS * n3;
    p.riem = p.dgamma + POINTS * n4;
    *f = (geodec_verification_field){POINTS, n, p.x, p.g, p.dg, p.gamma, p.dgamma, p.riem, NULL, NULL};
    return p;
}

/* All arrays of a space at POINTS points, in new memory. */
static geodec_status arrays_of(const geodec_space *s, const double *x, double **block, geodec_verification_field *f,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    double *b = NULL;
    GEODEC_NEW(b, block_size(n));
    const parts to = divide(n, b, f);
    memcpy(to.x, x, (size_t)(POINTS * n) * sizeof *x);
    for (int64_t p = 0; p < POINTS; p++) {
        GEODEC_TRY(s->at(s, x + p * n, to.g + p * n2, to.dg + p * n3, to.gamma + p * n3, err));
        GEODEC_TRY(geodec_space_dgamma(s, x + p * n, to.dgamma + p * n4, err));
        GEODEC_TRY(geodec_curvature_tensor((int32_t)n, to.gamma + p * n3, to.dgamma + p * n4, to.riem + p * n4, err));
    }
    GEODEC_MOVE(*block, b);
done:
    geodec_mem_free(b);
    return st;
}

/* A field without symmetry of its own, so that all orders of indices differ. */
static geodec_status generic_field(uint64_t seed, geodec_rbf **out, double *x, geodec_err *err)
{
    enum { PACKED = FAULT_N * (FAULT_N + 1) / 2 };
    double site[SITES * FAULT_N], log_g[SITES * PACKED];
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("verify-generic", 0));
    for (int i = 0; i < SITES * FAULT_N; i++) site[i] = 2 * geodec_rng_uniform(&r) - 1;
    for (int i = 0; i < SITES * PACKED; i++) log_g[i] = geodec_rng_normal(&r);
    for (int i = 0; i < POINTS * FAULT_N; i++) x[i] = 1.5 * geodec_rng_uniform(&r) - 0.75;
    return geodec_rbf_create(SITES, FAULT_N, site, log_g, 0.8, out, err);
}

static const struct {
    const char *name, *key; /* required content of the note */
} faults[GEODEC_VERIFY_FAULTS] = {
    {"Gamma with its upper index first", "upper index first?"},
    {"Gamma without the factor 1/2", "factor 1/2 missing"},
    {"Gamma of the opposite sign", "opposite sign"},
    {"derivative of g with its index last", "derivative index last?"},
    {"tensor with c,d swapped", "c,d swapped"},
    {"tensor with its upper index last", "upper index last?"},
    {"tensor with all indices down", "all indices down?"},
    {"two entries of Gamma exchanged", "no common convention"},
};

/* Copies f with one fault into block (as large as f's). */
static void break_field(int fault, const geodec_verification_field *f, double *block, geodec_verification_field *out)
{
    const int64_t n = f->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    const parts to = divide(n, block, out);
    memcpy(block, f->x, (size_t)block_size(n) * sizeof *block);
    for (int64_t p = 0; p < POINTS; p++) {
        const double *G = f->gamma + p * n3, *D = f->dg + p * n3, *R = f->riem + p * n4;
        double *to3 = to.gamma + p * n3, *to4 = to.riem + p * n4;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t k = 0; k < n; k++) {
                    const double v = G[(i * n + j) * n + k];
                    if (fault == 0) to3[(k * n + i) * n + j] = v;
                    if (fault == 1) to3[(i * n + j) * n + k] = 2 * v;
                    if (fault == 2) to3[(i * n + j) * n + k] = -v;
                    if (fault == 3) to.dg[p * n3 + (j * n + k) * n + i] = D[(i * n + j) * n + k];
                    for (int64_t l = 0; l < n; l++) {
                        const double r = R[((i * n + j) * n + k) * n + l];
                        if (fault == 4) to4[((i * n + j) * n + l) * n + k] = r;
                        if (fault == 5) to4[((j * n + k) * n + l) * n + i] = r;
                    }
                }
        if (fault == 6) geodec__verification_lower(n, f->g + p * n2, R, to4);
        if (fault == 7) {
            const double swap = to3[2]; /* Gamma^2_00 and Gamma^0_00 */
            to3[2] = to3[0];
            to3[0] = swap;
        }
    }
}

geodec_status geodec_verification_controls(uint64_t seed, geodec_verification_control *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_verification_control c = {.pass = true};
    geodec_verification v = {0};
    geodec_rbf *generic = NULL;
    double *block = NULL, *broken = NULL, x[POINTS * DIM_MAX];
    geodec_verification_field f = {0}, b;
    any_space s;
    for (int e = 0; e < GEODEC_VERIFY_EXACT; e++) {
        const bool arrays = e >= SPACES; /* the last two: a sphere and the generic field as arrays */
        const int from = arrays ? 1 : e;
        geodec_verification_options o = geodec_verification_defaults();
        o.bianchi = 2;
        if (e < SPACES + 1) {
            o.curvature = &exact[from].curvature;
            GEODEC_TRY(make(from, &s, err));
            points_of(from, seed, x);
        }
        if (!arrays) {
            (void)snprintf(c.exact[e].name, sizeof c.exact[e].name, "%s", exact[e].name);
            GEODEC_TRY_MSG(geodec_verification_space(&s.base, POINTS, x, &o, NULL, NULL, &v, err), "%s", exact[e].name);
        } else {
            (void)snprintf(c.exact[e].name, sizeof c.exact[e].name, "%s",
                           e == SPACES ? "sphere, n = 3, as arrays" : "generic field, as arrays");
            if (e > SPACES) GEODEC_TRY(generic_field(seed, &generic, x, err));
            geodec_mem_free(block);
            block = NULL;
            GEODEC_TRY(arrays_of(e > SPACES ? geodec_rbf_space(generic) : &s.base, x, &block, &f, err));
            if (e == SPACES)
                o.curvature = NULL; /* its dGamma may be by differences: the symmetries alone are checked */
            GEODEC_TRY(geodec_verification_arrays(&f, &o, NULL, NULL, &v, err));
        }
        c.exact[e].pass = v.pass;
        c.exact[e].worst = worst_ratio(&v);
        c.pass = c.pass && v.pass;
        geodec_verification_clear(&v);
    }
    /* f is the generic field now */
    const int64_t n = f.n;
    GEODEC_NEW(broken, block_size(n));
    for (int i = 0; i < GEODEC_VERIFY_FAULTS; i++) {
        (void)snprintf(c.fault[i].name, sizeof c.fault[i].name, "%s", faults[i].name);
        break_field(i, &f, broken, &b);
        GEODEC_TRY(geodec_verification_arrays(&b, NULL, NULL, NULL, &v, err));
        for (int k = 0; k < v.notes && !v.pass; k++) {
            if (!strstr(v.note[k], faults[i].key)) continue;
            c.fault[i].found = true;
            memcpy(c.fault[i].note, v.note[k], sizeof c.fault[i].note);
        }
        c.pass = c.pass && c.fault[i].found;
        geodec_verification_clear(&v);
    }
    *out = c;
done:
    geodec_verification_clear(&v);
    geodec_rbf_destroy(generic);
    GEODEC_FREE(block, broken);
    return st;
}
