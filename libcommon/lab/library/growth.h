/* Convergence of a library: a stream of queries, each of which finds a stored one within `radius` (a hit) or is
 * stored.
 *
 * Since every miss is stored, hits and stored add up to the queries: one number, not two. A converging library differs
 * from a growing one by the hit rate of the second half and the exponent of growth, ln(stored) = a + exponent ln(seen),
 * 1 for a library that never repeats and 0 for a finished one. */
#ifndef GEODEC_LAB_LIBRARY_GROWTH_H
#define GEODEC_LAB_LIBRARY_GROWTH_H

#include "base/err.h"
#include "base/hooks.h"

#include <stdint.h>

typedef struct geodec_library_summary {
    int64_t queries, stored;
    double hit_rate, second_half; /* shares of hits */
    double exponent;              /* of growth, fitted to seen = 1, 2, 4, .. and all; 0 below 4 queries */
    double distance, rms_spacing; /* mean distance of a hit to its record; rms distance of a query to the mean: that of
                                     a random hit */
} geodec_library_summary;

/* query [queries][n], in their order; hit [queries] 1 or 0 and assigned [queries] (number of the record, its own new
 * one for a miss) may be NULL. A hit goes to the Euclid-nearest record at a distance <= radius, the first stored of
 * several. GEODEC_RANGE, GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED. O(queries stored n). */
GEODEC_API geodec_status geodec_library_run(int64_t queries, int64_t n, const double *query, double radius,
                                            const geodec_hooks *hooks, uint8_t *hit, int64_t *assigned,
                                            geodec_library_summary *out, geodec_err *err) GEODEC_MUST_USE;

#endif
