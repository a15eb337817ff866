/* One small model of every architecture (golden/arch of the shared folder): a token's logits have the same bits alone,
 * in batches, in a prompt of any chunks, in a tree, with any number of threads and on every instruction set. Files that
 * say the same with other tensors give the same bits. */
#include "base/mem.h"
#include "gguf/gguf.h"
#include "kernels/settings.h"
#include "session/model_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>

enum { TOKENS = 64, PATH_BYTES = 4096, LEAST_FILES = 105 /* that opened when this was written */ };

/* How the tokens of a text are run. */
typedef struct way {
    const char *name;
    int32_t chunk;
    geodec_isa isa;
    int threads;
    bool tree;     /* two other branches beside the text */
    int32_t saved; /* after so many tokens the session is written to a file, and another one goes on; 0: no */
} way;

static const way ways[] = {
    {"one batch", TOKENS, GEODEC_ISA_AUTO, 1, false}, {"chunks of 7", 7, GEODEC_ISA_AUTO, 1, false},
    {"3 threads", TOKENS, GEODEC_ISA_AUTO, 3, false}, {"chunks of 5, 3 threads", 5, GEODEC_ISA_AUTO, 3, false},
    {"scalar", TOKENS, GEODEC_ISA_SCALAR, 1, false},  {"AVX2", 9, GEODEC_ISA_AVX2, 1, false},
    {"trees of 4", 4, GEODEC_ISA_AUTO, 1, true},      {"trees of 6, 3 threads", 6, GEODEC_ISA_AUTO, 3, true},
    {"saved", 10, GEODEC_ISA_AUTO, 1, .saved = 20},   {"saved, trees", 5, GEODEC_ISA_AUTO, 1, true, .saved = 25},
};

static const int32_t text[TOKENS] = {3,   17,  99,  250, 4,   61,  5,   300, 12,  13,  200, 7,   7,   31,  64,  128,
                                     256, 9,   80,  22,  111, 60,  2,   19,  83,  41,  310, 6,   90,  150, 33,  45,
                                     201, 8,   310, 77,  14,  26,  5,   39,  123, 305, 280, 68,  191, 311, 244, 299,
                                     35,  312, 8,   242, 134, 284, 121, 100, 242, 278, 283, 245, 205, 79,  120, 79};

/* A branch of other tokens before and behind each token of the text; the text's rows are compared, and kept. */
static void run_tree(geodec_session *s, const int32_t *token, int32_t n, int64_t vocab, float *out)
{
    enum { MOST = 3 * TOKENS };
    geodec_err err = {0};
    int32_t all[MOST], parent[MOST], row[TOKENS], rows = 0;
    float *logits = geodec_mem_new(MOST * vocab, sizeof *logits);
    for (int32_t i = 0; i < n; i++) {
        const int32_t before = i > 0 ? row[i - 1] : -1;
        all[rows] = (token[i] + 1) % 300;
        parent[rows++] = before;
        row[i] = rows;
        all[rows] = token[i];
        parent[rows++] = before;
        all[rows] = (token[i] + 2) % 300;
        parent[rows++] = row[i];
    }
    test_ok(geodec_forward(s, &(geodec_batch){.n = rows, .token = all, .parent = parent}, logits, NULL, &err), &err);
    for (int32_t i = 0; i < n; i++) memcpy(out + i * vocab, logits + row[i] * vocab, (size_t)vocab * sizeof *out);
    geodec_session_compact(s, geodec_session_length(s) - rows, row, n);
    geodec_mem_free(logits);
}

/* Another session from the file of this one. */
static geodec_session *reopened(geodec_session *s, const geodec_model *m, const geodec_session_options *o, int32_t n)
{
    geodec_err err = {0};
    geodec_session *next = NULL;
    geodec_session_text got = {0};
    const char *file = test_tmp("architecture.state");
    int32_t whole[TOKENS];
    memcpy(whole, text, sizeof whole);
    test_ok(geodec_session_save(s, file, &(geodec_session_text){whole, n, n}, &err), &err);
    geodec_session_destroy(s);
    test_ok(geodec_session_create(m, o, &next, &err), &err);
    test_ok(geodec_session_load(next, file, &got, &err), &err);
    cr_assert(got.n == n && memcmp(got.token, text, (size_t)n * sizeof *text) == 0);
    geodec_mem_free(got.token);
    return next;
}

static float *run(const geodec_model *m, const way *w, geodec_kv_type kv, int64_t vocab)
{
    geodec_err err = {0};
    geodec_pool *pool = NULL;
    geodec_session *s = NULL;
    float *out = geodec_mem_new(TOKENS * vocab, sizeof *out);
    if (w->threads > 1) test_ok(geodec_pool_create(w->threads, &pool, &err), &err);
    const geodec_session_options o = {.isa = w->isa, .pool = pool, .kv = kv, .n_ctx = 3 * TOKENS};
    test_ok(geodec_session_create(m, &o, &s, &err), &err);
    for (int32_t at = 0; at < TOKENS; at += w->chunk) {
        const int32_t n = TOKENS - at < w->chunk ? TOKENS - at : w->chunk;
        if (w->saved > 0 && at == w->saved) s = reopened(s, m, &o, at);
        if (w->tree)
            run_tree(s, text + at, n, vocab, out + at * vocab);
        else
            test_ok(geodec_forward(s, &(geodec_batch){.n = n, .token = text + at}, out + at * vocab, NULL, &err), &err);
    }
    geodec_session_destroy(s);
    geodec_pool_destroy(pool);
    return out;
}

/* ---- parts: what a layer has, by the bound weights and the configuration ------------------------------------------
 */

typedef struct part {
    const char *name;
    bool (*has)(const geodec_model *m, const geodec__layer *l);
} part;

#define PART(id, expression)                                                                                           \
    static bool has_##id(const geodec_model *m, const geodec__layer *l)                                                \
    {                                                                                                                  \
        (void)m, (void)l;                                                                                              \
        return expression;                                                                                             \
    }
PART(layer_norm, m->config.layer_norm)
PART(rms_norm, !m->config.layer_norm)
PART(positions, m->positions.data)
PART(embed_norm, m->embed_norm.width > 0)
PART(embed_scale, m->config.embed_scale != 0)
PART(inputs, m->config.d_inputs > 0)
PART(head_norm, l->q_norm.width > 0)
PART(post_norm, l->attn_post_norm.width > 0 || l->ffn_post_norm.width > 0)
PART(inner_norm, l->mixed_norm.width > 0 || l->hidden_norm.width > 0)
PART(parallel, m->config.parallel)
PART(residual_scale, m->config.residual_scale != 0)
PART(window, l->window > 0)
PART(chunks, m->config.chunks && l->window > 0)
PART(alibi, m->config.alibi != 0)
PART(pairs, geodec__layer_attends(l) && l->rope >= 0 && m->config.rope_pairs == GEODEC_ROPE_ADJACENT)
PART(halves, geodec__layer_attends(l) && l->rope >= 0 && m->config.rope_pairs == GEODEC_ROPE_HALVES)
PART(part_rotates, geodec__layer_attends(l) && l->rope >= 0 && m->config.rope_dim < l->head_dim)
PART(unrotated, geodec__layer_attends(l) && l->rope < 0)
PART(divisors, m->rope_divisor[0])
PART(attention_biases, l->q_bias || l->o_bias)
PART(sinks, l->sinks)
PART(score_cap, m->config.attn_softcap != 0)
PART(clamp, m->config.qkv_clamp != 0)
PART(gate, l->attn_gate.data || l->gated_query)
PART(temperature, m->config.temperature != 0)
PART(shared_keys, geodec__layer_attends(l) && m->layer + l->kv_layer != l)
PART(latent, l->latent.kv_a.data)
PART(latent_query, l->latent.q_a.data)
PART(streams, m->config.n_streams > 0)
PART(laurel, l->laurel_in.data)
PART(cut, l->cut)
PART(decay, l->decay.data)
PART(selective, l->recurrent.how == GEODEC__MIXER_SELECTIVE)
PART(delta, l->recurrent.how == GEODEC__MIXER_DELTA)
PART(convolution, l->recurrent.how == GEODEC__MIXER_SHORT)
PART(beside, geodec__layer_recurs(l) && geodec__layer_attends(l))
PART(gated, geodec__layer_feeds(l) && !m->config.plain)
PART(plain, geodec__layer_feeds(l) && m->config.plain)
PART(silu, geodec__layer_feeds(l) && m->config.activation == GEODEC_SILU)
PART(gelu, geodec__layer_feeds(l) && m->config.activation == GEODEC_GELU_TANH)
PART(relu, geodec__layer_feeds(l) && (m->config.activation == GEODEC_RELU || m->config.activation == GEODEC_RELU2))
PART(xielu, geodec__layer_feeds(l) && m->config.activation == GEODEC_XIELU)
PART(clamped_swiglu, geodec__layer_feeds(l) && m->config.activation == GEODEC_SWIGLU_CLAMPED)
PART(softmax, l->router.data && m->config.gating == GEODEC_GATING_SOFTMAX)
PART(sigmoid, l->router.data && m->config.gating == GEODEC_GATING_SIGMOID)
PART(chosen, l->router.data && m->config.gating == GEODEC_GATING_CHOSEN)
PART(choice_bias, l->router.data && l->expert_bias)
PART(expert_biases, l->router.data && (l->up_bias || l->down_bias))
PART(shared_network, l->router.data && l->shared_down.data)
PART(shared_factor, l->router.data && l->shared_factor.data)
PART(own_input, l->router.data && l->expert_norm.width > 0)
PART(raw_route, l->router.data && m->config.route_raw)
PART(weighed_input, l->router.data && m->config.weighed_input)
PART(adjugate, l->adjugate_gate.data)
PART(dense_layers, m->config.n_expert > 0 && geodec__layer_feeds(l) && !l->router.data)
PART(head_bias, m->head_bias)
PART(tied, m->config.tied)
PART(logit_scale, m->config.logit_scale != 0)
PART(logit_cap, m->config.final_softcap != 0)
#undef PART

static const part parts[] = {
    {"RMS norms", has_rms_norm},
    {"layer norms", has_layer_norm},
    {"learned positions", has_positions},
    {"norm behind the embedding", has_embed_norm},
    {"scaled embedding", has_embed_scale},
    {"inputs of layers", has_inputs},
    {"norms of queries and keys", has_head_norm},
    {"norms after a half", has_post_norm},
    {"norms before output matrices", has_inner_norm},
    {"parallel halves", has_parallel},
    {"scaled residual", has_residual_scale},
    {"windows", has_window},
    {"chunks", has_chunks},
    {"ALiBi", has_alibi},
    {"rotation of adjacent pairs", has_pairs},
    {"rotation of halves", has_halves},
    {"rotation of a part of a head", has_part_rotates},
    {"layers without rotation", has_unrotated},
    {"divisors of frequencies", has_divisors},
    {"biases of attention", has_attention_biases},
    {"sinks", has_sinks},
    {"capped scores", has_score_cap},
    {"clamped queries, keys and values", has_clamp},
    {"gates of attention", has_gate},
    {"temperature by position", has_temperature},
    {"keys of an earlier layer", has_shared_keys},
    {"attention from latent vectors", has_latent},
    {"latent vectors of queries", has_latent_query},
    {"several streams", has_streams},
    {"path beside attention", has_laurel},
    {"cut gates", has_cut},
    {"decay recurrence", has_decay},
    {"selective state space", has_selective},
    {"gated delta rule", has_delta},
    {"short convolution", has_convolution},
    {"recurrence beside attention", has_beside},
    {"gated feed-forward", has_gated},
    {"plain feed-forward", has_plain},
    {"SiLU", has_silu},
    {"GELU", has_gelu},
    {"ReLU, squared ReLU", has_relu},
    {"xIELU", has_xielu},
    {"clamped SwiGLU", has_clamped_swiglu},
    {"experts by softmax", has_softmax},
    {"experts by sigmoids", has_sigmoid},
    {"experts by softmax of the chosen", has_chosen},
    {"bias of the choice", has_choice_bias},
    {"biases of experts", has_expert_biases},
    {"network beside experts", has_shared_network},
    {"factor of that network", has_shared_factor},
    {"input of the experts' own", has_own_input},
    {"router on the raw stream", has_raw_route},
    {"weights on the experts' input", has_weighed_input},
    {"adjugate experts", has_adjugate},
    {"dense layers of a mixture", has_dense_layers},
    {"biases of logits", has_head_bias},
    {"head of the embedding", has_tied},
    {"scaled logits", has_logit_scale},
    {"capped logits", has_logit_cap},
};

static bool has(const geodec_model *m, const part *p)
{
    for (int32_t i = 0; i < m->config.n_layer; i++)
        if (p->has(m, &m->layer[i])) return true;
    return false;
}

/* ---- the comparison ---------------------------------------------------------------------------------------------- */

/* turn: another size of passes, 1 to 64, in each file. */
static int check_file(const char *path, int32_t turn)
{
    static const way alone = {"alone", 1, GEODEC_ISA_AUTO, 1, false};
    const way turned = {"chunks in turn", 1 + 7 * turn % TOKENS, GEODEC_ISA_AUTO, 1 + turn % 3, false};
    const char *name = strrchr(path, '/') + 1;
    char line[512];
    geodec_err err = {0};
    geodec_model *m = NULL;
    int compared = 0, differ = 0;
    if (geodec_model_open(path, &m, &err) != GEODEC_OK) {
        (void)fprintf(stderr, "row\trefused\t%s\t%s\n", name, geodec_err_line(&err, line, sizeof line));
        return 0;
    }
    const int64_t vocab = geodec_model_size_of(m).n_vocab;
    static const geodec_kv_type types[] = {GEODEC_KV_F32, GEODEC_KV_Q8_0};
    for (int t = 0; t < 2; t++) {
        float *want = run(m, &alone, types[t], vocab);
        for (size_t i = 0; i <= sizeof ways / sizeof *ways; i++) {
            const way *w = i < sizeof ways / sizeof *ways ? &ways[i] : &turned;
            if (!geodec_kernels_isa_available(w->isa)) continue;
            float *got = run(m, w, types[t], vocab);
            const bool same = memcmp(want, got, (size_t)(TOKENS * vocab) * sizeof *got) == 0;
            cr_expect(same, "%s, cache %d: %s (%d rows) differs", name, t, w->name, w->chunk);
            compared++;
            differ += !same;
            geodec_mem_free(got);
        }
        geodec_mem_free(want);
    }
    (void)fprintf(stderr, "row\tbits\t%s\t%d\t%d\n", name, compared * TOKENS, differ);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (has(m, &parts[i])) (void)fprintf(stderr, "row\tpart\t%s\t%s\n", name, parts[i].name);
    geodec_model_close(m);
    return 1;
}

Test(model_architectures, bits_do_not_depend_on_batch_tree_threads_or_isa, .timeout = 300)
{
    char pattern[PATH_BYTES];
    glob_t found = {0};
    int models = 0;
    (void)snprintf(pattern, sizeof pattern, "%s/*.gguf", test_shared("golden/arch"));
    cr_assert_eq(glob(pattern, 0, NULL, &found), 0, "no models");
    for (size_t i = 0; i < found.gl_pathc; i++) models += check_file(found.gl_pathv[i], (int32_t)i);
    globfree(&found);
    (void)fprintf(stderr, "%d models\n", models);
    cr_assert_geq(models, LEAST_FILES);
}

/* A control: the first of 64 tokens shows in the bits of the last. */
Test(model_architectures, bits_depend_on_every_token)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    float row[2][1024];
    test_ok(geodec_model_open(test_shared("golden/arch/qwen3next-moe.gguf"), &m, &err), &err);
    cr_assert_leq(geodec_model_size_of(m).n_vocab, 1024);
    for (int k = 0; k < 2; k++) {
        int32_t changed[TOKENS];
        memcpy(changed, text, sizeof changed);
        changed[0] += k;
        test_ok(geodec_session_create(m, &(geodec_session_options){.n_ctx = TOKENS}, &s, &err), &err);
        test_ok(geodec_forward_prefill(s, changed, TOKENS, row[k], &err), &err);
        geodec_session_destroy(s);
    }
    cr_assert_neq(memcmp(row[0], row[1], (size_t)geodec_model_size_of(m).n_vocab * sizeof row[0][0]), 0);
    geodec_model_close(m);
}

/* A file with other tensors: those whose name has `gone` are left out (NULL: none), ".weight" is left out of the
 * names that end in `ending`, those with `to` have the values of that with `from` in its place, and those with `zero`
 * have zeros. Keys with `emptied` have their number for the first of two layers, and 0 for the second. NULL: not so. */
typedef struct rewriting {
    const char *gone, *ending, *to, *from, *zero, *emptied;
} rewriting;

static void copy_key(geodec_gguf_writer *out, const geodec_gguf *g, const char *key, const rewriting *w)
{
    geodec_err err = {0};
    int64_t v;
    if (!w->emptied || !strstr(key, w->emptied)) {
        test_ok(geodec_gguf_put_copy(out, g, key, &err), &err);
        return;
    }
    test_ok(geodec_gguf_get_i64(g, key, &v, &err), &err);
    test_ok(geodec_gguf_put_i32_array(out, key, (const int32_t[]){(int32_t)v, 0}, 2, &err), &err);
}

static const geodec_gguf_tensor *values_of(const geodec_gguf *g, const geodec_gguf_tensor *t, const rewriting *w)
{
    char name[128];
    const char *at = w->to ? strstr(t->name, w->to) : NULL;
    if (!at) return t;
    (void)snprintf(name, sizeof name, "%.*s%s%s", (int)(at - t->name), t->name, w->from, at + strlen(w->to));
    return geodec_gguf_find(g, name);
}

static const char *rewritten(const char *golden, const char *name, const rewriting *w)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_gguf_writer *out = NULL;
    const char *path = test_tmp(name);
    test_ok(geodec_gguf_open(golden, &g, &err), &err);
    test_ok(geodec_gguf_writer_create(path, &out, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++) copy_key(out, g, geodec_gguf_key_at(g, i), w);
    for (int pass = 0; pass < 2; pass++) /* names and shapes, then values */
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g); i++) {
            static const uint8_t zeros[1 << 14];
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i), *from = values_of(g, t, w);
            const bool zero = w->zero && strstr(t->name, w->zero);
            char own[128];
            size_t n = strlen(t->name), end = w->ending ? strlen(w->ending) : 0;
            if (w->gone && strstr(t->name, w->gone)) continue;
            cr_assert(from && from->bytes == t->bytes && (!zero || from->bytes <= sizeof zeros));
            if (end > 0 && n > end && strcmp(t->name + n - end, w->ending) == 0) n -= strlen(".weight");
            (void)snprintf(own, sizeof own, "%.*s", (int)n, t->name);
            if (pass == 0)
                test_ok(geodec_gguf_plan_tensor(out, own, t->type, t->n_dims, t->dim, &err), &err);
            else
                test_ok(geodec_gguf_stream(out, zero ? zeros : from->data, from->bytes, &err), &err);
        }
    test_ok(geodec_gguf_writer_commit(out, &err), &err);
    geodec_gguf_close(g);
    return path;
}

/* The file of latent vectors whose heads have their keys and values in one matrix, as before 2025-04: attn_kv_b in
 * place of attn_k_b, which is transposed, and attn_v_b, and no keys for the sizes of a head but the general ones. */
static const char *joined(const char *golden, int32_t n_layer, int64_t heads, int64_t rank, int64_t key, int64_t value)
{
    geodec_err err = {0};
    geodec_gguf *g = NULL;
    geodec_gguf_writer *out = NULL;
    const char *path = test_tmp("joined.gguf");
    const int64_t rows = key + value, dim[] = {rank, heads * rows};
    float *all = geodec_mem_new(heads * rows * rank, sizeof *all);
    char name[128];
    test_ok(geodec_gguf_open(golden, &g, &err), &err);
    test_ok(geodec_gguf_writer_create(path, &out, &err), &err);
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++) {
        const char *k = geodec_gguf_key_at(g, i);
        if (!strstr(k, "attention.key_length") && !strstr(k, "attention.value_length"))
            test_ok(geodec_gguf_put_copy(out, g, k, &err), &err);
    }
    test_ok(geodec_gguf_put_u32(out, "deepseek2.attention.key_length", 40, &err), &err);
    test_ok(geodec_gguf_put_u32(out, "deepseek2.attention.value_length", 24, &err), &err);
    for (int pass = 0; pass < 2; pass++) /* names and shapes, then values */
        for (int64_t i = 0; i < geodec_gguf_n_tensors(g) + n_layer; i++) {
            const int32_t layer = (int32_t)(i - geodec_gguf_n_tensors(g));
            if (layer >= 0) {
                (void)snprintf(name, sizeof name, "blk.%d.attn_kv_b.weight", layer);
                if (pass == 0) {
                    test_ok(geodec_gguf_plan_tensor(out, name, GEODEC_GGML_F32, 2, dim, &err), &err);
                    continue;
                }
                (void)snprintf(name, sizeof name, "blk.%d.attn_k_b.weight", layer);
                const float *k = geodec_gguf_find(g, name)->data; /* [heads][rank][key] */
                (void)snprintf(name, sizeof name, "blk.%d.attn_v_b.weight", layer);
                const float *v = geodec_gguf_find(g, name)->data; /* [heads][value][rank] */
                for (int64_t h = 0; h < heads; h++) {
                    for (int64_t r = 0; r < key; r++)
                        for (int64_t c = 0; c < rank; c++) all[(h * rows + r) * rank + c] = k[(h * rank + c) * key + r];
                    memcpy(all + (h * rows + key) * rank, v + h * value * rank, (size_t)(value * rank) * sizeof *v);
                }
                test_ok(geodec_gguf_stream(out, all, (size_t)(heads * rows * rank) * sizeof *all, &err), &err);
                continue;
            }
            const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
            if (strstr(t->name, "attn_k_b") || strstr(t->name, "attn_v_b")) continue;
            if (pass == 0)
                test_ok(geodec_gguf_plan_tensor(out, t->name, t->type, t->n_dims, t->dim, &err), &err);
            else
                test_ok(geodec_gguf_stream(out, t->data, t->bytes, &err), &err);
        }
    test_ok(geodec_gguf_writer_commit(out, &err), &err);
    geodec_gguf_close(g);
    geodec_mem_free(all);
    return path;
}

static float *logits_of(const char *path, int64_t *vocab)
{
    static const way batch = {"one batch", TOKENS, GEODEC_ISA_AUTO, 1, false};
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(path, &m, &err), &err);
    *vocab = geodec_model_size_of(m).n_vocab;
    float *out = run(m, &batch, GEODEC_KV_F32, *vocab);
    geodec_model_close(m);
    return out;
}

Test(model_architectures, the_same_in_other_tensors)
{
    static const struct {
        const char *file;
        rewriting one, other;
    } pairs[] = {
        /* one norm of both halves (Falcon 7B), or two that are equal */
        {"falcon", {.gone = "attn_norm_2"}, {.to = "attn_norm_2", .from = "attn_norm"}},
        /* names without ".weight" */
        {"cohere2moe-moe", {0}, {.ending = "ffn_gate_up_exps.weight"}},
        {"llama-moe", {0}, {.ending = "ffn_down_exps.weight"}},
        /* a half that adds nothing, or is not there */
        {"deci", {.zero = "blk.1.attn_output"}, {.gone = "blk.1.attn_", .emptied = "attention.head_count"}},
        {"deci", {.zero = "blk.1.ffn_down"}, {.gone = "blk.1.ffn_", .emptied = "feed_forward_length"}},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char relative[64];
        int64_t vocab, n;
        (void)snprintf(relative, sizeof relative, "golden/arch/%s.gguf", pairs[i].file);
        const char *golden = test_shared(relative);
        float *one = logits_of(rewritten(golden, "one.gguf", &pairs[i].one), &vocab);
        float *other = logits_of(rewritten(golden, "other.gguf", &pairs[i].other), &n);
        cr_expect(n == vocab && memcmp(one, other, (size_t)(TOKENS * vocab) * sizeof *one) == 0, "%s", pairs[i].file);
        geodec_mem_free(one);
        geodec_mem_free(other);
    }
}

Test(model_architectures, latent_vectors_with_one_matrix_of_heads)
{
    enum { LAYERS = 3, HEADS = 2, RANK = 32, KEY = 24, VALUE = 24 };
    int64_t vocab, n;
    const char *golden = test_shared("golden/arch/deepseek2-moe.gguf");
    float *one = logits_of(golden, &vocab);
    float *other = logits_of(joined(golden, LAYERS, HEADS, RANK, KEY, VALUE), &n);
    cr_expect(n == vocab && memcmp(one, other, (size_t)(TOKENS * vocab) * sizeof *one) == 0);
    geodec_mem_free(one);
    geodec_mem_free(other);
}

/* The cache has the latent vector and the part of the key that rotates, and not the values again. */
Test(model_architectures, latent_vectors_are_what_the_cache_has)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_session *s = NULL;
    test_ok(geodec_model_open(test_shared("golden/arch/deepseek2-moe.gguf"), &m, &err), &err);
    test_ok(geodec_session_create(m, &(geodec_session_options){.kv = GEODEC_KV_F32}, &s, &err), &err);
    cr_expect_eq(geodec_session_kv_bytes(s), 3 * (32 + 16) * (int64_t)sizeof(float));
    geodec_session_destroy(s);
    geodec_model_close(m);
}

/* A half whose tensors are missing is a damaged file, unless the keys say that there is none. */
Test(model_architectures, halves_that_are_missing)
{
    static const rewriting damaged[] = {{.gone = "blk.1.attn_"},
                                        {.gone = "blk.1.ffn_"},
                                        {.emptied = "attention.head_count"},
                                        {.emptied = "feed_forward_length"}};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        geodec_err err = {0};
        geodec_model *m = NULL;
        const char *path = rewritten(test_shared("golden/arch/deci.gguf"), "damaged.gguf", &damaged[i]);
        cr_expect_eq(geodec_model_open(path, &m, &err), GEODEC_FORMAT, "%d", (int)i);
        geodec_err_clear(&err);
        geodec_model_close(m);
    }
}
