/* The temperature that makes a model's probabilities fit the targets best: the ordinary repair of a badly calibrated
 * model (Guo et al. 2017). It changes no choice. */
#ifndef GEODEC_PERSPECTIVE_MIXTURE_TEMPERATURE_H
#define GEODEC_PERSPECTIVE_MIXTURE_TEMPERATURE_H

#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

#define GEODEC_TEMPERATURE_MAX 100.0 /* and least 1 / 100 */
typedef struct geodec_temperature {
    double temperature;
    double before, after; /* nats a target at temperature 1 and at this one */
    bool bounded;         /* the loss still falls at the largest or smallest temperature */
    int32_t steps;        /* of Newton's method */
} geodec_temperature;
/* The temperature of least mean loss -ln softmax(logits / T)[target]: logits [n][v], target [n] in 0..v-1. The loss is
 * convex in 1 / T; Newton's method within a bracket, to 1e-10 of 1 / T. The same with any number of threads.
 * GEODEC_RANGE (n or v < 1, a target), GEODEC_NUMERIC (a logit not finite), GEODEC_NOMEM. */
geodec_status geodec_temperature_fit(int64_t n, int64_t v, const float *logits, const int32_t *target,
                                     geodec_temperature *out, geodec_pool *pool, geodec_err *err) GEODEC_MUST_USE;
/* confidence [n]: the largest probability at this temperature; right [n]: is it that of the target. Either may be NULL.
 */
void geodec_temperature_apply(int64_t n, int64_t v, const float *logits, const int32_t *target, double temperature,
                              double *confidence, uint8_t *right);

#endif
