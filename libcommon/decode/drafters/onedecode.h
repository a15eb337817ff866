/* OneDecode, corrected: in-context states are assigned to cells, and each cell has counts of the model's next token.
 *
 * When drafts are needed, the state after the newest token does not exist yet, but it has a first-order estimate from
 * the previous state and the newest token (drafters/step.h). The cells come from Lloyd's k-means on these estimates
 * over stored texts, so that lookups use the same kind of vector as the counts. A cell has the counts of the labels of
 * its places. A lookup finds the nearest centre, and the tokens of that cell have the confidences
 *
 *     shrink_t count / total,
 *
 * t = 0, 1, 2, 3+ drafts after the last state, shrink_t measured on texts outside the counts (at most 1). A cell with
 * fewer than n_min places is a miss, and so is a token that does not occur in the texts. */
#ifndef GEODEC_DRAFTERS_ONEDECODE_H
#define GEODEC_DRAFTERS_ONEDECODE_H

#include "base/hooks.h"
#include "decode/drafter.h"
#include "drafters/step.h"
#include "linalg/counts.h"

extern const geodec_kind geodec_onedecode_kind;

enum { GEODEC_ONEDECODE_DEPTHS = 4 };

/* Shares of all places of the test texts at which the first token, or one of the first eight, is right (a miss is
 * wrong). */
typedef struct geodec_table_figures {
    double top1, top8;
} geodec_table_figures;
typedef struct geodec_onedecode_summary {
    int64_t places, fitted, cells, labels; /* places: of the test texts; fitted: of the fit; labels: distinct tokens in
                                              the table (V_bake) */
    geodec_table_figures cells_figures, bigram, unigram;
    double covered; /* share of places that are no miss */
    double claimed; /* mean confidence of the first token, where there is one */
    double right;   /* share of those that are right */
} geodec_onedecode_summary;

typedef struct geodec_onedecode {
    geodec_step step;
    float *centroid, *half_square; /* [cells][k]; [cells] |c|^2 / 2, not in the file */
    geodec_counts counts;
    int64_t n_min;
    float shrink[GEODEC_ONEDECODE_DEPTHS];
    geodec_onedecode_summary summary; /* summary in the file: set by geodec_onedecode_write */
} geodec_onedecode;

typedef struct geodec_onedecode_options {
    geodec_step_options step;
    int64_t cells;  /* default 4096, at most a quarter of the places */
    int64_t rounds; /* rounds of k-means, on at most 16 places per cell; default 8 */
    int64_t n_min;  /* default 4 */
    bool text;      /* label = the text's next token; false: the model's argmax */
} geodec_onedecode_options;
geodec_onedecode_options geodec_onedecode_defaults(void);

/* GEODEC_RANGE: options; other errors as geodec_step_fit. The result is the same for any number of threads. */
geodec_status geodec_onedecode_bake(const geodec_activations *a, const geodec_onedecode_options *o,
                                    geodec_onedecode *out, geodec_onedecode_summary *summary, geodec_pool *pool,
                                    const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;
void geodec_onedecode_clear(geodec_onedecode *t);
/* Nearest cell of an estimate z [k]. */
int64_t geodec_onedecode_cell(const geodec_onedecode *t, const float *z);

/* Fills a new artifact of geodec_onedecode_kind; the caller commits. */
geodec_status geodec_onedecode_write(const geodec_onedecode *t, const geodec_onedecode_summary *s, geodec_artifact *out,
                                     geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_onedecode_read(const geodec_artifact *in, geodec_onedecode *out, geodec_err *err) GEODEC_MUST_USE;

/* The drafter: looks up the cell of the estimated state at every node of a tree. t is borrowed. Sources: the number of
 * drafts after the last state: "1", "2", "3", "4+". */
geodec_status geodec_onedecode_drafter_create(const geodec_onedecode *t, geodec_drafter **out,
                                              geodec_err *err) GEODEC_MUST_USE;

#endif
