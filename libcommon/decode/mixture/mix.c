#include "mixture/mix.h"

#include <math.h>
#include <string.h>

#define LN2 0.69314718055994530942

/* ln sum exp, or -infinity. */
static double log_sum(int64_t v, const double *x)
{
    double most = -INFINITY, sum = 0;
    for (int64_t i = 0; i < v; i++) most = fmax(most, x[i]);
    if (most == -INFINITY) return most;
    for (int64_t i = 0; i < v; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

geodec_status geodec_mix_log_softmax(int64_t v, const float *logits, double temperature, double *logp, geodec_err *err)
{
    if (v < 1 || !(temperature > 0) || !isfinite(temperature))
        GEODEC_FAIL(GEODEC_RANGE, "%lld tokens at temperature %g", (long long)v, temperature);
    float most = -INFINITY;
    for (int64_t i = 0; i < v; i++) {
        if (isnan(logits[i]) || logits[i] == INFINITY)
            GEODEC_FAIL(GEODEC_NUMERIC, "logit %lld is %g", (long long)i, (double)logits[i]);
        most = fmaxf(most, logits[i]);
    }
    if (most == -INFINITY) GEODEC_FAIL(GEODEC_NUMERIC, "no token has a probability");
    double sum = 0;
    for (int64_t i = 0; i < v; i++) {
        logp[i] = ((double)logits[i] - (double)most) / temperature;
        sum += exp(logp[i]);
    }
    sum = log(sum);
    for (int64_t i = 0; i < v; i++) logp[i] -= sum;
    return GEODEC_OK;
}

double geodec_mix_entropy(int64_t v, const double *logp)
{
    double h = 0;
    for (int64_t i = 0; i < v; i++)
        if (logp[i] > -INFINITY) h -= exp(logp[i]) * logp[i];
    return h;
}

int64_t geodec_mix_top(int64_t v, const double *logp, double *p)
{
    int64_t at = 0;
    for (int64_t i = 1; i < v; i++)
        if (logp[i] > logp[at]) at = i;
    if (p) *p = exp(logp[at]);
    return at;
}

/* ---- divergence -------------------------------------------------------------------------------------------------- */

/* The divergence of n rows, row k at logp + k stride: sum over tokens of mean_k p_k (ln p_k - ln mean p). */
static double divergence(int64_t n, int64_t v, const double *logp, int64_t stride)
{
    double js = 0;
    for (int64_t i = 0; i < v; i++) {
        double p[GEODEC_MIX_MAX], mean = 0, sum = 0;
        for (int64_t k = 0; k < n; k++) mean += p[k] = exp(logp[k * stride + i]);
        mean /= (double)n;
        if (!(mean > 0)) continue; /* of no perspective, or below the smallest number */
        const double log_mean = log(mean);
        for (int64_t k = 0; k < n; k++)
            if (p[k] > 0) sum += p[k] * (logp[k * stride + i] - log_mean);
        js += sum / (double)n;
    }
    return fmin(fmax(js, 0), log((double)n)); /* rounding */
}

double geodec_mix_js(int64_t n, int64_t v, const double *logp) { return n < 2 ? 0 : divergence(n, v, logp, v); }

double geodec_mix_js_pairs(int64_t n, int64_t v, const double *logp)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++) sum += divergence(2, v, logp + i * v, (j - i) * v);
    return n < 2 ? 0 : fmin(2 * sum / (double)(n * (n - 1)), LN2);
}

/* ---- mixtures ---------------------------------------------------------------------------------------------------- */

geodec_status geodec_mix_geometric(int64_t n, int64_t v, const double *logp, double *out, geodec_err *err)
{
    if (n == 1) {
        memcpy(out, logp, (size_t)v * sizeof *out);
        return GEODEC_OK;
    }
    for (int64_t i = 0; i < v; i++) {
        out[i] = 0;
        for (int64_t k = 0; k < n; k++) out[i] += logp[k * v + i];
        out[i] /= (double)n;
    }
    const double all = log_sum(v, out);
    if (!isfinite(all)) GEODEC_FAIL(GEODEC_NUMERIC, "the perspectives have no token in common");
    for (int64_t i = 0; i < v; i++) out[i] -= all;
    return GEODEC_OK;
}

void geodec_mix_arithmetic(int64_t n, int64_t v, const double *logp, double *out)
{
    for (int64_t i = 0; i < v; i++) {
        double most = -INFINITY, sum = 0;
        for (int64_t k = 0; k < n; k++) most = fmax(most, logp[k * v + i]);
        for (int64_t k = 0; k < n && most > -INFINITY; k++) sum += exp(logp[k * v + i] - most);
        out[i] = most > -INFINITY ? most + log(sum / (double)n) : most;
    }
}

void geodec_mix_two(int64_t v, const double *a, const double *b, double w, double *out)
{
    if (w <= 0 || w >= 1) {
        memmove(out, w <= 0 ? a : b, (size_t)v * sizeof *out);
        return;
    }
    const double keep = log1p(-w), take = log(w);
    for (int64_t i = 0; i < v; i++) {
        const double two[] = {a[i] + keep, b[i] + take};
        out[i] = log_sum(2, two);
    }
}

/* ---- the rule ---------------------------------------------------------------------------------------------------- */

geodec_mix_rule geodec_mix_defaults(void)
{
    return (geodec_mix_rule){.least_top = 0.6, .most_entropy = 3, .tau = 0.15, .z_low = 5, .z_high = 100};
}

double geodec_mix_weight(const geodec_mix_rule *r, double z)
{
    const double w = (z - r->z_low) / (r->z_high - r->z_low);
    return w > 0 ? fmin(w, 1) : 0; /* NaN is not above 0 */
}

geodec_status geodec_mix_decide(const geodec_mix_rule *r, int64_t n, int64_t v, const double *logp,
                                const double *memory, double z, double *out, geodec_mix_report *report, geodec_err *err)
{
    geodec_mix_report is = {.way = GEODEC_MIX_BASE, .confidence = 1};
    if (n < 1 || n > GEODEC_MIX_MAX || v < 1)
        GEODEC_FAIL(GEODEC_RANGE, "%lld perspectives of %lld tokens", (long long)n, (long long)v);
    for (int64_t i = 0; i < n * v; i++)
        if (isnan(logp[i]) || logp[i] > 1e-6) GEODEC_FAIL(GEODEC_NUMERIC, "a log-probability is %g", logp[i]);
    if (n > 1) {
        is.js = geodec_mix_js(n, v, logp);
        is.pairs = geodec_mix_js_pairs(n, v, logp);
        is.confidence = 1 - is.js / log((double)n);
        is.way = is.pairs <= r->tau ? GEODEC_MIX_GEOMETRIC : GEODEC_MIX_VOTE;
    }
    if (is.way != GEODEC_MIX_VOTE) {
        GEODEC_PASS(geodec_mix_geometric(n, v, logp, out, err));
    } else {
        geodec_mix_arithmetic(n, v, logp, out);
        is.weight = memory ? geodec_mix_weight(r, z) : 0;
        if (memory) geodec_mix_two(v, out, memory, is.weight, out);
    }
    if (report) *report = is;
    return GEODEC_OK;
}
