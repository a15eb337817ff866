/* geodec-model-info: what a model is, after opening all of it. */
#include "cli/cli.h"
#include "model/model.h"

#include <stdio.h>

static bool tensors;
static const cli_option options[] = {
    OPT_FLAG("tensors", 0, &tensors, "list every tensor with its type and dimensions"),
};

static const cli_tool tool = {
    .name = "geodec-model-info",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "opens a GGUF model with every check and prints its configuration, tensor types and fingerprints",
    .usage = "[OPTIONS] MODEL.gguf",
    .description =
        "The output is one name, a tab and a value a line. The fingerprint of the model is the SHA-256 of its\n"
        "tensors (name, type, dimensions and bytes, in order of name), the one of the tokenizer covers types,\n"
        "scores, pieces and special tokens; artifacts carry both and are refused with any other model.",
    .examples = "  geodec-model-info model.gguf\n  geodec-model-info --tensors model.gguf",
    CLI_TAKES(options, 1, 1),
};

static void print_types(const geodec_gguf *g)
{
    int64_t elements = 0, bytes = 0;
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        elements += t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
        bytes += (int64_t)t->bytes;
    }
    printf("tensors\t%lld\n", (long long)geodec_gguf_n_tensors(g));
    printf("weights\t%lld\nweight_bytes\t%lld\n", (long long)elements, (long long)bytes);
    for (int type = 0; type < 64; type++) {
        if (!geodec_ggml_traits_of(type)) continue;
        int64_t n = 0;
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) n += geodec_gguf_tensor_at(g, i)->type == type;
        if (n) printf("tensors_%s\t%lld\n", geodec_ggml_type_name(type), (long long)n);
    }
}

static void print_tensors(const geodec_gguf *g)
{
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        printf("%s\t%s\t", t->name, geodec_ggml_type_name(t->type));
        for (int k = 0; k < t->n_dims; k++) printf(k ? " x %lld" : "%lld", (long long)t->dim[k]);
        putchar('\n');
    }
}

/* Names come from the file: control characters must not reach the terminal. */
static void print_text(const char *name, const char *text)
{
    printf("%s\t", name);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        putchar(c < 0x20 || c == 0x7f ? '?' : c);
    }
    putchar('\n');
}

/* What is more than a plain llama; a line only where there is something to say. */
static void print_additions(const geodec_model_config *k)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"rope_base_sliding", k->rope_base_local},
        {"rope_scale", k->rope_scale},
        {"rope_magnitude", (double)k->rope_magnitude},
        {"rope_context_original", k->rope_n_ctx_original},
        {"attention_scale", k->attn_scale},
        {"attention_softcap", (double)k->attn_softcap},
        {"logit_softcap", (double)k->final_softcap},
        {"embedding_scale", (double)k->embed_scale},
        {"sliding_window", k->window},
        {"sliding_period", k->window > 0 ? k->window_period : 0},
        {"expert_scale", (double)k->expert_scale},
    };
    printf("rope_pairs\t%s\nactivation\t%s\n", k->rope_pairs == GEODEC_ROPE_HALVES ? "halves" : "adjacent",
           k->activation == GEODEC_GELU_TANH ? "gelu-tanh" : "silu");
    if (k->n_expert > 0) printf("expert_weights\t%s\n", k->expert_keep_weights ? "kept" : "renormalised");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value != 0) printf("%s\t%.9g\n", numbers[i].name, numbers[i].value);
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    GEODEC_TRY(geodec_model_open(c->args[0], &m, err));
    const geodec_model_config *k = geodec_model_configuration(m);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    print_text("name", geodec_model_name(m));
    printf("architecture\t%s\n", k->arch);
    printf("layers\t%d\nwidth\t%d\nheads\t%d\nkv_heads\t%d\nhead_dim\t%d\nrope_dim\t%d\n", k->n_layer, k->d_model,
           k->n_head, k->n_kv_head, k->head_dim, k->rope_dim);
    printf("feed_forward\t%d\nvocabulary\t%d\ncontext\t%d\n", k->d_ff, k->n_vocab, k->n_ctx);
    printf("experts\t%d\nexperts_used\t%d\n", k->n_expert, k->n_expert_used);
    printf("rms_epsilon\t%.9g\nrope_base\t%.17g\nhead\t%s\n", (double)k->rms_eps, k->rope_base,
           k->tied ? "tied" : "separate");
    print_additions(k);
    printf("bos\t%d\neos\t%d\n", geodec_tokenizer_bos(t), geodec_tokenizer_eos(t));
    print_types(geodec_model_gguf(m));
    printf("fingerprint\t%s\ntokenizer_fingerprint\t%s\n", geodec_model_fingerprint(m),
           geodec_tokenizer_fingerprint(t));
    if (tensors) print_tensors(geodec_model_gguf(m));
done:
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
