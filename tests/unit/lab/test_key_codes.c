/* Rows of the cache that an observer changes, and the figures of codes of the cache. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "decode/tiny.h"
#include "lab/integer/keycodes/key_codes.h"
#include "session/rewrite.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* WIDTH: values of a token in a layer of the model. */
enum { WIDTH = 12, TOKENS = 64, DOCS = 24, LENGTH = 64 };

static geodec_model *open_tiny(void)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(tiny_model("key-codes.gguf", 5), &m, &err), &err);
    return m;
}

typedef struct seen {
    int64_t calls, rows, bad;
    int32_t group;
    bool drop; /* values become zero */
} seen;

static void look(void *ctx, const geodec_rewrite_rows *r)
{
    seen *s = ctx;
    s->calls++;
    s->rows += r->n;
    s->bad += r->n < 1 || r->n % s->group != 0 || r->first % s->group != 0 || (r->query == NULL) != (s->group > 1);
    for (int64_t i = 0; s->drop && i < r->n * WIDTH; i++) r->v[i] = 0;
}

/* Logits of the last of n tokens, in passes of `step` rows. */
static void last_logits(const geodec_model *m, const geodec_rewrite *r, int32_t step, int32_t n, float *logits)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = TINY_CTX, .max_batch = step};
    int32_t token[TOKENS];
    for (int i = 0; i < n; i++) token[i] = 3 + i * 7 % (TINY_VOCAB - 3);
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    test_ok(geodec_session_rewrite(s, r, &err), &err);
    test_ok(geodec_forward_prefill(s, token, n, logits, &err), &err);
    geodec_session_destroy(s);
}

static double furthest(const float *a, const float *b)
{
    double most = 0;
    for (int i = 0; i < TINY_VOCAB; i++) most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}

Test(key_codes, an_observer_that_changes_nothing_changes_no_bit)
{
    geodec_model *m = open_tiny();
    const int64_t layers = geodec_model_configuration(m)->n_layer;
    float plain[TINY_VOCAB], y[TINY_VOCAB];
    last_logits(m, NULL, 7, 60, plain);
    for (int32_t group = 1; group <= 32; group *= 4) {
        seen s = {.group = group};
        geodec_rewrite r = {look, &s, group, false};
        last_logits(m, &r, 7, 60, y);
        cr_assert_eq(memcmp(plain, y, sizeof y), 0);
        cr_assert_eq(s.bad, 0);
        cr_assert_eq(s.rows, layers * (60 / group * group)); /* every whole group once */
        r.unrotated = true;
        last_logits(m, &r, 7, 60, y);
        cr_assert_leq(furthest(plain, y), 1e-4);
        s.drop = true;
        last_logits(m, &r, 7, 60, y);
        cr_assert_gt(furthest(plain, y), 1e-3);
    }
    geodec_model_close(m);
}

Test(key_codes, an_observer_sees_chains_only)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    geodec_session *s = NULL;
    seen what = {.group = 1};
    geodec_rewrite r = {look, &what, 65, false};
    const int32_t token[3] = {3, 4, 5}, tree[3] = {-1, 0, 0};
    const geodec_batch b = {.n = 3, .token = token, .parent = tree};
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    cr_assert_eq(geodec_session_rewrite(s, &r, &err), GEODEC_RANGE);
    r.group = 1;
    test_ok(geodec_session_rewrite(s, &r, &err), &err);
    cr_assert_eq(geodec_forward(s, &b, NULL, NULL, &err), GEODEC_UNSUPPORTED);
    cr_assert_eq(what.calls, 0);
    test_ok(geodec_session_rewrite(s, NULL, &err), &err);
    test_ok(geodec_forward(s, &b, NULL, NULL, &err), &err);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

Test(key_codes, names)
{
    geodec_err err = {0};
    geodec_key_codes_case c[GEODEC_KEY_CODES_CASES];
    int64_t n;
    char text[64];
    test_ok(geodec_key_codes_parse(GEODEC_KEY_CODES_DEFAULT, c, &n, &err), &err);
    cr_assert_eq(n, 22);
    test_ok(geodec_key_codes_parse("klt/pre/query,q4_0,h63/pre", c, &n, &err), &err);
    cr_assert_eq(n, 3);
    cr_assert(c[0].pre && c[0].query && !c[1].pre && !c[1].query && c[2].pre);
    geodec_key_codes_name(&c[0], text);
    cr_assert_str_eq(text, "klt/pre/query");
    static const char *const bad[] = {"",
                                      "q9",
                                      "klt/",
                                      "klt/pre/pre",
                                      "klt/query/pre",
                                      "klt,",
                                      "klt/post",
                                      "a-name-that-is-longer-than-any-code-of-the-table-could-ever-be-made"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        cr_assert_eq(geodec_key_codes_parse(bad[i], c, &n, &err), GEODEC_INVAL, "%s", bad[i]);
}

/* Documents of tokens drawn with unequal probabilities, and their text. */
static void documents(int64_t *begin, int32_t *token)
{
    geodec_rng r = geodec_rng_stream(1, 2);
    for (int64_t d = 0; d <= DOCS; d++) begin[d] = d * LENGTH;
    for (int64_t i = 0; i < DOCS * LENGTH; i++) {
        const double u = geodec_rng_uniform(&r);
        token[i] = i % LENGTH == 0 ? 1 : 3 + (int32_t)(u * u * (TINY_VOCAB - 3));
    }
}

static void measure(geodec_pool *pool, const char *names, geodec_key_codes_report *r)
{
    static const char text[] = "AnceuponatimetherewasalittletreeIthadaredbirdthebirdwassadAndCalledBeatriceBefore";
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    int64_t begin[DOCS + 1], n;
    int32_t token[DOCS * LENGTH];
    geodec_key_codes_case c[GEODEC_KEY_CODES_CASES];
    documents(begin, token);
    test_ok(geodec_key_codes_parse(names, c, &n, &err), &err);
    const geodec_key_codes_texts t = {DOCS, begin, token};
    const geodec_key_codes_options o = {
        .window = 64, .calibration = 1 << 14, .tokens = 512, .every = 2, .replicates = 100, .seed = 3, .pool = pool};
    test_ok(geodec_key_codes_measure(m, &t, c, n, text, strlen(text), 0, &o, r, &err), &err);
    geodec_model_close(m);
}

Test(key_codes, figures_and_their_artifact, .timeout = 120)
{
    geodec_err err = {0};
    geodec_key_codes_report r = {0}, again = {0};
    geodec_pool *pool = NULL;
    measure(NULL, "q8_0,q4_0,q3,klt,klt/pre,klt/pre/query,kivi2,h63", &r);
    cr_assert_eq(r.cases, 8);
    for (int64_t k = 0; k < r.cases; k++)
        cr_log_info("%.3f bytes: keys %.4f, values %.4f, kl %.2g, nll %+.4f", r.row[k].k_bytes, r.row[k].k_error.value,
                    r.row[k].v_error.value, r.row[k].kl.value, r.row[k].nll[0]);
    cr_assert_eq(r.rows, 512);
    cr_assert_eq(r.documents, 8);
    cr_assert_eq(r.calibration, 12 * LENGTH);
    cr_assert_gt(r.scored, 60);
    for (int64_t k = 0; k < r.cases; k++) {
        const geodec_key_codes_row *y = &r.row[k];
        cr_assert(y->k_error.low <= y->k_error.value && y->k_error.value <= y->k_error.high);
        cr_assert(y->kl.low <= y->kl.value && y->kl.value <= y->kl.high);
        cr_assert_float_eq(y->perplexity, r.perplexity * exp(y->nll[0]), 1e-9 * r.perplexity);
        cr_assert_gt(y->nll[1], 0);
    }
    /* more bits, less error: of keys, values, attention and next tokens */
    for (int64_t k = 0; k < 2; k++) {
        cr_assert_lt(r.row[k].k_error.value, r.row[k + 1].k_error.value);
        cr_assert_lt(r.row[k].v_error.value, r.row[k + 1].v_error.value);
        cr_assert_lt(r.row[k].kl.value, r.row[k + 1].kl.value);
        cr_assert_eq(r.row[k].shared, 0);
    }
    cr_assert_lt(r.row[0].k_error.value, 0.01);
    cr_assert_lt(fabs(r.row[0].nll[0]), 0.01);
    cr_assert_eq(r.dim, WIDTH);
    cr_assert_lt(r.row[4].k_error.value, r.row[2].k_error.value); /* with fewer bytes than q3 */
    cr_assert_lt(r.row[4].k_error.value, r.row[3].k_error.value); /* the rotation hides the components */
    cr_assert_lt(r.row[3].k_error.value, 0.5 * r.row[6].k_error.value);
    cr_assert_gt(r.row[3].shared, 1000);
    cr_assert_gt(r.row[7].k_error.value, 0.3);

    test_ok(geodec_pool_create(2, &pool, &err), &err);
    measure(pool, "q8_0,q4_0,q3,klt,klt/pre,klt/pre/query,kivi2,h63", &again);
    cr_assert_eq(memcmp(again.row, r.row, (size_t)r.cases * sizeof *r.row), 0);
    geodec_pool_destroy(pool);

    geodec_artifact *a = NULL;
    geodec_key_codes_report back = {0};
    const geodec_provenance p = {.tool = "test"};
    test_ok(geodec_artifact_create(&geodec_key_codes_kind, test_tmp("keycodes.h5"), &p, &a, &err), &err);
    test_ok(geodec_key_codes_write(&r, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_key_codes_kind, test_tmp("keycodes.h5"), &a, &err), &err);
    test_ok(geodec_artifact_load(a, &back, &err), &err);
    cr_assert_eq(memcmp(back.row, r.row, (size_t)r.cases * sizeof *r.row), 0);
    cr_assert_str_eq(back.names, r.names);
    geodec_artifact_close(a);
    geodec_key_codes_clear(&back);
    geodec_key_codes_clear(&again);
    geodec_key_codes_clear(&r);
}

Test(key_codes, refusals)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny();
    geodec_key_codes_rows *rows = NULL;
    int64_t begin[DOCS + 1];
    int32_t token[DOCS * LENGTH];
    documents(begin, token);
    const geodec_key_codes_texts t = {DOCS, begin, token}, few = {2, begin, token};
    geodec_key_codes_options o = {.window = 64, .calibration = 1024, .tokens = 64, .every = 2, .replicates = 10};
    cr_assert_eq(geodec_key_codes_capture(m, &few, &o, &rows, &err), GEODEC_SCARCE);
    o.every = 0;
    cr_assert_eq(geodec_key_codes_capture(m, &t, &o, &rows, &err), GEODEC_RANGE);
    o.every = 2;
    o.window = 31;
    cr_assert_eq(geodec_key_codes_capture(m, &t, &o, &rows, &err), GEODEC_RANGE);
    o.window = 64;
    test_ok(geodec_key_codes_capture(m, &t, &o, &rows, &err), &err);
    cr_assert_eq(geodec_key_codes_captured(rows), 12 * LENGTH);
    const geodec_rewrite *none = &(geodec_rewrite){look, NULL, 1, false};
    const geodec_scorer_evaluation exact = {.model = m, .float64 = true, .rewrite = none};
    geodec_scorer *s = NULL;
    cr_assert_eq(geodec_scorer_create(&exact, 32, &s, &err), GEODEC_UNSUPPORTED);
    geodec_key_codes_report r = {0};
    const geodec_key_codes_case klt = {.kind = geodec_codes_named("klt")};
    o.every = 1;
    cr_assert_eq(geodec_key_codes_measure(m, &t, &klt, 1, NULL, 0, 0, &o, &r, &err), GEODEC_RANGE);
    geodec_key_codes_release(rows);
    geodec_model_close(m);
}
