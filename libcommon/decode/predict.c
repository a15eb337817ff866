#include "decode/predict.h"

#include <math.h>

geodec_cost geodec_cost_linear(double slope)
{
    geodec_cost cost = {.n = GEODEC_COST_ROWS};
    for (int32_t b = 1; b <= cost.n; b++) cost.v[b] = 1 + slope * (b - 1);
    return cost;
}

double geodec_cost_pass(const geodec_cost *cost, int32_t b)
{
    if (b <= cost->n) return cost->v[b];
    const double slope = cost->n > 1 ? cost->v[cost->n] - cost->v[cost->n - 1] : 0;
    return cost->v[cost->n] + slope * (b - cost->n);
}

double geodec_predict_tokens(double alpha, int32_t gamma)
{
    double sum = 1, term = 1; /* the geometric sum itself: no cancellation near alpha = 1 */
    for (int32_t i = 0; i < gamma; i++) sum += term *= alpha;
    return sum;
}

double geodec_predict_tokens_by_position(const double *beta, int32_t gamma)
{
    double sum = 1, term = 1;
    for (int32_t i = 0; i < gamma; i++) sum += term *= beta[i];
    return sum;
}

double geodec_predict_round(const geodec_cost *cost, const int64_t *rounds, int32_t gamma)
{
    double sum = 0;
    int64_t n = 0;
    for (int32_t g = 0; g <= gamma; g++) {
        sum += (double)rounds[g] * (g * cost->c + geodec_cost_pass(cost, g + 1));
        n += rounds[g];
    }
    return n > 0 ? sum / (double)n + cost->o : (double)NAN;
}

double geodec_predict_speedup(const geodec_cost *cost, double tokens, int32_t gamma)
{
    return tokens * (1 + cost->o_plain) / (gamma * cost->c + geodec_cost_pass(cost, gamma + 1) + cost->o);
}
