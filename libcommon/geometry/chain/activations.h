/* The activations artifact: hidden states that a model computed on a text, one row per token, in text order. Written by
 * geodec-export, read by geodec-cloud, geodec-bake and geodec-records.
 *
 * Row r belongs to the token /token[r] at /position[r] of the sequence /sequence[r]. Its state is the residual stream
 * after the model has read that token, at each of the L kept layers (layer 0 = embedding, n_layer = input of the final
 * norm). /next_token is the next token of the text (-1 at the end of a sequence); /argmax is the next token that the
 * model predicts. Rows of one sequence are contiguous and in order of position; with the attribute `positions` other
 * than "all" some rows are left out. /argmax and the best logits may be absent. /expert is there for a
 * model with experts.
 *
 * Dimensions: R rows, L kept layers, d = d_model, M kept best logits, V = n_vocab, X = n_layer n_expert_used. */
#ifndef GEODEC_CHAIN_ACTIVATIONS_H
#define GEODEC_CHAIN_ACTIVATIONS_H

#include "artifact/artifact.h"
#include "base/split.h"
#include "geodec/cloud.h"

#include <stdbool.h>

/* States are stored as float32 in /state, or as float16 in /state_f16; the file has exactly one of them. */
extern const geodec_kind geodec_activations_kind;

/* Index in the file (0..L-1) of model layer `layer`. GEODEC_NOTFOUND lists the kept layers. */
geodec_status geodec_activations_find_layer(const geodec_activations *v, int64_t layer, int64_t *index,
                                            geodec_err *err) GEODEC_MUST_USE;
/* The held-out split unit (base/split.h) of each row: *unit [rows] is new memory. Documents are /document if the file
 * has it, else /sequence; with the attribute `separator` = window they are pieces of one text. */
geodec_status geodec_activations_units(const geodec_artifact *a, int32_t **unit, geodec_split *split,
                                       geodec_err *err) GEODEC_MUST_USE;
/* States of rows row0 .. row0+n-1 at one kept layer (index 0..L-1) into state [n][d] float32.
 * scratch: geodec_activations_scratch(v, n) bytes. */
size_t geodec_activations_scratch(const geodec_activations *v, int64_t n);
geodec_status geodec_activations_read(const geodec_activations *v, int64_t index, int64_t row0, int64_t n, float *state,
                                      void *scratch, geodec_err *err) GEODEC_MUST_USE;

/* Writes states of another program, x [rows][d], rounded to float32, as the only layer (0) of an activations artifact;
 * the caller commits. Tokens are unknown (-1); each row is its own sequence unless they are consecutive states of
 * one text. Where rounding would change distances, the medians of the coordinates are subtracted first and written as
 * /shift (chain/rounding.h); *shifted says so, and *merged counts rows that rounding made equal. GEODEC_RANGE,
 * GEODEC_FORMAT (beyond float32; more than 1 % of the rows merge). */
geodec_status geodec_activations_write_states(int64_t rows, int64_t d, const double *x, bool consecutive,
                                              geodec_artifact *a, bool *shifted, int64_t *merged,
                                              geodec_err *err) GEODEC_MUST_USE;
/* What a model would read and say at rows that it did not compute: they are written as its layer n_layer. choice [rows]
 * is the token that its head chooses at a row, /argmax; the next row of the text has read it, and `first` is the token
 * of the first row of each text. Borrowed. */
typedef struct geodec_activations_said {
    int64_t n_layer, n_vocab;
    const int32_t *choice;
    int32_t first;
} geodec_activations_said;
/* The same for rows of given texts: sequence, position [rows], those of a text together. said may be NULL: no model. */
geodec_status geodec_activations_write_rows(int64_t rows, int64_t d, const double *x, const int32_t *sequence,
                                            const int32_t *position, const geodec_activations_said *said,
                                            geodec_artifact *a, bool *shifted, int64_t *merged,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
