#include "foresight/world.h"

#include "base/mem.h"
#include "base/rng.h"
#include "chain/activations.h"
#include "session/synthetic.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

geodec_model *world_model(int32_t layers, int32_t experts, int32_t used)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    const synthetic s = {.n_layer = layers,
                         .d_model = 32,
                         .n_head = 4,
                         .n_kv_head = 2,
                         .d_ff = 16,
                         .n_vocab = 300,
                         .n_ctx = 64,
                         .n_expert = experts,
                         .n_expert_used = used,
                         .type = GEODEC_GGML_F16,
                         .tied = true,
                         .seed = 11};
    char name[64];
    (void)snprintf(name, sizeof name, "mixture-%d-%d-%d.gguf", layers, experts, used);
    const char *path = test_tmp(name);
    test_ok(synthetic_write(path, &s, &err), &err);
    test_ok(geodec_model_open(path, &m, &err), &err);
    return m;
}

/* Texts stay until the program ends. */
static char *kept[64];
static int n_kept;

static void forget(void)
{
    for (int i = 0; i < n_kept; i++) free(kept[i]);
}

const char *world_texts(uint64_t seed, int32_t texts, int32_t length, int32_t kinds)
{
    char *all = malloc((size_t)texts * (size_t)length * 5 + 1), *at = all;
    cr_assert(all && n_kept < 64);
    if (n_kept == 0) (void)atexit(forget);
    kept[n_kept++] = all;
    for (int32_t i = 0; i < texts; i++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("text", (uint64_t)i));
        int32_t token = 1;
        for (int32_t p = 0; p < length; p++) {
            at += sprintf(at, "%d%c", token, p + 1 < length ? ' ' : '\n');
            /* two of three tokens follow the one before */
            token = geodec_rng_below(&r, 3) > 0 && token > 1 ? 20 + (token * 7 + 3) % kinds
                                                             : 20 + (int32_t)geodec_rng_below(&r, (uint64_t)kinds);
        }
    }
    return all;
}

geodec_export_source world_source(const geodec_model *m, const char *texts)
{
    geodec_err err = {0};
    geodec_export_source s = {0};
    test_ok(
        geodec_export_source_tokens("texts", texts, strlen(texts), geodec_model_configuration(m)->n_vocab, &s, &err),
        &err);
    return s;
}

const char *world_activations(const geodec_model *m, const char *texts, const char *name)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    geodec_export_summary sum;
    geodec_export_source source = world_source(m, texts);
    const int32_t layer = geodec_model_configuration(m)->n_layer;
    const geodec_export_options o = {.n_layers = 1, .layer = &layer, .window = WORLD_WINDOW, .top_m = 2};
    const geodec_provenance p = {.tool = "test",
                                 .command_line = "test",
                                 .model_fingerprint = geodec_model_fingerprint(m),
                                 .tokenizer_fingerprint = geodec_tokenizer_fingerprint(geodec_model_tokenizer(m))};
    const char *path = test_tmp(name);
    test_ok(geodec_artifact_create(&geodec_activations_kind, path, &p, &a, &err), &err);
    test_ok(geodec_export_run(m, &o, &source, a, &sum, NULL, NULL, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    geodec_export_source_close(&source);
    return path;
}

const char *world_map(const char *activations, const char *name, int threads)
{
    geodec_err err = {0};
    geodec_artifact *in = NULL, *out = NULL;
    geodec_activations states;
    geodec_flowmap map = {0};
    geodec_pool *pool = NULL;
    geodec_flowmap_options o = geodec_flowmap_defaults();
    geodec_provenance p = {.tool = "test", .command_line = "test"};
    const char *path = test_tmp(name);
    o.calibration = 600;
    test_ok(geodec_pool_create(threads, &pool, &err), &err);
    test_ok(geodec_artifact_open(&geodec_activations_kind, activations, &in, &err), &err);
    test_ok(geodec_activations_view(in, &states, &err), &err);
    test_ok(geodec_flowmap_bake(&states, &o, &map, NULL, pool, NULL, &err), &err);
    test_ok(geodec_provenance_add_artifact(&p, in, &err), &err);
    test_ok(geodec_artifact_create(&geodec_flowmap_kind, path, &p, &out, &err), &err);
    test_ok(geodec_flowmap_write(&map, out, &err), &err);
    test_ok(geodec_artifact_commit(out, &err), &err);
    geodec_flowmap_clear(&map);
    geodec_artifact_close(in);
    geodec_pool_destroy(pool);
    return path;
}

void world_read(const char *path, geodec_flowmap *map)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    test_ok(geodec_artifact_open(&geodec_flowmap_kind, path, &a, &err), &err);
    test_ok(geodec_flowmap_read(a, map, &err), &err);
    geodec_artifact_close(a);
}
