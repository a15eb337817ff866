/* The cases of the experiment, a metric along tokens or layers each, and their artifact. */
#ifndef GEODEC_LAB_GEODESICITY_CASES_H
#define GEODEC_LAB_GEODESICITY_CASES_H

#include "base/hooks.h"
#include "lab/geodesicity/geodesicity.h"
#include "lab/geodesicity/set.h"
#include "lab/harness/charts.h"

enum { GEODEC_GEODESICITY_CASES = 256 };

typedef struct geodec_geodesicity_case {
    const char *along;  /* "tokens" or "layers" */
    const char *metric; /* kind of the metric */
    int32_t layer;      /* of the start */
    geodec_geodesicity figures;
    double set_share; /* of the variance of the training states, in the coordinates of set */
    geodec_geodesicity_set
        set; /* first case of each layer along tokens; all zero elsewhere, and where it was not measured */
} geodec_geodesicity_case;

typedef struct geodec_geodesicity_cases {
    geodec_harness_charts charts;
    geodec_geodesicity_options o;
    geodec_geodesicity_set_options set;
    int64_t set_dim;  /* dimension of the set; 0: that of the chart, at most GEODEC_QUADRATIC_MAX_N; -1: no set */
    double set_share; /* least share of the variance of the training states in the coordinates of the set; 0: 0.99 */
    geodec_geodesicity_case cases[GEODEC_GEODESICITY_CASES];
    int64_t n_cases;
} geodec_geodesicity_cases;

/* For geodec_harness_charts_fitted and its like, ctx: the cases. GEODEC_LIMIT: too many. */
geodec_status geodec_geodesicity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                           const geodec_harness_sites *f, const char *metric,
                                           geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact of geodec_geodesicity_kind; the caller commits. */
geodec_status geodec_geodesicity_cases_write(const geodec_geodesicity_cases *s, geodec_artifact *a,
                                             geodec_err *err) GEODEC_MUST_USE;
/* Logs the figures in words. */
void geodec_geodesicity_cases_say(const geodec_hooks *hooks, const geodec_geodesicity_cases *s);

#endif
