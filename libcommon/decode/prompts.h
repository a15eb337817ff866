/* Prompts for measurements, as token ids. */
#ifndef GEODEC_DECODE_PROMPTS_H
#define GEODEC_DECODE_PROMPTS_H

#include "base/err.h"
#include "documents/documents.h"
#include "tokenizer/chat.h"
#include "tokenizer/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

/* Prompt i is token[offset[i]] .. token[offset[i+1]-1]; each starts with BOS when the tokenizer has one. */
typedef struct geodec_prompts {
    int32_t *token;
    int64_t *offset; /* [n+1] */
    int64_t n;
    bool in_chat;                    /* some are conversations in a chat format */
    int64_t too_long;                /* conversations that were left out */
    geodec_documents_separator rule; /* rule that divided the text they are from; auto: from no text */
    int64_t documents;               /* of that text */
} geodec_prompts;
GEODEC_API void geodec_prompts_free(geodec_prompts *p);

typedef struct geodec_prompts_options {
    int64_t count;                    /* asked for */
    int64_t length;                   /* tokens of a piece of text, BOS included */
    int64_t most;                     /* of a conversation, or of a whole document; 0 = no limit */
    bool whole;                       /* the first documents, each a prompt */
    const geodec_chat_template *chat; /* the model's own format, or NULL: conversations are plain text */
} geodec_prompts_options;

/* Prompts of a text, the same for the same text:
 *     plain text   pieces of `length` tokens at even distances in the tokens of all documents, each inside one
 *     JSON Lines   a record is a prompt, at even distances: of "text" the first `length` tokens; of a conversation all
 *                  up to the user's last message (of "turns" the first), in the chat format where there is one, else as
 *                  text. A conversation longer than `most` is left out in chat format, else cut
 * A text that is too short gives shorter prompts (at least GEODEC_PROMPT_LEAST tokens) or fewer; see documents/plan.h.
 * GEODEC_SCARCE when there is none; GEODEC_INVAL for no prompts or a length without text. */
GEODEC_API geodec_status geodec_prompts_make(const geodec_tokenizer *t, const geodec_documents *d,
                                             const geodec_prompts_options *o, geodec_prompts *out,
                                             geodec_err *err) GEODEC_MUST_USE;

/* The same prompts, each as the first message of a user in a chat format, up to the start of the reply. Partial
 * characters at the cuts of a prompt are removed. Prompts in a chat format stay unchanged. */
GEODEC_API geodec_status geodec_prompts_chat(const geodec_tokenizer *t, const geodec_chat_template *chat,
                                             const geodec_prompts *plain, geodec_prompts *out,
                                             geodec_err *err) GEODEC_MUST_USE;
/* Tokens of the longest prompt. */
GEODEC_API int64_t geodec_prompts_longest(const geodec_prompts *p);

#endif
