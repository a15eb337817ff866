/* Rows of which a known share has a near one. Centres are points of a lattice of spacing `radius`, each component moved
 * by at most an eighth of it; a family lies in the ball of diameter `tube` about its centre. */
#include "base/choose.h"
#include "base/mem.h"
#include "lab/worlds/worlds_internal.h"

#include <string.h>

/* Centre number c of a lattice with `side` points along each axis. */
static void centre(const geodec_world_options *o, int64_t c, int64_t side, double *y)
{
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("worlds centre", (uint64_t)c));
    for (int a = 0; a < o->n; a++, c /= side)
        y[a] = o->radius * ((double)(c % side) + (geodec_rng_uniform(&r) - 0.5) / 4);
}

geodec_status geodec__world_families(const geodec_world_options *o, geodec_world *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = o->n, rows = o->points;
    const int64_t families = (int64_t)(o->strength * (double)rows / o->family), in = families * o->family,
                  centres = rows - in + families;
    int64_t *place = NULL, *at = NULL, side = 1;
    w->families = families;
    while (pow((double)side, (double)n) < (double)centres) side++;
    GEODEC_NEW(place, rows);
    GEODEC_NEW(at, centres);
    geodec__choose_order(o->seed, geodec_rng_id("worlds rows", 0), rows, place);
    geodec__choose_order(o->seed, geodec_rng_id("worlds centres", 0), centres, at);
    for (int64_t i = 0; i < rows; i++) {
        double *y = w->y + place[i] * n, near[GEODEC__WORLD_N] = {0};
        geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("worlds member", (uint64_t)i));
        const int64_t c = i < in ? i / o->family : families + i - in;
        centre(o, at[c], side, y);
        if (i < in) geodec__world_ball(&r, n, w->tube / 2, near);
        for (int64_t a = 0; a < n; a++) y[a] += near[a];
        w->covered[place[i]] = i < in;
    }
    memcpy(w->parameter, w->y, (size_t)(rows * n) * sizeof *w->y);
done:
    GEODEC_FREE(place, at);
    return st;
}
