/* peer_logits MODEL.gguf TOKENS LOGITS: llama.cpp's logits of every position, for tests/bench/peer-arch.sh. TOKENS
 * has int32 ids, LOGITS receives float32 [n][vocabulary]. Plain attention and a float32 cache, so that differences come
 * from the function and not from its storage. Compiled with llama.cpp's own header and libraries, never part of a
 * build. */
#include "llama.h"

#include <stdio.h>
#include <stdlib.h>

static void quiet(enum ggml_log_level level, const char *text, void *ctx)
{
    (void)ctx;
    if (level == GGML_LOG_LEVEL_ERROR) (void)fputs(text, stderr);
}

static int die(const char *what)
{
    (void)fprintf(stderr, "peer_logits: %s\n", what);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 4) return die("usage: peer_logits MODEL.gguf TOKENS LOGITS");
    static llama_token token[4096];
    FILE *f = fopen(argv[2], "rb");
    if (!f) return die("no tokens");
    const int n = (int)fread(token, sizeof *token, sizeof token / sizeof *token, f);
    (void)fclose(f);
    llama_log_set(quiet, NULL);
    llama_backend_init();
    struct llama_model_params mp = llama_model_default_params();
    struct llama_model *model = llama_model_load_from_file(argv[1], mp);
    if (!model) return die("the model cannot be read");
    struct llama_context_params cp = llama_context_default_params();
    cp.n_ctx = (uint32_t)llama_model_n_ctx_train(model);
    cp.n_batch = cp.n_ubatch = (uint32_t)n;
    cp.n_threads = cp.n_threads_batch = 1;
    cp.type_k = cp.type_v = GGML_TYPE_F32;
    cp.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    struct llama_context *context = llama_init_from_model(model, cp);
    if (!context) return die("no context");
    struct llama_batch batch = llama_batch_init(n, 0, 1);
    for (int i = 0; i < n; i++) {
        batch.token[i] = token[i];
        batch.pos[i] = i;
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = 0;
        batch.logits[i] = 1;
    }
    batch.n_tokens = n;
    if (llama_decode(context, batch) != 0) return die("decoding failed");
    const size_t vocabulary = (size_t)llama_vocab_n_tokens(llama_model_get_vocab(model));
    f = fopen(argv[3], "wb");
    if (!f) return die("cannot write");
    for (int i = 0; i < n; i++)
        if (fwrite(llama_get_logits_ith(context, i), sizeof(float), vocabulary, f) != vocabulary) return die("writing");
    if (fclose(f) != 0) return die("writing");
    llama_batch_free(batch);
    llama_free(context);
    llama_model_free(model);
    return 0;
}
