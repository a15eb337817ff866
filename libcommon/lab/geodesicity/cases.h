/* The cases of the experiment, a metric along tokens or layers each, and their artifact. */
#ifndef GEODEC_LAB_GEODESICITY_CASES_H
#define GEODEC_LAB_GEODESICITY_CASES_H

#include "base/hooks.h"
#include "lab/geodesicity/geodesicity.h"
#include "lab/harness/charts.h"

enum { GEODEC_GEODESICITY_CASES = 256 };

typedef struct geodec_geodesicity_case {
    const char *along;  /* "tokens" or "layers" */
    const char *metric; /* kind of the metric */
    int32_t layer;      /* of the start */
    geodec_geodesicity figures;
} geodec_geodesicity_case;

typedef struct geodec_geodesicity_cases {
    geodec_harness_charts charts;
    geodec_geodesicity_options o;
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
