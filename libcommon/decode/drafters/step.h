/* First-order prediction of the next state from a token. The coordinates are z = U (s - mean), where s = h / sqrt(mean
 * h^2 + 1e-5) is the last residual stream scaled as in the final norm and U the k leading principal directions. The
 * model is
 *
 *     z_n = A z_(n-1) + c_x,    x the token read at n,
 *
 * fitted by ridge regression within tokens: A from the deviations of z_n and z_(n-1) from their means over the places
 * of each token, pooled over all tokens; c_x = mean z_n - A mean z_(n-1) over the places of x. When a token is drafted,
 * the newest token and the state before it are known. They give an estimate of the state after the newest token, and
 * further estimates along the drafts. Blind: one c for all tokens, so the newest token is not used.
 *
 * Each text is assigned at random, by the seed, to the fit, the calibration or the figures. */
#ifndef GEODEC_DRAFTERS_STEP_H
#define GEODEC_DRAFTERS_STEP_H

#include "base/pool.h"
#include "chain/activations.h"
#include "decode/drafter.h"
#include "linalg/counts.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_STEP_DIMS_MAX = 128 };

typedef enum geodec_step_part { GEODEC_STEP_FIT, GEODEC_STEP_CALIBRATE, GEODEC_STEP_TEST } geodec_step_part;
/* The part to which a text belongs: a tenth each for calibration and test. */
geodec_step_part geodec_step_part_of(uint64_t seed, int32_t text);

typedef struct geodec_step {
    int64_t vocab, d, k;
    float *basis;   /* [k][d] orthonormal rows */
    float *mean;    /* [d] */
    float *map;     /* [k][k] A: row = output */
    float *after;   /* [vocab][k] c_x */
    uint32_t *seen; /* [vocab] places of the token in the fit; 0: the token is unknown and c_x = 0 */
} geodec_step;
void geodec_step_clear(geodec_step *s);

/* The rows of an activations file in this chart; all owned. */
typedef struct geodec_step_rows {
    int64_t rows, vocab, d, k;
    int32_t *token, *sequence, *argmax, *next; /* [rows]; next -1 = end of a text */
    float *z;                                  /* [rows][k] */
} geodec_step_rows;
void geodec_step_rows_clear(geodec_step_rows *r);

/* Reads tokens, sequences and positions [rows] of whole texts into new memory; *vocab: vocabulary size of the model.
 * GEODEC_FORMAT: tokens outside the vocabulary, rows that do not continue their text. */
geodec_status geodec_step_texts(const geodec_activations *a, int64_t *vocab, int32_t **token, int32_t **sequence,
                                int32_t **position, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_step_options {
    int64_t k;    /* coordinates, limited to those of the state; default 32 */
    double ridge; /* ridge on A, in observations times the mean variance of z; default 10 */
    bool blind;
    uint64_t seed; /* seed of the assignment to parts */
} geodec_step_options;
geodec_step_options geodec_step_defaults(void);

/* Reads the last layer of whole texts (all positions) with their argmax, and fits chart and step to the texts of
 * GEODEC_STEP_FIT. Both outputs are valid on success; rows may be NULL. GEODEC_NOTFOUND: layer or argmax not exported;
 * GEODEC_FORMAT: rows that do not form texts; GEODEC_NUMERIC: not finite; GEODEC_SCARCE: states all equal or too few;
 * GEODEC_RANGE: options.
 */
geodec_status geodec_step_fit(const geodec_activations *a, const geodec_step_options *o, geodec_pool *pool,
                              geodec_step *out, geodec_step_rows *rows, geodec_err *err) GEODEC_MUST_USE;
/* Fits a step of another kind (blind or not) in the same chart, from rows already read. */
geodec_status geodec_step_refit(const geodec_step *chart, const geodec_step_rows *rows, const geodec_step_options *o,
                                geodec_step *out, geodec_err *err) GEODEC_MUST_USE;

/* Counts label [rows] (negative: left out) over the texts of the fit, by newest token or all in one cell. */
geodec_status geodec_step_count(const geodec_step_rows *rows, uint64_t seed, const int32_t *label, bool by_token,
                                geodec_counts *out, geodec_err *err) GEODEC_MUST_USE;

/* Up to `most` children of a drafter's node: the most frequent labels of a cell of counts, with confidence factor count
 * / total. Returns their number. */
int32_t geodec_step_children(const geodec_drafter *d, int32_t node, const geodec_counts *c, int64_t cell,
                             int32_t source, double factor, int32_t most, geodec_draft *out);

/* z [k] of h [d]. */
void geodec_step_state(const geodec_step *s, const float *h, float *z);
/* after [k] = A z + c_token; false (after is unchanged) for a token that did not occur in the fit or is outside the
 * vocabulary. */
bool geodec_step_advance(const geodec_step *s, const float *z, int32_t token, float *after);

/* ---- in artifacts: /step/basis (k,d), mean (d), map (k,k), after (V,k), seen (V) ----------------------------------
 */
/* clang-format off */
#define GEODEC_STEP_FIELDS(S, m)                                                                                       \
    {"/step/basis", GEODEC_F32, "k,d", 0, "1", "principal directions of the scaled state, rows", 0,                    \
     GEODEC_AT(S, m.basis)},                                                                                           \
    {"/step/mean", GEODEC_F32, "d", 0, "1", "z = basis (s - mean), s = h / sqrt(mean h^2 + 1e-5)", 0,                  \
     GEODEC_AT(S, m.mean)},                                                                                            \
    {"/step/map", GEODEC_F32, "k,k", 0, "1", "A of z_n = A z_(n-1) + c_x", 0, GEODEC_AT(S, m.map)},                    \
    {"/step/after", GEODEC_F32, "V,k", GEODEC_FIELD_COMPRESS, "1", "c_x of every token x", 0, GEODEC_AT(S, m.after)},  \
    {"/step/seen", GEODEC_U32, "V", GEODEC_FIELD_COMPRESS, "1", "places of the token in the fit", 0,                   \
     GEODEC_AT(S, m.seen)}
#define GEODEC_STEP_EXTENTS(S, m)                                                                                      \
    {"k", GEODEC_IN(S, m.k)}, {"d", GEODEC_IN(S, m.d)}, {"V", GEODEC_IN(S, m.vocab)}
/* clang-format on */
/* GEODEC_FORMAT for invalid sizes; the message names the file `path`. */
geodec_status geodec_step_check(const geodec_step *s, const char *path, geodec_err *err) GEODEC_MUST_USE;

#endif
