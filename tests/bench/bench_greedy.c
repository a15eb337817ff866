/* Greedy steps of a model in exact arithmetic, compared with the same steps in integers, as TSV on stdout.
 *
 *     bench-greedy [MODEL.gguf [TEXT [PROMPTS [STEPS [OTHER.gguf]]]]]
 *
 * (The embedded model, docs/tutorial.md, 16, 64.) Prompts are BOS and 8 tokens of the text, spread over it; each is
 * continued greedily for STEPS tokens in exact arithmetic. Every other arithmetic reads the same tokens. Columns:
 * arithmetic   integer, wide (integers, weights without codes of their own in 16 bits instead of 8), narrow (integers,
 *              activations of 8 bits), and the controls fast and other: exact arithmetic of OTHER.gguf, the same
 *              model with other weights
 * steps        tokens chosen; differ: those with another largest logit
 * decided      steps whose two best exact logits are more than 0.1 apart; decided_differ: those of them that differ
 * rerouted     those of decided_differ whose token has other experts in some layer (a mixture of experts)
 * margin       the largest distance of the two best exact logits in a step that differs
 * delta        the largest difference of a logit */
#include "base/mem.h"
#include "base/pool.h"
#include "integer/engine/engine.h"
#include "io/file.h"
#include "session/integer_network.h"
#include "session/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 9, MOST_TEXT = 1 << 24 };
static const float DECIDED = 0.1f;

typedef struct greedy {
    const geodec_model *m;
    int64_t n_vocab, n; /* n: rows of a prompt with its continuation */
    int64_t prompts, steps;
    int32_t *token; /* [prompts][n] */
    float *logits;  /* [prompts][steps][n_vocab], exact */
    int64_t n_layer, used;
    int32_t *expert; /* [prompts][steps][n_layer][used], exact; NULL: dense */
} greedy;

typedef struct counts {
    int64_t differ, decided, decided_differ, rerouted;
    double margin, delta;
} counts;

static void die(const geodec_err *err)
{
    char line[512];
    (void)fprintf(stderr, "bench-greedy: %s\n", geodec_err_line(err, line, sizeof line));
    exit(1);
}

static void draw_prompts(greedy *g, const char *path)
{
    geodec_err err = {0};
    char *text = NULL;
    size_t size;
    int64_t count;
    if (geodec_file_read(path, MOST_TEXT, &text, &size, &err) != GEODEC_OK) die(&err);
    const geodec_tokenizer *t = geodec_model_tokenizer(g->m);
    int32_t *id = geodec_mem_new((int64_t)size + 3, sizeof *id), bos = geodec_tokenizer_bos(t);
    if (!id) exit(1);
    if (geodec_tokenizer_encode(t, text, size, false, id, &count, &err) != GEODEC_OK) die(&err);
    if (count < PROMPT) {
        (void)fprintf(stderr, "bench-greedy: %s: %lld tokens\n", path, (long long)count);
        exit(1);
    }
    for (int64_t p = 0; p < g->prompts; p++) {
        int32_t *to = g->token + p * g->n;
        to[0] = bos < 0 ? id[0] : bos;
        memcpy(to + 1, id + p * (count - PROMPT) / g->prompts, (PROMPT - 1) * sizeof *to);
    }
    geodec_mem_free(id);
    geodec_mem_free(text);
}

static void continue_exactly(greedy *g)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    if (geodec_session_create(
            g->m, &(geodec_session_options){.n_ctx = (int32_t)g->n, .max_batch = PROMPT, .arithmetic = GEODEC_EXACT},
            &s, &err) != GEODEC_OK)
        die(&err);
    for (int64_t p = 0; p < g->prompts; p++) {
        int32_t *token = g->token + p * g->n;
        geodec_session_truncate(s, 0);
        for (int64_t i = 0; i < g->steps; i++) {
            float *row = g->logits + (p * g->steps + i) * g->n_vocab;
            const geodec_status st = i == 0 ? geodec_forward_prefill(s, token, PROMPT, row, &err)
                                            : geodec_forward_prefill(s, token + PROMPT + i - 1, 1, row, &err);
            if (st != GEODEC_OK) die(&err);
            token[PROMPT + i] = geodec_argmax(row, g->n_vocab);
            const int64_t each = g->n_layer * g->used;
            if (g->expert)
                memcpy(g->expert + (p * g->steps + i) * each,
                       geodec_session_expert_ids(s) + (i == 0 ? PROMPT - 1 : 0) * each, (size_t)each * sizeof(int32_t));
        }
    }
    geodec_session_destroy(s);
}

/* Whether the experts of a token [n_layer][used] are others, in whatever order. */
static bool other_experts(const greedy *g, const int32_t *a, const int32_t *b)
{
    for (int64_t k = 0; k < g->n_layer * g->used; k++) {
        bool found = false;
        for (int64_t j = k / g->used * g->used; j < (k / g->used + 1) * g->used; j++) found = found || b[j] == a[k];
        if (!found) return true;
    }
    return false;
}

/* Other logits [n_vocab] of step i, and experts [n][n_layer][used] of its pass. */
static void count_step(const greedy *g, int64_t p, int64_t i, const float *other, const int32_t *expert, counts *c)
{
    const float *row = g->logits + (p * g->steps + i) * g->n_vocab;
    int32_t best[2];
    float value[2];
    (void)geodec_largest(row, (int32_t)g->n_vocab, 2, best, value);
    const double margin = (double)value[0] - (double)value[1];
    const bool differs = geodec_argmax(other, g->n_vocab) != best[0], decided = margin > (double)DECIDED;
    c->differ += differs;
    c->decided += decided;
    c->decided_differ += differs && decided;
    const int64_t each = g->n_layer * g->used;
    if (g->expert && differs && decided)
        c->rerouted += other_experts(g, g->expert + (p * g->steps + i) * each, expert + (PROMPT - 1 + i) * each);
    if (differs) c->margin = fmax(c->margin, margin);
    for (int64_t k = 0; k < g->n_vocab; k++) c->delta = fmax(c->delta, fabs((double)row[k] - (double)other[k]));
}

static void print_counts(const greedy *g, const char *name, const counts *c)
{
    printf("%s\t%lld\t%lld\t%lld\t%lld\t%lld\t%.4f\t%.4f\n", name, (long long)(g->prompts * g->steps),
           (long long)c->differ, (long long)c->decided, (long long)c->decided_differ, (long long)c->rerouted, c->margin,
           c->delta);
}

/* All rows of a prompt in one pass. */
static void compare_session(const greedy *g, const geodec_model *m, geodec_arithmetic arithmetic, const char *name)
{
    geodec_err err = {0};
    geodec_session *s = NULL;
    counts c = {0};
    float *z = geodec_mem_new(g->n * g->n_vocab, sizeof *z);
    const geodec_session_options o = {.n_ctx = (int32_t)g->n, .max_batch = (int32_t)g->n, .arithmetic = arithmetic};
    if (!z) exit(1);
    if (geodec_session_create(m, &o, &s, &err) != GEODEC_OK) die(&err);
    for (int64_t p = 0; p < g->prompts; p++) {
        geodec_session_truncate(s, 0);
        const geodec_batch b = {.n = (int32_t)g->n, .token = g->token + p * g->n};
        if (geodec_forward(s, &b, z, NULL, &err) != GEODEC_OK) die(&err);
        for (int64_t i = 0; i < g->steps; i++)
            count_step(g, p, i, z + (PROMPT - 1 + i) * g->n_vocab, geodec_session_expert_ids(s), &c);
    }
    print_counts(g, name, &c);
    geodec_session_destroy(s);
    geodec_mem_free(z);
}

static void compare_network(const greedy *g, const geodec_integer_options *options, const char *name)
{
    geodec_err err = {0};
    geodec_network *n = NULL;
    geodec_engine *e = NULL;
    counts c = {0};
    int32_t *z = geodec_mem_new(g->n * g->n_vocab, sizeof *z);
    float *row = geodec_mem_new(g->n_vocab, sizeof *row);
    const geodec_engine_options o = {.n_ctx = (int32_t)g->n, .max_batch = (int32_t)g->n};
    if (!z || !row) exit(1);
    if (geodec_integer_network_make(g->m, options, NULL, &n, &err) != GEODEC_OK ||
        geodec_engine_create(n, &o, &e, &err) != GEODEC_OK)
        die(&err);
    for (int64_t p = 0; p < g->prompts; p++) {
        geodec_engine_truncate(e, 0);
        const geodec_engine_pass pass = {.n = (int32_t)g->n, .token = g->token + p * g->n, .logits = z};
        if (geodec_engine_forward(e, &pass, &err) != GEODEC_OK) die(&err);
        for (int64_t i = 0; i < g->steps; i++) {
            const int32_t *from = z + (PROMPT - 1 + i) * g->n_vocab;
            for (int64_t k = 0; k < g->n_vocab; k++) row[k] = (float)from[k] * 0x1p-16f;
            count_step(g, p, i, row, geodec_engine_expert_ids(e), &c);
        }
    }
    print_counts(g, name, &c);
    geodec_engine_destroy(e);
    geodec_network_free(n);
    geodec_mem_free(z);
    geodec_mem_free(row);
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    geodec_model *m = NULL, *other = NULL;
    if (argc > 6) {
        (void)fprintf(stderr, "usage: bench-greedy [MODEL.gguf [TEXT [PROMPTS [STEPS [OTHER.gguf]]]]]\n");
        return 2;
    }
    if (geodec_model_open(argc > 1 ? argv[1] : "data/model/geodec-stories-q8_0.gguf", &m, &err) != GEODEC_OK) die(&err);
    greedy g = {.m = m,
                .n_vocab = geodec_model_configuration(m)->n_vocab,
                .prompts = argc > 3 ? atoi(argv[3]) : 16,
                .steps = argc > 4 ? atoi(argv[4]) : 64};
    if (g.prompts < 1 || g.steps < 1 || g.prompts > 1 << 16 || g.steps > 1 << 10) {
        (void)fprintf(stderr, "bench-greedy: bad numbers\n");
        return 2;
    }
    g.n = PROMPT + g.steps;
    g.token = geodec_mem_new(g.prompts * g.n, sizeof *g.token);
    g.logits = geodec_mem_new(g.prompts * g.steps * g.n_vocab, sizeof *g.logits);
    const geodec_model_config *config = geodec_model_configuration(m);
    g.n_layer = config->n_layer;
    g.used = config->n_expert_used;
    if (g.used > 0) g.expert = geodec_mem_new(g.prompts * g.steps * g.n_layer * g.used, sizeof *g.expert);
    if (!g.token || !g.logits || (g.used > 0 && !g.expert)) return 1;
    draw_prompts(&g, argc > 2 ? argv[2] : "docs/tutorial.md");
    continue_exactly(&g);
    printf("arithmetic\tsteps\tdiffer\tdecided\tdecided_differ\trerouted\tmargin\tdelta\n");
    compare_session(&g, m, GEODEC_INTEGER, "integer");
    compare_network(&g, &(geodec_integer_options){.bits = 16}, "wide");
    compare_network(&g, &(geodec_integer_options){.activation_bits = 8}, "narrow");
    compare_session(&g, m, GEODEC_FAST, "fast");
    if (argc > 5) {
        if (geodec_model_open(argv[5], &other, &err) != GEODEC_OK) die(&err);
        if (geodec_model_configuration(other)->n_vocab != g.n_vocab) {
            (void)fprintf(stderr, "bench-greedy: %s has another vocabulary\n", argv[5]);
            return 1;
        }
        compare_session(&g, other, GEODEC_EXACT, "other");
        geodec_model_close(other);
    }
    geodec_mem_free(g.token);
    geodec_mem_free(g.logits);
    geodec_mem_free(g.expert);
    geodec_model_close(m);
    return 0;
}
