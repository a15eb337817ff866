#include "model/store_golden.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "model/arithmetic.h"
#include "model/model_internal.h"
#include "model/ternary_store.h"

#include <math.h>

/* Ids from all parts of the vocabulary. */
static void choose(const geodec_model *m, geodec_store_golden *g)
{
    const int64_t n_vocab = m->config.n_vocab;
    g->n = GEODEC_STORE_GOLDEN;
    for (int32_t i = 0; i < g->n; i++) g->token[i] = (int32_t)((n_vocab * (3 * i % g->n) + n_vocab / 3) / g->n);
}

/* CRC-32C of the logits of all rows, in one pass; *row is the first row with a logit that is not finite, -1: none. */
static geodec_status digest(const geodec_model *m, geodec_arithmetic a, const geodec_store_golden *g, geodec_pool *pool,
                            uint32_t *crc, int32_t *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_session *s = NULL;
    float *logits = NULL;
    const geodec_session_options o = {
        .n_ctx = GEODEC_STORE_GOLDEN, .max_batch = GEODEC_STORE_GOLDEN, .arithmetic = a, .pool = pool};
    const int64_t n = (int64_t)g->n * m->config.n_vocab;
    GEODEC_NEW(logits, n);
    GEODEC_TRY(geodec_session_create(m, &o, &s, err));
    GEODEC_TRY(geodec_forward(s, &(geodec_batch){.n = g->n, .token = g->token}, logits, NULL, err));
    *row = -1;
    for (int64_t i = n; i-- > 0;)
        if (!isfinite(logits[i])) *row = (int32_t)(i / m->config.n_vocab);
    *crc = geodec_crc32c(0, logits, n * (int64_t)sizeof *logits);
done:
    geodec_session_destroy(s);
    geodec_mem_free(logits);
    return st;
}

geodec_status geodec_store_golden_make(const char *path, geodec_pool *pool, geodec_store_golden *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_store_golden g = {0};
    bool finite = true;
    GEODEC_TRY(geodec_model_open(path, &m, err));
    choose(m, &g);
    for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
        int32_t row;
        GEODEC_TRY(digest(m, (geodec_arithmetic)a, &g, pool, &g.crc[a], &row, err));
        finite = finite && row < 0;
    }
    *out = finite ? g : (geodec_store_golden){0};
done:
    geodec_model_close(m);
    return st;
}

geodec_status geodec_store_golden_check(const char *path, geodec_arithmetic a, const geodec_streaming *how,
                                        geodec_pool *pool, bool *golden, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_store_golden g = {0};
    uint32_t crc = 0;
    int32_t row = -1;
    GEODEC_TRY(geodec_model_open(path, &m, err));
    if (m->trits)
        GEODEC_TRY(geodec_ternary_store_verify_resident(path, err));
    else if (m->store)
        GEODEC_TRY(geodec_store_verify_resident(path, err));
    const geodec_streaming o = {.slots = 2 * m->config.n_expert_used + 2,
                                .arithmetic = a,
                                .disk = how->disk,
                                .mapped = how->mapped,
                                .limits = how->limits,
                                .look = how->look};
    GEODEC_TRY(geodec_streamed_begin(m, &o, err));
    *golden = m->store && m->store->golden.n > 0;
    if (*golden)
        g = m->store->golden;
    else
        choose(m, &g);
    GEODEC_TRY(digest(m, a, &g, pool, &crc, &row, err));
    if (row >= 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: check: token %d of a prompt has a logit that is not finite", path, row);
    if (*golden && crc != g.crc[a])
        GEODEC_THROW(GEODEC_CHECKSUM,
                     "%s: check: the logits of the golden prompt are not those of the model it was built from "
                     "(CRC-32C %08x, not %08x, in %s arithmetic)",
                     path, crc, g.crc[a], geodec_arithmetic_name(a));
done:
    geodec_model_close(m);
    return st;
}
