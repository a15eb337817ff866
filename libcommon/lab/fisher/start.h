/* The exact Fisher field (fisher/fisher_field.h) at one state of a text, in a chart through it, and what its geodesics
 * say of the states before and after.
 *
 * In the chart x_k + B^T z the state has z = 0, and its neighbours in the text the coordinates z_- = B (x_(k-1) - x_k)
 * and z_+ = B (x_(k+1) - x_k). The metric is that of position k, its text held fixed: the next state, which has one
 * token more before it, is at another position, and only compared with what the geodesic foretells.
 *
 * Lengths: the geodesic between the state and the one before, against the chord, which is no shorter, and the distance
 * among all distributions, which is no longer.
 *
 * Continuation, one step ahead: stay, 0; line, -z_-; geodesic, exp(-z_-); geodesic_log, exp(-w) with exp(w) = z_-, the
 * geodesic through both states. Errors |predicted - z_+|, in the chart and in the metric at z_+.
 *
 * Planted control: states that are geodesic by construction, exp(-u) and exp(u) with u = -z_- / 4, as the stage
 * geodesicity has them: geodesic_log must find the second from the first, and the line's error there is how far a
 * geodesic bends. */
#ifndef GEODEC_LAB_FISHER_START_H
#define GEODEC_LAB_FISHER_START_H

#include "fisher/fisher_field.h"

typedef enum geodec_fisher_predictor {
    GEODEC_FISHER_STAY,
    GEODEC_FISHER_LINE,
    GEODEC_FISHER_GEODESIC,
    GEODEC_FISHER_GEODESIC_LOG,
    GEODEC_FISHER_PREDICTORS
} geodec_fisher_predictor;
extern const char *const geodec_fisher_predictor_names[]; /* "stay", .. by number, then NULL */

typedef struct geodec_fisher_start_options {
    int64_t steps;    /* of Runge and Kutta for a geodesic; default 16, at most GEODEC_LOGMAP_STEPS */
    double drift_max; /* of g(v,v), above which a geodesic counts as broken; default 1e-2 */
    double tolerance; /* of the logarithm, in lengths of z_-; default 1e-4 */
    int rounds;       /* of its iteration, at most; default 10 */
    double widest;    /* first step of the differences, as a share of |x_k|; default 0.01 */
    int rungs;        /* steps that are tried, by halves; default 6 */
} geodec_fisher_start_options;
geodec_fisher_start_options geodec_fisher_start_defaults(void);

/* NaN: not measured (a geodesic broke down or was not found). */
typedef struct geodec_fisher_start {
    int64_t row;   /* of the activations */
    int32_t text;  /* unit of the split */
    bool singular; /* the metric is not positive definite at the state: nothing else is measured, numbers are NaN */
    geodec_fisher_curvature curvature;
    double error;       /* of the mean sectional curvature: its change from the step before */
    double step;        /* of the differences, as a share of |x_k| */
    double differences; /* mean sectional curvature from a differentiated connection; NaN where not asked for */
    double inside;      /* share of |x_(k+1) - x_k|^2 in the chart; the caller's */
    double chord, chord_error, geodesic, bound; /* Fisher lengths to the state before */
    double length[2];                           /* |z_+|: chart, metric at z_+ */
    double miss[GEODEC_FISHER_PREDICTORS][2];
    double planted_length, planted[2]; /* |exp(u)|, errors of line and geodesic_log; chart */
    int64_t tangents, points;          /* cost; the caller's */
} geodec_fisher_start;

/* f is of the chart, its step is set here. size: |x_k|. before, after [n] = z_-, z_+. Fills all but the caller's
 * members. GEODEC_RANGE (options); breaking down is a result. */
geodec_status geodec_fisher_start_measure(geodec_fisher_field *f, double size, const double *before,
                                          const double *after, bool check, const geodec_fisher_start_options *o,
                                          geodec_fisher_start *out, geodec_err *err) GEODEC_MUST_USE;

#endif
