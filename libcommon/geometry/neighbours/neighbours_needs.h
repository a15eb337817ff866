/* What geodec_neighbours_search needs. */
#ifndef GEODEC_NEIGHBOURS_NEIGHBOURS_NEEDS_H
#define GEODEC_NEIGHBOURS_NEIGHBOURS_NEEDS_H

#include "base/needs.h"
#include "neighbours/neighbours.h"
#include "neighbours/search.h"

/* Adds sizes, memory and time of a rank's search. All points are read, unless they have more than 2^26 coordinates;
 * then a part of them is, evenly spaced, and the time of a query grows with the square root of the number of points (in
 * proportion to it in more than 32 dimensions; docs/results/scaling.md has the exponents that were measured). A divided
 * search is taken to need as long as an undivided one, and to read the points two more times. */
geodec_status geodec_neighbours_needs(const geodec_neighbours_source *points, const geodec_neighbours_source *queries,
                                      const geodec_neighbours_options *o, int64_t checked, double budget,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
