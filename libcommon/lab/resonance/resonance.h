/* Cost and accuracy of a correction by a stored propagator.
 *
 * Cost: Phi [n][n] and the whole flow F [2n][2n] applied to B queries by a loop of dgemv, by one dgemm and by the
 * kernel of linalg/apply.h, compared with the floor 2 n^2 flops over the core's own peak, all measured in one run.
 * Accuracy: the same kernel's results against true trajectories, i.e. geodesics from the moved starts; the control is
 * the unchanged shift. Times depend on the machine and differ from run to run; the rest is deterministic.
 *
 * Dimensions: Z = 2 sizes (n, 2n), B batches, E moves. */
#ifndef GEODEC_LAB_RESONANCE_RESONANCE_H
#define GEODEC_LAB_RESONANCE_RESONANCE_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "geometry/propagate.h"
#include "lab/published/resonance.h"

extern const geodec_kind geodec_resonance_kind;

enum { GEODEC_RESONANCE_SIZES = 2, GEODEC_RESONANCE_MOVES = 5 };

typedef struct geodec_resonance_options {
    geodec_geodesic_options path;
    int64_t directions; /* true trajectories for each length of the move */
    int64_t repeats;    /* of which the fastest counts; >= 7 */
    double seconds;     /* least length of a repeat */
    uint64_t seed;
} geodec_resonance_options;
/* 24 directions, 7 repeats, 1 ms. */
geodec_resonance_options geodec_resonance_defaults(void);

typedef struct geodec_resonance {
    int64_t n;
    double peak; /* flops a second of one core, multiply-adds in registers */
    double floor_us[GEODEC_RESONANCE_SIZES];
    double loop_us[GEODEC_RESONANCE_SIZES][GEODEC_RESONANCE_BATCHES];   /* dgemv for each query */
    double gemm_us[GEODEC_RESONANCE_SIZES][GEODEC_RESONANCE_BATCHES];   /* one dgemm */
    double kernel_us[GEODEC_RESONANCE_SIZES][GEODEC_RESONANCE_BATCHES]; /* linalg/apply.h */
    double same_product[GEODEC_RESONANCE_BATCHES];                      /* |kernel - loop| / |loop|, size n */
    double move[GEODEC_RESONANCE_MOVES];                                /* g-length of the moved start */
    /* mean |x' - prediction| / |x' - x_T|, and the same for x_T + move (control); [0] by Phi with the velocity kept,
     * [1] by F with the velocity moved as well */
    double error[GEODEC_RESONANCE_SIZES][GEODEC_RESONANCE_MOVES],
        control[GEODEC_RESONANCE_SIZES][GEODEC_RESONANCE_MOVES];
    double slope[GEODEC_RESONANCE_SIZES]; /* of ln error against ln move: 1 for a true derivative (relative error) */
    int64_t broken;                       /* moved paths that broke down, left out */
} geodec_resonance;

/* The path from x0 with velocity v0 [n]. GEODEC_NUMERIC when it breaks down, GEODEC_SCARCE when its flow
 * leaves the range of numbers. */
geodec_status geodec_resonance_compute(const geodec_space *s, const double *x0, const double *v0,
                                       const geodec_resonance_options *o, geodec_resonance *out,
                                       geodec_err *err) GEODEC_MUST_USE;
/* The published propagator phi [n][n]: costs and the product compared with itself, as published; no trajectories. */
geodec_status geodec_resonance_published(int64_t n, const double *phi, const geodec_resonance_options *o,
                                         geodec_resonance *out, geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact; the caller commits. */
geodec_status geodec_resonance_write(const geodec_resonance *r, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words. */
void geodec_resonance_say(const geodec_hooks *hooks, const geodec_resonance *r);

#endif
