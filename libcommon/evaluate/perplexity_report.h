/* Perplexities of several texts as a table and as JSON. */
#ifndef GEODEC_EVALUATE_PERPLEXITY_REPORT_H
#define GEODEC_EVALUATE_PERPLEXITY_REPORT_H

#include "evaluate/perplexity.h"
#include "io/json.h"
#include "io/tsv.h"

typedef struct geodec_perplexity_report {
    const geodec_scorer_evaluation *p, *q; /* q NULL: no comparison, and no columns of it */
    const geodec_perplexity_options *o;
    FILE *out; /* of the table, which begins with the first text */
    geodec_tsv *table;
    geodec_json_writer *json; /* NULL = none */
} geodec_perplexity_report;

/* The head of a JSON file, which appears under its name at the end. */
GEODEC_API geodec_status geodec_perplexity_report_begin_json(geodec_perplexity_report *s, const char *path,
                                                             const char *command_line, geodec_err *err) GEODEC_MUST_USE;
/* A text: its name, fingerprint, the rule by which it was divided, and how many documents that gave. */
GEODEC_API geodec_status geodec_perplexity_report_add(geodec_perplexity_report *s, const char *text, const char *sha256,
                                                      const char *separator, int64_t documents,
                                                      const geodec_perplexity_result *r,
                                                      geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_perplexity_report_end(geodec_perplexity_report *s, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_perplexity_report_abandon(geodec_perplexity_report *s); /* all zero is allowed */

#endif
