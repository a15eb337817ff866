/* Adaptation without a backward pass: adapters of low rank, gradients from derivatives in random directions, evolution
 * strategies on positions, a pull towards the start, and a return to the best point when held-out loss rises.
 *
 * Random numbers are functions of (seed, index): the same step gives the same bits with any number of threads. */
#ifndef GEODEC_PERSPECTIVE_DUAL_ADAPT_FORWARD_H
#define GEODEC_PERSPECTIVE_DUAL_ADAPT_FORWARD_H

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- adapters ---------------------------------------------------------------------------------------------------- */

/* W + B A: A [rank][cols] ~ N(0, 1 / cols), then B [rows][rank] = 0, in one vector [rank (cols + rows)]. With A = 0 too
 * (the published start) all first derivatives are 0 and the adapter never moves. Adapter `index` of the seed. */
void geodec_adapt_lora(int64_t rows, int64_t cols, int64_t rank, uint64_t seed, uint64_t index, double *ab);

/* ---- gradients from directions ----------------------------------------------------------------------------------- */

/* Loss at x [n] and its derivative in the direction v [n]. Called from several threads with a pool; worker:
 * base/pool.h. */
typedef geodec_status (*geodec_adapt_jvp)(void *ctx, int64_t n, const double *x, const double *v, int worker,
                                          double *loss, double *derivative, geodec_err *err);

typedef struct geodec_adapt_directions {
    int64_t count;        /* K >= 1 */
    uint64_t seed, index; /* of the estimate */
    /* Directions N(0, I / n) in place of N(0, I), for comparison: the published estimator, whose mean is the gradient
     * divided by n. */
    bool published;
} geodec_adapt_directions;
/* gradient [n] = 1 / K sum_k (derivative in v_k) v_k, v_k ~ N(0, I): its mean is the gradient (Baydin et al. 2022), its
 * variance, summed over coordinates, (n + 1) / K of the gradient's square: of use where n is small. *loss (may be
 * NULL): at x. GEODEC_RANGE (K or n < 1), GEODEC_NUMERIC (a loss or derivative not finite), GEODEC_NOMEM, errors of
 * jvp. */
geodec_status geodec_adapt_gradient(geodec_adapt_jvp jvp, void *ctx, int64_t n, const double *x,
                                    const geodec_adapt_directions *o, double *gradient, double *loss, geodec_pool *pool,
                                    geodec_err *err) GEODEC_MUST_USE;

/* ---- evolution strategies ---------------------------------------------------------------------------------------- */

/* The loss at x [n], lower is better; it need not be continuous. */
typedef geodec_status (*geodec_adapt_loss)(void *ctx, int64_t n, const double *x, int worker, double *loss,
                                           geodec_err *err);

typedef struct geodec_adapt_nes {
    int64_t pairs;        /* >= 1; each is evaluated at x + sigma e and x - sigma e */
    double sigma;         /* > 0 */
    const double *period; /* [n] of a torus: candidates are wrapped into [0, period); NULL or 0 = no wrap */
    uint64_t seed, index;
} geodec_adapt_nes;
/* gradient [n] = 1 / sigma sum_i u_i e_i, a direction of ascent of the loss (to be stepped against). u: utilities of
 * the ranks (Wierstra et al. 2014), which sum to 0, so that only the order of the losses counts; equal losses share
 * theirs. GEODEC_RANGE, GEODEC_NUMERIC (a loss that is NaN), GEODEC_NOMEM, errors of loss. */
geodec_status geodec_adapt_nes_gradient(geodec_adapt_loss loss, void *ctx, int64_t n, const double *x,
                                        const geodec_adapt_nes *o, double *gradient, geodec_pool *pool,
                                        geodec_err *err) GEODEC_MUST_USE;

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* Published weights of the anchor; the two documents differ. */
#define GEODEC_ADAPT_ANCHOR_ADAPTERS 0.01
#define GEODEC_ADAPT_ANCHOR_POSITIONS 0.1

/* x into [0, period); unchanged where the period is 0. */
double geodec_adapt_wrap(double x, double period);
/* x -= rate (gradient + 2 lambda (x - anchor)), [n]: a step down the loss + lambda |x - anchor|^2. On a torus the
 * difference is the shorter way round, and x is wrapped (period as above). A rate of 0 changes no bit. gradient NULL =
 * zero; anchor NULL: none. */
void geodec_adapt_step(int64_t n, double rate, const double *gradient, double lambda, const double *anchor,
                       const double *period, double *x);

/* How many evaluations fit into a budget, from the measured time of one: least <= result <= most. least where the time
 * is not a positive number. */
int64_t geodec_adapt_fit(double budget, double seconds_each, int64_t least, int64_t most);

/* What is adapted. */
typedef struct geodec_adapt_problem {
    geodec_adapt_jvp jvp;       /* for gradients from directions; may be NULL with sigma > 0 */
    geodec_adapt_loss loss;     /* of the adaptation text, for evolution strategies; may be NULL with sigma 0 */
    geodec_adapt_loss held_out; /* of text of which no step uses any */
    void *ctx;                  /* of all three */
} geodec_adapt_problem;

typedef struct geodec_adapt_run {
    int64_t steps, directions; /* directions, or pairs of candidates */
    double sigma;              /* > 0: evolution strategy with this noise; 0: gradients from directions */
    const double *period;      /* [n], as above */
    double rate, lambda;
    double rise; /* most relative rise of the held-out loss over its start, 0.01; above it the run ends */
    uint64_t seed;
} geodec_adapt_run;
typedef struct geodec_adapt_report {
    int64_t steps;           /* made */
    int64_t kept;            /* step of the point that was returned; 0 = the start */
    double start, end;       /* loss on the adaptation text, at the start and at the point returned */
    double held_start, held; /* held-out loss likewise */
    bool rolled_back;
} geodec_adapt_report;
/* Steps from x [n] down the estimated gradient, anchored at the start. After each the held-out loss is measured. When
 * it has risen by more than `rise`, the run ends and x returns to the last point that had not. x is unchanged on
 * failure. GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_NOMEM, errors of the functions. */
geodec_status geodec_adapt_descend(const geodec_adapt_problem *p, int64_t n, double *x, const geodec_adapt_run *o,
                                   geodec_adapt_report *report, geodec_pool *pool, geodec_err *err) GEODEC_MUST_USE;

#endif
