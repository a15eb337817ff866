#include "geometry/rbf.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "geometry/rbf_internal.h"
#include "geometry/rbf_kernel_internal.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/expm.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* CHUNK: sites of one product; SLAB: rows of one call of geodec_rbf_rows. */
enum { CHUNK = 256, SLAB = 4096 };

/* ---- L(x) and its derivatives ---------------------------------------------------------------------------------- */

/* Order of the derivatives of L. */
enum { RBF_VALUE, RBF_FIRST, RBF_SECOND };

/* Rows of log: L; then d_a L, a = 0..n-1; then d_a d_b L, a <= b in packed order: each [packed]. */
static int64_t log_rows(const geodec_rbf *f, int order)
{
    return 1 + (order >= RBF_FIRST ? f->n : 0) + (order >= RBF_SECOND ? f->packed : 0);
}

static int64_t log_scratch(const geodec_rbf *f, int order)
{
    return f->n_sites + f->n + f->packed + log_rows(f, order) * CHUNK;
}

/* Squared distances to all sites [n_sites]; returns the least, *where its index (the first of equals). */
static double distances(const geodec_rbf *f, const double *x, double *d2, int64_t *where)
{
    memset(d2, 0, (size_t)f->n_sites * sizeof *d2);
    for (int64_t a = 0; a < f->n; a++) {
        const double *s = f->site_t + a * f->n_sites, xa = x[a];
        for (int64_t p = 0; p < f->n_sites; p++) {
            const double d = s[p] - xa;
            d2[p] += d * d;
        }
    }
    int64_t best = 0;
    for (int64_t p = 1; p < f->n_sites; p++)
        if (d2[p] < d2[best]) best = p;
    *where = best;
    return d2[best];
}

/* Normalised weights [n_sites], zero where left out. */
static geodec_status weights(const geodec_rbf *f, const double *x, double *w, geodec_err *err)
{
    int64_t nearest;
    for (int64_t a = 0; a < f->n; a++)
        if (!isfinite(x[a])) GEODEC_FAIL(GEODEC_NUMERIC, "coordinate %lld of the point is not finite", (long long)a);
    const double least = distances(f, x, w, &nearest), scale = 0.5 / (f->sigma * f->sigma);
    if (!isfinite(least)) GEODEC_FAIL(GEODEC_NUMERIC, "the point is too far from every site");
    double sum = 0;
    for (int64_t p = 0; p < f->n_sites; p++) {
        const double e = (w[p] - least) * scale;
        w[p] = e <= RBF_CUTOFF ? exp(-e) : 0; /* an overflowed distance also ends here */
        sum += w[p];
    }
    const double inverse = 1 / sum;
    for (int64_t p = 0; p < f->n_sites; p++) w[p] *= inverse;
    return GEODEC_OK;
}

static void moments(const geodec_rbf *f, const double *w, int order, double *mean, double *cov_packed)
{
    for (int64_t a = 0; a < f->n; a++) mean[a] = geodec_blas_dot(f->n_sites, w, f->site_t + a * f->n_sites);
    if (order < RBF_SECOND) return;
    memset(cov_packed, 0, (size_t)f->packed * sizeof *cov_packed);
    for (int64_t p = 0; p < f->n_sites; p++) {
        if (w[p] == 0) continue;
        double *c = cov_packed;
        const double *s = f->site + p * f->n;
        for (int64_t a = 0; a < f->n; a++) {
            const double wa = w[p] * (s[a] - mean[a]);
            for (int64_t b = a; b < f->n; b++) *c++ += wa * (s[b] - mean[b]);
        }
    }
}

/* Rows of weights for L, d_a L, d_a d_b L at sites p0 .. p0+m-1: out [rows][CHUNK]. */
static void weight_rows(const geodec_rbf *f, const double *w, const double *mean, const double *cov, int order,
                        int64_t p0, int64_t m, double *out)
{
    const double s2 = 1 / (f->sigma * f->sigma);
    memcpy(out, w + p0, (size_t)m * sizeof *out);
    if (order < RBF_FIRST) return;
    double *row = out + CHUNK;
    for (int64_t a = 0; a < f->n; a++, row += CHUNK) {
        const double *s = f->site_t + a * f->n_sites + p0;
        for (int64_t p = 0; p < m; p++) row[p] = w[p0 + p] * (s[p] - mean[a]) * s2;
    }
    if (order < RBF_SECOND) return;
    for (int64_t a = 0; a < f->n; a++) {
        const double *first = out + (1 + a) * CHUNK;
        for (int64_t b = a; b < f->n; b++, row += CHUNK) {
            const double *s = f->site_t + b * f->n_sites + p0, c = *cov++ * s2 * s2;
            for (int64_t p = 0; p < m; p++) row[p] = first[p] * (s[p] - mean[b]) * s2 - w[p0 + p] * c;
        }
    }
}

static geodec_status log_at(const geodec_rbf *f, const double *x, int order, double *log, double *scratch,
                            geodec_err *err)
{
    const int64_t rows = log_rows(f, order);
    double *w = scratch, *mean = w + f->n_sites, *cov = mean + f->n, *block = cov + f->packed;
    GEODEC_PASS(weights(f, x, w, err));
    if (order >= RBF_FIRST) moments(f, w, order, mean, cov);
    memset(log, 0, (size_t)(rows * f->packed) * sizeof *log);
    for (int64_t p0 = 0; p0 < f->n_sites; p0 += CHUNK) {
        const int64_t m = f->n_sites - p0 < CHUNK ? f->n_sites - p0 : CHUNK;
        int64_t live = 0;
        while (live < m && w[p0 + live] == 0) live++;
        if (live == m) continue;
        weight_rows(f, w, mean, cov, order, p0, m, block);
        geodec_blas_gemm(false, false, rows, f->packed, m, 1, block, CHUNK, f->log_g + p0 * f->row, f->row, 1, log,
                         f->packed);
    }
    return GEODEC_OK;
}

/* ---- the space ------------------------------------------------------------------------------------------------- */

/* Where the parts of one point's scratch memory lie. */
typedef struct parts {
    double *all, *log, *l, *v, *eig, *exp1, *exp2, *log_scratch, *g, *dg, *dl_eig, *d2g;
} parts;

static geodec_status parts_create(const geodec_rbf *f, int order, parts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = f->n, nn = n * n, second = order >= RBF_SECOND;
    const struct {
        double **part;
        int64_t size;
    } all[] = {{&out->log, log_rows(f, order) * f->packed},
               {&out->l, n},
               {&out->v, nn},
               {&out->eig, geodec_eig_sym_scratch(n)},
               {&out->exp1, geodec__expdiff_scratch(n)},
               {&out->exp2, second ? geodec__expdiff_second_scratch(n) : 0},
               {&out->log_scratch, log_scratch(f, order)},
               {&out->g, nn},
               {&out->dg, n * nn},
               {&out->dl_eig, second ? n * nn : 0},
               {&out->d2g, second ? f->packed * nn : 0}};
    int64_t total = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) total += all[i].size;
    GEODEC_NEW(out->all, total);
    double *p = out->all;
    for (size_t i = 0; i < sizeof all / sizeof *all; p += all[i++].size) *all[i].part = p;
done:
    return st;
}

/* Eigenvalues l and eigenvectors v of L(x), and g = exp(L). */
static geodec_status exponential(const geodec_rbf *f, const double *x, int order, const parts *s, double *g,
                                 geodec_err *err)
{
    const int64_t n = f->n;
    double e[GEODEC_RBF_MAX_N];
    GEODEC_PASS(log_at(f, x, order, s->log, s->log_scratch, err));
    geodec_sym_unpack(n, s->log, s->v);
    GEODEC_PASS(geodec_eig_sym_ws(n, s->v, s->l, s->v, s->eig, err));
    for (int64_t i = 0; i < n; i++) {
        e[i] = exp(s->l[i]);
        if (!(e[i] > 0) || !isfinite(e[i]))
            GEODEC_FAIL(GEODEC_NUMERIC, "the metric has the eigenvalue exp(%g)", s->l[i]);
    }
    geodec_eig_compose(n, e, s->v, g);
    return GEODEC_OK;
}

static geodec_status rbf_at(const geodec_space *space, const double *x, double *g, double *dg, double *gamma,
                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    const int64_t nn = f->n * f->n;
    const int order = dg || gamma ? RBF_FIRST : RBF_VALUE;
    parts s = {0};
    bool fast;
    if (f->n <= 8 && order == RBF_FIRST) { /* small enough for the stack */
        double few[8 * 8 + 8 * 8 * 8], *own = g ? g : few, *own_d = dg ? dg : few + 8 * 8;
        GEODEC_TRY(geodec__rbf_first(f, x, own, own_d, &fast, err));
        if (fast && gamma) GEODEC_TRY(geodec_space_christoffel((int32_t)f->n, own, own_d, gamma, err));
    } else if (order == RBF_VALUE) {
        GEODEC_TRY(geodec__rbf_first(f, x, g, NULL, &fast, err));
    } else {
        fast = false;
    }
    if (fast) goto done;
    GEODEC_TRY(parts_create(f, order, &s, err));
    GEODEC_TRY(exponential(f, x, order, &s, s.g, err));
    if (order >= RBF_FIRST) {
        geodec__expdiff_first(f->n, s.l, s.v, f->n, s.log + f->packed, NULL, s.dg, s.exp1);
        if (gamma) GEODEC_TRY(geodec_space_christoffel((int32_t)f->n, s.g, s.dg, gamma, err));
    }
    if (g) memcpy(g, s.g, (size_t)nn * sizeof *g);
    if (dg) memcpy(dg, s.dg, (size_t)(nn * f->n) * sizeof *dg);
done:
    geodec_mem_free(s.all);
    return st;
}

/* d_c Gamma^k_ij = g^kl ( d_c c_ijl - d_c g_lm Gamma^m_ij ), c_ijl = (d_i g_jl + d_j g_il - d_l g_ij) / 2. */
static geodec_status rbf_dgamma(const geodec_space *space, const double *x, double *dgamma, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_rbf *f = (const geodec_rbf *)(const void *)space;
    parts s = {0};
    double *gamma = NULL;
    const int64_t n = f->n, nn = n * n;
    int64_t pair[GEODEC_RBF_MAX_N][GEODEC_RBF_MAX_N]; /* place of (a,b) in d2g */
    GEODEC_TRY(parts_create(f, RBF_SECOND, &s, err));
    GEODEC_NEW(gamma, (n + 1) * nn);
    double *inverse = gamma + n * nn;
    GEODEC_TRY(exponential(f, x, RBF_SECOND, &s, s.g, err));
    geodec__expdiff_first(n, s.l, s.v, n, s.log + f->packed, s.dl_eig, s.dg, s.exp1);
    geodec__expdiff_second(n, s.l, s.v, s.dl_eig, s.log + (1 + n) * f->packed, s.d2g, s.exp2);
    GEODEC_TRY(geodec_space_christoffel((int32_t)n, s.g, s.dg, gamma, err));
    /* g^-1 from the known eigenvalues */
    for (int64_t i = 0; i < n; i++) s.l[i] = exp(-s.l[i]);
    geodec_eig_compose(n, s.l, s.v, inverse);
    for (int64_t a = 0, at = 0; a < n; a++)
        for (int64_t b = a; b < n; b++) pair[a][b] = pair[b][a] = at++;
    double *rhs = s.exp2; /* [n][n][n] fits: no longer in use */
    for (int64_t c = 0; c < n; c++) {
        const double *dgc = s.dg + c * nn;
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                for (int64_t k = 0; k < n; k++) {
                    const double *ci = s.d2g + pair[c][i] * nn, *cj = s.d2g + pair[c][j] * nn,
                                 *ck = s.d2g + pair[c][k] * nn;
                    rhs[(i * n + j) * n + k] = 0.5 * (ci[j * n + k] + cj[i * n + k] - ck[i * n + j]);
                }
        geodec_blas_gemm(false, false, nn, n, n, -1, gamma, n, dgc, n, 1, rhs, n);
        double *out = dgamma + c * n * nn;
        geodec_blas_gemm(false, false, nn, n, n, 1, rhs, n, inverse, n, 0, out, n);
        for (int64_t i = 0; i < n; i++) /* exactly symmetric in (i,j) */
            for (int64_t j = 0; j < i; j++)
                memcpy(out + (i * n + j) * n, out + (j * n + i) * n, (size_t)n * sizeof *out);
    }
done:
    GEODEC_FREE(s.all, gamma);
    return st;
}

/* ---- life, access ---------------------------------------------------------------------------------------------- */

/* Zeroed memory for log_g, or an unnamed file in the folder, mapped. */
static geodec_status reserve(geodec_rbf *f, const char *folder, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char path[4096];
    int fd = -1;
    if (!folder) {
        GEODEC_NEW(f->log_g, f->n_sites * f->row);
        goto done;
    }
    const int64_t bytes = f->n_sites * f->row * (int64_t)sizeof *f->log_g;
    if (snprintf(path, sizeof path, "%s/.field-XXXXXX", folder) >= (int)sizeof path)
        GEODEC_THROW(GEODEC_LIMIT, "the folder's name is too long");
    fd = mkstemp(path);
    if (fd < 0) GEODEC_THROW(GEODEC_IO, "%s: no file for the metric field", folder);
    (void)unlink(path);
    /* allocates the blocks: on a full disk a later write would raise a signal */
    if (posix_fallocate(fd, 0, (off_t)bytes) != 0)
        GEODEC_THROW(GEODEC_IO, "%s: no room for %.1f GiB of the metric field", folder, (double)bytes / (1 << 30));
    void *at = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) GEODEC_THROW(GEODEC_IO, "%s: the metric field cannot be mapped", folder);
    f->log_g = at;
    f->mapped = bytes;
done:
    if (fd >= 0) (void)close(fd);
    return st;
}

geodec_status geodec_rbf_create_rows(int64_t n_sites, int64_t n, const double *sites, geodec_rbf_rows rows, void *ctx,
                                     double sigma, const char *folder, geodec_rbf **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rbf *f = NULL;
    double *slab = NULL;
    if (n < 1 || n > GEODEC_RBF_MAX_N) {
        GEODEC_THROW(GEODEC_RANGE, "metric field of dimension %lld (limits: 1..%d)", (long long)n, GEODEC_RBF_MAX_N);
    }
    if (n_sites < 1 || n_sites > INT32_MAX / 4)
        GEODEC_THROW(GEODEC_RANGE, "metric field with %lld sites", (long long)n_sites);
    if (!(sigma > 0) || !isfinite(sigma)) GEODEC_THROW(GEODEC_RANGE, "metric field with sigma %g", sigma);
    const int64_t packed = geodec_sym_packed(n);
    for (int64_t i = 0; i < n_sites * n; i++)
        if (!isfinite(sites[i])) GEODEC_THROW(GEODEC_NUMERIC, "site %lld is not finite", (long long)(i / n));
    GEODEC_NEW(f, 1);
    f->n_sites = n_sites;
    f->n = n;
    f->packed = packed;
    f->row = n <= GEODEC__RBF_FAST_N ? (packed + 7) / 8 * 8 : packed;
    f->kernels = geodec__rbf_best();
    f->sigma = sigma;
    if (n_sites > RBF_TREE) { /* everything in the tree's order */
        GEODEC_TRY(geodec__rbf_tree_create(n_sites, n, sites, &f->tree, err));
        const int32_t *order = geodec__rbf_tree_order(f->tree);
        f->site = geodec__rbf_tree_sites(f->tree);
        GEODEC_NEW(f->place, n_sites);
        for (int64_t p = 0; p < n_sites; p++) f->place[order[p]] = (int32_t)p;
    } else {
        GEODEC_NEW(f->own_site, n_sites * n);
        memcpy(f->own_site, sites, (size_t)(n_sites * n) * sizeof *sites);
        f->site = f->own_site;
    }
    GEODEC_NEW(f->site_t, n_sites * n);
    GEODEC_TRY(reserve(f, folder, err));
    const int64_t step = n_sites < SLAB ? n_sites : SLAB;
    GEODEC_NEW(slab, step * packed);
    for (int64_t first = 0; first < n_sites; first += step) {
        const int64_t count = n_sites - first < step ? n_sites - first : step;
        GEODEC_TRY(rows(ctx, first, count, slab, err));
        for (int64_t i = 0; i < count * packed; i++)
            if (!isfinite(slab[i]))
                GEODEC_THROW(GEODEC_NUMERIC, "metric of site %lld is not finite", (long long)(first + i / packed));
        for (int64_t p = 0; p < count; p++)
            memcpy(f->log_g + (f->place ? f->place[first + p] : first + p) * f->row, slab + p * packed,
                   (size_t)packed * sizeof *slab);
    }
    if (!f->tree && n <= GEODEC__RBF_FAST_N) {
        const int64_t pad = (n_sites + 7) / 8 * 8;
        GEODEC_NEW(f->log_t, packed * pad);
        for (int64_t p = 0; p < n_sites; p++)
            for (int64_t i = 0; i < packed; i++) f->log_t[i * pad + p] = f->log_g[p * f->row + i];
    }
    for (int64_t p = 0; p < n_sites; p++)
        for (int64_t a = 0; a < n; a++) f->site_t[a * n_sites + p] = f->site[p * n + a];
    f->space = (geodec_space){.n = (int32_t)n,
                              .name = "log-Euclidean field",
                              .at = rbf_at,
                              .dgamma = rbf_dgamma,
                              .fd_step = 1e-3 * sigma,
                              .path = geodec__rbf_path,
                              .variation = geodec__rbf_variation,
                              .riemann = geodec__rbf_riemann};
    *out = f;
    f = NULL;
done:
    geodec_mem_free(slab);
    geodec_rbf_destroy(f);
    return st;
}

typedef struct given {
    const double *log_g;
    int64_t packed;
} given;

static geodec_status given_rows(void *ctx, int64_t first, int64_t count, double *log_g, geodec_err *err)
{
    const given *g = ctx;
    (void)err;
    memcpy(log_g, g->log_g + first * g->packed, (size_t)(count * g->packed) * sizeof *log_g);
    return GEODEC_OK;
}

geodec_status geodec_rbf_create(int64_t n_sites, int64_t n, const double *sites, const double *log_g, double sigma,
                                geodec_rbf **out, geodec_err *err)
{
    given g = {log_g, geodec_sym_packed(n)};
    return geodec_rbf_create_rows(n_sites, n, sites, given_rows, &g, sigma, NULL, out, err);
}

void geodec_rbf_destroy(geodec_rbf *f)
{
    if (!f) return;
    geodec__rbf_tree_destroy(f->tree);
    GEODEC_FREE(f->own_site, f->place, f->site_t);
    if (f->mapped)
        (void)munmap(f->log_g, (size_t)f->mapped);
    else
        geodec_mem_free(f->log_g);
    GEODEC_FREE(f->log_t, f);
}

int64_t geodec_rbf_dim(const geodec_rbf *f) { return f->n; }
const geodec_space *geodec_rbf_space(const geodec_rbf *f) { return &f->space; }

/* ---- many points ----------------------------------------------------------------------------------------------- */

typedef struct eval_job {
    const geodec_rbf *f;
    const double *x;
    double *g, *dg, *gamma;
} eval_job;

static geodec_status eval_task(void *ctx, int64_t i, geodec_err *err)
{
    const eval_job *j = ctx;
    const int64_t n = j->f->n, nn = n * n;
    return rbf_at(&j->f->space, j->x + i * n, j->g ? j->g + i * nn : NULL, j->dg ? j->dg + i * nn * n : NULL,
                  j->gamma ? j->gamma + i * nn * n : NULL, err);
}

geodec_status geodec_rbf_eval(const geodec_rbf *f, int64_t count, const double *x, double *g, double *dg, double *gamma,
                              geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    eval_job j = {.f = f, .x = x, .g = g, .dg = dg, .gamma = gamma};
    return geodec__tasks_run(pool, hooks, "metric field at point", count, eval_task, &j, err);
}
