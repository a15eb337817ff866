/* How much of a step along a text is the geodesic continuation: the check of a world of texts, from its points without
 * noise. */
#ifndef GEODEC_LAB_WORLDS_STEPS_H
#define GEODEC_LAB_WORLDS_STEPS_H

#include "lab/worlds/worlds.h"

/* Over the rows with a successor (the next position) that was not turned back. Chords in R^D. */
typedef struct geodec_world_steps {
    int64_t counted;
    double length; /* root of the mean square of a step */
    double share;  /* coefficient of the steps on the continuations of length `step`; geodesic texts: about `share`, and
                    * exactly 1 for share 1 */
    double error;  /* sum of |step - continuation|^2 over the sum of |step|^2 */
    double straight; /* the same for the step before continued straight: no geometry */
    double random;   /* control: the coefficient on geodesics in random directions */
} geodec_world_steps;

/* All 0 for independent rows and without a geometry. GEODEC_NUMERIC. */
geodec_status geodec_world_steps_measure(const geodec_world *w, geodec_world_steps *out,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
