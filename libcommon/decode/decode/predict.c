#include "decode/predict.h"

#include <math.h>

double geodec_predict_tokens(double alpha, int32_t gamma)
{
    double sum = 1, term = 1; /* summed term by term: no cancellation near alpha = 1 */
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
