/* peer_stream MODEL.gguf TOKENS [THREADS=2] [plain|repack] [mmap|none|dio] [flash]: generation of llama.cpp, for
 * tests/bench/streaming.sh: one pass for each of TOKENS random tokens, after two that are not counted. plain: weights
 * are used as they are in the file (--no-repack of its programs, which llama-bench lacks). Prints tokens a second and
 * the megabytes that the process read from disk for a token. Compiled with llama.cpp's own header and libraries, never
 * part of a build. */
#include "llama.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { UNCOUNTED = 2, CONTEXT = 512 };

static void quiet(enum ggml_log_level level, const char *text, void *ctx)
{
    (void)ctx;
    if (level == GGML_LOG_LEVEL_ERROR) (void)fputs(text, stderr);
}

static int die(const char *what)
{
    (void)fprintf(stderr, "peer_stream: %s\n", what);
    return 1;
}

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double megabytes_read(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_inblock * 512e-6;
}

int main(int argc, char **argv)
{
    const int tokens = argc > 2 ? atoi(argv[2]) : 0;
    int threads = argc > 3 ? atoi(argv[3]) : 2;
    if (tokens < 1 || tokens > CONTEXT - UNCOUNTED || threads < 1)
        return die("usage: peer_stream MODEL.gguf TOKENS [THREADS] [plain|repack] [mmap|none|dio] [flash]");
    llama_log_set(quiet, NULL);
    llama_backend_init();
    struct llama_model_params mp = llama_model_default_params();
    struct llama_context_params cp = llama_context_default_params();
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "plain") == 0)
            mp.use_extra_bufts = false;
        else if (strcmp(argv[i], "flash") == 0)
            cp.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
        else if (strcmp(argv[i], "repack") != 0)
            mp.load_mode = llama_load_mode_from_str(argv[i]);
    }
    struct llama_model *model = llama_model_load_from_file(argv[1], mp);
    if (!model) return die("the model cannot be read");
    cp.n_ctx = CONTEXT;
    cp.n_threads = cp.n_threads_batch = threads;
    struct llama_context *context = llama_init_from_model(model, cp);
    if (!context) return die("no context");
    const int vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
    double began = 0, read = 0;
    srand(1);
    for (int i = 0; i < UNCOUNTED + tokens; i++) {
        if (i == UNCOUNTED) {
            began = seconds();
            read = megabytes_read();
        }
        llama_token token = rand() % vocabulary;
        if (llama_decode(context, llama_batch_get_one(&token, 1)) != 0) return die("decoding failed");
        llama_synchronize(context);
    }
    (void)printf("tokens_s\t%.4g\nMB_token\t%.2f\n", tokens / (seconds() - began), (megabytes_read() - read) / tokens);
    llama_free(context);
    llama_model_free(model);
    llama_backend_free();
    return 0;
}
