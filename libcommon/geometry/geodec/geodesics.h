/* The geodesics artifact: geodesics of a metric that begin at points of the cloud, with the initial velocity taken from
 * the text (the step from a state to the next one of its sequence) or sampled at random.
 *
 * Dimensions: P paths, S = T + 1 nodes, n coordinates. */
#ifndef GEODEC_GEODESICS_H
#define GEODEC_GEODESICS_H

#include "geodec/geodesic.h"
#include "geodec/metric.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum geodec_velocity {
    GEODEC_VELOCITY_SEQUENCE, /* g-unit vector towards the next state of the sequence, if that state is also a point */
    GEODEC_VELOCITY_RANDOM,   /* uniform over directions in g */
    GEODEC_VELOCITY_GIVEN     /* given starts and velocities */
} geodec_velocity;

typedef struct geodec_geodesics_options {
    int64_t paths; /* seeded random subset of the possible starts; 0 = all */
    geodec_velocity velocity;
    geodec_geodesic_options path; /* `inside` is set by geodec_geodesics */
    /* A path has left the hull when a node is farther than this from every point; 0 = the 95th percentile of the
     * points' distance to their k-th neighbour; negative = no hull. */
    double hull_radius;
    int64_t control; /* number of paths that are integrated again at rtol 1e-9; default 4 */
    uint64_t seed;
    /* of GEODEC_VELOCITY_GIVEN: x0, v0 [starts][n] in place of points of the metric; the first `paths` of them are
     * used */
    const double *x0, *v0;
    int64_t starts;
    geodec_shard shard; /* only these of the paths, and the control paths among them */
} geodec_geodesics_options;

/* 64 paths along the sequence, geodec_geodesic_defaults, 4 control paths. */
GEODEC_API geodec_geodesics_options geodec_geodesics_defaults(void);

typedef struct geodec_geodesics {
    int64_t paths, nodes, n;
    double dl;
    double *x, *v;           /* [P][S][n] */
    double *speed2;          /* [P][S] g(v,v) */
    double *drift;           /* [P] */
    uint8_t *status;         /* [P] geodec_path_status */
    int32_t *good;           /* [P] last valid node */
    int32_t *point, *next;   /* [P] point of the metric the path begins at (given starts: the nearest one) and aims at
                                (-1: random, given) */
    int32_t *activation_row; /* [P] row of the activations of `point` */
    int32_t *next_row;       /* [P] row of `next`, -1 without */
    /* stored as attributes of the artifact */
    geodec_velocity velocity;
    geodec_geodesic_options options;
    double hull_radius; /* 0 = none */
    int64_t control_paths;
    double refinement_error; /* largest |x - x_adaptive| over the control paths, unit of the points */
    int64_t count[4];        /* attributes of the file: number of paths of each status, and the largest drift */
    double drift_largest;
} geodec_geodesics;

/* s: the space of the metric. metric_file: the artifact of the metric, which has the positions of the points in the
 * text. GEODEC_NOTFOUND when no point has its successor among the points (or the file has no positions). */
GEODEC_API geodec_status geodec_geodesics_compute(const geodec_metric *metric, const geodec_space *s,
                                                  const geodec_artifact *metric_file, const geodec_geodesics_options *o,
                                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_geodesics *out,
                                                  geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_geodesics_clear(geodec_geodesics *g);

/* Fills a new artifact; the caller commits. */
GEODEC_API geodec_status geodec_geodesics_write(const geodec_geodesics *g, geodec_artifact *a,
                                                geodec_err *err) GEODEC_MUST_USE;

/* Reads everything back, and of the options steps, dl, method, rtol and drift_max. */
GEODEC_API geodec_status geodec_geodesics_read(const geodec_artifact *a, geodec_geodesics *out,
                                               geodec_err *err) GEODEC_MUST_USE;

#endif
