/* What baking a flow map needs. */
#ifndef GEODEC_FLOWMAP_FLOWMAP_NEEDS_H
#define GEODEC_FLOWMAP_FLOWMAP_NEEDS_H

#include "base/needs.h"
#include "flowmap/map.h"

/* Bakes maps of the first rows: of a 32nd and of a 16th (at least 2048 and 4096, if there are as many). The time grows
 * with a power of the rows between 1 and 2, which follows from the two. Memory for the other rows is added: 4 m (2 +
 * decays) + 12 bytes a row, m the coordinates of a state, and the bytes of the map. *bytes: of the map. Errors: those
 * of the stage. */
geodec_status geodec_flowmap_needs(const geodec_activations *states, const geodec_flowmap_options *o, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_needs *needs, double *bytes,
                                   geodec_err *err) GEODEC_MUST_USE;

#endif
