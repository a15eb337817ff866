/* Chat templates: a conversation as the text a model was trained on.
 *
 * A file's own template (tokenizer.chat_template) is a program, which is rendered exactly (tokenizer/jinja.h) or
 * refused. Built-in formats are chosen by name: of families whose formats are public, for files without a template.
 * Their text has no BOS: encode with options.bos; that of a program has one if the program writes it.
 *
 * The content of messages can never become a control token: `plain` marks it. */
#ifndef GEODEC_TOKENIZER_CHAT_H
#define GEODEC_TOKENIZER_CHAT_H

#include "base/err.h"
#include "geodec/tokenizer.h"
#include "gguf/gguf.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* From the text [n] of a template; name: of its source, for messages; bos, eos: texts of these tokens, or NULL. The
 * caller frees *out. The errors of geodec_jinja_compile. */
geodec_status geodec_chat_template_compile(const char *text, size_t n, const char *name, const char *bos,
                                           const char *eos, const geodec_chat_template **out,
                                           geodec_err *err) GEODEC_MUST_USE;
/* From tokenizer.chat_template; the caller frees *out. GEODEC_UNSUPPORTED: no such key, or a template that cannot be
 * rendered, with the list of names. */
geodec_status geodec_chat_template_of(const geodec_gguf *g, const geodec_chat_template **out,
                                      geodec_err *err) GEODEC_MUST_USE;
/* Whether it is a program: then words of earlier turns may depend on later ones. */
bool geodec_chat_template_is_program(const geodec_chat_template *t);
const char *geodec_chat_template_name(const geodec_chat_template *t);
/* All names, i = 0, 1, ... until NULL. */
const char *geodec_chat_template_name_at(int i);

/* "system", "user", "assistant", "developer", "tool"; GEODEC_FORMAT for another word. */
geodec_status geodec_chat_role_of(const char *name, geodec_chat_role *out, geodec_err *err) GEODEC_MUST_USE;

/* Messages from JSON: [{"role": "user", "content": "..."}, ...], or an object with that array as "messages". name: of
 * the source, for error messages. At most GEODEC_CHAT_MESSAGES. GEODEC_FORMAT names the bad message. */
enum { GEODEC_CHAT_MESSAGES = 1 << 16 };
typedef struct geodec_conversation {
    geodec_chat_message *message; /* [n], inside root */
    int64_t n;
    void *root;
} geodec_conversation;
geodec_status geodec_chat_conversation_parse(const char *json, size_t n, const char *name, geodec_conversation *out,
                                             geodec_err *err) GEODEC_MUST_USE;
void geodec_chat_conversation_free(geodec_conversation *c);

typedef struct geodec_chat_text {
    char *text; /* [n] and a zero */
    size_t n;
    geodec_span *plain; /* [n_plain] ascending: the content of messages */
    int64_t n_plain;
} geodec_chat_text;

/* The conversation, and with add_generation_prompt the text before the assistant's next words. Some formats strip white
 * space around messages; some have no system message and put its text before the next user message. GEODEC_UNSUPPORTED:
 * a role that a built-in format does not have; for programs, the errors of geodec_jinja_render. */
geodec_status geodec_chat_render(const geodec_chat_template *t, const geodec_chat_message *message, int64_t n,
                                 bool add_generation_prompt, geodec_chat_text *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_chat_text_free(geodec_chat_text *t);

/* The text after the assistant's words when a user speaks next: the end of the assistant's turn, the user's message and
 * the text before the assistant's next words. Appended to the tokens of a conversation and the assistant's, it gives
 * the tokens of the longer conversation without encoding the old ones again; no BOS. */
geodec_status geodec_chat_encode_next(const geodec_chat_template *t, const geodec_tokenizer *k,
                                      const geodec_chat_message *user, int32_t **ids, int64_t *count,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
