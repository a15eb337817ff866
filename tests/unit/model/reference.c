#include "model/reference.h"
#include "model/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *allocate(int64_t n)
{
    double *p = calloc((size_t)(n > 0 ? n : 1), sizeof *p);
    if (!p) abort();
    return p;
}

/* A whole tensor as doubles. */
static double *load(const geodec_model *m, int layer, const char *suffix)
{
    char name[80];
    if (layer < 0)
        (void)snprintf(name, sizeof name, "%s.weight", suffix);
    else
        (void)snprintf(name, sizeof name, "blk.%d.%s.weight", layer, suffix);
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

static void rotate(double *x, int heads, int dim, int rope, double base, int position)
{
    for (int h = 0; h < heads; h++)
        for (int i = 0; i < rope; i += 2) {
            const double angle = position * pow(base, -(double)i / rope), c = cos(angle), s = sin(angle);
            double *p = x + h * dim + i;
            const double a = p[0], b = p[1];
            p[0] = a * c - b * s;
            p[1] = a * s + b * c;
        }
}

static void feed_forward(const double *gate, const double *up, const double *down, const double *x, int d, int f,
                         double weight, double *out)
{
    double *g = allocate(f), *u = allocate(f), *y = allocate(d);
    multiply(gate, x, f, d, g);
    multiply(up, x, f, d, u);
    for (int i = 0; i < f; i++) g[i] = g[i] / (1 + exp(-g[i])) * u[i];
    multiply(down, g, d, f, y);
    for (int i = 0; i < d; i++) out[i] += weight * y[i];
    free(g);
    free(u);
    free(y);
}

static void experts(const geodec_model *m, int layer, const double *x, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int e = c->n_expert, d = c->d_model, f = c->d_ff;
    double *router = load(m, layer, "ffn_gate_inp"), *p = allocate(e), sum = 0, chosen = 0;
    double *gate = load(m, layer, "ffn_gate_exps"), *up = load(m, layer, "ffn_up_exps"),
           *down = load(m, layer, "ffn_down_exps");
    int *taken = calloc((size_t)e, sizeof *taken);
    if (!taken) abort();
    multiply(router, x, e, d, p);
    for (int i = 0; i < e; i++) sum += exp(p[i]);
    for (int i = 0; i < e; i++) p[i] = exp(p[i]) / sum;
    for (int k = 0; k < c->n_expert_used; k++) {
        int best = -1;
        for (int i = 0; i < e; i++)
            if (!taken[i] && (best < 0 || p[i] > p[best])) best = i;
        taken[best] = 1;
        chosen += p[best];
    }
    for (int i = 0; i < e; i++)
        if (taken[i])
            feed_forward(gate + (int64_t)i * f * d, up + (int64_t)i * f * d, down + (int64_t)i * f * d, x, d, f,
                         p[i] / chosen, out);
    free(router);
    free(gate);
    free(up);
    free(down);
    free(p);
    free(taken);
}

static void attention(const geodec_model *m, int layer, const double *x, int n, double *out)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model, dim = c->head_dim, nq = c->n_head * dim, nkv = c->n_kv_head * dim,
              share = c->n_head / c->n_kv_head;
    double *wq = load(m, layer, "attn_q"), *wk = load(m, layer, "attn_k"), *wv = load(m, layer, "attn_v");
    double *wo = load(m, layer, "attn_output");
    double *q = allocate(n * nq), *k = allocate(n * nkv), *v = allocate(n * nkv), *mixed = allocate(nq),
           *s = allocate(n);
    for (int t = 0; t < n; t++) {
        multiply(wq, x + t * d, nq, d, q + t * nq);
        multiply(wk, x + t * d, nkv, d, k + t * nkv);
        multiply(wv, x + t * d, nkv, d, v + t * nkv);
        rotate(q + t * nq, c->n_head, dim, c->rope_dim, c->rope_base, t);
        rotate(k + t * nkv, c->n_kv_head, dim, c->rope_dim, c->rope_base, t);
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
    }
    double *const all[] = {wq, wk, wv, wo, q, k, v, mixed, s};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
}

double *reference_logits(const geodec_model *m, const int32_t *token, int n, double *residual)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    const int d = c->d_model;
    double *embedding = load(m, -1, "token_embd"), *head = c->tied ? load(m, -1, "token_embd") : load(m, -1, "output");
    double *x = allocate(n * d), *y = allocate(n * d), *z = allocate(n * d),
           *logits = allocate((int64_t)n * c->n_vocab);
    for (int t = 0; t < n; t++) memcpy(x + t * d, embedding + (int64_t)token[t] * d, (size_t)d * sizeof *x);
    if (residual) memcpy(residual, x, (size_t)(n * d) * sizeof *x);
    for (int layer = 0; layer < c->n_layer; layer++) {
        double *w1 = load(m, layer, "attn_norm"), *w2 = load(m, layer, "ffn_norm");
        for (int t = 0; t < n; t++) normalise(x + t * d, w1, d, (double)c->rms_eps, y + t * d);
        attention(m, layer, y, n, z);
        for (int i = 0; i < n * d; i++) x[i] += z[i];
        double *gate = NULL, *up = NULL, *down = NULL;
        if (c->n_expert == 0) {
            gate = load(m, layer, "ffn_gate");
            up = load(m, layer, "ffn_up");
            down = load(m, layer, "ffn_down");
        }
        for (int t = 0; t < n; t++) {
            normalise(x + t * d, w2, d, (double)c->rms_eps, y + t * d);
            if (c->n_expert == 0)
                feed_forward(gate, up, down, y + t * d, d, c->d_ff, 1, x + t * d);
            else
                experts(m, layer, y + t * d, x + t * d);
        }
        if (residual) memcpy(residual + (int64_t)(layer + 1) * n * d, x, (size_t)(n * d) * sizeof *x);
        free(w1);
        free(w2);
        free(gate);
        free(up);
        free(down);
    }
    double *w = load(m, -1, "output_norm");
    for (int t = 0; t < n; t++) {
        normalise(x + t * d, w, d, (double)c->rms_eps, y);
        multiply(head, y, c->n_vocab, d, logits + (int64_t)t * c->n_vocab);
    }
    free(w);
    free(embedding);
    free(head);
    free(x);
    free(y);
    free(z);
    return logits;
}
