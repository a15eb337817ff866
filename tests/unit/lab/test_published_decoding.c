/* The published runtime's counters, and its rule for the length of drafts. */
#include "base/rng.h"
#include "decode/toy.h"
#include "lab/published/decoding.h"
#include "lab/published/lengths.h"
#include "support/support.h"

#include <criterion/criterion.h>

/* Any model, any prompt: 30/64 = 46.9 % and 5/13 = 38.5 %, a pass a token. */
Test(published_decoding, rates_follow_from_the_number_of_tokens)
{
    for (int kind = TOY_HISTORY; kind <= TOY_STOP; kind++)
        for (uint64_t seed = 0; seed < 8; seed++) {
            toy t;
            geodec_err err = {0};
            geodec_counters_published c;
            const int32_t prompt[3] = {(int32_t)seed, 5, 2};
            const geodec_target target = toy_target(&t, (toy_kind)kind, seed, 100);
            test_ok(geodec_decoding_published_replay(&target, prompt, 3, 64, &c, &err), &err);
            cr_assert(c.geo_accepted == 30 && c.xfmr == 34 && c.tokens == 64);
            cr_assert_eq(c.target_passes, 64, "nothing is saved");
            cr_assert_float_eq(100 * c.acceptance, 46.875, 0);
            test_ok(geodec_decoding_published_replay(&target, prompt, 3, 13, &c, &err), &err);
            cr_assert(c.geo_accepted == 5 && c.xfmr == 8);
            cr_assert_float_eq(100 * c.acceptance, 38.46, 0.005);
            for (int64_t n = 1; n < 40; n++) { /* the closed form of the header */
                test_ok(geodec_decoding_published_replay(&target, prompt, 3, n, &c, &err), &err);
                cr_assert_eq(c.geo_accepted, n > 4 ? (n - 3) / 2 : 0);
            }
        }
}

Test(published_decoding, counters_refuse_what_does_not_fit)
{
    toy t;
    geodec_err err = {0};
    geodec_counters_published c;
    int32_t prompt[3] = {1, 2, 3};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 1, 10);
    cr_assert_eq(geodec_decoding_published_replay(&target, prompt, 3, 8, &c, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_decoding_published_replay(&target, prompt, 0, 3, &c, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_decoding_published_replay(&target, prompt, 3, 0, &c, &err), GEODEC_INVAL);
    prompt[1] = TOY_VOCAB;
    cr_assert_eq(geodec_decoding_published_replay(&target, prompt, 3, 3, &c, &err), GEODEC_RANGE);
}

/* Computed by hand: windows of four rounds, and the condition to draft again after length 0. */
Test(published_decoding, lengths_follow_the_share_accepted)
{
    geodec_lengths_published g = geodec_lengths_published_start(3);
    const struct {
        int32_t accepted, then; /* in each of four rounds; length after them */
    } window[] = {{3, 3}, {2, 3}, {1, 2}, {1, 2}, {2, 3}, {0, 0}};
    for (size_t i = 0; i < sizeof window / sizeof *window; i++) {
        for (int k = 0; k < 4; k++) {
            const int32_t n = geodec_lengths_published_ask(&g, 10);
            cr_assert_eq(n, i == 0 ? 3 : window[i - 1].then, "window %zu", i);
            geodec_lengths_published_settle(&g, n, window[i].accepted < n ? window[i].accepted : n);
        }
        cr_assert_eq(g.now, window[i].then, "window %zu: %d", i, g.now);
    }
    for (int probe = 0; probe < 2; probe++) {
        int32_t rounds = 0, n = 0;
        while (n == 0 && rounds++ < 1000) {
            n = geodec_lengths_published_ask(&g, 10);
            geodec_lengths_published_settle(&g, n, probe && n > 0);
        }
        cr_assert(n == 1 && rounds == GEODEC_LENGTHS_PUBLISHED_PROBE, "%d drafts after %d rounds", n, rounds);
        cr_assert_eq(g.now, probe);
    }
    cr_assert_eq(geodec_lengths_published_ask(&g, 0), 0, "no more than there is room for");
    for (int k = 0; k < 4; k++) geodec_lengths_published_settle(&g, 0, 0);
    cr_assert_eq(g.now, 1, "a silent drafter decides nothing");
}

Test(published_decoding, lengths_leave_the_output_alone)
{
    for (int foe = 0; foe < HOSTILE_KINDS; foe++)
        for (uint64_t mode = 0; mode < 2; mode++) {
            static int32_t plain[400];
            int32_t prompt[4];
            toy t, reference;
            hostile h;
            geodec_err err = {0};
            geodec_end end;
            geodec_decoded got;
            geodec_drafter *d;
            geodec_decode_options o = geodec_decode_options_default();
            o.gamma = 5;
            o.max_tokens = 200;
            o.sampling.temperature = mode ? 0.8 : 0;
            for (int i = 0; i < 4; i++) prompt[i] = (int32_t)(geodec_rng_at(mode, 3, (uint64_t)i) % TOY_VOCAB);
            toy_target(&reference, TOY_HISTORY, 5, 300);
            const geodec_target target = toy_target(&t, TOY_HISTORY, 5, 300);
            const int64_t n = toy_plain(&reference, prompt, 4, &o, plain, &end);
            geodec_drafter *inner = hostile_make(&h, (hostile_kind)foe, &reference, 5, plain, n, 4, -1);
            test_ok(geodec_decoding_published_drafter_create(5, inner, &d, &err), &err);
            test_ok(geodec_decode(&target, prompt, 4, d, &o, &got, &err), &err);
            cr_assert_eq(got.n, n);
            for (int64_t i = 0; i < n; i++) cr_assert_eq(got.token[i], plain[i], "drafter %d, token %d", foe, (int)i);
            const geodec_decode_counters c = got.counters;
            if (foe == HOSTILE_ORACLE) cr_assert_eq(c.length[5], (200 + 5) / 6 - (200 % 6 != 0));
            if (foe == HOSTILE_WRONG) { /* four rounds of five drafts, then a probe in 64 */
                cr_assert_eq(c.length[5], 4);
                cr_assert_eq(c.length[1], (200 - 4) / GEODEC_LENGTHS_PUBLISHED_PROBE);
                cr_assert_eq(c.length[0], 200 - 4 - c.length[1]);
            }
            geodec_decode_free(&got);
            geodec_drafter_destroy(d);
        }
}
