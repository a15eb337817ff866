#include "geometry/magnus.h"

#include "base/mem.h"
#include "base/names_internal.h"
#include "base/vec_internal.h"
#include "linalg/blas.h"
#include "linalg/expm.h"

#include <string.h>

/* sqrt(3)/6, sqrt(15)/10, sqrt(15)/3 */
static const double GAUSS2_AT = 0.28867513459481288225, GAUSS3_AT = 0.38729833462074168852,
                    SLOPE = 1.2909944487358056284;

/* Y(t + h) Y(t)^-1 in e, from A at the nodes; scratch [geodec_magnus_scratch(m)]. */
typedef geodec_status step_fn(int64_t m, const double *a, double h, double *e, double *scratch, geodec_err *err);
#define STEP(NAME, name, order, nodes, text) static step_fn step_##name;
GEODEC_MAGNUS_TABLE(STEP)

typedef enum node_kind { GAUSS1 = 1, GAUSS2, GAUSS3, ENDS } node_kind;

static const char *const names[] = {GEODEC_MAGNUS_TABLE(GEODEC__NAMES_TEXT)};
#define ROW(NAME, name, order, nodes, text) {text, order, nodes, step_##name},
static const struct {
    const char *text;
    int order;
    node_kind nodes;
    step_fn *step;
} table[] = {GEODEC_MAGNUS_TABLE(ROW)};

const char *geodec_magnus_name(geodec_magnus_scheme s)
{
    return geodec__names_at(names, GEODEC_MAGNUS_SCHEMES, (int)s);
}

const char *geodec_magnus_text(geodec_magnus_scheme s)
{
    return (unsigned)s < GEODEC_MAGNUS_SCHEMES ? table[s].text : "?";
}

geodec_status geodec_magnus_find(const char *name, geodec_magnus_scheme *scheme, geodec_err *err)
{
    const int i = geodec__names_find(names, GEODEC_MAGNUS_SCHEMES, name);
    if (i == GEODEC_MAGNUS_SCHEMES) GEODEC_FAIL(GEODEC_NOTFOUND, "no scheme is called '%s'", name);
    *scheme = (geodec_magnus_scheme)i;
    return GEODEC_OK;
}

int geodec_magnus_order(geodec_magnus_scheme s) { return table[s].order; }

int geodec_magnus_nodes(geodec_magnus_scheme s, double c[GEODEC_MAGNUS_NODES_MAX])
{
    switch (table[s].nodes) {
    case GAUSS1:
        c[0] = 0.5;
        return 1;
    case GAUSS2:
        c[0] = 0.5 - GAUSS2_AT, c[1] = 0.5 + GAUSS2_AT;
        return 2;
    case GAUSS3:
        c[0] = 0.5 - GAUSS3_AT, c[1] = 0.5, c[2] = 0.5 + GAUSS3_AT;
        return 3;
    case ENDS:
        c[0] = 0, c[1] = 1;
        return 2;
    }
    return 0;
}

/* ---- one step --------------------------------------------------------------------------------------------------- */

enum { MATRICES = 9 };

int64_t geodec_magnus_scratch(int64_t m) { return MATRICES * m * m + geodec_expm_scratch(m); }

static void product(int64_t m, const double *a, const double *b, double *c)
{
    if (m <= 8)
        geodec_blas_mul_small(m, a, b, c);
    else
        geodec_expm_product(m, a, b, c);
}

/* c = [a, b]; tmp [m][m]; c must not be a or b. */
static void commutator(int64_t m, const double *a, const double *b, double *c, double *tmp)
{
    product(m, a, b, c);
    product(m, b, a, tmp);
    for (int64_t i = 0; i < m * m; i++) c[i] -= tmp[i];
}

static void add(int64_t mm, double scale, const double *a, double *sum)
{
    for (int64_t i = 0; i < mm; i++) sum[i] += scale * a[i];
}

/* I + x + x^2/2 + x^3/6, by Horner. */
static void taylor3(int64_t m, const double *x, double *e, double *tmp)
{
    const int64_t mm = m * m;
    for (int64_t i = 0; i < mm; i++) e[i] = x[i] / 3;
    for (int64_t i = 0; i < m; i++) e[i * m + i] += 1;
    product(m, x, e, tmp);
    for (int64_t i = 0; i < mm; i++) e[i] = tmp[i] / 2;
    for (int64_t i = 0; i < m; i++) e[i * m + i] += 1;
    product(m, x, e, tmp);
    memcpy(e, tmp, (size_t)mm * sizeof *e);
    for (int64_t i = 0; i < m; i++) e[i * m + i] += 1;
}

static void interpolant(int64_t mm, const double *a, double h, double *a1, double *a2, double *a3)
{
    const double *n1 = a, *n2 = a + mm, *n3 = a + 2 * mm;
    for (int64_t i = 0; i < mm; i++) {
        a1[i] = h * n2[i];
        a2[i] = SLOPE * h * (n3[i] - n1[i]);
        a3[i] = 10.0 / 3.0 * h * (n3[i] - 2 * n2[i] + n1[i]);
    }
}

/* Omega_1 + Omega_2 + Omega_3 of the quadratic interpolant; w holds 9 matrices, the last two are free for commutators.
 */
static void omega_magnus3(int64_t m, const double *a, double h, double *omega, double *w)
{
    const int64_t mm = m * m;
    double *a1 = w, *a2 = w + mm, *a3 = w + 2 * mm, *c12 = w + 3 * mm, *c13 = w + 4 * mm, *c23 = w + 5 * mm,
           *c = w + 6 * mm, *tmp = w + 7 * mm;
    interpolant(mm, a, h, a1, a2, a3);
    commutator(m, a1, a2, c12, tmp);
    commutator(m, a1, a3, c13, tmp);
    commutator(m, a2, a3, c23, tmp);
    for (int64_t i = 0; i < mm; i++) omega[i] = a1[i] + a3[i] / 12 - c12[i] / 12 + c23[i] / 240;
    commutator(m, a1, c13, c, tmp);
    add(mm, 1.0 / 360, c, omega);
    commutator(m, a2, c12, c, tmp);
    add(mm, -1.0 / 240, c, omega);
    commutator(m, a2, c23, c, tmp);
    add(mm, 1.0 / 6720, c, omega);
    commutator(m, a3, c13, c, tmp);
    add(mm, 1.0 / 6048, c, omega);
}

/* BCOR eq. 251: C1 = [a1,a2], C2 = -1/60 [a1, 2 a3 + C1],
 * Omega = a1 + a3/12 + 1/240 [-20 a1 - a3 + C1, a2 + C2]. */
static void omega_magnus6(int64_t m, const double *a, double h, double *omega, double *w)
{
    const int64_t mm = m * m;
    double *a1 = w, *a2 = w + mm, *a3 = w + 2 * mm, *c1 = w + 3 * mm, *c2 = w + 4 * mm, *c = w + 5 * mm,
           *left = w + 6 * mm, *tmp = w + 7 * mm;
    interpolant(mm, a, h, a1, a2, a3);
    commutator(m, a1, a2, c1, tmp);
    for (int64_t i = 0; i < mm; i++) left[i] = 2 * a3[i] + c1[i];
    commutator(m, a1, left, c2, tmp);
    for (int64_t i = 0; i < mm; i++) {
        left[i] = -20 * a1[i] - a3[i] + c1[i];
        c2[i] = a2[i] - c2[i] / 60;
    }
    commutator(m, left, c2, c, tmp);
    for (int64_t i = 0; i < mm; i++) omega[i] = a1[i] + a3[i] / 12 + c[i] / 240;
}

static void omega_midpoint(int64_t m, const double *a, double h, double *omega, double *w)
{
    (void)w;
    for (int64_t i = 0; i < m * m; i++) omega[i] = h * a[i];
}

static void omega_magnus4(int64_t m, const double *a, double h, double *omega, double *w)
{
    const int64_t mm = m * m;
    const double *a1 = a, *a2 = a + mm;
    commutator(m, a1, a2, w, w + mm);
    for (int64_t i = 0; i < mm; i++) omega[i] = h / 2 * (a1[i] + a2[i]) - GAUSS2_AT / 2 * h * h * w[i];
}

/* The matrices of a step in `scratch`: eight of work, the exponent, the scratch of expm. */
static double *exponent(double *scratch, int64_t mm) { return scratch + 8 * mm; }
static double *expm_scratch(double *scratch, int64_t mm) { return scratch + MATRICES * mm; }

#define STEP_OF(name)                                                                                                  \
    static geodec_status step_##name(int64_t m, const double *a, double h, double *e, double *scratch, geodec_err *err)
#define EXPONENTIAL_STEP(name)                                                                                         \
    STEP_OF(name)                                                                                                      \
    {                                                                                                                  \
        double *omega = exponent(scratch, m * m);                                                                      \
        omega_##name(m, a, h, omega, scratch);                                                                         \
        return geodec_expm(m, omega, e, expm_scratch(scratch, m * m), err);                                            \
    }
EXPONENTIAL_STEP(midpoint)
EXPONENTIAL_STEP(magnus3)
EXPONENTIAL_STEP(magnus4)
EXPONENTIAL_STEP(magnus6)

STEP_OF(taylor3)
{
    const int64_t mm = m * m;
    double *omega = exponent(scratch, mm);
    for (int64_t i = 0; i < mm; i++) omega[i] = h / 2 * (a[i] + a[mm + i]);
    if (!geodec__finite(mm, omega)) GEODEC_FAIL(GEODEC_NUMERIC, "the generator is not finite");
    taylor3(m, omega, e, scratch);
    return GEODEC_OK;
}

STEP_OF(cf4)
{
    const int64_t mm = m * m;
    double *omega = exponent(scratch, mm), *w = scratch, *more = expm_scratch(scratch, mm);
    const double *a1 = a, *a2 = a + mm;
    for (int64_t i = 0; i < mm; i++) omega[i] = h * ((0.25 + GAUSS2_AT) * a1[i] + (0.25 - GAUSS2_AT) * a2[i]);
    GEODEC_PASS(geodec_expm(m, omega, w, more, err));
    for (int64_t i = 0; i < mm; i++) omega[i] = h * ((0.25 - GAUSS2_AT) * a1[i] + (0.25 + GAUSS2_AT) * a2[i]);
    GEODEC_PASS(geodec_expm(m, omega, w + mm, more, err));
    product(m, w + mm, w, e);
    return GEODEC_OK;
}

geodec_status geodec_magnus_step(geodec_magnus_scheme scheme, int64_t m, const double *a, double h, double *e,
                                 double *scratch, geodec_err *err)
{
    if ((unsigned)scheme >= GEODEC_MAGNUS_SCHEMES) GEODEC_FAIL(GEODEC_INVAL, "not a scheme");
    GEODEC_PASS(table[scheme].step(m, a, h, e, scratch, err));
    return GEODEC_OK;
}
