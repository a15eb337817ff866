/* Models as drafters, on a small random model: a second file, and the first blocks of the target itself. */
#include "decode/loop.h"
#include "decode/predict.h"
#include "decode/tiny.h"
#include "decode/toy.h"
#include "drafters/depth_sink.h"
#include "drafters/drafting.h"
#include "drafters/model_drafter.h"
#include "io/file.h"
#include "linalg/lapack.h"
#include "lowrank/projection.h"
#include "measure/bench.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 4, LAYERS = 2 };
static const int32_t prompt[PROMPT] = {1, 7, 12, 5};

typedef struct rig {
    geodec_model *m, *other;
    geodec_session *s;
    geodec_target target;
} rig;

static rig rig_open(void)
{
    rig r = {0};
    geodec_err err = {0};
    test_ok(geodec_model_open(tiny_model("target.gguf", 3), &r.m, &err), &err);
    test_ok(geodec_model_open(tiny_model("draft.gguf", 4), &r.other, &err), &err);
    test_ok(geodec_session_create(r.m, NULL, &r.s, &err), &err);
    r.target = geodec_target_session(r.s, 64);
    return r;
}

static void rig_close(rig *r)
{
    geodec_session_destroy(r->s);
    geodec_model_close(r->m);
    geodec_model_close(r->other);
}

static geodec_drafter *drafter_of(const geodec_model *m, const geodec_model *target, bool stochastic, int32_t blocks,
                                  int32_t n_ctx)
{
    geodec_err err = {0};
    geodec_drafter *d = NULL;
    const geodec_model_drafter_options o = {
        .name = "model", .stochastic = stochastic, .session = {.n_ctx = n_ctx, .n_blocks = blocks}};
    test_ok(geodec_model_drafter_create(m, target, &o, &d, &err), &err);
    return d;
}

static geodec_decoded decode(const rig *r, geodec_drafter *d, const geodec_decode_options *o)
{
    geodec_err err = {0};
    geodec_decoded out = {0};
    test_ok(geodec_decode(&r->target, prompt, PROMPT, d, o, &out, &err), &err);
    return out;
}

static void same_text(const geodec_decoded *a, const geodec_decoded *b)
{
    cr_assert_eq(a->n, b->n);
    cr_assert_eq(memcmp(a->token, b->token, (size_t)a->n * sizeof *a->token), 0);
    cr_assert_eq(a->end, b->end);
}

Test(models, output_is_that_of_plain_decoding)
{
    static const int32_t stop[] = {2};
    rig r = rig_open();
    /* a second model, early exits, all blocks, and a cache that the text outgrows */
    geodec_drafter *d[] = {drafter_of(r.other, r.m, false, 0, 0), drafter_of(r.m, r.m, false, 1, 0),
                           drafter_of(r.m, r.m, false, 2, 0), drafter_of(r.other, r.m, false, 0, 20)};
    int64_t held_back = 0;
    for (uint64_t seed = 0; seed < 4; seed++)
        for (int32_t budget = 0; budget <= 12; budget += 6)
            for (int k = 0; k < 8; k++) {
                geodec_decode_options o = geodec_decode_options_default();
                o.max_tokens = 50;
                o.gate =
                    k < 4 ? 0
                          : 0.08; /* the model then chooses a token that its drafter has forwarded and did not send */
                o.stop = stop;
                o.n_stop = 1;
                o.min_tokens = 20;
                o.gamma = 5;
                o.budget = budget;
                o.sampling = (geodec_sampling){seed ? 0.9 : 0, 0, 0.97, seed};
                geodec_decoded plain = decode(&r, NULL, &o), got = decode(&r, d[k % 4], &o);
                same_text(&got, &plain);
                held_back += got.counters.length[0];
                if (k < 4) cr_assert_gt(got.counters.total.proposed, 0);
                geodec_decode_free(&plain);
                geodec_decode_free(&got);
            }
    cr_assert_gt(held_back, 100);
    for (int k = 0; k < 4; k++) geodec_drafter_destroy(d[k]);
    rig_close(&r);
}

/* With all its blocks the drafter is the target: every draft is right, chains and stochastic drafts too, for then p =
 * q. That they are not all right after fewer blocks shows that blocks are left out. */
Test(models, a_drafter_that_is_the_target_is_always_right)
{
    rig r = rig_open();
    for (int sampled = 0; sampled < 2; sampled++)
        for (int32_t budget = 0; budget <= 6; budget += 6)
            for (int32_t blocks = 1; blocks <= LAYERS; blocks++) {
                geodec_drafter *d = drafter_of(r.m, r.m, sampled, blocks, 0);
                geodec_decode_options o = geodec_decode_options_default();
                o.max_tokens = 50;
                o.gamma = 4;
                o.budget = budget;
                o.sampling = (geodec_sampling){sampled ? 1.1 : 0, 0, 0.9, 8};
                geodec_decoded got = decode(&r, d, &o);
                const geodec_tally *first = &got.counters.position[0];
                if (blocks == LAYERS)
                    cr_assert_eq(first->accepted, first->reached);
                else
                    cr_assert_lt(first->accepted, first->reached);
                if (blocks == LAYERS && budget == 0) cr_assert_eq(got.counters.target_passes, 10);
                geodec_decode_free(&got);
                geodec_drafter_destroy(d);
            }
    rig_close(&r);
}

/* The distributions of the first and second token after the prompt: p [2][TINY_VOCAB]. */
static void next_two(rig *r, geodec_sampler *s, double p[2][TINY_VOCAB])
{
    geodec_err err = {0};
    float row[TINY_VOCAB];
    double then[TINY_VOCAB];
    int32_t text[PROMPT + 1];
    memcpy(text, prompt, sizeof prompt);
    memset(p[1], 0, sizeof p[1]);
    for (int32_t x = -1; x < TINY_VOCAB; x++) {
        text[PROMPT] = x;
        geodec_session_truncate(r->s, 0);
        test_ok(geodec_forward_prefill(r->s, text, x < 0 ? PROMPT : PROMPT + 1, row, &err), &err);
        test_ok(geodec_sampler_distribution(s, row, x < 0 ? p[0] : then, &err), &err);
        for (int y = 0; x >= 0 && y < TINY_VOCAB; y++) p[1][y] += p[0][x] * then[y];
    }
}

/* Standard normal score of the chi-square of n samples against p; cells of fewer than 10 are pooled. Wilson and
 * Hilferty: the cube root of chi-square over its degrees of freedom is nearly normal. */
static double chi_score(const int64_t *seen, const double *p, double n)
{
    double chi = 0, rest = 0;
    int64_t others = 0;
    int cells = 0;
    for (int i = 0; i < TINY_VOCAB; i++) {
        const double e = p[i] * n, x = (double)seen[i] - e;
        if (e < 10) {
            rest += e;
            others += seen[i];
            continue;
        }
        chi += x * x / e;
        cells++;
    }
    if (rest > 5) {
        chi += ((double)others - rest) * ((double)others - rest) / rest;
        cells++;
    }
    cr_assert_gt(cells, 5);
    const double f = cells - 1;
    return (cbrt(chi / f) - (1 - 2 / (9 * f))) / sqrt(2 / (9 * f));
}

/* A second model in chains, first blocks in trees: siblings, and drafts after drafts. */
Test(models, sampled_drafts_keep_the_distribution, .timeout = 300)
{
    enum { DRAWS = 20000 };
    rig r = rig_open();
    geodec_err err = {0};
    geodec_drafter *d[] = {drafter_of(r.other, r.m, true, 0, 0), drafter_of(r.m, r.m, true, 1, 0)};
    geodec_sampler *s = NULL;
    geodec_decode_options o = geodec_decode_options_default();
    o.sampling = (geodec_sampling){1.2, 0, 1, 1};
    o.max_tokens = 3;
    o.gamma = 2;
    double p[2][TINY_VOCAB];
    test_ok(geodec_sampler_create(&o.sampling, TINY_VOCAB, &s, &err), &err);
    next_two(&r, s, p);
    for (int k = 0; k < 2; k++) {
        int64_t seen[2][TINY_VOCAB] = {{0}}, accepted = 0, behind = 0;
        o.budget = k == 0 ? 0 : 5;
        for (uint64_t seed = 0; seed < DRAWS; seed++) {
            o.sampling.seed = seed;
            geodec_decoded got = decode(&r, d[k], &o), again = {0};
            seen[0][got.token[0]]++;
            seen[1][got.token[1]]++;
            accepted += got.counters.total.accepted;
            behind += got.counters.position[1].accepted;
            if (seed < 20) {
                again = decode(&r, d[k], &o);
                same_text(&again, &got);
            }
            geodec_decode_free(&got);
            geodec_decode_free(&again);
        }
        for (int i = 0; i < 2; i++) {
            const double z = chi_score(seen[i], p[i], DRAWS);
            cr_assert_lt(z, 2.326, "drafter %d, token %d: %g", k, i, z);
        }
        cr_assert_gt(accepted, DRAWS / 100);
        cr_assert_gt(behind, DRAWS / 1000);
        geodec_drafter_destroy(d[k]);
    }
    geodec_sampler_destroy(s);
    rig_close(&r);
}

Test(models, the_first_blocks_are_those_of_the_whole)
{
    rig r = rig_open();
    geodec_err err = {0};
    const int32_t d = geodec_model_configuration(r.m)->d_model, layer = 1;
    const geodec_session_options how = {.n_blocks = 1}, beyond = {.n_blocks = LAYERS + 1};
    geodec_session *s = NULL;
    float *a = calloc((size_t)PROMPT * (size_t)d, sizeof *a), *b = calloc((size_t)PROMPT * (size_t)d, sizeof *b);
    const geodec_batch batch = {.n = PROMPT, .token = prompt};
    const geodec_capture whole = {1, &layer, a}, part = {1, &layer, b};
    float full[PROMPT * TINY_VOCAB], early[PROMPT * TINY_VOCAB];
    test_ok(geodec_session_create(r.m, &how, &s, &err), &err);
    test_ok(geodec_forward(r.s, &batch, full, &whole, &err), &err);
    test_ok(geodec_forward(s, &batch, early, &part, &err), &err);
    cr_assert_eq(memcmp(a, b, (size_t)PROMPT * (size_t)d * sizeof *a), 0);
    cr_assert_neq(memcmp(full, early, sizeof full), 0);
    const int32_t last = LAYERS;
    const geodec_capture outside = {1, &last, b};
    cr_assert_eq(geodec_forward(s, &batch, early, &outside, &err), GEODEC_RANGE);
    geodec_session_destroy(s);
    s = NULL;
    cr_assert_eq(geodec_session_create(r.m, &beyond, &s, &err), GEODEC_RANGE);
    cr_assert_null(s);
    free(a);
    free(b);
    rig_close(&r);
}

Test(models, another_tokenizer_is_refused)
{
    rig r = rig_open();
    geodec_err err = {0};
    char *bytes = NULL;
    size_t n = 0;
    const char *path = test_tmp("foreign.gguf");
    geodec_model *foreign = NULL;
    geodec_drafter *d = NULL;
    const geodec_model_drafter_options o = {.name = "model"};
    test_ok(geodec_file_read(test_tmp("draft.gguf"), 1 << 24, &bytes, &n, &err), &err);
    bool found = false;
    for (size_t i = 0; i + 4 <= n && !found; i++)
        if (memcmp(bytes + i, "</s>", 4) == 0) {
            bytes[i + 2] = 't';
            found = true;
        }
    cr_assert(found);
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
    free(bytes);
    test_ok(geodec_model_open(path, &foreign, &err), &err);
    cr_assert_eq(geodec_model_drafter_create(foreign, r.m, &o, &d, &err), GEODEC_CHECKSUM);
    cr_assert_null(d);

    const char *names[] = {"model"};
    const geodec_session_options how = {0};
    geodec_drafting *drafting = NULL;
    test_ok(geodec_drafting_open(r.m, NULL, names, 1, &drafting, &err), &err);
    cr_assert_eq(geodec_drafting_create(drafting, "model", &d, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_drafting_sessions(drafting, &how, path, &err), GEODEC_CHECKSUM);
    geodec_drafting_close(drafting);
    geodec_model_close(foreign);
    rig_close(&r);
}

Test(models, names)
{
    static const char *const good[] = {"model",        "model-sampled",  "exit",        "exit:1",
                                       "exit-sampled", "exit-sampled:2", "exit:1+model"},
                             *const bad[] = {"exit:", "exit:0", "exit:x", "exit:1x", "model:2", "exits", "exit:-1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) cr_assert(geodec_drafting_knows(good[i]), "%s", good[i]);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) cr_assert_not(geodec_drafting_knows(bad[i]), "%s", bad[i]);
    rig r = rig_open();
    geodec_err err = {0};
    geodec_drafting *drafting = NULL;
    geodec_drafter *d = NULL;
    const geodec_session_options how = {0};
    const char *names[] = {"exit", "exit:9", "exit:1+model"};
    test_ok(geodec_drafting_open(r.m, NULL, names, 3, &drafting, &err), &err);
    test_ok(geodec_drafting_sessions(drafting, &how, test_tmp("draft.gguf"), &err), &err);
    test_ok(geodec_drafting_create(drafting, "exit", &d, &err), &err);
    cr_assert_null(d->ops->distribution);
    geodec_drafter_destroy(d);
    test_ok(geodec_drafting_create(drafting, "exit-sampled:1", &d, &err), &err);
    cr_assert_not_null(d->ops->distribution);
    geodec_drafter_destroy(d);
    d = NULL;
    cr_assert_eq(geodec_drafting_create(drafting, "exit:9", &d, &err), GEODEC_INVAL);
    cr_assert_null(d);
    test_ok(geodec_drafting_create(drafting, "exit:1+model", &d, &err), &err);
    geodec_decode_options o = geodec_decode_options_default();
    o.max_tokens = 40;
    o.budget = 6;
    geodec_decoded plain = decode(&r, NULL, &o), got = decode(&r, d, &o);
    same_text(&got, &plain);
    geodec_decode_free(&plain);
    geodec_decode_free(&got);
    geodec_drafter_destroy(d);
    geodec_drafting_close(drafting);
    rig_close(&r);
}

Test(models, depth_sink_is_measured)
{
    rig r = rig_open();
    geodec_err err = {0};
    geodec_depth_sink a, b;
    double explained[LAYERS], again[LAYERS], plateau;
    test_ok(geodec_depth_sink_measure(r.m, &a, explained, &err), &err);
    test_ok(geodec_depth_sink_measure(r.m, &b, again, &err), &err);
    cr_assert_eq(memcmp(explained, again, sizeof again), 0);
    cr_assert_eq(a.layer, b.layer);
    plateau = fmax(explained[0], explained[1]);
    cr_assert_geq(explained[LAYERS - 1], 0.95); /* by the choice of k */
    cr_assert_leq(plateau, 1 + 1e-12);
    cr_assert_eq(a.layer, explained[0] >= plateau - 1e-3 ? 1 : 2);
    cr_assert_gt(a.states, 100);
    rig_close(&r);
}

/* ---- oracle replay with errors ---------------------------------------------------------------------------------- */

Test(models, oracle_replay_is_right_as_often_as_asked)
{
    enum { PROMPTS = 20 };
    static int32_t token[PROMPTS];
    static int64_t offset[PROMPTS + 1];
    geodec_err err = {0};
    toy t;
    for (int i = 0; i < PROMPTS; i++) token[i] = i;
    for (int i = 0; i <= PROMPTS; i++) offset[i] = i;
    const geodec_prompts prompts = {.token = token, .offset = offset, .n = PROMPTS};
    const geodec_target target = toy_target(&t, TOY_HISTORY, 8, 1000);
    const geodec_bench_plan plan = {
        .prompts = &prompts,
        .max_tokens = 300,
        .n_drafters = 2,
        .drafter = {{"oracle:0.8", NULL, NULL, 0.8}, {"oracle", NULL, NULL, 0}},
        .n_gammas = 2,
        .gamma = {1, 4},
        .n_budgets = 1,
        .budget = {12},
        .greedy = true,
        .seed = 5,
        .resamples = 50,
    };
    geodec_bench_counts c = {0};
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &c, &err), &err);
    double chain = 0, tree = 0;
    for (int64_t i = 0; i < c.n; i++) {
        const geodec_bench_row *row = &c.row[i];
        cr_assert_eq(row->mismatches, 0);
        cr_assert_gt(row->compared, 5000);
        if (row->drafter == 1 && row->budget == 0) {
            cr_assert_eq(row->position[0].accepted, row->position[0].reached);
            continue;
        }
        if (row->drafter == 1) continue;
        if (row->budget > 0) {
            tree = row->tokens_per_pass.value;
            continue;
        }
        for (int g = 0; g < row->gamma; g++) /* four standard errors of at least 1000 trials */
            cr_assert_float_eq((double)row->position[g].accepted / (double)row->position[g].reached, 0.8, 0.05);
        if (row->gamma == 4) chain = row->tokens_per_pass.value;
    }
    cr_assert_float_eq(chain, geodec_predict_tokens(0.8, 4), 0.15);
    cr_assert_gt(tree, chain + 0.5); /* truths that are second guesses are in the tree */
    geodec_bench_counts_free(&c);
}

/* A model that drafts for itself from a projection: at full rank almost every draft is right, at rank 1 few are, and
 * the text is that of plain decoding for any of them. */
Test(models, a_projection_drafts_for_its_own_model)
{
    rig r = rig_open();
    geodec_err err = {0};
    geodec_decode_options o = geodec_decode_options_default();
    geodec_decoded plain, got[2];
    o.max_tokens = 60;
    geodec_linalg_init();
    plain = decode(&r, NULL, &o);
    for (int whole = 0; whole < 2; whole++) {
        const char *file = test_tmp("projection.h5"), *names[] = {"model"};
        const geodec_provenance prov = {.tool = "test", .model_fingerprint = geodec_model_fingerprint(r.m)};
        geodec_projection_options po = geodec_projection_defaults();
        geodec_projection p = {0};
        geodec_artifact *a = NULL;
        geodec_drafting *drafting = NULL;
        geodec_drafter *d = NULL;
        po.slots = (1u << GEODEC_SLOTS) - 1;
        po.share = whole;
        test_ok(geodec_projection_fit(r.m, &po, &p, &err), &err);
        test_ok(geodec_artifact_create(&geodec_projection_kind, file, &prov, &a, &err), &err);
        test_ok(geodec_projection_write(&p, a, &err), &err);
        test_ok(geodec_artifact_commit(a, &err), &err);
        geodec_projection_clear(&p);
        test_ok(geodec_drafting_open(r.m, NULL, names, 1, &drafting, &err), &err);
        test_ok(geodec_drafting_project(drafting, file, &err), &err);
        test_ok(geodec_drafting_create(drafting, "model", &d, &err), &err);
        got[whole] = decode(&r, d, &o);
        same_text(&got[whole], &plain);
        geodec_drafter_destroy(d);
        geodec_drafting_close(drafting);
    }
    cr_assert_eq(geodec_model_factored(r.m), 0); /* the target is as it was */
    cr_assert_lt(got[1].counters.target_passes, got[0].counters.target_passes);
    for (int i = 0; i < 2; i++) geodec_decode_free(&got[i]);
    geodec_decode_free(&plain);
    rig_close(&r);
}
