/* Records of runs: true ones hold however they are checked, any change is found. */
#include "attest/attest.h"
#include "engine/toy_engine.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { PROMPT = 5, OUTPUTS = 24, CONTEXT = PROMPT + OUTPUTS + 1 };
#if defined(GEODEC_DEBUG)
enum { RECORDS = 60, CHANGES = 150 };
#else
enum { RECORDS = 250, CHANGES = 1000 };
#endif
static const char MODEL[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static geodec_attest make(const geodec_network *n, uint64_t seed)
{
    geodec_err err = {0};
    geodec_attest a = {.temperature = seed % 3 ? 0.5 + (double)(seed % 5) / 4 : 0,
                       .top_p = seed % 2 ? 1 : 0.9,
                       .top_k = seed % 4 == 1 ? 9 : 0,
                       .seed = seed,
                       .n_prompt = PROMPT};
    memcpy(a.model, MODEL, sizeof MODEL);
    a.prompt = geodec_mem_new(PROMPT, sizeof *a.prompt);
    for (int i = 0; i < PROMPT; i++) a.prompt[i] = (int32_t)(geodec_rng_at(seed, 8, (uint64_t)i) % TOY_VOCAB);
    geodec_engine *e = toy_engine(n, CONTEXT, GEODEC_ISA_AUTO, NULL);
    test_ok(geodec_attest_run(e, TOY_VOCAB, OUTPUTS, -1, NULL, &a, NULL, &err), &err);
    geodec_engine_destroy(e);
    return a;
}

static geodec_attest_result check_with(const geodec_network *n, const geodec_attest *a, int32_t rows, int32_t sample,
                                       geodec_isa isa, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_attest_result r;
    const geodec_attest_check how = {.model = MODEL, .sample = sample, .seed = 3, .rows = rows};
    geodec_engine *e = toy_engine(n, CONTEXT, isa, pool);
    test_ok(geodec_attest_verify(e, TOY_VOCAB, a, &how, &r, NULL, &err), &err);
    geodec_engine_destroy(e);
    return r;
}

Test(attest, true_records_hold)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (uint64_t seed = 0; seed < RECORDS; seed++) {
        geodec_network *n = toy_network(seed / 97, seed % 2 ? 5 : 0);
        geodec_attest a = make(n, seed);
        static const int32_t rows[] = {1, 7, 64};
        for (int isa = GEODEC_ISA_SCALAR; isa <= GEODEC_ISA_AVX512; isa++) {
            if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
            const geodec_attest_result r = check_with(n, &a, rows[(seed + (uint64_t)isa) % 3], seed % 4 ? 0 : 6,
                                                      (geodec_isa)isa, seed % 3 ? pool : NULL);
            cr_assert_eq(r.verdict, GEODEC_ATTEST_HOLDS, "seed %d: %s", (int)seed,
                         geodec_attest_verdict_text(r.verdict));
            cr_assert_eq(r.checked, seed % 4 ? OUTPUTS : 6);
            cr_assert_eq(r.at, -1);
        }
        geodec_attest_clear(&a);
        geodec_network_free(n);
    }
    geodec_pool_destroy(pool);
}

/* One change each: a token, a link, a token with its link made anew from other logits, the prompt, a setting. */
Test(attest, changes_are_found)
{
    geodec_network *n = toy_network(1, 0), *other = toy_network(2, 0);
    int found[5] = {0};
    for (uint64_t i = 0; i < CHANGES; i++) {
        geodec_attest a = make(n, 40 + i % 7);
        const int32_t at = (int32_t)(geodec_rng_at(5, 1, i) % OUTPUTS);
        geodec_attest_verdict wanted = GEODEC_ATTEST_TOKEN;
        switch (i % 5) {
        case 0:
            a.token[at] = (a.token[at] + 1 + (int32_t)(i % 50)) % TOY_VOCAB;
            break;
        case 1:
            a.link[at + 1][i % 32] ^= (uint8_t)(1 << i % 8);
            wanted = GEODEC_ATTEST_LOGITS;
            break;
        case 2:
            a.prompt[i % PROMPT] = (a.prompt[i % PROMPT] + 1) % TOY_VOCAB;
            wanted = GEODEC_ATTEST_HEADER;
            break;
        case 3:
            a.seed++;
            wanted = GEODEC_ATTEST_HEADER;
            break;
        default: { /* a whole run of another model, under this one's name */
            geodec_attest_clear(&a);
            a = make(other, 40 + i % 7);
            wanted = GEODEC_ATTEST_NOT_CHECKED;
        }
        }
        const geodec_attest_result r = check_with(n, &a, 64, 0, GEODEC_ISA_AUTO, NULL);
        cr_assert_neq(r.verdict, GEODEC_ATTEST_HOLDS, "change %d", (int)i);
        if (wanted != GEODEC_ATTEST_NOT_CHECKED)
            cr_assert_eq(r.verdict, wanted, "change %d: %s", (int)i, geodec_attest_verdict_text(r.verdict));
        if (i % 5 < 2) cr_assert_eq(r.at, at, "change %d", (int)i);
        found[i % 5]++;
        geodec_attest_clear(&a);
    }
    for (int k = 0; k < 5; k++) cr_assert_eq(found[k], CHANGES / 5);
    geodec_network_free(n);
    geodec_network_free(other);
}

Test(attest, one_bit_of_a_weight_is_found)
{
    geodec_network *n = toy_network(3, 0);
    geodec_attest a = make(n, 44);
    geodec_network *m = toy_network(3, 0);
    m->layer[1].attn_norm.v[5] ^= 1 << 12; /* 4e-6 of a norm's weight */
    const geodec_attest_result r = check_with(m, &a, 64, 0, GEODEC_ISA_AUTO, NULL);
    cr_assert(r.verdict == GEODEC_ATTEST_LOGITS || r.verdict == GEODEC_ATTEST_TOKEN);
    geodec_attest_clear(&a);
    geodec_network_free(n);
    geodec_network_free(m);
}

Test(attest, files)
{
    geodec_err err = {0};
    geodec_network *n = toy_network(1, 0);
    geodec_attest a = make(n, 43), b;
    const char *path = test_tmp("run.attest.json");
    test_ok(geodec_attest_write(path, &a, "a command", &err), &err);
    test_ok(geodec_attest_read(path, &b, &err), &err);
    cr_assert_eq(check_with(n, &b, 64, 0, GEODEC_ISA_AUTO, NULL).verdict, GEODEC_ATTEST_HOLDS);
    cr_assert_eq(b.n, a.n);
    cr_assert_eq(memcmp(a.link, b.link, (size_t)(a.n + 1) * sizeof *a.link), 0);
    geodec_attest_clear(&b);
    /* cut anywhere, or with any character changed, a file is refused or does not hold, or only its command differs */
    char *text = NULL;
    size_t size = 0;
    FILE *f = fopen(path, "rb");
    text = geodec_mem_new(1 << 16, 1);
    size = fread(text, 1, 1 << 16, f);
    (void)fclose(f);
    const char *begin = strstr(text, "\"model\"");
    cr_assert(begin);
    int refused = 0, unlike = 0;
    for (size_t at = (size_t)(begin - text); at + 4 < size; at += 13) {
        const char old = text[at];
        text[at] = old == '7' ? '8' : '7';
        f = fopen(path, "wb");
        (void)fwrite(text, 1, size, f);
        (void)fclose(f);
        text[at] = old;
        if (geodec_attest_read(path, &b, &err) != GEODEC_OK) {
            refused++;
            continue;
        }
        const bool holds = check_with(n, &b, 64, 0, GEODEC_ISA_AUTO, NULL).verdict == GEODEC_ATTEST_HOLDS;
        cr_assert(!holds || strchr(" \n", old), "byte %zu ('%c')", at, old);
        unlike += !holds;
        geodec_attest_clear(&b);
    }
    cr_assert_gt(refused, 10);
    cr_assert_gt(unlike, 10);
    geodec_mem_free(text);
    geodec_attest_clear(&a);
    geodec_network_free(n);
}
