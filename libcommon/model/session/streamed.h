/* A model whose experts are read from disk while it runs. The logits are those of the resident model, bit for bit: only
 * the place of the weights and the order of independent products differ. */
#ifndef GEODEC_MODEL_STREAMED_H
#define GEODEC_MODEL_STREAMED_H

#include "geodec/streaming.h"
#include "session/model.h"
#include "session/price.h"
#include "streaming/stream.h"

const char *geodec_streamed_lookahead_name(geodec_lookahead a);
/* GEODEC_LOOKAHEAD_KINDS for an unknown name. */
geodec_lookahead geodec_streamed_lookahead_named(const char *name);

const char *geodec_streamed_price_name(geodec_streamed_price_by p);
/* GEODEC_STREAMED_PRICE_KINDS for an unknown name. */
geodec_streamed_price_by geodec_streamed_price_named(const char *name);

const char *geodec_streamed_ternary_name(geodec_streamed_ternary t);
/* GEODEC_STREAMED_TERNARY_KINDS for an unknown name. */
geodec_streamed_ternary geodec_streamed_ternary_named(const char *name);

const char *geodec_streamed_differences_name(geodec_streamed_differences d);
/* GEODEC_STREAMED_DIFFERENCES_KINDS for an unknown name. */
geodec_streamed_differences geodec_streamed_differences_named(const char *name);

/* After the first session of m: another model stays in memory while m streams, with a session of these options. Its
 * weights and that session take their part of the budget of m. GEODEC_LIMIT names the budget that both need. Nothing
 * happens when m does not stream, or has no budget. */
geodec_status geodec_streamed_beside(const geodec_model *m, const geodec_model *other, const geodec_session_options *o,
                                     geodec_err *err) GEODEC_MUST_USE;

/* ---- drafts ------------------------------------------------------------------------------------------------------ */

/* Price of a pass over these tokens, the newest token of the text first (price.h). Changes no text. False: not known:
 * the experts of s do not stream, no pass was made yet, or the prices are off. */
bool geodec_streamed_price(geodec_session *s, const int32_t *token, int32_t n, geodec_price *out);

/* False: the experts of s do not stream. */
bool geodec_streamed_reads(geodec_session *s, geodec_streamed_read *out);

#endif
