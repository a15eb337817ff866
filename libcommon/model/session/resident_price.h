/* Prices of the rows of a pass (price.h) in a mixture whose experts are all in memory: a row costs its own part and the
 * experts that no other row of the pass uses. The experts of a draft are those of the last row of its token in this
 * session, as far as rows of that layer keep their experts, or any with equal probability. */
#ifndef GEODEC_MODEL_RESIDENT_PRICE_H
#define GEODEC_MODEL_RESIDENT_PRICE_H

#include "session/model.h"
#include "session/price.h"

/* The session begins to time its passes and to count their experts, without those it counted before. Does nothing if
 * the model has no experts or streams them, or without memory: then there are no prices. */
void geodec_resident_price_follow(geodec_session *s);
/* The price of a pass over these tokens, the newest token of the text first. Nothing is read, so the bytes are 0.
 * Changes no text. False: not known. */
bool geodec_resident_price(geodec_session *s, const int32_t *token, int32_t n, geodec_price *out);

#endif
