/* A model and the activations of its states: the input of experiments that evaluate the model at its states. */
#ifndef GEODEC_LAB_HARNESS_MODEL_STATES_H
#define GEODEC_LAB_HARNESS_MODEL_STATES_H

#include "chain/activations.h"
#include "fisher/fisher_metric.h"

typedef struct geodec_model_states {
    const geodec_artifact *file; /* activations; the caller's */
    geodec_activations view;
    int32_t *token, *position, *sequence, *text; /* [rows]; text: units of the split (geodec_activations_units) */
    geodec_split units;
    const geodec_model *model;
    geodec_reference *reference;
    geodec_model *owned; /* the model where it was opened here */
} geodec_model_states;

/* Reads the rows' attributes of the activations; they must outlive *out. Nothing is left open on failure. */
geodec_status geodec_model_states_read(const geodec_artifact *activations, geodec_model_states *out,
                                       geodec_err *err) GEODEC_MUST_USE;
/* m is borrowed. GEODEC_CHECKSUM, which names the model, when the states are another one's. */
geodec_status geodec_model_states_attach(geodec_model_states *s, const geodec_model *m, const char *name,
                                         geodec_pool *pool, geodec_err *err) GEODEC_MUST_USE;
/* The activations and the model at `path`. Nothing is left open on failure. */
geodec_status geodec_model_states_open(const char *path, const geodec_artifact *activations, geodec_pool *pool,
                                       geodec_model_states *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_model_states_close(geodec_model_states *s); /* all zero is allowed */

/* States of `count` rows of the activations at a layer of the model, as input of fisher_metric.h. */
typedef struct geodec_model_states_rows {
    geodec_fisher_states s;
    double *state;     /* [count][d] */
    int64_t *first;    /* [count] */
    int32_t *position; /* [count] */
} geodec_model_states_rows;
/* GEODEC_NOTFOUND (layer), GEODEC_RANGE (row), GEODEC_UNSUPPORTED where the text before a row is not in the file. */
geodec_status geodec_model_states_rows_read(const geodec_model_states *s, int64_t layer, int64_t count,
                                            const int32_t *row, geodec_model_states_rows *out,
                                            geodec_err *err) GEODEC_MUST_USE;
void geodec_model_states_rows_clear(geodec_model_states_rows *r);

#endif
