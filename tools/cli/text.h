/* The option of tools that read text: how it becomes documents. */
#ifndef GEODEC_TOOLS_CLI_TEXT_H
#define GEODEC_TOOLS_CLI_TEXT_H

#include "cli/cli.h"
#include "documents/documents.h"
#include "io/file.h"

#define CLI_SEPARATOR_OPTION(var)                                                                                      \
    OPT_CHOICE("separator", 0, &(var), GEODEC_SEPARATOR_CHOICES, "RULE",                                               \
               "end of a document: JSON Lines (a record), a line <|endoftext|>, a blank line (short neighbours "       \
               "are joined), a line, a window of tokens, nothing; auto: the first of these that fits the text")
/* For tools that read a text as one run of tokens. */
#define CLI_RUN_SEPARATOR_OPTION(var)                                                                                  \
    OPT_CHOICE("separator", 0, &(var), GEODEC_SEPARATOR_CHOICES, "RULE",                                               \
               "auto: the text as it is, or the contents of the records of JSON Lines; any other word: documents by "  \
               "that rule, separated by empty lines")

/* A text file as documents. */
typedef struct text_file {
    geodec_file_map map;
    geodec_documents documents;
    const char *run; /* with run: the text as one sequence */
    size_t n_run;
    char *own_run;
} text_file;

/* separator: a word the option table has checked; t NULL: no vocabulary. run: as geodec_documents_run gives it. */
geodec_status text_open(const char *path, const char *separator, const geodec_tokenizer *t, bool run, text_file *out,
                        geodec_err *err) GEODEC_MUST_USE;
void text_close(text_file *f);
/* Tokens of a text that is read as one run, without BOS, in new memory. */
geodec_status text_ids(const char *path, const char *separator, const geodec_tokenizer *t, int32_t **ids, int64_t *n,
                       geodec_err *err) GEODEC_MUST_USE;

#endif
