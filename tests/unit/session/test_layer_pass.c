/* Passes layer by layer while experts stream: the bits of batches, and each expert read once. */
#include "base/mem.h"
#include "session/arithmetic.h"
#include "session/opened.h"
#include "session/streamed_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONTEXT = 160,
    TEXT = 90,
    STEPS = 3,
    TREE = 5,
    AGAIN = 40,
    BACK = 33,
    ALL = TEXT + STEPS + TREE + AGAIN,
    SMALL = 7
};

static const int32_t tree_parent[TREE] = {-1, 0, 0, 1, -1};

/* What a run leaves of its rows. */
typedef struct run {
    float *logits, *state;
    int32_t *expert;
} run;

static void clear(run *r) { GEODEC_FREE(r->logits, r->state, r->expert); }

/* n tokens in passes of at most `rows`, into the rows from `at` of r. */
static void forward(geodec_session *s, const int32_t *token, int32_t n, const int32_t *parent, int32_t rows, run *r,
                    int64_t at)
{
    geodec_err err = {0};
    const geodec_model_config *c = geodec_model_configuration(geodec_session_model(s));
    const int32_t last = c->n_layer;
    const int64_t choices = (int64_t)c->n_layer * c->n_expert_used;
    for (int32_t done = 0, k; done < n; done += k) {
        k = n - done < rows ? n - done : rows;
        const geodec_batch b = {.n = k, .token = token + done, .parent = parent};
        const geodec_capture capture = {1, &last, r->state + (at + done) * c->d_model,
                                        r->expert + (at + done) * choices};
        test_ok(geodec_forward(s, &b, r->logits + (at + done) * c->n_vocab, &capture, &err), &err);
    }
}

static run run_of(const geodec_model *m, const geodec_session_options *o, int32_t rows)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_model_config *c = geodec_model_configuration(m);
    int32_t token[ALL];
    run r = {0};
    r.logits = geodec_mem_new((int64_t)ALL * c->n_vocab, sizeof *r.logits);
    r.state = geodec_mem_new((int64_t)ALL * c->d_model, sizeof *r.state);
    r.expert = geodec_mem_new((int64_t)ALL * c->n_layer * c->n_expert_used, sizeof *r.expert);
    for (int i = 0; i < ALL; i++) token[i] = (i * 37 + i * i % 13 + 11) % c->n_vocab;
    test_ok(geodec_session_create(m, o, &s, &err), &err);
    forward(s, token, TEXT, NULL, rows, &r, 0);
    forward(s, token + TEXT, STEPS, NULL, 1, &r, TEXT);
    forward(s, token + TEXT + STEPS, TREE, tree_parent, TREE, &r, TEXT + STEPS);
    geodec_session_truncate(s, BACK);
    forward(s, token + TEXT + STEPS + TREE, AGAIN, NULL, rows, &r, TEXT + STEPS + TREE);
    geodec_session_destroy(s);
    return r;
}

static bool same(const run *a, const run *b, const geodec_model_config *c)
{
    return memcmp(a->logits, b->logits, (size_t)ALL * (size_t)c->n_vocab * sizeof *a->logits) == 0 &&
           memcmp(a->state, b->state, (size_t)ALL * (size_t)c->d_model * sizeof *a->state) == 0 &&
           memcmp(a->expert, b->expert, (size_t)ALL * (size_t)(c->n_layer * c->n_expert_used) * sizeof *a->expert) == 0;
}

static void compare(const char *path, const char *name, geodec_arithmetic a, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    const geodec_model_config c = *geodec_model_configuration(m);
    const geodec_session_options wide = {.n_ctx = CONTEXT, .max_batch = TEXT, .arithmetic = a, .pool = pool};
    const geodec_session_options by_layer = {
        .n_ctx = CONTEXT, .max_batch = SMALL, .max_pass = CONTEXT, .arithmetic = a, .pool = pool};
    run resident = run_of(m, &wide, TEXT);
    geodec_model_close(m);
    const int32_t all = c.n_layer * c.n_expert, least = 2 * c.n_expert_used + 2;
    for (int i = 0; i < 4; i++) {
        const geodec_streaming o = {.slots = i == 3                  ? 0
                                             : i == 2 || least > all ? all
                                             : i                     ? (least + all) / 2
                                                                     : least,
                                    .arithmetic = a,
                                    .mapped = i == 3,
                                    .prefetch_least = 0.3F,
                                    .prefetch_most = 3,
                                    .lookahead = i == 1 ? GEODEC_LOOKAHEAD_ROUTER2 : GEODEC_LOOKAHEAD_NONE};
        test_ok(geodec_model_open(path, &m, &err), &err);
        test_ok(geodec_streamed_begin(m, &o, &err), &err);
        run streamed = run_of(m, &by_layer, TEXT);
        cr_assert(same(&resident, &streamed, &c), "%s: %s arithmetic, %d slots", name, geodec_arithmetic_name(a),
                  o.slots);
        clear(&streamed);
        geodec_model_close(m);
    }
    clear(&resident);
}

Test(layer_pass, every_family_has_the_bits_of_batches)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    int families_seen = 0;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const char *path = test_tmp("family.gguf");
        if (families[i].s.n_expert == 0 || families[i].s.d_ff_adjugate > 0) continue; /* batches run the latter */
        families_seen++;
        test_ok(synthetic_write(path, &families[i].s, &err), &err);
        compare(path, families[i].name, GEODEC_EXACT, NULL);
        compare(path, families[i].name, GEODEC_EXACT, pool);
        compare(path, families[i].name, GEODEC_FAST, pool);
    }
    cr_assert_geq(families_seen, 5);
    geodec_pool_destroy(pool);
}

Test(layer_pass, quantised_experts)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    static const char *const types[] = {"q4_0", "q8_0", "q4_k_m"};
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        compare(small_olmoe(types[i]), types[i], GEODEC_EXACT, pool);
        compare(small_olmoe(types[i]), types[i], GEODEC_FAST, pool);
    }
    geodec_pool_destroy(pool);
}

/* Several texts in one pass are each what they are alone; the session then holds the last. */
Test(layer_pass, several_texts_at_once)
{
    enum { TEXTS = 5, MOST = 40 };
    static const int32_t length[TEXTS] = {SMALL, 40, 1, 19, 23};
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    const char *path = small_olmoe("q8_0");
    const geodec_session_options o = {.n_ctx = MOST, .max_batch = SMALL, .max_pass = 256};
    int32_t token[TEXTS * MOST], n = 0;
    bool begin[TEXTS * MOST] = {false};
    test_ok(geodec_model_open(path, &m, &err), &err);
    test_ok(geodec_streamed_begin(m, &(geodec_streaming){.slots = 10}, &err), &err);
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    cr_assert(geodec_session_takes_texts(s));
    const geodec_model_config *c = geodec_model_configuration(m);
    for (int t = 0; t < TEXTS; t++)
        for (int32_t i = 0; i < length[t]; i++) {
            begin[n] = i == 0;
            token[n++] = (i * 31 + t * 77 + 5) % c->n_vocab;
        }
    float *logits = geodec_mem_new((int64_t)n * c->n_vocab, sizeof *logits);
    float *alone = geodec_mem_new((int64_t)MOST * c->n_vocab, sizeof *alone);
    float *state = geodec_mem_new((int64_t)n * c->d_model, sizeof *state);
    const geodec_capture capture = {1, &c->n_layer, state, NULL};
    test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = token, .begin = begin}, logits, &capture, &err), &err);
    cr_assert_eq(geodec_session_length(s), length[TEXTS - 1]);
    for (int32_t t = 0, at = 0; t < TEXTS; at += length[t++]) {
        geodec_session_truncate(s, 0);
        for (int32_t i = 0; i < length[t]; i += SMALL) {
            const int32_t k = length[t] - i < SMALL ? length[t] - i : SMALL;
            test_ok(geodec_forward(s, &(geodec_batch){.n = k, .token = token + at + i}, alone + (int64_t)i * c->n_vocab,
                                   NULL, &err),
                    &err);
        }
        const size_t bytes = (size_t)length[t] * (size_t)c->n_vocab * sizeof *alone;
        cr_assert(memcmp(alone, logits + (int64_t)at * c->n_vocab, bytes) == 0, "text %d", t);
    }
    /* the head alone; only what is wanted is written */
    const bool want[3] = {true, false, true};
    memset(alone, 0, 3 * (size_t)c->n_vocab * sizeof *alone);
    test_ok(geodec_session_head(s, state, 3, want, alone, &err), &err);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(memcmp(alone + (int64_t)i * c->n_vocab, logits + (int64_t)i * c->n_vocab,
                            (size_t)c->n_vocab * sizeof *alone) == 0,
                     want[i]);
    /* a text that does not fit, in the middle of others */
    begin[SMALL] = false;
    cr_assert_eq(geodec_forward(s, &(geodec_batch){.n = n, .token = token, .begin = begin}, NULL, NULL, &err),
                 GEODEC_LIMIT);
    GEODEC_FREE(logits, alone, state);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* Under a budget: a prompt is read once, with slots that are lent to it and come back; where they are too few, in as
 * few passes as fit. */
Test(layer_pass, a_prompt_reads_each_expert_once)
{
    enum { PROMPT = 400 };
    geodec_err err = {0};
    const char *path = small_olmoe("f16");
    int32_t token[PROMPT];
    for (int more = 0; more < 3; more++) {
        geodec_model *m = NULL;
        geodec_session *s = NULL;
        geodec_stream_counters k;
        test_ok(geodec_model_open(path, &m, &err), &err);
        const geodec_model_config c = *geodec_model_configuration(m);
        const geodec_session_options o = {.n_ctx = 512, .max_batch = 16, .max_pass = more == 0 ? 0 : 512};
        geodec_streaming how = {.ram = 1, .prefetch_least = 0.3F};
        for (int i = 0; i < PROMPT; i++) token[i] = (i * 37 + 11) % c.n_vocab;
        test_ok(geodec_streamed_begin(m, &how, &err), &err);
        cr_assert_eq(geodec_session_create(m, &o, &s, &err), GEODEC_LIMIT);
        const long long smallest = strtoll(strstr(err.frame[0].text, " need ") + 6, NULL, 10);
        geodec_model_close(m);
        how.ram = smallest + (more > 1 ? 8 : 0) * (int64_t)3 * 256 * 256 * 2;
        test_ok(geodec_model_open(path, &m, &err), &err);
        test_ok(geodec_streamed_begin(m, &how, &err), &err);
        test_ok(geodec_session_create(m, &o, &s, &err), &err);
        const int32_t slots = geodec_stream_left(m->streamed->stream);
        test_ok(geodec_forward_prefill(s, token, PROMPT, NULL, &err), &err);
        cr_assert(geodec_streamed_counted(m, &k));
        const int64_t set = (int64_t)c.n_layer * c.n_expert;
        if (more == 0) {
            cr_assert_eq(k.slots.passes, PROMPT / 16);
            cr_assert_geq(k.disk.reads, 10 * set);
        } else {
            cr_assert_eq(k.slots.passes, 1);
            cr_assert_leq(k.disk.reads, set);
        }
        cr_assert_eq(geodec_stream_left(m->streamed->stream), slots);
        cr_assert_eq(k.given, 0);
        geodec_session_destroy(s);
        geodec_model_close(m);
    }
}
