/* Records that prove a run: which model wrote which tokens.
 *
 * A run in integers gives the same logits wherever and however it is computed, so anybody with the model's file can
 * check a record. The record has the hash of the model's file, the prompt, the settings, the tokens and a chain of
 * hashes:
 *
 *     h_0     = SHA-256(header)           header: the text of everything but tokens and chain
 *     h_(i+1) = SHA-256(h_i, i, token of output i, logits of output i as little-endian int32)
 *     digest  = h_n
 *
 * Verification computes the logits again in wide passes, which give the same bits as the passes of one row, and
 * compares links and tokens: of all outputs, or of a sample that the verifier draws. A link depends on the one before
 * it, which the record contains, so each output can be checked alone. */
#ifndef GEODEC_INTEGER_ATTEST_ATTEST_H
#define GEODEC_INTEGER_ATTEST_ATTEST_H

#include "base/hooks.h"
#include "base/sha256.h"
#include "integer/engine/choose.h"
#include "integer/engine/engine.h"

enum { GEODEC_ATTEST_HASH = GEODEC_SHA256_BYTES, GEODEC_ATTEST_TOKENS = 1 << 20 /* most of a record */ };

typedef struct geodec_attest {
    char model[GEODEC_SHA256_HEX], tables[GEODEC_SHA256_HEX]; /* of the model's file; of the engine's tables */
    double temperature, top_p;
    int32_t top_k;
    uint64_t seed;
    int32_t n_prompt, n;                 /* n: outputs */
    int32_t *prompt, *token;             /* [n_prompt], [n] */
    uint8_t (*link)[GEODEC_ATTEST_HASH]; /* [n + 1] */
    char transcript[GEODEC_SHA256_HEX];  /* of the file with the sums of all products (transcript.h); "": none */
    int64_t transcript_size;             /* bytes */
} geodec_attest;

/* Generates up to n tokens after the prompt of *a (whose settings, prompt and model the caller has set) and fills the
 * rest. eos: a token that ends the run, -1: none. transcript: a file to write, NULL: none. The engine is empty, takes
 * 64 rows, and has room for all tokens. */
geodec_status geodec_attest_run(geodec_engine *e, int32_t n_vocab, int32_t n, int32_t eos, const char *transcript,
                                geodec_attest *a, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

/* JSON, put in place at once. */
geodec_status geodec_attest_write(const char *path, const geodec_attest *a, const char *command,
                                  geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_FORMAT, GEODEC_LIMIT. The digest in the file must be the last link. */
geodec_status geodec_attest_read(const char *path, geodec_attest *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_attest_clear(geodec_attest *a);

/* What a verification found. Begins as NOT_CHECKED. */
typedef enum geodec_attest_verdict {
    GEODEC_ATTEST_NOT_CHECKED,
    GEODEC_ATTEST_HOLDS,
    GEODEC_ATTEST_OTHER_MODEL,  /* the hash of the file */
    GEODEC_ATTEST_OTHER_TABLES, /* of the engine */
    GEODEC_ATTEST_HEADER,       /* the first link is not that of prompt and settings */
    GEODEC_ATTEST_TOKEN,        /* output `at` is not what the settings choose from the logits */
    GEODEC_ATTEST_LOGITS,       /* link `at` is not that of the logits */
    GEODEC_ATTEST_TRANSCRIPT,   /* the file is not the one of the record */
    GEODEC_ATTEST_SUMS          /* a product whose sums are wrong; output `at` is the first that depends on it */
} geodec_attest_verdict;
typedef struct geodec_attest_result {
    geodec_attest_verdict verdict;
    int32_t at;      /* the first output that differs, -1: none */
    int32_t checked; /* outputs */
    /* with a transcript: matrices that were projected; products of one row that were checked, and computed again */
    int64_t matrices, products, recomputed;
} geodec_attest_result;
const char *geodec_attest_verdict_text(geodec_attest_verdict v);

typedef struct geodec_attest_check {
    const char *model; /* hash of the verifier's file */
    int32_t sample;    /* outputs drawn, 0: all */
    uint64_t seed;     /* of the drawing: secret to whoever made the record */
    int32_t rows;      /* of a pass, at most 64 */
    geodec_pool *pool; /* hashes and chooses for several outputs at a time; NULL: the caller's thread */
    /* The sums of the products come from this file and are checked by random projections (freivalds.h); NULL: products
     * are computed. */
    const char *transcript;
    uint64_t secret; /* seed of the projections: secret to whoever made the transcript */
    bool hash;       /* and compare the SHA-256 of the file with the record's */
} geodec_attest_check;
/* The engine is empty. A record that does not hold is a result, not an error. GEODEC_FORMAT: the transcript is damaged.
 */
geodec_status geodec_attest_verify(geodec_engine *e, int32_t n_vocab, const geodec_attest *a,
                                   const geodec_attest_check *how, geodec_attest_result *out, const geodec_hooks *hooks,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif
