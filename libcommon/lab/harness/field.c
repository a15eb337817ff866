#include "lab/harness/field.h"

#include "base/mem.h"
#include "lab/harness/kernels_internal.h"
#include "linalg/chol.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 512 }; /* sites whose distances are taken at once */

static const double least_weight = 1e-12, log_shift = 1e-9, eigenvalue_floor = 1e-12;

static geodec_status site_log(int64_t n, const double *g, double *log_g, double *scratch, geodec_err *err)
{
    double *a = scratch, *w = a + n * n, *eig = w + n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i * n + j] = 0.5 * (g[i * n + j] + g[j * n + i]);
    for (int64_t i = 0; i < n; i++) a[i * n + i] += log_shift;
    GEODEC_PASS(geodec_eig_sym_ws(n, a, w, a, eig, err));
    for (int64_t i = 0; i < n; i++) w[i] = log(w[i] > eigenvalue_floor ? w[i] : eigenvalue_floor);
    geodec_eig_compose(n, w, a, log_g);
    return GEODEC_OK;
}

geodec_status geodec_harness_field_init(geodec_harness_field *f, int64_t sites, int64_t n, const double *site,
                                        const double *g, double sigma, bool nearest, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_field o = {.sites = sites, .n = n, .sigma = sigma, .nearest = nearest};
    double *scratch = NULL;
    if (sites < 1 || n < 1 || n > GEODEC_PUBLISHED_MAX_N || !(sigma > 0) || !isfinite(sigma)) {
        GEODEC_THROW(GEODEC_RANGE, "published field of %lld sites, dimension %lld, sigma %g", (long long)sites,
                     (long long)n, sigma);
    }
    o.padded = (sites + LANES - 1) / LANES * LANES;
    GEODEC_NEW(o.site_t, n * o.padded);
    GEODEC_NEW_EACH(sites * n * n, o.g, o.log_g);
    GEODEC_NEW(scratch, geodec_harness_field_scratch(n));
    GEODEC_NEW_COPY(o.site, site, sites * n);
    memcpy(o.g, g, (size_t)(sites * n * n) * sizeof *g);
    for (int64_t i = 0; i < sites * n; i++)
        if (!isfinite(site[i])) GEODEC_THROW(GEODEC_NUMERIC, "site %lld is not finite", (long long)(i / n));
    for (int64_t i = 0; i < n; i++)
        for (int64_t p = 0; p < o.padded; p++) o.site_t[i * o.padded + p] = site[(p < sites ? p : sites - 1) * n + i];
    for (int64_t p = 0; p < sites; p++)
        GEODEC_TRY_MSG(site_log(n, g + p * n * n, o.log_g + p * n * n, scratch, err), "metric of site %lld",
                       (long long)p);
    GEODEC_MOVE(*f, o);
done:
    geodec_harness_field_clear(&o);
    geodec_mem_free(scratch);
    return st;
}

void geodec_harness_field_clear(geodec_harness_field *f)
{
    GEODEC_FREE(f->site, f->site_t, f->g, f->log_g);
    *f = (geodec_harness_field){0};
}

/* Rounding decides which of two samples is nearer to the middle of their edge, and the goldens depend on it. The sum
 * therefore uses the harness's order: two lanes, each block of eight from its end. */
static double distance2(int64_t n, const double *a, const double *b)
{
    double lane[2] = {0, 0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int64_t j = 6; j >= 0; j -= 2)
            for (int64_t l = 0; l < 2; l++) lane[l] += (a[i + j + l] - b[i + j + l]) * (a[i + j + l] - b[i + j + l]);
    for (; i < n; i++) lane[i & 1] += (a[i] - b[i]) * (a[i] - b[i]);
    return lane[0] + lane[1];
}

int64_t geodec_harness_field_nearest(int64_t sites, int64_t n, const double *site, const double *x)
{
    int64_t best = 0;
    double least = INFINITY;
    for (int64_t p = 0; p < sites; p++) {
        const double d = distance2(n, site + p * n, x);
        if (d < least) {
            least = d;
            best = p;
        }
    }
    return best;
}

int64_t geodec_harness_field_scratch(int64_t n) { return 2 * n * n + n + geodec_eig_sym_scratch(n); }

geodec_status geodec_harness_field_eigen(const geodec_harness_field *f, const double *x, double *d, double *v,
                                         bool *far, double *scratch, geodec_err *err)
{
    const int64_t n = f->n;
    const geodec__harness_kernels *kernels = geodec__harness_kernels_best();
    double *l = scratch, *eig = l + n * n, total = 0;
    memset(l, 0, (size_t)(n * n) * sizeof *l);
    for (int64_t first = 0; first < f->sites; first += BLOCK) {
        const int64_t last = first + BLOCK < f->padded ? first + BLOCK : f->padded;
        double d2[BLOCK];
        kernels->distances(f->padded, first, last, n, f->site_t, x, d2);
        for (int64_t p = first; p < last && p < f->sites; p++) {
            const double exponent = -d2[p - first] / (2 * f->sigma * f->sigma);
            if (exponent < -100) continue; /* 4e-44: too small to change a sum */
            const double weight = exp(exponent);
            total += weight;
            if (!(weight >= least_weight)) continue;
            const double *log_g = f->log_g + p * n * n;
            for (int64_t i = 0; i < n * n; i++) l[i] += weight * log_g[i];
        }
    }
    if (!isfinite(total)) GEODEC_FAIL(GEODEC_NUMERIC, "the field has no value at a point that is not finite");
    *far = total < least_weight;
    if (*far) return GEODEC_OK;
    for (int64_t i = 0; i < n * n; i++) l[i] /= total;
    GEODEC_PASS(geodec_eig_sym_ws(n, l, d, v, eig, err));
    for (int64_t i = 0; i < n; i++) d[i] = exp(d[i]);
    return GEODEC_OK;
}

geodec_status geodec_harness_field_at(const geodec_harness_field *f, const double *x, double *g, double *scratch,
                                      geodec_err *err)
{
    const int64_t n = f->n;
    double d[GEODEC_PUBLISHED_MAX_N], *v = scratch;
    bool far;
    GEODEC_PASS(geodec_harness_field_eigen(f, x, d, v, &far, scratch + n * n, err));
    if (!far) {
        geodec_eig_compose(n, d, v, g);
        return GEODEC_OK;
    }
    memset(g, 0, (size_t)(n * n) * sizeof *g);
    for (int64_t i = 0; i < n; i++) g[i * n + i] = 1;
    if (f->nearest)
        memcpy(g, f->g + geodec_harness_field_nearest(f->sites, n, f->site, x) * n * n, (size_t)(n * n) * sizeof *g);
    return GEODEC_OK;
}

/* ---- Christoffel symbols ----------------------------------------------------------------------------------------- */

int64_t geodec_harness_field_christoffel_scratch(int64_t n) { return 2 * n * n * n + 2 * n * n + n; }

geodec_status geodec_harness_field_christoffel(int64_t n, geodec_harness_field_metric_fn fn, const void *ctx,
                                               const double *x, const double *g_x, double h, double *gamma,
                                               double *scratch, geodec_err *err)
{
    double *y = scratch, *plus = y + n, *minus = plus + n * n * n, *l = minus + n * n * n, *inverse = l + n * n;
    memcpy(y, x, (size_t)n * sizeof *y);
    for (int64_t a = 0; a < n; a++) {
        y[a] = x[a] + h;
        GEODEC_PASS(fn(ctx, y, plus + a * n * n, err));
        y[a] = x[a] - h;
        GEODEC_PASS(fn(ctx, y, minus + a * n * n, err));
        y[a] = x[a];
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) l[i * n + j] = 0.5 * (g_x[i * n + j] + g_x[j * n + i]);
    for (int64_t i = 0; i < n; i++) l[i * n + i] += log_shift;
    GEODEC_PASS(geodec_chol_factor(n, l, err));
    geodec_chol_inverse(n, l, inverse);
    const double scale = 0.25 / h; /* 1/2 of the formula, 1/2h of the difference */
#define DG(a, i, j) (plus[((a)*n + (i)) * n + (j)] - minus[((a)*n + (i)) * n + (j)])
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++) {
                double s = 0;
                for (int64_t m = 0; m < n; m++) s += inverse[k * n + m] * (DG(i, j, m) + DG(j, i, m) - DG(m, i, j));
                gamma[(i * n + j) * n + k] = scale * s;
            }
#undef DG
    return GEODEC_OK;
}
