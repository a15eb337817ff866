#include "base/mem.h"
#include "session/resident_price.h"
#include "session/synthetic.h"
#include "support/support.h"

#include <criterion/criterion.h>

enum { VOCAB = 60, PASSES = 24 };

static geodec_session *open_session(const synthetic *shape, geodec_model **m)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const char *path = test_tmp("resident.gguf");
    test_ok(synthetic_write(path, shape, &err), &err);
    test_ok(geodec_model_open(path, m, &err), &err);
    test_ok(geodec_session_create(*m, &(geodec_session_options){.n_ctx = 64, .max_batch = 8}, &s, &err), &err);
    return s;
}

static const synthetic mixture = {.n_layer = 3,
                                  .d_model = 32,
                                  .n_head = 2,
                                  .n_kv_head = 2,
                                  .d_ff = 32,
                                  .n_vocab = VOCAB,
                                  .n_ctx = 64,
                                  .n_expert = 16,
                                  .n_expert_used = 2,
                                  .type = GEODEC_GGML_F32,
                                  .seed = 5};

static void pass(geodec_session *s, const int32_t *token, int32_t n, float *logits)
{
    geodec_err err = {0};
    test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = token}, logits, NULL, &err), &err);
}

/* Passes of one row alone leave the three parts of a pass at their first shares, whatever the clock said: then prices
 * can be compared. */
Test(resident_price, a_draft_whose_experts_are_used_already_is_cheaper)
{
    geodec_model *m = NULL;
    geodec_session *s = open_session(&mixture, &m);
    geodec_price p;
    const int32_t once[] = {7, 8, 9}, same[] = {7, 7, 7}, unseen[] = {7, 40, 41};
    cr_assert(!geodec_resident_price(s, once, 3, &p), "not followed");
    geodec_resident_price_follow(s);
    cr_assert(!geodec_resident_price(s, once, 3, &p), "no pass was timed");
    for (int32_t i = 0; i < PASSES; i++) pass(s, &(int32_t){i % 12}, 1, NULL);
    cr_assert(geodec_resident_price(s, unseen, 3, &p));
    const double closed = p.time[2];
    cr_assert_eq(p.n, 3);
    cr_assert_gt(p.plain, 0);
    cr_assert_float_eq(p.time[0], p.plain, 1e-9 * p.plain);
    cr_assert(p.time[0] < p.time[1] && p.time[1] < p.time[2]);
    for (int i = 0; i < 3; i++) {
        cr_assert_float_eq(p.alone[i], p.plain, 0);
        cr_assert_float_eq(p.bytes[i], 0, 0);
    }
    /* two rows of unknown experts, as at first: E (1 - (1 - k/E)^2), and less if the first row's are known */
    cr_assert_leq(p.time[1], p.mean[1] * (1 + 1e-6));
    cr_assert(geodec_resident_price(s, same, 3, &p));
    cr_assert_lt(p.time[2], closed);
    cr_assert_lt(p.time[2], p.mean[2]);
    /* more of them than a price has rows */
    int32_t many[GEODEC_PRICE_ROWS + 3];
    for (int i = 0; i < GEODEC_PRICE_ROWS + 3; i++) many[i] = i % VOCAB;
    cr_assert(geodec_resident_price(s, many, GEODEC_PRICE_ROWS + 3, &p));
    cr_assert_eq(p.n, GEODEC_PRICE_ROWS);
    geodec_resident_price_follow(s);
    cr_assert(!geodec_resident_price(s, once, 3, &p), "begun anew");
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* The widths that were made have their own means; nothing changes a logit. */
Test(resident_price, passes_of_a_width_give_its_mean)
{
    geodec_model *m = NULL;
    geodec_session *s = open_session(&mixture, &m), *plain = NULL;
    geodec_err err = {0};
    geodec_price p;
    float a[3 * VOCAB], b[3 * VOCAB];
    test_ok(geodec_session_create(m, &(geodec_session_options){.n_ctx = 64, .max_batch = 8}, &plain, &err), &err);
    geodec_resident_price_follow(s);
    for (int32_t i = 0; i < PASSES; i++) {
        const int32_t token[] = {i % 12, i % 12, i % 12};
        if (i >= 6) geodec_resident_price(s, token, 3, &p);
        pass(s, token, 3, a);
        pass(plain, token, 3, b);
        cr_assert_arr_eq(a, b, sizeof a);
        geodec_session_truncate(s, 0);
        geodec_session_truncate(plain, 0);
    }
    const int32_t next[] = {3, 3, 3}, other[] = {3, 50, 51};
    cr_assert(geodec_resident_price(s, other, 3, &p));
    const double mean = p.mean[2];
    cr_assert_leq(mean, p.time[2], "wide passes had tokens of the same experts");
    cr_assert(geodec_resident_price(s, next, 3, &p));
    cr_assert_float_eq(p.mean[2], mean, 1e-12 * mean);
    cr_assert_leq(p.time[2], p.mean[2] * 1.2);
    geodec_session_destroy(s);
    geodec_session_destroy(plain);
    geodec_model_close(m);
}

Test(resident_price, a_dense_model_has_none)
{
    geodec_model *m = NULL;
    const synthetic shape = {.n_layer = 2,
                             .d_model = 32,
                             .n_head = 2,
                             .n_kv_head = 2,
                             .d_ff = 32,
                             .n_vocab = VOCAB,
                             .n_ctx = 64,
                             .type = GEODEC_GGML_F32,
                             .seed = 5};
    geodec_session *s = open_session(&shape, &m);
    geodec_price p;
    geodec_resident_price_follow(s);
    for (int32_t i = 0; i < PASSES; i++) pass(s, &i, 1, NULL);
    cr_assert(!geodec_resident_price(s, &(int32_t){1}, 1, &p));
    geodec_session_destroy(s);
    geodec_model_close(m);
}
