/* The convention that a failing field fits: tries the axis orders, signs and factors of other packages one by one. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "geometry/curvature.h"
#include "lab/verification/verification_internal.h"
#include "linalg/chol.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FITS 1e-6 /* the right reading leaves rounding, or the error of differences in the given field */

enum { PROBES_MAX = 4 };

typedef struct reading {
    int axis[4]; /* axis t of the given array carries index axis[t] of the required one */
    double factor;
    bool lowered; /* the upper index is down in the given array */
    const char *text;
} reading;

/* dst[i..] = factor src[..]: rank axes of extent n */
static void permute(int64_t n, int rank, const reading *r, const double *src, double *dst)
{
    int64_t stride[4] = {0}, total = 1, at[4] = {0};
    for (int t = rank - 1; t >= 0; t--) {
        stride[r->axis[t]] = total;
        total *= n;
    }
    for (int64_t q = 0; q < total; q++) {
        int64_t from = 0;
        for (int t = 0; t < rank; t++) from += at[t] * stride[t];
        dst[q] = r->factor * src[from];
        for (int t = rank - 1; t >= 0 && ++at[t] == n; t--) at[t] = 0;
    }
}

/* Indices 0, 1, 2 are i, j, k of Gamma^k_ij. */
static const reading gamma_readings[] = {
    {{0, 1, 2, 0}, 1, false, "gamma[i][j][k] = Gamma^k_ij"},
    {{2, 0, 1, 0}, 1, false, "gamma[k][i][j] = Gamma^k_ij: upper index first? (sympy, einsteinpy, geomstats)"},
    {{0, 2, 1, 0}, 1, false, "gamma[i][k][j] = Gamma^k_ij: upper index in the middle?"},
    {{0, 1, 2, 0}, 1, true, "gamma[i][j][k] = Gamma_kij: symbols of the first kind, upper index not raised?"},
    {{2, 0, 1, 0}, 1, true, "gamma[k][i][j] = Gamma_kij: symbols of the first kind with that index first?"},
    {{0, 2, 1, 0}, 1, true, "gamma[i][k][j] = Gamma_kij: symbols of the first kind with that index in the middle?"},
};
/* Indices 0, 1, 2 are a, i, j of d_a g_ij. */
static const reading dg_readings[] = {
    {{0, 1, 2, 0}, 1, false, "dg[a][i][j] = d_a g_ij"},
    {{1, 2, 0, 0}, 1, false, "dg[i][j][a] = d_a g_ij: derivative index last? (automatic differentiation, geomstats)"},
    {{1, 0, 2, 0}, 1, false, "dg[i][a][j] = d_a g_ij: derivative index in the middle?"},
};
/* Indices 0..3 are c, i, j, k of d_c Gamma^k_ij. */
static const reading dgamma_readings[] = {
    {{0, 1, 2, 3}, 1, false, "dgamma[c][i][j][k] = d_c Gamma^k_ij"},
    {{0, 3, 1, 2}, 1, false, "dgamma[c][k][i][j] = d_c Gamma^k_ij: upper index before the lower ones?"},
    {{3, 1, 2, 0}, 1, false, "dgamma[k][i][j][c] = d_c Gamma^k_ij: upper index first, derivative index last?"},
    {{1, 2, 3, 0}, 1, false, "dgamma[i][j][k][c] = d_c Gamma^k_ij: derivative index last?"},
};
/* Indices 0..3 are a, b, c, d of R^a_bcd. */
static const reading riemann_readings[] = {
    {{0, 1, 2, 3}, 1, false, "riemann[a][b][c][d] = R^a_bcd"},
    {{0, 1, 2, 3},
     -1,
     false,
     "R^a_bcd with c,d swapped: the opposite sign convention, R(X,Y) = D_Y D_X - D_X D_Y + ..?"},
    {{1, 2, 3, 0}, 1, false, "riemann[b][c][d][a] = R^a_bcd: upper index last? (geomstats)"},
    {{1, 2, 3, 0}, -1, false, "riemann[b][d][c][a] = R^a_bcd: upper index last and c,d swapped?"},
    {{2, 3, 1, 0}, 1, false, "riemann[c][d][b][a] = R^a_bcd: the components of R(X_c, X_d) X_b, upper index last?"},
    {{2, 3, 1, 0}, -1, false, "riemann[d][c][b][a] = R^a_bcd: the components of R(X_d, X_c) X_b, upper index last?"},
    {{2, 3, 0, 1}, 1, false, "riemann[c][d][a][b] = R^a_bcd: the pair of the differentiation first?"},
    {{2, 3, 0, 1}, -1, false, "riemann[d][c][a][b] = R^a_bcd: the pair of the differentiation first and swapped?"},
    {{1, 0, 2, 3}, 1, false, "riemann[b][a][c][d] = R^a_bcd: upper index second?"},
    {{1, 0, 2, 3}, -1, false, "riemann[b][a][d][c] = R^a_bcd: upper index second and c,d swapped?"},
    {{0, 2, 1, 3}, 1, false, "riemann[a][c][b][d] = R^a_bcd: b and c exchanged?"},
    {{0, 2, 1, 3}, -1, false, "riemann[a][c][b][d] = -R^a_bcd: b and c exchanged, opposite sign?"},
    {{0, 1, 2, 3}, 1, true, "riemann[a][b][c][d] = R_abcd: all indices down?"},
    {{0, 1, 2, 3}, -1, true, "riemann[a][b][c][d] = -R_abcd: all indices down, opposite sign?"},
    {{0, 2, 1, 3}, 1, true, "riemann[a][c][b][d] = R_abcd: all indices down, b and c exchanged?"},
    {{0, 2, 1, 3}, -1, true, "riemann[a][c][b][d] = -R_abcd: all indices down, b and c exchanged, opposite sign?"},
};
static const double factors[] = {1, -1, 2, 0.5, -2, -0.5};
static const char *const factor_texts[] = {"",
                                           "; opposite sign?",
                                           "; the given values are half of it",
                                           "; the given values are twice it: the factor 1/2 missing?",
                                           "; opposite sign, and half of it",
                                           "; opposite sign, and the factor 1/2 missing?"};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

static void GEODEC_PRINTF(2, 3) note(geodec_verification *v, const char *format, ...)
{
    va_list args;
    if (v->notes >= GEODEC_VERIFY_NOTES) return;
    va_start(args, format);
    (void)vsnprintf(v->note[v->notes++], GEODEC_VERIFY_NOTE, format, args);
    va_end(args);
}

/* ---- readings of one point --------------------------------------------------------------------------------------- */

/* Gamma^k_ij of a reading; inverse [n][n] of g. tmp [n]^3. */
static void read_gamma(int64_t n, const reading *r, double factor, const double *inverse, const double *src,
                       double *dst, double *tmp)
{
    reading full = *r;
    full.factor = factor;
    permute(n, 3, &full, src, r->lowered ? tmp : dst);
    if (!r->lowered) return;
    for (int64_t ij = 0; ij < n * n; ij++)
        for (int64_t k = 0; k < n; k++) dst[ij * n + k] = geodec__dot(n, inverse + k * n, tmp + ij * n);
}

static void read_riemann(int64_t n, const reading *r, const double *inverse, const double *src, double *dst,
                         double *tmp)
{
    permute(n, 4, r, src, r->lowered ? tmp : dst);
    if (r->lowered) geodec__verification_lower(n, inverse, tmp, dst); /* raises: the same product with the inverse */
}

typedef struct search {
    const geodec_verification_field *f;
    int64_t probe[PROBES_MAX], probes;
    double *inverse;                            /* [probes][n][n] */
    double *gamma, *dgamma, *tensor, *tmp, *dg; /* of one point */
    const reading *gamma_as, *dgamma_as;        /* chosen; NULL = none fits */
    double gamma_factor;
    double least; /* scale of dg */
} search;

static double worst_compatibility(search *s, const reading *dg, const reading *gamma, double factor)
{
    const geodec_verification_field *f = s->f;
    const int64_t n = f->n, n2 = n * n, n3 = n2 * n;
    double worst = 0;
    for (int64_t q = 0; q < s->probes; q++) {
        const int64_t p = s->probe[q];
        permute(n, 3, dg, f->dg + p * n3, s->dg);
        read_gamma(n, gamma, factor, s->inverse + q * n2, f->gamma + p * n3, s->gamma, s->tmp);
        worst = fmax(worst, geodec__verification_compatibility(n, f->g + p * n2, s->dg, s->gamma, s->least, NULL));
    }
    return worst;
}

static double worst_asymmetry(search *s, const reading *gamma)
{
    const int64_t n = s->f->n, n3 = n * n * n;
    double worst = 0;
    for (int64_t q = 0; q < s->probes; q++) {
        permute(n, 3, gamma, s->f->gamma + s->probe[q] * n3, s->gamma);
        const double top = geodec__largest(n3, s->gamma);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t k = 0; k < n && top > 0; k++)
                    worst = fmax(worst, fabs(s->gamma[(i * n + j) * n + k] - s->gamma[(j * n + i) * n + k]) / top);
    }
    return worst;
}

static void diagnose_gamma(search *s, geodec_verification *v)
{
    const geodec_verification_field *f = s->f;
    const bool symmetric = v->check[GEODEC_VERIFY_GAMMA_SYMMETRY].pass,
               compatible = v->check[GEODEC_VERIFY_COMPATIBILITY].pass;
    s->gamma_as = gamma_readings;
    s->gamma_factor = 1;
    if (!f->dg) {
        for (int r = 0; !symmetric && r < 3; r++) {
            if (worst_asymmetry(s, &gamma_readings[r]) > FITS) continue;
            s->gamma_as = &gamma_readings[r];
            note(v, "Gamma is symmetric in the wrong pair; it fits when read as %s", s->gamma_as->text);
            return;
        }
        if (!symmetric)
            note(v, "Gamma is symmetric in no pair of its indices: a connection with torsion, or a wrong entry");
        return;
    }
    if (symmetric && compatible && v->check[GEODEC_VERIFY_DG_SYMMETRY].pass) return;
    for (int x = 0; x < COUNT(factors); x++)
        for (int d = 0; d < COUNT(dg_readings); d++)
            for (int r = 0; r < COUNT(gamma_readings); r++) {
                if (worst_asymmetry(s, &gamma_readings[r]) > FITS ||
                    worst_compatibility(s, &dg_readings[d], &gamma_readings[r], factors[x]) > FITS)
                    continue;
                s->gamma_as = &gamma_readings[r];
                s->gamma_factor = factors[x];
                if (d) note(v, "the derivatives of g fit when read as %s", dg_readings[d].text);
                if (r || x)
                    note(v, "Gamma fits g and its derivatives when read as %s%s", gamma_readings[r].text,
                         factor_texts[x]);
                return;
            }
    s->gamma_as = NULL;
    int64_t at[3] = {0};
    const int64_t n = f->n, p = v->check[GEODEC_VERIFY_COMPATIBILITY].where;
    (void)geodec__verification_compatibility(n, f->g + p * n * n, f->dg + p * n * n * n, f->gamma + p * n * n * n,
                                             s->least, at);
    note(v,
         "Gamma and the derivatives of g fit no common convention; metric compatibility is worst at point %lld, "
         "d_%lld g_%lld%lld: a wrong entry there?",
         (long long)p, (long long)at[0], (long long)at[1], (long long)at[2]);
}

/* The tensor of the chosen Gamma and a reading of dGamma at probe q -> s->tensor. */
static geodec_status formula(search *s, const reading *dgamma, int64_t q, geodec_err *err)
{
    const geodec_verification_field *f = s->f;
    const int64_t n = f->n, n2 = n * n, p = s->probe[q];
    reading full = *dgamma;
    full.factor = s->gamma_factor;
    read_gamma(n, s->gamma_as, s->gamma_factor, s->inverse + q * n2, f->gamma + p * n2 * n, s->gamma, s->tmp);
    permute(n, 4, &full, f->dgamma + p * n2 * n2, s->dgamma);
    return geodec_curvature_tensor((int32_t)n, s->gamma, s->dgamma, s->tensor, err);
}

static geodec_status formula_fits(search *s, const reading *dgamma, const reading *riemann, bool *fits, geodec_err *err)
{
    const int64_t n = s->f->n, n4 = n * n * n * n;
    *fits = true;
    for (int64_t q = 0; q < s->probes && *fits; q++) {
        GEODEC_PASS(formula(s, dgamma, q, err));
        read_riemann(n, riemann, s->inverse + q * n * n, s->f->riem + s->probe[q] * n4, s->dgamma, s->tmp);
        const double top = fmax(geodec__largest(n4, s->tensor), geodec__largest(n4, s->dgamma));
        double worst = 0;
        for (int64_t i = 0; i < n4; i++) worst = fmax(worst, fabs(s->tensor[i] - s->dgamma[i]));
        *fits = worst <= FITS * top;
    }
    return GEODEC_OK;
}

/* Whether the tensor, in a reading, has its symmetries and, where it is known, the constant curvature. */
static bool symmetries_fit(search *s, const reading *riemann, const double *curvature)
{
    const geodec_verification_field *f = s->f;
    const int64_t n = f->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    for (int64_t q = 0; q < s->probes; q++) {
        const double *g = f->g + s->probe[q] * n2;
        double sym[4];
        read_riemann(n, riemann, s->inverse + q * n2, f->riem + s->probe[q] * n4, s->tensor, s->tmp);
        if (curvature) {
            const double top = fmax(geodec__largest(n4, s->tensor), fabs(*curvature) * geodec__largest(n2, g));
            for (int64_t i = 0; i < n4; i++) {
                const int64_t a = i / n3, b = i / n2 % n, c = i / n % n, d = i % n;
                if (fabs(s->tensor[i] - *curvature * ((a == c) * g[b * n + d] - (a == d) * g[b * n + c])) > FITS * top)
                    return false;
            }
            continue;
        }
        geodec__verification_lower(n, g, s->tensor, s->tmp);
        geodec__verification_symmetries(n, s->tmp, sym);
        const double top = FITS * geodec__largest(n4, s->tmp);
        if (sym[0] > top || sym[1] > top || sym[2] > top || sym[3] > top) return false;
    }
    return true;
}

static geodec_status diagnose_riemann(search *s, const double *curvature, geodec_verification *v, geodec_err *err)
{
    bool fits = false, failed = false;
    static const geodec_verification_check about[] = {
        GEODEC_VERIFY_DGAMMA_SYMMETRY, GEODEC_VERIFY_RIEMANN_FORMULA, GEODEC_VERIFY_FIRST_PAIR,
        GEODEC_VERIFY_LAST_PAIR,       GEODEC_VERIFY_EXCHANGE,        GEODEC_VERIFY_BIANCHI_1,
        GEODEC_VERIFY_CLOSED_FORM,     GEODEC_VERIFY_RICCI_SYMMETRY,  GEODEC_VERIFY_SCALAR};
    for (int i = 0; i < COUNT(about); i++) failed = failed || !v->check[about[i]].pass;
    if (!failed) return GEODEC_OK;
    if (s->f->gamma && s->f->dgamma && s->gamma_as) {
        for (int d = 0; d < COUNT(dgamma_readings); d++)
            for (int r = 0; r < COUNT(riemann_readings); r++) {
                GEODEC_PASS(formula_fits(s, &dgamma_readings[d], &riemann_readings[r], &fits, err));
                if (!fits) continue;
                if (d) note(v, "the derivatives of Gamma fit when read as %s", dgamma_readings[d].text);
                if (r) note(v, "the tensor fits Gamma and its derivatives when read as %s", riemann_readings[r].text);
                return GEODEC_OK;
            }
        note(v, "the tensor, Gamma and its derivatives fit in no common convention");
    }
    for (int r = 1; r < COUNT(riemann_readings); r++) {
        if (symmetries_fit(s, riemann_readings, curvature)) break; /* as given: the fault is elsewhere */
        if (!symmetries_fit(s, &riemann_readings[r], curvature)) continue;
        note(v, "%s when read as %s%s", curvature ? "the tensor fits the closed form" : "its symmetries hold",
             riemann_readings[r].text, curvature ? "" : " (symmetries alone do not determine its sign)");
        return GEODEC_OK;
    }
    if (!curvature && !symmetries_fit(s, riemann_readings, NULL))
        note(v,
             "the tensor has the symmetries of a curvature in no common order of its indices: worst in the first "
             "pair %.1e, last pair %.1e, exchange %.1e, Bianchi %.1e",
             v->check[GEODEC_VERIFY_FIRST_PAIR].worst, v->check[GEODEC_VERIFY_LAST_PAIR].worst,
             v->check[GEODEC_VERIFY_EXCHANGE].worst, v->check[GEODEC_VERIFY_BIANCHI_1].worst);
    return GEODEC_OK;
}

/* The point with the largest tensor (or Gamma, or dg) after the given point: where it is small, the readings do not
 * differ. */
static int64_t probe_after(const geodec_verification_field *f, int64_t last)
{
    const double *of = f->riem ? f->riem : f->gamma ? f->gamma : f->dg ? f->dg : f->g;
    const int64_t n = f->n, size = n * n * (f->riem ? n * n : f->gamma || f->dg ? n : 1);
    const double below = last >= 0 ? geodec__largest(size, of + last * size) : INFINITY;
    int64_t best = -1;
    double top = -1;
    for (int64_t p = 0; p < f->points; p++) {
        const double x = geodec__largest(size, of + p * size);
        /* equal ones in the order of their numbers */
        if (p == last || x > below || (x == below && p < last) || x <= top) continue;
        best = p;
        top = x;
    }
    return best >= 0 ? best : 0;
}

geodec_status geodec__verification_diagnose(const geodec_verification_field *f, const double *curvature,
                                            geodec_verification *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    search s = {.f = f, .gamma_as = gamma_readings, .gamma_factor = 1};
    double *block = NULL;
    bool singular = false;
    if (!v->check[GEODEC_VERIFY_G_SYMMETRY].pass)
        note(v, "g is not symmetric (worst at point %lld): no metric",
             (long long)v->check[GEODEC_VERIFY_G_SYMMETRY].where);
    if (!v->check[GEODEC_VERIFY_G_POSITIVE].pass)
        note(v,
             "g has %lld eigenvalues that are not positive at point %lld: a Lorentzian signature (- + + +), or no "
             "metric; distances need a positive definite one",
             (long long)v->check[GEODEC_VERIFY_G_POSITIVE].worst, (long long)v->check[GEODEC_VERIFY_G_POSITIVE].where);
    s.probes = f->points < PROBES_MAX ? f->points : PROBES_MAX;
    if (n > 16 && s.probes > 2) s.probes = 2;
    GEODEC_NEW(block, s.probes * n2 + 2 * n3 + 3 * n4);
    s.inverse = block;
    s.gamma = s.inverse + s.probes * n2;
    s.dg = s.gamma + n3;
    s.dgamma = s.dg + n3;
    s.tensor = s.dgamma + n4;
    s.tmp = s.tensor + n4;
    for (int64_t q = 0; q < s.probes; q++) {
        s.probe[q] = probe_after(f, q ? s.probe[q - 1] : -1);
        memcpy(s.tmp, f->g + s.probe[q] * n2, (size_t)n2 * sizeof *s.tmp);
        if (geodec_chol_factor(n, s.tmp, NULL) != GEODEC_OK)
            singular = true;
        else
            geodec_chol_inverse(n, s.tmp, s.inverse + q * n2);
    }
    if (singular) goto done; /* without an inverse no index can be raised; the notes above give the reason */
    if (f->gamma) diagnose_gamma(&s, v);
    if (f->riem) GEODEC_TRY(diagnose_riemann(&s, curvature, v, err));
    double worst = 0;
    for (int c = 0; c < GEODEC_VERIFY_CHECKS; c++)
        if (!v->check[c].pass && c != GEODEC_VERIFY_CONDITION) worst = fmax(worst, v->check[c].worst);
    if (worst > 0 && worst < 1e-3)
        note(v, "everything holds to %.1e: differences in place of derivatives, or single precision?", worst);
done:
    geodec_mem_free(block);
    return st;
}
