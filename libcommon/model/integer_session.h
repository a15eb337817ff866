/* A session in integer arithmetic: the engine behind geodec_forward. Logits become floats as value / 2^16, which is
 * exact below 256; the residual stream becomes floats rounded once. */
#ifndef GEODEC_MODEL_INTEGER_SESSION_H
#define GEODEC_MODEL_INTEGER_SESSION_H

#include "integer/engine/engine.h"
#include "model/model.h"

/* The engine of a session; NULL in another arithmetic. */
GEODEC_API geodec_engine *geodec_integer_session_engine(const geodec_session *s);

#endif
