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
    bool in_chat;                    /* some prompts are conversations in a chat format */
    int64_t too_long;                /* conversations that were left out */
    geodec_documents_separator rule; /* rule that divided their source text; auto: no source text */
    int64_t documents;               /* number of documents in that text */
} geodec_prompts;
void geodec_prompts_free(geodec_prompts *p);

typedef struct geodec_prompts_options {
    int64_t count;                    /* number of prompts requested */
    int64_t length;                   /* tokens of a piece of text, BOS included */
    int64_t most;                     /* tokens of a conversation or of a whole document; 0 = no limit */
    bool whole;                       /* use the first documents, each as a prompt */
    const geodec_chat_template *chat; /* the model's own format, or NULL: conversations are plain text */
} geodec_prompts_options;

/* Makes prompts from a text; the same text gives the same prompts:
 *     plain text   pieces of `length` tokens, evenly spaced in the tokens of all documents, each within one document
 *     JSON Lines   evenly spaced records, each a prompt: for "text", the first `length` tokens; for a conversation, all
 *                  messages up to the user's last one (for "turns", the first), in the chat format if there is one,
 *                  else as text. A conversation longer than `most` is left out in chat format, else cut
 * A text that is too short gives shorter prompts (at least GEODEC_PROMPT_LEAST tokens) or fewer; see documents/plan.h.
 * GEODEC_SCARCE: no prompt was found; GEODEC_INVAL: no prompts were requested, or the length leaves no room for
 * text. */
geodec_status geodec_prompts_make(const geodec_tokenizer *t, const geodec_documents *d, const geodec_prompts_options *o,
                                  geodec_prompts *out, geodec_err *err) GEODEC_MUST_USE;

/* The prompts `plain`, each as the user's first message in a chat format, up to the start of the reply. Partial
 * characters at the ends of a prompt are removed. Prompts that are already in a chat format stay unchanged. */
geodec_status geodec_prompts_chat(const geodec_tokenizer *t, const geodec_chat_template *chat,
                                  const geodec_prompts *plain, geodec_prompts *out, geodec_err *err) GEODEC_MUST_USE;
/* Number of tokens of the longest prompt. */
int64_t geodec_prompts_longest(const geodec_prompts *p);

#endif
