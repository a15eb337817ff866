#include "session/store_golden.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "session/arithmetic.h"
#include "session/model_internal.h"
#include "session/ternary_store.h"

#include <math.h>

/* Ids from all parts of the vocabulary. */
static void choose(const geodec_model *m, geodec_store_golden *g)
{
    const int64_t n_vocab = m->config.n_vocab;
    g->n = GEODEC_STORE_GOLDEN;
    for (int32_t i = 0; i < g->n; i++) g->token[i] = (int32_t)((n_vocab * (3 * i % g->n) + n_vocab / 3) / g->n);
}

/* The logits of all rows [g->n][n_vocab], in one pass; *row is the first row with a logit that is not finite, -1: none.
 */
static geodec_status logits_of(const geodec_model *m, geodec_arithmetic a, const geodec_store_golden *g,
                               geodec_pool *pool, float *logits, int32_t *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_session *s = NULL;
    const geodec_session_options o = {
        .n_ctx = GEODEC_STORE_GOLDEN, .max_batch = GEODEC_STORE_GOLDEN, .arithmetic = a, .pool = pool};
    GEODEC_TRY(geodec_session_create(m, &o, &s, err));
    GEODEC_TRY(geodec_forward(s, &(geodec_batch){.n = g->n, .token = g->token}, logits, NULL, err));
    *row = -1;
    for (int64_t i = (int64_t)g->n * m->config.n_vocab; i-- > 0;)
        if (!isfinite(logits[i])) *row = (int32_t)(i / m->config.n_vocab);
done:
    geodec_session_destroy(s);
    return st;
}

static uint32_t digest(const float *logits, int64_t n) { return geodec_crc32c(0, logits, n * (int64_t)sizeof *logits); }

geodec_status geodec_store_golden_make(const char *path, geodec_pool *pool, geodec_store_golden *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_store_golden g = {0};
    float *logits = NULL;
    bool finite = true;
    GEODEC_TRY(geodec_model_open(path, &m, err));
    choose(m, &g);
    const int64_t n = (int64_t)g.n * m->config.n_vocab;
    GEODEC_NEW(logits, n);
    for (int a = 0; a < GEODEC_ARITHMETICS; a++) {
        int32_t row;
        GEODEC_TRY(logits_of(m, (geodec_arithmetic)a, &g, pool, logits, &row, err));
        g.crc[a] = digest(logits, n);
        finite = finite && row < 0;
    }
    *out = finite ? g : (geodec_store_golden){0};
done:
    geodec_model_close(m);
    geodec_mem_free(logits);
    return st;
}

/* Streams the experts through the smallest number of slots. *logits [*n] becomes the caller's. A store is compared with
 * its golden prompt if its products are exact. */
static geodec_status check(const char *path, geodec_arithmetic a, const geodec_streaming *how,
                           geodec_streamed_ternary form, geodec_pool *pool, bool *golden, float **logits, int64_t *n,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = NULL;
    geodec_store_golden g = {0};
    int32_t row = -1;
    GEODEC_TRY(geodec_model_open(path, &m, err));
    const bool exact = form == GEODEC_STREAMED_TERNARY_EXACT; /* another form comes after it */
    if (exact && m->trits)
        GEODEC_TRY(geodec_ternary_store_verify_resident(path, err));
    else if (exact && m->store)
        GEODEC_TRY(geodec_store_verify_resident(path, err));
    const geodec_streaming o = {.slots = 2 * m->config.n_expert_used + 2,
                                .arithmetic = a,
                                .ternary = form,
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
    *n = (int64_t)g.n * m->config.n_vocab;
    GEODEC_NEW(*logits, *n);
    GEODEC_TRY(logits_of(m, a, &g, pool, *logits, &row, err));
    if (row >= 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: check: token %d of a prompt has a logit that is not finite", path, row);
    const uint32_t crc = digest(*logits, *n);
    if (*golden && exact && crc != g.crc[a])
        GEODEC_THROW(GEODEC_CHECKSUM,
                     "%s: check: the logits of the golden prompt are not those of the model it was built from "
                     "(CRC-32C %08x, not %08x, in %s arithmetic)",
                     path, crc, g.crc[a], geodec_arithmetic_name(a));
done:
    geodec_model_close(m);
    return st;
}

geodec_status geodec_store_golden_check(const char *path, geodec_arithmetic a, const geodec_streaming *how,
                                        geodec_pool *pool, bool *golden, geodec_err *err)
{
    float *logits = NULL;
    int64_t n;
    const geodec_status st = check(path, a, how, GEODEC_STREAMED_TERNARY_EXACT, pool, golden, &logits, &n, err);
    geodec_mem_free(logits);
    return st;
}

static double difference(const float *x, const float *y, int64_t n)
{
    double squares = 0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        squares += (double)x[i] * (double)x[i];
        most = fmax(most, fabs((double)y[i] - (double)x[i]));
    }
    return most > 0 ? most / sqrt(squares / (double)n) : 0;
}

geodec_status geodec_store_golden_check_within(const char *path, geodec_arithmetic a, const geodec_streaming *how,
                                               double tolerance, geodec_pool *pool, bool *golden, double *error,
                                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *exact = NULL, *other = NULL;
    int64_t n = 0;
    *error = 0;
    GEODEC_TRY(check(path, a, how, GEODEC_STREAMED_TERNARY_EXACT, pool, golden, &exact, &n, err));
    if (how->ternary == GEODEC_STREAMED_TERNARY_EXACT) goto done;
    GEODEC_TRY(check(path, a, how, how->ternary, pool, golden, &other, &n, err));
    *error = difference(exact, other, n);
    if (!(*error <= tolerance))
        GEODEC_THROW(GEODEC_CHECK,
                     "%s: check: the logits of the golden prompt in the form %s differ from the exact ones by %.3g of "
                     "their root mean square, more than %g",
                     path, geodec_streamed_ternary_name(how->ternary), *error, tolerance);
done:
    GEODEC_FREE(exact, other);
    return st;
}
