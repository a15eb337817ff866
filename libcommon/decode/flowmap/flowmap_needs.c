#include "flowmap/flowmap_needs.h"

#include "base/clock.h"

#include <math.h>

/* A map of the first rows: processor seconds, and bytes of the map for a row. */
static geodec_status bake(const geodec_activations *states, int64_t rows, const geodec_flowmap_options *o,
                          geodec_pool *pool, const geodec_hooks *hooks, double *seconds, double *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_activations part = *states;
    geodec_flowmap map = {0};
    const double begin = geodec_clock_process_seconds();
    part.rows = rows;
    GEODEC_TRY(geodec_flowmap_bake(&part, o, &map, NULL, pool, hooks, err));
    *seconds = geodec_clock_process_seconds() - begin;
    *bytes = (double)geodec_flowmap_bytes(&map) / (double)rows;
done:
    geodec_flowmap_clear(&map);
    return st;
}

/* Bytes of a row while the map is made: coordinates of the state, features, row of the node and node of the row. */
static double row_bytes(const geodec_activations *states, const geodec_flowmap_options *o)
{
    const double m = (double)(o->state_dims < states->d ? o->state_dims : states->d);
    return 4 * m + 4 * m * (double)(1 + o->decays) + 12;
}

geodec_status geodec_flowmap_needs(const geodec_activations *states, const geodec_flowmap_options *o, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_needs *needs, double *bytes, geodec_err *err)
{
    enum { LEAST = 2048, SHARE = 32 };
    const int64_t rows = states->rows,
                  small = rows / SHARE > LEAST ? rows / SHARE
                          : rows < LEAST       ? rows
                                               : LEAST,
                  large = 2 * small < rows ? 2 * small : rows;
    double first = 0, second, each;
    GEODEC_PASS(bake(states, small, o, pool, hooks, &first, &each, err));
    second = first;
    if (large > small) GEODEC_PASS(bake(states, large, o, pool, hooks, &second, &each, err));
    const double power = large > small && second > first
                             ? fmin(2, fmax(1, log(second / first) / log((double)large / (double)small)))
                             : 1;
    *bytes = each * (double)rows;
    geodec_needs_size(needs, "rows", (double)rows);
    geodec_needs_size(needs, "pilot_rows", (double)large);
    geodec_needs_memory(needs, "rows", (double)(rows - large) * (row_bytes(states, o) + each));
    geodec_needs_time(needs, "bake", 0, second * pow((double)rows / (double)large, power));
    return GEODEC_OK;
}
