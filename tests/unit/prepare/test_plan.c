/* Size of the text for drafting artifacts: the closed form of the rule. */
#include "prepare/plan.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static geodec_prepare_plan plan(double seconds, double sample, double read, int32_t n_ctx, int64_t available)
{
    geodec_err err = {0};
    geodec_prepare_plan out;
    const geodec_prepare_speed speed = {sample, read};
    test_ok(geodec_prepare_plan_make(seconds, &speed, n_ctx, available, &out, &err), &err);
    return out;
}

Test(plan, the_time_is_shared_between_writing_and_reading)
{
    /* 70 s at 1/1000 + 1/5000 seconds a token. */
    geodec_prepare_plan p = plan(100, 1000, 5000, 512, 0);
    cr_assert_eq(p.text_tokens, 0);
    cr_assert_leq(llabs(p.sample_tokens - 58333), 1);
    cr_assert_eq(p.length, 256);
    /* 20000 tokens of text are read in 4 s; the rest of the time is for samples. */
    p = plan(100, 1000, 5000, 512, 20000);
    cr_assert_eq(p.text_tokens, 20000);
    cr_assert_leq(llabs(p.sample_tokens - 55000), 1);
    /* More text than the time reads: no samples. */
    p = plan(10, 1000, 5000, 512, 1000000);
    cr_assert_eq(p.text_tokens, 35000);
    cr_assert_eq(p.sample_tokens, 0);
}

Test(plan, tables_have_a_largest_size)
{
    geodec_prepare_plan p = plan(1e6, 1000, 5000, 512, 0);
    cr_assert_eq(p.sample_tokens, GEODEC_PREPARE_TOKENS_MAX);
    p = plan(1e6, 1000, 5000, 512, 96608);
    cr_assert_eq(p.text_tokens, 96608);
    cr_assert_eq(p.sample_tokens, 100000);
    p = plan(1e6, 1000, 5000, 512, 1 << 30);
    cr_assert_eq(p.text_tokens, GEODEC_PREPARE_TOKENS_MAX);
    cr_assert_eq(p.sample_tokens, 0);
}

Test(plan, texts_are_as_long_as_context_and_their_number_allow)
{
    cr_assert_eq(plan(1e4, 1000, 5000, 64, 0).length, 64);
    cr_assert_eq(plan(1e4, 1000, 5000, 32, 0).length, 32);
    cr_assert_eq(plan(1e4, 1000, 5000, 128, 0).length, 128);
    cr_assert_eq(plan(1e4, 0, 5000, 512, 1600).length, 100); /* 16 texts */
    cr_assert_eq(plan(1e4, 0, 5000, 512, 1024).length, 64);  /* not below */
}

Test(plan, too_little_is_not_measured)
{
    geodec_prepare_plan out = {.length = -1};
    const geodec_prepare_speed slow = {1, 50}, mute = {0, 5000}, none = {100, 0};
    geodec_err err = {0};
    cr_assert_eq(geodec_prepare_plan_make(60, &slow, 512, 0, &out, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_prepare_plan_make(60, &mute, 512, 1023, &out, &err), GEODEC_SCARCE);
    cr_assert_eq(geodec_prepare_plan_make(60, &none, 512, 0, &out, &err), GEODEC_RANGE);
    cr_assert_eq(geodec_prepare_plan_make(0, &slow, 512, 0, &out, &err), GEODEC_RANGE);
    cr_assert_eq(out.length, -1);
    cr_assert_eq(geodec_prepare_plan_make(60, &mute, 512, 1024, &out, &err), GEODEC_OK);
}
