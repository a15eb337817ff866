#include "perspective/mixture/calibration.h"

#include "base/finite.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

static int32_t bin_of(double confidence, int32_t bins)
{
    const int32_t b = (int32_t)(confidence * bins);
    return b < bins ? b : bins - 1;
}

/* index: answers to take, NULL = all in order. */
static double error_of(int64_t n, const double *confidence, const uint8_t *right, const int64_t *index, int32_t bins)
{
    double sum[GEODEC_CALIBRATION_BINS_MAX] = {0}, e = 0; /* right - confidence */
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = index ? index[i] : i;
        sum[bin_of(confidence[at], bins)] += (double)right[at] - confidence[at];
    }
    for (int32_t b = 0; b < bins; b++) e += fabs(sum[b]);
    return e / (double)n;
}

double geodec_calibration_ece(int64_t n, const double *confidence, const uint8_t *right, int32_t bins)
{
    return n < 1 || bins < 1 || bins > GEODEC_CALIBRATION_BINS_MAX ? NAN : error_of(n, confidence, right, NULL, bins);
}

static geodec_status check_answers(int64_t n, const double *confidence, const uint8_t *right, int32_t bins,
                                   int64_t replicates, geodec_err *err)
{
    if (n < 1 || bins < 1 || bins > GEODEC_CALIBRATION_BINS_MAX || replicates < 1)
        GEODEC_FAIL(GEODEC_RANGE, "%lld answers in %d bins, %lld replicates", (long long)n, (int)bins,
                    (long long)replicates);
    for (int64_t i = 0; i < n; i++)
        if (!(confidence[i] >= 0 && confidence[i] <= 1) || right[i] > 1)
            GEODEC_FAIL(GEODEC_NUMERIC, "answer %lld: confidence %g, right %d", (long long)i, confidence[i],
                        (int)right[i]);
    return GEODEC_OK;
}

geodec_status geodec_calibration_measure(int64_t n, const double *confidence, const uint8_t *right, int32_t bins,
                                         int64_t replicates, uint64_t seed, geodec_calibration *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_calibration c = {0};
    int64_t *index = NULL;
    double *resampled = NULL, *chance = NULL;
    uint8_t *drawn = NULL;
    GEODEC_TRY(check_answers(n, confidence, right, bins, replicates, err));
    GEODEC_NEW(index, n);
    GEODEC_NEW(drawn, n);
    GEODEC_NEW_EACH(replicates, resampled, chance);
    for (int64_t i = 0; i < n; i++) {
        const double off = confidence[i] - (double)right[i];
        c.confidence += confidence[i] / (double)n;
        c.right += (double)right[i] / (double)n;
        c.brier += off * off / (double)n;
    }
    for (int64_t k = 0; k < replicates; k++) {
        geodec_stats_resample(seed, geodec_rng_id("calibration bootstrap", 0), (uint64_t)k, n, index);
        resampled[k] = error_of(n, confidence, right, index, bins);
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("calibration chance", (uint64_t)k));
        for (int64_t i = 0; i < n; i++) drawn[i] = geodec_rng_uniform(&r) < confidence[i];
        chance[k] = error_of(n, confidence, drawn, NULL, bins);
    }
    c.chance = geodec_stats_mean(replicates, chance);
    geodec_stats_sort(replicates, resampled);
    geodec_stats_sort(replicates, chance);
    c.ece = (geodec_estimate){.value = error_of(n, confidence, right, NULL, bins),
                              .low = geodec_stats_percentile(replicates, resampled, 0.025),
                              .high = geodec_stats_percentile(replicates, resampled, 0.975)};
    c.chance_high = geodec_stats_percentile(replicates, chance, 0.975);
    *out = c;
done:
    GEODEC_FREE(index, resampled, chance, drawn);
    return st;
}

/* ---- temperature ------------------------------------------------------------------------------------------------- */

/* Of a row at b = 1 / T: the loss, its slope E[l] - l_target and its curvature Var[l]. */
typedef struct row {
    double loss, slope, curve;
} row;

typedef struct fit {
    int64_t v;
    const float *logits;
    const int32_t *target;
    double b;
    row *out; /* [n] */
} fit;

static void one_row(void *ctx, int64_t i, int worker)
{
    const fit *const f = ctx;
    const float *const l = f->logits + i * f->v;
    double most = -INFINITY, sum = 0, mean = 0, square = 0;
    (void)worker;
    for (int64_t k = 0; k < f->v; k++) most = fmax(most, (double)l[k]);
    for (int64_t k = 0; k < f->v; k++) {
        const double x = (double)l[k] - most, e = exp(f->b * x);
        sum += e;
        mean += e * x;
        square += e * x * x;
    }
    mean /= sum;
    const double own = (double)l[f->target[i]] - most;
    f->out[i] = (row){.loss = log(sum) - f->b * own, .slope = mean - own, .curve = square / sum - mean * mean};
}

static row at(fit *f, int64_t n, double b, geodec_pool *pool)
{
    row all = {0};
    f->b = b;
    geodec_pool_run(pool, n, one_row, f);
    for (int64_t i = 0; i < n; i++) {
        all.loss += f->out[i].loss / (double)n;
        all.slope += f->out[i].slope / (double)n;
        all.curve += f->out[i].curve / (double)n;
    }
    return all;
}

/* The zero of the slope in [low, high], where it is negative and positive. */
static double newton(fit *f, int64_t n, double low, double high, int32_t *steps, geodec_pool *pool)
{
    double b = 1;
    for (*steps = 0; *steps < 200; (*steps)++) {
        const row r = at(f, n, b, pool);
        *(r.slope < 0 ? &low : &high) = b;
        double to = b - r.slope / r.curve;
        if (!(to > low && to < high)) to = sqrt(low * high);
        const double by = fabs(to - b);
        b = to;
        if (by <= 1e-10 * b) break;
    }
    return b;
}

geodec_status geodec_temperature_fit(int64_t n, int64_t v, const float *logits, const int32_t *target,
                                     geodec_temperature *out, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_temperature t = {0};
    fit f = {.v = v, .logits = logits, .target = target};
    int64_t values;
    if (n < 1 || v < 1 || geodec_mem_mul(n, v, &values) != 0)
        GEODEC_THROW(GEODEC_RANGE, "%lld rows of %lld logits", (long long)n, (long long)v);
    if (geodec_finite_first_not_f32(logits, values) >= 0) GEODEC_THROW(GEODEC_NUMERIC, "a logit is not finite");
    for (int64_t i = 0; i < n; i++)
        if (target[i] < 0 || target[i] >= v)
            GEODEC_THROW(GEODEC_RANGE, "target %d of row %lld", (int)target[i], (long long)i);
    GEODEC_NEW(f.out, n);
    const double low = 1 / GEODEC_TEMPERATURE_MAX, high = GEODEC_TEMPERATURE_MAX;
    double b = 1;
    if (at(&f, n, high, pool).slope <= 0)
        b = high;
    else if (at(&f, n, low, pool).slope >= 0)
        b = low;
    else
        b = newton(&f, n, low, high, &t.steps, pool);
    t.bounded = b >= high || b <= low;
    t.temperature = 1 / b;
    t.before = at(&f, n, 1, pool).loss;
    t.after = at(&f, n, b, pool).loss;
    *out = t;
done:
    geodec_mem_free(f.out);
    return st;
}

void geodec_temperature_apply(int64_t n, int64_t v, const float *logits, const int32_t *target, double temperature,
                              double *confidence, uint8_t *right)
{
    for (int64_t i = 0; i < n; i++) {
        const float *const l = logits + i * v;
        int64_t top = 0;
        double sum = 0;
        for (int64_t k = 1; k < v; k++)
            if (l[k] > l[top]) top = k;
        for (int64_t k = 0; confidence && k < v; k++) sum += exp(((double)l[k] - (double)l[top]) / temperature);
        if (confidence) confidence[i] = 1 / sum;
        if (right) right[i] = target[i] == top;
    }
}
