/* The forward pass against goldens: an independent float64 evaluation of the same files, and the peer's greedy texts.
 * Of the models of the repository (tests/golden/README.md) and of those of the shared folder. */
#include "base/mem.h"
#include "session/model.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct golden {
    const char *name;
    double tolerance; /* of a logit, absolute */
} golden;

/* The bars: F32 within 2e-5 (the tiny ones within 1e-5), every other type (float activations) within 1e-4. */
static const golden here[] = {{"tiny-llama-experts", 1e-5}, {"tiny-llama-biases", 1e-5},  {"tiny-llama-divisors", 1e-5},
                              {"tiny-llama-linear", 1e-5},  {"tiny-qwen2", 1e-5},         {"tiny-qwen3", 1e-5},
                              {"tiny-qwen3moe", 1e-5},      {"tiny-olmoe", 1e-5},         {"tiny-gemma2", 1e-5},
                              {"tiny-gemma3", 1e-5},        {"tiny-phi3-long", 1e-5},     {"tiny-phi3-short", 1e-5},
                              {"tiny-qwen2moe", 1e-5},      {"tiny-bailingmoe2", 1e-5},   {"tiny-granitemoe", 1e-5},
                              {"geodec-stories-f16", 1e-4}, {"geodec-stories-q8_0", 1e-4}};
enum { N_HERE = sizeof here / sizeof *here };

/* All models of the shared folder. */
static const golden goldens[] = {
    {"stories260K-f32", 2e-5},           {"stories260K-ff192-f32", 2e-5},
    {"stories260K-rot256-f32", 2e-5},    {"stories-moe8x2-f32", 2e-5},
    {"stories260K-f16", 2e-5},           {"stories260K-rot256-f16", 2e-5},
    {"stories-moe8x2-f16", 2e-5},        {"stories-moe8x2-rot256-f16", 2e-5},
    {"stories260K-ff192-q8_0", 2e-5},    {"stories260K-rot256-q8_0", 2e-5},
    {"stories-moe8x2-q8_0", 2e-5},       {"stories-moe8x2-rot256-q8_0", 2e-5},
    {"stories260K-ff192-q4_0", 2e-5},    {"stories260K-q4_k_m", 2e-5},
    {"stories260K-q6_k", 2e-5},          {"stories260K-rot256-q4_0", 2e-5},
    {"stories260K-rot256-q4_k_m", 2e-5}, {"stories260K-rot256-q6_k", 2e-5},
    {"stories-moe8x2-q4_0", 2e-5},       {"stories-moe8x2-rot256-q4_k_m", 2e-5},
};
enum { N_GOLDENS = sizeof goldens / sizeof *goldens };

static const char *shared(const char *folder, const char *name, const char *suffix)
{
    char path[200];
    const bool prefix = folder[strlen(folder) - 1] == '-';
    (void)snprintf(path, sizeof path, "%s%s%s%s", folder, prefix ? "" : "/", name, suffix);
    return test_shared(path);
}

static geodec_model *open_model(const char *name)
{
    const char *path = shared("models", name, ".gguf");
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    return m;
}

static geodec_session *open_session(const geodec_model *m, geodec_isa isa)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = 256, .isa = isa};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    return s;
}

static int32_t *read_ids(const json_t *array, int32_t *n)
{
    *n = (int32_t)json_array_size(array);
    int32_t *ids = geodec_mem_new(*n + 1, sizeof *ids);
    for (int32_t i = 0; i < *n; i++) ids[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return ids;
}

static geodec_session *open_session_of(const geodec_model *m, geodec_isa isa, geodec_arithmetic arithmetic)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    const geodec_session_options o = {.n_ctx = 256, .max_batch = 256, .isa = isa, .arithmetic = arithmetic};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    return s;
}

/* Largest error of this arithmetic on the golden's text; of the peer too where peer is not NULL. */
static double model_error(const geodec_model *m, const char *name, geodec_isa isa, geodec_arithmetic arithmetic,
                          double *peer)
{
    const char *json_path = shared("golden/llama", name, ".json"),
               *npy = shared("golden/llama", name, ".dequant64.npy"),
               *peer_npy = shared("golden/llama", name, ".logits.npy");
    json_t *root = json_load_file(json_path, 0, NULL);
    geodec_err err = {0};
    int32_t n;
    int64_t shape[8];
    int dims;
    int32_t *ids = read_ids(json_object_get(json_object_get(root, "full_logits"), "ids"), &n);
    double *want = test_npy(npy, shape, &dims);
    cr_assert(want && dims == 2 && shape[0] == n && shape[1] == geodec_model_configuration(m)->n_vocab);
    double *theirs = peer ? test_npy(peer_npy, shape, &dims) : NULL;
    geodec_session *s = open_session_of(m, isa, arithmetic);
    float *logits = geodec_mem_new(n * shape[1], sizeof *logits);
    test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = ids}, logits, NULL, &err), &err);
    double worst = 0;
    if (peer) *peer = 0;
    for (int64_t i = 0; i < n * shape[1]; i++) {
        const double e = fabs((double)logits[i] - want[i]);
        if (!(e <= worst)) worst = e;
        if (peer) *peer = fmax(*peer, fabs(theirs[i] - want[i]));
    }
    geodec_session_destroy(s);
    geodec_mem_free(logits);
    geodec_mem_free(want);
    geodec_mem_free(theirs);
    geodec_mem_free(ids);
    json_decref(root);
    return worst;
}

static double logit_error(const char *name, geodec_isa isa)
{
    (void)shared("golden/llama", name, ".json");
    geodec_model *m = open_model(name);
    const double worst = model_error(m, name, isa, GEODEC_EXACT, NULL);
    geodec_model_close(m);
    return worst;
}

/* The text of golden/types. */
static int read_numbers(const char *path, int32_t *ids, int most)
{
    FILE *f = fopen(path, "r");
    int n = 0;
    cr_assert(f);
    while (n < most && fscanf(f, "%d", &ids[n]) == 1) n++;
    (void)fclose(f);
    return n;
}

/* A model in every type that came with 2.0.0. The peer's logits are those of the decoded weights in F32, so they are
 * exact for the file: 1e-4 in exact arithmetic, on every instruction set with the same bits. Fast arithmetic rounds
 * activations: a wrong scale or sign anywhere makes its relative error larger than 0.1. */
Test(model_golden, types_of_the_peer)
{
    static const char *const types[] = {"iq1_m",   "iq1_s",  "iq2_s", "iq2_xs", "iq2_xxs", "iq3_s",
                                        "iq3_xxs", "iq4_xs", "mxfp4", "nvfp4",  "q1_0",    "q2_0"};
    enum { MOST = 64 };
    int32_t ids[MOST];
    const int32_t n = read_numbers(test_shared("golden/types/stories260K-rot256.ids"), ids, MOST);
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        int64_t shape[8];
        int dims;
        test_ok(geodec_model_open(shared("golden/types/stories260K-rot256-", types[k], ".gguf"), &m, &err), &err);
        double *want = test_npy(shared("golden/types/stories260K-rot256-", types[k], ".logits.npy"), shape, &dims);
        const int64_t v = geodec_model_configuration(m)->n_vocab;
        cr_assert(want && dims == 2 && shape[0] == n && shape[1] == v);
        float *first[GEODEC_ARITHMETICS] = {NULL}, *got = geodec_mem_new(n * v, sizeof *got);
        double error = 0, size = 0;
        for (int a = 0; a < GEODEC_ARITHMETICS; a++)
            for (int isa = GEODEC_ISA_AUTO; isa <= GEODEC_ISA_AVX512; isa++) {
                if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
                geodec_session *s = open_session_of(m, (geodec_isa)isa, (geodec_arithmetic)a);
                test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = ids}, got, NULL, &err), &err);
                geodec_session_destroy(s);
                if (first[a]) {
                    cr_assert(memcmp(got, first[a], (size_t)(n * v) * sizeof *got) == 0, "%s on %s", types[k],
                              geodec_kernels_isa_name((geodec_isa)isa));
                    continue;
                }
                first[a] = geodec_mem_new(n * v, sizeof *got);
                memcpy(first[a], got, (size_t)(n * v) * sizeof *got);
            }
        double worst = 0;
        for (int64_t i = 0; i < n * v; i++) {
            const double e = (double)first[GEODEC_FAST][i] - want[i];
            worst = fmax(worst, fabs((double)first[GEODEC_EXACT][i] - want[i]));
            error += e * e;
            size += want[i] * want[i];
        }
        (void)printf("%s: exact arithmetic within %g, relative error of fast %g\n", types[k], worst,
                     sqrt(error / size));
        cr_assert_lt(worst, 1e-4, "%s: %g", types[k], worst);
        cr_assert_lt(sqrt(error / size), 0.05, "%s: fast arithmetic is off by %g", types[k], sqrt(error / size));
        for (int a = 0; a < GEODEC_ARITHMETICS; a++) geodec_mem_free(first[a]);
        geodec_mem_free(got);
        geodec_mem_free(want);
        geodec_model_close(m);
    }
}

/* Fast arithmetic on real models: near exact, and the same bits for rows alone, in batches, and on every instruction
 * set. */
static void fast_is_near_exact_and_stable(const char *const *names, size_t count)
{
    enum { N = 40 };
    for (size_t k = 0; k < count; k++) {
        geodec_model *m = open_model(names[k]);
        geodec_err err = {0};
        const int64_t v = geodec_model_configuration(m)->n_vocab;
        float *exact = geodec_mem_new(N * v, sizeof *exact), *fast = geodec_mem_new(N * v, sizeof *fast),
              *row = geodec_mem_new(v, sizeof *row);
        int32_t ids[N];
        for (int i = 0; i < N; i++) ids[i] = i == 0 ? 1 : 259 + 37 * i % ((int)v - 259);
        geodec_session_options o = {.n_ctx = N};
        geodec_session *s;
        test_ok(geodec_session_create(m, &o, &s, &err), &err);
        test_ok(geodec_forward(s, &(geodec_batch){.n = N, .token = ids}, exact, NULL, &err), &err);
        geodec_session_destroy(s);
        o.arithmetic = GEODEC_FAST;
        for (int isa = GEODEC_ISA_AUTO; isa <= GEODEC_ISA_AVX512; isa++) {
            if (!geodec_kernels_isa_available((geodec_isa)isa)) continue;
            o.isa = (geodec_isa)isa;
            test_ok(geodec_session_create(m, &o, &s, &err), &err);
            cr_assert_eq(geodec_session_arithmetic(s), GEODEC_FAST);
            if (isa == GEODEC_ISA_AUTO)
                test_ok(geodec_forward(s, &(geodec_batch){.n = N, .token = ids}, fast, NULL, &err), &err);
            else
                for (int i = 0; i < N; i++) {
                    test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = ids + i}, row, NULL, &err), &err);
                    cr_assert(memcmp(row, fast + i * v, (size_t)v * sizeof *row) == 0, "%s: row %d on %s", names[k], i,
                              geodec_kernels_isa_name((geodec_isa)isa));
                }
            geodec_session_destroy(s);
        }
        double error = 0, size = 0;
        for (int64_t i = 0; i < N * v; i++) {
            error += ((double)fast[i] - (double)exact[i]) * ((double)fast[i] - (double)exact[i]);
            size += (double)exact[i] * (double)exact[i];
        }
        /* a product's relative error is about 1/127/sqrt(12) of a block's largest value, and the logits of these models
         * amplify it little; a wrong scale or sign anywhere makes it larger than 0.1 */
        cr_assert_lt(sqrt(error / size), 0.02, "%s: relative error %g", names[k], sqrt(error / size));
        cr_assert_gt(error, 0, "%s: nothing was rounded", names[k]);
        geodec_mem_free(exact);
        geodec_mem_free(fast);
        geodec_mem_free(row);
        geodec_model_close(m);
    }
}

Test(model_golden, fast)
{
    static const char *const names[] = {"geodec-stories-q8_0"};
    fast_is_near_exact_and_stable(names, sizeof names / sizeof *names);
}

/* Every quantised kind. */
Test(model_golden, fast_of_shared_models)
{
    static const char *const names[] = {"stories260K-ff192-q8_0",    "stories260K-rot256-q8_0",
                                        "stories260K-ff192-q4_0",    "stories260K-rot256-q4_0",
                                        "stories260K-rot256-q4_k_m", "stories260K-rot256-q6_k",
                                        "stories-moe8x2-q4_0",       "stories-moe8x2-rot256-q4_k_m"};
    fast_is_near_exact_and_stable(names, sizeof names / sizeof *names);
}

/* Logits and experts of tests/golden/make/perspective.py, where the recurrence is a sum over all positions. Within
 * 2e-5: the norm of what is read from a small state amplifies roundings; a wrong expert would change a logit by more
 * than 1e-2. */
Test(model_golden, perspective)
{
    static const char *const names[] = {"tiny-perspective", "tiny-perspective-angle"};
    for (size_t k = 0; k < 2; k++) {
        geodec_model *m = NULL;
        geodec_err err = {0};
        test_ok(geodec_model_open(shared("golden/perspective", names[k], ".gguf"), &m, &err), &err);
        const geodec_model_config *c = geodec_model_configuration(m);
        int64_t shape[8];
        int dims;
        double *id = test_npy(shared("golden/perspective", names[k], ".ids.npy"), shape, &dims);
        const int32_t n = (int32_t)shape[0];
        double *expert = test_npy(shared("golden/perspective", names[k], ".experts.npy"), shape, &dims),
               *want = test_npy(shared("golden/perspective", names[k], ".logits.npy"), shape, &dims);
        cr_assert(id && expert && want && dims == 2 && shape[0] == n && shape[1] == c->n_vocab);
        int32_t *ids = geodec_mem_new(n, sizeof *ids);
        float *logits = geodec_mem_new(n * shape[1], sizeof *logits);
        for (int32_t i = 0; i < n; i++) ids[i] = (int32_t)id[i];
        geodec_session *s = open_session(m, GEODEC_ISA_AUTO);
        test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = ids}, logits, NULL, &err), &err);
        for (int64_t i = 0; i < n * shape[1]; i++)
            cr_assert(fabs((double)logits[i] - want[i]) < 2e-5, "%s: logit %lld: %g, not %g", names[k], (long long)i,
                      (double)logits[i], want[i]);
        const int32_t *chosen = geodec_session_expert_ids(s);
        for (int64_t i = 0; i < (int64_t)n * c->n_layer; i++)
            cr_assert_eq(chosen[i], (int32_t)expert[i], "%s: expert %lld", names[k], (long long)i);
        geodec_session_destroy(s);
        GEODEC_FREE(id, expert, want, ids, logits);
        geodec_model_close(m);
    }
}

static void logits_of(const golden *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const double e = logit_error(list[i].name, GEODEC_ISA_AUTO);
        cr_assert_leq(e, list[i].tolerance, "%s: largest error %g", list[i].name, e);
    }
}
Test(model_golden, logits) { logits_of(here, N_HERE); }
Test(model_golden, logits_of_shared_models) { logits_of(goldens, N_GOLDENS); }

/* Routing as the float64 evaluation chose it; weights are given to six decimals. */
static void routing_of(const char *const *names, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const char *path = shared("golden/llama", names[k], ".routing.json");
        geodec_model *m = open_model(names[k]);
        json_t *root = json_load_file(path, 0, NULL);
        geodec_err err = {0};
        int32_t n;
        int32_t *ids = read_ids(json_object_get(root, "ids"), &n);
        geodec_session *s = open_session(m, GEODEC_ISA_AUTO);
        test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = ids}, NULL, NULL, &err), &err);
        const geodec_model_config *c = geodec_model_configuration(m);
        const int32_t *id = geodec_session_expert_ids(s);
        const float *weight = geodec_session_expert_weights(s);
        const json_t *layers = json_object_get(root, "layers");
        cr_assert_eq(json_array_size(layers), (size_t)c->n_layer);
        for (int32_t l = 0; l < c->n_layer; l++)
            for (int32_t p = 0; p < n; p++)
                for (int32_t j = 0; j < c->n_expert_used; j++) {
                    const json_t *rows = json_array_get(layers, (size_t)l), *row = json_array_get(rows, (size_t)p);
                    const json_t *pair = json_array_get(row, (size_t)j);
                    const int64_t at = ((int64_t)p * c->n_layer + l) * c->n_expert_used + j;
                    cr_assert_eq(id[at], json_integer_value(json_array_get(pair, 0)), "%s layer %d position %d",
                                 names[k], l, p);
                    const double w = json_number_value(json_array_get(pair, 1));
                    cr_assert_lt(fabs((double)weight[at] - w), 3e-6, "%s layer %d position %d: %g, not %g", names[k], l,
                                 p, (double)weight[at], w);
                }
        geodec_session_destroy(s);
        geodec_model_close(m);
        geodec_mem_free(ids);
        json_decref(root);
    }
}

Test(model_golden, routing)
{
    static const char *const names[] = {"tiny-llama-experts", "tiny-qwen3moe",    "tiny-olmoe",
                                        "tiny-qwen2moe",      "tiny-bailingmoe2", "tiny-granitemoe"};
    routing_of(names, sizeof names / sizeof *names);
}

Test(model_golden, routing_of_shared_models)
{
    static const char *const names[] = {
        "stories-moe8x2-f32",        "stories-moe8x2-f16",         "stories-moe8x2-q8_0",         "stories-moe8x2-q4_0",
        "stories-moe8x2-rot256-f16", "stories-moe8x2-rot256-q8_0", "stories-moe8x2-rot256-q4_k_m"};
    routing_of(names, sizeof names / sizeof *names);
}

/* Greedy continuations of the peer. It quantises activations, so where its winning margin was below its own error
 * against float64 the paths may part; those prompts are left out and the test insists that most are kept. */
typedef struct greedy_case {
    const char *name;
    double peer_error; /* largest error of the peer on these files (the README.md of the goldens) */
    int at_least;      /* prompts that must be decided by a wider margin */
} greedy_case;

static void greedy_continuations(const greedy_case *cases, size_t count)
{
    for (size_t k = 0; k < count; k++) {
        const char *path = shared("golden/llama", cases[k].name, ".json");
        geodec_model *m = open_model(cases[k].name);
        json_t *root = json_load_file(path, 0, NULL);
        const geodec_model_config *c = geodec_model_configuration(m);
        float *logits = geodec_mem_new(c->n_vocab, sizeof *logits);
        size_t i;
        const json_t *prompt;
        int checked = 0, same = 0;
        json_array_foreach(json_object_get(root, "prompts"), i, prompt)
        {
            geodec_err err = {0};
            int32_t n, n_want;
            int32_t *ids = read_ids(json_object_get(prompt, "ids"), &n),
                    *want = read_ids(json_object_get(prompt, "greedy_ids"), &n_want);
            geodec_session *s = open_session(m, GEODEC_ISA_AUTO);
            test_ok(geodec_forward_prefill(s, ids, n, logits, &err), &err);
            int32_t at = 0;
            while (at < n_want) {
                const int32_t id = geodec_argmax(logits, c->n_vocab);
                if (id != want[at]) break;
                at++;
                test_ok(geodec_forward(s, &(geodec_batch){.n = 1, .token = &id}, logits, NULL, &err), &err);
            }
            same += at == n_want;
            const double gap = json_number_value(json_object_get(prompt, "min_top1_top2_gap"));
            if (gap > 2 * cases[k].peer_error) {
                checked++;
                cr_assert_eq(at, n_want, "%s prompt %d parts at token %d (smallest margin %g)", cases[k].name, (int)i,
                             at, gap);
            }
            geodec_session_destroy(s);
            geodec_mem_free(ids);
            geodec_mem_free(want);
        }
        cr_assert_geq(checked, cases[k].at_least, "%s: %d prompts decided", cases[k].name, checked);
        (void)fprintf(stderr, "%s: %d of %d greedy continuations equal the peer's, %d decided\n", cases[k].name, same,
                      (int)i, checked);
        geodec_mem_free(logits);
        geodec_model_close(m);
        json_decref(root);
    }
}

Test(model_golden, greedy)
{
    static const greedy_case cases[] = {
        {"tiny-llama-experts", 1e-5, 5}, {"tiny-llama-biases", 1e-5, 5},  {"tiny-llama-divisors", 1e-5, 5},
        {"tiny-llama-linear", 1e-5, 5},  {"tiny-qwen2", 1e-5, 5},         {"tiny-qwen3", 1e-5, 5},
        {"tiny-qwen3moe", 1e-5, 5},      {"tiny-olmoe", 1e-5, 5},         {"tiny-gemma2", 0.0014, 3},
        {"tiny-gemma3", 0.0023, 3},      {"tiny-phi3-long", 1e-5, 5},     {"tiny-phi3-short", 1e-5, 5},
        {"tiny-qwen2moe", 1e-5, 5},      {"tiny-bailingmoe2", 1e-5, 5},   {"tiny-granitemoe", 1e-5, 5},
        {"geodec-stories-f16", 0.01, 3}, {"geodec-stories-q8_0", 0.31, 0}};
    greedy_continuations(cases, sizeof cases / sizeof *cases);
}

Test(model_golden, greedy_of_shared_models)
{
    static const greedy_case cases[] = {{"stories260K-f32", 6.7e-6, 8},       {"stories260K-rot256-f32", 3.8e-6, 8},
                                        {"stories-moe8x2-f32", 6.9e-6, 8},    {"stories260K-f16", 0.007, 4},
                                        {"stories-moe8x2-f16", 0.006, 4},     {"stories260K-rot256-f16", 0.0055, 4},
                                        {"stories260K-rot256-q8_0", 0.18, 0}, {"stories260K-ff192-q8_0", 0.3, 0}};
    greedy_continuations(cases, sizeof cases / sizeof *cases);
}

/* The best tokens of one step of a prompt: the shared files keep 20, those of the repository 5. */
static const json_t *best_at(const json_t *prompt, int32_t step)
{
    const json_t *top = json_object_get(prompt, "top20");
    return json_array_get(top ? top : json_object_get(prompt, "top"), (size_t)step);
}

/* Every step of the peer's greedy texts in both arithmetics, along the peer's tokens: where its margin is wider than
 * twice the errors of both sides together, the best token must be the same. */
static void greedy_steps(const golden *list, size_t count)
{
    for (size_t k = 0; k < 2 * count; k++) {
        const char *name = list[k / 2].name;
        const geodec_arithmetic arithmetic = k % 2 ? GEODEC_FAST : GEODEC_EXACT;
        const char *path = shared("golden/llama", name, ".json");
        geodec_model *m = open_model(name);
        double peer_error;
        const double error = model_error(m, name, GEODEC_ISA_AUTO, arithmetic, &peer_error);
        json_t *root = json_load_file(path, 0, NULL);
        const int64_t v = geodec_model_configuration(m)->n_vocab;
        const json_t *prompt;
        size_t i;
        int steps = 0, same = 0, decided = 0;
        json_array_foreach(json_object_get(root, "prompts"), i, prompt)
        {
            geodec_err err = {0};
            int32_t n, n_more;
            int32_t *ids = read_ids(json_object_get(prompt, "ids"), &n),
                    *more = read_ids(json_object_get(prompt, "greedy_ids"), &n_more);
            const int32_t all = n + n_more - 1 < 256 ? n + n_more - 1 : 256;
            int32_t *text = geodec_mem_new(n + n_more, sizeof *text);
            float *logits = geodec_mem_new(all * v, sizeof *logits);
            memcpy(text, ids, (size_t)n * sizeof *text);
            memcpy(text + n, more, (size_t)n_more * sizeof *text);
            geodec_session *s = open_session_of(m, GEODEC_ISA_AUTO, arithmetic);
            test_ok(geodec_forward(s, &(geodec_batch){.n = all, .token = text}, logits, NULL, &err), &err);
            for (int32_t t = 0; t < n_more && n - 1 + t < all; t++) {
                const json_t *best = json_object_get(best_at(prompt, t), "logits");
                const double margin =
                    json_number_value(json_array_get(best, 0)) - json_number_value(json_array_get(best, 1));
                const int32_t id = geodec_argmax(logits + (n - 1 + t) * v, v);
                steps++;
                same += id == more[t];
                if (!(margin > 2 * (error + peer_error))) continue;
                decided++;
                cr_assert_eq(id, more[t], "%s prompt %d step %d: margin %g, errors %g and %g", name, (int)i, t, margin,
                             error, peer_error);
            }
            geodec_session_destroy(s);
            geodec_mem_free(logits);
            geodec_mem_free(text);
            geodec_mem_free(ids);
            geodec_mem_free(more);
        }
        cr_assert_gt(decided, steps / 16, "%s: only %d of %d steps are decided", name, decided, steps);
        (void)fprintf(stderr, "%s %s: error %.2g (peer %.2g); %d steps, %d the same, %d decided\n", name,
                      arithmetic == GEODEC_FAST ? "fast" : "exact", error, peer_error, steps, same, decided);
        geodec_model_close(m);
        json_decref(root);
    }
}
Test(model_golden, greedy_steps_in_both_arithmetics) { greedy_steps(here, N_HERE); }
Test(model_golden, greedy_steps_of_shared_models) { greedy_steps(goldens, N_GOLDENS); }
