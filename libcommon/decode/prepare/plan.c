#include "prepare/plan.h"

#include "base/extremes_internal.h"

static int32_t length_of(int32_t n_ctx, int64_t tokens)
{
    const int32_t most = n_ctx < GEODEC_PREPARE_LENGTH ? n_ctx : GEODEC_PREPARE_LENGTH;
    const int32_t least = n_ctx < GEODEC_PREPARE_LENGTH_MIN ? n_ctx : GEODEC_PREPARE_LENGTH_MIN;
    const int64_t fit = tokens / GEODEC_PREPARE_TEXTS_MIN;
    return fit >= most ? most : fit <= least ? least : (int32_t)fit;
}

geodec_status geodec_prepare_plan_make(double seconds, const geodec_prepare_speed *speed, int32_t n_ctx,
                                       int64_t available, geodec_prepare_plan *out, geodec_err *err)
{
    if (!(seconds > 0) || !(speed->read > 0) || !(speed->sample >= 0) || n_ctx < 2 || available < 0)
        GEODEC_FAIL(GEODEC_RANGE, "%g seconds at %g tokens a second, a context of %d", seconds, speed->read, n_ctx);
    const double time = GEODEC_PREPARE_STORE_SHARE * seconds, most = GEODEC_PREPARE_TOKENS_MAX;
    const double text = geodec__min_f64(geodec__min_f64((double)available, most), time * speed->read);
    double sample = 0;
    if (speed->sample > 0)
        sample = geodec__min_f64(most - text, (time - text / speed->read) / (1 / speed->sample + 1 / speed->read));
    if (sample < 0) sample = 0;
    geodec_prepare_plan p = {.text_tokens = (int64_t)text, .sample_tokens = (int64_t)sample};
    const int64_t tokens = p.text_tokens + p.sample_tokens;
    if (tokens < GEODEC_PREPARE_TOKENS_MIN)
        GEODEC_FAIL(GEODEC_SCARCE, "%lld tokens%s in %.3g seconds, a map needs %d: give more %s", (long long)tokens,
                    speed->sample > 0 ? "" : " of text (the model has no token to begin a text of its own)", seconds,
                    GEODEC_PREPARE_TOKENS_MIN, speed->sample > 0 ? "time" : "text or time");
    p.length = length_of(n_ctx, tokens);
    *out = p;
    return GEODEC_OK;
}
