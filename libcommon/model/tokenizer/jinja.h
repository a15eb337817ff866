/* Chat templates as files carry them (tokenizer.chat_template): programs in the language of Jinja 2, of which this is
 * the part that chat templates use, rendered as transformers renders it (trim_blocks, lstrip_blocks, loop controls;
 * json with ensure_ascii off). A template that uses anything else is refused with its line; nothing is approximated.
 *
 * Every byte of the output knows whether it comes from a message, through all operations on texts, so that words of a
 * message never become control tokens.
 *
 * Templates are hostile until checked: limits of size, depth, steps, memory and output. There is no clock: strftime_now
 * is undefined, and templates that ask for it have a date of their own. */
#ifndef GEODEC_TOKENIZER_JINJA_H
#define GEODEC_TOKENIZER_JINJA_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GEODEC_JINJA_TEMPLATE = 1 << 20, /* bytes of a template */
    GEODEC_JINJA_DEPTH = 100,        /* nested statements, expressions and calls */
    GEODEC_JINJA_STEPS = 20000000,   /* evaluated nodes of a rendering */
    GEODEC_JINJA_MEMORY = 256 << 20  /* bytes of a rendering */
};

typedef struct geodec_jinja geodec_jinja;

/* GEODEC_UNSUPPORTED: a word that this interpreter does not have; GEODEC_FORMAT: not a template; GEODEC_LIMIT. The
 * message names the line. */
geodec_status geodec_jinja_compile(const char *text, size_t n, geodec_jinja **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_jinja_free(geodec_jinja *t); /* NULL ok */

typedef struct geodec_jinja_message {
    const char *role, *content; /* role: text of the program; content [n]: a message's */
    size_t n;
} geodec_jinja_message;
typedef struct geodec_jinja_context {
    const geodec_jinja_message *message; /* [n_messages] */
    int64_t n_messages;
    bool add_generation_prompt;
    const char *bos_token, *eos_token; /* texts; NULL = "" */
} geodec_jinja_context;

/* text [*n] and a zero, mark [*n] (1: from a message), both new memory of the caller. GEODEC_FORMAT: raise_exception,
 * and errors of the template; GEODEC_UNSUPPORTED; GEODEC_LIMIT. */
geodec_status geodec_jinja_render(const geodec_jinja *t, const geodec_jinja_context *context, char **text,
                                  unsigned char **mark, size_t *n, geodec_err *err) GEODEC_MUST_USE;

#endif
