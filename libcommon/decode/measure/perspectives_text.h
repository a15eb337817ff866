/* What multi-perspective decoding (decode/perspectives.h) does to a held-out text: how often it is asked, bits a byte,
 * and whether 1 - JS / ln n is a calibrated confidence, beside the model's own largest probability and beside
 * temperature scaling, the ordinary repair. */
#ifndef GEODEC_MEASURE_PERSPECTIVES_TEXT_H
#define GEODEC_MEASURE_PERSPECTIVES_TEXT_H

#include "decode/perspectives.h"
#include "mixture/calibration.h"
#include "mixture/temperature.h"

typedef struct geodec_perspectives_measure {
    int64_t tokens, bytes; /* scored: all but the first of each window */
    int64_t asked, by_top, by_entropy;
    double js, pairs; /* means over all tokens, nats */
    double js_asked, pairs_asked;
    int64_t arithmetic; /* of those asked, the others geometric */
    /* On the second half of the tokens; the temperature is fitted on the first. */
    int64_t half, half_bytes;
    geodec_temperature temperature;
    double base, rule, always, scaled; /* bits a byte: the model; mixed where the rule asks; mixed everywhere; scaled */
    geodec_calibration top, top_scaled,
        agreement; /* max p; the same scaled; 1 - JS / ln n against the mixture's choice */
    geodec_calibration top_asked, agreement_asked; /* where the rule asks */
    double base_seconds, more_seconds; /* processor time a token: of the model, of an asked token beside it */
} geodec_perspectives_measure;

/* id [n] in windows of the session's context, or of `window` tokens if that is shorter; bytes_of [n] text bytes of each
 * token. The options' `always` is taken as true. GEODEC_SCARCE (fewer than 100 tokens, or none asked), and the errors
 * of geodec_perspectives_next. */
geodec_status geodec_perspectives_measure_text(geodec_session *s, const geodec_perspectives_options *o,
                                               const int32_t *id, const int32_t *bytes_of, int64_t n, int32_t window,
                                               geodec_pool *pool, const geodec_hooks *hooks,
                                               geodec_perspectives_measure *out, geodec_err *err) GEODEC_MUST_USE;

#endif
