/* The published record store: paths of the sampled manifold with a fixed number of propagator factors.
 *
 * A record holds q, v0 (float32), every node of the path (float16), U, V of rank r for every node (float32, Phi ~ U
 * V^T, the singular values split evenly), a constant rho and g(q) (float32). Phi is close to the identity, whose
 * singular values are all 1, so that cutting it to rank 5 of 8 loses sqrt(3/8) = 0.61 of it: the printed error of 0.0
 * compares the cut factors with themselves after writing and reading them. Phi - I has a small rank, and the
 * factors of rank 5 take more room than Phi itself (2 * 8 * 5 > 8 * 8).
 *
 * Lookup: the 8 records nearest by Euclid in float32, of which the nearest in the query's metric.
 *
 * Dimensions: R records, T1 nodes, n, r, Q queries, A anchors of the hit rate.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_RECORDS_H
#define GEODEC_LAB_PUBLISHED_RECORDS_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "lab/harness/manifold.h"

extern const geodec_kind geodec_records_published_kind;

typedef struct geodec_records_published_draws {
    int64_t points, n;
    const double *point; /* [points][n]; the first R are the anchors */
    int64_t records;
    const double *v0; /* [R][n] g-unit */
    int64_t queries;
    const double *query; /* [Q][n] */
    int64_t steps;       /* T */
    double dl;
    int64_t rank;    /* r */
    int64_t anchors; /* A: of the hit rate, at most `points` (24 published) */
    double eps;      /* 3 published */
} geodec_records_published_draws;

typedef struct geodec_records_published {
    int64_t records, nodes, n, rank, queries, anchors;
    double *q, *v0;                /* [R][n] */
    uint16_t *xs;                  /* [R][T1][n] float16 */
    float *u, *v;                  /* [R][T1][n][r] */
    float *g;                      /* [R][n][n] */
    double *singular;              /* [R][n] of Phi_T, falling */
    double *rank_error;            /* [R][n] |Phi_T cut to rank 1..n - Phi_T|_F / |Phi_T|_F */
    double *shift_error;           /* [R][n] the same with Phi_T - I cut, over |Phi_T|_F */
    double *g_query;               /* [Q][n][n] */
    int64_t *index;                /* [Q] of the R records */
    double *distance;              /* [Q] */
    double round_trip;             /* printed as the error of rank r: 0 */
    double hit, hit_exact, recall; /* over A anchors: two stages, exact search, agreement of the two */
    double closed_form;            /* control: probability that the query's point or one of its 8 neighbours is
                                      cached */
    double bytes, bytes_full;      /* a record's payload as stored, and with Phi itself in place of U, V */
} geodec_records_published;

/* GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_NOMEM. */
geodec_status geodec_records_published_compute(const geodec_records_published_draws *d, const geodec_harness_options *o,
                                               geodec_pool *pool, const geodec_hooks *hooks,
                                               geodec_records_published *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_records_published_clear(geodec_records_published *r);
/* Fills a new artifact of geodec_records_published_kind; the caller commits. */
geodec_status geodec_records_published_write(const geodec_records_published *r, geodec_artifact *a,
                                             geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words; eps: that of the draws. */
void geodec_records_published_say(const geodec_hooks *hooks, const geodec_records_published *r, double eps);

#endif
