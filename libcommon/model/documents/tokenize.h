/* Text as token ids and back, written as geodec-tokenize prints them. */
#ifndef GEODEC_DOCUMENTS_TOKENIZE_H
#define GEODEC_DOCUMENTS_TOKENIZE_H

#include "tokenizer/chat.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct geodec_tokenize_options {
    bool only_ids, only_counts; /* a line of ids for each sequence; numbers alone; else a token a line */
    bool lines;                 /* every line is a sequence */
    const char *separator;      /* rule of geodec_tokenize_documents */
    bool bos, parse_special;    /* of geodec_encode_options */
    bool show_control;          /* decoding: control tokens as they are written */
    const char *template_name;  /* chat format, "auto": the model's own */
    bool closed, only_text;     /* do not open the assistant's turn; print the conversation as text */
    FILE *out;
} geodec_tokenize_options;

/* text [n] of the file `path`, which errors name. Everything is computed before the first byte goes to o->out, where a
 * failed write shows in ferror. GEODEC_FORMAT: text that is not UTF-8, no token id, no conversation; the errors of
 * geodec_documents_read and geodec_chat_render. */
geodec_status geodec_tokenize_text(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                                   const char *text, size_t n, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_tokenize_documents(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                                        const char *text, size_t n, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_tokenize_conversation(const geodec_tokenize_options *o, const geodec_gguf *g,
                                           const geodec_tokenizer *t, const char *path, const char *json, size_t n,
                                           geodec_err *err) GEODEC_MUST_USE;
/* The text of ids. */
geodec_status geodec_tokenize_decode(const geodec_tokenize_options *o, const geodec_tokenizer *t, const char *path,
                                     const char *text, size_t n, geodec_err *err) GEODEC_MUST_USE;

#endif
