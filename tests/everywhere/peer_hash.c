/* peer_hash MODEL.gguf SET [TOKENS]: the control of hash.c: the same with llama.cpp, with its default settings, and
 * without trees. SET is the instruction set for which its operators were compiled, printed with each hash. Compiled
 * with llama.cpp's own header and libraries, never part of a build. Status 1 when two ways differ, 2 for a wrong
 * command line, 3 for an error. */
#include "llama.h"
#include "ways.h"

#include <stdio.h>

typedef struct peer {
    struct llama_model *model;
    int32_t n_vocab;
    struct llama_context_params params;
    struct llama_context *context;
    struct llama_batch batch;
    int32_t length;
} peer;

static void quiet(enum ggml_log_level level, const char *text, void *ctx)
{
    (void)ctx;
    if (level == GGML_LOG_LEVEL_ERROR) (void)fputs(text, stderr);
}

static bool available(int set)
{
    (void)set;
    return true;
}

static geodec_status begin(void *ctx, int set, int threads, int32_t rows, int32_t n_ctx, geodec_err *err)
{
    peer *x = ctx;
    (void)set;
    (void)err;
    x->params = llama_context_default_params();
    x->params.n_ctx = (uint32_t)n_ctx;
    x->params.n_batch = x->params.n_ubatch = (uint32_t)rows;
    x->params.n_threads = x->params.n_threads_batch = threads;
    x->batch = llama_batch_init(rows, 0, 1);
    return GEODEC_OK;
}

static void end(void *ctx)
{
    peer *x = ctx;
    if (x->context) llama_free(x->context);
    llama_batch_free(x->batch);
    x->context = NULL;
}

static geodec_status pass(void *ctx, const int32_t *token, const int32_t *parent, int32_t n, geodec_err *err)
{
    peer *x = ctx;
    (void)parent;
    for (int32_t i = 0; i < n; i++) {
        x->batch.token[i] = token[i];
        x->batch.pos[i] = x->length + i;
        x->batch.n_seq_id[i] = 1;
        x->batch.seq_id[i][0] = 0;
        x->batch.logits[i] = 1;
    }
    x->batch.n_tokens = n;
    if (llama_decode(x->context, x->batch) != 0) GEODEC_FAIL(GEODEC_INTERNAL, "llama_decode failed");
    x->length += n;
    return GEODEC_OK;
}

static void logits(const void *ctx, int32_t row, uint32_t *word, int32_t *q16)
{
    const peer *x = ctx;
    ways_of_floats(llama_get_logits_ith(x->context, row), x->n_vocab, word, q16);
}

/* A new context, which is an empty cache in every version of the interface. */
static geodec_status empty(void *ctx, int32_t length, geodec_err *err)
{
    peer *x = ctx;
    (void)length;
    if (x->context) llama_free(x->context);
    x->context = llama_init_from_model(x->model, x->params);
    x->length = 0;
    if (!x->context) GEODEC_FAIL(GEODEC_INTERNAL, "llama.cpp makes no context");
    return GEODEC_OK;
}

static geodec_status run_file(const char *file, const char *set, int32_t n_tokens, bool *differ, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    peer x = {0};
    llama_log_set(quiet, NULL);
    llama_backend_init();
    x.model = llama_model_load_from_file(file, llama_model_default_params());
    if (!x.model) GEODEC_FAIL(GEODEC_FORMAT, "%s: llama.cpp does not read it", file);
    x.n_vocab = llama_vocab_n_tokens(llama_model_get_vocab(x.model));
    const ways_system s = {.program = "peer_hash",
                           .ctx = &x,
                           .n_vocab = x.n_vocab,
                           .sets = &set,
                           .n_sets = 1,
                           .available = available,
                           .begin = begin,
                           .end = end,
                           .pass = pass,
                           .logits = logits,
                           .truncate = empty};
    GEODEC_TRY(ways_run(&s, n_tokens, differ, err));
done:
    llama_model_free(x.model);
    llama_backend_free();
    return st;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    bool differ = false;
    int32_t n;
    if (argc < 3 || argc > 4 || !ways_tokens(argv[3], &n)) {
        (void)fprintf(stderr, "Usage: peer_hash MODEL.gguf SET [TOKENS]\n");
        return 2;
    }
    return ways_end("peer_hash", run_file(argv[1], argv[2], n, &differ, &err), differ, &err);
}
