/* Causal grouped-query attention of one sequence, a block of queries at a time.
 *
 * With s = scale q k^T, t = cap tanh(s / cap) (or s) - slope distance, P = softmax of t over the visible keys and the
 * sink, if there is one, whose column is left out, o = P v:
 *     dt = t'(s) scale (dq k^T + q dk^T),  dP = P (dt - rowsum(P dt)),  do = dP v + P dv
 *     gv = P^T go,  gP = go v^T,  gs = t'(s) P (gP - rowsum(P gP)),  gq = scale gs k,  gk = scale gs^T q */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "linalg/blas.h"
#include "reference/operators_internal.h"

#include <math.h>
#include <string.h>

enum { QUERY_BLOCK = 64, TANGENT_BLOCK = 8 /* cotangents a task takes, so that P is formed once for all of them */ };

typedef struct attention {
    const geodec__ref_attention *a;
    int64_t k;
    const double *q, *key, *v; /* tangents, or q = cotangent of o */
    double *o;                 /* result, or its tangent */
    double *gq, *gk, *gv;
    double *scratch; /* [workers][3][QUERY_BLOCK][n] */
} attention;

/* One head's block of queries: rows first .. first + rows - 1 with keys from .. from + keys - 1; those from column
 * `vary` on have tangents. */
typedef struct block {
    int64_t h, g, first, rows, from, keys; /* query head, its KV head */
    int64_t vary;
    int64_t ldq, ldk;        /* distance of two tokens */
    const double *q, *k, *v; /* first row of the block, first key, first value */
    double *p, *slope, *d;   /* [rows][keys] */
} block;

static block block_of(const attention *t, int64_t h, int64_t first, int worker)
{
    const geodec__ref_attention *a = t->a;
    block b = {.h = h,
               .g = h / (a->n_head / a->n_kv_head),
               .first = first,
               .rows = geodec__min(QUERY_BLOCK, a->n - first),
               .ldq = a->n_head * a->head_dim,
               .ldk = a->n_kv_head * a->head_dim};
    b.from = geodec__reference_sees_from(a, first);
    b.keys = b.first + b.rows - b.from;
    b.vary = a->first > b.from ? a->first - b.from : 0;
    b.q = a->q + first * b.ldq + h * a->head_dim;
    b.k = a->k + b.from * b.ldk + b.g * a->head_dim;
    b.v = a->v + b.from * b.ldk + b.g * a->head_dim;
    b.p = t->scratch + (int64_t)worker * 3 * QUERY_BLOCK * a->n;
    b.slope = b.p + QUERY_BLOCK * a->n;
    b.d = b.slope + QUERY_BLOCK * a->n;
    return b;
}

int64_t geodec__reference_sees_from(const geodec__ref_attention *a, int64_t row)
{
    if (a->window == 0) return 0;
    return a->chunks ? row / a->window * a->window : geodec__max(row - a->window + 1, 0);
}

/* With p the largest power of two up to n heads, head h < p has the slope 2^(-most (h + 1) / p). The others have those
 * that 2p heads would have at the odd places. */
double geodec__reference_alibi(const geodec__ref_attention *a, int64_t h)
{
    int64_t p = 1;
    if (a->alibi == 0) return 0;
    while (2 * p <= a->n_head) p *= 2;
    return h < p ? exp2(-a->alibi * (double)(h + 1) / (double)p)
                 : exp2(-a->alibi * (double)(2 * (h - p) + 1) / (double)(2 * p));
}

/* Fills P, and the slope of the cap, if any. */
static void probabilities(const geodec__ref_attention *a, const block *b)
{
    const double fall = geodec__reference_alibi(a, b->h);
    geodec_blas_gemm(false, true, b->rows, b->keys, a->head_dim, a->scale, b->q, b->ldq, b->k, b->ldk, 0, b->p,
                     b->keys);
    for (int64_t i = 0; i < b->rows; i++) {
        double *p = b->p + i * b->keys, *slope = b->slope + i * b->keys, most = -INFINITY, sum = 0;
        const int64_t end = b->first + i + 1 - b->from; /* keys before it are visible to this query */
        const int64_t begin = geodec__reference_sees_from(a, b->first + i) - b->from;
        if (a->sinks) most = (double)a->sinks[b->h];
        for (int64_t j = begin; j < end; j++) {
            if (a->cap != 0) {
                const double t = tanh(p[j] / a->cap);
                p[j] = a->cap * t;
                slope[j] = 1 - t * t;
            }
            p[j] -= fall * (double)(end - 1 - j);
            most = p[j] > most ? p[j] : most;
        }
        if (a->sinks) sum = exp((double)a->sinks[b->h] - most);
        for (int64_t j = 0; j < b->keys; j++) {
            if (j < begin || j >= end) {
                p[j] = slope[j] = 0;
            } else {
                sum += p[j] = exp(p[j] - most);
            }
        }
        for (int64_t j = begin; j < end; j++) p[j] /= sum;
    }
}

/* d = P (t' d - rowsum(P t' d)); outer: the slope is applied after the softmax (vjp) rather than before (jvp). */
static void through_softmax(const geodec__ref_attention *a, const block *b, bool outer)
{
    for (int64_t i = 0; i < b->rows; i++) {
        const double *p = b->p + i * b->keys, *slope = b->slope + i * b->keys;
        double *d = b->d + i * b->keys, mean = 0;
        if (a->cap != 0 && !outer)
            for (int64_t j = 0; j < b->keys; j++) d[j] *= slope[j];
        for (int64_t j = 0; j < b->keys; j++) mean += p[j] * d[j];
        for (int64_t j = 0; j < b->keys; j++) d[j] = p[j] * (d[j] - mean);
        if (a->cap != 0 && outer)
            for (int64_t j = 0; j < b->keys; j++) d[j] *= slope[j];
    }
}

/* Blocks of queries from row `first` on. */
static int64_t blocks_from(const geodec__ref_attention *a, int64_t first)
{
    return (a->n - first + QUERY_BLOCK - 1) / QUERY_BLOCK;
}

static void forward_task(void *ctx, int64_t task, int worker)
{
    const attention *t = ctx;
    const geodec__ref_attention *a = t->a;
    const int64_t blocks = blocks_from(a, 0);
    const block b = block_of(t, task / blocks, task % blocks * QUERY_BLOCK, worker);
    probabilities(a, &b);
    geodec_blas_gemm(false, false, b.rows, a->head_dim, b.keys, 1, b.p, b.keys, b.v, b.ldk, 0,
                     t->o + b.first * b.ldq + b.h * a->head_dim, b.ldq);
}

static void jvp_task(void *ctx, int64_t task, int worker)
{
    const attention *t = ctx;
    const geodec__ref_attention *a = t->a;
    const int64_t dim = a->head_dim, blocks = blocks_from(a, a->first), n = a->n - a->first; /* rows of a tangent */
    const block b = block_of(t, task / blocks, a->first + task % blocks * QUERY_BLOCK, worker);
    const int64_t at_q = (b.first - a->first) * b.ldq + b.h * dim;
    const int64_t at_k = (b.from + b.vary - a->first) * b.ldk + b.g * dim, vary = b.keys - b.vary;
    probabilities(a, &b);
    for (int64_t j = 0; j < t->k; j++) {
        const double *dq = t->q + j * n * b.ldq + at_q, *dk = t->key + j * n * b.ldk + at_k,
                     *dv = t->v + j * n * b.ldk + at_k;
        double *d_o = t->o + j * n * b.ldq + at_q;
        geodec_blas_gemm(false, true, b.rows, b.keys, dim, a->scale, dq, b.ldq, b.k, b.ldk, 0, b.d, b.keys);
        geodec_blas_gemm(false, true, b.rows, vary, dim, a->scale, b.q, b.ldq, dk, b.ldk, 1, b.d + b.vary, b.keys);
        through_softmax(a, &b, false);
        geodec_blas_gemm(false, false, b.rows, dim, b.keys, 1, b.d, b.keys, b.v, b.ldk, 0, d_o, b.ldq);
        geodec_blas_gemm(false, false, b.rows, dim, vary, 1, b.p + b.vary, b.keys, dv, b.ldk, 1, d_o, b.ldq);
    }
}

/* All query heads and blocks of one KV head, in order, for a few cotangents: gk and gv are sums over them. */
static void vjp_task(void *ctx, int64_t task, int worker)
{
    const attention *t = ctx;
    const geodec__ref_attention *a = t->a;
    const int64_t g = task % a->n_kv_head, share = a->n_head / a->n_kv_head, n = a->n - a->first;
    const int64_t j0 = task / a->n_kv_head * TANGENT_BLOCK, j1 = geodec__min(j0 + TANGENT_BLOCK, t->k);
    const int64_t dim = a->head_dim, ldq = a->n_head * dim, ldk = a->n_kv_head * dim;
    for (int64_t row = j0 * n; row < j1 * n; row++) {
        memset(t->gk + row * ldk + g * dim, 0, (size_t)dim * sizeof(double));
        memset(t->gv + row * ldk + g * dim, 0, (size_t)dim * sizeof(double));
    }
    for (int64_t h = g * share; h < (g + 1) * share; h++)
        for (int64_t i = 0; i < blocks_from(a, a->first); i++) {
            const block b = block_of(t, h, a->first + i * QUERY_BLOCK, worker);
            const int64_t at_q = (b.first - a->first) * ldq + h * dim;
            const int64_t at_k = (b.from + b.vary - a->first) * ldk + g * dim, vary = b.keys - b.vary;
            probabilities(a, &b);
            for (int64_t j = j0; j < j1; j++) {
                const double *go = t->q + j * n * ldq + at_q;
                double *gk = t->gk + j * n * ldk + at_k, *gv = t->gv + j * n * ldk + at_k;
                geodec_blas_gemm(true, false, vary, dim, b.rows, 1, b.p + b.vary, b.keys, go, ldq, 1, gv, ldk);
                geodec_blas_gemm(false, true, b.rows, b.keys, dim, 1, go, ldq, b.v, ldk, 0, b.d, b.keys);
                through_softmax(a, &b, true);
                geodec_blas_gemm(false, false, b.rows, dim, b.keys, a->scale, b.d, b.keys, b.k, ldk, 0,
                                 t->gq + j * n * ldq + at_q, ldq);
                geodec_blas_gemm(true, false, vary, dim, b.rows, a->scale, b.d + b.vary, b.keys, b.q, ldq, 1, gk, ldk);
            }
        }
}

static geodec_status run(geodec_pool *pool, attention *t, int64_t tasks, geodec_pool_fn task, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(t->scratch, geodec_pool_threads(pool) * 3 * QUERY_BLOCK * t->a->n);
    geodec_pool_run_dynamic(pool, tasks, task, t);
done:
    geodec_mem_free(t->scratch);
    return st;
}

geodec_status geodec__reference_attend(geodec_pool *pool, const geodec__ref_attention *a, double *o, geodec_err *err)
{
    attention t = {.a = a, .o = o};
    return run(pool, &t, a->n_head * blocks_from(a, 0), forward_task, err);
}

geodec_status geodec__reference_attend_jvp(geodec_pool *pool, const geodec__ref_attention *a, int64_t k,
                                           const double *dq, const double *dk, const double *dv, double *d_o,
                                           geodec_err *err)
{
    attention t = {.a = a, .k = k, .q = dq, .key = dk, .v = dv, .o = d_o};
    return run(pool, &t, a->n_head * blocks_from(a, a->first), jvp_task, err);
}

geodec_status geodec__reference_attend_vjp(geodec_pool *pool, const geodec__ref_attention *a, int64_t k,
                                           const double *go, double *gq, double *gk, double *gv, geodec_err *err)
{
    attention t = {.a = a, .k = k, .q = go, .gq = gq, .gk = gk, .gv = gv};
    return run(pool, &t, a->n_kv_head * ((k + TANGENT_BLOCK - 1) / TANGENT_BLOCK), vjp_task, err);
}
