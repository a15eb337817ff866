/* The exact Fisher field at states of held-out texts, layer by layer and chart by chart, and its artifact.
 *
 * Charts through each state, all of the same dimension: `principal`, the leading principal directions of the states of
 * training texts at the layer; `output`, the directions that change the next token most, the leading eigenvectors of
 * the Fisher metric of the whole stream at the state; `random`, orthonormal directions at random, the control. The
 * controls of the method are families of known curvature (fisher/fisher_closed.h), computed by the same functions. */
#ifndef GEODEC_LAB_FISHER_CASES_H
#define GEODEC_LAB_FISHER_CASES_H

#include "artifact/artifact.h"
#include "fisher/fisher_closed.h"
#include "lab/fisher/start.h"
#include "lab/harness/charts.h"

typedef enum geodec_fisher_basis {
    GEODEC_FISHER_PRINCIPAL,
    GEODEC_FISHER_OUTPUT,
    GEODEC_FISHER_RANDOM,
    GEODEC_FISHER_BASES
} geodec_fisher_basis;
extern const char *const geodec_fisher_basis_names[]; /* "principal", .. by number, then NULL */
enum { GEODEC_FISHER_CASES = 256 };

typedef struct geodec_fisher_case {
    int32_t layer, basis;
    int64_t starts, texts, singular; /* states; texts they are from; states without a metric */
    /* medians over the starts, with the order statistics that bound a 95 % interval (the extremes for fewer than 6) */
    geodec_estimate sectional, sectional_min, sectional_max, second, condition;
    double error, asymmetry;      /* largest over the starts of error / max(1, |sectional|), and of the asymmetry */
    int64_t checked;              /* starts with a curvature from a differentiated connection */
    double differences;           /* largest |difference| to it / max(1, |sectional|) */
    geodec_estimate inside;       /* sum |z_+|^2 / sum |x_(k+1) - x_k|^2 */
    int64_t found;                /* starts with a geodesic to the state before */
    geodec_estimate geodesic;     /* their mean Fisher length */
    geodec_estimate chord, bound; /* sum of chords, and of distances among all distributions, over sum of geodesics */
    int64_t counted[GEODEC_FISHER_PREDICTORS][2];
    geodec_estimate miss[GEODEC_FISHER_PREDICTORS][2];    /* sum |error| / sum |z_+| */
    geodec_estimate to_line[GEODEC_FISHER_PREDICTORS][2]; /* less the line's, at the same starts */
    geodec_estimate to_stay[GEODEC_FISHER_PREDICTORS][2]; /* less that of no movement */
    int64_t planted;
    geodec_estimate planted_miss[2]; /* line, geodesic_log, in planted steps */
    double tangents, points;         /* of a start, mean */
} geodec_fisher_case;

typedef struct geodec_fisher_cases {
    geodec_harness_charts charts; /* with a model */
    geodec_harness_split split;
    geodec_fisher_start_options o;
    int64_t n, starts, checks; /* dimension; states of a layer, at most; starts of a case that are checked */
    int64_t replicates;        /* of the bootstrap */
    geodec_fisher_case cases[GEODEC_FISHER_CASES];
    int64_t n_cases;
    geodec_fisher_start *start; /* [n_starts], those of a case together */
    int32_t *of;                /* [n_starts] case */
    int64_t n_starts;
    double family[GEODEC_FISHER_CLOSED][2]; /* mean sectional curvature: measured, exact */
} geodec_fisher_cases;

/* 4 dimensions, 32 starts, 1 check, 1000 replicates. */
geodec_fisher_cases geodec_fisher_cases_defaults(void);
/* The controls of the method. */
geodec_status geodec_fisher_cases_families(geodec_fisher_cases *s, geodec_err *err) GEODEC_MUST_USE;
/* Every chart at a layer of the model. GEODEC_NOTFOUND (layer), GEODEC_RANGE, GEODEC_SCARCE (starts, states for the
 * chart), GEODEC_LIMIT (cases), GEODEC_UNSUPPORTED (texts that are not whole). The same bytes with any number of
 * threads. */
geodec_status geodec_fisher_cases_add(geodec_fisher_cases *s, int32_t layer, geodec_err *err) GEODEC_MUST_USE;
void geodec_fisher_cases_say(const geodec_hooks *hooks, const geodec_fisher_cases *s);
/* Does not close the charts. */
void geodec_fisher_cases_clear(geodec_fisher_cases *s);
/* Fills a new artifact of geodec_fisher_cases_kind; the caller commits. */
geodec_status geodec_fisher_cases_write(const geodec_fisher_cases *s, geodec_artifact *a,
                                        geodec_err *err) GEODEC_MUST_USE;
extern const geodec_kind geodec_fisher_cases_kind;

#endif
