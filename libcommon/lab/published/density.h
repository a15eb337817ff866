/* The published density of an online cloud: distances between consecutive states of one generation and from each state
 * to its nearest other one, by cosine or Euclid, compared with a radius.
 *
 *     ratio = (90th percentile of nearest distances) / radius;   ratio > 1.5: "enrichment" = ceil(ratio^2)
 *
 * None of it is a density. The nearest other state of a trajectory is its neighbour in time, a cosine distance is
 * compared with a radius in another metric, and otherwise the number of points needed grows as ratio^n, not ratio^2.
 * lab/density/density.h has the corrected measure.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_DENSITY_H
#define GEODEC_LAB_PUBLISHED_DENSITY_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"

#include <stdbool.h>

extern const geodec_kind geodec_density_published_kind;

/* The runtime's telemetry: lines "step TAB source TAB token TAB x_1 TAB .. x_d". Lines that begin with '#' are
 * comments, of which "dim=D" sets d. Lines with fewer than four cells or with cells that are not numbers are left out
 * and counted, as in the harness. */
typedef struct geodec_telemetry {
    int64_t states, d, left_out;
    double *state; /* [states][d] */
} geodec_telemetry;

enum { GEODEC_TELEMETRY_STATES = 1 << 20, GEODEC_TELEMETRY_DIM = 1 << 16 };
#define GEODEC_TELEMETRY_LINE ((int64_t)64 << 20)

/* Reads a file that may hold anything: GEODEC_LIMIT for a line of more than 64 MiB, too many states or a too wide one;
 * GEODEC_FORMAT for states of different widths, another width than the header's, GEODEC_SCARCE for fewer than two
 * states; GEODEC_NUMERIC for a number that is not finite; GEODEC_NOTFOUND, GEODEC_IO. */
geodec_status geodec_density_telemetry_read(const char *path, geodec_telemetry *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_density_telemetry_clear(geodec_telemetry *t);

typedef struct geodec_published_distances {
    int64_t count;
    double *value;              /* [count] in the order of the states */
    double mean, p50, p90, max; /* percentiles interpolated linearly */
} geodec_published_distances;

typedef struct geodec_density_published {
    int64_t states, d, left_out;
    bool cosine;
    geodec_published_distances consecutive, nearest; /* [states - 1], [states] */
    double radius, ratio;                            /* 0 without a radius */
    int64_t enrichment;                              /* 0 when the ratio is at most 1.5 */
} geodec_density_published;

/* radius 0 = none. A state shorter than 1e-12 is at cosine distance 1 from all. O(states^2 d). */
geodec_status geodec_density_published_run(const geodec_telemetry *t, bool cosine, double radius, geodec_pool *pool,
                                           const geodec_hooks *hooks, geodec_density_published *out,
                                           geodec_err *err) GEODEC_MUST_USE;
void geodec_density_published_clear(geodec_density_published *p);

#endif
