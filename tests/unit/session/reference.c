#include "session/reference.h"
#include "session/weights_internal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *allocate(int64_t n)
{
    double *p = calloc((size_t)(n > 0 ? n : 1), sizeof *p);
    if (!p) abort();
    return p;
}

/* Tensors and keys are looked up by name, and what an architecture does is decided here by its name: nothing depends on
 * the library's table or on what it bound. */
static bool is(const geodec_model *m, const char *arch)
{
    return strcmp(geodec_model_configuration(m)->arch, arch) == 0;
}

/* list: names with a blank before and after each. */
static bool in(const geodec_model *m, const char *list)
{
    char name[40];
    (void)snprintf(name, sizeof name, " %s ", geodec_model_configuration(m)->arch);
    return strstr(list, name) != NULL;
}

static bool gemma(const geodec_model *m) { return in(m, " gemma2 gemma3 gemma4 "); }

/* A float key of the architecture. */
static double key(const geodec_model *m, const char *suffix, double otherwise)
{
    char name[80];
    double v;
    (void)snprintf(name, sizeof name, "%s.%s", geodec_model_configuration(m)->arch, suffix);
    return geodec_gguf_get_f64(geodec_model_gguf(m), name, &v, NULL) == GEODEC_OK ? v : otherwise;
}

/* An integer key. */
static int whole(const geodec_model *m, const char *suffix, int otherwise)
{
    char name[80];
    int64_t v;
    (void)snprintf(name, sizeof name, "%s.%s", geodec_model_configuration(m)->arch, suffix);
    return geodec_gguf_get_i64(geodec_model_gguf(m), name, &v, NULL) == GEODEC_OK ? (int)v : otherwise;
}

/* A whole tensor as doubles; NULL when there is none. name with its .weight or .bias. */
static double *load_named(const geodec_model *m, const char *name)
{
    const geodec_gguf_tensor *t = geodec_gguf_find(geodec_model_gguf(m), name);
    if (!t) return NULL;
    const int64_t n = t->dim[0] * t->dim[1] * t->dim[2];
    float *f = calloc((size_t)n, sizeof *f);
    double *out = allocate(n);
    if (!f) abort();
    geodec_ggml_traits_of(t->type)->decode(t->data, f, n);
    for (int64_t i = 0; i < n; i++) out[i] = (double)f[i];
    free(f);
    return out;
}

static const char *part_name(int layer, const char *suffix, char name[80])
{
    (void)snprintf(name, 80, "blk.%d.%s", layer, suffix);
    return name;
}

static double *load(const geodec_model *m, int layer, const char *suffix)
{
    char name[80];
    if (layer < 0)
        (void)snprintf(name, sizeof name, "%s.weight", suffix);
    else
        (void)snprintf(name, sizeof name, "blk.%d.%s.weight", layer, suffix);
    return load_named(m, name);
}

static double *load_bias(const geodec_model *m, int layer, const char *suffix)
{
    char name[80];
    (void)snprintf(name, sizeof name, "blk.%d.%s.bias", layer, suffix);
    return load_named(m, name);
}

static double *copy(const double *from, int64_t n)
{
    double *p = allocate(n);
    memcpy(p, from, (size_t)n * sizeof *p);
    return p;
}

static void multiply(const double *w, const double *x, int rows, int cols, double *y)
{
    for (int o = 0; o < rows; o++) {
        y[o] = 0;
        for (int i = 0; i < cols; i++) y[o] += w[(int64_t)o * cols + i] * x[i];
    }
}

static void normalise(const double *x, const double *w, int n, double eps, double *y)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    for (int i = 0; i < n; i++) y[i] = x[i] / sqrt(sum / n + eps) * w[i];
}

static double *ones(int n)
{
    double *p = allocate(n);
    for (int i = 0; i < n; i++) p[i] = 1;
    return p;
}

static void add(double *y, const double *bias, int n)
{
    for (int i = 0; bias && i < n; i++) y[i] += bias[i];
}

/* Rotates all heads of one row. */
static void rotate(const geodec_model *m, int layer, double *x, int heads, int position)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int rope = c->rope_dim;
    const bool halves = !in(m, " llama deepseek bailingmoe ernie4_5-moe granitemoe perspective "),
               local = in(m, " gemma3 gemma4 ") && m->layer[layer].window > 0;
    const double base = local ? key(m, "rope.freq_base_swa", 10000) : key(m, "rope.freq_base", 10000);
    const double factor = local ? 1 : key(m, "rope.scaling.factor", 1),
                 magnitude = key(m, "rope.scaling.attn_factor", 1);
    double *divisor = local ? NULL
                      : is(m, "phi3")
                          ? load(m, -1, c->n_ctx > c->rope_n_ctx_original ? "rope_factors_long" : "rope_factors_short")
                          : load(m, -1, "rope_freqs");
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < rope / 2; i++) {
            const double angle = position * pow(base, -2.0 * i / rope) / factor / (divisor ? divisor[i] : 1);
            double *p = x + h * c->head_dim + (halves ? i : 2 * i), *r = p + (halves ? rope / 2 : 1);
            const double a = *p, b = *r;
            *p = magnitude * (a * cos(angle) - b * sin(angle));
            *r = magnitude * (a * sin(angle) + b * cos(angle));
        }
    free(divisor);
}

static double activate(const geodec_model *m, double x)
{
    if (!gemma(m)) return x / (1 + exp(-x));
    return 0.5 * x * (1 + tanh(sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
}

static void feed_forward(const geodec_model *m, int f, const double *gate, const double *up, const double *down,
                         const double *x, double weight, double *out)
{
    const int d = geodec_model_configuration(m)->d_model;
    double *g = allocate(f), *u = allocate(f), *y = allocate(d);
    multiply(gate, x, f, d, g);
    multiply(up, x, f, d, u);
    for (int i = 0; i < f; i++) g[i] = activate(m, g[i]) * u[i];
    multiply(down, g, d, f, y);
    for (int i = 0; i < d; i++) out[i] += weight * y[i];
    free(g);
    free(u);
    free(y);
}

/* Expert e's own copy of a matrix of n numbers. */
static double *load_expert(const geodec_model *m, int layer, const char *suffix, int e, int64_t n)
{
    char name[40];
    (void)snprintf(name, sizeof name, "%s.%d", suffix, e);
    double *own = load(m, layer, name);
    if (own) return own;
    (void)snprintf(name, sizeof name, "%s_exps", suffix);
    double *all = load(m, layer, name);
    own = copy(all + e * n, n);
    free(all);
    return own;
}

/* Index of the largest of n values that are not taken. */
static int largest(const double *x, const int *taken, int n)
{
    int best = -1;
    for (int i = 0; i < n; i++)
        if (!taken[i] && (best < 0 || x[i] > x[best])) best = i;
    return best;
}

/* Marks the experts outside of the best groups. */
static void close_groups(const geodec_model *m, const double *score, int *closed)
{
    const int groups = whole(m, "expert_group_count", 1), open = whole(m, "expert_group_used_count", 1),
              each = geodec_model_configuration(m)->n_expert / groups;
    if (groups < 2) return;
    double *sum = allocate(groups);
    int *chosen = calloc((size_t)groups, sizeof *chosen), *used = calloc((size_t)each, sizeof *used);
    if (!chosen || !used) abort();
    for (int g = 0; g < groups; g++) {
        memset(used, 0, (size_t)each * sizeof *used);
        for (int k = 0; k < 2; k++) {
            const int best = largest(score + g * each, used, each);
            used[best] = 1;
            sum[g] += score[g * each + best];
        }
    }
    for (int k = 0; k < open; k++) chosen[largest(sum, chosen, groups)] = 1;
    for (int i = 0; i < groups * each; i++) closed[i] = !chosen[i / each];
    free(sum);
    free(chosen);
    free(used);
}

static bool renormalised(const geodec_model *m)
{
    char name[80];
    bool norm;
    (void)snprintf(name, sizeof name, "%s.expert_weights_norm", geodec_model_configuration(m)->arch);
    if (geodec_gguf_get_bool(geodec_model_gguf(m), name, &norm, NULL) == GEODEC_OK) return norm;
    return !in(m, " perspective olmoe qwen2moe deepseek dots1 bailingmoe bailingmoe2 glm4moe ");
}

static void shared(const geodec_model *m, int layer, const double *x, double *out)
{
    char name[80];
    (void)snprintf(name, sizeof name, "blk.%d.ffn_gate_shexp.weight", layer);
    const geodec_gguf_tensor *t = geodec_gguf_find(geodec_model_gguf(m), name);
    if (!t) return;
    double *gate = load(m, layer, "ffn_gate_shexp"), *up = load(m, layer, "ffn_up_shexp"),
           *down = load(m, layer, "ffn_down_shexp"), *factor = load(m, layer, "ffn_gate_inp_shexp"), logit = 0;
    if (factor) multiply(factor, x, 1, geodec_model_configuration(m)->d_model, &logit);
    feed_forward(m, (int)t->dim[1], gate, up, down, x, factor ? 1 / (1 + exp(-logit)) : 1, out);
    free(gate);
    free(up);
    free(down);
    free(factor);
}

static bool is_word(const geodec_model *m, const char *suffix, const char *word)
{
    char name[80];
    const char *text;
    (void)snprintf(name, sizeof name, "%s.%s", geodec_model_configuration(m)->arch, suffix);
    return geodec_gguf_get_str(geodec_model_gguf(m), name, &text, NULL) == GEODEC_OK && strcmp(text, word) == 0;
}

/* The expert nearest to the row on the torus. */
static int nearest(const geodec_model *m, int layer, const double *x)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const bool angle = is_word(m, "expert_route", "angle");
    double *w = load(m, layer, "ffn_gate_inp"), *bias = load_bias(m, layer, "ffn_gate_inp"),
           *place = load(m, layer, "ffn_expert_place"), u[6] = {0}, least = 1e9;
    int best = 0;
    multiply(w, x, angle ? 6 : 3, c->d_model, u);
    add(u, bias, angle ? 6 : 3);
    for (int a = 0; a < 3; a++) {
        if (angle) u[a] = atan2(u[a], u[3 + a]) / (2 * acos(-1));
        u[a] -= floor(u[a]);
    }
    for (int e = 0; e < c->n_expert; e++) {
        double sum = 0;
        for (int a = 0; a < 3; a++) {
            const double d = fabs(u[a] - place[3 * e + a]);
            sum += pow(fmin(d, 1 - d), 2);
        }
        if (sum < least) {
            least = sum;
            best = e;
        }
    }
    free(w);
    free(bias);
    free(place);
    return best;
}

/* x: input of the network; route: input of the router. */
static void torus(const geodec_model *m, int layer, const double *x, const double *route, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int e = nearest(m, layer, route);
    const int64_t n = (int64_t)c->d_ff * c->d_model;
    double *gate = load_expert(m, layer, "ffn_gate", e, n), *up = load_expert(m, layer, "ffn_up", e, n),
           *down = load_expert(m, layer, "ffn_down", e, n);
    feed_forward(m, c->d_ff, gate, up, down, x, 1, out);
    free(gate);
    free(up);
    free(down);
}

/* Adjugate experts read the sum of the experts: that of the group of each chosen expert, with the probability p of the
 * expert that has its number. */
static void adjugate(const geodec_model *m, int layer, const double *p, const int *order, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model, f = whole(m, "expert_chunk_feed_forward_length", 0),
              size = whole(m, "experts_per_group", 1);
    if (f == 0) return;
    const int groups = c->n_expert / size, used = c->n_expert_used < groups ? c->n_expert_used : groups;
    double *gate = load(m, layer, "ffn_gate_chexps"), *up = load(m, layer, "ffn_up_chexps"),
           *down = load(m, layer, "ffn_down_chexps"), *x = allocate(d), sum = 0;
    memcpy(x, out, (size_t)d * sizeof *x);
    for (int k = 0; k < used; k++) sum += p[order[k] / size];
    for (int k = 0; k < used; k++) {
        const int64_t g = order[k] / size, at = g * f * d;
        feed_forward(m, f, gate + at, up + at, down + at, x,
                     p[g] / fmax(sum, pow(2, -14)) * key(m, "expert_group_scale", 0), out);
    }
    free(gate);
    free(up);
    free(down);
    free(x);
}

static void experts(const geodec_model *m, int layer, const double *x, const double *route, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int e = c->n_expert, d = c->d_model, f = c->d_ff;
    char name[80];
    const bool sigmoid = in(m, " dots1 bailingmoe2 glm4moe minimax-m2 ");
    double *router = load(m, layer, "ffn_gate_inp"), *bias = load_bias(m, layer, "exp_probs_b"), *p = allocate(e),
           *score = allocate(e), sum = 0, chosen = 0;
    double *factor = load_named(m, part_name(layer, "ffn_down_exps.scale", name));
    int *taken = calloc((size_t)e, sizeof *taken), *closed = calloc((size_t)e, sizeof *closed),
        *order = calloc((size_t)e, sizeof *order);
    if (!taken || !closed || !order) abort();
    multiply(router, route, e, d, p);
    for (int i = 0; i < e; i++) sum += exp(p[i]);
    for (int i = 0; i < e; i++) p[i] = sigmoid ? 1 / (1 + exp(-p[i])) : exp(p[i]) / sum;
    for (int i = 0; i < e; i++) score[i] = p[i] + (bias ? bias[i] : 0);
    close_groups(m, score, closed);
    memcpy(taken, closed, (size_t)e * sizeof *taken);
    for (int k = 0; k < c->n_expert_used; k++) {
        const int best = largest(score, taken, e);
        taken[best] = 1;
        order[k] = best;
        chosen += p[best];
    }
    if (!renormalised(m)) chosen = 1;
    for (int i = 0; i < e; i++)
        if (closed[i]) taken[i] = 0;
    for (int i = 0; i < e; i++) {
        if (!taken[i]) continue;
        double *gate = load_expert(m, layer, "ffn_gate", i, (int64_t)f * d),
               *up = load_expert(m, layer, "ffn_up", i, (int64_t)f * d),
               *down = load_expert(m, layer, "ffn_down", i, (int64_t)f * d);
        const double weight = p[i] / chosen * key(m, "expert_weights_scale", 1) * (factor ? factor[i] : 1);
        feed_forward(m, f, gate, up, down, x, weight, out);
        free(gate);
        free(up);
        free(down);
    }
    shared(m, layer, x, out);
    adjugate(m, layer, p, order, out);
    free(order);
    free(factor);
    free(router);
    free(bias);
    free(p);
    free(score);
    free(taken);
    free(closed);
}

static void dense(const geodec_model *m, int layer, const double *x, const double *route, double *out)
{
    (void)route;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int f = whole(m, "feed_forward_length", 0);
    double *gate = load(m, layer, "ffn_gate"), *up = load(m, layer, "ffn_up"), *down = load(m, layer, "ffn_down");
    if (gate)
        feed_forward(m, f, gate, up, down, x, 1, out);
    else /* the gate is the first half of up */
        feed_forward(m, f, up, up + (int64_t)f * c->d_model, down, x, 1, out);
    free(gate);
    free(up);
    free(down);
}

/* Experts beside a dense network (gemma4), each with norms before and after; x is the stream, y what the dense network
 * reads. The router reads x normed, over the root of the width, times weights. */
static void both(const geodec_model *m, int layer, const double *x, const double *y, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model;
    const double eps = (double)c->rms_eps;
    char name[80];
    double *before = load(m, layer, "pre_ffw_norm_2"), *behind = load(m, layer, "post_ffw_norm_2"),
           *dense_behind = load(m, layer, "post_ffw_norm_1"), *one = ones(d), *route = allocate(d), *in = allocate(d),
           *sum = allocate(d), *scale = load_named(m, part_name(layer, "ffn_gate_inp.scale", name));
    dense(m, layer, y, NULL, out);
    normalise(out, dense_behind, d, eps, out);
    normalise(x, one, d, eps, route);
    for (int i = 0; i < d; i++) route[i] *= scale[i] / sqrt(d);
    normalise(x, before, d, eps, in);
    experts(m, layer, in, route, sum);
    normalise(sum, behind, d, eps, sum);
    add(out, sum, d);
    double *const all[] = {before, behind, dense_behind, one, route, in, sum, scale};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* Query, key or value of one row, biased, normalised and rotated. */
static void project(const geodec_model *m, int layer, char what, const double *x, int position, double *y)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int heads = what == 'q' ? c->n_head : c->n_kv_head, n = heads * c->head_dim;
    char name[16];
    (void)snprintf(name, sizeof name, "attn_%c", what);
    double *w = load(m, layer, name), *bias = load_bias(m, layer, name);
    if (!w) { /* query, key and value in one matrix */
        const int64_t kv = (int64_t)c->n_kv_head * c->head_dim, q = (int64_t)c->n_head * c->head_dim;
        double *all = load(m, layer, "attn_qkv");
        w = copy(all + (what == 'q' ? 0 : what == 'k' ? q : q + kv) * c->d_model, (int64_t)n * c->d_model);
        free(all);
    }
    multiply(w, x, n, c->d_model, y);
    add(y, bias, n);
    (void)snprintf(name, sizeof name, "attn_%c_norm", what);
    double *norm = load(m, layer, name);
    const int part = in(m, " olmoe minimax-m2 ") ? n : c->head_dim;
    const bool late = is(m, "hunyuan-moe");
    if (late && what != 'v') rotate(m, layer, y, heads, position);
    if (is(m, "gemma4") && what == 'v') norm = ones(c->head_dim);
    for (int i = 0; norm && i < n; i += part) normalise(y + i, norm, part, (double)c->rms_eps, y + i);
    if (!late && what != 'v') rotate(m, layer, y, heads, position);
    free(w);
    free(bias);
    free(norm);
}

/* The decay recurrence, as its equations read. */
static void recurrence(const geodec_model *m, int layer, const double *x, int n, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model, r = whole(m, "recurrence.rank", 0);
    const double least = exp(key(m, "recurrence.log_decay_min", -1e9));
    double *wp = load(m, layer, "recur_decay"), *bp = load_bias(m, layer, "recur_decay"),
           *wk = load(m, layer, "recur_k"), *wq = load(m, layer, "recur_q"), *wv = load(m, layer, "recur_v"),
           *wo = load(m, layer, "recur_output"), *norm = load(m, layer, "recur_norm");
    double *g = allocate(d), *v = allocate(d), *k = allocate(r), *q = allocate(r), *s = allocate((int64_t)d * r),
           *y = allocate(d);
    for (int t = 0; t < n; t++) {
        multiply(wp, x + t * d, d, d, g);
        add(g, bp, d);
        for (int i = 0; i < d; i++) g[i] = fmax(1 / (1 + exp(-g[i])), least);
        multiply(wv, x + t * d, d, d, v);
        multiply(wk, x + t * d, r, d, k);
        multiply(wq, x + t * d, r, d, q);
        for (int i = 0; i < d; i++) {
            y[i] = 0;
            for (int j = 0; j < r; j++) {
                s[i * r + j] = g[i] * s[i * r + j] + v[i] * k[j] / sqrt(r);
                y[i] += s[i * r + j] * q[j];
            }
        }
        normalise(y, norm, d, (double)c->rms_eps, y);
        multiply(wo, y, d, d, out + t * d);
    }
    double *const all[] = {wp, bp, wk, wq, wv, wo, norm, g, v, k, q, s, y};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

static void attention(const geodec_model *m, int layer, const double *x, int n, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model, dim = c->head_dim, nq = c->n_head * dim, nkv = c->n_kv_head * dim,
              share = c->n_head / c->n_kv_head;
    double *wo = load(m, layer, "attn_output"), *bias = load_bias(m, layer, "attn_output");
    double *q = allocate(n * nq), *k = allocate(n * nkv), *v = allocate(n * nkv), *mixed = allocate(nq),
           *s = allocate(n);
    for (int t = 0; t < n; t++) {
        project(m, layer, 'q', x + t * d, t, q + t * nq);
        project(m, layer, 'k', x + t * d, t, k + t * nkv);
        project(m, layer, 'v', x + t * d, t, v + t * nkv);
        memset(mixed, 0, (size_t)nq * sizeof *mixed);
        for (int h = 0; h < c->n_head; h++) {
            const int window = m->layer[layer].window, first = window > 0 && t >= window ? t - window + 1 : 0;
            const double cap = (double)c->attn_softcap;
            double sum = 0;
            for (int p = first; p <= t; p++) {
                s[p] = 0;
                for (int i = 0; i < dim; i++) s[p] += q[t * nq + h * dim + i] * k[p * nkv + h / share * dim + i];
                s[p] *= c->attn_scale > 0 ? c->attn_scale : 1 / sqrt(dim);
                if (cap > 0) s[p] = cap * tanh(s[p] / cap);
                s[p] = exp(s[p]);
                sum += s[p];
            }
            for (int p = first; p <= t; p++)
                for (int i = 0; i < dim; i++) mixed[h * dim + i] += s[p] / sum * v[p * nkv + h / share * dim + i];
        }
        multiply(wo, mixed, d, nq, out + t * d);
        add(out + t * d, bias, d);
    }
    double *const all[] = {bias, wo, q, k, v, mixed, s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

/* ---- attnres ---------------------------------------------------------------------------------------------------- */

static double length(const double *x, int d)
{
    double sum = 0;
    for (int i = 0; i < d; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

static double inner(const double *a, const double *b, int d)
{
    double sum = 0;
    for (int i = 0; i < d; i++) sum += a[i] * b[i];
    return sum;
}

/* x = (1 - w) x + w sum_p a_p z_p over the m sources at z + p * stride, a = softmax of score; keep: the sum gets x's
 * length. */
static void mix(double *x, const double *z, int m, int stride, const double *score, double w, bool keep, int d)
{
    double sum = 0, *y = allocate(d);
    for (int p = 0; p < m; p++) sum += exp(score[p]);
    for (int p = 0; p < m; p++)
        for (int i = 0; i < d; i++) y[i] += exp(score[p]) / sum * z[p * stride + i];
    const double g = keep ? length(x, d) / length(y, d) : 1;
    for (int i = 0; i < d; i++) x[i] = (1 - w) * x[i] + w * g * y[i];
    free(y);
}

/* What the next norm reads, from one token's embedding and outputs of half layers, out [1 + halves][d]: everything is
 * computed again from them. */
static void recombine(const geodec_model *m, const geodec_attnres *a, const double *out, int halves, double *x)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model, layers = c->n_layer;
    double *after = allocate((int64_t)layers * d), *block = allocate((int64_t)(layers + 1) * d), score[64];
    memcpy(x, out, (size_t)d * sizeof *x);
    for (int j = 1; j <= halves; j++) {
        const int l = (j - 1) / 2;
        const bool feed = j % 2 == 0;
        const double f = (l + 1.0) / layers;
        for (int i = 0; i < d; i++) x[i] += out[j * d + i];
        for (int i = 0; a->damp > 0 && i < d; i++)
            x[i] *= feed ? fmax(0.65, 1 - 0.18 * a->damp * f) : fmax(0.70, 1 - 0.12 * a->damp * f);
        if (!feed) continue;
        memcpy(after + l * d, x, (size_t)d * sizeof *x);
        if (a->depth_attn > 0 && l > 0) {
            const int first = l > a->window ? l - a->window : 0;
            for (int p = first; p < l; p++)
                score[p - first] = 6 * inner(x, after + p * d, d) / (length(x, d) * length(after + p * d, d));
            mix(x, after + first * d, l - first, d, score, fmin(0.85, a->depth_attn * f), false, d);
        }
    }
    if (a->block_softmax > 0 && halves > 0) {
        const int blocks = a->blocks < layers ? a->blocks : layers, last = 1 + (halves - 1) / 2 * blocks / layers;
        memcpy(block, out, (size_t)d * sizeof *x);
        for (int j = 1; j <= halves; j++)
            for (int i = 0; i < d; i++) block[(1 + (j - 1) / 2 * blocks / layers) * d + i] += out[j * d + i];
        const double eps = (double)c->rms_eps;
        for (int p = 0; p <= last; p++) {
            const double *b = block + p * d;
            score[p] = a->zero_query ? 0
                                     : inner(x, b, d) / sqrt(inner(x, x, d) / d + eps) /
                                           sqrt(inner(b, b, d) / d + eps) / (a->tau * sqrt(d));
        }
        mix(x, block, last + 1, d, score, a->block_softmax, true, d);
    }
    free(after);
    free(block);
}

double *reference_logits(const geodec_model *m, const int32_t *token, int n, double *residual)
{
    return reference_attnres(m, &(geodec_attnres){0}, token, n, residual);
}

double *reference_attnres(const geodec_model *m, const geodec_attnres *a, const int32_t *token, int n, double *residual)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model;
    double *embedding = load(m, -1, "token_embd"), *head = c->tied ? load(m, -1, "token_embd") : load(m, -1, "output");
    double *x = allocate(n * d), *y = allocate(n * d), *z = allocate(n * d), *first = allocate(n * d),
           *logits = allocate((int64_t)n * c->n_vocab);
    for (int t = 0; t < n; t++) memcpy(x + t * d, embedding + (int64_t)token[t] * d, (size_t)d * sizeof *x);
    for (int i = 0; i < n * d; i++) x[i] *= gemma(m) ? sqrt(d) : key(m, "embedding_scale", 1);
    if (residual) memcpy(residual, x, (size_t)(n * d) * sizeof *x);
    const int kept = (2 * c->n_layer + 1) * d; /* of out: [n][1 + half layers][d] */
    double *out = allocate((int64_t)n * kept);
    for (int t = 0; t < n; t++) memcpy(out + t * kept, x + t * d, (size_t)d * sizeof *x);
    for (int layer = 0; layer < c->n_layer; layer++) {
        const double scale = key(m, "residual_scale", 1);
        double *w1 = load(m, layer, "attn_norm"),
               *w2 = load(m, layer, is(m, "glm4moe") ? "post_attention_norm" : "ffn_norm"),
               *p1 = gemma(m) ? load(m, layer, "post_attention_norm") : NULL, *p2 = load(m, layer, "post_ffw_norm"),
               *router = load(m, layer, "ffn_gate_inp");
        for (int t = 0; t < n; t++) normalise(x + t * d, w1, d, (double)c->rms_eps, y + t * d);
        memcpy(first, y, (size_t)(n * d) * sizeof *y);
        double *recurs = load(m, layer, "recur_q");
        (recurs ? recurrence : attention)(m, layer, y, n, z);
        free(recurs);
        for (int i = 0; i < n * d; i++) z[i] *= scale;
        for (int t = 0; p1 && t < n; t++) normalise(z + t * d, p1, d, (double)c->rms_eps, z + t * d);
        for (int t = 0; t < n; t++) {
            memcpy(out + t * kept + (2 * layer + 1) * d, z + t * d, (size_t)d * sizeof *x);
            recombine(m, a, out + t * kept, 2 * layer + 1, x + t * d);
        }
        memset(z, 0, (size_t)(n * d) * sizeof *z);
        for (int t = 0; t < n; t++) {
            normalise(x + t * d, w2, d, (double)c->rms_eps, y + t * d);
            const double *route = is_word(m, "expert_route_at", "pre") ? first + t * d : y + t * d;
            const bool near = is_word(m, "expert_route", "mod") || is_word(m, "expert_route", "angle");
            if (router && is(m, "gemma4"))
                both(m, layer, x + t * d, y + t * d, z + t * d);
            else
                (!router ? dense : near ? torus : experts)(m, layer, y + t * d, route, z + t * d);
            for (int i = 0; i < d; i++) z[t * d + i] *= scale;
            if (p2) normalise(z + t * d, p2, d, (double)c->rms_eps, z + t * d);
        }
        for (int t = 0; t < n; t++) {
            memcpy(out + t * kept + (2 * layer + 2) * d, z + t * d, (size_t)d * sizeof *x);
            recombine(m, a, out + t * kept, 2 * layer + 2, x + t * d);
        }
        if (residual) memcpy(residual + (int64_t)(layer + 1) * n * d, x, (size_t)(n * d) * sizeof *x);
        free(w1);
        free(w2);
        free(p1);
        free(p2);
        free(router);
    }
    double *w = load(m, -1, "output_norm");
    const double cap = key(m, "final_logit_softcapping", in(m, " gemma2 gemma4 ") ? 30 : 0);
    for (int t = 0; t < n; t++) {
        normalise(x + t * d, w, d, (double)c->rms_eps, y);
        double *row = logits + (int64_t)t * c->n_vocab;
        multiply(head, y, c->n_vocab, d, row);
        for (int i = 0; i < c->n_vocab; i++) row[i] /= key(m, "logit_scale", 1);
        for (int i = 0; cap > 0 && i < c->n_vocab; i++) row[i] = cap * tanh(row[i] / cap);
    }
    free(w);
    free(out);
    free(embedding);
    free(head);
    free(x);
    free(y);
    free(z);
    free(first);
    return logits;
}
