/* How much of a step along a text is the geodesic continuation: the check of a world of texts, from its points without
 * noise. */
#ifndef GEODEC_LAB_WORLDS_STEPS_H
#define GEODEC_LAB_WORLDS_STEPS_H

#include "lab/worlds/worlds.h"

/* Over the steps to a row at the next position that were not turned back. With edges the steps that are counted are a
 * biased part of all: `share` is then what they have, below what was asked for. */
typedef struct geodec_world_steps {
    int64_t counted;
    double share;  /* coefficient of the steps on the headings, in the tangent space: geodesic texts without edges: the
                    * option, and exactly 1 for share 1 */
    double random; /* control: on random unit directions */
    double length; /* root of the mean square chord of a step, in R^D */
    double error;  /* sum of |chord - chord of the continuation of length `step`|^2 over that of |chord|^2 */
    double straight; /* the same for the chord before, continued straight: no geometry */
} geodec_world_steps;

/* All 0 for independent rows and without a geometry. GEODEC_NUMERIC. */
geodec_status geodec_world_steps_measure(const geodec_world *w, geodec_world_steps *out,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
