/* An ablation: compares the candidates of several drafters (variants) at the same places of held-out texts. At row i of
 * a text a drafter has observed the earlier rows and is given the newest token x_i; the truth is the model's argmax
 * after it. No other data of row i or later reaches a drafter, and the states of earlier rows do not depend on later
 * tokens. */
#ifndef GEODEC_DRAFTERS_ABLATION_H
#define GEODEC_DRAFTERS_ABLATION_H

#include "base/hooks.h"
#include "decode/drafter.h"
#include "drafters/step.h"
#include "linalg/counts.h"
#include "linalg/stats.h"

enum { GEODEC_ABLATION_MAX = 24, GEODEC_ABLATION_TOP = 8 };

typedef struct geodec_ablation_variant {
    const char *name;
    geodec_drafter *drafter; /* must have `children` and must not request candidates (wants_top) */
    int32_t base;            /* the variant this one is compared with, -1 = none */
} geodec_ablation_variant;

/* Figures with intervals: a bootstrap over texts. */
typedef struct geodec_ablation_figures {
    geodec_estimate top1, top8;   /* share of places whose truth is the first child, among the first 8 */
    geodec_estimate claimed;      /* mean confidence of the first child (0 where there is none): calibrated alpha */
    geodec_estimate gain1, gain8; /* top1 and top8 less those of the base, paired; 0 without one */
    int64_t places;
} geodec_ablation_figures;

/* Measures at most `places` places of the test texts of `seed`: whole texts, evenly spaced, without the first row of
 * each. replicates: bootstrap resamples. out [n]. GEODEC_INVAL: a drafter cannot be a variant; GEODEC_NUMERIC: there
 * are no test texts; GEODEC_INTERRUPTED. */
geodec_status geodec_ablation_run(const geodec_activations *a, const geodec_step_rows *rows, uint64_t seed,
                                  int64_t places, int64_t replicates, const geodec_ablation_variant *variant, int32_t n,
                                  const geodec_hooks *hooks, geodec_ablation_figures *out,
                                  geodec_err *err) GEODEC_MUST_USE;

/* A drafter that proposes a cell's most frequent labels: cell 0, or with by_token the cell of the newest token. counts
 * is borrowed. Source: "table". */
geodec_status geodec_ablation_counts_drafter(const geodec_counts *counts, const char *name, bool by_token,
                                             geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;

#endif
