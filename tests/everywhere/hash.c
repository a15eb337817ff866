/* hash MODEL.int.gguf [TOKENS]: one SHA-256 over all logits and tokens of a model in integers, computed in several ways
 * on every instruction set of this processor (ways.h). Status 1 when two differ, 2 for a wrong command line, 3 for an
 * error. */
#include "base/mem.h"
#include "base/sha256.h"
#include "integer/engine/engine.h"
#include "integer/engine/network_file.h"
#include "sets.h"
#include "small_sha256.h"
#include "ways.h"

#include <stdio.h>
#include <string.h>

typedef struct integers {
    const geodec_network *net;
    geodec_pool *pool;
    geodec_engine *engine;
    int32_t *logits; /* [rows][n_vocab] */
} integers;

static geodec_status begin(void *ctx, int set, int threads, int32_t rows, int32_t n_ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    integers *x = ctx;
    GEODEC_TRY(geodec_pool_create(threads, &x->pool, err));
    GEODEC_TRY(geodec_engine_create(
        x->net, &(geodec_engine_options){.n_ctx = n_ctx, .max_batch = rows, .isa = sets_isa[set], .pool = x->pool},
        &x->engine, err));
    GEODEC_NEW(x->logits, (int64_t)rows * x->net->config.n_vocab);
done:
    return st;
}

static void end(void *ctx)
{
    integers *x = ctx;
    geodec_engine_destroy(x->engine);
    geodec_pool_destroy(x->pool);
    geodec_mem_free(x->logits);
    *x = (integers){.net = x->net};
}

static geodec_status pass(void *ctx, const int32_t *token, const int32_t *parent, int32_t n, geodec_err *err)
{
    const integers *x = ctx;
    return geodec_engine_forward(
        x->engine, &(geodec_engine_pass){.n = n, .token = token, .parent = parent, .logits = x->logits}, err);
}

static void logits(const void *ctx, int32_t row, uint32_t *word, int32_t *q16)
{
    const integers *x = ctx;
    const int32_t n = x->net->config.n_vocab;
    memcpy(q16, x->logits + (int64_t)row * n, (size_t)n * sizeof *q16);
    memcpy(word, q16, (size_t)n * sizeof *word);
}

static geodec_status truncate_to(void *ctx, int32_t length, geodec_err *err)
{
    (void)err;
    geodec_engine_truncate(((integers *)ctx)->engine, length);
    return GEODEC_OK;
}

static void compact(void *ctx, int32_t base, const int32_t *row, int32_t n)
{
    geodec_engine_compact(((integers *)ctx)->engine, base, row, n);
}

/* The small SHA-256 and libcommon's are the same function, whichever of them libcommon is built on. */
static geodec_status check_sha256(geodec_err *err)
{
    enum { LONGEST = 300 };
    uint8_t data[LONGEST], digest[32];
    char hex[GEODEC_SHA256_HEX], small[GEODEC_SHA256_HEX];
    for (int i = 0; i < LONGEST; i++) data[i] = (uint8_t)(i * 131 + 7);
    geodec_sha256_of("abc", 3, hex);
    if (strcmp(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad") != 0)
        GEODEC_FAIL(GEODEC_INTERNAL, "the SHA-256 of 'abc' is %s", hex);
    for (size_t n = 0; n <= LONGEST; n++) {
        struct small_sha256 h;
        small_sha256_init(&h);
        small_sha256_update(&h, n / 3, data);
        small_sha256_update(&h, n - n / 3, data + n / 3);
        small_sha256_digest(&h, sizeof digest, digest);
        for (size_t i = 0; i < sizeof digest; i++) (void)snprintf(small + 2 * i, 3, "%02x", digest[i]);
        geodec_sha256_of(data, n, hex);
        if (strcmp(hex, small) != 0)
            GEODEC_FAIL(GEODEC_INTERNAL, "the SHA-256 of %d bytes is %s or %s", (int)n, hex, small);
    }
    return GEODEC_OK;
}

static geodec_status run_file(const char *file, int32_t n_tokens, bool *differ, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *g = NULL;
    geodec_network *net = NULL;
    integers x = {0};
    GEODEC_TRY(check_sha256(err));
    GEODEC_TRY(geodec_gguf_open(file, &g, err));
    GEODEC_TRY(geodec_network_file_read(g, NULL, NULL, &net, err));
    x.net = net;
    const ways_system s = {"hash", &x,     net->config.n_vocab, true,   sets_name, SETS, sets_available, begin, end,
                           pass,   logits, truncate_to,         compact};
    GEODEC_TRY(ways_run(&s, n_tokens, differ, err));
done:
    geodec_network_free(net);
    geodec_gguf_close(g);
    return st;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    bool differ = false;
    int32_t n;
    if (argc < 2 || argc > 3 || !ways_tokens(argv[2], &n)) {
        (void)fprintf(stderr, "Usage: hash MODEL.int.gguf [TOKENS]\n");
        return 2;
    }
    return ways_end("hash", run_file(argv[1], n, &differ, &err), differ, &err);
}
