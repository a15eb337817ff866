/* Internal: shared by the files of this folder. */
#ifndef GEODEC_DOCUMENTS_INTERNAL_H
#define GEODEC_DOCUMENTS_INTERNAL_H

#include "documents/documents.h"

/* Spans in order; trimmed, never empty. */
typedef struct geodec__cut {
    geodec_document *item;
    int64_t n, room;
    int64_t bytes;
} geodec__cut;

geodec_status geodec__cut_add(geodec__cut *c, const char *text, int64_t begin, int64_t end, geodec_err *err);
/* Line from `at` on: its end without CR and newline; returns where the next begins (n at the end). */
int64_t geodec__cut_line(const char *text, int64_t n, int64_t at, int64_t *end);
bool geodec__cut_is_blank(const char *text, int64_t begin, int64_t end);

geodec_status geodec__cut_marks(const char *text, int64_t n, geodec__cut *out, int64_t *marks, geodec_err *err);
/* least: smallest size of a document in bytes, if there are as many (0: no joining). */
geodec_status geodec__cut_blank(const char *text, int64_t n, int64_t least, geodec__cut *out, geodec_err *err);
geodec_status geodec__cut_lines(const char *text, int64_t n, geodec__cut *out, geodec_err *err);
geodec_status geodec__cut_windows(const char *text, int64_t n, int64_t bytes, geodec__cut *out, geodec_err *err);

/* Fills d from JSON Lines; d->own holds the text. GEODEC_FORMAT, GEODEC_LIMIT with file and line. */
geodec_status geodec__documents_jsonl(const char *name, const char *text, int64_t n, geodec_documents *d,
                                      geodec_err *err);
/* Whether the first line that is not blank begins with a brace. */
bool geodec__jsonl_detect(const char *text, int64_t n);

#endif
