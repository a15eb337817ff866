/* Chat templates: a conversation as the text a model was trained on, for the families whose formats are public.
 *
 * Built-in formats by name, no interpreter: tokenizer.chat_template of a GGUF file is only searched for marks that
 * identify the format. Additions of a template to the plain format (tools, dates, thinking) are not rendered, but for
 * known default system messages. BOS is not part of the text: encode with options.bos.
 *
 * The content of messages can never become a control token: `plain` marks it. */
#ifndef GEODEC_TOKENIZER_CHAT_H
#define GEODEC_TOKENIZER_CHAT_H

#include "base/err.h"
#include "gguf/gguf.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct geodec_chat_template geodec_chat_template; /* static, never freed */

/* GEODEC_UNSUPPORTED with the list of names. */
GEODEC_API geodec_status geodec_chat_template_find(const char *name, const geodec_chat_template **out,
                                                   geodec_err *err) GEODEC_MUST_USE;
/* From the text of a Jinja template; eos: the text of the EOS token, or NULL. NULL for an unknown format. */
GEODEC_API const geodec_chat_template *geodec_chat_template_detect(const char *jinja, const char *eos);
/* From tokenizer.chat_template. GEODEC_UNSUPPORTED: no such key, or an unknown format, with the list of names. */
GEODEC_API geodec_status geodec_chat_template_of(const geodec_gguf *g, const geodec_chat_template **out,
                                                 geodec_err *err) GEODEC_MUST_USE;
GEODEC_API const char *geodec_chat_template_name(const geodec_chat_template *t);
/* All names, i = 0, 1, ... until NULL. */
GEODEC_API const char *geodec_chat_template_name_at(int i);

typedef enum geodec_chat_role { GEODEC_CHAT_SYSTEM, GEODEC_CHAT_USER, GEODEC_CHAT_ASSISTANT } geodec_chat_role;
/* "system", "user", "assistant"; GEODEC_FORMAT for another word. */
GEODEC_API geodec_status geodec_chat_role_of(const char *name, geodec_chat_role *out, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_chat_message {
    geodec_chat_role role;
    const char *content; /* [n] bytes */
    size_t n;
} geodec_chat_message;

/* Messages from JSON: [{"role": "user", "content": "..."}, ...], or an object with that array as "messages". name: of
 * the source, for error messages. At most GEODEC_CHAT_MESSAGES. GEODEC_FORMAT names the bad message. */
enum { GEODEC_CHAT_MESSAGES = 1 << 16 };
typedef struct geodec_conversation {
    geodec_chat_message *message; /* [n], inside root */
    int64_t n;
    void *root;
} geodec_conversation;
GEODEC_API geodec_status geodec_chat_conversation_parse(const char *json, size_t n, const char *name,
                                                        geodec_conversation *out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_chat_conversation_free(geodec_conversation *c);

typedef struct geodec_chat_text {
    char *text; /* [n] and a zero */
    size_t n;
    geodec_span *plain; /* [n_plain] ascending: the content of messages */
    int64_t n_plain;
} geodec_chat_text;

/* The conversation, and with add_generation_prompt the text before the assistant's next words. Some formats strip white
 * space around messages; some have no system message and put its text before the next user message. */
GEODEC_API geodec_status geodec_chat_render(const geodec_chat_template *t, const geodec_chat_message *message,
                                            int64_t n, bool add_generation_prompt, geodec_chat_text *out,
                                            geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_chat_text_free(geodec_chat_text *t);

/* The conversation in tokens; sets ids (caller frees) and *count. Control tokens of the template are parsed, those in
 * messages are not, nor are user-defined tokens there that the template itself uses. */
GEODEC_API geodec_status geodec_chat_encode(const geodec_chat_template *t, const geodec_tokenizer *k,
                                            const geodec_chat_message *message, int64_t n, bool add_generation_prompt,
                                            int32_t **ids, int64_t *count, geodec_err *err) GEODEC_MUST_USE;

/* The text after the assistant's words when a user speaks next: the end of the assistant's turn, the user's message and
 * the text before the assistant's next words. Appended to the tokens of a conversation and the assistant's, it gives
 * the tokens of the longer conversation without encoding the old ones again; no BOS. */
GEODEC_API geodec_status geodec_chat_encode_next(const geodec_chat_template *t, const geodec_tokenizer *k,
                                                 const geodec_chat_message *user, int32_t **ids, int64_t *count,
                                                 geodec_err *err) GEODEC_MUST_USE;

#endif
