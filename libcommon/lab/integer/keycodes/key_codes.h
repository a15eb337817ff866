/* Codes of the key and value cache (lab/integer/codes) on the keys and values of a model.
 *
 * A vector is the row of a token in the cache of a layer: as many key heads joined as divide their number and give at
 * most 128 values. Every code is calibrated per layer and vector on the rows of the calibration documents; the figures
 * are of other documents:
 *
 *   error    |x - decoded| / |x| over all vectors, of keys and of values
 *   kl       mean over layers, query heads and positions of KL(p || q) in nats, p the attention probabilities with the
 *            model's keys, q with decoded ones, both over all positions up to the query's
 *   bytes    of a vector with all its metadata, per value; what vectors share (bases, distributions) apart
 *
 * Documents are read up to `window` tokens, in whole groups of 32 rows. Intervals are 95 % percentile bootstraps over
 * documents. A case is the name of a code and modifiers: NAME[/pre][/query]. `pre`: keys are coded before the rotary
 * embedding (which is undone, and redone after decoding). `query`: the calibration weighs errors of keys by the second
 * moments of the queries (with `pre` by their energy in each rotated pair); values stay unweighted. */
#ifndef GEODEC_INTEGER_KEYCODES_KEY_CODES_H
#define GEODEC_INTEGER_KEYCODES_KEY_CODES_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "evaluate/perplexity.h"
#include "lab/integer/codes/codes.h"
#include "linalg/stats.h"

enum { GEODEC_KEY_CODES_CASES = 64, GEODEC_KEY_CODES_WIDTH = 128 };
/* All cases of the table of codes, and the modifiers where they can matter. */
#define GEODEC_KEY_CODES_DEFAULT                                                                                       \
    "q8_0,q4_0,q4_0/pre,q3,band-5543,band-4443,band-4333,band-4333/pre,band-4333-variance,lowrank,lowrank/pre,kivi2,"  \
    "kivi2/pre,h63,h63-prediction,v1,klt,klt/pre,klt/query,klt/pre/query,klt-48/pre,klt-32/pre"

typedef struct geodec_key_codes_case {
    const geodec_codes_kind *kind;
    bool pre, query;
} geodec_key_codes_case;
/* Names separated by commas into at most GEODEC_KEY_CODES_CASES. GEODEC_INVAL, GEODEC_LIMIT. */
geodec_status geodec_key_codes_parse(const char *names, geodec_key_codes_case *cases, int64_t *n,
                                     geodec_err *err) GEODEC_MUST_USE;
/* The name of a case, into text [64]. */
void geodec_key_codes_name(const geodec_key_codes_case *c, char text[64]);

/* Documents as tokens, with BOS where the vocabulary has one. */
typedef struct geodec_key_codes_texts {
    int64_t n;
    const int64_t *begin; /* [n + 1] */
    const int32_t *token;
} geodec_key_codes_texts;

typedef struct geodec_key_codes_options {
    int32_t window;              /* tokens of a document, 32 to 65536 */
    int64_t calibration, tokens; /* tokens to read at most, of the calibration documents and of the others */
    int64_t every;               /* every n-th document calibrates; >= 2, for geodec_key_codes_capture >= 1 */
    int64_t replicates;
    uint64_t seed;
    geodec_isa isa;
    geodec_pool *pool; /* of the passes of the model */
    const geodec_hooks *hooks;
} geodec_key_codes_options;

/* Rows of the calibration documents. */
typedef struct geodec_key_codes_rows geodec_key_codes_rows;
/* GEODEC_RANGE (options), GEODEC_SCARCE (fewer than 256 rows, heads too wide, keys that cannot be replaced),
 * GEODEC_NUMERIC, GEODEC_NOMEM. */
geodec_status geodec_key_codes_capture(const geodec_model *m, const geodec_key_codes_texts *t,
                                       const geodec_key_codes_options *o, geodec_key_codes_rows **out,
                                       geodec_err *err) GEODEC_MUST_USE;
void geodec_key_codes_release(geodec_key_codes_rows *r);
int64_t geodec_key_codes_captured(const geodec_key_codes_rows *r);

/* Codes of all layers and vectors for a case. Immutable; may serve several sessions at once. */
typedef struct geodec_key_codes_set geodec_key_codes_set;
geodec_status geodec_key_codes_fit(const geodec_key_codes_rows *r, const geodec_key_codes_case *c,
                                   geodec_key_codes_set **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_key_codes_unfit(geodec_key_codes_set *s); /* NULL ok */

typedef struct geodec_key_codes_row {
    double k_bytes, v_bytes; /* per value, metadata of the vectors included */
    double shared;           /* bytes of all shared tables of the model's cache */
    geodec_estimate k_error, v_error, kl;
    double nll[2], perplexity; /* difference of nll to float32 and its standard error, and the perplexity; NaN: none */
} geodec_key_codes_row;

typedef struct geodec_key_codes_report {
    int64_t cases;
    geodec_key_codes_row *row;
    char *names;                          /* of the cases, joined by commas */
    int64_t dim, values;                  /* values of a vector; of a token in the cache, keys and values */
    int64_t calibration, rows, documents; /* rows calibrated on and measured, documents measured */
    int64_t scored;                       /* tokens of the perplexities; 0: none */
    double perplexity;                    /* with the float32 cache; NaN: none */
} geodec_key_codes_report;
void geodec_key_codes_clear(geodec_key_codes_report *r);

/* Fits and measures all cases. held_out: text of the documents that do not calibrate, for perplexities in windows of
 * o->window tokens, at most max_windows of them; NULL: none. Also the errors of the functions above, and
 * GEODEC_SCARCE (no document to measure). */
geodec_status geodec_key_codes_measure(const geodec_model *m, const geodec_key_codes_texts *t,
                                       const geodec_key_codes_case *cases, int64_t n, const char *held_out,
                                       size_t n_held_out, int64_t max_windows, const geodec_key_codes_options *o,
                                       geodec_key_codes_report *out, geodec_err *err) GEODEC_MUST_USE;

/* The keycodes artifact. */
extern const geodec_kind geodec_key_codes_kind;
geodec_status geodec_key_codes_write(const geodec_key_codes_report *r, geodec_artifact *a,
                                     geodec_err *err) GEODEC_MUST_USE;
/* A line a case. */
geodec_status geodec_key_codes_table(FILE *out, const geodec_key_codes_report *r, geodec_err *err) GEODEC_MUST_USE;

#endif
