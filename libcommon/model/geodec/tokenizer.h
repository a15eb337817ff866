/* Text to token ids and back: three kinds of byte-pair encoding and one of unigrams, as GGUF files carry them.
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
 * tokenizer.ggml.model = "gemma4", and "gpt2" with the pre-tokenizer sarvam-moe: the same merges by rank over the
 * characters of a line, with marks for its spaces; the rest becomes byte tokens. With gemma4 line ends in a row that
 * are a token are that token.
 *
 * tokenizer.ggml.model = "plamo2": the division of the text with the largest sum of scores (rounded to 1e-4; of equal
 * ones that with the longest token first); a character without a token has the score -1000 and becomes byte tokens. A
 * byte order mark at the start is no text.
 *
 * All: user-defined tokens are found in the text first, the longest first; control tokens only on request. Bytes that
 * are not UTF-8 are kept: for the split into words each counts as a control character, and it is encoded as its byte
 * (llama.cpp replaces it by U+FFFD). */
#ifndef GEODEC_TOKENIZER_H
#define GEODEC_TOKENIZER_H

#include "geodec/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct geodec_tokenizer geodec_tokenizer;
GEODEC_API int32_t geodec_tokenizer_size(const geodec_tokenizer *t);
GEODEC_API int32_t geodec_tokenizer_bos(const geodec_tokenizer *t); /* -1 = none */
GEODEC_API int32_t geodec_tokenizer_eos(const geodec_tokenizer *t);

/* Whether the token ends a text or a turn: EOS, and control tokens known to end turns (<|im_end|>, <|eot_id|>, ...). */
GEODEC_API bool geodec_tokenizer_is_end(const geodec_tokenizer *t, int32_t id);

/* Raw piece of a token, inside t. */
GEODEC_API const char *geodec_tokenizer_piece(const geodec_tokenizer *t, int32_t id, size_t *n);

/* ids must hold n + 2 values; *count is set. add_bos: begin by the vocabulary's rule. Control tokens in the text are
 * not parsed. Any bytes are accepted. O(n log n). */
GEODEC_API geodec_status geodec_tokenizer_encode(const geodec_tokenizer *t, const char *text, size_t n, bool add_bos,
                                                 int32_t *ids, int64_t *count, geodec_err *err) GEODEC_MUST_USE;

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

/* ---- chat templates: a conversation as the tokens a model was trained on ------------------------------------------
 */

typedef struct geodec_chat_template geodec_chat_template;

/* NULL and built-in formats ok. */
GEODEC_API void geodec_chat_template_free(const geodec_chat_template *t);

/* GEODEC_UNSUPPORTED with the list of names. */
GEODEC_API geodec_status geodec_chat_template_find(const char *name, const geodec_chat_template **out,
                                                   geodec_err *err) GEODEC_MUST_USE;

typedef enum geodec_chat_role {
    GEODEC_CHAT_SYSTEM,
    GEODEC_CHAT_USER,
    GEODEC_CHAT_ASSISTANT,
    GEODEC_CHAT_DEVELOPER, /* this and the next: of templates that have them */
    GEODEC_CHAT_TOOL
} geodec_chat_role;

typedef struct geodec_chat_message {
    geodec_chat_role role;
    const char *content; /* [n] bytes */
    size_t n;
} geodec_chat_message;

/* The conversation in tokens; sets ids (caller frees) and *count. Control tokens of the template are parsed, those in
 * messages are not, nor are user-defined tokens there that the template itself uses. */
GEODEC_API geodec_status geodec_chat_encode(const geodec_chat_template *t, const geodec_tokenizer *k,
                                            const geodec_chat_message *message, int64_t n, bool add_generation_prompt,
                                            int32_t **ids, int64_t *count, geodec_err *err) GEODEC_MUST_USE;

#endif
