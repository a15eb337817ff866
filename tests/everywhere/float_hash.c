/* float_hash MODEL.gguf [TOKENS]: the control of hash.c: its runs in float32, with the exact arithmetic of
 * geodec/session.h. Logits are hashed as their bits. Status 1 when two ways or sets differ, 2 for a wrong command line,
 * 3 for an error.
 *
 * The program is linked with what a dense model or a mixture in memory needs (mk/everywhere.mk), so that it is
 * static and needs no package of another architecture: neither stores of experts nor vocabularies with regular
 * expressions. */
#include "base/mem.h"
#include "session/model.h"
#include "sets.h"
#include "ways.h"

#include <stdio.h>

typedef struct floats {
    const geodec_model *model;
    geodec_pool *pool;
    geodec_session *session;
    float *logits; /* [rows][n_vocab] */
} floats;

static geodec_status begin(void *ctx, int set, int threads, int32_t rows, int32_t n_ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    floats *x = ctx;
    GEODEC_TRY(geodec_pool_create(threads, &x->pool, err));
    GEODEC_TRY(geodec_session_create(
        x->model,
        &(geodec_session_options){
            .n_ctx = n_ctx, .max_batch = rows, .isa = sets_isa[set], .pool = x->pool, .arithmetic = GEODEC_EXACT},
        &x->session, err));
    GEODEC_NEW(x->logits, (int64_t)rows * geodec_model_configuration(x->model)->n_vocab);
done:
    return st;
}

static void end(void *ctx)
{
    floats *x = ctx;
    geodec_session_destroy(x->session);
    geodec_pool_destroy(x->pool);
    geodec_mem_free(x->logits);
    *x = (floats){.model = x->model};
}

static geodec_status pass(void *ctx, const int32_t *token, const int32_t *parent, int32_t n, geodec_err *err)
{
    const floats *x = ctx;
    return geodec_forward(x->session, &(geodec_batch){.n = n, .token = token, .parent = parent}, x->logits, NULL, err);
}

static void logits(const void *ctx, int32_t row, uint32_t *word, int32_t *q16)
{
    const floats *x = ctx;
    const int32_t n = geodec_model_configuration(x->model)->n_vocab;
    ways_of_floats(x->logits + (int64_t)row * n, n, word, q16);
}

static geodec_status truncate_to(void *ctx, int32_t length, geodec_err *err)
{
    (void)err;
    geodec_session_truncate(((floats *)ctx)->session, length);
    return GEODEC_OK;
}

static void compact(void *ctx, int32_t base, const int32_t *row, int32_t n)
{
    geodec_session_compact(((floats *)ctx)->session, base, row, n);
}

static geodec_status run_file(const char *file, int32_t n_tokens, bool *differ, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *g = NULL;
    geodec_model *m = NULL;
    floats x = {0};
    GEODEC_TRY(geodec_gguf_open(file, &g, err));
    GEODEC_TRY(geodec_model_from_gguf(g, &m, err));
    x.model = m;
    const ways_system s = {"float_hash",   &x,        geodec_model_configuration(m)->n_vocab,
                           true,           sets_name, SETS,
                           sets_available, begin,     end,
                           pass,           logits,    truncate_to,
                           compact};
    GEODEC_TRY(ways_run(&s, n_tokens, differ, err));
done:
    geodec_model_close(m);
    return st;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    bool differ = false;
    int32_t n;
    if (argc < 2 || argc > 3 || !ways_tokens(argv[2], &n)) {
        (void)fprintf(stderr, "Usage: float_hash MODEL.gguf [TOKENS]\n");
        return 2;
    }
    return ways_end("float_hash", run_file(argv[1], n, &differ, &err), differ, &err);
}
