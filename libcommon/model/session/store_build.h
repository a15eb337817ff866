/* Builds a store of experts (streaming/store.h) from a model. */
#ifndef GEODEC_MODEL_STORE_BUILD_H
#define GEODEC_MODEL_STORE_BUILD_H

#include "base/hooks.h"
#include "session/model.h"

/* Writes the experts of m in the layout for this arithmetic, and everything else as an embedded GGUF. The file has the
 * same bytes for any number of threads. GEODEC_UNSUPPORTED: m has no experts, or is a store already. */
geodec_status geodec_store_build(const geodec_model *m, geodec_arithmetic a, const char *path, geodec_pool *pool,
                                 const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
