/* The ablation: the rows its variants are shown, and figures against a separate count. */
#include "base/mem.h"
#include "base/rng.h"
#include "drafters/ablation.h"
#include "drafters/recycle_drafter.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TEXTS = 90, LENGTH = 30, VOCAB = 20, D = 4, SEED = 3 };

static int32_t token_of(int64_t text, int64_t i)
{
    return (int32_t)(geodec_rng_at(1, (uint64_t)text, (uint64_t)i) % VOCAB);
}
static int32_t truth_of(int64_t text, int64_t i)
{
    const uint64_t u = geodec_rng_at(2, (uint64_t)text, (uint64_t)i);
    return u % 3 == 0 ? (int32_t)(u / 3 % VOCAB) : (token_of(text, i) * 3 + 1) % VOCAB;
}
static float state_of(int64_t text, int64_t i, int c)
{
    return c == 0 ? 3 + (float)i : (float)geodec_rng_uniform_at(3, (uint64_t)text, (uint64_t)(i * D + c));
}

static geodec_artifact *texts(geodec_activations *v)
{
    const char *path = test_tmp("ablation.h5");
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {
        .tool = "t", .command_line = "t", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    const int32_t layer = 1;
    geodec_io_init();
    test_ok(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "L", 1, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "d", D, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "M", 1, &err), &err);
    test_ok(geodec_artifact_write(a, "/layer", &layer, &err), &err);
    for (int64_t t = 0; t < TEXTS; t++) {
        int32_t token[LENGTH], argmax[LENGTH], position[LENGTH], sequence[LENGTH], next[LENGTH];
        float state[LENGTH * D];
        for (int32_t i = 0; i < LENGTH; i++) {
            token[i] = token_of(t, i);
            argmax[i] = truth_of(t, i);
            position[i] = i;
            sequence[i] = (int32_t)t;
            next[i] = i + 1 < LENGTH ? token_of(t, i + 1) : -1;
            for (int c = 0; c < D; c++) state[i * D + c] = state_of(t, i, c);
        }
        test_ok(geodec_artifact_append(a, "/state", LENGTH, state, &err), &err);
        test_ok(geodec_artifact_append(a, "/token", LENGTH, token, &err), &err);
        test_ok(geodec_artifact_append(a, "/position", LENGTH, position, &err), &err);
        test_ok(geodec_artifact_append(a, "/sequence", LENGTH, sequence, &err), &err);
        test_ok(geodec_artifact_append(a, "/next_token", LENGTH, next, &err), &err);
        test_ok(geodec_artifact_append(a, "/argmax", LENGTH, argmax, &err), &err);
        test_ok(geodec_artifact_append(a, "/top_index", LENGTH, argmax, &err), &err);
        test_ok(geodec_artifact_append(a, "/top_logit", LENGTH, state, &err), &err);
    }
    test_ok(geodec_artifact_put_i64(a, "n_layer", 1, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "d_model", D, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_vocab", VOCAB, &err), &err);
    test_ok(geodec_artifact_put_i64(a, "n_ctx", LENGTH, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_activations_kind, path, &a, &err), &err);
    test_ok(geodec_activations_view(a, v, &err), &err);
    return a;
}

/* Identifies the text by its first token and state, and checks that it receives only the past. */
typedef struct watcher {
    geodec_drafter base;
    int64_t text, seen, asked;
} watcher;

static geodec_status watch_begin(geodec_drafter *d, geodec_err *err)
{
    (void)err;
    ((watcher *)d)->seen = 0;
    return GEODEC_OK;
}
static geodec_status watch_observe(geodec_drafter *d, const geodec_draft_rows *rows, geodec_err *err)
{
    (void)err;
    watcher *w = (watcher *)d;
    cr_assert_eq(rows->n, 1);
    if (w->seen == 0)
        for (w->text = 0; state_of(w->text, 0, 1) != rows->state[1]; w->text++) cr_assert_lt(w->text, TEXTS);
    cr_assert_eq(rows->token[0], token_of(w->text, w->seen));
    cr_assert_eq(rows->argmax[0], truth_of(w->text, w->seen));
    for (int c = 0; c < D; c++) cr_assert_eq(rows->state[c], state_of(w->text, w->seen, c));
    w->seen++;
    return GEODEC_OK;
}
static geodec_status watch_root(geodec_drafter *d, const geodec_draft_request *q, geodec_err *err)
{
    (void)err;
    watcher *w = (watcher *)d;
    cr_assert_eq(q->n_context, w->seen + 1);
    for (int64_t i = 0; i < q->n_context; i++) cr_assert_eq(q->context[i], token_of(w->text, i));
    w->asked++;
    return GEODEC_OK;
}
/* The right token first at every other position, second at every fourth. */
static geodec_status watch_children(geodec_drafter *d, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                    geodec_err *err)
{
    (void)err;
    const watcher *w = (const watcher *)d;
    cr_assert(node == 0 && most == GEODEC_ABLATION_TOP);
    const int32_t truth = truth_of(w->text, w->seen);
    const bool first = w->seen % 2 == 0, second = w->seen % 4 == 1;
    out[0] = (geodec_draft){.token = first ? truth : (truth + 1) % VOCAB, .confidence = 0.25};
    out[1] = (geodec_draft){.token = second ? truth : (truth + 2) % VOCAB, .confidence = 0.125};
    *n = 2;
    return GEODEC_OK;
}
static geodec_status no_propose(geodec_drafter *d, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                geodec_err *err)
{
    (void)d;
    (void)q;
    (void)out;
    (void)err;
    *n = 0;
    return GEODEC_OK;
}

Test(ablation, show_the_past_and_count_the_answers)
{
    static const char *const sources[] = {"watch"};
    static const geodec_drafter_ops ops = {.name = "watch",
                                           .wants_state = true,
                                           .n_sources = 1,
                                           .source_name = sources,
                                           .begin = watch_begin,
                                           .observe = watch_observe,
                                           .propose = no_propose,
                                           .root = watch_root,
                                           .children = watch_children};
    geodec_err err = {0};
    geodec_activations v;
    geodec_artifact *a = texts(&v);
    geodec_step_options o = geodec_step_defaults();
    geodec_step step;
    geodec_step_rows rows;
    geodec_counts counts;
    geodec_drafter *bigram, *recycle;
    watcher w = {.base = {.ops = &ops}};
    o.seed = SEED;
    test_ok(geodec_step_fit(&v, &o, NULL, &step, &rows, &err), &err);
    test_ok(geodec_counts_make(VOCAB, rows.rows, rows.token, rows.argmax, &counts, &err), &err);
    test_ok(geodec_ablation_counts_drafter(&counts, "bigram", true, &bigram, &err), &err);
    const geodec_ablation_variant variant[] = {{"bigram", bigram, -1}, {"watch", &w.base, 0}};
    geodec_ablation_figures f[2], few[2];
    test_ok(geodec_ablation_run(&v, &rows, SEED, 1 << 20, 200, variant, 2, NULL, f, &err), &err);
    double places = 0, right = 0, eight = 0, claimed = 0;
    for (int64_t t = 0; t < TEXTS; t++) {
        if (geodec_step_part_of(SEED, (int32_t)t) != GEODEC_STEP_TEST) continue;
        for (int64_t i = 1; i < LENGTH; i++) {
            const int64_t rank = geodec_counts_rank(&counts, token_of(t, i), truth_of(t, i)),
                          first = counts.start[token_of(t, i)];
            places++;
            right += rank == 0;
            eight += rank >= 0 && rank < 8;
            claimed += (double)counts.count[first] / counts.total[token_of(t, i)];
        }
    }
    cr_assert_gt(places, 4 * LENGTH);
    cr_assert_eq((double)f[0].places, places);
    cr_assert_eq((double)w.asked, places);
    cr_assert_float_eq(f[0].top1.value, right / places, 1e-12);
    cr_assert_float_eq(f[0].top8.value, eight / places, 1e-12);
    cr_assert_float_eq(f[0].claimed.value, claimed / places, 1e-12);
    cr_assert_eq(f[0].gain1.value, 0);
    const double half = 14.0 / 29, more = 22.0 / 29; /* of places 1..29 */
    cr_assert_float_eq(f[1].top1.value, half, 1e-12);
    cr_assert_float_eq(f[1].top1.low, half, 1e-12); /* all texts are equal */
    cr_assert_float_eq(f[1].top8.value, more, 1e-12);
    cr_assert_float_eq(f[1].claimed.value, 0.25, 1e-12);
    cr_assert_float_eq(f[1].gain1.value, half - right / places, 1e-12);
    cr_assert_float_eq(f[1].gain8.value, more - eight / places, 1e-12);
    cr_assert(f[1].gain1.low <= f[1].gain1.value && f[1].gain1.value <= f[1].gain1.high &&
              f[1].gain1.low < f[1].gain1.high);
    test_ok(geodec_ablation_run(&v, &rows, SEED, 3 * LENGTH, 10, variant, 2, NULL, few, &err), &err);
    cr_assert(few[0].places >= LENGTH - 1 && few[0].places <= 4 * LENGTH);
    /* A drafter that needs candidates gets none here. */
    test_ok(geodec_recycle_drafter_create(VOCAB, &recycle, &err), &err);
    const geodec_ablation_variant wrong = {"recycle", recycle, -1};
    cr_assert_eq(geodec_ablation_run(&v, &rows, SEED, 10, 10, &wrong, 1, NULL, f, &err), GEODEC_INVAL);
    geodec_drafter_destroy(recycle);
    geodec_drafter_destroy(bigram);
    geodec_counts_clear(&counts);
    geodec_step_clear(&step);
    geodec_step_rows_clear(&rows);
    geodec_artifact_close(a);
}
