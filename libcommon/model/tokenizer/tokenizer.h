/* Text to token ids and back: two kinds of byte-pair encoding, as GGUF files carry them.
 *
 * tokenizer.ggml.model = "llama" (SentencePiece, merges by score, byte fallback): a word-boundary mark (U+2581) is
 * prepended to non-empty text when add_space_prefix holds, spaces become marks, the text is split into UTF-8
 * characters, and the adjacent pair whose concatenation is a token of the highest score is merged, leftmost first on
 * ties, until none is left; the rest becomes byte tokens <0xXX>.
 *
 * tokenizer.ggml.model = "gpt2" (byte-level, merges by rank; Radford et al. 2019): the regular expressions of the
 * pre-tokenizer tokenizer.ggml.pre split the text into words (geodec_pretoken_name), each byte of a word becomes a
 * character of a printable alphabet, and the adjacent pair of the lowest rank in tokenizer.ggml.merges is merged,
 * leftmost first, until none is left. Some pre-tokenizers encode a word that is a token directly. A byte without a
 * token is left out (falcon and starcoder lack some control characters).
 *
 * Both: user-defined tokens are found in the text first, the longest first; control tokens only on request. Bytes that
 * are not UTF-8 are kept: for the split into words each counts as a control character, and it is encoded as its byte
 * (llama.cpp replaces it by U+FFFD). */
#ifndef GEODEC_TOKENIZER_TOKENIZER_H
#define GEODEC_TOKENIZER_TOKENIZER_H

#include "base/err.h"
#include "base/sha256.h"
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

typedef struct geodec_tokenizer geodec_tokenizer;

GEODEC_API geodec_status geodec_tokenizer_from_gguf(const geodec_gguf *g, geodec_tokenizer **out,
                                                    geodec_err *err) GEODEC_MUST_USE;
/* SentencePiece from arrays (copied): piece i is text[i] of len[i] bytes. bos/eos/unk = -1 for none. */
GEODEC_API geodec_status geodec_tokenizer_create(int32_t n, const char *const *text, const size_t *len,
                                                 const float *score, const int32_t *type, int32_t bos, int32_t eos,
                                                 int32_t unk, geodec_tokenizer **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_tokenizer_destroy(geodec_tokenizer *t);

/* Writes every tokenizer.* key into a GGUF being written. */
GEODEC_API geodec_status geodec_tokenizer_put(const geodec_tokenizer *t, geodec_gguf_writer *w,
                                              geodec_err *err) GEODEC_MUST_USE;
/* SHA-256 over types, scores, pieces, special ids, merges and pre-tokenizer: the tokenizer fingerprint. */
GEODEC_API const char *geodec_tokenizer_fingerprint(const geodec_tokenizer *t);

GEODEC_API int32_t geodec_tokenizer_size(const geodec_tokenizer *t);
/* Tokens that text never gives, because a later one is the same piece. Every token decodes to its own piece. */
GEODEC_API int32_t geodec_tokenizer_twins(const geodec_tokenizer *t);
GEODEC_API int32_t geodec_tokenizer_bos(const geodec_tokenizer *t); /* -1 = none */
GEODEC_API int32_t geodec_tokenizer_eos(const geodec_tokenizer *t);
/* The token of text that the vocabulary does not have, one for each of its bytes; -1 = none. */
GEODEC_API int32_t geodec_tokenizer_unknown(const geodec_tokenizer *t);
/* The token that begins every sequence by the vocabulary's own rule (tokenizer.ggml.add_bos_token; without the key: yes
 * for SentencePiece and the llama-3 and tekken families, no for others), or -1. */
GEODEC_API int32_t geodec_tokenizer_start(const geodec_tokenizer *t);
/* Whether the token ends a text or a turn: EOS, and control tokens known to end turns (<|im_end|>, <|eot_id|>, ...). */
GEODEC_API bool geodec_tokenizer_is_end(const geodec_tokenizer *t, int32_t id);
/* Raw piece of a token, inside t. */
GEODEC_API const char *geodec_tokenizer_piece(const geodec_tokenizer *t, int32_t id, size_t *n);
GEODEC_API bool geodec_tokenizer_is_control(const geodec_tokenizer *t, int32_t id);

/* ids must hold n + 2 values; *count is set. add_bos: begin by the vocabulary's rule. Control tokens in the text are
 * not parsed. Any bytes are accepted. O(n log n). */
GEODEC_API geodec_status geodec_tokenizer_encode(const geodec_tokenizer *t, const char *text, size_t n, bool add_bos,
                                                 int32_t *ids, int64_t *count, geodec_err *err) GEODEC_MUST_USE;

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
GEODEC_API geodec_status geodec_tokenizer_encode_with(const geodec_tokenizer *t, const char *text, size_t n,
                                                      const geodec_encode_options *options, int32_t *ids,
                                                      int64_t *count, geodec_err *err) GEODEC_MUST_USE;

/* Names of all supported pre-tokenizers, for messages: i = 0, 1, ... until NULL. */
GEODEC_API const char *geodec_pretoken_name(int i);

/* Whole sequence to text (without control tokens and the leading space of the first word). Caller frees. */
GEODEC_API geodec_status geodec_tokenizer_decode(const geodec_tokenizer *t, const int32_t *ids, int64_t n, char **text,
                                                 size_t *length, geodec_err *err) GEODEC_MUST_USE;

/* Streaming: feeds one token, gets the bytes that are complete UTF-8 so far (never a split character; bytes that can no
 * longer become valid are passed on unchanged). */
typedef struct geodec_detok {
    const geodec_tokenizer *t;
    bool show_control; /* set after init: control and unknown tokens give their piece instead of nothing */
    bool started;
    int n_pending;
    unsigned char pending[8];
} geodec_detok;
GEODEC_API void geodec_decode_init(geodec_detok *d, const geodec_tokenizer *t);
/* out must hold (longest piece + 8) bytes: geodec_decode_room. Returns the number of bytes. */
GEODEC_API size_t geodec_decode_room(const geodec_tokenizer *t);
GEODEC_API size_t geodec_decode_feed(geodec_detok *d, int32_t id, char *out);
/* The rest at the end of the stream. */
GEODEC_API size_t geodec_decode_flush(geodec_detok *d, char *out);

#endif
