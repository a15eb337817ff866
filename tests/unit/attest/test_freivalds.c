/* Transcripts and their check: true ones hold, false sums are found, every instruction set gives the same residues. */
#include "attest/attest.h"
#include "attest/freivalds.h"
#include "attest/projection_internal.h"
#include "engine/toy_engine.h"
#include "integer/fixed/wide.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { PROMPT = 5, OUTPUTS = 24, TOKENS = PROMPT + OUTPUTS - 1, CONTEXT = PROMPT + OUTPUTS + 1 };
#if defined(GEODEC_DEBUG)
enum { RUNS = 4, CHANGES = 70, FLIPS = 60 };
#else
enum { RUNS = 40, CHANGES = 300, FLIPS = 1000 };
#endif
static const char MODEL[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static uint64_t random_at(uint64_t seed, uint64_t i) { return geodec_rng_at(seed, 77, i); }

/* ---- sums -------------------------------------------------------------------------------------------------------- */

Test(transcript, sums_come_back)
{
    enum { N = 75 };
    for (int bits = 1; bits <= GEODEC_TRANSCRIPT_BITS; bits++)
        for (int zeros = 0; zeros + bits <= GEODEC_TRANSCRIPT_RANGE; zeros += 1 + bits / 8) {
            int64_t acc[N], back[N];
            uint8_t packed[N * 8];
            for (int i = 0; i < N; i++)
                acc[i] = (int64_t)((uint64_t)((int64_t)random_at((uint64_t)bits, (uint64_t)i) >> (64 - bits)) << zeros);
            acc[7] = (int64_t)((uint64_t)(-((int64_t)1 << (bits - 1))) << zeros); /* the largest magnitude */
            acc[8] = bits > 1 ? (int64_t)1 << zeros : 0;
            geodec_transcript_sums s = {0};
            geodec_transcript_measure(acc, N, &s);
            cr_assert_eq(s.bits, bits);
            cr_assert_eq(s.zeros, zeros);
            geodec_transcript_pack(acc, N, s.bits, s.zeros, packed);
            s.packed = packed;
            geodec_transcript_unpack(&s, N, back);
            cr_assert_eq(memcmp(acc, back, sizeof acc), 0, "%d bits, %d zeros", bits, zeros);
        }
    geodec_transcript_sums s;
    const int64_t none[2] = {0, 0}, wide[2] = {(int64_t)1 << 57, 1}, far[1] = {-((int64_t)1 << 59)};
    geodec_transcript_measure(none, 2, &s);
    cr_assert_eq(s.bits, 1);
    geodec_transcript_measure(wide, 2, &s);
    cr_assert_eq(s.bits, 0, "58 bits of a magnitude are left out");
    geodec_transcript_measure(far, 1, &s);
    cr_assert_eq(s.bits, 0, "and so are sums above 2^58");
}

/* ---- residues ---------------------------------------------------------------------------------------------------- */

static uint64_t mod(__int128 x)
{
    const __int128 q = (__int128)GEODEC__PROJECTION_P;
    const __int128 r = x % q;
    return (uint64_t)(r < 0 ? r + q : r);
}

static bool has(int isa) { return geodec_kernels_isa_available((geodec_isa)isa); }

Test(projection, residues)
{
    const uint64_t p = GEODEC__PROJECTION_P;
    for (uint64_t i = 0; i < 20000; i++) {
        const int cut = (int)(i % 64);
        const int64_t x = i < 8 ? (const int64_t[]){0, 1, -1, INT64_MAX, INT64_MIN, (int64_t)p, -(int64_t)p, 5}[i]
                                : (int64_t)random_at(1, i) >> cut;
        cr_assert_eq(geodec__projection_residue(x), mod(x));
        const uint64_t a = i % 9 ? random_at(2, i) % p : p - 1, b = i % 7 ? random_at(3, i) % p : p - 1;
        cr_assert_eq(geodec__projection_times(a, b), mod((__int128)a * b));
        cr_assert_eq(geodec__projection_plus(a, b), mod((__int128)a + b));
        cr_assert_eq(geodec__projection_minus(a, b), mod((__int128)a - b));
        cr_assert_eq(geodec__projection_join(x >> 2, x >> 3),
                     mod((__int128)(x >> 2) + (__int128)(x >> 3) * ((int64_t)1 << 31)));
        const uint64_t r = random_at(4, i) >> (64 - GEODEC__PROJECTION_BITS);
        const int m = i % 5 ? (int16_t)random_at(5, i) : i % 2 ? 32767 : -32768;
        cr_assert_eq(geodec__projection_residue(geodec__projection_scaled(r, m)), mod((__int128)r * m));
    }
}

static uint64_t *numbers(int64_t n, uint64_t seed)
{
    uint64_t *r = geodec_mem_new((n + 15) / 16 * 16, sizeof *r);
    geodec__projection_scalar.draw(seed, 1, n, r);
    return r;
}

/* A column of the product, from the definition. */
static uint64_t plain_column(const geodec_panels16 *w, const uint64_t *r, int64_t c)
{
    uint64_t u = 0;
    for (int64_t i = 0; i < w->rows; i++) {
        const int code =
            geodec__product_get(geodec__product_codes(w, i / 16, c / 32), w->bits, (int)(i % 16), (int)(c % 32));
        u = mod(u + (__int128)r[i] * code * geodec__product_multipliers(w, i / 16, c / 32)[i % 16]);
    }
    return u;
}

Test(projection, every_set_draws_the_same_numbers)
{
    enum { MOST = 200 };
    static const uint64_t seeds[] = {0, 1, UINT64_MAX, 0x123456789abcdef0};
    for (int64_t n = 1; n <= MOST; n += n % 7 + 1)
        for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
            const uint64_t stream = random_at(11, k + (uint64_t)n);
            for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
                uint64_t r[MOST + 16], wanted = 0;
                if (!has(isa)) continue;
                memset(r, 0xff, sizeof r);
                const uint64_t sum = geodec__projection_for((geodec_isa)isa)->draw(seeds[k], stream, n, r);
                for (int64_t i = 0; i < n; i++) {
                    cr_assert_eq(r[i], geodec_rng_at(seeds[k], stream, (uint64_t)i) >> 4, "set %d number %d", isa,
                                 (int)i);
                    wanted = mod((__int128)wanted + r[i]);
                }
                for (int64_t i = n; i < (n + 15) / 16 * 16; i++) cr_assert_eq(r[i], 0);
                cr_assert_eq(sum, wanted);
                cr_assert_eq(r[(n + 15) / 16 * 16], UINT64_MAX);
            }
        }
}

Test(projection, every_set_gives_the_plain_columns)
{
    static const int64_t shape[][2] = {{1, 1}, {16, 64}, {17, 33}, {100, 200}, {1000, 65}, {40000, 32}};
    for (size_t k = 0; k < sizeof shape / sizeof *shape; k++)
        for (int bits = 4; bits <= 16; bits *= 2) {
            geodec_panels16 *w = toy_matrix(shape[k][0], shape[k][1], bits, 90 + k);
            uint64_t *r = numbers(shape[k][0], k), *u = geodec_mem_new(64 * w->pairs, sizeof *u);
            if (k == 3) r[5] = ((uint64_t)1 << GEODEC__PROJECTION_BITS) - 1;
            for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
                if (!has(isa) || (bits == 16 && isa != GEODEC_ISA_SCALAR)) continue;
                memset(u, 0xff, (size_t)(64 * w->pairs) * sizeof *u);
                geodec__projection_for((geodec_isa)isa)->columns(w, r, 0, w->pairs, u);
                for (int64_t c = 0; c < w->cols; c += k == 5 ? 7 : 1) {
                    const uint64_t whole = geodec__projection_whole(u[c]);
                    cr_assert_eq(whole, plain_column(w, r, c), "set %d bits %d column %lld", isa, bits, (long long)c);
                }
                for (int64_t c = w->cols; c < 64 * w->pairs; c++)
                    cr_assert_eq(u[c], 0, "nothing behind the last column");
            }
            GEODEC_FREE(r, u);
            geodec_coded_free(w);
        }
}

Test(projection, every_set_gives_the_same_input)
{
    static const int64_t blocks[] = {1, 2, 18, 33, 65, 300};
    for (size_t k = 0; k < sizeof blocks / sizeof *blocks; k++) {
        const int64_t n = 32 * blocks[k];
        geodec_rounded_block *block = geodec_mem_new(blocks[k], sizeof *block);
        uint64_t *u = numbers(n, k);
        const geodec_rounded x = {.block = block};
        uint64_t wanted = 0;
        for (int64_t c = 0; c < n; c++) {
            if (k == 3) u[c] = GEODEC__PROJECTION_P - 1;
            block[c / 32].up = (int32_t)(k == 3 ? 8 : random_at(k, (uint64_t)(c / 32)) % 9);
            block[c / 32].v[c % 32] = (int16_t)(k == 3 ? 32639 : (int)(random_at(9 + k, (uint64_t)c) % 65279) - 32639);
            wanted = mod(wanted + (__int128)u[c] * block[c / 32].v[c % 32] * (1 << block[c / 32].up));
            u[c] = geodec__projection_split(u[c]);
        }
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++)
            if (has(isa))
                cr_assert_eq(geodec__projection_for((geodec_isa)isa)->input(u, &x, blocks[k]), wanted, "%d", isa);
        GEODEC_FREE(block, u);
    }
}

Test(projection, every_set_gives_the_same_output)
{
    enum { N = 2500 };
    int64_t acc[N], y[N + 1];
    static uint8_t packed[8 * N];
    int32_t shift[(N + 15) / 16 * 16] = {0};
    uint64_t *r = numbers(N, 8);
    for (int bits = 1; bits <= GEODEC_TRANSCRIPT_BITS; bits++)
        for (uint64_t k = 0; k < 12; k++) {
            static const int64_t counts[] = {1, 7, 8, 9, 576, N};
            const int zeros =
                (int)(random_at(6, k + 100 * (uint64_t)bits) % (uint64_t)(GEODEC_TRANSCRIPT_RANGE - bits + 1));
            const int64_t n = counts[k % 6];
            uint64_t total = 0, wanted = 0;
            for (int64_t i = 0; i < n; i++) {
                acc[i] = (int64_t)((uint64_t)((int64_t)random_at(k, (uint64_t)i) >> (64 - bits)) << zeros);
                shift[i] = (int32_t)(random_at(7, (uint64_t)i) % 6);
                total = mod((__int128)total + r[i]);
                wanted = mod(wanted + (__int128)r[i] * acc[i]);
            }
            geodec_transcript_pack(acc, n, bits, zeros, packed);
            const geodec_transcript_sums s = {packed, bits, zeros};
            for (int base = -30; base <= 70; base += 10) {
                const geodec__projection_finish f = {shift, 0, base};
                for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
                    if (!has(isa)) continue;
                    y[n] = 4711;
                    cr_assert_eq(geodec__projection_for((geodec_isa)isa)->output(&s, r, total, n, &f, y, NULL), wanted,
                                 "set %d, %d bits, %d zeros, %d sums", isa, bits, zeros, (int)n);
                    for (int64_t i = 0; i < n; i++)
                        cr_assert_eq(y[i], geodec_wide_shift(acc[i], base + shift[i]),
                                     "set %d, %d bits, %d zeros, base %d: %lld", isa, bits, zeros, base,
                                     (long long)y[i]);
                    cr_assert_eq(y[n], 4711);
                }
            }
        }
    geodec_mem_free(r);
}

Test(freivalds, bounds)
{
    enum { COLS = GEODEC_CODED_COLS };
    geodec_err err = {0};
    static uint8_t code[COLS];
    static int16_t multiplier[COLS / 32];
    const int16_t shift = 0;
    static const struct {
        int64_t cols;
        int code, multiplier;
        bool bounded;
    } each[] = {{8192, 127, 32767, true},
                /* by its shape */ {COLS, 127, 511, true},
                {COLS, 15, 32767, true},
                {COLS, 127, 32767, false},
                {COLS, 17, 32767, false}};
    for (size_t k = 0; k < sizeof each / sizeof *each; k++) {
        geodec_panels16 *w = NULL;
        memset(code, each[k].code, sizeof code);
        for (int i = 0; i < COLS / 32; i++) multiplier[i] = (int16_t)(i % 2 ? each[k].multiplier : -each[k].multiplier);
        const geodec_coded c = {1, each[k].cols, 8, code, multiplier, &shift};
        test_ok(geodec_coded_pack_in(&c, NULL, &w, &err), &err);
        const double bound = (double)each[k].cols * each[k].code * each[k].multiplier * 0x1p23;
        cr_assert_eq(bound <= 0x1p58, each[k].bounded);
        cr_assert_eq(geodec_freivalds_bounded(w), each[k].bounded, "%d", (int)k);
        geodec_coded_free(w);
    }
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

enum { DENSE, MIXTURE, WIDE_CODES, KINDS };

static geodec_network *network(int kind, uint64_t seed)
{
    geodec_network *n = toy_network(seed, kind == MIXTURE ? 5 : 0);
    for (int i = 0; kind == WIDE_CODES && i < TOY_LAYERS; i++) {
        geodec_panels16 **of[] = {&n->layer[i].q, &n->layer[i].o, &n->layer[i].down};
        for (size_t k = 0; k < 3; k++) {
            geodec_panels16 *w = toy_matrix((*of[k])->rows, (*of[k])->cols, 16, seed + k);
            geodec_coded_free(*of[k]);
            *of[k] = w;
        }
    }
    return n;
}

/* A record on e; sums: its transcript, or NULL. */
static geodec_attest make(geodec_engine *e, uint64_t seed, const char *sums)
{
    geodec_err err = {0};
    geodec_attest a = {.temperature = seed % 2 ? 0.8 : 0, .top_p = 1, .seed = seed, .n_prompt = PROMPT};
    memcpy(a.model, MODEL, sizeof MODEL);
    a.prompt = geodec_mem_new(PROMPT, sizeof *a.prompt);
    for (uint64_t i = 0; i < PROMPT; i++) a.prompt[i] = (int32_t)(geodec_rng_at(seed, 8, i) % TOY_VOCAB);
    geodec_engine_truncate(e, 0);
    test_ok(geodec_attest_run(e, TOY_VOCAB, OUTPUTS, -1, sums, &a, NULL, &err), &err);
    return a;
}

static geodec_attest_check how_of(const char *sums, uint64_t secret)
{
    return (geodec_attest_check){.model = MODEL, .seed = 3, .rows = 64, .transcript = sums, .secret = secret};
}

static geodec_attest_result verify(geodec_engine *e, const geodec_attest *a, const geodec_attest_check *how)
{
    geodec_err err = {0};
    geodec_attest_result r;
    geodec_engine_truncate(e, 0);
    test_ok(geodec_attest_verify(e, TOY_VOCAB, a, how, &r, NULL, &err), &err);
    return r;
}

Test(freivalds, true_transcripts_hold)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    const char *sums = test_tmp("run.sums");
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (uint64_t i = 0; i < RUNS; i++) {
        geodec_network *n = network((int)(i % KINDS), i);
        geodec_engine *e =
            toy_engine(n, CONTEXT, i % 4 == 1 ? GEODEC_ISA_SCALAR : GEODEC_ISA_AUTO, i % 2 ? pool : NULL);
        geodec_attest a = make(e, i, sums), plain = make(e, i, NULL);
        cr_assert_eq(memcmp(a.link, plain.link, (OUTPUTS + 1) * sizeof *a.link), 0, "the transcript changes nothing");
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            if (!has(isa)) continue;
            geodec_engine *other = toy_engine(n, CONTEXT, (geodec_isa)isa, isa == GEODEC_ISA_AVX2 ? pool : NULL);
            geodec_attest_check how = how_of(sums, 1 + i);
            how.rows = (const int32_t[]){1, 7, 64}[(i + (uint64_t)isa) % 3];
            how.sample = i % 5 == 4 ? 6 : 0;
            how.hash = i % 2;
            const geodec_attest_result r = verify(other, &a, &how);
            cr_assert_eq(r.verdict, GEODEC_ATTEST_HOLDS, "%d: %s", (int)i, geodec_attest_verdict_text(r.verdict));
            cr_assert_eq(r.recomputed, 0);
            /* every token but the last output has all products but the head, which those of the prompt do not have */
            const int64_t layer = i % KINDS == MIXTURE ? 5 + 3 * 2 : 7;
            if (how.sample == 0) cr_assert_eq(r.products, TOKENS * TOY_LAYERS * layer + OUTPUTS);
            geodec_engine_destroy(other);
        }
        const geodec_attest_check how = how_of(sums, 5);
        cr_assert_neq(verify(e, &plain, &how).verdict, GEODEC_ATTEST_HOLDS, "a record that names no transcript");
        geodec_attest_clear(&plain);
        geodec_attest_clear(&a);
        geodec_engine_destroy(e);
        geodec_network_free(n);
    }
    geodec_pool_destroy(pool);
}

/* Changes of the record are found as without a transcript. */
Test(freivalds, changes_of_the_record_are_found)
{
    const char *sums = test_tmp("run.sums");
    geodec_network *n = network(DENSE, 1);
    geodec_engine *e = toy_engine(n, CONTEXT, GEODEC_ISA_AUTO, NULL);
    geodec_attest a = make(e, 1, sums);
    const geodec_attest_check how = how_of(sums, 9);
    for (int32_t at = 0; at < OUTPUTS; at++) {
        const int32_t token = a.token[at];
        a.token[at] = (token + 1 + at) % TOY_VOCAB;
        geodec_attest_result r = verify(e, &a, &how);
        cr_assert_eq(r.verdict, GEODEC_ATTEST_TOKEN);
        cr_assert_eq(r.at, at);
        a.token[at] = token;
        a.link[at + 1][at] ^= 4;
        r = verify(e, &a, &how);
        cr_assert_eq(r.verdict, GEODEC_ATTEST_LOGITS);
        cr_assert_eq(r.at, at);
        a.link[at + 1][at] ^= 4;
    }
    a.transcript[3] ^= 1;
    cr_assert_eq(verify(e, &a, &how).verdict, GEODEC_ATTEST_HOLDS, "the hash is compared on request");
    geodec_attest_check strict = how;
    strict.hash = true;
    cr_assert_eq(verify(e, &a, &strict).verdict, GEODEC_ATTEST_TRANSCRIPT);
    a.transcript_size++;
    cr_assert_eq(verify(e, &a, &how).verdict, GEODEC_ATTEST_TRANSCRIPT);
    geodec_attest_clear(&a);
    a = make(e, 3, NULL); /* another run */
    a.transcript_size = 1;
    cr_assert_eq(verify(e, &a, &how).verdict, GEODEC_ATTEST_TRANSCRIPT);
    geodec_attest_clear(&a);
    geodec_engine_destroy(e);
    geodec_network_free(n);
}

/* ---- false sums -------------------------------------------------------------------------------------------------- */

enum { ADD_ONE, ADD_POWER, FLIP_SIGN, SWAP, EARLIER, ADD_PRIME, LEAVE_OUT, CHANGES_OF_KIND };

/* A prover that changes one product and goes on from the changed sums: tokens and links are those of a false run. */
typedef struct liar {
    geodec_transcript_writer *w;
    const geodec_network *net;
    int kind;
    int64_t token, product, row; /* to change */
    int64_t pass, at[64];        /* first token of the pass; products so far of each of its rows */
    int64_t rows;
    int64_t earlier[256]; /* the same product of the token before */
    int64_t changed;
} liar;

static bool change(liar *l, int64_t *acc, int64_t n)
{
    const int64_t r = l->row % n;
    const int64_t before = acc[r];
    switch (l->kind) {
    case ADD_ONE:
        acc[r] += l->row % 2 ? 1 : -1;
        break;
    case ADD_POWER:
        acc[r] += (int64_t)1 << l->row % 50;
        break;
    case FLIP_SIGN:
        acc[r] = -acc[r];
        break;
    case SWAP:
        acc[r] = acc[(r + 1) % n];
        acc[(r + 1) % n] = before;
        break;
    case EARLIER:
        memcpy(acc, l->earlier, (size_t)n * sizeof *acc);
        break;
    case ADD_PRIME:
        acc[r] += (int64_t)GEODEC__PROJECTION_P * (acc[r] < 0 ? 1 : -1);
        break;
    default:
        l->changed++;
        return false;
    }
    l->changed += acc[r] != before;
    return true;
}

static void lie(void *ctx, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool)
{
    liar *l = ctx;
    geodec_err err = {0};
    (void)pool;
    for (const geodec_engine_product *j = job; j < job + jobs; j++) {
        const int64_t panels = (j->w->rows + 15) / 16;
        if (j->n > l->rows) l->rows = j->n;
        geodec__product_sums(&geodec__product_scalar, j->w, 0, panels, j->x, j->n, j->y);
        for (int64_t i = 0; i < j->n; i++) {
            const int32_t row = j->row ? j->row[i] : (int32_t)i;
            const int64_t token = l->pass + row, product = l->at[row]++;
            int64_t *y = j->y[i];
            bool given = true;
            if (product == l->product && token == l->token) given = change(l, y, j->w->rows);
            if (product == l->product && token == l->token - 1) memcpy(l->earlier, y, (size_t)j->w->rows * sizeof *y);
            cr_assert(geodec_transcript_add(l->w, row, given ? y : NULL, j->w->rows));
            for (int64_t p = 0; p < panels; p++) geodec__product_finish(j->w, p, j->x[i], y + 16 * p, y);
        }
    }
    if (job->w != l->net->head) return;
    test_ok(geodec_transcript_flush(l->w, (int32_t)l->rows, &err), &err);
    l->pass += l->rows;
    l->rows = 0;
    memset(l->at, 0, sizeof l->at);
}

Test(freivalds, false_sums_are_found)
{
    geodec_err err = {0};
    const char *sums = test_tmp("run.sums");
    int found[CHANGES_OF_KIND] = {0}, refused = 0;
    int64_t done = 0;
    for (uint64_t i = 0; done < CHANGES; i++) {
        const int kind = (int)(i % CHANGES_OF_KIND);
        geodec_network *n = network((int)(i % KINDS), i % 11);
        geodec_engine *e = toy_engine(n, CONTEXT, GEODEC_ISA_AUTO, NULL);
        geodec_attest base = make(e, i % 13, NULL);
        liar l = {.net = n, .kind = kind};
        const uint64_t products = TOY_LAYERS * (i % KINDS == MIXTURE ? 11 : 7);
        l.token = (int64_t)(1 + random_at(20, i) % (TOKENS - 1));
        l.product = (int64_t)(random_at(21, i) % (products + (l.token >= PROMPT - 1)));
        l.row = (int64_t)(random_at(22, i) % 1000);
        test_ok(geodec_transcript_create(sums, base.link[0], 64, &l.w, &err), &err);
        geodec_engine_replace_products(e, lie, &l);
        geodec_attest a = make(e, i % 13, NULL);
        test_ok(geodec_transcript_commit(l.w, &a.transcript_size, a.transcript, &err), &err);
        geodec_transcript_abandon(l.w);
        geodec_attest_check how = how_of(sums, 1 + i);
        how.rows = i % 2 ? 64 : 9;
        const geodec_attest_result r = verify(e, &a, &how);
        if (kind == LEAVE_OUT) {
            cr_assert_eq(r.verdict, GEODEC_ATTEST_HOLDS);
            cr_assert_eq(r.recomputed, 1);
            found[kind]++;
        } else if (l.changed && (kind != ADD_PRIME || memcmp(a.link, base.link, (OUTPUTS + 1) * sizeof *a.link) != 0)) {
            /* above 2^58 sums are left out and computed again: found unless the change had no effect on the run */
            cr_assert_neq(r.verdict, GEODEC_ATTEST_HOLDS, "change %d of kind %d", (int)i, kind);
            if (kind != ADD_PRIME) {
                cr_assert_eq(r.verdict, GEODEC_ATTEST_SUMS, "%s", geodec_attest_verdict_text(r.verdict));
                cr_assert_eq(r.at, l.token < PROMPT ? 0 : l.token - PROMPT + 1);
            } else {
                refused += r.recomputed > 0;
            }
            done++;
            found[kind]++;
        }
        geodec_attest_clear(&a);
        geodec_attest_clear(&base);
        geodec_engine_destroy(e);
        geodec_network_free(n);
    }
    for (int k = 0; k < CHANGES_OF_KIND; k++) cr_assert_gt(found[k], CHANGES / 20);
    cr_assert_eq(refused, found[ADD_PRIME]);
}

/* Any flipped bit of a file and any cut is refused or found. */
Test(freivalds, damaged_files)
{
    geodec_err err = {0};
    const char *sums = test_tmp("run.sums");
    geodec_network *n = network(MIXTURE, 2);
    geodec_engine *e = toy_engine(n, CONTEXT, GEODEC_ISA_AUTO, NULL);
    geodec_attest a = make(e, 4, sums);
    uint8_t *data = geodec_mem_new(a.transcript_size, 1);
    FILE *f = fopen(sums, "rb");
    cr_assert_eq(fread(data, 1, (size_t)a.transcript_size, f), (size_t)a.transcript_size);
    (void)fclose(f);
    int refused = 0, wrong = 0;
    for (uint64_t i = 0; i < 2 * FLIPS; i++) {
        const size_t size = (size_t)a.transcript_size, at = i < 100 ? i : random_at(30, i) % size;
        const bool cut = i % 2;
        data[at] ^= (uint8_t)(1 << i / 2 % 8);
        f = fopen(sums, "wb");
        (void)fwrite(data, 1, cut ? at : size, f);
        (void)fclose(f);
        data[at] ^= (uint8_t)(1 << i / 2 % 8);
        geodec_attest_result r = {0};
        const geodec_attest_check how = how_of(sums, 1 + i);
        geodec_attest b = a;
        if (cut) b.transcript_size = (int64_t)at;
        geodec_engine_truncate(e, 0);
        if (geodec_attest_verify(e, TOY_VOCAB, &b, &how, &r, NULL, &err) != GEODEC_OK) {
            cr_assert_eq(err.status, GEODEC_FORMAT);
            refused++;
            continue;
        }
        cr_assert_neq(r.verdict, GEODEC_ATTEST_HOLDS, "%s %d", cut ? "cut at" : "flip in byte", (int)at);
        wrong++;
    }
    cr_assert_gt(refused, FLIPS / 2);
    cr_assert_gt(wrong, FLIPS / 2);
    geodec_mem_free(data);
    geodec_attest_clear(&a);
    geodec_engine_destroy(e);
    geodec_network_free(n);
}
