/* Prompts for measurements, as token ids. */
#ifndef GEODEC_DECODE_PROMPTS_H
#define GEODEC_DECODE_PROMPTS_H

#include "base/err.h"
#include "tokenizer/chat.h"
#include "tokenizer/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

/* Prompt i is token[offset[i]] .. token[offset[i+1]-1]; each starts with BOS when the tokenizer has one. */
typedef struct geodec_prompts {
    int32_t *token;
    int64_t *offset; /* [n+1] */
    int64_t n;
} geodec_prompts;
GEODEC_API void geodec_prompts_free(geodec_prompts *p);

/* Tokenizes the text and cuts `count` pieces of `length` tokens (BOS included) at even distances, so that the same text
 * always gives the same prompts. GEODEC_FORMAT when the text is too short for them without overlap, or is not UTF-8. */
GEODEC_API geodec_status geodec_prompts_cut(const geodec_tokenizer *t, const char *text, size_t n, int64_t count,
                                            int64_t length, geodec_prompts *out, geodec_err *err) GEODEC_MUST_USE;
/* One prompt a line, the first `count` lines that are not empty. */
GEODEC_API geodec_status geodec_prompts_lines(const geodec_tokenizer *t, const char *text, size_t n, int64_t count,
                                              geodec_prompts *out, geodec_err *err) GEODEC_MUST_USE;

/* The same prompts, each as the first message of a user in a chat format, with what stands before the reply. Where a
 * prompt was cut inside a character, the pieces of it are left out. */
GEODEC_API geodec_status geodec_prompts_chat(const geodec_tokenizer *t, const geodec_chat_template *chat,
                                             const geodec_prompts *plain, geodec_prompts *out,
                                             geodec_err *err) GEODEC_MUST_USE;
/* Tokens of the longest. */
GEODEC_API int64_t geodec_prompts_longest(const geodec_prompts *p);

#endif
