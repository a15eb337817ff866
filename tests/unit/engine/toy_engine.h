/* An engine of a toy network. Header-only. */
#ifndef GEODEC_TESTS_TOY_ENGINE_H
#define GEODEC_TESTS_TOY_ENGINE_H

#include "integer/engine/engine.h"
#include "toy_network.h"

/* Passes of up to 64 rows. */
static inline geodec_engine *toy_engine(const geodec_network *n, int32_t n_ctx, geodec_isa isa, geodec_pool *pool)
{
    geodec_err err = {0};
    geodec_engine *e = NULL;
    const geodec_engine_options o = {.n_ctx = n_ctx, .max_batch = 64, .isa = isa, .pool = pool};
    test_ok(geodec_engine_create(n, &o, &e, &err), &err);
    return e;
}

#endif
