/* The reference against goldens: an independent float64 evaluation of the same files, of the models of the repository
 * and of those of the shared folder. */
#include "base/mem.h"
#include "linalg/lapack.h"
#include "reference/reference.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const here[] = {
    "tiny-llama-experts", "tiny-llama-biases",  "tiny-llama-divisors", "tiny-llama-linear", "tiny-qwen2",
    "tiny-qwen3",         "tiny-qwen3moe",      "tiny-olmoe",          "tiny-gemma2",       "tiny-gemma3",
    "tiny-phi3-long",     "tiny-phi3-short",    "tiny-qwen2moe",       "tiny-bailingmoe2",  "tiny-granitemoe",
    "geodec-stories-f16", "geodec-stories-q8_0"};
enum { N_HERE = sizeof here / sizeof *here };

static const char *const names[] = {
    "stories260K-f32",
    "stories260K-f16",
    "stories260K-q4_k_m",
    "stories260K-q6_k",
    "stories260K-ff192-f32",
    "stories260K-ff192-q4_0",
    "stories260K-ff192-q8_0",
    "stories260K-rot256-f32",
    "stories260K-rot256-f16",
    "stories260K-rot256-q4_0",
    "stories260K-rot256-q4_k_m",
    "stories260K-rot256-q6_k",
    "stories260K-rot256-q8_0",
    "stories-moe8x2-f32",
    "stories-moe8x2-f16",
    "stories-moe8x2-q4_0",
    "stories-moe8x2-q8_0",
    "stories-moe8x2-rot256-f16",
    "stories-moe8x2-rot256-q4_k_m",
    "stories-moe8x2-rot256-q8_0",
};
enum { N_NAMES = sizeof names / sizeof *names };

static const char *shared(const char *folder, const char *name, const char *suffix)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s%s", folder, name, suffix);
    return test_shared(path);
}

static int32_t *read_ids(const json_t *array, int32_t *n)
{
    *n = (int32_t)json_array_size(array);
    int32_t *ids = geodec_mem_new(*n + 1, sizeof *ids);
    for (int32_t i = 0; i < *n; i++) ids[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return ids;
}

static geodec_reference *open_reference(const char *path, geodec_model **m)
{
    geodec_err err = {0};
    geodec_reference *r = NULL;
    geodec_linalg_init();
    test_ok(geodec_model_open(path, m, &err), &err);
    test_ok(geodec_reference_create(*m, NULL, &r, &err), &err);
    return r;
}

/* Largest error in units of what rounding the golden to float32 explains: 2^-24 |logit|. */
static double logit_error(const char *name)
{
    const char *path = shared("models", name, ".gguf"), *json = shared("golden/llama", name, ".json"),
               *npy = shared("golden/llama", name, ".dequant64.npy");
    geodec_model *m = NULL;
    geodec_reference *r = open_reference(path, &m);
    json_t *root = json_load_file(json, 0, NULL);
    geodec_err err = {0};
    int32_t n;
    int64_t shape[8];
    int dims;
    int32_t *ids = read_ids(json_object_get(json_object_get(root, "full_logits"), "ids"), &n);
    double *want = test_npy(npy, shape, &dims), worst = 0;
    cr_assert(want && dims == 2 && shape[0] == n && shape[1] == geodec_model_configuration(m)->n_vocab);
    double *logits = geodec_mem_new(n * shape[1], sizeof *logits);
    test_ok(geodec_reference_forward(r, ids, n, NULL, logits, &err), &err);
    for (int64_t i = 0; i < n * shape[1]; i++) {
        const double e = fabs(logits[i] - want[i]) / (fabs(want[i]) * 0x1p-24 + 1e-9);
        if (!(e <= worst)) worst = e;
    }
    geodec_reference_destroy(r);
    geodec_model_close(m);
    geodec_mem_free(logits);
    geodec_mem_free(want);
    geodec_mem_free(ids);
    json_decref(root);
    return worst;
}

static void logits_of(const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double e = logit_error(list[i]);
        cr_assert_leq(e, 1.01, "%s: largest error is %g times the golden's own rounding", list[i], e);
    }
}
Test(reference_golden, logits) { logits_of(here, N_HERE); }
Test(reference_golden, logits_of_shared_models) { logits_of(names, N_NAMES); }

static void routing_of(const char *const *list, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const char *path = shared("models", list[k], ".gguf"), *json = shared("golden/llama", list[k], ".routing.json");
        geodec_model *m = NULL;
        geodec_reference *r = open_reference(path, &m);
        const geodec_model_config *c = geodec_model_configuration(m);
        json_t *root = json_load_file(json, 0, NULL);
        geodec_err err = {0};
        int32_t n;
        int32_t *ids = read_ids(json_object_get(root, "ids"), &n);
        const int64_t size = (int64_t)n * c->n_layer * c->n_expert_used;
        int32_t *id = geodec_mem_new(size, sizeof *id);
        double *weight = geodec_mem_new(size, sizeof *weight);
        const geodec_reference_trace trace = {.expert_id = id, .expert_weight = weight};
        test_ok(geodec_reference_forward(r, ids, n, &trace, NULL, &err), &err);
        const json_t *layers = json_object_get(root, "layers");
        cr_assert_eq(json_array_size(layers), (size_t)c->n_layer);
        for (int32_t l = 0; l < c->n_layer; l++)
            for (int32_t p = 0; p < n; p++)
                for (int32_t j = 0; j < c->n_expert_used; j++) {
                    const json_t *row = json_array_get(json_array_get(layers, (size_t)l), (size_t)p),
                                 *pair = json_array_get(row, (size_t)j);
                    const int64_t at = ((int64_t)p * c->n_layer + l) * c->n_expert_used + j;
                    cr_assert_eq(id[at], json_integer_value(json_array_get(pair, 0)), "%s layer %d position %d",
                                 list[k], l, p);
                    const double w = json_number_value(json_array_get(pair, 1)); /* six decimals */
                    cr_assert_lt(fabs(weight[at] - w), 0.51e-6, "%s layer %d position %d: %g, not %g", list[k], l, p,
                                 weight[at], w);
                }
        geodec_reference_destroy(r);
        geodec_model_close(m);
        geodec_mem_free(ids);
        geodec_mem_free(id);
        geodec_mem_free(weight);
        json_decref(root);
    }
}

Test(reference_golden, routing)
{
    static const char *const list[] = {"tiny-llama-experts", "tiny-qwen3moe",    "tiny-olmoe",
                                       "tiny-qwen2moe",      "tiny-bailingmoe2", "tiny-granitemoe"};
    routing_of(list, sizeof list / sizeof *list);
}

Test(reference_golden, routing_of_shared_models)
{
    static const char *const list[] = {
        "stories-moe8x2-f32",        "stories-moe8x2-f16",         "stories-moe8x2-q8_0",         "stories-moe8x2-q4_0",
        "stories-moe8x2-rot256-f16", "stories-moe8x2-rot256-q8_0", "stories-moe8x2-rot256-q4_k_m"};
    routing_of(list, sizeof list / sizeof *list);
}

/* The first windows of a text against the sums of golden: the peer's float32 ones (given to five decimals), or those of
 * the independent float64 evaluation. */
static void perplexity_windows(const char *name, const char *text, const char *sums_of, double tolerance)
{
    const char *path = shared("models", name, ".gguf"), *json = shared("golden/llama", name, ".json");
    geodec_model *m = NULL;
    geodec_reference *r = open_reference(path, &m);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    enum { BYTES = 8000, WINDOWS = 4, LENGTH = 256 };
    static char buffer[BYTES];
    FILE *f = fopen(text, "rb");
    cr_assert(f && fread(buffer, 1, BYTES, f) == BYTES);
    (void)fclose(f);
    geodec_err err = {0};
    int64_t n;
    int32_t *ids = geodec_mem_new(BYTES + 2, sizeof *ids);
    double *nll = geodec_mem_new(WINDOWS * (LENGTH - 1), sizeof *nll);
    test_ok(geodec_tokenizer_encode(t, buffer, BYTES, false, ids, &n, &err), &err);
    for (int w = 0; w < WINDOWS; w++) {
        int32_t window[LENGTH] = {geodec_tokenizer_bos(t)};
        memcpy(window + 1, ids + w * (LENGTH - 1), (LENGTH - 1) * sizeof *window);
        test_ok(geodec_reference_nll(r, window, LENGTH, nll + w * (LENGTH - 1), &err), &err);
    }
    json_t *root = json_load_file(json, 0, NULL);
    const json_t *sums = json_object_get(json_array_get(json_object_get(root, "nll"), 0), sums_of);
    for (int w = 0; w < WINDOWS; w++) {
        double sum = 0;
        for (int i = 0; i < LENGTH - 1; i++) sum += nll[w * (LENGTH - 1) + i];
        const double want = json_number_value(json_array_get(sums, (size_t)w));
        cr_assert_lt(fabs(sum - want), tolerance * want, "%s window %d: %.9f, not %.9f", name, w, sum, want);
    }
    cr_assert_eq(geodec_reference_nll(r, ids, 1, nll, NULL), GEODEC_RANGE);
    json_decref(root);
    geodec_reference_destroy(r);
    geodec_model_close(m);
    geodec_mem_free(ids);
    geodec_mem_free(nll);
}

Test(reference_golden, perplexity_windows)
{
    const char *text = test_golden("text/stories.txt");
    perplexity_windows("geodec-stories-f16", text, "float64_per_window_nll", 1e-12);
    perplexity_windows("geodec-stories-q8_0", text, "float64_per_window_nll", 1e-12);
}

Test(reference_golden, perplexity_windows_of_shared_models)
{
    perplexity_windows("stories260K-f32", test_shared("text/tinystories-a.txt"), "per_window_nll", 1e-5);
}
