/* The flow map from a model's own texts to drafts: the steps of geodec-sample, -export, -bake and -decode in one
 * process. */
#include "base/mem.h"
#include "chain/activations.h"
#include "decode/loop.h"
#include "decode/sample.h"
#include "decode/tiny.h"
#include "drafters/drafting.h"
#include "export/export.h"
#include "flowmap/map.h"
#include "io/file.h"
#include "io/h5.h"
#include "linalg/lapack.h"
#include "measure/bench.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Sampled texts as a source of sequences. */
typedef struct sampled {
    int32_t *token;
    int64_t *start; /* [texts+1] */
    int64_t texts, length, next;
} sampled;

static geodec_status keep(void *ctx, int64_t text, const int32_t *token, int32_t n, geodec_err *err)
{
    sampled *s = ctx;
    (void)err;
    memcpy(s->token + s->start[text], token, (size_t)n * sizeof *token);
    s->start[text + 1] = s->start[text] + n;
    return GEODEC_OK;
}

static geodec_status give(void *ctx, const int32_t **token, int64_t *n, geodec_err *err)
{
    sampled *s = ctx;
    (void)err;
    *n = -1;
    if (s->next < s->texts) {
        *token = s->token + s->start[s->next];
        *n = s->start[s->next + 1] - s->start[s->next];
        s->next++;
    }
    return GEODEC_OK;
}

/* Writes tmpdir/`folder`/flowmap.h5 from texts sampled from the model; returns the folder. */
static const char *bake(const geodec_model *m, const char *folder, int64_t texts, int32_t length,
                        geodec_flowmap_summary *summary)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_artifact *a = NULL, *map_file = NULL;
    geodec_flowmap map;
    geodec_activations v;
    char path[512];
    const char *dir = test_tmp(folder);
    sampled s = {.texts = texts, .length = length};
    const int32_t layer = geodec_model_configuration(m)->n_layer;
    const geodec_sample_options so = {.texts = texts, .length = length, .temperature = 1, .top_p = 1, .seed = 3};
    const geodec_export_options eo = {.n_layers = 1, .layer = &layer, .window = length, .top_m = 1};
    const geodec_flowmap_options fo = geodec_flowmap_defaults();
    const geodec_provenance p = {.tool = "test",
                                 .command_line = "test",
                                 .model_fingerprint = geodec_model_fingerprint(m),
                                 .tokenizer_fingerprint = geodec_tokenizer_fingerprint(geodec_model_tokenizer(m))};
    geodec_io_init();
    geodec_linalg_init();
    (void)mkdir(dir, 0700);
    s.token = geodec_mem_new(texts * length, sizeof *s.token);
    s.start = geodec_mem_new(texts + 1, sizeof *s.start);
    cr_assert(s.token && s.start);
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    test_ok(geodec_sample_run(m, &so, keep, &s, pool, NULL, &err), &err);
    const geodec_export_source source = {&s, give};
    geodec_export_summary es;
    (void)snprintf(path, sizeof path, "%s/store.h5", dir);
    test_ok(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
    test_ok(geodec_export_run(m, &eo, &source, a, &es, pool, NULL, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_activations_kind, path, &a, &err), &err);
    test_ok(geodec_activations_view(a, &v, &err), &err);
    test_ok(geodec_flowmap_bake(&v, &fo, &map, summary, pool, NULL, &err), &err);
    geodec_artifact_close(a);
    (void)snprintf(path, sizeof path, "%s/flowmap.h5", dir);
    test_ok(geodec_artifact_create(&geodec_flowmap_kind, path, &p, &map_file, &err), &err);
    test_ok(geodec_flowmap_write(&map, map_file, &err), &err);
    test_ok(geodec_artifact_commit(map_file, &err), &err);
    geodec_flowmap_clear(&map);
    geodec_mem_free(s.token);
    geodec_mem_free(s.start);
    geodec_pool_destroy(pool);
    return dir;
}

static const char *const names[] = {"flowmap", "ngram", "bigram"};

Test(flowmap, decoding_with_it_gives_the_plain_tokens)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *session = NULL;
    geodec_drafting *drafting = NULL;
    geodec_flowmap_summary s;
    test_ok(geodec_model_open(tiny_model("flow.gguf", 5), &m, &err), &err);
    const char *dir = bake(m, "flow", 40, 40, &s);
    const geodec_session_options so = {.n_ctx = TINY_CTX};
    test_ok(geodec_session_create(m, &so, &session, &err), &err);
    const geodec_target target = geodec_target_session(session, 16);
    test_ok(geodec_drafting_open(m, dir, names, 3, &drafting, &err), &err);
    const int32_t prompt[] = {1, 5, 9}, stop[] = {2};
    int64_t accepted = 0;
    for (int i = 0; i < 3; i++) {
        geodec_drafter *d = NULL;
        test_ok(geodec_drafting_create(drafting, names[i], &d, &err), &err);
        for (uint64_t seed = 0; seed < 4; seed++)
            for (int32_t gamma = 1; gamma <= 8; gamma += 3) {
                geodec_decode_options o = geodec_decode_options_default();
                geodec_decoded plain, drafted;
                o.max_tokens = 50;
                o.min_tokens = 40; /* the guard reaches the drafter */
                o.stop = stop;
                o.n_stop = 1;
                o.gamma = gamma;
                o.sampling.temperature = seed == 0 ? 0 : 0.7;
                o.sampling.seed = seed;
                test_ok(geodec_decode(&target, prompt, 3, NULL, &o, &plain, &err), &err);
                test_ok(geodec_decode(&target, prompt, 3, d, &o, &drafted, &err), &err);
                cr_assert_eq(plain.n, drafted.n);
                cr_assert_eq(memcmp(plain.token, drafted.token, (size_t)plain.n * sizeof *plain.token), 0);
                accepted += i == 0 ? drafted.counters.total.accepted : 0;
                geodec_decode_free(&plain);
                geodec_decode_free(&drafted);
            }
        geodec_drafter_destroy(d);
    }
    cr_assert_gt(accepted, 20);
    geodec_drafting_close(drafting);
    geodec_session_destroy(session);
    geodec_model_close(m);
}

Test(flowmap, another_model_is_refused_and_a_missing_file_named)
{
    geodec_err err = {0};
    geodec_model *m = NULL, *other = NULL;
    geodec_drafting *d = NULL;
    geodec_flowmap_summary s;
    char line[400];
    test_ok(geodec_model_open(tiny_model("one.gguf", 5), &m, &err), &err);
    test_ok(geodec_model_open(tiny_model("two.gguf", 6), &other, &err), &err);
    const char *dir = bake(m, "one", 20, 30, &s);
    cr_assert_eq(geodec_drafting_open(other, dir, names, 1, &d, &err), GEODEC_CHECKSUM);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "another model"));
    cr_assert_eq(geodec_drafting_open(m, NULL, names, 1, &d, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_drafting_open(m, test_tmp("nowhere"), names, 1, &d, &err), GEODEC_NOTFOUND);
    cr_assert(strstr(geodec_err_line(&err, line, sizeof line), "flowmap.h5"));
    cr_assert_null(d);
    geodec_model_close(m);
    geodec_model_close(other);
}

static geodec_status make_drafter(void *ctx, geodec_drafter **out, geodec_err *err)
{
    const void **c = ctx;
    return geodec_drafting_create(c[0], c[1], out, err);
}

/* A fifth of the store of the full measurement (tests/bench/flowmap.sh), on a model trained on stories. The n-gram
 * drafter reads the same store and the current text, as the flow map does. */
Test(flowmap, drafts_better_than_n_grams_on_a_trained_model)
{
    const char *path = test_shared("models/stories260K-f32.gguf"), *text_path = test_shared("text/tinystories-a.txt");
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *session = NULL;
    geodec_drafting *drafting = NULL;
    geodec_prompts prompts;
    geodec_flowmap_summary s;
    geodec_bench_counts counts;
    char *text = NULL;
    size_t n = 0;
    test_ok(geodec_model_open(path, &m, &err), &err);
    const char *dir = bake(m, "stories", 160, 256, &s);
    cr_assert_lt(s.bytes_per_node, 48);
    const geodec_session_options so = {.n_ctx = 256};
    test_ok(geodec_session_create(m, &so, &session, &err), &err);
    const geodec_target target = geodec_target_session(session, 16);
    test_ok(geodec_drafting_open(m, dir, names, 2, &drafting, &err), &err);
    test_ok(geodec_file_read(text_path, 1 << 24, &text, &n, &err), &err);
    const geodec_documents_options how = {.tokenizer = geodec_model_tokenizer(m)};
    const geodec_prompts_options wanted = {.count = 24, .length = 24};
    geodec_documents documents = {0};
    test_ok(geodec_documents_read(text_path, text, n, &how, &documents, &err), &err);
    test_ok(geodec_prompts_make(geodec_model_tokenizer(m), &documents, &wanted, &prompts, &err), &err);
    geodec_documents_free(&documents);
    const void *flow[] = {drafting, "flowmap"}, *ngram[] = {drafting, "ngram"};
    const geodec_bench_plan plan = {.prompts = &prompts,
                                    .max_tokens = 96,
                                    .n_drafters = 2,
                                    .drafter = {{"flowmap", make_drafter, flow}, {"ngram", make_drafter, ngram}},
                                    .n_gammas = 1,
                                    .gamma = {4},
                                    .greedy = true,
                                    .resamples = 100};
    test_ok(geodec_bench_count(&plan, &target, 1, NULL, &counts, &err), &err);
    const geodec_bench_row *best[2][2] = {{NULL}};
    for (int64_t i = 0; i < counts.n; i++) {
        best[counts.row[i].drafter][counts.row[i].every_position] = &counts.row[i];
        cr_assert_eq(counts.row[i].mismatches, 0);
    }
    const geodec_bench_row *f = best[0][1], *g = best[1][1];
    fprintf(stderr, "flow map %.3f first, %.2f of 4, %.2f tokens a pass; n-gram %.3f, %.2f, %.2f\n",
            f->acceptance[0].value, f->mean_accepted.value, best[0][0]->tokens_per_pass.value, g->acceptance[0].value,
            g->mean_accepted.value, best[1][0]->tokens_per_pass.value);
    cr_assert_geq(f->acceptance[0].value, 0.75);
    cr_assert_geq(f->mean_accepted.value, 2.0); /* 2.4 with the full store */
    cr_assert_gt(f->acceptance[0].value, g->acceptance[0].value + 0.05);
    cr_assert_gt(f->mean_accepted.value, g->mean_accepted.value + 0.2);
    cr_assert_gt(best[0][0]->tokens_per_pass.value, best[1][0]->tokens_per_pass.value + 0.2);
    /* confidence: claimed and actual acceptance agree on unseen text */
    double claimed = 0, right = 0, reached = 0;
    for (int b = 0; b < GEODEC_CONFIDENCE_BINS; b++) {
        reached += (double)f->confidence[b].reached;
        right += (double)f->confidence[b].accepted;
        claimed += f->claimed[b] * (double)f->confidence[b].reached;
    }
    cr_assert_float_eq(claimed / reached, right / reached, 0.06, "claimed %.3f, right %.3f", claimed / reached,
                       right / reached);
    geodec_bench_counts_free(&counts);
    geodec_prompts_free(&prompts);
    geodec_mem_free(text);
    geodec_drafting_close(drafting);
    geodec_session_destroy(session);
    geodec_model_close(m);
}
