#include "measure/perspectives_text.h"

#include "base/hooks.h"
#include "base/mem.h"
#include "session/model.h"

#include <math.h>
#include <string.h>

enum { REPLICATES = 200, LEAST = 100 };

/* ---- a text ------------------------------------------------------------------------------------------------------ */

/* What is kept of each scored token. */
typedef struct record {
    double base, rule, always; /* log p of the token */
    double top, agreement;     /* confidences */
    uint8_t right, mixed_right, asked;
    int32_t bytes;
} record;

static void note(const geodec_perspectives_token *t, int64_t v, int32_t target, int32_t bytes, record *r,
                 geodec_perspectives_measure *k)
{
    double top;
    const int64_t best = geodec_mix_top(v, t->base, &top);
    r->asked = t->by_top || t->by_entropy;
    r->base = t->base[target];
    r->always = t->mixed[target];
    r->rule = r->asked ? r->always : r->base;
    r->top = top < 1 ? top : 1;
    r->agreement = t->report.confidence < 0 ? 0 : t->report.confidence > 1 ? 1 : t->report.confidence;
    r->right = best == target;
    r->mixed_right = geodec_mix_top(v, t->mixed, NULL) == target;
    r->bytes = bytes;
    k->tokens++;
    k->bytes += bytes;
    k->asked += r->asked;
    k->by_top += t->by_top;
    k->by_entropy += t->by_entropy;
    k->js += t->report.js;
    k->pairs += t->report.pairs;
    k->js_asked += r->asked ? t->report.js : 0;
    k->pairs_asked += r->asked ? t->report.pairs : 0;
    k->arithmetic += r->asked && t->report.way == GEODEC_MIX_VOTE;
}

/* ECE of one confidence on the tokens from `first`, or of those among them where the rule asks. */
static geodec_status calibrate(const record *r, int64_t first, int64_t n, bool agreement, bool asked,
                               double *confidence, uint8_t *right, geodec_calibration *out, geodec_err *err)
{
    int64_t m = 0;
    for (int64_t i = first; i < n; i++) {
        if (asked && !r[i].asked) continue;
        confidence[m] = agreement ? r[i].agreement : r[i].top;
        right[m++] = agreement ? r[i].mixed_right : r[i].right;
    }
    if (m < 1) GEODEC_FAIL(GEODEC_SCARCE, "no token of the second half is unsure");
    return geodec_calibration_measure(m, confidence, right, GEODEC_CALIBRATION_BINS, REPLICATES, 1, out, err);
}

/* logits [n][v], target [n]. */
static geodec_status summarise(const record *r, int64_t n, int64_t v, const float *logits, const int32_t *target,
                               geodec_pool *pool, geodec_perspectives_measure *k, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *confidence = NULL, *logp = NULL, bits = 0;
    uint8_t *right = NULL;
    const int64_t first = n / 2;
    GEODEC_NEW_EACH(n, confidence, right);
    GEODEC_NEW(logp, v);
    GEODEC_TRY(geodec_temperature_fit(first, v, logits, target, &k->temperature, pool, err));
    for (int64_t i = first; i < n; i++) {
        GEODEC_TRY(geodec_mix_log_softmax(v, logits + i * v, k->temperature.temperature, logp, err));
        k->base -= r[i].base;
        k->rule -= r[i].rule;
        k->always -= r[i].always;
        k->scaled -= logp[target[i]];
        bits += r[i].bytes;
    }
    k->half = n - first;
    k->half_bytes = (int64_t)bits;
    bits *= log(2);
    k->base /= bits;
    k->rule /= bits;
    k->always /= bits;
    k->scaled /= bits;
    GEODEC_TRY(calibrate(r, first, n, false, false, confidence, right, &k->top, err));
    GEODEC_TRY(calibrate(r, first, n, true, false, confidence, right, &k->agreement, err));
    GEODEC_TRY(calibrate(r, first, n, false, true, confidence, right, &k->top_asked, err));
    GEODEC_TRY(calibrate(r, first, n, true, true, confidence, right, &k->agreement_asked, err));
    geodec_temperature_apply(n - first, v, logits + first * v, target + first, k->temperature.temperature, confidence,
                             right);
    GEODEC_TRY(geodec_calibration_measure(n - first, confidence, right, GEODEC_CALIBRATION_BINS, REPLICATES, 1,
                                          &k->top_scaled, err));
    const double all = (double)k->tokens, asked = k->asked > 0 ? (double)k->asked : 1;
    k->js /= all;
    k->pairs /= all;
    k->js_asked /= asked;
    k->pairs_asked /= asked;
done:
    GEODEC_FREE(confidence, right, logp);
    return st;
}

geodec_status geodec_perspectives_measure_text(geodec_session *s, const geodec_perspectives_options *o,
                                               const int32_t *id, const int32_t *bytes_of, int64_t n, int32_t window,
                                               geodec_pool *pool, const geodec_hooks *hooks,
                                               geodec_perspectives_measure *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t v = geodec_model_configuration(geodec_session_model(s))->n_vocab;
    geodec_perspectives_options always = *o;
    geodec_perspectives *p = NULL;
    geodec_perspectives_measure k = {0};
    record *r = NULL;
    float *logits = NULL;
    int32_t *target = NULL;
    always.always = true;
    if (n < LEAST) GEODEC_THROW(GEODEC_SCARCE, "%lld tokens are too few", (long long)n);
    GEODEC_TRY(geodec_perspectives_create(s, &always, &p, err));
    /* the last rows of the cache are left to the perspectives */
    const int32_t most = geodec_session_n_ctx(s) - geodec_perspectives_n(p) + 1;
    const int32_t w = window > 1 && window < most ? window : most;
    if (w < 2) GEODEC_THROW(GEODEC_RANGE, "a context of %d tokens", geodec_session_n_ctx(s));
    GEODEC_NEW_EACH(n, r, target);
    GEODEC_NEW(logits, n * v);
    for (int64_t i = 0; i + 1 < n; i++) {
        geodec_perspectives_token t;
        if (i % w == 0) geodec_session_truncate(s, 0);
        GEODEC_TRY(geodec_perspectives_next(p, id[i], &t, err));
        target[k.tokens] = id[i + 1];
        memcpy(logits + k.tokens * v, t.logits, (size_t)v * sizeof *logits);
        note(&t, v, id[i + 1], bytes_of[i + 1], &r[k.tokens], &k);
        if (i % 256 == 0) GEODEC_TRY(geodec_hooks_progress(hooks, "perspectives", i, n, err));
    }
    const geodec_perspectives_counters count = geodec_perspectives_counted(p);
    k.base_seconds = count.base_seconds / (double)k.tokens;
    k.more_seconds = count.more_seconds / (double)k.tokens;
    GEODEC_TRY(summarise(r, k.tokens, v, logits, target, pool, &k, err));
    *out = k;
done:
    geodec_perspectives_destroy(p);
    GEODEC_FREE(r, logits, target);
    return st;
}
