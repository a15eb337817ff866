/* The cases of the experiment, a metric, a layer and a kind of keys each, and their artifact. */
#ifndef GEODEC_LAB_VARADHAN_CASES_H
#define GEODEC_LAB_VARADHAN_CASES_H

#include "base/hooks.h"
#include "lab/harness/charts.h"
#include "lab/varadhan/varadhan.h"

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
    int64_t n_cases, columns, n_queries; /* columns: attention heads of the model, and all together; queries at most */
    bool any, near;                      /* kinds of keys */
} geodec_varadhan_cases;

/* The gradients of a case's queries. C columns, K = GEODEC_VARADHAN_KEYS, F = GEODEC_VARADHAN_FORMS, n the chart's
 * dimension. */
typedef struct geodec_varadhan_asked {
    int64_t count, columns;
    double *gradient; /* [count][C][F][n] */
    double *inside;   /* [count][C][F] share of the gradient's square that lies in the chart */
    double *along;    /* [count][C][F][2] */
    double *weight;   /* [count][C] */
    double *state;    /* [count][1 + K][n] the query's and its keys' */
    int32_t *text;    /* [count] */
} geodec_varadhan_asked;
/* A seeded choice of held-out states of `layer` as queries of the block after it, each with K different keys of its own
 * text: at random, or (near) two of them the nearest in the chart. Position 0 is no key: it is the same state in every
 * text. GEODEC_SCARCE when fewer than two states have enough keys. */
geodec_status geodec_varadhan_ask(const geodec_varadhan_cases *s, const geodec_harness_charted *c, int32_t layer,
                                  bool near, geodec_varadhan_asked *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_varadhan_asked_clear(geodec_varadhan_asked *g);

/* For geodec_harness_charts_fitted and its like, ctx: the cases. GEODEC_LIMIT: too many. */
geodec_status geodec_varadhan_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                        const geodec_harness_sites *f, const char *metric,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact of geodec_varadhan_kind; the caller commits. */
geodec_status geodec_varadhan_cases_write(const geodec_varadhan_cases *s, geodec_artifact *a,
                                          geodec_err *err) GEODEC_MUST_USE;
/* Logs the figures in words. */
void geodec_varadhan_cases_say(const geodec_hooks *hooks, const geodec_varadhan_cases *s);

#endif
