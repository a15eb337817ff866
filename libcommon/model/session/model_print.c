#include "session/arithmetic.h"
#include "session/model_internal.h"

/* What a store keeps outside of its GGUF. */
static int64_t stored_weights(const geodec_model *m)
{
    int64_t sum = 0;
    for (int32_t i = 0; m->store && i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        if (l->router.data) sum += l->gate.rows * l->gate.cols + l->up.rows * l->up.cols + l->down.rows * l->down.cols;
    }
    return sum * m->config.n_expert;
}

static void print_store(FILE *out, const geodec_model *m)
{
    if (!m->store) return;
    (void)fprintf(out, "store_layout\t%s\n", geodec_arithmetic_name((geodec_arithmetic)m->store->layout));
    (void)fprintf(out, "store_expert_bytes\t%lld\n", (long long)geodec_model_store_bytes(m));
    (void)fprintf(out, "store_resident_bytes\t%lld\n", (long long)m->store->resident_bytes);
}

static void print_types(FILE *out, const geodec_model *m)
{
    const geodec_gguf *g = geodec_model_gguf(m);
    int64_t elements = stored_weights(m), bytes = geodec_model_store_bytes(m);
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        elements += geodec_gguf_elements(t);
        bytes += (int64_t)t->bytes;
    }
    (void)fprintf(out, "tensors\t%lld\n", (long long)geodec_gguf_n_tensors(g));
    (void)fprintf(out, "weights\t%lld\nweight_bytes\t%lld\n", (long long)elements, (long long)bytes);
    for (int type = 0; type < 64; type++) {
        if (!geodec_ggml_traits_of(type)) continue;
        int64_t n = 0;
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) n += geodec_gguf_tensor_at(g, i)->type == type;
        if (n) (void)fprintf(out, "tensors_%s\t%lld\n", geodec_ggml_type_name(type), (long long)n);
    }
}

static void print_tensors(FILE *out, const geodec_gguf *g)
{
    for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        (void)fprintf(out, "%s\t%s\t", t->name, geodec_ggml_type_name(t->type));
        for (int k = 0; k < t->n_dims; k++) (void)fprintf(out, k ? " x %lld" : "%lld", (long long)t->dim[k]);
        (void)fputc('\n', out);
    }
}

/* Names come from the file: control characters must not reach the terminal. */
static void print_text(FILE *out, const char *name, const char *text)
{
    (void)fprintf(out, "%s\t", name);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        (void)fputc(c < 0x20 || c == 0x7f ? '?' : c, out);
    }
    (void)fputc('\n', out);
}

static void print_parts(FILE *out, const geodec_gguf *g)
{
    int64_t start, bytes;
    int32_t n = 0;
    while (geodec_gguf_part_at(g, n, &start, &bytes)) n++;
    if (n > 1) (void)fprintf(out, "files\t%d\n", n);
}

static void print_unread(FILE *out, const geodec_model *m)
{
    int64_t n = 0;
    while (geodec_model_unread(m, n)) n++;
    if (n > 0) (void)fprintf(out, "unread_tensors\t%lld\n", (long long)n);
    for (int64_t i = 0; i < n; i++) print_text(out, "unread_tensor", geodec_model_unread(m, i));
}

/* What is more than a plain llama; a line only where there is something to say. */
static void print_additions(FILE *out, const geodec_model_config *k)
{
    const struct {
        const char *name;
        double value;
    } numbers[] = {
        {"rope_base_sliding", k->rope_base_local},
        {"rope_dim_sliding", k->rope_dim_local},
        {"rope_scaled_sliding", k->rope_local_scaled},
        {"rope_scale", k->rope_scale},
        {"rope_magnitude", (double)k->rope_magnitude},
        {"rope_context_original", k->rope_n_ctx_original},
        {"latent_dims", k->d_latent},
        {"latent_query_dims", k->d_latent_query},
        {"latent_key_dims", k->d_latent_key},
        {"latent_value_dims", k->d_latent_value},
        {"attention_scale", k->attn_scale},
        {"attention_softcap", (double)k->attn_softcap},
        {"attention_clamp", (double)k->qkv_clamp},
        {"attention_value_scale", (double)k->value_scale},
        {"attention_gate_softplus", k->gate_softplus},
        {"alibi", (double)k->alibi},
        {"temperature_scale", k->temperature},
        {"temperature_length", k->temperature_length},
        {"temperature_offset", k->temperature_offset},
        {"temperature_unrotated", k->temperature_still},
        {"norms_rotated", k->qk_norm_rotated},
        {"layer_norms", k->layer_norm},
        {"parallel_halves", k->parallel},
        {"feed_forward_plain", k->plain},
        {"layer_input", k->d_inputs},
        {"residual_streams", k->n_streams},
        {"laurel_rank", k->laurel_rank},
        {"embedding_added", k->embed_added},
        {"logit_softcap", (double)k->final_softcap},
        {"embedding_scale", (double)k->embed_scale},
        {"sliding_window", k->window},
        {"sliding_period", k->window > 0 && k->window_period > 0 ? k->window_period : 0},
        {"chunks", k->chunks},
        {"expert_scale", (double)k->expert_scale},
        {"expert_route_unnormed", k->route_raw},
        {"expert_weighs_input", k->weighed_input},
        {"adjugate_group", k->adjugate_group},
        {"feed_forward_adjugate", k->d_ff_adjugate},
        {"adjugate_scale", (double)k->adjugate_scale},
        {"feed_forward_scale", (double)k->feed_scale},
        {"expert_groups", k->n_expert_group},
        {"expert_groups_used", k->n_expert_group_used},
        {"feed_forward_shared", k->d_ff_shared},
        {"feed_forward_dense", k->d_ff_dense},
        {"dense_layers", k->n_dense},
        {"expert_step", k->expert_step},
        {"unread_blocks", k->n_layer_next},
        {"recurrence_rank", k->recur_rank},
        {"recurrence_period", k->recur_period},
        {"recurrence_log_decay_min", (double)k->recur_log_decay_min},
        {"convolution_rows", k->ssm_taps},
        {"recurrent_channels", k->ssm_inner},
        {"recurrent_state", k->ssm_state},
        {"recurrent_rank", k->ssm_rank},
        {"recurrent_groups", k->ssm_groups},
        {"residual_scale", (double)k->residual_scale},
        {"logit_scale", (double)k->logit_scale},
    };
    static const char *const activations[] = {
        [GEODEC_SILU] = "silu",   [GEODEC_GELU_TANH] = "gelu-tanh", [GEODEC_RELU] = "relu",
        [GEODEC_RELU2] = "relu2", [GEODEC_XIELU] = "xielu",         [GEODEC_SWIGLU_CLAMPED] = "swiglu-clamped"};
    (void)fprintf(out, "rope_pairs\t%s\nactivation\t%s\n", k->rope_pairs == GEODEC_ROPE_HALVES ? "halves" : "adjacent",
                  activations[k->activation]);
    if (k->yarn != 0) (void)fprintf(out, "rope_yarn\t%.9g %.9g\n", k->yarn_low, k->yarn_high);
    if (k->n_expert > 0) (void)fprintf(out, "expert_weights\t%s\n", k->expert_keep_weights ? "kept" : "renormalised");
    if (k->gating == GEODEC_GATING_SIGMOID) (void)fprintf(out, "expert_gating\tsigmoid\n");
    if (k->gating == GEODEC_GATING_CHOSEN) (void)fprintf(out, "expert_gating\tsoftmax-of-chosen\n");
    static const char *const routes[] = {"softmax", "mod", "angle"};
    if (k->recur_period > 0 && k->n_expert > 0)
        (void)fprintf(out, "expert_route\t%s\nexpert_route_at\t%s\n", routes[k->route],
                      k->route_before ? "pre" : "post");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (numbers[i].value != 0) (void)fprintf(out, "%s\t%.9g\n", numbers[i].name, numbers[i].value);
}

static bool unrotated(const geodec__layer *l) { return l->rope < 0 && geodec__layer_attends(l); }
static bool slides(const geodec__layer *l) { return l->window > 0; }

/* The layers of which it is true; no line if there are none. */
static void print_those(FILE *out, const geodec_model *m, const char *name, bool (*is)(const geodec__layer *l))
{
    bool any = false;
    for (int32_t i = 0; m->layer && i < m->config.n_layer; i++) {
        if (!is(&m->layer[i])) continue;
        if (any)
            (void)fprintf(out, " %d", i);
        else
            (void)fprintf(out, "%s\t%d", name, i);
        any = true;
    }
    if (any) (void)fputc('\n', out);
}

/* Numbers of each layer; a line only where not all are as in the lines above. */
static void print_layers(FILE *out, const geodec_model *m)
{
    const geodec_model_config *k = &m->config;
    const struct {
        const char *name;
        size_t at;
        int32_t usual;
    } numbers[] = {{"heads_of_layers", offsetof(geodec__layer, n_head), k->n_head},
                   {"kv_heads_of_layers", offsetof(geodec__layer, n_kv_head), k->n_kv_head},
                   {"head_dims_of_layers", offsetof(geodec__layer, head_dim), k->head_dim},
                   {"value_dims_of_layers", offsetof(geodec__layer, v_dim), k->head_dim}};
    const int32_t n = m->layer ? k->n_layer : 0;
    for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) {
        bool usual = true;
        for (int32_t i = 0; i < n; i++)
            usual = usual && *(const int32_t *)((const char *)&m->layer[i] + numbers[j].at) == numbers[j].usual;
        if (usual) continue;
        (void)fprintf(out, "%s\t", numbers[j].name);
        for (int32_t i = 0; i < n; i++)
            (void)fprintf(out, i > 0 ? " %d" : "%d", *(const int32_t *)((const char *)&m->layer[i] + numbers[j].at));
        (void)fputc('\n', out);
    }
    print_those(out, m, "unrotated_layers", unrotated);
    if (k->window_period < 0) print_those(out, m, "sliding_layers", slides);
    for (int32_t i = 0; i < n; i++) {
        const geodec__layer *l = &m->layer[i];
        if (l->kv_layer != i) (void)fprintf(out, "keys_of_layer_%d\t%d\n", i, l->kv_layer);
        if (l->cut) (void)fprintf(out, "gate_cut_of_layer_%d\t%.9g\n", i, (double)l->cut_at);
        if (k->activation == GEODEC_XIELU)
            (void)fprintf(out, "xielu_of_layer_%d\t%.9g %.9g %.9g %.9g\n", i, (double)l->xielu[0], (double)l->xielu[1],
                          (double)l->xielu[2], (double)l->xielu[3]);
    }
}

/* Everything that a pass depends on beside the weights. */
void geodec__model_print_shape(FILE *out, const geodec_model *m)
{
    const geodec_model_config *k = &m->config;
    (void)fprintf(out, "architecture\t%s\n", k->arch);
    (void)fprintf(out, "layers\t%d\nwidth\t%d\nheads\t%d\nkv_heads\t%d\nhead_dim\t%d\nrope_dim\t%d\n", k->n_layer,
                  k->d_model, k->n_head, k->n_kv_head, k->head_dim, k->rope_dim);
    (void)fprintf(out, "feed_forward\t%d\nvocabulary\t%d\ncontext\t%d\n", k->d_ff, k->n_vocab, k->n_ctx);
    (void)fprintf(out, "experts\t%d\nexperts_used\t%d\n", k->n_expert, k->n_expert_used);
    (void)fprintf(out, "rms_epsilon\t%.9g\nrope_base\t%.17g\nhead\t%s\n", (double)k->rms_eps, k->rope_base,
                  k->tied ? "tied" : "separate");
    print_additions(out, k);
    print_layers(out, m);
}

void geodec_model_print(FILE *out, const geodec_model *m, bool tensors)
{
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    print_text(out, "name", geodec_model_name(m));
    geodec__model_print_shape(out, m);
    if (geodec_tokenizer_twins(t) > 0) (void)fprintf(out, "duplicated_tokens\t%d\n", geodec_tokenizer_twins(t));
    (void)fprintf(out, "bos\t%d\neos\t%d\n", geodec_tokenizer_bos(t), geodec_tokenizer_eos(t));
    print_types(out, m);
    print_parts(out, geodec_model_gguf(m));
    print_unread(out, m);
    print_store(out, m);
    (void)fprintf(out, "fingerprint\t%s\ntokenizer_fingerprint\t%s\n", geodec_model_fingerprint(m),
                  geodec_tokenizer_fingerprint(t));
    if (tensors) print_tensors(out, geodec_model_gguf(m));
}
