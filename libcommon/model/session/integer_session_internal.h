/* The parts of integer_session.c that a session calls. */
#ifndef GEODEC_MODEL_INTEGER_SESSION_INTERNAL_H
#define GEODEC_MODEL_INTEGER_SESSION_INTERNAL_H

#include "session/integer_session.h"

/* Sets s->engine; the rest of the session holds counters and expert ids alone. */
geodec_status geodec__integer_session_open(geodec_session *s, const geodec_session_options *o,
                                           geodec_err *err) GEODEC_MUST_USE;
void geodec__integer_session_close(geodec_session *s);
/* Bytes of the cache, and of what the scores keep, for one token. */
int64_t geodec__integer_session_kv_bytes(const geodec_session *s);
geodec_status geodec__integer_session_forward(geodec_session *s, const geodec_batch *b, float *logits, bool packed,
                                              const geodec_capture *capture, geodec_err *err) GEODEC_MUST_USE;

#endif
