/* Choice of experts. With p = softmax(logits) and S the sum of the chosen p, w_e = scale p_e / S, or scale p_e. The
 * choice itself is constant under differentiation. */
#include "reference/ops_internal.h"

#include <math.h>

static void softmax(int64_t n, const double *x, double *p)
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

void geodec__reference_route(const geodec__ref_router *r, int64_t n, const double *logits, double *prob, int32_t *id,
                             double *weight)
{
    for (int64_t t = 0; t < n; t++, logits += r->n_expert, prob += r->n_expert, id += r->n_used, weight += r->n_used) {
        softmax(r->n_expert, logits, prob);
        for (int64_t j = 0; j < r->n_used; j++) {
            int64_t best = -1;
            for (int64_t e = 0; e < r->n_expert; e++)
                if (!taken(j, id, e) && (best < 0 || prob[e] > prob[best])) best = e;
            id[j] = (int32_t)best;
        }
        const double sum = r->keep ? 1 : chosen_sum(r, prob, id);
        for (int64_t j = 0; j < r->n_used; j++) weight[j] = r->scale * prob[id[j]] / sum;
    }
}

void geodec__reference_route_jvp(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                                 int64_t k, const double *dlogits, double *dweight)
{
    for (int64_t row = 0; row < k * n; row++) {
        const double *p = prob + row % n * r->n_expert, *dl = dlogits + row * r->n_expert;
        const int32_t *chosen = id + row % n * r->n_used;
        double *dw = dweight + row * r->n_used, mean = 0, dsum = 0;
        for (int64_t e = 0; e < r->n_expert; e++) mean += p[e] * dl[e];
        for (int64_t j = 0; j < r->n_used; j++) dsum += dw[j] = p[chosen[j]] * (dl[chosen[j]] - mean);
        if (!r->keep) {
            const double sum = chosen_sum(r, p, chosen);
            for (int64_t j = 0; j < r->n_used; j++) dw[j] = (dw[j] - p[chosen[j]] / sum * dsum) / sum;
        }
        for (int64_t j = 0; j < r->n_used; j++) dw[j] *= r->scale;
    }
}

void geodec__reference_route_vjp(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                                 int64_t k, const double *gweight, double *glogits)
{
    for (int64_t row = 0; row < k * n; row++) {
        const double *p = prob + row % n * r->n_expert, *gw = gweight + row * r->n_used;
        const int32_t *chosen = id + row % n * r->n_used;
        double *gl = glogits + row * r->n_expert, shared = 0, mean = 0;
        const double sum = r->keep ? 1 : chosen_sum(r, p, chosen);
        if (!r->keep)
            for (int64_t j = 0; j < r->n_used; j++) shared += gw[j] * p[chosen[j]] / sum;
        /* cotangent of p: zero except for the chosen; then through the softmax */
        for (int64_t e = 0; e < r->n_expert; e++) gl[e] = 0;
        for (int64_t j = 0; j < r->n_used; j++) {
            gl[chosen[j]] = r->scale * (gw[j] - shared) / sum;
            mean += p[chosen[j]] * gl[chosen[j]];
        }
        for (int64_t e = 0; e < r->n_expert; e++) gl[e] = p[e] * (gl[e] - mean);
    }
}
