/* Attention alone: queries, keys and values are random and written to the session's buffers. The results are
 * compared with a direct float64 evaluation of the contents of the cache, with the definition in kernels_internal.h
 * step by step, and bit for bit between all ways to compute the same row. */
#include "base/f16.h"
#include "base/mem.h"
#include "base/simd_internal.h"
#include "session/model_internal.h"
#include "session/synthetic.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const geodec_isa isas[] = {GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512};

/* ---- a session with random rows -------------------------------------------------------------------------------- */

typedef struct shape {
    int32_t dim, heads, kv_heads, window;
    float cap;
    geodec_kv_type kv;
} shape;

/* Rows by position of one text: query, key and value before rotation. */
typedef struct text {
    int64_t n, q_width, kv_width;
    float *q, *k, *v;
} text;

static text make_text(const shape *a, int64_t n, float size, uint64_t seed)
{
    text t = {.n = n, .q_width = (int64_t)a->heads * a->dim, .kv_width = (int64_t)a->kv_heads * a->dim};
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("attention", 0));
    t.q = geodec_mem_new(n * t.q_width, sizeof *t.q);
    t.k = geodec_mem_new(n * t.kv_width, sizeof *t.k);
    t.v = geodec_mem_new(n * t.kv_width, sizeof *t.v);
    for (int64_t i = 0; i < n * t.q_width; i++) t.q[i] = size * (float)geodec_rng_normal(&r);
    for (int64_t i = 0; i < n * t.kv_width; i++) {
        t.k[i] = (float)geodec_rng_normal(&r);
        t.v[i] = (float)geodec_rng_normal(&r);
    }
    return t;
}

static void free_text(text *t)
{
    geodec_mem_free(t->q);
    geodec_mem_free(t->k);
    geodec_mem_free(t->v);
}

static geodec_model *open_shape(const shape *a, int32_t n_ctx)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    const char *path = test_tmp("attention.gguf");
    const synthetic s = {.n_layer = 2,
                         .d_model = 32,
                         .n_head = a->heads,
                         .n_kv_head = a->kv_heads,
                         .head_dim = a->dim,
                         .d_ff = 32,
                         .n_vocab = 300,
                         .n_ctx = n_ctx,
                         .type = GEODEC_GGML_F32,
                         .tied = true,
                         .seed = 1};
    test_ok(synthetic_write(path, &s, &err), &err);
    test_ok(geodec_model_open(path, &m, &err), &err);
    m->layer[1].window = a->window;
    m->config.attn_softcap = a->cap;
    return m;
}

static geodec_session *open_rows(const geodec_model *m, const shape *a, geodec_isa isa, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.isa = isa, .pool = pool, .max_batch = 80, .kv = a->kv};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    geodec__rope_reach(s, 0, s->n_ctx);
    return s;
}

/* Writes positions 0 .. n-1 into the cache of layer 1, without computation. */
static void fill(geodec_session *s, const text *t, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    float *k = geodec_mem_new(t->kv_width, sizeof *k);
    for (int64_t p = s->length; p < n; p++) {
        memcpy(k, t->k + p * t->kv_width, (size_t)t->kv_width * sizeof *k);
        geodec__rope_apply(s, &s->model->layer[1], k, c->n_kv_head, p);
        for (int64_t h = 0; h < c->n_kv_head; h++)
            geodec__cache_put(s, 1, h, p, k + h * c->head_dim, t->v + p * t->kv_width + h * c->head_dim);
    }
    s->length = (int32_t)n;
    geodec_mem_free(k);
}

/* One call: row i is position[i] of the text, its parent as in a batch. out [n][q_width]. The rows stay in the cache.
 */
static void run(geodec_session *s, const text *t, const int32_t *parent, int32_t n, float *out)
{
    bool chain = true;
    for (int32_t i = 0; i < n; i++) {
        s->parent[i] = parent ? parent[i] : i - 1;
        s->depth[i] = s->parent[i] < 0 ? 0 : s->depth[s->parent[i]] + 1;
        chain = chain && !parent;
        const int64_t p = s->length + s->depth[i];
        memcpy(s->query_row[i], t->q + p * t->q_width, (size_t)t->q_width * sizeof(float));
        memcpy(s->key_row[i], t->k + p * t->kv_width, (size_t)t->kv_width * sizeof(float));
        memcpy(s->value_row[i], t->v + p * t->kv_width, (size_t)t->kv_width * sizeof(float));
    }
    geodec__attention_run(s, 1, n, chain);
    for (int32_t i = 0; i < n; i++) memcpy(out + i * t->q_width, s->mixed_row[i], (size_t)t->q_width * sizeof *out);
    s->length += n;
}

/* ---- two references --------------------------------------------------------------------------------------------- */

typedef struct row_of_cache {
    float *k, *v;
} row_of_cache;

/* Contents of the cache at position p: [dim] each. */
static row_of_cache held(const geodec_session *s, int64_t head, int64_t p)
{
    const int64_t dim = s->model->config.head_dim;
    float *k = geodec_mem_new(GEODEC__KEYS * dim, sizeof *k), *v = geodec_mem_new(GEODEC__KEYS * dim, sizeof *v);
    geodec__cache_row(s, 1, head, p, 0, k, v);
    for (int64_t d = 0; d < dim; d++) k[d] = k[d * GEODEC__KEYS];
    return (row_of_cache){k, v};
}

static float *rotated_query(const geodec_session *s, const text *t, int64_t p)
{
    const geodec_model_config *c = &s->model->config;
    float *q = geodec_mem_new(t->q_width, sizeof *q);
    memcpy(q, t->q + p * t->q_width, (size_t)t->q_width * sizeof *q);
    geodec__rope_apply(s, &s->model->layer[1], q, c->n_head, p);
    for (int64_t i = 0; i < t->q_width; i++) q[i] *= (float)(1.0 / sqrt((double)c->head_dim));
    return q;
}

/* exp(x - top) by the library's own exponential, which has no other entry. */
static float exp_of(float x, float top)
{
    float e[16] = {top, x};
    (void)geodec__kernels_scalar.softmax(e, 2);
    return e[1];
}

static float softcap_of(float x, float cap)
{
    geodec__kernels_scalar.softcap(&x, 1, cap);
    return x;
}

/* The definition of kernels_internal.h for one head of one row, computed step by step; and the float64 evaluation next
 * to it. */
static void reference(const geodec_session *s, const text *t, int64_t p, int64_t h, float *fixed, double *direct)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t dim = c->head_dim, window = s->model->layer[1].window, n = p + 1,
                  first = window > 0 && window < n ? n - window : 0;
    const int64_t chains = dim <= 16 ? 4 : dim <= 32 ? 2 : 1, head = h / (c->n_head / c->n_kv_head);
    float *q = rotated_query(s, t, p), *score = geodec_mem_new(n, sizeof *score);
    row_of_cache *key = geodec_mem_new(n, sizeof *key);
    double *wide = geodec_mem_new(n, sizeof *wide), top64 = -INFINITY, sum64 = 0;
    for (int64_t i = first; i < n; i++) {
        key[i] = held(s, head, i);
        for (int64_t d = 0; d < dim; d++) {
            score[i] = geodec__fma32(q[h * dim + d], key[i].k[d], score[i]);
            wide[i] += (double)q[h * dim + d] * (double)key[i].k[d];
        }
        if (c->attn_softcap > 0) {
            score[i] = softcap_of(score[i], c->attn_softcap);
            wide[i] = (double)c->attn_softcap * tanh(wide[i] / (double)c->attn_softcap);
        }
        top64 = fmax(top64, wide[i]);
    }
    for (int64_t d = 0; d < dim; d++) direct[d] = 0;
    for (int64_t i = first; i < n; i++) sum64 += exp(wide[i] - top64);
    for (int64_t i = first; i < n; i++)
        for (int64_t d = 0; d < dim; d++) direct[d] += exp(wide[i] - top64) / sum64 * (double)key[i].v[d];

    enum { MOST = 256 };
    static float total[4 * MOST], part[4 * MOST], total_sum[16], sum[16];
    float total_top = -INFINITY;
    bool have = false;
    for (int64_t split = first / 512 * 512; split < n; split += 512) {
        float top = -INFINITY;
        memset(part, 0, sizeof part);
        memset(sum, 0, sizeof sum);
        for (int64_t block = split; block < split + 512 && block < n; block += 64) {
            const int64_t lo = block > first ? block : first, hi = block + 64 < n ? block + 64 : n;
            if (lo >= hi) continue;
            float largest = top;
            for (int64_t i = lo; i < hi; i++) largest = score[i] > largest ? score[i] : largest;
            if (largest > top) {
                const float shrink = exp_of(top, largest);
                for (int64_t i = 0; i < chains * dim; i++) part[i] *= shrink;
                for (int i = 0; i < 16; i++) sum[i] *= shrink;
                top = largest;
            }
            for (int64_t i = lo; i < hi; i++) {
                const float e = exp_of(score[i], top);
                sum[i % 16] += e;
                for (int64_t d = 0; d < dim; d++)
                    part[i % chains * dim + d] = geodec__fma32(e, key[i].v[d], part[i % chains * dim + d]);
            }
        }
        if (!have) {
            memcpy(total, part, sizeof part);
            memcpy(total_sum, sum, sizeof sum);
            total_top = top;
            have = true;
            continue;
        }
        const float both = top > total_top ? top : total_top;
        const float a = exp_of(total_top, both), b = exp_of(top, both);
        for (int64_t i = 0; i < chains * dim; i++) total[i] = geodec__fma32(part[i], b, total[i] * a);
        for (int i = 0; i < 16; i++) total_sum[i] = geodec__fma32(sum[i], b, total_sum[i] * a);
        total_top = both;
    }
    for (int half = 8; half >= 1; half /= 2)
        for (int i = 0; i < half; i++) total_sum[i] += total_sum[i + half];
    for (int64_t d = 0; d < dim; d++) {
        float x = total[d];
        if (chains > 1) x += total[dim + d];
        if (chains > 2) x += total[2 * dim + d] + total[3 * dim + d];
        fixed[d] = x * (1.0f / total_sum[0]);
    }
    for (int64_t i = first; i < n; i++) {
        geodec_mem_free(key[i].k);
        geodec_mem_free(key[i].v);
    }
    geodec_mem_free(key);
    geodec_mem_free(q);
    geodec_mem_free(score);
    geodec_mem_free(wide);
}

/* ---- tests ------------------------------------------------------------------------------------------------------ */

enum { CONTEXT = 1300, ROWS = 70 };

static const shape shapes[] = {
    {8, 4, 2, 0, 0, GEODEC_KV_F32},        {64, 9, 3, 0, 0, GEODEC_KV_F32},      {80, 4, 4, 33, 0, GEODEC_KV_F16},
    {128, 4, 1, 700, 5.0f, GEODEC_KV_F32}, {256, 2, 1, 0, 50.0f, GEODEC_KV_F16}, {20, 6, 2, 5, 0, GEODEC_KV_F32},
    {8, 6, 2, 64, 0, GEODEC_KV_Q8_0},      {80, 6, 3, 0, 3.0f, GEODEC_KV_Q8_0},  {64, 2, 2, 65, 0, GEODEC_KV_Q8_0},
    {32, 14, 2, 1, 0, GEODEC_KV_F16},      {8, 50, 1, 0, 0, GEODEC_KV_F16},
};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };
static const int starts[] = {0, 1, 62, 63, 64, 500, 511, 512, 1100};
enum { N_STARTS = sizeof starts / sizeof *starts };

#define SAME(a, b, n, ...) cr_assert(memcmp((a), (b), (size_t)(n) * sizeof *(a)) == 0, __VA_ARGS__)

/* Positions past .. past+n-1, one at a time on one thread: the reference for all other ways. */
static float *one_by_one(const geodec_model *m, const shape *a, const text *t, int past, int n)
{
    geodec_session *s = open_rows(m, a, GEODEC_ISA_AUTO, NULL);
    float *out = geodec_mem_new(n * t->q_width, sizeof *out);
    fill(s, t, past);
    for (int i = 0; i < n; i++) run(s, t, NULL, 1, out + i * t->q_width);
    geodec_session_destroy(s);
    return out;
}

Test(model_attention, equals_the_definition_and_float64)
{
    for (size_t i = 0; i < N_SHAPES; i++) {
        const shape *a = &shapes[i];
        geodec_model *m = open_shape(a, CONTEXT);
        text t = make_text(a, CONTEXT, 1.0f, i);
        geodec_session *s = open_rows(m, a, GEODEC_ISA_AUTO, NULL);
        float *out = geodec_mem_new(t.q_width, sizeof *out), fixed[256];
        double direct[256];
        for (size_t k = 0; k < N_STARTS; k++) {
            fill(s, &t, starts[k]);
            run(s, &t, NULL, 1, out);
            for (int64_t h = 0; h < a->heads; h += 1 + a->heads / 2) {
                reference(s, &t, starts[k], h, fixed, direct);
                SAME(fixed, out + h * a->dim, a->dim, "shape %d, position %d, head %d: not as defined", (int)i,
                     starts[k], (int)h);
                for (int d = 0; d < a->dim; d++) /* weights sum to 1, values are of order 1 */
                    cr_assert_lt(fabs((double)fixed[d] - direct[d]), 1e-6, "shape %d, position %d: %g, not %g", (int)i,
                                 starts[k], (double)fixed[d], direct[d]);
            }
        }
        geodec_session_destroy(s);
        geodec_mem_free(out);
        free_text(&t);
        geodec_model_close(m);
    }
}

/* Row i of a tree over the same text: every node at depth d holds position past + d, so each has the chain's bits. */
static void check_trees(geodec_session *s, const text *t, int past, const float *want, const char *label)
{
    int32_t parent[ROWS];
    float *out = geodec_mem_new(ROWS * t->q_width, sizeof *out);
    geodec_rng r = geodec_rng_stream((uint64_t)past, geodec_rng_id("trees", 0));
    for (int round = 0; round < 3; round++) {
        geodec_session_truncate(s, past);
        const int n = round == 2 ? 7 : ROWS; /* a chain given as a tree, a bush, a small tree */
        for (int i = 0; i < n; i++)
            parent[i] = round == 0 || i == 0 ? i - 1 : i - 1 - (int)geodec_rng_below(&r, i < 4 ? 1 : 4);
        run(s, t, parent, n, out);
        for (int i = 0; i < n; i++)
            SAME(want + s->depth[i] * t->q_width, out + i * t->q_width, t->q_width, "%s: node %d of tree %d at %d",
                 label, i, round, past);
        /* keep one path: the cache is that of the chain */
        int32_t keep[ROWS], n_keep = s->depth[n - 1] + 1;
        for (int32_t j = n - 1, d = n_keep; j >= 0; j = parent[j]) keep[--d] = j;
        geodec_session_compact(s, past, keep, n_keep);
        if (n_keep < ROWS) {
            run(s, t, NULL, 1, out);
            SAME(want + n_keep * t->q_width, out, t->q_width, "%s: after compaction at %d", label, past);
        }
    }
    geodec_mem_free(out);
}

static void check_chains(geodec_session *s, const text *t, int past, const float *want, const char *label)
{
    static const int sizes[] = {ROWS, 33, 8, 3};
    float *out = geodec_mem_new(ROWS * t->q_width, sizeof *out);
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        geodec_session_truncate(s, past);
        for (int at = 0; at < ROWS; at += sizes[k])
            run(s, t, NULL, ROWS - at < sizes[k] ? ROWS - at : sizes[k], out + at * t->q_width);
        SAME(want, out, ROWS * t->q_width, "%s: chain in pieces of %d at %d", label, sizes[k], past);
    }
    geodec_mem_free(out);
}

Test(model_attention, bits_do_not_depend_on_batch_tree_threads_or_isa, .timeout = 300)
{
    geodec_err err = {0};
    geodec_pool *pool[2];
    test_ok(geodec_pool_create(2, &pool[0], &err), &err);
    test_ok(geodec_pool_create(5, &pool[1], &err), &err);
    for (size_t i = 0; i < N_SHAPES; i++) {
        const shape *a = &shapes[i];
        geodec_model *m = open_shape(a, CONTEXT);
        text t = make_text(a, CONTEXT, 1.0f, 50 + i);
        for (size_t k = i % 2; k < N_STARTS; k += 2) {
            float *want = one_by_one(m, a, &t, starts[k], ROWS);
            for (int way = 0; way < 5; way++) {
                const geodec_isa isa = way < 3 ? isas[way] : GEODEC_ISA_AUTO;
                if (!geodec_kernels_isa_available(isa) || (way == 0 && starts[k] > 600)) continue; /* scalar is slow */
                geodec_session *s = open_rows(m, a, isa, way < 3 ? NULL : pool[way - 3]);
                const char *label = way < 3 ? geodec_kernels_isa_name(isa) : way == 3 ? "2 threads" : "5 threads";
                fill(s, &t, starts[k]);
                if (way != 0) check_chains(s, &t, starts[k], want, label);
                check_trees(s, &t, starts[k], want, label);
                geodec_session_destroy(s);
            }
            geodec_mem_free(want);
        }
        free_text(&t);
        geodec_model_close(m);
    }
    geodec_pool_destroy(pool[0]);
    geodec_pool_destroy(pool[1]);
}

Test(model_attention, equal_and_huge_scores)
{
    const shape a = {64, 2, 1, 0, 0, GEODEC_KV_F32};
    geodec_model *m = open_shape(&a, CONTEXT);
    text t = make_text(&a, CONTEXT, 1.0f, 9);
    enum { LAST = 1200 };
    float out[2 * 64];
    for (int round = 0; round < 3; round++) {
        geodec_session *s = open_rows(m, &a, GEODEC_ISA_AUTO, NULL);
        fill(s, &t, LAST + 1);
        double mean[64] = {0};
        float k[64];
        for (int p = 0; p <= LAST; p++) {
            row_of_cache at = held(s, 0, p);
            /* 0: every score equal; 1: two keys far above all others, one in an early split and one in the last;
             * 2: scores that grow by 50 with every key, so that each block and split overtakes those before it */
            for (int d = 0; d < 64; d++)
                k[d] = round == 0 ? 0.5f : round == 1 ? (p == 37 || p == 1150 ? 1e30f : -1e30f) : (float)p * 50.0f;
            geodec__cache_put(s, 1, 0, p, k, at.v);
            for (int d = 0; d < 64; d++)
                mean[d] += round == 0                             ? (double)at.v[d] / (LAST + 1)
                           : round == 1 && (p == 37 || p == 1150) ? (double)at.v[d] / 2
                           : round == 2 && p == LAST              ? (double)at.v[d]
                                                                  : 0;
            geodec_mem_free(at.k);
            geodec_mem_free(at.v);
        }
        /* the kernel alone: a row of this kind does not come out of a rotation */
        float q[64], score[64], state[2][128 + 32];
        for (int d = 0; d < 64; d++) q[d] = 1.0f / 64;
        for (int64_t split = 0; split * 512 <= LAST; split++) {
            geodec__attend_query query = {.q = q, .score = score, .state = state[split > 0]}, *list[1] = {&query};
            memset(query.state, 0, sizeof state[0]);
            query.state[64 + GEODEC__ATTEND_TOP] = -INFINITY;
            for (int64_t block = split * 8; block < split * 8 + 8 && block * 64 <= LAST; block++) {
                const geodec__attend_keys keys = geodec__cache_pieces(s, 1, 0, 0, block);
                query.hi = LAST + 1 - block * 64 < 64 ? (int32_t)(LAST + 1 - block * 64) : 64;
                s->kernels->attend_block(list, 1, &keys, 64, 64, 0);
            }
            if (split > 0) s->kernels->attend_merge(state[0], state[1], 64);
        }
        s->kernels->attend_finish(state[0], 64);
        memcpy(out, state[0], sizeof q);
        for (int d = 0; d < 64; d++)
            cr_assert_lt(fabs((double)out[d] - mean[d]), 1e-6, "round %d: %g, not %g", round, (double)out[d], mean[d]);
        geodec_session_destroy(s);
    }
    free_text(&t);
    geodec_model_close(m);
}

/* ---- element types of the cache --------------------------------------------------------------------------------- */

Test(model_attention, cache_types_round_as_they_say)
{
    static const int dims[] = {8, 20, 64, 80, 256};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (int kv = GEODEC_KV_F32; kv <= GEODEC_KV_Q8_0; kv++) {
            const int dim = dims[i];
            const shape a = {dim, 2, 2, 0, 0, (geodec_kv_type)kv};
            geodec_model *m = open_shape(&a, 200);
            geodec_session *s = open_rows(m, &a, GEODEC_ISA_AUTO, NULL);
            const int64_t unit = kv == GEODEC_KV_F32 ? 4 : kv == GEODEC_KV_F16 ? 2 : 1;
            const int64_t scales = kv == GEODEC_KV_Q8_0 ? 2 * ((dim + 31) / 32) : 0;
            cr_assert_eq(s->cache.bytes, 256 * 2 * 2 * 2 * (dim * unit + scales) + 64, "dim %d type %d", dim, kv);
            geodec_rng r = geodec_rng_stream(i, geodec_rng_id("cache", 0));
            for (int64_t p = 0; p < 200; p++) {
                float x[2][256];
                for (int d = 0; d < dim; d++)
                    for (int j = 0; j < 2; j++)
                        x[j][d] = (float)geodec_rng_normal(&r) * (p % 7 == 0 ? 1e-20f : p % 7 == 1 ? 1e4f : 1.0f);
                if (p == 50) memset(x[0], 0, sizeof x[0]);
                if (p == 51) x[1][0] = 1e30f;
                geodec__cache_put(s, 1, 1, p, x[0], x[1]);
                row_of_cache got = held(s, 1, p);
                for (int j = 0; j < 2; j++)
                    for (int d = 0; d < dim; d++) {
                        const float y = j ? got.v[d] : got.k[d];
                        float largest = 0;
                        for (int g = d / 32 * 32; g < dim && g < d / 32 * 32 + 32; g++)
                            largest = fmaxf(largest, fabsf(x[j][g]));
                        if (kv == GEODEC_KV_F32) cr_assert_eq(y, x[j][d]);
                        if (kv == GEODEC_KV_F16)
                            cr_assert_eq(y, geodec_f16_to_f32(geodec_f32_to_f16(fmaxf(-65504, fminf(65504, x[j][d])))));
                        if (kv == GEODEC_KV_Q8_0) /* half a step, and the scale is rounded up by less than 1/128 */
                            cr_assert_leq(fabsf(y - x[j][d]), largest / 127 * 0.5f * (1 + 1.0f / 128) * 1.00001f,
                                          "dim %d row %d: %g for %g", dim, (int)p, (double)y, (double)x[j][d]);
                    }
                geodec_mem_free(got.k);
                geodec_mem_free(got.v);
            }
            /* every kernel decodes a block to the same floats as one row alone */
            float *k = geodec_mem_new(64 * dim + 16, sizeof *k), *v = geodec_mem_new(64 * dim + 16, sizeof *v);
            for (int j = 0; j < 3; j++) {
                s->kernels = geodec__kernels_for(isas[j]);
                if (!s->kernels) continue;
                const geodec__attend_keys block = geodec__cache_pieces(s, 1, 1, 1, 2);
                geodec__cache_decode(s, &block, 64, k, v);
                for (int lane = 0; lane < 64; lane++) {
                    row_of_cache got = held(s, 1, 128 + lane);
                    for (int d = 0; d < dim; d++) cr_assert_eq(k[d * 64 + lane], got.k[d]);
                    SAME(got.v, v + lane * dim, dim, "%s: values", geodec_kernels_isa_name(isas[j]));
                    geodec_mem_free(got.k);
                    geodec_mem_free(got.v);
                }
            }
            geodec_mem_free(k);
            geodec_mem_free(v);
            s->kernels = geodec__kernels_for(GEODEC_ISA_AUTO);
            geodec_session_destroy(s);
            geodec_model_close(m);
        }
}
