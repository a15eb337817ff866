#include "lab/verification/verification.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/curvature.h"
#include "geometry/space_closed.h"
#include "lab/verification/verification_internal.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/eig.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Limits: identities that hold term by term 1e-10 (a few hundred roundings of terms that may cancel to 1e-4);
 * extrapolated differences 1e-7, those of Gamma and of the tensor 1e-5; a condition number above 1e12 leaves
 * no digits to any of them. */
const geodec_verification_about geodec_verification_abouts[GEODEC_VERIFY_CHECKS] = {
    {"metric symmetry", "g_ij = g_ji", 1e-12, 1e-12},
    {"metric signature", "eigenvalues of g that are not positive", 0, 0},
    {"metric condition", "largest over smallest eigenvalue of g", 1e12, 1e12},
    {"dg symmetry", "d_a g_ij = d_a g_ji", 1e-10, 1e-10},
    {"dg by differences", "d_a g_ij = (g(x + h e_a) - g(x - h e_a)) / 2h, extrapolated", 1e-7, 1e-7},
    {"Christoffel symmetry", "Gamma^k_ij = Gamma^k_ji", 1e-10, 1e-10},
    {"metric compatibility", "d_l g_ij = Gamma^m_li g_mj + Gamma^m_lj g_im", 1e-10, 1e-6},
    {"dGamma symmetry", "d_c Gamma^k_ij = d_c Gamma^k_ji", 1e-10, 1e-10},
    {"dGamma by differences", "d_c Gamma^k_ij by differences of Gamma, extrapolated", 1e-5, 1e-5},
    {"curvature formula", "R^a_bcd from dGamma and Gamma", 1e-10, 1e-10},
    {"first pair", "R_abcd = -R_bacd", 1e-10, 1e-6},
    {"last pair", "R_abcd = -R_abdc", 1e-10, 1e-6},
    {"exchange of pairs", "R_abcd = R_cdab", 1e-10, 1e-6},
    {"first Bianchi", "R_abcd + R_acdb + R_adbc = 0", 1e-10, 1e-6},
    {"second Bianchi", "D_e R_abcd + D_c R_abde + D_d R_abec = 0", 1e-5, 1e-5},
    {"Ricci symmetry", "R_bd = R_db", 1e-10, 1e-6},
    {"scalar curvature", "g^bd R_bd = 2 sum of sectional curvatures", 1e-10, 1e-6},
    {"closed form", "R^a_bcd = K (delta^a_c g_bd - delta^a_d g_bc)", 1e-10, 1e-6},
};

geodec_verification_options geodec_verification_defaults(void) { return (geodec_verification_options){.bianchi = 16}; }

void geodec_verification_clear(geodec_verification *v)
{
    geodec_mem_free(v->value);
    *v = (geodec_verification){0};
}

/* ---- identities at one point ------------------------------------------------------------------------------------- */

double geodec__verification_compatibility(int64_t n, const double *g, const double *dg, const double *gamma,
                                          double least, int64_t at[3])
{
    const int64_t n2 = n * n;
    double worst = 0;
    for (int64_t l = 0; l < n; l++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                double r = dg[l * n2 + i * n + j];
                for (int64_t m = 0; m < n; m++)
                    r -= gamma[l * n2 + i * n + m] * g[m * n + j] + gamma[l * n2 + j * n + m] * g[i * n + m];
                if (!(fabs(r) > worst)) continue;
                worst = fabs(r);
                if (at) memcpy(at, (const int64_t[3]){l, i, j}, 3 * sizeof *at);
            }
    const double scale = fmax(geodec__largest(n2 * n, dg), geodec__largest(n2, g) * geodec__largest(n2 * n, gamma));
    return worst > 0 ? worst / fmax(scale, least) : 0;
}

void geodec__verification_lower(int64_t n, const double *g, const double *riem, double *low)
{
    geodec_blas_gemm(false, false, n, n * n * n, n, 1, g, n, riem, n * n * n, 0, low, n * n * n);
}

void geodec__verification_symmetries(int64_t n, const double *low, double out[4])
{
    const int64_t n2 = n * n, n3 = n2 * n;
    memset(out, 0, 4 * sizeof *out);
#define R(a, b, c, d) low[(a)*n3 + (b)*n2 + (c)*n + (d)]
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++)
            for (int64_t c = 0; c < n; c++)
                for (int64_t d = 0; d < n; d++) {
                    const double r = R(a, b, c, d);
                    out[0] = fmax(out[0], fabs(r + R(b, a, c, d)));
                    out[1] = fmax(out[1], fabs(r + R(a, b, d, c)));
                    out[2] = fmax(out[2], fabs(r - R(c, d, a, b)));
                    out[3] = fmax(out[3], fabs(r + R(a, c, d, b) + R(a, d, b, c)));
                }
#undef R
}

static double ratio(double worst, double scale) { return worst > 0 ? worst / fmax(scale, DBL_MIN) : 0; }

/* t[..][i][j][rest] - t[..][j][i][rest] over `outer` leading and `rest` trailing entries */
static double pair_asymmetry(int64_t outer, int64_t n, int64_t rest, const double *t, double least)
{
    double worst = 0;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < i; j++)
                for (int64_t r = 0; r < rest; r++)
                    worst =
                        fmax(worst, fabs(t[((o * n + i) * n + j) * rest + r] - t[((o * n + j) * n + i) * rest + r]));
    return ratio(worst, fmax(least, geodec__largest(outer * n * n * rest, t)));
}

static double gap(int64_t count, const double *a, const double *b, double scale)
{
    double worst = 0;
    for (int64_t i = 0; i < count; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    return ratio(worst, scale);
}

/* Least scales, for points at which only rounding remains; that of the lowered tensor is relative to max |g|. */
typedef struct scales {
    double dg, gamma, dgamma, riem;
} scales;

/* One point's arrays; NULL = not there. */
typedef struct local {
    int64_t n;
    const double *g, *dg, *gamma, *dgamma, *riem, *ricci, *scalar;
    scales least;
} local;

static geodec_status metric_checks(const local *p, double *value, geodec_err *err)
{
    const int64_t n = p->n;
    double w[GEODEC_SPACE_DIM_MAX], sym[GEODEC_SPACE_DIM_MAX * GEODEC_SPACE_DIM_MAX] = {0};
    value[GEODEC_VERIFY_G_SYMMETRY] = pair_asymmetry(1, n, 1, p->g, 0);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) sym[i * n + j] = 0.5 * (p->g[i * n + j] + p->g[j * n + i]);
    GEODEC_PASS(geodec_eig_values(n, sym, w, err));
    const double top = fmax(fabs(w[0]), fabs(w[n - 1]));
    double least = top;
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        bad += w[i] <= (double)n * DBL_EPSILON * top;
        least = fmin(least, fabs(w[i]));
    }
    value[GEODEC_VERIFY_G_POSITIVE] = (double)bad;
    value[GEODEC_VERIFY_CONDITION] = least > top * DBL_MIN ? top / least : 1 / DBL_EPSILON * 1e8;
    return GEODEC_OK;
}

/* Ricci and scalar in two ways each; low and frame [n]^4. */
static void contractions(const local *p, const double *low, double scale, double *frame, double *value)
{
    const int64_t n = p->n, n2 = n * n, n3 = n2 * n;
    double ricci[GEODEC_SPACE_DIM_MAX * GEODEC_SPACE_DIM_MAX], l[GEODEC_SPACE_DIM_MAX * GEODEC_SPACE_DIM_MAX];
    double inverse[GEODEC_SPACE_DIM_MAX * GEODEC_SPACE_DIM_MAX], e[GEODEC_SPACE_DIM_MAX * GEODEC_SPACE_DIM_MAX];
    for (int64_t b = 0; b < n; b++)
        for (int64_t d = 0; d < n; d++) {
            ricci[b * n + d] = 0;
            for (int64_t a = 0; a < n; a++) ricci[b * n + d] += p->riem[a * n3 + b * n2 + a * n + d];
        }
    memcpy(l, p->g, (size_t)n2 * sizeof *l);
    if (geodec_chol_factor(n, l, NULL) != GEODEC_OK) return; /* no frame: the signature check has reported it */
    geodec_chol_inverse(n, l, inverse);
    const double unit = scale * geodec__largest(n2, inverse); /* of R_abcd with an index raised */
    double worst = 0, trace = 0, sections = 0;
    for (int64_t b = 0; b < n; b++)
        for (int64_t d = 0; d < n; d++) {
            trace += inverse[b * n + d] * ricci[b * n + d];
            worst = fmax(worst, fabs(ricci[b * n + d] - ricci[d * n + b]));
        }
    for (int64_t i = 0; p->ricci && i < n2; i++) worst = fmax(worst, fabs(ricci[i] - p->ricci[i]));
    value[GEODEC_VERIFY_RICCI_SYMMETRY] = ratio(worst, unit);
    /* g-orthonormal rows e_a = L^-1: sum of R(e_a, e_b, e_a, e_b) */
    memset(e, 0, sizeof e);
    for (int64_t i = 0; i < n; i++) e[i * n + i] = 1;
    geodec_chol_solve_lower(n, l, n, e); /* row i: L^-1 e_i, so e[i][a] = (L^-1)_ai */
    for (int64_t a = 0; a < n; a++)
        for (int64_t c = 0; c < n; c++) frame[a * n + c] = e[c * n + a];
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++) {
            const double *u = frame + a * n, *v = frame + b * n;
            double k = 0;
            for (int64_t q = 0; a != b && q < n; q++)
                for (int64_t r = 0; r < n; r++) {
                    const double *row = low + q * n3 + r * n2;
                    double s = 0;
                    for (int64_t c = 0; c < n; c++) s += u[c] * geodec__dot(n, row + c * n, v);
                    k += u[q] * v[r] * s;
                }
            sections += k;
        }
    worst = fabs(trace - sections);
    if (p->scalar) worst = fmax(worst, fabs(trace - *p->scalar));
    value[GEODEC_VERIFY_SCALAR] = ratio(worst, unit * geodec__largest(n2, inverse));
}

static geodec_status curvature_checks(const local *p, const double *curvature, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = p->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    double *block = NULL, sym[4];
    GEODEC_NEW(block, 2 * n4);
    double *low = block, *other = low + n4;
    const double gm = geodec__largest(n2, p->g);
    geodec__verification_lower(n, p->g, p->riem, low);
    geodec__verification_symmetries(n, low, sym);
    double scale = fmax(geodec__largest(n4, low), gm * p->least.riem), terms = 0;
    if (p->gamma && p->dgamma) {
        const double c = geodec__largest(n3, p->gamma);
        terms = geodec__largest(n4, p->dgamma) + (double)n * c * c;
        GEODEC_TRY(geodec_curvature_tensor((int32_t)n, p->gamma, p->dgamma, other, err));
        value[GEODEC_VERIFY_RIEMANN_FORMULA] =
            gap(n4, p->riem, other, fmax(geodec__largest(n4, p->riem), fmax(p->least.riem, 1e-4 * terms)));
        scale = fmax(scale, 1e-4 * gm * terms);
    }
    value[GEODEC_VERIFY_FIRST_PAIR] = ratio(sym[0], scale);
    value[GEODEC_VERIFY_LAST_PAIR] = ratio(sym[1], scale);
    value[GEODEC_VERIFY_EXCHANGE] = ratio(sym[2], scale);
    value[GEODEC_VERIFY_BIANCHI_1] = ratio(sym[3], scale);
    contractions(p, low, scale, other, value);
    if (curvature) {
        const double k = *curvature;
        for (int64_t a = 0; a < n; a++)
            for (int64_t b = 0; b < n; b++)
                for (int64_t c = 0; c < n; c++)
                    for (int64_t d = 0; d < n; d++)
                        other[a * n3 + b * n2 + c * n + d] =
                            k * ((a == c) * p->g[b * n + d] - (a == d) * p->g[b * n + c]);
        /* a flat space has no scale but that of the terms */
        value[GEODEC_VERIFY_CLOSED_FORM] =
            gap(n4, p->riem, other, fmax(fabs(k) * gm, fmax(1e-4 * terms, k == 0 && terms == 0 ? 1 : 0)));
    }
done:
    geodec_mem_free(block);
    return st;
}

static geodec_status point_checks(const local *p, const double *curvature, double *value, geodec_err *err)
{
    const int64_t n = p->n;
    GEODEC_PASS(metric_checks(p, value, err));
    if (p->dg) value[GEODEC_VERIFY_DG_SYMMETRY] = pair_asymmetry(n, n, 1, p->dg, p->least.dg);
    if (p->gamma) value[GEODEC_VERIFY_GAMMA_SYMMETRY] = pair_asymmetry(1, n, n, p->gamma, p->least.gamma);
    if (p->dg && p->gamma)
        value[GEODEC_VERIFY_COMPATIBILITY] =
            geodec__verification_compatibility(n, p->g, p->dg, p->gamma, p->least.dg, NULL);
    if (p->dgamma) value[GEODEC_VERIFY_DGAMMA_SYMMETRY] = pair_asymmetry(n, n, n, p->dgamma, p->least.dgamma);
    if (p->riem) GEODEC_PASS(curvature_checks(p, curvature, value, err));
    return GEODEC_OK;
}

/* ---- verdict ----------------------------------------------------------------------------------------------------- */

/* first, second: whether the derivatives of g and of Gamma are differences */
static geodec_status verdict(geodec_verification *v, bool first, bool second, double tolerance, geodec_err *err)
{
    v->pass = true;
    for (int c = 0; c < GEODEC_VERIFY_CHECKS; c++) {
        const geodec_verification_about *about = &geodec_verification_abouts[c];
        const bool differences = c <= GEODEC_VERIFY_COMPATIBILITY ? first : second;
        v->check[c].limit = differences ? about->limit_diff : about->limit;
        if (c != GEODEC_VERIFY_G_POSITIVE) v->check[c].limit = fmax(v->check[c].limit, tolerance);
        v->check[c].worst = -1;
        for (int64_t p = 0; p < v->points; p++) {
            const double x = v->value[p * GEODEC_VERIFY_CHECKS + c];
            if (isnan(x)) GEODEC_FAIL(GEODEC_NUMERIC, "%s is not a number at point %lld", about->name, (long long)p);
            if (x <= v->check[c].worst) continue;
            v->check[c].worst = x;
            v->check[c].where = p;
        }
        v->check[c].run = v->check[c].worst >= 0;
        v->check[c].pass = v->check[c].worst <= v->check[c].limit;
        v->pass = v->pass && v->check[c].pass;
    }
    return GEODEC_OK;
}

static geodec_status begin(int64_t points, int64_t n, geodec_verification *v, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *v = (geodec_verification){.points = points, .n = n};
    if (n < 1 || n > GEODEC_SPACE_DIM_MAX)
        GEODEC_THROW(GEODEC_RANGE, "dimension %lld is outside 1..%d", (long long)n, GEODEC_SPACE_DIM_MAX);
    if (points < 1) GEODEC_THROW(GEODEC_RANGE, "there are no points to check");
    GEODEC_NEW(v->value, points * GEODEC_VERIFY_CHECKS);
    for (int64_t i = 0; i < points * GEODEC_VERIFY_CHECKS; i++) v->value[i] = -1;
done:
    return st;
}

/* ---- arrays ------------------------------------------------------------------------------------------------------ */

/* Share of the largest value at any point that is the least scale of a point. */
#define LEAST 1e-6

typedef struct arrays {
    const geodec_verification_field *f;
    const double *curvature;
    double *value;
    scales least;
} arrays;

static geodec_status arrays_task(void *ctx, int64_t p, geodec_err *err)
{
    const arrays *a = ctx;
    const geodec_verification_field *f = a->f;
    const int64_t n = f->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    const local l = {
        .n = n,
        .g = f->g + p * n2,
        .dg = f->dg ? f->dg + p * n3 : NULL,
        .gamma = f->gamma ? f->gamma + p * n3 : NULL,
        .dgamma = f->dgamma ? f->dgamma + p * n4 : NULL,
        .riem = f->riem ? f->riem + p * n4 : NULL,
        .ricci = f->ricci ? f->ricci + p * n2 : NULL,
        .scalar = f->scalar ? f->scalar + p : NULL,
        .least = a->least,
    };
    return point_checks(&l, a->curvature, a->value + p * GEODEC_VERIFY_CHECKS, err);
}

static geodec_status all_finite(const geodec_verification_field *f, geodec_err *err)
{
    const int64_t P = f->points, n = f->n, n2 = n * n;
    const struct {
        const char *name;
        const double *x;
        int64_t count;
    } all[] = {{"points", f->x, P * n},
               {"g", f->g, P * n2},
               {"dg", f->dg, P * n2 * n},
               {"gamma", f->gamma, P * n2 * n},
               {"dgamma", f->dgamma, P * n2 * n2},
               {"riemann", f->riem, P * n2 * n2},
               {"ricci", f->ricci, P * n2},
               {"scalar", f->scalar, P}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].x && !geodec__finite(all[i].count, all[i].x))
            GEODEC_FAIL(GEODEC_NUMERIC, "%s has a value that is not finite", all[i].name);
    return GEODEC_OK;
}

geodec_status geodec_verification_arrays(const geodec_verification_field *f, const geodec_verification_options *o,
                                         geodec_pool *pool, const geodec_hooks *hooks, geodec_verification *out,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_verification v = {0};
    GEODEC_TRY(begin(f->points, f->n, &v, err));
    if (!f->x || !f->g) GEODEC_THROW(GEODEC_INVAL, "a field needs points and a metric");
    GEODEC_TRY(all_finite(f, err));
    arrays a = {.f = f, .curvature = o ? o->curvature : NULL, .value = v.value};
    const int64_t n3 = f->points * f->n * f->n * f->n, n4 = n3 * f->n;
    if (f->dg) a.least.dg = LEAST * geodec__largest(n3, f->dg);
    if (f->gamma) a.least.gamma = LEAST * geodec__largest(n3, f->gamma);
    if (f->dgamma) a.least.dgamma = LEAST * geodec__largest(n4, f->dgamma);
    if (f->riem) a.least.riem = LEAST * geodec__largest(n4, f->riem);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "checks", f->points, arrays_task, &a, err));
    GEODEC_TRY(verdict(&v, false, false, o ? o->tolerance : 0, err));
    if (!v.pass) GEODEC_TRY(geodec__verification_diagnose(f, a.curvature, &v, err));
    GEODEC_MOVE(*out, v);
done:
    geodec_mem_free(v.value);
    return st;
}

/* ---- a space ----------------------------------------------------------------------------------------------------- */

typedef struct spaced {
    const geodec_space *s;
    const geodec_verification_options *o;
    const double *x;
    double h, *value;
    int64_t points;
    bool has_dg;
} spaced;

/* Central differences of part of `at` with steps h and h/2, extrapolated (Richardson: (4 D(h/2) - D(h)) / 3, error
 * O(h^4)); `gamma` chooses Gamma instead of g. out [n][count]; scratch [2 count]. */
static geodec_status differences(const geodec_space *s, const double *x, double h, bool gamma, int64_t count,
                                 double *out, double *scratch, geodec_err *err)
{
    double y[GEODEC_SPACE_DIM_MAX];
    memcpy(y, x, (size_t)s->n * sizeof *y);
    for (int64_t c = 0; c < s->n; c++) {
        memset(out + c * count, 0, (size_t)count * sizeof *out);
        for (int part = 0; part < 2; part++) {
            const double step = part ? h / 2 : h, up = x[c] + step, down = x[c] - step;
            for (int side = 0; side < 2; side++) {
                double *to = scratch + side * count;
                y[c] = side ? down : up;
                GEODEC_PASS(s->at(s, y, gamma ? NULL : to, NULL, gamma ? to : NULL, err));
            }
            y[c] = x[c];
            const double weight = (part ? 4.0 : -1.0) / 3 / (up - down);
            for (int64_t i = 0; i < count; i++) out[c * count + i] += weight * (scratch[i] - scratch[count + i]);
        }
    }
    return GEODEC_OK;
}

/* D_e R^a_bcd by differences of the tensor, then the cyclic sum over the last two indices and e. The scale: the terms
 * of the covariant derivative, which cancel between themselves. */
static geodec_status bianchi_2(const geodec_space *s, const double *x, double h, const double *gamma,
                               const double *riem, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    double *block = NULL, y[GEODEC_SPACE_DIM_MAX];
    GEODEC_NEW(block, n * n4 + 2 * n4 + n3);
    double *d = block, *t = d + n * n4, *dgamma = t + n4, *sym = dgamma + n4;
    memcpy(y, x, (size_t)n * sizeof *y);
    double scale = 0;
    for (int64_t e = 0; e < n; e++) {
        double *de = d + e * n4;
        for (int part = 0; part < 4; part++) {
            const double step = part < 2 ? h : h / 2, sign = part % 2 ? -1 : 1;
            y[e] = x[e] + sign * step;
            GEODEC_TRY(s->at(s, y, NULL, NULL, sym, err));
            GEODEC_TRY(geodec_space_dgamma(s, y, dgamma, err));
            GEODEC_TRY(geodec_curvature_tensor((int32_t)n, sym, dgamma, t, err));
            const double weight = (part < 2 ? -1.0 : 4.0) / 3 * sign / (2 * step);
            for (int64_t i = 0; i < n4; i++) de[i] += weight * t[i];
        }
        y[e] = x[e];
        scale = fmax(scale, geodec__largest(n4, de));
    }
    scale = fmax(scale, geodec__largest(n4, riem) * geodec__largest(n3, gamma) * (double)n);
#define RM(a, b, c, d_) riem[(a)*n3 + (b)*n2 + (c)*n + (d_)]
#define GM(i, j, k) gamma[(i)*n2 + (j)*n + (k)]
    for (int64_t e = 0; e < n; e++) {
        double *de = d + e * n4;
        for (int64_t a = 0; a < n; a++)
            for (int64_t b = 0; b < n; b++)
                for (int64_t c = 0; c < n; c++)
                    for (int64_t f = 0; f < n; f++) {
                        double r = 0;
                        for (int64_t m = 0; m < n; m++)
                            r += GM(e, m, a) * RM(m, b, c, f) - GM(e, b, m) * RM(a, m, c, f) -
                                 GM(e, c, m) * RM(a, b, m, f) - GM(e, f, m) * RM(a, b, c, m);
                        de[a * n3 + b * n2 + c * n + f] += r;
                    }
    }
#undef RM
#undef GM
    double worst = 0;
    for (int64_t ab = 0; ab < n2; ab++)
        for (int64_t c = 0; c < n; c++)
            for (int64_t f = 0; f < c; f++)
                for (int64_t e = 0; e < f; e++)
                    worst = fmax(worst, fabs(d[e * n4 + ab * n2 + c * n + f] + d[c * n4 + ab * n2 + f * n + e] +
                                             d[f * n4 + ab * n2 + e * n + c]));
    value[GEODEC_VERIFY_BIANCHI_2] = ratio(worst, scale);
done:
    geodec_mem_free(block);
    return st;
}

static geodec_status space_task(void *ctx, int64_t p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const spaced *a = ctx;
    const geodec_space *s = a->s;
    const int64_t n = s->n, n2 = n * n, n3 = n2 * n, n4 = n3 * n;
    const double *x = a->x + p * n;
    double *value = a->value + p * GEODEC_VERIFY_CHECKS, *block = NULL;
    const double length = 1e3 * s->fd_step; /* of the chart, which gives derivatives near zero a scale */
    GEODEC_NEW(block, n2 + 4 * n3 + 3 * n4);
    double *g = block, *dg = g + n2, *gamma = dg + n3, *scratch = gamma + n3, *dgamma = scratch + 2 * n3,
           *riem = dgamma + n4, *by_differences = riem + n4;
    GEODEC_TRY_MSG(s->at(s, x, g, a->has_dg ? dg : NULL, gamma, err), "point %lld", (long long)p);
    GEODEC_TRY(differences(s, x, a->h, false, n2, by_differences, scratch, err));
    if (a->has_dg)
        value[GEODEC_VERIFY_DG_DIFFERENCES] =
            gap(n3, dg, by_differences, fmax(geodec__largest(n3, dg), 1e-3 * geodec__largest(n2, g) / length));
    else
        memcpy(dg, by_differences, (size_t)n3 * sizeof *dg);
    GEODEC_TRY(geodec_space_dgamma(s, x, dgamma, err));
    GEODEC_TRY(differences(s, x, a->h, true, n3, by_differences, scratch, err));
    if (s->dgamma) {
        value[GEODEC_VERIFY_DGAMMA_DIFFERENCES] =
            gap(n4, dgamma, by_differences, fmax(geodec__largest(n4, dgamma), 1e-3 / (length * length)));
    } else {
        memcpy(dgamma, by_differences, (size_t)n4 * sizeof *dgamma); /* better by two orders than the plain ones */
    }
    GEODEC_TRY(geodec_curvature_tensor((int32_t)n, gamma, dgamma, riem, err));
    const local l = {.n = n, .g = g, .dg = dg, .gamma = gamma, .dgamma = dgamma, .riem = riem};
    GEODEC_TRY(point_checks(&l, a->o->curvature, value, err));
    value[GEODEC_VERIFY_RIEMANN_FORMULA] = -1; /* it was made by it */
    const int64_t every = a->o->bianchi > 0 ? (a->points + a->o->bianchi - 1) / a->o->bianchi : 0;
    if (every > 0 && n > 2 && p % every == 0) GEODEC_TRY(bianchi_2(s, x, a->h, gamma, riem, value, err));
done:
    geodec_mem_free(block);
    return st;
}

geodec_status geodec_verification_space(const geodec_space *s, int64_t points, const double *x,
                                        const geodec_verification_options *o, geodec_pool *pool,
                                        const geodec_hooks *hooks, geodec_verification *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_verification v = {0};
    double *probe = NULL;
    const geodec_verification_options defaults = geodec_verification_defaults();
    GEODEC_TRY(begin(points, s->n, &v, err));
    if (!o) o = &defaults;
    spaced a = {.s = s, .o = o, .x = x, .h = o->step > 0 ? o->step : s->fd_step, .value = v.value, .points = points};
    if (!(a.h > 0)) GEODEC_THROW(GEODEC_INVAL, "space %s has no step for differences", s->name);
    GEODEC_NEW(probe, (int64_t)s->n * s->n * s->n);
    a.has_dg = s->at(s, x, NULL, probe, NULL, NULL) != GEODEC_UNSUPPORTED;
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "checks", points, space_task, &a, err));
    GEODEC_TRY(verdict(&v, !a.has_dg, !s->dgamma, o->tolerance, err));
    GEODEC_MOVE(*out, v);
done:
    GEODEC_FREE(v.value, probe);
    return st;
}
