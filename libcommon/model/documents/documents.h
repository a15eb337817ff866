/* Documents: the one rule for how the bytes of a text become documents.
 *
 *   jsonl   JSON Lines: every line that is not blank is an object {"text": "..."}, {"messages": [{"role": "user",
 *           "content": "..."}, ...]} or {"turns": ["...", ...]} (Spec-Bench). A record is a document; the text of a
 *           conversation is its messages, separated by an empty line. Other members are ignored.
 *   mark    Documents end at a line "<|endoftext|>".
 *   blank   Documents end at a blank line (white space alone). Neighbours of fewer than GEODEC_DOCUMENT_TOKENS tokens
 *           are joined until they have as many: most paragraphs of a novel and speeches of a play are shorter than the
 *           64 positions that experiments along a text read.
 *   line    Every line is a document.
 *   window  Consecutive pieces of about GEODEC_WINDOW_TOKENS tokens, divided at the end of a line or at a blank.
 *   none    The whole text is one document.
 *   auto    jsonl where it fits; else mark where marks separate two documents or more; else blank where it gives
 *           GEODEC_DOCUMENTS_ENOUGH documents; else line where it gives as many and they have GEODEC_LINE_TOKENS
 *           tokens in the mean; else blank or line where they give two such documents; else window. Never an error.
 *
 * The thresholds:
 *   64 tokens a joined document: the experiments read positions 0 to 63 of a document, and at least 17 in a row.
 *   32 tokens a line: shorter lines are verse or wrapped prose, which continue over line ends.
 *   8 documents: four on each side of a split, the fewest for which an interval over documents means something.
 *   256 tokens a window: the published store length; fewer where the text would give less than 8 (but not below 64).
 * Lengths in tokens are estimated here: bytes / (bytes a token of a sample of the text, at most 64 KiB of it).
 *
 * A UTF-8 byte order mark is skipped, CR LF becomes LF, a missing final newline makes no difference, and white space
 * around a document is not part of it. A document of white space alone does not count. GEODEC_FORMAT: a text that is
 * empty or blank, is not UTF-8, or has a NUL byte; with `jsonl`, also a line that is not such a record. Limits of JSON
 * Lines (GEODEC_LIMIT): GEODEC_JSONL_LINE bytes a line, GEODEC_JSON_DEPTH_MAX levels, GEODEC_CHAT_MESSAGES messages a
 * record. Messages name file and line. */
#ifndef GEODEC_DOCUMENTS_DOCUMENTS_H
#define GEODEC_DOCUMENTS_DOCUMENTS_H

#include "base/err.h"
#include "geodec/export.h"
#include "tokenizer/chat.h"
#include "tokenizer/tokenizer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GEODEC_DOCUMENT_MARK "<|endoftext|>"
enum {
    GEODEC_DOCUMENT_TOKENS = 64,
    GEODEC_LINE_TOKENS = 32,
    GEODEC_DOCUMENTS_ENOUGH = 8,
    GEODEC_WINDOW_TOKENS = 256,
    GEODEC_JSONL_LINE = 8 << 20,
};

#define GEODEC_SEPARATOR_CHOICES "auto|jsonl|mark|blank|line|window|none"
const char *geodec_documents_separator_name(geodec_documents_separator s);
/* GEODEC_INVAL for an unknown word. */
geodec_status geodec_documents_separator_of(const char *word, geodec_documents_separator *out,
                                            geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_documents_options {
    geodec_documents_separator separator;
    const geodec_tokenizer *tokenizer; /* the measure of lengths; NULL: a token is taken as 4 bytes */
    bool pieces;                       /* blank: short neighbours are not joined (training) */
    bool run; /* auto: JSON Lines, else none: for tools that read a text as one sequence of tokens */
} geodec_documents_options;

typedef struct geodec_document {
    int64_t begin, end;              /* bytes of text */
    int64_t first_message, messages; /* of a conversation (messages or turns); 0 messages: plain text */
} geodec_document;

typedef struct geodec_documents {
    const char *text; /* the text that documents are spans of: the caller's bytes, or own */
    int64_t n_text;
    char *own; /* NULL if the caller owns text */
    geodec_document *item;
    int64_t n;
    geodec_chat_message *message; /* [n_messages] of all conversations, content inside text; turns are the user's */
    int64_t n_messages;
    geodec_documents_separator rule; /* never AUTO */
    char why[400];                   /* reason for the rule: "12 lines <|endoftext|>" */
    int64_t bytes;                   /* of all documents */
    double bytes_per_token;
} geodec_documents;

/* name: of the source, for messages. text must outlive the result. Free with geodec_documents_free. */
geodec_status geodec_documents_read(const char *name, const char *text, size_t n, const geodec_documents_options *o,
                                    geodec_documents *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_documents_free(geodec_documents *d);

/* Tokens of each document with BOS if the vocabulary's rule has one, into tokens [d->n] (NULL ok), and their sum. */
geodec_status geodec_documents_count(const geodec_documents *d, const geodec_tokenizer *t, int64_t *tokens,
                                     int64_t *sum, geodec_err *err) GEODEC_MUST_USE;
/* All documents as one text, separated by an empty line; rule none: the text unchanged. Inside d, or new memory in
 * *own, which the caller frees. */
geodec_status geodec_documents_run(const geodec_documents *d, const char **text, size_t *n, char **own,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif
