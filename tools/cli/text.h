/* Option of tools that read text: the division into documents. */
#ifndef GEODEC_TOOLS_CLI_TEXT_H
#define GEODEC_TOOLS_CLI_TEXT_H

#include "cli/cli.h"
#include "documents/documents.h"
#include "io/file.h"

extern bool text_allow_unknown;
#define CLI_ALLOW_UNKNOWN_OPTION                                                                                       \
    OPT_FLAG("allow-unknown", 0, &text_allow_unknown,                                                                  \
             "measure a text of which more than 10 % are unknown to the vocabulary; without this, it is not measured")
#define CLI_SEPARATOR_OPTION(var)                                                                                      \
    OPT_CHOICE("separator", 0, &(var), GEODEC_SEPARATOR_CHOICES, "RULE",                                               \
               "separator of documents: records of JSON Lines, lines <|endoftext|>, blank lines (short neighbours "    \
               "are joined), line ends, windows of tokens, none; auto: the first of these that fits the text"),        \
        CLI_ALLOW_UNKNOWN_OPTION
/* For tools that read a text as one run of tokens. */
#define CLI_RUN_SEPARATOR_OPTION(var)                                                                                  \
    OPT_CHOICE("separator", 0, &(var), GEODEC_SEPARATOR_CHOICES, "RULE",                                               \
               "auto: read the text unchanged, or the contents of the records of JSON Lines; other words: divide the " \
               "text by that rule and separate the documents by empty lines"),                                         \
        CLI_ALLOW_UNKNOWN_OPTION

/* A text file as documents. */
typedef struct text_file {
    geodec_file_map map;
    geodec_documents documents;
    const char *run; /* the text as one sequence, if requested */
    size_t n_run;
    char *own_run;
    double unknown; /* share of its tokens that the vocabulary does not have, of its first MiB; 0 without one */
} text_file;

/* separator: checked by the option table. t NULL: no vocabulary. run: also makes the text one sequence
 * (geodec_documents_run). With a vocabulary, tokens that it does not have are counted: above 1 % with a warning, above
 * 10 % it is GEODEC_SCARCE, unless --allow-unknown is given. */
geodec_status text_open(const char *path, const char *separator, const geodec_tokenizer *t, bool run, text_file *out,
                        geodec_err *err) GEODEC_MUST_USE;
void text_close(text_file *f);
/* Tokens of the text as one sequence, without BOS; the caller frees. */
geodec_status text_ids(const char *path, const char *separator, const geodec_tokenizer *t, int32_t **ids, int64_t *n,
                       geodec_err *err) GEODEC_MUST_USE;

#endif
