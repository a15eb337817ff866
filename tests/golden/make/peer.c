/* peer COMMAND ...: results of llama.cpp, for the goldens. Compiled against llama.cpp's header and libraries by
 * make.sh, never part of a build. One thread, plain attention and a float32 cache, so that differences come from the
 * function and not from its storage. peer tokens MODEL STRINGS BOS        ids of every string, one line each; STRINGS:
 * (uint32 length, bytes)... peer text MODEL ID...                the text of ids peer logits MODEL OUT ROUTING ID...
 * float32 [ids][vocabulary] to OUT; experts to ROUTING, "layer position id weight" peer greedy MODEL STEPS TOP ID... a
 * line for each step: the token, log of the sum of exponentials, then the TOP best as id:logit */
#include "llama.h"

#include "ggml-backend.h"
#include "ggml.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_IDS = 1024, MAX_USED = 64, MAX_TEXT = 1 << 16, MAX_LAYERS = 64 };

static void quiet(enum ggml_log_level level, const char *text, void *ctx)
{
    (void)ctx;
    if (level == GGML_LOG_LEVEL_ERROR) (void)fputs(text, stderr);
}

static void die(const char *what)
{
    (void)fprintf(stderr, "peer: %s\n", what);
    exit(1);
}

/* ---- routing: the tensors of this name, as they are computed --------------------------------------------------- */

static struct {
    int used, positions;
    int32_t id[MAX_IDS][MAX_USED];
    float weight[MAX_IDS][MAX_USED];
} layer_of[MAX_LAYERS];

static bool see(struct ggml_tensor *t, bool ask, void *ctx)
{
    int layer;
    const bool top = sscanf(t->name, "ffn_moe_topk-%d", &layer) == 1;
    const bool norm = !top && sscanf(t->name, "ffn_moe_weights_norm-%d", &layer) == 1;
    const bool weight = norm || (!top && sscanf(t->name, "ffn_moe_weights-%d", &layer) == 1);
    (void)ctx;
    if (!top && !weight) return ask ? false : true;
    if (ask) return true;
    if (layer >= MAX_LAYERS) die("too many layers");
    /* topk [used, positions] i32, a view of rows; weights [1, used, positions] or [used, positions] f32 */
    const int dim = weight && t->ne[0] == 1 ? 1 : 0;
    const int used = (int)t->ne[dim], positions = (int)t->ne[dim + 1];
    if (used > MAX_USED || positions > MAX_IDS) die("too many experts");
    layer_of[layer].used = used;
    layer_of[layer].positions = positions;
    for (int p = 0; p < positions; p++)
        for (int e = 0; e < used; e++) {
            const char *at = (const char *)t->data + (size_t)p * t->nb[dim + 1] + (size_t)e * t->nb[dim];
            if (top)
                memcpy(&layer_of[layer].id[p][e], at, sizeof(int32_t));
            else
                memcpy(&layer_of[layer].weight[p][e], at, sizeof(float));
        }
    return true;
}

/* ---- runs ------------------------------------------------------------------------------------------------------- */

static struct llama_model *open_model(const char *path, bool vocabulary)
{
    struct llama_model_params p = llama_model_default_params();
    p.vocab_only = vocabulary;
    struct llama_model *m = llama_model_load_from_file(path, p);
    if (!m) die("the model cannot be read");
    return m;
}

static struct llama_context *open_context(struct llama_model *m)
{
    struct llama_context_params p = llama_context_default_params();
    p.n_ctx = (uint32_t)llama_model_n_ctx_train(m);
    p.n_batch = p.n_ubatch = MAX_IDS;
    p.n_threads = p.n_threads_batch = 1;
    p.type_k = p.type_v = GGML_TYPE_F32;
    p.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_DISABLED;
    p.cb_eval = see;
    struct llama_context *c = llama_init_from_model(m, p);
    if (!c) die("no context");
    return c;
}

static void decode(struct llama_context *c, const llama_token *token, int n, int from)
{
    struct llama_batch b = llama_batch_init(n, 0, 1);
    for (int i = 0; i < n; i++) {
        b.token[i] = token[i];
        b.pos[i] = from + i;
        b.n_seq_id[i] = 1;
        b.seq_id[i][0] = 0;
        b.logits[i] = 1;
    }
    b.n_tokens = n;
    if (llama_decode(c, b) != 0) die("decoding failed");
    llama_batch_free(b);
}

static void tokens(const struct llama_vocab *v, const char *strings, bool bos)
{
    FILE *f = fopen(strings, "rb");
    if (!f) die("no strings");
    uint32_t n;
    static char text[MAX_TEXT];
    static llama_token id[MAX_TEXT + 8];
    while (fread(&n, sizeof n, 1, f) == 1) {
        if (n > MAX_TEXT || fread(text, 1, n, f) != n) die("damaged strings");
        const int count = llama_tokenize(v, text, (int)n, id, MAX_TEXT + 8, bos, false);
        if (count < 0) die("too many tokens");
        for (int i = 0; i < count; i++) printf(i ? " %d" : "%d", id[i]);
        printf("\n");
    }
    (void)fclose(f);
}

static void greedy(struct llama_context *c, const struct llama_vocab *v, llama_token *id, int n, int steps, int top)
{
    const int size = llama_vocab_n_tokens(v);
    decode(c, id, n, 0);
    int last = n - 1;
    for (int s = 0; s < steps; s++) {
        float *x = llama_get_logits_ith(c, last);
        double sum = 0, most = -INFINITY;
        for (int i = 0; i < size; i++) most = fmax(most, (double)x[i]);
        for (int i = 0; i < size; i++) sum += exp((double)x[i] - most);
        llama_token best = -1;
        for (int k = 0; k < top; k++) {
            int at = 0;
            for (int i = 1; i < size; i++)
                if (x[i] > x[at]) at = i;
            if (k == 0) {
                best = at;
                printf("%d %.9g", best, log(sum) + most);
            }
            printf(" %d:%.9g", at, (double)x[at]);
            x[at] = -INFINITY;
        }
        printf("\n");
        if (llama_vocab_is_eog(v, best)) return;
        decode(c, &best, 1, n + s);
        last = 0;
    }
}

int main(int argc, char **argv)
{
    const bool given = argc >= 3 && (argc >= 5 || strcmp(argv[1], "text") == 0);
    if (!given) die("usage: peer tokens|text|logits|greedy MODEL ...");
    const char *what = argv[1];
    llama_log_set(quiet, NULL);
    llama_backend_init();
    const bool words = strcmp(what, "tokens") == 0 || strcmp(what, "text") == 0;
    struct llama_model *m = open_model(argv[2], words);
    const struct llama_vocab *v = llama_model_get_vocab(m);
    const int first = strcmp(what, "text") == 0 ? 3 : 5;
    llama_token id[MAX_IDS];
    int n = 0;
    for (int i = first; i < argc && n < MAX_IDS; i++) id[n++] = (llama_token)strtol(argv[i], NULL, 10);
    if (strcmp(what, "tokens") == 0) {
        if (argc != 5) die("usage: peer tokens MODEL STRINGS BOS");
        tokens(v, argv[3], argv[4][0] == '1');
    } else if (strcmp(what, "text") == 0) {
        static char text[MAX_TEXT];
        const int length = llama_detokenize(v, id, n, text, MAX_TEXT, true, false);
        if (length < 0 || fwrite(text, 1, (size_t)length, stdout) != (size_t)length) die("writing");
    } else {
        if (n == 0) die("no ids");
        struct llama_context *c = open_context(m);
        if (strcmp(what, "greedy") == 0) {
            greedy(c, v, id, n, atoi(argv[3]), atoi(argv[4]));
        } else {
            decode(c, id, n, 0);
            FILE *f = fopen(argv[3], "wb"), *r = fopen(argv[4], "w");
            if (!f || !r) die("cannot write");
            const size_t size = (size_t)llama_vocab_n_tokens(v);
            for (int i = 0; i < n; i++)
                if (fwrite(llama_get_logits_ith(c, i), sizeof(float), size, f) != size) die("writing");
            for (int l = 0; l < MAX_LAYERS; l++)
                for (int p = 0; p < layer_of[l].positions; p++)
                    for (int e = 0; e < layer_of[l].used; e++)
                        (void)fprintf(r, "%d %d %d %.9g\n", l, p, layer_of[l].id[p][e],
                                      (double)layer_of[l].weight[p][e]);
            if (fclose(f) != 0 || fclose(r) != 0) die("writing");
        }
        llama_free(c);
    }
    llama_model_free(m);
    return 0;
}
