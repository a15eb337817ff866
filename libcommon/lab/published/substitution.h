/* The published decode substitution, as far as its figures follow from an export. Every point that is not cached is
 * called a decode step and classified by its g-distance d to a cached one (of the 8 Euclid-nearest the g-nearest,
 * metric at the step),
 *
 *     A  d <= rho: "correctable",   B  rho < d <= eps: "hit",   C  above: miss,
 *
 * and the time of a step projected as A (lookup + correction) + B (lookup + t_full / 2) + C (lookup + t_full). The
 * t_full / 2 is an assumption: nothing is computed for B. With lookups and corrections free the projected speed-up is
 * 1 / (B / 2 + C), 2 where all is B, for any model. No next state is predicted anywhere;
 * lab/substitution/substitution.h does that.
 *
 * The work: W. K. O. Stewart, Organic Training Theory and the GTC Manifold Runtime, 2026 (docs/references.md). */
#ifndef GEODEC_LAB_PUBLISHED_SUBSTITUTION_H
#define GEODEC_LAB_PUBLISHED_SUBSTITUTION_H

#include "artifact/artifact.h"
#include "lab/harness/manifold.h"

/* The figures for several cached shares. */
extern const geodec_kind geodec_substitution_published_kind;

typedef struct geodec_substitution_published {
    int64_t cached, steps;
    double hit;         /* share with d <= eps */
    double correctable; /* share with d <= rho */
    double distance;    /* mean d */
    double distance_p95;
    double projected;          /* speed-up with t_full / 2 for B and everything else free */
    double share, closed_form; /* the caller's: cached share asked for; the control */
} geodec_substitution_published;

/* m fitted to all points; permutation [samples]: the first `cached` are the cache. GEODEC_RANGE, GEODEC_NUMERIC. */
geodec_status geodec_substitution_published_run(const geodec_harness_manifold *m, int64_t cached,
                                                const int64_t *permutation, double eps, double rho,
                                                geodec_substitution_published *out, geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact with one row a share; the caller commits. */
geodec_status geodec_substitution_published_write(int64_t rows, const geodec_substitution_published *row,
                                                  geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

#endif
