/* The record store: compressed trajectories with all data of a lookup, in contiguous arrays.
 *
 * A record is a path that begins at an anchor q of the cloud: waypoints, propagators, the radius rho within which the
 * propagator predicts the end of a moved path, the metric at the anchor, and the model's best logits at the target
 * state of the path. Dimensions: R records, n coordinates, W waypoints, F numbers of factors, M logits. */
#ifndef GEODEC_RECORDS_H
#define GEODEC_RECORDS_H

#include "geodec/propagators.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_records_options {
    double phi_tolerance;    /* relative Frobenius error of Phi allowed in the choice of the rank; default 1e-2 */
    double x_tolerance;      /* g-length by which interpolated waypoints may differ from the nodes of the path; default
                                2e-3 */
    double tau;              /* mean miss, in lengths of the path, that defines rho; default 0.1 */
    int64_t directions;      /* number of directions in which rho is measured; default 4 */
    double rho_min, rho_max; /* range of rho; default 0.005 .. 5 */
    int64_t logits;          /* most best logits per record; default 8 */
    double noise;            /* standard deviation of an error of a state in each direction; default 0: unknown */
    uint64_t seed;
} geodec_records_options;
GEODEC_API geodec_records_options geodec_records_defaults(void);

typedef struct geodec_lookup_trial {
    int64_t queries;
    double recall;        /* recall of the two-stage search against exhaustive search; 1 by construction */
    double recall_screen; /* control: recall of the best of the 8 nearest by Euclidean distance */
    double evaluations;   /* mean exact distances per query of the two-stage search */
    double inside;        /* share of queries within rho of their record */
} geodec_lookup_trial;

/* Attributes of the file. */
typedef struct geodec_records_figures {
    double mean_rank, bytes, bytes_plain; /* mean_rank, bytes: per record */
    int64_t full, rho_censored;           /* numbers of records */
    double x_error_largest, phi_error_largest, naive_error_median, rho_median, rho_error_mean;
    double noise_length, rho_below_noise; /* median g-length of an error of a state at the anchors; share of the records
                                             whose radius is below their own; 0 without options.noise */
} geodec_records_figures;

typedef struct geodec_records {
    int64_t records, n, waypoints, stride, logits;
    double dl;                /* parameter length between nodes; waypoints are stride * dl apart */
    double *q;                /* [R][n] anchors */
    float *g;                 /* [R][n(n+1)/2] metric at the anchor, rows of the upper triangle */
    float *v0;                /* [R][n] initial velocity */
    uint16_t *x, *v;          /* [R][W][n] float16: x(t_w) - q and v(t_w), in units of x_scale and v_scale */
    float *x_scale, *v_scale; /* [R] */
    float *x_error;           /* [R] largest g-length of (interpolated - path) over all nodes of the path */
    int32_t *rank;            /* [R] of the factors; n when full */
    uint8_t *full;            /* [R] */
    int64_t *offset;          /* [R + 1] into factor */
    float *factor;            /* [F] waypoints 1..W-1 of each record (the first is I): compress.h */
    float *phi_error;         /* [R] true relative error of the stored propagators */
    float *naive_error;       /* [R] control: error of Phi truncated to the same rank */
    float *rank_error;        /* [R][n] |(Phi_T - I truncated to rank 1..n) - (Phi_T - I)|_F / |Phi_T|_F */
    float *rank_naive;        /* [R][n] control: the same with Phi_T truncated */
    float *rho;               /* [R] g-length at which the mean miss of x_T + Phi_T d reaches tau path lengths */
    uint8_t *rho_censored;    /* [R] geodec_censored */
    float *rho_error; /* [R] mean miss of the stored record at rho in fresh directions, path lengths; -1 = a path broke
                         down */
    int32_t *activation_row; /* [R] row of the anchor */
    int32_t *logit_row;      /* [R] row the logits are from: the successor's, or the anchor's; -1 without */
    int32_t *logit_index;    /* [R][M] or NULL */
    float *logit_value;      /* [R][M] or NULL */
    /* summary of the computation */
    int64_t dropped; /* paths without status ok */
    geodec_records_options options;
    int64_t packed, factors; /* n (n+1) / 2, F */
    /* attributes of the file: set by geodec_records_write */
    geodec_lookup_trial trial;
    geodec_records_figures figures;
} geodec_records;

/* Computes records from propagators with status ok. activations may be NULL. GEODEC_SCARCE when no path is ok. */
GEODEC_API geodec_status geodec_records_compute(const geodec_propagators *p, const geodec_space *s,
                                                const geodec_artifact *activations, const geodec_records_options *o,
                                                geodec_pool *pool, const geodec_hooks *hooks, geodec_records *out,
                                                geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_records_clear(geodec_records *r);

/* Propagator of record i at waypoint w (0..W-1) into phi [n][n]. */
GEODEC_API void geodec_records_phi(const geodec_records *r, int64_t i, int64_t w, double *phi);

/* Predicted end of a path from q + d to first order: x [n] = x_T + Phi_T d. */
GEODEC_API void geodec_records_predict(const geodec_records *r, int64_t i, const double *d, double *x);

/* Fills a new artifact; the caller commits. trial: figures of lookups in the store (lookup.h). */
GEODEC_API geodec_status geodec_records_write(const geodec_records *r, const geodec_lookup_trial *trial,
                                              geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* Reads all members; of `options`, only tau and the tolerances. GEODEC_FORMAT when sizes or offsets do not fit. */
GEODEC_API geodec_status geodec_records_read(const geodec_artifact *a, geodec_records *out,
                                             geodec_err *err) GEODEC_MUST_USE;

/* ---- the nearest record to a query: d^2 = (q - c)^T g (q - c)
 * ---------------------------------------------------------- */

typedef struct geodec_lookup geodec_lookup; /* immutable; may be shared between threads */

/* anchors q [records][n]; metrics g [records][n(n+1)/2] of each record, rows of the upper triangle, or NULL (then every
 * search needs the query's). Both are borrowed, must outlive the lookup and may be in a mapped file. In addition, a
 * lookup takes about n + n(n+1)/2 floats per record (n without metrics). GEODEC_NUMERIC when a metric is not positive
 * definite or not finite. */
GEODEC_API geodec_status geodec_lookup_create(int64_t records, int64_t n, const double *q, const float *g,
                                              geodec_lookup **out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_lookup_destroy(geodec_lookup *l); /* NULL ok */

typedef struct geodec_lookup_hit {
    int64_t index;
    double distance;     /* sqrt(d^2) */
    int64_t evaluations; /* exact distances computed */
} geodec_lookup_hit;

/* q [n]; g [n][n] symmetric positive definite (the upper triangle is read), or NULL for each record's own.
 * GEODEC_NUMERIC when q or g is not valid. */
GEODEC_API geodec_status geodec_lookup_nearest(const geodec_lookup *l, const double *q, const double *g,
                                               geodec_lookup_hit *hit, geodec_err *err) GEODEC_MUST_USE;

#endif
