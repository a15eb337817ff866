/* A model and the activations of its states: where tools take the Fisher metric from. */
#ifndef GEODEC_TOOLS_CLI_FISHER_H
#define GEODEC_TOOLS_CLI_FISHER_H

#include "chain/activations.h"
#include "cli/cli.h"
#include "lab/harness/fisher_metric.h"

typedef struct fisher_source {
    const geodec_artifact *file; /* activations; the caller's */
    geodec_activations view;
    int32_t *token, *position, *sequence, *text; /* [rows]; text: units of the split (geodec_activations_units) */
    geodec_split units;
    geodec_model *model;
    geodec_reference *reference;
} fisher_source;

/* Opens the model at `path` beside activations that are open. GEODEC_CHECKSUM when the states are another model's.
 * Nothing is left open on failure. */
geodec_status fisher_open(const cli *c, const char *path, const geodec_artifact *activations, fisher_source *out,
                          geodec_err *err) GEODEC_MUST_USE;
void fisher_close(fisher_source *s); /* all zero is allowed */

/* States of `count` rows of the activations at a layer of the model, with what the library asks for. */
typedef struct fisher_rows {
    geodec_fisher_states s;
    double *state;     /* [count][d] */
    int64_t *first;    /* [count] */
    int32_t *position; /* [count] */
} fisher_rows;
/* GEODEC_NOTFOUND (layer), GEODEC_RANGE (row), GEODEC_UNSUPPORTED where the text before a row is not in the file. */
geodec_status fisher_rows_read(const fisher_source *s, int64_t layer, int64_t count, const int32_t *row,
                               fisher_rows *out, geodec_err *err) GEODEC_MUST_USE;
void fisher_rows_clear(fisher_rows *r);

#endif
