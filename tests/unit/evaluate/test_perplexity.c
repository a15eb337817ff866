/* Perplexity against single passes, against itself, and against the peer's figures for real models. */
#include "base/mem.h"
#include "decode/tiny.h"
#include "evaluate/perplexity.h"
#include "io/file.h"
#include "io/json.h"
#include "linalg/lapack.h"
#include "reference/reference.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static geodec_model *open_tiny(uint64_t seed)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(tiny_model("evaluate.gguf", seed), &m, &err), &err);
    return m;
}

static const char text[] = "AnceuponatimetherewasalittletreeIthadaredbirdthebirdwassadAndCalledBeatriceBefore";

/* Every token is scored exactly once (BOS never), with the context that the header states. */
Test(perplexity, windows_score_every_token_once)
{
    for (int bos = 0; bos < 2; bos++)
        for (int32_t window = 2; window < 9; window++)
            for (int32_t stride = 0; stride < window; stride++)
                for (int64_t n = 0; n < 40; n++) {
                    const geodec_perplexity_options o = {.window = window, .stride = stride};
                    const int64_t count = geodec_perplexity_count(&o, bos, n);
                    int64_t next = bos ? 0 : 1, scored = 0;
                    for (int64_t i = 0; i < count; i++) {
                        const geodec_perplexity_span s = geodec_perplexity_span_at(&o, bos, n, i);
                        cr_assert(s.count + s.bos <= window && s.first >= 0 && s.first + s.count <= n);
                        cr_assert(s.scored >= 1 && s.scored < s.count + s.bos);
                        if (stride && i > 0) cr_assert(s.scored >= window - stride);
                        const int64_t from = s.first + s.scored - s.bos;
                        cr_assert_eq(from, !stride && !bos ? i * window + 1 : next);
                        next = s.first + s.count;
                        scored += next - from;
                    }
                    if (bos || stride)
                        cr_assert_eq(scored, bos ? n : (n > 1 ? n - 1 : 0), "bos %d window %d stride %d n %d", bos,
                                     window, stride, (int)n);
                }
}

/* -log p of one token after a context, from a separate pass. */
static double nll_of(geodec_session *s, const int32_t *context, int32_t n, int32_t token, float *row)
{
    geodec_err err = {0};
    const int32_t vocab = geodec_model_configuration(geodec_session_model(s))->n_vocab;
    long double sum = 0;
    geodec_session_truncate(s, 0);
    test_ok(geodec_forward_prefill(s, context, n, row, &err), &err);
    for (int32_t v = 0; v < vocab; v++) sum += expl((long double)row[v]);
    return (double)(logl(sum) - (long double)row[token]);
}

Test(perplexity, equals_single_passes_in_both_protocols)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny(3);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const geodec_session_options so = {.n_ctx = 64};
    const geodec_scorer_evaluation p = {.model = m};
    geodec_session *s = NULL;
    int32_t ids[128];
    int64_t n;
    test_ok(geodec_session_create(m, &so, &s, &err), &err);
    test_ok(geodec_tokenizer_encode(t, text, strlen(text), true, ids, &n, &err), &err);
    float *row = geodec_mem_new(geodec_model_configuration(m)->n_vocab, sizeof *row);
    const geodec_perplexity_options flat = {.window = 7}, strided = {.window = 7, .stride = 3};
    geodec_perplexity_result r;
    double sum = 0;
    test_ok(geodec_perplexity_text(&p, NULL, &flat, text, strlen(text), &r, NULL, NULL, &err), &err);
    for (int64_t i = 1; i < n; i++) {
        const int64_t begin = (i - 1) / 6 * 6 + 1; /* first text token of the window */
        int32_t context[8] = {ids[0]};
        memcpy(context + 1, ids + begin, (size_t)(i - begin) * sizeof *ids);
        sum += nll_of(s, context, (int32_t)(i - begin) + 1, ids[i], row);
    }
    cr_assert_eq(r.tokens, n - 1);
    cr_assert_eq(r.bytes, (int64_t)strlen(text));
    cr_assert_float_eq(r.nll.mean, sum / (double)(n - 1), 1e-12);
    cr_assert_float_eq(r.perplexity, exp(r.nll.mean), 1e-9);
    cr_assert_float_eq(r.bits_per_byte, sum / log(2) / (double)strlen(text), 1e-12);
    cr_assert(isnan(r.kl.mean));
    geodec_perplexity_free(&r);

    sum = 0;
    test_ok(geodec_perplexity_text(&p, NULL, &strided, text, strlen(text), &r, NULL, NULL, &err), &err);
    for (int64_t i = 1; i < n; i++) {
        const int64_t begin = i < 7 ? 0 : (i - 7) / 3 * 3 + 3;
        sum += nll_of(s, ids + begin, (int32_t)(i - begin), ids[i], row);
    }
    cr_assert_eq(r.tokens, n - 1);
    cr_assert_float_eq(r.nll.mean, sum / (double)(n - 1), 1e-12);
    cr_assert_eq(r.windows_of_a_block, 3);
    geodec_perplexity_free(&r);
    geodec_mem_free(row);
    geodec_session_destroy(s);
    geodec_model_close(m);
}

Test(perplexity, standard_error_and_controls_are_the_formulas)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny(3);
    const geodec_scorer_evaluation p = {.model = m};
    const geodec_perplexity_options o = {.window = 9, .max_windows = 5};
    geodec_perplexity_result r;
    int32_t ids[128];
    int64_t n;
    test_ok(geodec_perplexity_text(&p, NULL, &o, text, strlen(text), &r, NULL, NULL, &err), &err);
    cr_assert_eq(r.windows, 5);
    cr_assert_eq(r.tokens, 40);
    double mean = 0, variance = 0; /* blocks of equal size: the plain error of a mean of means */
    for (int i = 0; i < 5; i++) mean += r.window[i].nll / 8 / 5;
    for (int i = 0; i < 5; i++) variance += (r.window[i].nll / 8 - mean) * (r.window[i].nll / 8 - mean) / 4;
    cr_assert_float_eq(r.nll.mean, mean, 1e-12);
    cr_assert_float_eq(r.nll.se, sqrt(variance / 5), 1e-12);
    test_ok(geodec_tokenizer_encode(geodec_model_tokenizer(m), text, strlen(text), false, ids, &n, &err), &err);
    double entropy = 0;
    for (int i = 0; i < 40; i++) {
        int same = 0;
        for (int k = 0; k < 40; k++) same += ids[k] == ids[i];
        entropy -= log(same / 40.) / 40;
    }
    cr_assert_float_eq(log(r.unigram_perplexity), entropy, 1e-12);
    cr_assert_eq((int)r.uniform_perplexity, geodec_model_configuration(m)->n_vocab);
    geodec_perplexity_free(&r);
    geodec_model_close(m);
}

Test(perplexity, against_itself_and_another)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny(3), *other = open_tiny(4);
    const geodec_scorer_evaluation p = {.model = m}, q = {.model = other};
    const geodec_perplexity_options o = {.window = 8};
    geodec_perplexity_result same, r, back, threads;
    geodec_pool *pool = NULL;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_perplexity_text(&p, &p, &o, text, strlen(text), &same, NULL, NULL, &err), &err);
    cr_assert_float_eq(same.kl.mean, 0, 0.);
    cr_assert_float_eq(same.difference.mean, 0, 0.);
    cr_assert_float_eq(same.max_delta, 0, 0.);
    cr_assert_float_eq(same.agreement.mean, 1, 0.);
    test_ok(geodec_perplexity_text(&p, &q, &o, text, strlen(text), &r, NULL, NULL, &err), &err);
    test_ok(geodec_perplexity_text(&q, &p, &o, text, strlen(text), &back, NULL, NULL, &err), &err);
    cr_assert(r.kl.mean > 0 && back.kl.mean > 0);
    cr_assert_float_eq(r.nll.mean, back.against_nll.mean, 1e-12);
    cr_assert_float_eq(r.difference.mean, -back.difference.mean, 1e-12);
    cr_assert_float_eq(r.max_delta, back.max_delta, 1e-12);
    test_ok(geodec_perplexity_text(&p, &q, &o, text, strlen(text), &threads, pool, NULL, &err), &err);
    cr_assert_eq(memcmp(r.window, threads.window, (size_t)r.windows * sizeof *r.window), 0, "threads change nothing");
    geodec_perplexity_free(&same);
    geodec_perplexity_free(&r);
    geodec_perplexity_free(&back);
    geodec_perplexity_free(&threads);
    geodec_pool_destroy(pool);
    geodec_model_close(m);
    geodec_model_close(other);
}

/* The reference has no integer attention. */
Test(perplexity, float64_has_no_other_scores)
{
    geodec_model *m = NULL;
    geodec_scorer *s = NULL;
    geodec_err err = {0};
    const geodec_engine_scores_source scores = {.name = "another way"};
    test_ok(geodec_model_open(tiny_model("scores.gguf", 5), &m, &err), &err);
    const geodec_scorer_evaluation e = {.model = m, .float64 = true, .scores = &scores};
    cr_assert_eq(geodec_scorer_create(&e, 16, &s, &err), GEODEC_UNSUPPORTED);
    cr_assert_not_null(strstr(err.frame[0].text, "another way"));
    geodec_model_close(m);
}

/* float64: the reference's own windows, very close to exact mode, in both protocols; with any number of threads. */
Test(perplexity, float64)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny(3);
    geodec_reference *reference = NULL;
    geodec_pool *pool = NULL;
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const geodec_scorer_evaluation p = {.model = m, .float64 = true}, q = {.model = m};
    int32_t ids[128];
    int64_t n;
    geodec_linalg_init();
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    for (int32_t stride = 0; stride < 4; stride += 3) {
        const geodec_perplexity_options o = {.window = 9, .stride = stride};
        geodec_perplexity_result r, threads;
        test_ok(geodec_perplexity_text(&p, &q, &o, text, strlen(text), &r, NULL, NULL, &err), &err);
        test_ok(geodec_perplexity_text(&p, &q, &o, text, strlen(text), &threads, pool, NULL, &err), &err);
        cr_assert_eq(memcmp(r.window, threads.window, (size_t)r.windows * sizeof *r.window), 0);
        cr_assert(r.max_delta > 0 && r.max_delta < 1e-5);
        cr_assert_float_eq(r.agreement.mean, 1, 0.);
        geodec_perplexity_free(&threads);
        if (stride == 0) {
            test_ok(geodec_tokenizer_encode(t, text, strlen(text), false, ids, &n, &err), &err);
            test_ok(geodec_reference_create(m, NULL, &reference, &err), &err);
            const int64_t whole = n / 8;
            double *nll = geodec_mem_new(whole * 8, sizeof *nll);
            for (int64_t w = 0; w < whole; w++) {
                int32_t window[9] = {geodec_tokenizer_bos(t)};
                memcpy(window + 1, ids + w * 8, 8 * sizeof *window);
                test_ok(geodec_reference_nll(reference, window, 9, nll + w * 8, &err), &err);
                double sum = 0;
                for (int i = 0; i < 8; i++) sum += nll[w * 8 + i];
                cr_assert_lt(fabs(r.window[w].nll - sum), 1e-12, "window %d", (int)w);
            }
            geodec_mem_free(nll);
            geodec_reference_destroy(reference);
        }
        geodec_perplexity_free(&r);
    }
    geodec_pool_destroy(pool);
    geodec_model_close(m);
}

Test(perplexity, refusals)
{
    geodec_err err = {0};
    geodec_model *m = open_tiny(3);
    const geodec_scorer_evaluation p = {.model = m};
    geodec_perplexity_options o = {.window = 1};
    geodec_perplexity_result r;
    cr_assert_eq(geodec_perplexity_text(&p, NULL, &o, text, 9, &r, NULL, NULL, &err), GEODEC_RANGE);
    o = (geodec_perplexity_options){.window = 8, .stride = 8};
    cr_assert_eq(geodec_perplexity_text(&p, NULL, &o, text, 9, &r, NULL, NULL, &err), GEODEC_RANGE);
    o.stride = 0;
    cr_assert_eq(geodec_perplexity_text(&p, NULL, &o, "", 0, &r, NULL, NULL, &err), GEODEC_FORMAT);
    cr_assert_eq(geodec_perplexity_text(&p, NULL, &o, "a\xff", 2, &r, NULL, NULL, &err), GEODEC_FORMAT);
    geodec_model_close(m);
}

/* Per-window figures of a text: the peer's, printed with five decimals, or an independent float64 evaluation's. The
 * peer adds in another order and, for F16 matrices, rounds activations to F16, so an F16 window of 255 tokens may
 * differ by a few 1e-3 a token; F32 by rounding alone. */
typedef struct golden_case {
    const char *name, *book;
    geodec_arithmetic arithmetic;
    bool float64;       /* the independent figures */
    double each, whole; /* tolerances of a window's sum and of the mean */
} golden_case;

static void golden(const golden_case *o)
{
    geodec_err err = {0};
    char relative[128];
    (void)snprintf(relative, sizeof relative, "models/%s.gguf", o->name);
    const char *model = test_shared(relative);
    (void)snprintf(relative, sizeof relative, "golden/llama/%s.json", o->name);
    const char *figures = test_shared(relative);
    geodec_model *m = NULL;
    geodec_json *root = NULL;
    geodec_file_map map;
    geodec_perplexity_result r;
    int64_t tokens, windows;
    double mean, nll;
    test_ok(geodec_json_read(figures, 64 << 20, &root, &err), &err);
    const geodec_json *g = geodec_json_at(geodec_json_member(root, "nll"), 0);
    test_ok(geodec_json_get_i64(g, "windows", &windows, &err), &err);
    const geodec_perplexity_options options = {.window = 256, .max_windows = windows};
    test_ok(geodec_model_open(model, &m, &err), &err);
    test_ok(geodec_file_map_open(o->book, &map, &err), &err);
    const geodec_json *sums = geodec_json_member(g, o->float64 ? "float64_per_window_nll" : "per_window_nll");
    const geodec_scorer_evaluation p = {.model = m, .arithmetic = o->arithmetic};
    test_ok(geodec_perplexity_text(&p, NULL, &options, (const char *)map.data, map.size, &r, NULL, NULL, &err), &err);
    test_ok(geodec_json_get_i64(g, "scored_tokens", &tokens, &err), &err);
    test_ok(geodec_json_get_f64(g, o->float64 ? "float64_mean_nll" : "mean_nll", &mean, &err), &err);
    cr_assert_eq(r.tokens, tokens);
    cr_assert_float_eq(r.nll.mean, mean, o->whole, "%s: %.6f, golden %.6f", o->name, r.nll.mean, mean);
    cr_assert_eq(geodec_json_length(sums), r.windows);
    for (int64_t i = 0; i < r.windows; i++) {
        test_ok(geodec_json_get_f64(geodec_json_at(sums, i), NULL, &nll, &err), &err);
        cr_assert_float_eq(r.window[i].nll, nll, o->each, "%s: window %d: %.5f, golden %.5f", o->name, (int)i,
                           r.window[i].nll, nll);
    }
    geodec_perplexity_free(&r);
    geodec_json_free(root);
    geodec_file_map_close(&map);
    geodec_model_close(m);
}

/* For the models of the repository, float64 values agree to rounding, and those of the peer to its rounding. */
Test(perplexity, golden)
{
    const char *book = test_golden("text/stories.txt");
    golden(&(golden_case){"geodec-stories-f16", book, GEODEC_EXACT, true, 1e-3, 1e-5});
    golden(&(golden_case){"geodec-stories-q8_0", book, GEODEC_EXACT, true, 1e-3, 1e-5});
    golden(&(golden_case){"geodec-stories-f16", book, GEODEC_EXACT, false, 0.1, 2e-4});
    golden(&(golden_case){"geodec-stories-q8_0", book, GEODEC_FAST, false, 2, 2e-3});
}

/* Fast arithmetic and the peer round activations in their own ways: neither is better. 5e-4 nats is above the standard
 * error of the paired difference over these windows, 3e-4 to 5e-4, and a tenth of the loss by 4-bit weights. */
Test(perplexity, golden_of_shared_models)
{
    const char *book = test_shared("text/tinystories-a.txt");
    golden(&(golden_case){"stories260K-f32", book, GEODEC_EXACT, false, 1e-3, 1e-5});
    golden(&(golden_case){"stories260K-rot256-q4_0", book, GEODEC_FAST, false, 3, 5e-4});
    golden(&(golden_case){"stories260K-f16", book, GEODEC_EXACT, false, 0.1, 2e-4});
}

/* The limit is 0.1 % of the perplexity; exact mode differs from float64 only by rounding of sums. */
Test(perplexity, exact_mode_of_a_quantised_model_is_the_float64_one)
{
    geodec_err err = {0};
    const char *model = test_golden("model/geodec-stories-q8_0.gguf"), *book = test_golden("text/stories.txt");
    geodec_model *m = NULL;
    geodec_file_map map;
    geodec_perplexity_result r;
    const geodec_perplexity_options o = {.window = 128, .max_windows = 2};
    test_ok(geodec_model_open(model, &m, &err), &err);
    test_ok(geodec_file_map_open(book, &map, &err), &err);
    const geodec_scorer_evaluation p = {.model = m, .float64 = true}, q = {.model = m};
    test_ok(geodec_perplexity_text(&p, &q, &o, (const char *)map.data, map.size, &r, NULL, NULL, &err), &err);
    cr_assert_float_eq(r.difference.mean, 0, 1e-5, "%g", r.difference.mean);
    cr_assert(r.kl.mean < 1e-9, "%g", r.kl.mean);
    geodec_perplexity_free(&r);
    geodec_file_map_close(&map);
    geodec_model_close(m);
}
