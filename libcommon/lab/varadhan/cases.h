/* The cases of the experiment, a metric, a layer and a kind of keys each, and their artifact. */
#ifndef GEODEC_LAB_VARADHAN_CASES_H
#define GEODEC_LAB_VARADHAN_CASES_H

#include "base/hooks.h"
#include "lab/harness/charts.h"
#include "lab/varadhan/ask.h"

enum { GEODEC_VARADHAN_CASES = 256 };

typedef struct geodec_varadhan_case {
    const char *metric, *keys; /* kind of the metric; which keys: "any", "near" */
    int32_t layer;
    double inside[GEODEC_VARADHAN_FORMS]; /* mean share of the gradients' squared length in the chart, all heads */
    double weight;                        /* mean weight of the pairs, over heads */
    geodec_varadhan figures;
} geodec_varadhan_case;

typedef struct geodec_varadhan_cases {
    geodec_harness_charts charts;
    geodec_harness_split split;
    geodec_varadhan_options o;
    geodec_varadhan_case cases[GEODEC_VARADHAN_CASES];
    int64_t n_cases, columns, n_queries;
    bool any, near; /* kinds of keys */
} geodec_varadhan_cases;

/* For geodec_harness_charts_fitted and its like, ctx: the cases. GEODEC_LIMIT: too many. */
GEODEC_API geodec_status geodec_varadhan_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                                   const geodec_harness_sites *f, const char *metric,
                                                   geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact of geodec_varadhan_kind; the caller commits. */
GEODEC_API geodec_status geodec_varadhan_cases_write(const geodec_varadhan_cases *s, geodec_artifact *a,
                                                     geodec_err *err) GEODEC_MUST_USE;
/* Logs the figures in words. */
GEODEC_API void geodec_varadhan_cases_say(const geodec_hooks *hooks, const geodec_varadhan_cases *s);

#endif
