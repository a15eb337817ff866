/* Training text as token ids, document by document, and the windows that training and evaluation cut from it. */
#ifndef GEODEC_TRAIN_TEXT_H
#define GEODEC_TRAIN_TEXT_H

#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "documents/documents.h"
#include "tokenizer/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

/* Each document becomes [BOS] tokens [EOS], in the order of the text; BOS and EOS are added if the tokenizer has them;
 * EOS is left out with GEODEC_SEPARATOR_NONE and _WINDOW, whose pieces do not end a text. Documents are those of
 * documents/documents.h without joining short neighbours; separators and white space around them are neither tokens nor
 * bytes. */
typedef struct geodec_text {
    int32_t *token; /* [n_tokens] */
    int64_t n_tokens;
    int64_t *doc_start; /* [n_docs + 1] index of a document's first token; the last entry is n_tokens */
    int64_t n_docs;
    int64_t n_bytes;                 /* of all documents */
    int32_t bos;                     /* -1 = none */
    geodec_documents_separator rule; /* the rule that divided the text; never AUTO */
} geodec_text;

/* Documents are tokenized in parallel; the result does not depend on the pool. name: that of the source, for messages.
 * GEODEC_FORMAT: the errors of geodec_documents_read, and a text of fewer than two tokens. */
geodec_status geodec_text_encode(const char *name, const char *text, size_t n, geodec_documents_separator separator,
                                 const geodec_tokenizer *t, geodec_pool *pool, const geodec_hooks *hooks,
                                 geodec_text **out, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_text_encode, from a file. */
geodec_status geodec_text_load(const char *path, geodec_documents_separator separator, const geodec_tokenizer *t,
                               geodec_pool *pool, const geodec_hooks *hooks, geodec_text **out,
                               geodec_err *err) GEODEC_MUST_USE;
void geodec_text_destroy(geodec_text *t); /* NULL ok */

/* Document that token i belongs to. */
int64_t geodec_text_document(const geodec_text *t, int64_t i);

/* Training window: len inputs and their next tokens. A token is sampled uniformly; the window starts with that token's
 * document if the document fits into len, otherwise with the token itself. The window is a pure function of (seed,
 * step, number). token, target: [len]; a text shorter than len + 1 tokens is repeated. */
void geodec_text_sample(const geodec_text *t, uint64_t seed, int64_t step, int64_t number, int64_t len, int32_t *token,
                        int32_t *target);

/* Evaluation windows: every token except BOS is a target exactly once, and its context is its document from the start,
 * or at least len/2 tokens of it. Cuts the next window at *cursor (0 at first) and advances it; returns the number of
 * targets, 0 at the end. token, target: [len], target -1 = not counted. */
int64_t geodec_text_next_window(const geodec_text *t, int64_t *cursor, int64_t len, int32_t *token, int32_t *target);

#endif
