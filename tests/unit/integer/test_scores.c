/* Scores by sums and by transforms: all methods, limits, the engine with transformed keys. */
#include "base/mem.h"
#include "base/rng.h"
#include "engine/toy_network.h"
#include "integer/fixed/mulmod.h"
#include "lab/integer/scores/dots_internal.h"
#include "lab/integer/scores/score_cache.h"
#include "lab/integer/scores/score_cost.h"

#include <criterion/criterion.h>
#include <string.h>

enum { KEYS = 5, MOST = 600 };
static const geodec_scores_by by_transforms[] = {GEODEC_SCORES_NTT_P60, GEODEC_SCORES_NTT_CRT};

static int64_t plain(const int32_t *q, const int32_t *k, int64_t dim)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < dim; i++) sum += (int64_t)q[i] * k[i];
    return sum;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* Number i of a vector of one of several kinds, of at most 16 bits. */
static int32_t number(geodec_rng *r, int kind, int64_t i, int32_t most)
{
    const int32_t random = (int32_t)(geodec_rng_u64(r) % (uint64_t)(2 * most + 1)) - most;
    const int32_t of[] = {random, most, -most - (most == INT16_MAX), i % 2 ? most : -most, i == 0 ? most : 0};
    return of[kind];
}
enum { KINDS = 5 };

static void check_sums(int64_t dim, geodec_isa isa, int kind, uint8_t *blocks[2], bool first)
{
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream((uint64_t)dim, (uint64_t)kind);
    int32_t q[MOST], k[KEYS * MOST], narrow[KEYS];
    int16_t q16[MOST], k16[KEYS * MOST];
    int64_t c[KEYS];
    const bool small = kind == 0 && dim % 2; /* such that 32 bits hold the sums */
    const int32_t most = small ? (int32_t)(INT16_MAX / sqrt((double)dim)) : INT16_MAX;
    for (int64_t i = 0; i < dim; i++) q[i] = q16[i] = (int16_t)number(&r, kind, i, most);
    for (int64_t i = 0; i < KEYS * dim; i++)
        k[i] = k16[i] = (int16_t)number(&r, i / dim ? (kind + (int)(i / dim)) % KINDS : kind, i % dim, most);
    geodec_scores_direct32(isa)(q, k, KEYS, dim, c);
    for (int i = 0; i < KEYS; i++) cr_assert_eq(c[i], plain(q, k + i * dim, dim), "direct32, %d numbers", (int)dim);
    if (small) {
        geodec_scores_direct16(isa)(q16, k16, KEYS, dim, narrow);
        for (int i = 0; i < KEYS; i++) cr_assert_eq(narrow[i], plain(q, k + i * dim, dim));
    }
    for (int b = 0; b < 2; b++) {
        geodec_scores *s = NULL;
        geodec_scores_query *w = NULL;
        const int64_t bytes = geodec_scores_block(dim);
        uint8_t *block = geodec_mem_new(KEYS * bytes, 1);
        test_ok(geodec_scores_create(by_transforms[b], dim, isa, &s, &err), &err);
        test_ok(geodec_scores_query_create(s, &w, &err), &err);
        for (int i = 0; i < KEYS; i++) geodec_scores_key(s, w, k + i * dim, block + i * bytes);
        geodec_scores_load(s, w, q);
        geodec_scores_sums(s, w, block, KEYS, c);
        for (int i = 0; i < KEYS; i++) {
            cr_assert(geodec_scores_exact(by_transforms[b], q, k + i * dim, dim));
            cr_assert_eq(c[i], plain(q, k + i * dim, dim), "%s of %d numbers, kind %d, %s",
                         geodec_scores_name(by_transforms[b]), (int)dim, kind, geodec_kernels_isa_name(isa));
        }
        /* the same words on every instruction set */
        if (first)
            memcpy(blocks[b], block, (size_t)(KEYS * bytes));
        else
            cr_assert_eq(memcmp(blocks[b], block, (size_t)(KEYS * bytes)), 0);
        geodec_mem_free(block);
        geodec_scores_query_destroy(w);
        geodec_scores_destroy(s);
    }
}

Test(scores, every_method_gives_the_sums, .timeout = 120)
{
    static const int64_t more[] = {300, 511, 512, 513, MOST};
    uint8_t *blocks[2];
    for (int b = 0; b < 2; b++) blocks[b] = geodec_mem_new(KEYS * geodec_scores_block(MOST), 1);
    for (int64_t i = 1; i <= 256 + 5; i += i >= 18 && i < 240 ? 9 : 1) {
        const int64_t dim = i <= 256 ? i : more[i - 257];
        for (int kind = 0; kind < KINDS; kind++)
            for (int isa = GEODEC_ISA_AUTO; isa <= GEODEC_ISA_AVX512; isa++)
                if (geodec_kernels_isa_available((geodec_isa)isa) || isa == GEODEC_ISA_AUTO)
                    check_sums(dim, (geodec_isa)isa, kind, blocks, isa == GEODEC_ISA_AUTO);
    }
    GEODEC_FREE(blocks[0], blocks[1]);
}

/* Words at i are A[bitrev(i)], A[k] = sum_j a[j] psi^((2k+1)j), of k*. */
Test(scores, blocks_have_the_order_that_the_header_names)
{
    enum { DIM = 50, N = 64 };
    int32_t k[DIM];
    for (int i = 0; i < DIM; i++) k[i] = (int32_t)(geodec_rng_at(5, 5, (uint64_t)i) % 65535) - 32767;
    cr_assert_eq(geodec_scores_length(DIM), N);
    for (int b = 0; b < 2; b++) {
        geodec_err err = {0};
        geodec_scores *s = NULL;
        geodec_scores_query *w = NULL;
        geodec_modulus_id id[2];
        uint64_t *block = geodec_mem_new(N, sizeof *block);
        test_ok(geodec_scores_create(by_transforms[b], DIM, GEODEC_ISA_AUTO, &s, &err), &err);
        test_ok(geodec_scores_query_create(s, &w, &err), &err);
        geodec_scores_key(s, w, k, block);
        const int moduli = geodec_scores_moduli(by_transforms[b], DIM, id);
        for (int m = 0; m < moduli; m++) {
            const geodec_modulus *q = geodec_modulus_of(id[m]);
            const geodec_mulmod_barrett c = geodec_mulmod_tight(q->q);
            const uint64_t psi = geodec_modulus_root(q, N);
            for (int i = 0; i < N; i++) {
                int reversed = 0;
                for (int bit = 0; bit < 6; bit++) reversed |= (i >> bit & 1) << (5 - bit);
                uint64_t sum = 0;
                for (int j = 0; j < N; j++) {
                    const int64_t a = j == 0 ? k[0] : N - j < DIM ? -(int64_t)k[N - j] : 0;
                    const uint64_t power = geodec_modulus_power(q->q, psi, (uint64_t)((2 * reversed + 1) * j));
                    sum += geodec_mulmod_reduce(&c, geodec_mulmod_product(geodec_modulus_residue(q, a), power), NULL);
                    sum = geodec_mulmod_once(sum, q->q);
                }
                const uint64_t got = moduli == 1 ? block[i] : ((uint32_t *)(void *)block)[m * N + i];
                cr_assert_eq(got, sum, "%s, word %d", q->name, i);
            }
        }
        geodec_mem_free(block);
        geodec_scores_query_destroy(w);
        geodec_scores_destroy(s);
    }
}

/* Parts of sums of the largest words and of random ones: modulo 2^64, modulo p60, and none near 64 bits. */
Test(scores, parts_hold_the_largest_sums)
{
    enum { N = GEODEC__DOTS_MOST };
    uint64_t *a = geodec_mem_new(N, sizeof *a), *b = geodec_mem_new(N, sizeof *b), part[GEODEC__DOTS_WIDE];
    const geodec_modulus *p60 = geodec_modulus_of(GEODEC_MODULUS_P60);
    const geodec_mulmod_barrett c = geodec_mulmod_tight(p60->q);
    static const int weight[GEODEC__DOTS_WIDE] = {0, 32, 30, 62, 60, 92};
    for (int round = 0; round < 4; round++)
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            const geodec__dots_ops *d = geodec__dots_for((geodec_isa)isa);
            if (!d) continue;
            const int64_t n = round % 2 ? N : GEODEC__DOTS_WORDS;
            uint64_t whole = 0, residue = 0, got = 0, rest = 0;
            for (int64_t i = 0; i < n; i++) {
                a[i] = round < 2 ? p60->q - 1 : geodec_rng_at(1, 1, (uint64_t)i) % p60->q;
                b[i] = round < 2 ? p60->q - 1 : geodec_rng_at(1, 2, (uint64_t)i) % p60->q;
                whole += a[i] * b[i];
                residue = (residue + geodec_mulmod_reduce(&c, geodec_mulmod_product(a[i], b[i]), NULL)) % p60->q;
            }
            d->wide(a, b, n, part);
            for (int k = 0; k < GEODEC__DOTS_WIDE; k++) {
                cr_assert_lt(part[k], (uint64_t)1 << 44);
                got += weight[k] < 64 ? part[k] << weight[k] : 0;
                const uint64_t power = geodec_modulus_power(p60->q, 2, (uint64_t)weight[k]);
                rest = (rest + geodec_mulmod_reduce(&c, geodec_mulmod_product(part[k], power), NULL)) % p60->q;
            }
            cr_assert(got == whole && rest == residue, "round %d, %s", round, geodec_kernels_isa_name(d->isa));
            uint32_t *x = (uint32_t *)(void *)a, *y = (uint32_t *)(void *)b;
            whole = 0;
            for (int64_t i = 0; i < n; i++) {
                x[i] = round < 2 ? (1 << 30) - 1 : (uint32_t)(geodec_rng_at(1, 3, (uint64_t)i) >> 34);
                y[i] = round < 2 ? (1 << 30) - 1 : (uint32_t)(geodec_rng_at(1, 4, (uint64_t)i) >> 34);
                whole += (uint64_t)x[i] * y[i];
            }
            d->narrow(x, y, n, part);
            cr_assert(part[0] < (uint64_t)1 << 44 && part[1] < (uint64_t)1 << 44);
            cr_assert_eq(part[0] + (part[1] << 32), whole, "round %d, %s", round, geodec_kernels_isa_name(d->isa));
        }
    GEODEC_FREE(a, b);
}

/* A score at the end of the range is recovered; the next square is not, and becomes the residue nearest to 0. */
Test(scores, range)
{
    enum { DIM = 20 };
    for (int b = 0; b < 2; b++) {
        geodec_err err = {0};
        geodec_scores *s = NULL;
        geodec_scores_query *w = NULL;
        const int64_t range = geodec_scores_range(by_transforms[b], DIM), m = 2 * range + 1;
        uint64_t *block = geodec_mem_new(geodec_scores_length(DIM), sizeof *block);
        int32_t x = (int32_t)floor(sqrt((double)range)), v[DIM] = {0};
        while ((int64_t)x * x > range) x--;
        while (((int64_t)x + 1) * (x + 1) <= range) x++;
        test_ok(geodec_scores_create(by_transforms[b], DIM, GEODEC_ISA_AUTO, &s, &err), &err);
        test_ok(geodec_scores_query_create(s, &w, &err), &err);
        for (int i = 0; i < 3; i++) {
            int64_t c;
            v[7] = i == 2 ? -x - 1 : x + i;
            geodec_scores_key(s, w, v, block);
            v[7] = x + (i > 0);
            geodec_scores_load(s, w, v);
            geodec_scores_sums(s, w, block, 1, &c);
            const int64_t true_score = (int64_t)v[7] * (i == 2 ? -x - 1 : v[7]);
            cr_assert_eq(geodec_scores_exact(by_transforms[b], v, v, DIM), i == 0);
            cr_assert_eq(c, i == 0 ? true_score : i == 1 ? true_score - m : true_score + m);
        }
        cr_assert_eq(geodec_scores_range(GEODEC_SCORES_DIRECT, DIM), INT64_MAX);
        geodec_mem_free(block);
        geodec_scores_query_destroy(w);
        geodec_scores_destroy(s);
    }
}

Test(scores, refusals)
{
    geodec_err err = {0};
    geodec_scores *s = NULL;
    cr_assert_eq(geodec_scores_create(GEODEC_SCORES_DIRECT, 64, GEODEC_ISA_AUTO, &s, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_scores_create(GEODEC_SCORES_NTT_P60, 0, GEODEC_ISA_AUTO, &s, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_scores_create(GEODEC_SCORES_NTT_CRT, GEODEC_SCORES_MOST + 1, GEODEC_ISA_AUTO, &s, &err),
                 GEODEC_INVAL);
    cr_assert_null(s);
}

/* ---- the engine -------------------------------------------------------------------------------------------------- */

enum { CONTEXT = 96, BATCH = 24 };

typedef struct side { /* an engine, with or without transformed keys */
    geodec_engine *e;
    geodec_keys *keys;
    geodec_score_cache *cache;
} side;

static side open_side(const geodec_network *n, geodec_scores_by by, geodec_isa isa, geodec_pool *pool)
{
    geodec_err err = {0};
    side s = {0};
    const geodec_network_config *c = &n->config;
    if (by != GEODEC_SCORES_DIRECT) {
        test_ok(geodec_keys_create(by, c->head_dim, c->n_layer, c->n_kv_head, CONTEXT, &s.keys, &err), &err);
        test_ok(geodec_score_cache_create(s.keys, geodec_pool_threads(pool), isa, &s.cache, &err), &err);
    }
    const geodec_engine_options o = {.n_ctx = CONTEXT,
                                     .max_batch = BATCH,
                                     .isa = isa,
                                     .pool = pool,
                                     .scores = s.cache ? geodec_score_cache_engine(s.cache) : NULL};
    test_ok(geodec_engine_create(n, &o, &s.e, &err), &err);
    return s;
}

static void close_side(side *s)
{
    geodec_engine_destroy(s->e);
    geodec_score_cache_destroy(s->cache);
    geodec_keys_destroy(s->keys);
}

/* Random chains and trees, of which a path is kept, and truncations: the same logits. */
static void check_course(side *a, side *b, uint64_t seed)
{
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(seed, 9);
    int32_t *x = geodec_mem_new(BATCH * TOY_VOCAB, sizeof *x), *y = geodec_mem_new(BATCH * TOY_VOCAB, sizeof *y);
    for (int step = 0; step < 40; step++) {
        const int32_t base = geodec_engine_length(a->e), left = CONTEXT - base,
                      n = 1 + (int32_t)geodec_rng_below(&r, BATCH);
        if (left < n) {
            const int32_t to = (int32_t)geodec_rng_below(&r, (uint64_t)base);
            geodec_engine_truncate(a->e, to);
            geodec_engine_truncate(b->e, to);
            continue;
        }
        int32_t token[BATCH], parent[BATCH], keep[BATCH], kept = 0;
        for (int32_t i = 0; i < n; i++) {
            token[i] = (int32_t)geodec_rng_below(&r, TOY_VOCAB);
            parent[i] = (int32_t)geodec_rng_below(&r, (uint64_t)i + 1) - 1;
        }
        geodec_engine_pass p = {.n = n, .token = token, .parent = step % 2 ? parent : NULL, .logits = x};
        test_ok(geodec_engine_forward(a->e, &p, &err), &err);
        p.logits = y;
        test_ok(geodec_engine_forward(b->e, &p, &err), &err);
        cr_assert_eq(memcmp(x, y, (size_t)n * TOY_VOCAB * sizeof *x), 0, "seed %d, step %d", (int)seed, step);
        if (step % 2 == 0) continue;
        for (int32_t i = (int32_t)geodec_rng_below(&r, (uint64_t)n), j = i; j >= 0; j = parent[j]) kept++;
        int32_t at = kept;
        for (int32_t j = n - 1; at == kept; j--) { /* the last row whose path has that length */
            int32_t depth = 0;
            for (int32_t k = j; k >= 0; k = parent[k]) depth++;
            for (int32_t k = j; depth == kept && k >= 0; k = parent[k]) keep[--at] = k;
        }
        geodec_engine_compact(a->e, base, keep, kept);
        geodec_engine_compact(b->e, base, keep, kept);
    }
    GEODEC_FREE(x, y);
}

Test(scores, the_engine_has_the_logits_of_direct_sums, .timeout = 120)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (uint64_t seed = 1; seed <= 3; seed++) {
        geodec_network *n = toy_network(seed, seed == 3 ? 4 : 0);
        if (seed > 1) n->layer[seed % 2].window = 7;
        for (int b = 0; b < 2; b++)
            for (int isa = GEODEC_ISA_AUTO; isa <= GEODEC_ISA_AVX512; isa++) {
                if (isa != GEODEC_ISA_AUTO && !geodec_kernels_isa_available((geodec_isa)isa)) continue;
                side direct = open_side(n, GEODEC_SCORES_DIRECT, GEODEC_ISA_SCALAR, NULL);
                side cached = open_side(n, by_transforms[b], (geodec_isa)isa, isa % 2 ? NULL : pool);
                check_course(&direct, &cached, 10 * seed + (uint64_t)isa);
                close_side(&direct);
                close_side(&cached);
            }
        geodec_network_free(n);
    }
    geodec_pool_destroy(pool);
}

/* A wrong key is seen, so the test above compares what it says. */
Test(scores, the_engine_uses_the_stored_keys)
{
    geodec_err err = {0};
    geodec_network *n = toy_network(1, 0);
    side direct = open_side(n, GEODEC_SCORES_DIRECT, GEODEC_ISA_AUTO, NULL),
         cached = open_side(n, GEODEC_SCORES_NTT_P60, GEODEC_ISA_AUTO, NULL);
    int32_t x[TOY_VOCAB], y[TOY_VOCAB];
    const int32_t token[3] = {5, 6, 7};
    geodec_engine_pass p = {.n = 2, .token = token};
    test_ok(geodec_engine_forward(direct.e, &p, &err), &err);
    test_ok(geodec_engine_forward(cached.e, &p, &err), &err);
    ((uint64_t *)(void *)geodec_keys_block(cached.keys, 0, 1))[3] ^= 1;
    p = (geodec_engine_pass){.n = 1, .token = token + 2, .logits = x};
    test_ok(geodec_engine_forward(direct.e, &p, &err), &err);
    p.logits = y;
    test_ok(geodec_engine_forward(cached.e, &p, &err), &err);
    cr_assert_neq(memcmp(x, y, sizeof x), 0);
    close_side(&direct);
    close_side(&cached);
    geodec_network_free(n);
}

/* ---- cost -------------------------------------------------------------------------------------------------------- */

Test(scores, cost_has_every_method_and_all_are_exact)
{
    geodec_err err = {0};
    geodec_score_cost_row row[GEODEC_SCORE_COST_ROWS];
    geodec_score_cost_options o = {.dim = 65, .context = 40, .rounds = 1, .stream_bytes = 1 << 20, .seed = 1};
    test_ok(geodec_score_cost_measure(&o, row, &err), &err);
    int streamed = 0;
    for (int i = 0; i < GEODEC_SCORE_COST_ROWS; i++) {
        cr_assert(row[i].exact, "%s", row[i].method);
        cr_assert_gt(row[i].ns, 0);
        cr_assert_float_eq(row[i].ratio, row[i].ns / row[strcmp(row[i].state, "hot") != 0].ns, 1e-12);
        streamed += strcmp(row[i].state, "streamed") == 0;
        if (strcmp(row[i].method, "direct-int16") == 0) cr_assert_eq(row[i].multiplications, 65);
        if (strcmp(row[i].method, "ntt-p60") == 0) cr_assert_eq(row[i].multiplications, 128);
        if (strcmp(row[i].method, "ntt-crt") == 0) cr_assert_eq(row[i].multiplications, 256);
        if (strcmp(row[i].method, "key-crt") == 0) cr_assert_eq(row[i].multiplications, 2 * 64 * 7);
    }
    cr_assert_eq(streamed, 6);
    o.dim = 0;
    cr_assert_eq(geodec_score_cost_measure(&o, row, &err), GEODEC_INVAL);
}
