/* How a mixture of experts divides a text's tokens among its experts, by layer.
 *
 * A text is read in windows without overlap (as geodec_perplexity_options with stride 0), with BOS first if the
 * tokenizer has one. All tokens count. The load of an expert is its share of all choices of the layer; the Gini
 * coefficient of n loads x in ascending order is sum_i (2 i - n - 1) x_i / (n sum_i x_i), i = 1 .. n: 0 when all are
 * equal, 1 - 1/n when one expert has them all. The controls are for routers that choose k of n experts at random with
 * equal probability: the Gini coefficient of T tokens is then about sqrt((n - k) / (pi T k)), and k/n of a token's
 * experts were also the experts of the token before it. */
#ifndef GEODEC_EVALUATE_ROUTING_H
#define GEODEC_EVALUATE_ROUTING_H

#include "base/hooks.h"
#include "base/pool.h"
#include "evaluate/scorer.h"

#include <stddef.h>
#include <stdio.h>

typedef struct geodec_routing_options {
    int32_t window;      /* tokens of a window, BOS included; >= 2 */
    int64_t max_windows; /* 0 = all */
} geodec_routing_options;

typedef struct geodec_routing_layer {
    bool routed;        /* the layer has experts; else all else is 0 */
    double least, most; /* smallest and largest load */
    double gini;
    double entropy; /* of the loads, bits; log2 n when all are equal */
    double repeat;  /* share of a token's experts that are experts of the token before it in its window */
    int64_t unused; /* experts that no token used */
} geodec_routing_layer;

typedef struct geodec_routing_profile {
    int32_t n_layer, n_expert, n_expert_used;
    int32_t n_routed; /* layers with experts */
    int64_t windows, tokens;
    geodec_routing_layer *layer; /* [n_layer] */
    int64_t *count;              /* [n_layer][n_expert] choices */
    double random_gini, random_repeat;
} geodec_routing_profile;
void geodec_routing_free(geodec_routing_profile *p);

/* The Gini coefficient of n >= 1 counts; NaN if all are 0. */
geodec_status geodec_routing_gini(int64_t n, const int64_t *count, double *gini, geodec_err *err) GEODEC_MUST_USE;

/* The result does not depend on the pool. GEODEC_UNSUPPORTED (no experts, float64), GEODEC_RANGE (options),
 * GEODEC_FORMAT (empty, not UTF-8), GEODEC_SCARCE (too short). */
geodec_status geodec_routing_run(const geodec_scorer_evaluation *e, const geodec_routing_options *o, const char *text,
                                 size_t n, geodec_pool *pool, const geodec_hooks *hooks, geodec_routing_profile *out,
                                 geodec_err *err) GEODEC_MUST_USE;

/* A row for each layer with experts, and one of means over them. */
geodec_status geodec_routing_table(FILE *out, const geodec_model *m, const geodec_routing_profile *p,
                                   geodec_err *err) GEODEC_MUST_USE;
/* A row for each expert: model, layer, expert, choices, load. */
geodec_status geodec_routing_loads_table(const char *path, const geodec_model *m, const geodec_routing_profile *p,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
