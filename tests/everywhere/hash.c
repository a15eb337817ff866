/* hash MODEL.int.gguf [TOKENS]: one SHA-256 over all logits and tokens of a model in integers, for every instruction
 * set of this processor. The same numbers are computed in several ways: token by token, in passes of several sizes, in
 * a tree and path by path, with one to three threads. Prints a line for each set: its name, the hash, the number of
 * ways; or its name and why it was skipped. Status 1 when two ways differ, 2 for a wrong command line, 3 for an error.
 *
 * What is hashed, numbers as little-endian int32: for argmax and for sampling, the logits of the prompt's rows and of
 * each token that follows, and the tokens; then the logits of a tree behind the prompt, and those of a token behind one
 * of its paths. */
#include "base/mem.h"
#include "base/sha256.h"
#include "integer/engine/choose.h"
#include "integer/engine/engine.h"
#include "integer/engine/network_file.h"
#include "small_sha256.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROMPT = 12, TREE = 11, MOST_TOKENS = 4096, TOKENS = 256, HEX = GEODEC_SHA256_HEX };
/* Row by row the parent; the path that is kept; the token behind it. */
static const int32_t parent[TREE] = {-1, 0, 0, 1, 1, 2, 5, 3, -1, 8, 6};
static const int32_t path[] = {0, 2, 5, 6, 10};
enum { PATH = sizeof path / sizeof *path };

typedef struct way {
    const char *name;
    int threads;
    int32_t batch; /* rows of a pass */
    bool wide;     /* passes over known tokens, in a tree; otherwise token by token and path by path */
} way;
static const way ways[] = {
    {"token by token", 1, 1, false},
    {"token by token, 3 threads", 3, PROMPT, false},
    {"passes of 64", 1, 64, true},
    {"passes of 11, 2 threads", 2, TREE, true},
    {"passes of 37, 3 threads", 3, 37, true},
};
enum { WAYS = sizeof ways / sizeof *ways };

typedef struct run {
    const geodec_network *net;
    int32_t n_tokens; /* that follow the prompt */
    const way *way;
    geodec_isa isa;
    geodec_pool *pool;
    geodec_engine *engine;
    int32_t *logits; /* [batch][n_vocab] */
    uint8_t *bytes;  /* [4 n_vocab] */
    int32_t *known;  /* [2][PROMPT + n_tokens]: tokens of the first way */
    geodec_sha256 hash;
} run;

static int32_t token_of(const run *r, int64_t i) { return (int32_t)((i * 7919 + 17) % r->net->config.n_vocab); }

static void hash_numbers(run *r, const int32_t *v, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int b = 0; b < 4; b++) r->bytes[4 * i + b] = (uint8_t)((uint32_t)v[i] >> (8 * b));
    geodec_sha256_update(&r->hash, r->bytes, (size_t)n * 4);
}

static void hash_row(run *r, int32_t row)
{
    const int32_t n = r->net->config.n_vocab;
    hash_numbers(r, r->logits + (int64_t)row * n, n);
}

static geodec_status pass(run *r, const int32_t *token, const int32_t *parents, int32_t n, geodec_err *err)
{
    return geodec_engine_forward(
        r->engine, &(geodec_engine_pass){.n = n, .token = token, .parent = parents, .logits = r->logits}, err);
}

/* The prompt and the tokens that follow, by argmax or sampled. */
static geodec_status hash_text(run *r, bool sampled, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t n_vocab = r->net->config.n_vocab, all = PROMPT + r->n_tokens, most = r->way->batch;
    const geodec_choose_settings s = geodec_choose_settings_of(sampled ? 0.8 : 0, sampled ? 40 : 0, 0.95, 7);
    int32_t *token = r->known + (sampled ? all : 0);
    geodec_choose *choose = NULL;
    GEODEC_TRY(geodec_choose_create(&s, n_vocab, &choose, err));
    geodec_engine_truncate(r->engine, 0);
    for (int32_t i = 0; i < PROMPT; i++) token[i] = token_of(r, i);
    for (int32_t at = 0; at < all - 1;) {
        const int32_t end = r->way->wide  ? all - 1
                            : at < PROMPT ? PROMPT
                                          : at + 1,
                      n = end - at < most ? end - at : most;
        GEODEC_TRY(pass(r, token + at, NULL, n, err));
        for (int32_t i = 0; i < n; i++) {
            hash_row(r, i);
            if (at + i + 1 < PROMPT) continue;
            const int32_t next = geodec_choose_next(choose, at + i + 1 - PROMPT, r->logits + (int64_t)i * n_vocab);
            hash_numbers(r, &next, 1);
            if (!r->way->wide) token[at + i + 1] = next;
        }
        at += n;
    }
done:
    geodec_choose_destroy(choose);
    return st;
}

/* The tree behind the prompt, in one pass or each row as the end of its path; then the path that is kept. */
static geodec_status hash_tree(run *r, geodec_err *err)
{
    int32_t token[TREE], line[TREE], kept[PATH];
    for (int32_t i = 0; i < TREE; i++) token[i] = token_of(r, 1000 + i);
    for (int32_t i = 0; i < PATH; i++) kept[i] = token[path[i]];
    geodec_engine_truncate(r->engine, PROMPT);
    if (r->way->wide) {
        GEODEC_PASS(pass(r, token, parent, TREE, err));
        for (int32_t i = 0; i < TREE; i++) hash_row(r, i);
        geodec_engine_compact(r->engine, PROMPT, path, PATH);
    } else {
        for (int32_t i = 0; i < TREE; i++) {
            int32_t n = 0;
            for (int32_t at = i; at >= 0; at = parent[at]) line[n++] = token[at];
            while (n > 0) GEODEC_PASS(pass(r, &line[--n], NULL, 1, err));
            hash_row(r, 0);
            geodec_engine_truncate(r->engine, PROMPT);
        }
        for (int32_t i = 0; i < PATH; i++) GEODEC_PASS(pass(r, &kept[i], NULL, 1, err));
    }
    const int32_t next = token_of(r, 2000);
    GEODEC_PASS(pass(r, &next, NULL, 1, err));
    hash_row(r, 0);
    return GEODEC_OK;
}

static geodec_status run_way(run *r, char hex[HEX], geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_network *net = r->net;
    const int32_t rows = r->way->batch > TREE || !r->way->wide ? r->way->batch : TREE;
    GEODEC_TRY(geodec_pool_create(r->way->threads, &r->pool, err));
    GEODEC_TRY(geodec_engine_create(
        net,
        &(geodec_engine_options){
            .n_ctx = PROMPT + r->n_tokens + TREE, .max_batch = rows, .isa = r->isa, .pool = r->pool},
        &r->engine, err));
    GEODEC_NEW(r->logits, (int64_t)rows * net->config.n_vocab);
    GEODEC_NEW(r->bytes, (int64_t)4 * net->config.n_vocab);
    geodec_sha256_init(&r->hash);
    GEODEC_TRY(hash_text(r, false, err));
    GEODEC_TRY(hash_text(r, true, err));
    GEODEC_TRY(hash_tree(r, err));
    geodec_sha256_hex(&r->hash, hex);
done:
    geodec_engine_destroy(r->engine);
    geodec_pool_destroy(r->pool);
    GEODEC_FREE(r->logits, r->bytes);
    r->engine = NULL;
    r->pool = NULL;
    r->logits = NULL;
    r->bytes = NULL;
    return st;
}

/* Every way in every set. first: the hash of the first way. */
static geodec_status run_all(run *r, bool *differ, geodec_err *err)
{
    char first[HEX] = "", hex[HEX];
#if defined(__x86_64__)
    static const geodec_isa sets[] = {GEODEC_ISA_SCALAR, GEODEC_ISA_AVX2, GEODEC_ISA_AVX512};
#else
    static const geodec_isa sets[] = {GEODEC_ISA_SCALAR};
#endif
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        char mine[HEX] = "";
        r->isa = sets[i];
        if (!geodec_kernels_isa_available(r->isa)) {
            printf("%s\tskipped: not on this processor\n", geodec_kernels_isa_name(r->isa));
            continue;
        }
        for (int w = 0; w < WAYS; w++) {
            r->way = &ways[w];
            GEODEC_PASS(run_way(r, hex, err));
            if (!*first) memcpy(first, hex, HEX);
            if (!*mine) memcpy(mine, hex, HEX);
            if (strcmp(hex, first) == 0) continue;
            *differ = true;
            (void)fprintf(stderr, "hash: %s, %s: %.16s instead of %.16s\n", geodec_kernels_isa_name(r->isa),
                          ways[w].name, hex, first);
        }
        printf("%s\t%s\t%d\n", geodec_kernels_isa_name(r->isa), mine, (int)WAYS);
        (void)fflush(stdout);
    }
    return GEODEC_OK;
}

/* The small SHA-256 and libcommon's are the same function, whichever of them libcommon is built on. */
static geodec_status check_sha256(geodec_err *err)
{
    enum { LONGEST = 300 };
    uint8_t data[LONGEST], digest[32];
    char hex[HEX], small[HEX];
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
    run r = {.n_tokens = n_tokens};
    GEODEC_TRY(check_sha256(err));
    GEODEC_TRY(geodec_gguf_open(file, &g, err));
    GEODEC_TRY(geodec_network_file_read(g, NULL, NULL, &net, err));
    r.net = net;
    GEODEC_NEW(r.known, 2 * ((int64_t)PROMPT + n_tokens));
    GEODEC_TRY(run_all(&r, differ, err));
done:
    geodec_mem_free(r.known);
    geodec_network_free(net);
    geodec_gguf_close(g);
    return st;
}

int main(int argc, char **argv)
{
    geodec_err err = {0};
    bool differ = false;
    char line[1024], *end = NULL;
    const long n = argc == 3 ? strtol(argv[2], &end, 10) : TOKENS;
    if ((argc != 2 && argc != 3) || (end && *end) || n < 1 || n > MOST_TOKENS) {
        (void)fprintf(stderr, "Usage: hash MODEL.int.gguf [TOKENS]\n");
        return 2;
    }
    if (run_file(argv[1], (int32_t)n, &differ, &err) != GEODEC_OK) {
        (void)fprintf(stderr, "hash: %s\n", geodec_err_line(&err, line, sizeof line));
        return 3;
    }
    return differ ? 1 : 0;
}
