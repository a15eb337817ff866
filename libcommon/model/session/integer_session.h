/* A session in integer arithmetic: the engine behind geodec_forward. Logits become floats as value / 2^16, which is
 * exact below 256; the residual stream becomes floats rounded once. */
#ifndef GEODEC_MODEL_INTEGER_SESSION_H
#define GEODEC_MODEL_INTEGER_SESSION_H

#include "integer/engine/engine.h"
#include "session/model.h"

/* The model's network, which the model owns; made on first use, with the default options of integer_network.h. Errors
 * as geodec_integer_network_make. */
geodec_status geodec_integer_session_network(const geodec_model *m, geodec_pool *pool, const geodec_network **out,
                                             geodec_err *err) GEODEC_MUST_USE;
/* The engine of a session; NULL in another arithmetic. */
geodec_engine *geodec_integer_session_engine(const geodec_session *s);

#endif
