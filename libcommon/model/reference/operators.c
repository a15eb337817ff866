/* The elementwise and row-wise operators: norm, rotary positions, choice of experts, soft-cap, limits. */
#include "base/mem.h"
#include "reference/operators_internal.h"

#include <math.h>

/* ---- norm: Zhang and Sennrich 2019 (RMS), Ba et al. 2016 (layer norm) -------------------------------------------- */

/* Mean and inverse deviation of a part; the mean of an RMS norm counts as 0. */
typedef struct moments {
    double mean, inverse;
} moments;

static moments moments_of(const geodec__norm *w, const double *x)
{
    moments m = {0};
    double sum = 0;
    for (int64_t i = 0; w->centred && i < w->part; i++) m.mean += x[i] / (double)w->part;
    for (int64_t i = 0; i < w->part; i++) sum += (x[i] - m.mean) * (x[i] - m.mean);
    m.inverse = 1 / sqrt(sum / (double)w->part + (double)w->eps);
    return m;
}

static double mean_of(const geodec__norm *w, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; w->centred && i < w->part; i++) sum += x[i];
    return sum / (double)w->part;
}

/* Weights (or biases) of part p. */
static const float *part_of(const geodec__norm *w, const float *all, int64_t p)
{
    return all ? all + (w->each ? p * w->part : 0) : NULL;
}

void geodec__reference_norm(int64_t n, const geodec__norm *w, const double *x, double *y)
{
    const int64_t parts = w->width / w->part;
    for (int64_t t = 0; t < n * parts; t++, x += w->part, y += w->part) {
        const moments m = moments_of(w, x);
        const float *gain = part_of(w, w->weight, t % parts), *bias = part_of(w, w->bias, t % parts);
        for (int64_t i = 0; i < w->part; i++)
            y[i] = (x[i] - m.mean) * m.inverse * (double)gain[i] + (bias ? (double)bias[i] : 0);
    }
}

void geodec__reference_norm_jvp(int64_t n, const geodec__norm *w, const double *x, int64_t k, const double *dx,
                                double *dy)
{
    const int64_t d = w->part, parts = w->width / d;
    for (int64_t t = 0; t < n * parts; t++, x += d) {
        const moments m = moments_of(w, x);
        const float *gain = part_of(w, w->weight, t % parts);
        for (int64_t j = 0; j < k; j++) {
            const double *in = dx + (j * n * parts + t) * d;
            const double mean = mean_of(w, in);
            double *out = dy + (j * n * parts + t) * d, dot = 0;
            for (int64_t i = 0; i < d; i++) dot += (x[i] - m.mean) * in[i];
            const double along = m.inverse * m.inverse * m.inverse * dot / (double)d;
            for (int64_t i = 0; i < d; i++)
                out[i] = (double)gain[i] * (m.inverse * (in[i] - mean) - along * (x[i] - m.mean));
        }
    }
}

void geodec__reference_norm_vjp(int64_t n, const geodec__norm *w, const double *x, int64_t k, const double *gy,
                                double *gx)
{
    const int64_t d = w->part, parts = w->width / d;
    for (int64_t t = 0; t < n * parts; t++, x += d) {
        const moments m = moments_of(w, x);
        const float *gain = part_of(w, w->weight, t % parts);
        for (int64_t j = 0; j < k; j++) {
            const double *in = gy + (j * n * parts + t) * d;
            double *out = gx + (j * n * parts + t) * d, dot = 0;
            for (int64_t i = 0; i < d; i++) dot += (x[i] - m.mean) * (double)gain[i] * in[i];
            const double along = m.inverse * m.inverse * m.inverse * dot / (double)d;
            for (int64_t i = 0; i < d; i++) out[i] = m.inverse * (double)gain[i] * in[i] - along * (x[i] - m.mean);
            const double mean = mean_of(w, out);
            for (int64_t i = 0; i < d; i++) out[i] -= mean;
        }
    }
}

/* ---- rotary positions: Su et al. 2021 ---------------------------------------------------------------------------- */

/* The factor of pair i's frequency. With YaRN (Peng et al. 2023) the pairs up to yarn_low keep their frequency, those
 * from yarn_high on have the whole factor, and it goes linearly between. */
static double frequency_scale(const geodec_model_config *c, int64_t i)
{
    if (c->rope_scale == 0) return 1;
    if (c->yarn == 0) return c->rope_scale;
    const double scaled = ((double)i - c->yarn_low) / fmax(c->yarn_high - c->yarn_low, 0.001);
    const double part = fmin(fmax(scaled, 0), 1);
    return (1 - part) + part * c->rope_scale;
}

geodec_status geodec__reference_angles_create(const geodec_model_config *c, int table, const float *divisor, int64_t n,
                                              geodec__ref_angles *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t dim = geodec__rope_dim(c, table);
    geodec__ref_angles a = {.n = n, .pairs = dim / 2};
    const double base = table == 1 ? c->rope_base_local : c->rope_base;
    const bool scaled = table == 0 || c->rope_local_scaled;
    const double magnitude = scaled && c->rope_magnitude != 0 ? (double)c->rope_magnitude : 1;
    GEODEC_NEW_EACH(n * a.pairs, a.cosine, a.sine);
    for (int64_t i = 0; i < a.pairs; i++) {
        double step = (scaled ? frequency_scale(c, i) : 1) * pow(base, -2.0 * (double)i / (double)dim);
        if (divisor) step /= (double)divisor[i];
        for (int64_t p = 0; p < n; p++) {
            a.cosine[p * a.pairs + i] = magnitude * cos((double)p * step);
            a.sine[p * a.pairs + i] = magnitude * sin((double)p * step);
        }
    }
    GEODEC_MOVE(*out, a);
done:
    geodec__reference_angles_destroy(&a);
    return st;
}

void geodec__reference_angles_destroy(geodec__ref_angles *a)
{
    GEODEC_FREE(a->cosine, a->sine);
    *a = (geodec__ref_angles){0};
}

void geodec__reference_rotate(const geodec_model_config *c, const geodec__ref_angles *a, int64_t first, int64_t k,
                              int64_t heads, int64_t dim, bool transpose, double *x)
{
    const bool halves = c->rope_pairs == GEODEC_ROPE_HALVES;
    const double sign = transpose ? -1 : 1;
    for (int64_t row = 0; row < k * (a->n - first); row++) {
        const int64_t position = first + row % (a->n - first);
        const double *cosine = a->cosine + position * a->pairs, *sine = a->sine + position * a->pairs;
        for (int64_t h = 0; h < heads; h++, x += dim)
            for (int64_t i = 0; i < a->pairs; i++) {
                double *one = x + (halves ? i : 2 * i), *two = x + (halves ? i + a->pairs : 2 * i + 1);
                const double u = *one, v = *two, s = sign * sine[i];
                *one = u * cosine[i] - v * s;
                *two = u * s + v * cosine[i];
            }
    }
}

/* ---- choice of experts ------------------------------------------------------------------------------------------- */

/* With p = softmax(logits) or their sigmoids, and S the sum of the chosen p, w_e = scale p_e / S, or scale p_e. Chosen
 * are the largest p + bias of the open groups. The choice itself is constant under differentiation. */

double geodec__reference_sigmoid(double x) { return 1 / (1 + exp(-x)); }

double geodec__reference_softplus(double x) { return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)); }

void geodec__reference_softmax(int64_t n, const double *x, double *p)
{
    double most = x[0], sum = 0;
    for (int64_t i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    for (int64_t i = 0; i < n; i++) sum += p[i] = exp(x[i] - most);
    for (int64_t i = 0; i < n; i++) p[i] /= sum;
}

static bool taken(int64_t n, const int32_t *id, int64_t e)
{
    for (int64_t j = 0; j < n; j++)
        if (id[j] == e) return true;
    return false;
}

static double chosen_sum(const geodec__ref_router *r, const double *prob, const int32_t *id)
{
    double sum = 0;
    for (int64_t j = 0; j < r->n_used; j++) sum += prob[id[j]];
    return sum;
}

/* What the weights are divided by; *fixed: it does not depend on them. */
static double divisor(const geodec__ref_router *r, const double *prob, const int32_t *id, bool *fixed)
{
    const double sum = r->keep ? 1 : chosen_sum(r, prob, id);
    *fixed = r->keep || sum < r->least;
    return sum < r->least ? r->least : sum;
}

static double factor_of(const geodec__ref_router *r, int32_t e)
{
    return r->scale * (r->factor ? (double)r->factor[e] : 1);
}

static double score(const geodec__ref_router *r, const double *prob, int64_t e)
{
    return prob[e] + (r->bias ? (double)r->bias[e] : 0);
}

/* Sum of a group's two best scores. */
static double group_score(const geodec__ref_router *r, const double *prob, int64_t group)
{
    const int64_t each = r->n_expert / r->groups, first = group * each;
    double best = -INFINITY;
    for (int64_t a = first; a < first + each; a++)
        for (int64_t b = a + 1; b < first + each; b++) best = fmax(best, score(r, prob, a) + score(r, prob, b));
    return best;
}

/* Whether fewer than `open` groups come before that of e. */
static bool is_open(const geodec__ref_router *r, const double *prob, int64_t e)
{
    if (r->groups == 0) return true;
    const int64_t own = e / (r->n_expert / r->groups);
    const double mine = group_score(r, prob, own);
    int64_t before = 0;
    for (int64_t g = 0; g < r->groups; g++) {
        const double s = group_score(r, prob, g);
        before += s > mine || (s == mine && g < own);
    }
    return before < r->open;
}

void geodec__reference_route(const geodec__ref_router *r, int64_t n, const double *logits, double *prob, int32_t *id,
                             double *weight)
{
    for (int64_t t = 0; t < n; t++, logits += r->n_expert, prob += r->n_expert, id += r->n_used, weight += r->n_used) {
        if (!r->sigmoid) geodec__reference_softmax(r->n_expert, logits, prob);
        for (int64_t e = 0; r->sigmoid && e < r->n_expert; e++) prob[e] = geodec__reference_sigmoid(logits[e]);
        for (int64_t j = 0; j < r->n_used; j++) {
            int64_t best = -1;
            for (int64_t e = 0; e < r->n_expert; e++)
                if (!taken(j, id, e) && (best < 0 || score(r, prob, e) > score(r, prob, best)) && is_open(r, prob, e))
                    best = e;
            id[j] = (int32_t)best;
        }
        geodec__reference_weigh(r, 1, prob, id, weight);
    }
}

void geodec__reference_weigh(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                             double *weight)
{
    for (int64_t t = 0; t < n; t++, prob += r->n_expert, id += r->n_used, weight += r->n_used) {
        bool fixed;
        const double sum = divisor(r, prob, id, &fixed);
        for (int64_t j = 0; j < r->n_used; j++) weight[j] = factor_of(r, id[j]) * prob[id[j]] / sum;
    }
}

void geodec__reference_route_jvp(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                                 int64_t k, const double *dlogits, double *dweight)
{
    for (int64_t row = 0; row < k * n; row++) {
        const double *p = prob + row % n * r->n_expert, *dl = dlogits + row * r->n_expert;
        const int32_t *chosen = id + row % n * r->n_used;
        double *dw = dweight + row * r->n_used, mean = 0, dsum = 0;
        for (int64_t e = 0; e < r->n_expert && !r->sigmoid; e++) mean += p[e] * dl[e];
        for (int64_t j = 0; j < r->n_used; j++)
            dsum += dw[j] = p[chosen[j]] * (r->sigmoid ? (1 - p[chosen[j]]) * dl[chosen[j]] : dl[chosen[j]] - mean);
        bool fixed;
        const double sum = divisor(r, p, chosen, &fixed);
        for (int64_t j = 0; j < r->n_used; j++) dw[j] = (dw[j] - (fixed ? 0 : p[chosen[j]] / sum * dsum)) / sum;
        for (int64_t j = 0; j < r->n_used; j++) dw[j] *= factor_of(r, chosen[j]);
    }
}

void geodec__reference_route_vjp(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                                 int64_t k, const double *gweight, double *glogits)
{
    for (int64_t row = 0; row < k * n; row++) {
        const double *p = prob + row % n * r->n_expert, *gw = gweight + row * r->n_used;
        const int32_t *chosen = id + row % n * r->n_used;
        double *gl = glogits + row * r->n_expert, shared = 0, mean = 0;
        bool fixed;
        const double sum = divisor(r, p, chosen, &fixed);
        if (!fixed)
            for (int64_t j = 0; j < r->n_used; j++) shared += factor_of(r, chosen[j]) * gw[j] * p[chosen[j]] / sum;
        /* cotangent of p: zero except for the chosen; then through the softmax or the sigmoids */
        for (int64_t e = 0; e < r->n_expert; e++) gl[e] = 0;
        for (int64_t j = 0; j < r->n_used; j++) {
            const double g = (factor_of(r, chosen[j]) * gw[j] - shared) / sum;
            gl[chosen[j]] += g;
            mean += p[chosen[j]] * g;
        }
        for (int64_t e = 0; e < r->n_expert; e++) gl[e] = p[e] * (r->sigmoid ? (1 - p[e]) * gl[e] : gl[e] - mean);
    }
}

/* ---- soft-cap ---------------------------------------------------------------------------------------------------- */

void geodec__reference_softcap(double cap, int64_t n, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = cap * tanh(x[i] / cap);
}

void geodec__reference_softcap_derivative(double cap, int64_t n, const double *y, int64_t k, const double *dx,
                                          double *dy)
{
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < n; i++) dy[j * n + i] = (1 - y[i] / cap * (y[i] / cap)) * dx[j * n + i];
}

/* ---- limits ------------------------------------------------------------------------------------------------------ */

void geodec__reference_clamp(double most, int64_t n, const double *x, double *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = fmin(fmax(x[i], -most), most);
}

void geodec__reference_clamp_derivative(double most, int64_t n, const double *x, int64_t k, const double *dx,
                                        double *dy)
{
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < n; i++) dy[j * n + i] = fabs(x[i]) < most ? dx[j * n + i] : 0;
}
