/* A cache of low rank: against the same model with the product of the factors as its weights, and bit for bit the same
 * in every batch, tree, instruction set and number of threads; four-bit elements. */
#include "base/mem.h"
#include "session/lowkv.h"
#include "session/model_internal.h"
#include "session/opened.h"
#include "session/rewrite.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const synthetic models[] = {
    {.n_layer = 2,
     .d_model = 96,
     .n_head = 8,
     .n_kv_head = 4,
     .d_ff = 100,
     .n_vocab = 310,
     .n_ctx = 192,
     .type = GEODEC_GGML_F32,
     .seed = 2},
    {.n_layer = 2,
     .d_model = 64,
     .n_head = 2,
     .n_kv_head = 2,
     .d_ff = 50,
     .n_vocab = 290,
     .n_ctx = 192,
     .type = GEODEC_GGML_F32,
     .head_dim = 20,
     .rope_dim = 12,
     .tied = true,
     .seed = 4},
    {.n_layer = 2,
     .d_model = 64,
     .n_head = 4,
     .n_kv_head = 2,
     .d_ff = 52,
     .n_vocab = 333,
     .n_ctx = 192,
     .type = GEODEC_GGML_F32,
     .n_expert = 4,
     .n_expert_used = 2,
     .seed = 5},
};
enum { N_MODELS = 3, LENGTH = 150 };

/* group and rank of keys and of values; 0: whole */
static const struct {
    int k_group, k_rank, v_group, v_rank;
} shapes[] = {{2, 9, 0, 0}, {0, 0, 2, 5}, {1, 7, 2, 21}, {2, 24, 1, 3}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes };

static geodec_model *open_model(int i) { return opened_model(&models[i]); }

static float *random_numbers(int64_t n, double size, uint64_t stream)
{
    geodec_rng r = geodec_rng_stream(9, geodec_rng_id("factors", stream));
    float *x = geodec_mem_new(n, sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (float)(size * geodec_rng_normal(&r));
    return x;
}

/* Random factors of a shape, and with `dense` [2][n_layer][width][d] their products. */
static void make_factors(const geodec_model_config *c, int shape, geodec_kv_factors *f, float **dense)
{
    const int64_t width = (int64_t)c->n_kv_head * c->head_dim, d = c->d_model;
    *f = (geodec_kv_factors){.k_group = shapes[shape].k_group,
                             .v_group = shapes[shape].v_group,
                             .k_rank = shapes[shape].k_rank,
                             .v_rank = shapes[shape].v_rank};
    for (int side = 0; side < 2; side++) {
        const int64_t group = side ? f->v_group : f->k_group, rank = side ? f->v_rank : f->k_rank;
        if (group == 0) continue;
        const int64_t groups = c->n_kv_head / group, rows = group * c->head_dim;
        float *in = random_numbers(c->n_layer * groups * rank * d, 1 / sqrt((double)d), 2 * (uint64_t)side);
        float *out = random_numbers(c->n_layer * width * rank, 1 / sqrt((double)rank), 2 * (uint64_t)side + 1);
        dense[side] = geodec_mem_new(c->n_layer * width * d, sizeof **dense);
        for (int64_t l = 0; l < c->n_layer; l++)
            for (int64_t r = 0; r < width; r++)
                for (int64_t i = 0; i < d; i++) {
                    double sum = 0;
                    for (int64_t j = 0; j < rank; j++)
                        sum += (double)out[(l * width + r) * rank + j] *
                               (double)in[((l * groups + r / rows) * rank + j) * d + i];
                    dense[side][(l * width + r) * d + i] = (float)sum;
                }
        *(side ? &f->v_in : &f->k_in) = in;
        *(side ? &f->v_out : &f->k_out) = out;
    }
}

static void free_factors(geodec_kv_factors *f, float **dense)
{
    const float *const all[] = {f->k_in, f->k_out, f->v_in, f->v_out, dense[0], dense[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free((void *)(uintptr_t)all[i]);
}

/* The model with the products in the place of its keys and values. */
static void put_dense(geodec_model *m, float *const *dense)
{
    const geodec_model_config *c = &m->config;
    const int64_t width = (int64_t)c->n_kv_head * c->head_dim, d = c->d_model;
    for (int32_t l = 0; l < c->n_layer; l++)
        for (int side = 0; side < 2; side++) {
            if (!dense[side]) continue;
            geodec__matrix *w = side ? &m->layer[l].v : &m->layer[l].k;
            w->data = (const uint8_t *)(dense[side] + l * width * d);
            w->owned = true;
        }
}

static geodec_session *open_session(const geodec_model *m, geodec_kv_type kv, geodec_isa isa, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    test_ok(geodec_session_create(m, &(geodec_session_options){.isa = isa, .pool = pool, .kv = kv}, &s, &err), &err);
    return s;
}

static void random_tokens(const geodec_model *m, int32_t *token, int n, uint64_t seed)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("tokens", 0));
    for (int i = 0; i < n; i++) token[i] = (int32_t)geodec_rng_below(&r, (uint64_t)m->config.n_vocab);
}

static float *run(geodec_session *s, const int32_t *token, int n, int step)
{
    geodec_err err = {0};
    const int64_t v = s->model->config.n_vocab;
    float *logits = geodec_mem_new(n * v, sizeof *logits);
    geodec_session_truncate(s, 0);
    for (int at = 0; at < n; at += step)
        test_ok(geodec_forward(s, &(geodec_batch){.n = n - at < step ? n - at : step, .token = token + at},
                               logits + at * v, NULL, &err),
                &err);
    return logits;
}

Test(lowkv, equals_the_model_of_the_products)
{
    for (int i = 0; i < N_MODELS; i++)
        for (int shape = 0; shape < N_SHAPES; shape++) {
            geodec_err err = {0};
            geodec_kv_factors f;
            float *dense[2] = {0};
            geodec_model *low = open_model(i), *plain = open_model(i);
            const int64_t v = low->config.n_vocab;
            int32_t token[LENGTH];
            random_tokens(low, token, LENGTH, 3);
            make_factors(&low->config, shape, &f, dense);
            test_ok(geodec_model_kv_factor(low, &f, false, &err), &err);
            cr_assert(low->low && !plain->low);
            put_dense(plain, dense);
            geodec_session *a = open_session(low, GEODEC_KV_F32, GEODEC_ISA_AUTO, NULL),
                           *b = open_session(plain, GEODEC_KV_F32, GEODEC_ISA_AUTO, NULL);
            cr_assert_eq(geodec_session_rewrite(a, &(geodec_rewrite){.group = 1}, &err), GEODEC_UNSUPPORTED);
            geodec_err_clear(&err);
            float *got = run(a, token, LENGTH, 64), *want = run(b, token, LENGTH, 64);
            for (int64_t k = 0; k < LENGTH * v; k++)
                cr_assert_lt(fabs((double)got[k] - (double)want[k]), 2e-5, "model %d shape %d logit %d: %g, not %g", i,
                             shape, (int)k, (double)got[k], (double)want[k]);
            /* numbers of four bytes, in whole blocks */
            const geodec_model_config *c = &low->config;
            const int64_t width = c->n_kv_head * c->head_dim;
            const int64_t k_numbers = f.k_group ? c->n_kv_head / f.k_group * f.k_rank : width,
                          v_numbers = f.v_group ? c->n_kv_head / f.v_group * f.v_rank : width;
            cr_assert_eq(geodec_session_kv_bytes(a), 4 * c->n_layer * (k_numbers + v_numbers));
            cr_assert_eq(geodec_session_kv_bytes(b), 8 * c->n_layer * width);
            geodec_mem_free(got);
            geodec_mem_free(want);
            geodec_session_destroy(a);
            geodec_session_destroy(b);
            geodec_model_close(low);
            geodec_model_close(plain);
            free_factors(&f, dense);
        }
}

/* A tree of two twins a level, every second row the chain; its path is kept and the text continues. */
static void check_tree(geodec_session *s, const int32_t *token, const float *want, const char *label)
{
    enum { BASE = 60, DEEP = 8 };
    geodec_err err = {0};
    const int64_t v = s->model->config.n_vocab;
    int32_t node[2 * DEEP], parent[2 * DEEP], keep[DEEP];
    float *got = geodec_mem_new(2 * DEEP * v, sizeof *got);
    for (int d = 0; d < DEEP; d++) {
        node[2 * d] = token[BASE + d + 1];
        node[2 * d + 1] = token[BASE + d];
        parent[2 * d] = parent[2 * d + 1] = 2 * d - 1;
        keep[d] = 2 * d + 1;
    }
    parent[0] = parent[1] = -1;
    geodec_session_truncate(s, BASE);
    test_ok(geodec_forward(s, &(geodec_batch){.n = 2 * DEEP, .token = node, .parent = parent}, got, NULL, &err), &err);
    for (int d = 0; d < DEEP; d++)
        cr_assert_eq(memcmp(got + (2 * d + 1) * v, want + (BASE + d) * v, (size_t)v * sizeof *got), 0, "%s: node %d",
                     label, d);
    geodec_session_compact(s, BASE, keep, DEEP);
    test_ok(geodec_forward(s, &(geodec_batch){.n = 2, .token = token + BASE + DEEP}, got, NULL, &err), &err);
    cr_assert_eq(memcmp(got, want + (BASE + DEEP) * v, (size_t)(2 * v) * sizeof *got), 0, "%s: after the tree", label);
    geodec_mem_free(got);
}

Test(lowkv, rows_do_not_depend_on_batch_tree_threads_or_isa, .timeout = 300)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int i = 0; i < N_MODELS; i++)
        for (int shape = -1; shape < N_SHAPES; shape++) { /* -1: whole, for four bits */
            geodec_kv_factors f = {0};
            float *dense[2] = {0};
            geodec_model *m = open_model(i);
            const int64_t v = m->config.n_vocab;
            int32_t token[LENGTH];
            random_tokens(m, token, LENGTH, 5);
            if (shape >= 0) {
                make_factors(&m->config, shape, &f, dense);
                test_ok(geodec_model_kv_factor(m, &f, shape == 3, &err), &err);
            }
            for (int kv = shape < 0 ? GEODEC_KV_Q4_0 : GEODEC_KV_F32; kv <= GEODEC_KV_Q4_0; kv++) {
                char label[64];
                geodec_session *s = open_session(m, (geodec_kv_type)kv, GEODEC_ISA_AUTO, NULL);
                float *want = run(s, token, LENGTH, 1);
                (void)snprintf(label, sizeof label, "model %d shape %d %s", i, shape,
                               geodec_cache_kv_name((geodec_kv_type)kv));
                check_tree(s, token, want, label);
                for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
                    if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
                    geodec_session *other = open_session(m, (geodec_kv_type)kv, (geodec_isa)isa, isa % 2 ? pool : NULL);
                    float *got = run(other, token, LENGTH, 7 + 19 * isa);
                    cr_assert_eq(memcmp(got, want, (size_t)(LENGTH * v) * sizeof *got), 0, "%s: %s", label,
                                 geodec_kernels_isa_name((geodec_isa)isa));
                    geodec_mem_free(got);
                    geodec_session_destroy(other);
                }
                geodec_mem_free(want);
                geodec_session_destroy(s);
            }
            geodec_model_close(m);
            free_factors(&f, dense);
        }
    geodec_pool_destroy(pool);
}

/* Elements are k times the scale of their group of 32, k = -8 .. 7, and the nearest such; the largest is one. */
Test(lowkv, four_bits_round_to_the_nearest)
{
    geodec_model *m = open_model(1);
    geodec_session *s = open_session(m, GEODEC_KV_Q4_0, GEODEC_ISA_AUTO, NULL);
    const int64_t dim = m->config.head_dim;
    float x[2][20];
    cr_assert_eq(dim, 20);
    for (int row = 0; row < 130; row++) {
        float *r = random_numbers(2 * dim, row % 3 ? 1 : 100, (uint64_t)row);
        geodec__cache_put(s, 1, row % 2, row, r, r + dim);
        geodec__cache_key(s, 1, row % 2, row, x[0], 1);
        geodec__cache_value(s, 1, row % 2, row, x[1]);
        for (int side = 0; side < 2; side++) {
            const float *from = r + side * dim;
            float top = 0, error = 0;
            for (int64_t d = 0; d < dim; d++) top = fabsf(from[d]) > fabsf(top) ? from[d] : top;
            const float step = fabsf(top) / 8 * 1.004f; /* the scale is rounded to eight bits */
            for (int64_t d = 0; d < dim; d++) {
                const float off = fabsf(x[side][d] - from[d]);
                /* of the other sign than the largest, 7 steps are the most */
                const float room = from[d] * top < 0 && fabsf(from[d]) > 7 * step ? step : step / 2;
                cr_assert(off <= room * 1.01f, "row %d side %d: %g became %g, largest %g", row, side, (double)from[d],
                          (double)x[side][d], (double)top);
                error += off;
            }
            cr_assert(error > 0);
        }
        geodec_mem_free(r);
    }
    const float zero[20] = {0};
    geodec__cache_put(s, 0, 0, 3, zero, zero);
    geodec__cache_value(s, 0, 0, 3, x[1]);
    for (int64_t d = 0; d < dim; d++) cr_assert_eq(x[1][d], 0);
    /* half a byte a number and two for each group of 32, in whole lines */
    cr_assert_eq(geodec_session_kv_bytes(s), m->config.n_layer * m->config.n_kv_head * (2 * 10 + 2 * 2));
    geodec_session_destroy(s);
    geodec_model_close(m);
}

Test(lowkv, refusals)
{
    geodec_err err = {0};
    geodec_kv_factors f;
    float *dense[2] = {0};
    geodec_model *m = open_model(0);
    make_factors(&m->config, 2, &f, dense);
    geodec_kv_factors bad = f;
    bad.k_group = 3;
    cr_assert_eq(geodec_model_kv_factor(m, &bad, false, &err), GEODEC_RANGE);
    bad = f;
    bad.v_rank = 2 * m->config.head_dim + 1;
    cr_assert_eq(geodec_model_kv_factor(m, &bad, false, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_model_kv_factor(m, &(geodec_kv_factors){0}, false, &err), GEODEC_RANGE);
    const float kept = f.v_in[3];
    ((float *)(uintptr_t)f.v_in)[3] = (float)NAN;
    cr_assert_eq(geodec_model_kv_factor(m, &f, false, &err), GEODEC_NUMERIC);
    ((float *)(uintptr_t)f.v_in)[3] = kept;
    cr_assert(!m->low);
    geodec_err_clear(&err);
    test_ok(geodec_model_kv_factor(m, &f, false, &err), &err);
    cr_assert_eq(geodec_model_kv_factor(m, &f, false, &err), GEODEC_INVAL);
    geodec_model_close(m);
    free_factors(&f, dense);
}
