/* The harness's block summaries: geodesics of the sampled manifold cut into blocks, their points "transported" to a
 * query by the propagator of the nearest anchor, or by a blend of the four nearest with weights fitted to the answer
 * itself (least squares, negative weights cut off, divided by their sum). Errors are divided by the length of the
 * answer's coordinates from the origin of the chart, not by the distance that the path moved.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_BLOCKS_H
#define GEODEC_LAB_PUBLISHED_BLOCKS_H

#include "artifact/artifact.h"
#include "lab/harness/manifold.h"

enum { GEODEC_PUBLISHED_BLOCKS = 8, GEODEC_PUBLISHED_BLOCK_STEPS = 4, GEODEC_PUBLISHED_BLOCK_TOP = 4 };

typedef struct geodec_published_block {
    /* mean, median, 95th percentile over the queries; index 0 propagator of the nearest, 1 blend */
    double mean[2], p50[2], p95[2];
    double displacement[2]; /* control: mean error over mean displacement of the true point from the query */
    double shift;           /* control: the same without any propagator, nearest anchor moved along */
} geodec_published_block;

typedef struct geodec_blocks_published {
    int64_t anchors, queries;
    geodec_published_block block[GEODEC_PUBLISHED_BLOCKS + 1];
    double nearest[3];  /* g-distance of the nearest anchor: mean, median, 95th percentile */
    double distinct[2]; /* share of different indices among the four nearest: mean, least; 1 by construction */
} geodec_blocks_published;

/* point [points][n]; anchor [anchors] at least 4 of them, velocity [anchors][n] of any length (scaled to unit speed),
 * query [queries]; 8 blocks of 4 steps of 0.05. nearest: use the metric of the nearest sample, as the printed figures
 * do; else today's accessor, which smooths the samples again.
 * GEODEC_RANGE, GEODEC_NUMERIC (a path that is not finite included), GEODEC_NOMEM, GEODEC_INTERRUPTED. */
geodec_status geodec_blocks_published_run(int64_t points, int64_t n, const double *point, int64_t anchors,
                                          const int64_t *anchor, const double *velocity, int64_t queries,
                                          const int64_t *query, bool nearest, geodec_pool *pool,
                                          const geodec_hooks *hooks, geodec_blocks_published *out,
                                          geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_blocks_published_kind;
/* b with the metric of the nearest sample, today with the accessor; given: the samples were given. */
geodec_status geodec_blocks_published_write(const geodec_blocks_published *b, const geodec_blocks_published *today,
                                            bool given, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

enum { GEODEC_PUBLISHED_BLOCKS_LIST = 4096 }; /* anchors, queries or points at most */
/* Anchors and velocities [*found][n]: the rows (number of the point, velocity) of the text table at `path`, or, where
 * that is NULL, at random. taken [count]: points that are in use, 0 or 1. GEODEC_FORMAT, GEODEC_RANGE. */
geodec_status geodec_blocks_published_anchors(const char *path, uint64_t seed, int64_t count, int64_t n,
                                              int64_t *anchor, double *velocity, int64_t *found, uint8_t *taken,
                                              geodec_err *err) GEODEC_MUST_USE;
/* Queries: numbers separated by commas, or, where the list is NULL, at random among the points that are not taken.
 * GEODEC_INVAL. */
geodec_status geodec_blocks_published_queries(const char *list, uint64_t seed, int64_t count, int64_t *query,
                                              int64_t *found, uint8_t *taken, geodec_err *err) GEODEC_MUST_USE;

#endif
