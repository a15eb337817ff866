/* The seeded orthogonal map into R^D. */
#include "base/vec_internal.h"
#include "lab/worlds/worlds_internal.h"

#include <string.h>

void geodec__world_map_make(uint64_t seed, int64_t reflections, int64_t d, double *v)
{
    for (int64_t k = 0; k < reflections; k++) {
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("worlds map", (uint64_t)k));
        double *row = v + k * d;
        memset(row, 0, (size_t)d * sizeof *row);
        /* a uniform direction of the last d - k axes goes to axis k; of the last axis alone nothing is left but a sign
         */
        geodec__world_unit(&r, d - k, row + k);
        row[k] += row[k] < 0 ? -1 : 1;
        const double scale = sqrt(2 / geodec__dot(d - k, row + k, row + k));
        for (int64_t i = k; i < d; i++) row[i] *= scale;
    }
}

void geodec__world_map_apply(int64_t reflections, int64_t d, const double *v, double *x)
{
    for (int64_t k = reflections - 1; k >= 0; k--) {
        const double *row = v + k * d, along = geodec__dot(d - k, row + k, x + k);
        for (int64_t i = k; i < d; i++) x[i] -= along * row[i];
    }
}
