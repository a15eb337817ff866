/* Adaptation of a PERSPECTIVE model to a text without a backward pass (perspective/dual/adapt_forward.h): adapters of
 * low rank on the gates of some recurrent layers, by derivatives in random directions, or the places of the experts, by
 * an evolution strategy. Each step is measured on other text of which none is used, and undone when that loss rises. */
#ifndef GEODEC_ADAPT_ADAPTATION_H
#define GEODEC_ADAPT_ADAPTATION_H

#include "base/hooks.h"
#include "lab/adapt/network_tangents.h"
#include "lab/perspective/dual/adapt_forward.h"
#include "train/text.h"

#include <stdbool.h>

typedef struct geodec_adaptation_options {
    bool places;        /* move experts; else adapters */
    int64_t windows;    /* of the text, and as many of the held-out text; >= 1 */
    int64_t steps;      /* 0: none, which changes no bit */
    int64_t directions; /* derivatives of a step, or pairs of candidates; 0: as many as fit the budget */
    double rate, lambda, rise;
    double sigma;  /* of the candidates' noise */
    double budget; /* seconds of a step, for directions 0 */
    bool exact;    /* also measure the control of the exact gradient: as many evaluations as numbers */
    uint64_t seed;
} geodec_adaptation_options;

typedef struct geodec_adaptation {
    int64_t numbers;            /* that are adapted */
    int64_t directions;         /* used */
    double seconds;             /* processor time of one evaluation of all windows, with its derivative */
    geodec_adapt_report report; /* losses in nats a token */
    /* Controls at the length of the result from the start: the losses after as long a step in a random direction, and
     * after one down the exact gradient at the start (NaN: not measured). */
    double length, random, random_held, exact, exact_held;
    double *x; /* [numbers] adapters, or places */
} geodec_adaptation;
void geodec_adaptation_clear(geodec_adaptation *a);

/* The network has as many threads as the pool. With a pool or without, the same bits. GEODEC_SCARCE (a text is too
 * short for its windows), GEODEC_RANGE (options), GEODEC_NUMERIC, GEODEC_NOMEM, GEODEC_INTERRUPTED. */
geodec_status geodec_adaptation_run(geodec_network *n, int64_t length, const geodec_text *text,
                                    const geodec_text *held_out, const geodec_adaptation_options *o, geodec_pool *pool,
                                    const geodec_hooks *hooks, geodec_adaptation *out, geodec_err *err) GEODEC_MUST_USE;

#endif
