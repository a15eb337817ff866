/* What the other folders use beyond geodec/tokenizer.h. */
#ifndef GEODEC_TOKENIZER_TOKENIZER_H
#define GEODEC_TOKENIZER_TOKENIZER_H

#include "base/err.h"
#include "base/sha256.h"
#include "geodec/tokenizer.h"
#include "gguf/gguf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum geodec_token_type { /* as in tokenizer.ggml.token_type */
                                 GEODEC_TOKEN_NORMAL = 1,
                                 GEODEC_TOKEN_UNKNOWN = 2,
                                 GEODEC_TOKEN_CONTROL = 3,
                                 GEODEC_TOKEN_USER = 4,
                                 GEODEC_TOKEN_UNUSED = 5,
                                 GEODEC_TOKEN_BYTE = 6,
} geodec_token_type;

geodec_status geodec_tokenizer_from_gguf(const geodec_gguf *g, geodec_tokenizer **out, geodec_err *err) GEODEC_MUST_USE;
/* SentencePiece from arrays (copied): piece i is text[i] of len[i] bytes. bos/eos/unk = -1 for none. */
geodec_status geodec_tokenizer_create(int32_t n, const char *const *text, const size_t *len, const float *score,
                                      const int32_t *type, int32_t bos, int32_t eos, int32_t unk,
                                      geodec_tokenizer **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_tokenizer_destroy(geodec_tokenizer *t);

/* Writes every tokenizer.* key into a GGUF being written. */
geodec_status geodec_tokenizer_put(const geodec_tokenizer *t, geodec_gguf_writer *w, geodec_err *err) GEODEC_MUST_USE;
/* SHA-256 over types, scores, pieces, special ids, merges and pre-tokenizer: the tokenizer fingerprint. */
const char *geodec_tokenizer_fingerprint(const geodec_tokenizer *t);

/* Tokens that text never gives, because a later one is the same piece. Every token decodes to its own piece. */
int32_t geodec_tokenizer_twins(const geodec_tokenizer *t);
/* The token of text that the vocabulary does not have, one for each of its bytes; -1 = none. */
int32_t geodec_tokenizer_unknown(const geodec_tokenizer *t);
/* The token that begins every sequence by the vocabulary's own rule (tokenizer.ggml.add_bos_token; without the key: yes
 * for SentencePiece and the llama-3 and tekken families, no for others), or -1. */
int32_t geodec_tokenizer_start(const geodec_tokenizer *t);
bool geodec_tokenizer_is_control(const geodec_tokenizer *t, int32_t id);

typedef struct geodec_span {
    int64_t begin, end; /* bytes */
} geodec_span;

typedef struct geodec_encode_options {
    bool bos;                 /* BOS first by the vocabulary's rule */
    bool eos;                 /* EOS last by the vocabulary's rule (tokenizer.ggml.add_eos_token) */
    bool goes_on;             /* the text follows other text: at its start SentencePiece text gets no prefix */
    bool parse_special;       /* control and unknown tokens in the text are parsed */
    const geodec_span *plain; /* [n_plain] ascending: no control token may overlap one of these */
    int64_t n_plain;
    /* [n_reserved] bytes, or NULL: a user-defined token in them that is not white space alone is not matched in the
     * plain spans, like a control token. */
    const char *reserved;
    size_t n_reserved;
} geodec_encode_options;
/* ids must hold n + 3 values. Special tokens are matched in order of length, longest first, then by id, each from left
 * to right in the remaining text. After one, SentencePiece text gets its prefix again (except after a token of a single
 * byte). */
geodec_status geodec_tokenizer_encode_with(const geodec_tokenizer *t, const char *text, size_t n,
                                           const geodec_encode_options *options, int32_t *ids, int64_t *count,
                                           geodec_err *err) GEODEC_MUST_USE;

/* Names of all supported pre-tokenizers, for messages: i = 0, 1, ... until NULL. */
const char *geodec_pretoken_name(int i);

#endif
