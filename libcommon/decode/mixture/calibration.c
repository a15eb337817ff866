#include "mixture/calibration.h"

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
