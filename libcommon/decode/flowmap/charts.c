/* Charts of the flow map: the Jacobian of each token's flow by ridge regression, the principal directions of the
 * pull-back metric, and integer keys. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "flowmap/flowmap_internal.h"
#include "geometry/pca.h"
#include "linalg/blas.h"
#include "linalg/chol.h"
#include "linalg/eig.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

enum { SLAB = 4096, MIN_NODES = 24 };
static const double POOLED_NODES = 50; /* weight of the pooled covariance, in nodes of a bucket */
static const double KEY_SHARE = 0.999; /* share of a bucket's coordinates that fit the key range */

typedef struct chart_job {
    geodec_flowmap *map;
    const geodec_flowmap_options *o;
    const float *feature, *state;
    const int64_t *feature_row, *state_row;
    double *jacobian;   /* [F][m] pooled over tokens, without bucket means */
    double *covariance; /* [F][F] */
    int32_t *token_of;  /* [charts] token a chart belongs to, -1 = the shared one */
} chart_job;

/* Rows of one bucket, centred: x [n][F], y [n][m]. */
static void centred(const chart_job *j, int64_t first, int64_t n, double *x, double *y, double *mean_x)
{
    const int64_t F = j->map->features, m = j->map->m;
    double mean_y[GEODEC_FLOW_STATE_MAX] = {0};
    for (int64_t c = 0; c < F; c++) mean_x[c] = 0;
    for (int64_t i = 0; i < n; i++) {
        const float *f = j->feature + j->feature_row[first + i] * F, *z = j->state + j->state_row[first + i] * m;
        for (int64_t c = 0; c < F; c++) mean_x[c] += (double)f[c];
        for (int64_t c = 0; c < m; c++) mean_y[c] += (double)z[c];
    }
    for (int64_t c = 0; c < F; c++) mean_x[c] /= (double)n;
    for (int64_t c = 0; c < m; c++) mean_y[c] /= (double)n;
    for (int64_t i = 0; i < n; i++) {
        const float *f = j->feature + j->feature_row[first + i] * F, *z = j->state + j->state_row[first + i] * m;
        for (int64_t c = 0; c < F; c++) x[i * F + c] = (double)f[c] - mean_x[c];
        for (int64_t c = 0; c < m; c++) y[i * m + c] = (double)z[c] - mean_y[c];
    }
}

/* Pooled Jacobian and covariance of the features within buckets. */
static geodec_status pooled(chart_job *j, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_flowmap *w = j->map;
    const int64_t F = w->features, m = w->m, D = F + m;
    geodec_pca_moments mo = {0};
    double *block = NULL;
    int64_t fill = 0, widest = 1;
    for (int64_t t = 0; t < w->vocab; t++)
        if (w->bucket[t + 1] - w->bucket[t] > widest) widest = w->bucket[t + 1] - w->bucket[t];
    GEODEC_NEW(block, (SLAB + widest + 1 + D) * D + m * F);
    double *slab = block, *x = slab + SLAB * D, *y = x + widest * F, *mean = y + widest * m, *cov = mean + D,
           *cross = cov + D * D;
    GEODEC_TRY(geodec_pca_moments_init(&mo, D, NULL, err));
    for (int64_t t = 0; t < w->vocab; t++) {
        const int64_t n = w->bucket[t + 1] - w->bucket[t];
        if (n < 2) continue;
        centred(j, w->bucket[t], n, x, y, mean);
        for (int64_t i = 0; i < n; i++) {
            memcpy(slab + fill * D, x + i * F, (size_t)F * sizeof *slab);
            memcpy(slab + fill * D + F, y + i * m, (size_t)m * sizeof *slab);
            if (++fill == SLAB) {
                GEODEC_TRY(geodec_pca_moments_add(&mo, fill, slab, pool, err));
                fill = 0;
            }
        }
        GEODEC_TRY(geodec_hooks_progress(hooks, "flow of all tokens", w->bucket[t + 1], w->nodes, err));
    }
    if (fill > 0) GEODEC_TRY(geodec_pca_moments_add(&mo, fill, slab, pool, err));
    if (mo.count < 16)
        GEODEC_THROW(GEODEC_SCARCE, "%lld positions share their token with another; the charts need at least 16",
                     (long long)mo.count);
    GEODEC_TRY(geodec_pca_moments_result(&mo, NULL, cov, err));
    const double n = (double)(mo.count - 1);
    for (int64_t a = 0; a < F; a++)
        for (int64_t b = 0; b < F; b++) j->covariance[a * F + b] = cov[a * D + b];
    /* (n C + ridge I) J = n C_fz, one row of `cross` for each coordinate of z */
    for (int64_t c = 0; c < m; c++)
        for (int64_t a = 0; a < F; a++) cross[c * F + a] = n * cov[a * D + F + c];
    for (int64_t a = 0; a < F; a++) {
        for (int64_t b = 0; b < F; b++) cov[a * F + b] = n * j->covariance[a * F + b];
        cov[a * F + a] += j->o->ridge;
    }
    GEODEC_TRY(geodec_chol_factor(F, cov, err));
    geodec_chol_solve(F, cov, m, cross);
    for (int64_t a = 0; a < F; a++)
        for (int64_t c = 0; c < m; c++) j->jacobian[a * m + c] = cross[c * F + a];
done:
    geodec_pca_moments_clear(&mo);
    geodec_mem_free(block);
    return st;
}

/* Jacobian and covariance of one bucket, shrunk towards the pooled ones if it has few nodes. y is overwritten. */
static geodec_status bucket_flow(const chart_job *j, int64_t n, const double *x, double *y, double *jacobian,
                                 double *covariance, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t F = j->map->features, m = j->map->m;
    double *gram = NULL;
    GEODEC_NEW(gram, F * F + m * F);
    double *cross = gram + F * F;
    geodec_blas_syrk(n, F, 1, x, F, 0, gram, F);
    for (int64_t i = 0; i < F * F; i++)
        covariance[i] = (gram[i] + POOLED_NODES * j->covariance[i]) / ((double)n + POOLED_NODES);
    /* the residual of the pooled flow */
    geodec_blas_gemm(false, false, n, m, F, -1, x, F, j->jacobian, m, 1, y, m);
    geodec_blas_gemm(true, false, m, F, n, 1, y, m, x, F, 0, cross, F);
    for (int64_t a = 0; a < F; a++) gram[a * F + a] += j->o->ridge;
    GEODEC_TRY(geodec_chol_factor(F, gram, err));
    geodec_chol_solve(F, gram, m, cross);
    for (int64_t a = 0; a < F; a++)
        for (int64_t c = 0; c < m; c++) jacobian[a * m + c] = j->jacobian[a * m + c] + cross[c * F + a];
done:
    geodec_mem_free(gram);
    return st;
}

/* directions [F][r] = J U, U the r leading eigenvectors of J^T C J. */
static geodec_status leading(int64_t F, int64_t m, int64_t r, const double *jacobian, const double *covariance,
                             double *directions, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *cj = NULL;
    GEODEC_NEW(cj, F * m + m * m + m);
    double *metric = cj + F * m, *value = metric + m * m;
    geodec_blas_gemm(false, false, F, m, F, 1, covariance, F, jacobian, m, 0, cj, m);
    geodec_blas_gemm(true, false, m, m, F, 1, jacobian, m, cj, m, 0, metric, m);
    for (int64_t a = 0; a < m; a++)
        for (int64_t b = 0; b < a; b++) metric[a * m + b] = 0.5 * (metric[a * m + b] + metric[b * m + a]);
    GEODEC_TRY(geodec_eig_sym(m, metric, value, metric, err));
    for (int64_t a = 0; a < F; a++)
        for (int64_t k = 0; k < r; k++) {
            double s = 0;
            if (k < m) s = geodec_blas_dot(m, jacobian + a * m, metric + (m - 1 - k) * m);
            directions[a * r + k] = s;
        }
done:
    geodec_mem_free(cj);
    return st;
}

/* directions [F][r] of a control. */
static geodec_status control(const chart_job *j, double *directions, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_flowmap *w = j->map;
    const int64_t F = w->features, r = w->dims;
    double *value = NULL;
    geodec_rng g = geodec_rng_stream(1, geodec_rng_id("flow-charts", 0));
    for (int64_t i = 0; i < F * r; i++) directions[i] = 0;
    switch (j->o->charts) {
    case GEODEC_FLOW_EUCLIDEAN: /* z again, from the standardised features */
        for (int64_t k = 0; k < r && k < w->m; k++)
            directions[k * r + k] = w->feature_factor[k] > 0 ? 1 / (double)w->feature_factor[k] : 0;
        break;
    case GEODEC_FLOW_RANDOM:
        for (int64_t i = 0; i < F * r; i++) directions[i] = geodec_rng_normal(&g);
        break;
    default:
        GEODEC_NEW(value, F + F * F);
        double *vector = value + F;
        GEODEC_TRY(geodec_eig_sym(F, j->covariance, value, vector, err));
        for (int64_t a = 0; a < F; a++)
            for (int64_t k = 0; k < r && k < F; k++) directions[a * r + k] = vector[(F - 1 - k) * F + a];
    }
done:
    geodec_mem_free(value);
    return st;
}

/* Rounds a chart to 8 bits; step [r] is the value of one unit. */
static void round_chart(int64_t F, int64_t r, const double *directions, int8_t *chart, double *step)
{
    for (int64_t k = 0; k < r; k++) {
        double top = 0;
        for (int64_t a = 0; a < F; a++) top = fmax(top, fabs(directions[a * r + k]));
        step[k] = top > 0 ? top / 127 : 1;
        for (int64_t a = 0; a < F; a++) chart[a * r + k] = (int8_t)lrint(directions[a * r + k] / step[k]);
    }
}

/* Scale and offset of a chart, from its nodes (at most SLAB of them, evenly spaced). */
static geodec_status fit_range(const chart_job *j, int64_t chart, const int64_t *node, int64_t n, const double *step,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap *w = j->map;
    const int64_t F = w->features, r = w->dims, used = n < SLAB ? n : SLAB;
    const int8_t *weight = w->chart + chart * F * r;
    double *value = NULL, mean[GEODEC_FLOW_DIMS_MAX] = {0};
    GEODEC_NEW(value, used * r);
    for (int64_t u = 0; u < used; u++) {
        const float *f = j->feature + j->feature_row[node[u * n / used]] * F;
        for (int64_t a = 0; a < F; a++)
            for (int64_t k = 0; k < r; k++) value[u * r + k] += weight[a * r + k] * (double)f[a];
        for (int64_t k = 0; k < r; k++) mean[k] += (value[u * r + k] *= step[k]) / (double)used;
    }
    for (int64_t u = 0; u < used; u++)
        for (int64_t k = 0; k < r; k++) value[u * r + k] = fabs(value[u * r + k] - mean[k]);
    geodec_stats_sort(used * r, value);
    const double reach = used > 0 ? geodec_stats_percentile(used * r, value, KEY_SHARE) : 1;
    const double unit =
        reach > 0 ? 63 / reach : 1; /* one unit for all directions, so that ratios of distances are kept */
    for (int64_t k = 0; k < r; k++) {
        w->chart_scale[chart * r + k] = (float)(step[k] * unit);
        w->chart_offset[chart * r + k] = (float)(mean[k] * unit);
    }
done:
    geodec_mem_free(value);
    return st;
}

static geodec_status chart_task(void *ctx, int64_t chart, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const chart_job *j = ctx;
    geodec_flowmap *w = j->map;
    const int64_t F = w->features, m = w->m, r = w->dims;
    const int32_t token = j->token_of[chart];
    double *block = NULL, *dir = NULL, step[GEODEC_FLOW_DIMS_MAX];
    int64_t *node = NULL, n = 0;
    GEODEC_NEW(dir, F * r);
    GEODEC_NEW(node, token < 0 ? w->nodes : w->bucket[token + 1] - w->bucket[token]);
    for (int64_t t = token < 0 ? 0 : token; t < (token < 0 ? w->vocab : token + 1); t++)
        for (int64_t i = w->bucket[t]; w->chart_of[t] == chart && i < w->bucket[t + 1]; i++) node[n++] = i;
    if (j->o->charts != GEODEC_FLOW_LEARNED) {
        GEODEC_TRY(control(j, dir, err));
    } else if (token < 0) {
        GEODEC_TRY(leading(F, m, r, j->jacobian, j->covariance, dir, err));
    } else {
        GEODEC_NEW(block, (n + F) * (F + m) + F);
        double *x = block, *y = x + n * F, *mean = y + n * m, *jac = mean + F, *cov = jac + F * m;
        centred(j, w->bucket[token], n, x, y, mean);
        GEODEC_TRY(bucket_flow(j, n, x, y, jac, cov, err));
        GEODEC_TRY(leading(F, m, r, jac, cov, dir, err));
    }
    round_chart(F, r, dir, w->chart + chart * F * r, step);
    GEODEC_TRY(fit_range(j, chart, node, n, step, err));
done:
    GEODEC_FREE(block, dir, node);
    return st;
}

static geodec_status key_task(void *ctx, int64_t task, geodec_err *err)
{
    const chart_job *j = ctx;
    geodec_flowmap *w = j->map;
    (void)err;
    int64_t n = task * SLAB, end = n + SLAB < w->nodes ? n + SLAB : w->nodes, t = 0;
    for (; n < end; n++) {
        while (w->bucket[t + 1] <= n) t++;
        geodec__flowmap_state_key(w, j->feature + j->feature_row[n] * w->features, (int32_t)t, w->key + n * w->dims);
    }
    return GEODEC_OK;
}

/* Chooses the tokens with their own chart: the most frequent ones, within the limit of bytes; lower ids win ties. */
static geodec_status choose_tokens(chart_job *j, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_flowmap *w = j->map;
    const int64_t one = w->features * w->dims + 2 * (int64_t)sizeof(float) * w->dims;
    const int64_t room = j->o->charts == GEODEC_FLOW_LEARNED ? j->o->chart_bytes * w->nodes / one : 0;
    int64_t *count = NULL;
    GEODEC_NEW(count, w->nodes + 1); /* number of tokens with each frequency */
    int64_t least = w->nodes, left = room;
    for (int64_t t = 0; t < w->vocab; t++) count[w->bucket[t + 1] - w->bucket[t]]++;
    while (least >= MIN_NODES && count[least] <= left) left -= count[least--];
    /* every token with more than `least` occurrences, and the first `left` tokens with exactly `least` */
    w->charts = 1;
    j->token_of[0] = -1;
    for (int64_t t = 0; t < w->vocab; t++) {
        const int64_t n = w->bucket[t + 1] - w->bucket[t];
        const bool own = n > least || (n == least && n >= MIN_NODES && left-- > 0);
        w->chart_of[t] = own ? (int32_t)w->charts : 0;
        if (own) j->token_of[w->charts++] = (int32_t)t;
    }
done:
    geodec_mem_free(count);
    return st;
}

geodec_status geodec__flowmap_charts(geodec_flowmap *map, const geodec_flowmap_options *o, const float *feature,
                                     const int64_t *feature_row, const float *state, const int64_t *state_row,
                                     geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t F = map->features, r = map->dims;
    chart_job j = {
        .map = map, .o = o, .feature = feature, .state = state, .feature_row = feature_row, .state_row = state_row};
    GEODEC_NEW(j.jacobian, F * map->m);
    GEODEC_NEW(j.covariance, F * F);
    GEODEC_NEW(j.token_of, map->vocab + 1);
    GEODEC_NEW(map->chart_of, map->vocab);
    GEODEC_NEW(map->key, map->nodes * r);
    GEODEC_TRY(choose_tokens(&j, err));
    GEODEC_NEW(map->chart, map->charts * F * r);
    GEODEC_NEW_EACH(map->charts * r, map->chart_scale, map->chart_offset);
    GEODEC_TRY(pooled(&j, pool, hooks, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "charts", map->charts, chart_task, &j, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "keys", (map->nodes + SLAB - 1) / SLAB, key_task, &j, err));
done:
    GEODEC_FREE(j.jacobian, j.covariance, j.token_of);
    return st;
}
