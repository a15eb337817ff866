#include "geometry/quadratic.h"

#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

enum { ROUNDS = 4, MAX_N = GEODEC_QUADRATIC_MAX_N, MAX_PAIRS = MAX_N * (MAX_N + 1) / 2 };
/* Points farther from the tangent space than from its normal are not of one graph; the chord is at most this times t.
 */
static const double longest_chord = 1.5;
/* A tangent space that turned by less is not fitted again once its chords are known. */
static const double still = 1e-3;

/* Number of the pair a, b in either order. */
static int64_t pair(int64_t n, int64_t a, int64_t b)
{
    const int64_t i = a < b ? a : b, j = a < b ? b : a;
    return i * n - i * (i - 1) / 2 + (j - i);
}

geodec_status geodec_quadratic_init(geodec_quadratic *q, int32_t n, int64_t d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_quadratic out = {.n = n, .d = d};
    if (n < 1 || n > MAX_N || d < n)
        GEODEC_FAIL(GEODEC_RANGE, "dimension %d of a set in %lld dimensions; it must be 1 to %d", (int)n, (long long)d,
                    MAX_N);
    out.pairs = (int64_t)n * (n + 1) / 2;
    GEODEC_NEW(out.origin, d);
    GEODEC_NEW(out.tangent, n * d);
    GEODEC_NEW(out.second, out.pairs * d);
    GEODEC_NEW(out.product, out.pairs * out.pairs);
    *q = out;
    return GEODEC_OK;
done:
    geodec_quadratic_clear(&out);
    return st;
}

void geodec_quadratic_clear(geodec_quadratic *q)
{
    GEODEC_FREE(q->origin, q->tangent, q->second, q->product);
    *q = (geodec_quadratic){0};
}

/* The points of a fit about its centre, and room for its arrays. */
typedef struct fit {
    geodec_quadratic *q;
    int64_t count, d, n, p; /* p: coefficients */
    const double *centre;   /* [d] */
    double *z;              /* [count][d] y - origin */
    double *w;              /* [count] */
    double *t;              /* [count][n] tangential coordinates */
    double *row;            /* [count][p] the design */
    double *weighted;       /* [count][p] w row */
    double *image;          /* [count][p] rows times a matrix, for the squares of their lengths by it */
    double *leverage;       /* [count] */
    double *normal;         /* [p][p] its factor; then the inverse */
    double *inverse;        /* [p][p] */
    double *middle;         /* [p][p] sum w^2 row row^T */
    double *coefficient;    /* [p][d] */
    double *residual;       /* [count][d] */
} fit;

/* The n leading directions of the weighted points into the tangent space: of their covariance, or of their Gram matrix
 * where they are fewer than the dimensions. */
static geodec_status leading(const fit *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = f->d, m = f->count, k = m < d ? m : d;
    double *s = NULL, *value = NULL, *v = NULL, *x = NULL;
    GEODEC_NEW_EACH(k * k, s, v);
    GEODEC_NEW(value, k);
    GEODEC_NEW(x, m * d);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < d; j++) x[i * d + j] = sqrt(f->w[i]) * f->z[i * d + j];
    if (m < d)
        geodec_blas_gemm(false, true, m, m, d, 1, x, d, x, d, 0, s, m);
    else
        geodec_blas_syrk(m, d, 1, x, d, 0, s, d);
    GEODEC_TRY(geodec_eig_sym(k, s, value, v, err));
    for (int64_t a = 0; a < f->n; a++) {
        const double *u = v + (k - 1 - a) * k;
        double *out = f->q->tangent + a * d;
        if (m < d)
            geodec_blas_gemm(false, false, 1, d, m, 1, u, m, x, d, 0, out, d);
        else
            memcpy(out, u, (size_t)d * sizeof *out);
    }
done:
    GEODEC_FREE(s, v, value, x);
    return st;
}

/* Gram and Schmidt, twice; false where a row depends on those before it. */
static bool orthonormal(int64_t n, int64_t d, double *t)
{
    for (int64_t a = 0; a < n; a++) {
        double *row = t + a * d;
        const double before = geodec__dot(d, row, row);
        for (int twice = 0; twice < 2; twice++) {
            for (int64_t b = 0; b < a; b++) {
                const double s = geodec__dot(d, row, t + b * d);
                for (int64_t j = 0; j < d; j++) row[j] -= s * t[b * d + j];
            }
        }
        const double after = geodec__dot(d, row, row);
        if (!(after > 1e-20 * before) || !(after > 0)) return false;
        for (int64_t j = 0; j < d; j++) row[j] /= sqrt(after);
    }
    return true;
}

/* Monomials of the second order, u_a^2 / 2 and u_a u_b. */
static void monomials(int64_t n, const double *u, double *m)
{
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a; b < n; b++) *m++ = (a == b ? 0.5 : 1) * u[a] * u[b];
}

/* x M of each row x of f->row, its k columns from `first` on; x M x^T is the dot of a row with its image. */
static void images(const fit *f, int64_t first, int64_t k, const double *m)
{
    geodec_blas_gemm(false, false, f->count, k, k, 1, f->row + first, f->p, m, k, 0, f->image + first, f->p);
}

/* The chord over the tangential length; lift2: from the products of the fit before. */
static double chord(int64_t n, const double *t, double lift2)
{
    const double length2 = geodec__dot(n, t, t);
    if (!(lift2 > 0) || !(length2 > 0)) return 1;
    return fmin(sqrt(1 + lift2 / length2), longest_chord);
}

/* Coordinates and design, in units of the radius; `bent`: q->product is there. */
static void design(const fit *f, bool bent)
{
    const int64_t n = f->n, d = f->d, square = 1 + n;
    const geodec_quadratic *q = f->q;
    geodec_blas_gemm(false, true, f->count, n, d, 1, f->z, d, q->tangent, d, 0, f->t, n);
    for (int64_t i = 0; bent && i < f->count; i++) monomials(n, f->t + i * n, f->row + i * f->p + square);
    if (bent) images(f, square, q->pairs, q->product);
    for (int64_t i = 0; i < f->count; i++) {
        double u[MAX_N], *row = f->row + i * f->p;
        const double *t = f->t + i * n;
        const double lift2 = bent ? geodec__dot(q->pairs, row + square, f->image + i * f->p + square) : 0;
        const double longer = chord(n, t, lift2) / q->radius;
        for (int64_t a = 0; a < n; a++) u[a] = t[a] * longer;
        row[0] = 1;
        memcpy(row + 1, u, (size_t)n * sizeof *u);
        monomials(n, u, row + square);
        for (int64_t c = 0; c < f->p; c++) f->weighted[i * f->p + c] = f->w[i] * row[c];
    }
}

static geodec_status solve(const fit *f, geodec_err *err)
{
    const int64_t p = f->p, d = f->d;
    geodec_blas_gemm(true, false, p, p, f->count, 1, f->weighted, p, f->row, p, 0, f->normal, p);
    geodec_blas_gemm(true, false, p, d, f->count, 1, f->weighted, p, f->z, d, 0, f->residual, d); /* room for it */
    double largest = 0;
    for (int64_t c = 0; c < p; c++) largest = fmax(largest, f->normal[c * p + c]);
    const geodec_status st = geodec_chol_factor(p, f->normal, NULL);
    bool sound = st == GEODEC_OK;
    for (int64_t c = 0; sound && c < p; c++) sound = f->normal[c * p + c] * f->normal[c * p + c] > 1e-13 * largest;
    if (!sound) GEODEC_FAIL(GEODEC_SCARCE, "%lld points do not determine a quadratic fit", (long long)f->count);
    geodec_chol_inverse(p, f->normal, f->inverse);
    geodec_blas_gemm(false, false, p, d, p, 1, f->inverse, p, f->residual, d, 0, f->coefficient, d);
    return GEODEC_OK;
}

/* Residuals less their tangential part, which is only rounding and the chord. */
static void residuals(const fit *f)
{
    const int64_t d = f->d, n = f->n;
    const double *tangent = f->q->tangent;
    memcpy(f->residual, f->z, (size_t)(f->count * d) * sizeof *f->z);
    geodec_blas_gemm(false, false, f->count, d, f->p, -1, f->row, f->p, f->coefficient, d, 1, f->residual, d);
    geodec_blas_gemm(false, true, f->count, n, d, 1, f->residual, d, tangent, d, 0, f->image, n);
    geodec_blas_gemm(false, false, f->count, d, n, -1, f->image, n, tangent, d, 1, f->residual, d);
}

/* The noise of the whole fit, and into f->weighted each row of the design times its weight and the size of its own
 * error: their moments are those of the coefficients' errors. */
static void noise(const fit *f)
{
    const int64_t p = f->p, n = f->n;
    geodec_quadratic *q = f->q;
    double sum = 0, total = 0, missed = 0, mean[MAX_N] = {0}, hat = 0;
    geodec_blas_gemm(true, false, p, p, f->count, 1, f->weighted, p, f->weighted, p, 0, f->middle, p);
    for (int64_t c = 0; c < p * p; c++) hat += f->inverse[c] * f->middle[c]; /* both symmetric */
    geodec_blas_gemm(false, false, p, p, p, 1, f->inverse, p, f->middle, p, 0, f->normal, p);
    geodec_blas_gemm(false, false, p, p, p, 1, f->normal, p, f->inverse, p, 0, f->middle, p);
    images(f, 0, p, f->inverse);
    for (int64_t i = 0; i < f->count; i++) f->leverage[i] = f->w[i] * geodec__dot(p, f->row + i * p, f->image + i * p);
    images(f, 0, p, f->middle);
    for (int64_t i = 0; i < f->count; i++) {
        const double w = f->w[i], leverage = f->leverage[i], left = fmax(1e-3, 1 - leverage);
        const double r2 = geodec__dot(f->d, f->residual + i * f->d, f->residual + i * f->d);
        const double expected = fmax(1e-3, 1 - 2 * leverage + geodec__dot(p, f->row + i * p, f->image + i * p));
        sum += w * r2;
        total += w;
        missed += w * r2 / (left * left);
        for (int64_t a = 0; a < n; a++) mean[a] += w * f->t[i * n + a];
        for (int64_t c = 0; c < p; c++) f->weighted[i * p + c] *= sqrt(r2 / expected);
    }
    q->noise = total - hat > 1e-12 * total ? sum / (total - hat) : 0;
    q->left_out = sqrt(missed / total);
    q->offset = sqrt(geodec__dot(n, mean, mean)) / (total * q->radius);
}

/* A in the unit of the points, normal to the tangent space, and the products less their bias. */
static void second(const fit *f)
{
    const int64_t p = f->p, d = f->d, n = f->n, pairs = f->q->pairs;
    geodec_quadratic *q = f->q;
    const double scale = 1 / (q->radius * q->radius);
    for (int64_t s = 0; s < pairs; s++) {
        double *out = q->second + s * d;
        const double *in = f->coefficient + (1 + n + s) * d;
        for (int64_t j = 0; j < d; j++) out[j] = scale * in[j];
        for (int64_t a = 0; a < n; a++) {
            const double part = geodec__dot(d, q->tangent + a * d, out);
            for (int64_t j = 0; j < d; j++) out[j] -= part * q->tangent[a * d + j];
        }
    }
    geodec_blas_gemm(false, true, pairs, pairs, d, 1, q->second, d, q->second, d, 0, q->product, pairs);
    geodec_blas_gemm(true, false, p, p, f->count, 1, f->weighted, p, f->weighted, p, 0, f->middle, p);
    geodec_blas_gemm(false, false, p, p, p, 1, f->inverse, p, f->middle, p, 0, f->normal, p);
    geodec_blas_gemm(false, false, pairs, pairs, p, -scale * scale, f->normal + (1 + n) * p, p, f->inverse + 1 + n, p,
                     1, q->product, pairs);
}

/* The constant term moves the origin, which stays above the centre: without tangential part. One that followed the
 * constant term along the set could run away from the points, because the chords of uneven points give it such a part.
 * c: how far it moves. */
static void lift(const fit *f, double *c)
{
    const int64_t d = f->d;
    double *origin = f->q->origin;
    for (int64_t j = 0; j < d; j++) c[j] += origin[j] - f->centre[j];
    for (int64_t a = 0; a < f->n; a++) {
        const double *row = f->q->tangent + a * d, part = geodec__dot(d, row, c);
        for (int64_t j = 0; j < d; j++) c[j] -= part * row[j];
    }
    for (int64_t j = 0; j < d; j++) {
        const double to = f->centre[j] + c[j];
        c[j] = to - origin[j];
        origin[j] = to;
    }
}

/* The linear term becomes the tangent space, and the constant term the origin. *tilt: largest sine of the angle of a
 * row to its old one. */
static geodec_status turn(const fit *f, double *tilt, geodec_err *err)
{
    const int64_t d = f->d, n = f->n;
    geodec_quadratic *q = f->q;
    double *linear = f->coefficient + d;
    if (!orthonormal(n, d, linear)) GEODEC_FAIL(GEODEC_SCARCE, "the points do not span %lld directions", (long long)n);
    *tilt = 0;
    for (int64_t a = 0; a < n; a++) {
        const double c = geodec__dot(d, linear + a * d, q->tangent + a * d);
        *tilt = fmax(*tilt, sqrt(fmax(0, 1 - c * c)));
    }
    memcpy(q->tangent, linear, (size_t)(n * d) * sizeof *q->tangent);
    lift(f, f->coefficient);
    for (int64_t i = 0; i < f->count; i++)
        for (int64_t j = 0; j < d; j++) f->z[i * d + j] -= f->coefficient[j];
    return GEODEC_OK;
}

static geodec_status gather(fit *f, const double *y, const double *centre, const double *share, geodec_err *err)
{
    const int64_t d = f->d;
    int64_t used = 0;
    for (int64_t i = 0; i < f->count; i++) {
        double *z = f->z + i * d;
        for (int64_t j = 0; j < d; j++) z[j] = y[i * d + j] - centre[j];
        const double r2 = geodec__dot(d, z, z) / (f->q->radius * f->q->radius);
        if (!isfinite(r2)) GEODEC_FAIL(GEODEC_NUMERIC, "point %lld is not finite", (long long)i);
        f->w[i] = fmax(0, 1 - r2) * (share ? share[i] : 1);
        used += f->w[i] > 0;
    }
    if (used <= f->p)
        GEODEC_FAIL(GEODEC_SCARCE, "%lld points for the %lld coefficients of a quadratic fit", (long long)used,
                    (long long)f->p);
    return GEODEC_OK;
}

geodec_status geodec_quadratic_fit(geodec_quadratic *q, int64_t count, const double *y, const double *centre,
                                   double radius, const double *share, const double *start, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    fit f = {.q = q,
             .count = count,
             .d = q->d,
             .n = q->n,
             .p = GEODEC_QUADRATIC_COEFFICIENTS((int64_t)q->n),
             .centre = centre};
    if (!(radius > 0) || !isfinite(radius)) GEODEC_FAIL(GEODEC_RANGE, "radius %g", radius);
    q->radius = radius;
    GEODEC_NEW_EACH(geodec__max(count, f.p) * f.d, f.z, f.residual);
    GEODEC_NEW(f.w, count);
    GEODEC_NEW(f.t, count * f.n);
    GEODEC_NEW_EACH(count * f.p, f.row, f.weighted, f.image);
    GEODEC_NEW(f.leverage, count);
    GEODEC_NEW_EACH(f.p * f.p, f.normal, f.inverse, f.middle);
    GEODEC_NEW(f.coefficient, f.p * f.d);
    GEODEC_TRY(gather(&f, y, centre, share, err));
    memcpy(q->origin, centre, (size_t)f.d * sizeof *centre);
    if (start)
        memcpy(q->tangent, start, (size_t)(f.n * f.d) * sizeof *start);
    else
        GEODEC_TRY(leading(&f, err));
    if (!orthonormal(f.n, f.d, q->tangent))
        GEODEC_THROW(GEODEC_SCARCE, "the points do not span %lld directions", (long long)f.n);
    double tilt = 1;
    for (int round = 0; round < ROUNDS; round++) {
        design(&f, round > 0);
        GEODEC_TRY(solve(&f, err));
        residuals(&f);
        noise(&f);
        second(&f);
        if (round + 1 == ROUNDS || (round > 0 && tilt < still)) break;
        GEODEC_TRY(turn(&f, &tilt, err));
    }
    lift(&f, f.coefficient);
done:
    GEODEC_FREE(f.z, f.residual, f.w, f.t, f.row, f.weighted, f.image, f.leverage, f.normal, f.inverse, f.middle,
                f.coefficient);
    return st;
}

geodec_status geodec_quadratic_reduce(int64_t count, int64_t d, const double *y, const double *centre, double *z,
                                      double *basis, int64_t *rank, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *gram = NULL, *value = NULL;
    GEODEC_NEW(x, count * d);
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < d; j++) x[i * d + j] = y[i * d + j] - centre[j];
    if (count >= d) {
        memcpy(z, x, (size_t)(count * d) * sizeof *x);
        memset(basis, 0, (size_t)(d * d) * sizeof *basis);
        for (int64_t j = 0; j < d; j++) basis[j * d + j] = 1;
        *rank = d;
        goto done;
    }
    GEODEC_NEW(gram, count * count);
    GEODEC_NEW(value, count);
    geodec_blas_gemm(false, true, count, count, d, 1, x, d, x, d, 0, gram, count);
    GEODEC_TRY(geodec_eig_sym(count, gram, value, gram, err));
    int64_t r = 0;
    for (int64_t e = count - 1; e >= 0 && value[e] > 1e-14 * value[count - 1]; e--, r++) {
        geodec_blas_gemm(false, false, 1, d, count, 1 / sqrt(value[e]), gram + e * count, count, x, d, 0, basis + r * d,
                         d);
    }
    if (r == 0 || !orthonormal(r, d, basis)) GEODEC_THROW(GEODEC_SCARCE, "the points do not span a direction");
    geodec_blas_gemm(false, true, count, r, d, 1, x, d, basis, d, 0, z, r);
    *rank = r;
done:
    GEODEC_FREE(x, gram, value);
    return st;
}

geodec_quadratic_curvature geodec_quadratic_curvature_of(const geodec_quadratic *q, double *riem)
{
    const int64_t n = q->n, m = q->pairs;
    geodec_quadratic_curvature out = {.sectional_min = n > 1 ? INFINITY : 0, .sectional_max = n > 1 ? -INFINITY : 0};
#define P(a, b, c, d) q->product[pair(n, a, b) * m + pair(n, c, d)]
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = 0; b < n; b++) {
            out.mean_squared += P(a, a, b, b) / (double)(n * n);
            if (a == b) continue;
            const double k = P(a, a, b, b) - P(a, b, a, b);
            out.scalar += k;
            out.sectional_min = fmin(out.sectional_min, k);
            out.sectional_max = fmax(out.sectional_max, k);
        }
    }
    for (int64_t i = 0; riem && i < n * n * n * n; i++) {
        const int64_t a = i / (n * n * n), b = i / (n * n) % n, c = i / n % n, e = i % n;
        riem[i] = P(a, c, b, e) - P(a, e, b, c);
    }
#undef P
    return out;
}

/* ---- the graph as a space -----------------------------------------------------------------------------------------
 */

static geodec_status graph_at(const geodec_space *s, const double *t, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    const geodec_quadratic_space *own = (const geodec_quadratic_space *)s;
    const int64_t n = s->n;
    double metric[MAX_N * MAX_N], slope[MAX_N * MAX_N * MAX_N];
    /* half[(ij)m] = <A_ij, A_mk> t_k: both derivatives are sums of it */
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t m = 0; m < n; m++)
                slope[(i * n + j) * n + m] = geodec__dot(n, own->product + ((i * n + j) * n + m) * n, t);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double sum = i == j;
            for (int64_t m = 0; m < n; m++) sum += t[m] * slope[(i * n + m) * n + j];
            metric[i * n + j] = sum;
        }
    }
    if (g) memcpy(g, metric, (size_t)(n * n) * sizeof *g);
    if (dg)
        for (int64_t a = 0; a < n; a++)
            for (int64_t i = 0; i < n; i++)
                for (int64_t j = 0; j < n; j++)
                    dg[(a * n + i) * n + j] = slope[(a * n + i) * n + j] + slope[(a * n + j) * n + i];
    if (!gamma) return GEODEC_OK;
    GEODEC_PASS(geodec_chol_factor(n, metric, err)); /* Gamma^k_ij = g^kl <A_ij, A_lm t_m> */
    memcpy(gamma, slope, (size_t)(n * n * n) * sizeof *gamma);
    geodec_chol_solve(n, metric, n * n, gamma);
    return GEODEC_OK;
}

void geodec_quadratic_space_init(geodec_quadratic_space *s, const geodec_quadratic *q)
{
    const int64_t n = q->n;
    s->q = q;
    s->base = (geodec_space){.n = q->n, .name = "quadratic fit", .at = graph_at, .fd_step = 1e-3 * q->radius};
    double inner[MAX_PAIRS * MAX_PAIRS];
    for (int64_t a = 0; a < q->pairs; a++)
        for (int64_t b = 0; b < q->pairs; b++)
            inner[a * q->pairs + b] = geodec__dot(q->d, q->second + a * q->d, q->second + b * q->d);
    for (int64_t i = 0; i < n * n * n * n; i++)
        s->product[i] = inner[pair(n, i / (n * n * n), i / (n * n) % n) * q->pairs + pair(n, i / n % n, i % n)];
}

void geodec_quadratic_point(const geodec_quadratic *q, const double *t, const double *v, double *y, double *w)
{
    const int64_t n = q->n, d = q->d;
    double m[MAX_PAIRS];
    monomials(n, t, m);
    memcpy(y, q->origin, (size_t)d * sizeof *y);
    geodec_blas_gemm(false, false, 1, d, n, 1, t, n, q->tangent, d, 1, y, d);
    geodec_blas_gemm(false, false, 1, d, q->pairs, 1, m, q->pairs, q->second, d, 1, y, d);
    if (!v) return;
    int64_t s = 0;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a; b < n; b++, s++) m[s] = a == b ? t[a] * v[a] : t[a] * v[b] + t[b] * v[a];
    geodec_blas_gemm(false, false, 1, d, n, 1, v, n, q->tangent, d, 0, w, d);
    geodec_blas_gemm(false, false, 1, d, q->pairs, 1, m, q->pairs, q->second, d, 1, w, d);
}

void geodec_quadratic_coordinates(const geodec_quadratic *q, const double *y, double *t)
{
    for (int64_t a = 0; a < q->n; a++) {
        double sum = 0;
        for (int64_t j = 0; j < q->d; j++) sum += q->tangent[a * q->d + j] * (y[j] - q->origin[j]);
        t[a] = sum;
    }
}
