/* Convergence of a library on real streams, over radii, compared with its nulls. Each query of a stream finds a stored
 * record within a radius (a hit) or is stored itself.
 *
 * The stream is the points of a cloud in text order; radii are multiples of the median distance to the nearest
 * neighbour. Every miss is stored, so hits and stored records add up to the queries, and some radius gives any share of
 * hits: a published pair "92 % hits, 7.8 % stored" is one number and no finding. A converging library differs from a
 * growing one by the hit rate of the second half and by the exponent of growth, ln(stored) = a + exponent ln(seen),
 * which is 1 for a library that never repeats and 0 for a finished one. Findings are the differences from streams
 * without structure, and the value of a hit:
 *
 *   streams   text       the points in text order
 *             shuffled   the same points in random order: the effect of the order of the text
 *             gaussian   normal samples with the same covariance: the effect of the density's shape
 *             surrogate  random Fourier phases along the text, or each coordinate shuffled (linalg/surrogate.h)
 *
 *   quality   error of the predicted next state of a hit, in units of the rms step, where next states are known:
 *             copy       the record's own next state
 *             transport  the same moved by the difference of the two states
 *             identity   the state itself: the control that needs no library
 *             random     the next state of a random record
 *
 * Dimensions: W = 4 streams, R radii. */
#ifndef GEODEC_LAB_LIBRARY_LIBRARY_H
#define GEODEC_LAB_LIBRARY_LIBRARY_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "chain/successors.h"
#include "linalg/surrogate.h"

extern const geodec_kind geodec_library_kind;

enum { GEODEC_LIBRARY_RADII = 32 };
typedef enum geodec_library_stream {
    GEODEC_LIBRARY_TEXT,
    GEODEC_LIBRARY_SHUFFLED,
    GEODEC_LIBRARY_GAUSSIAN,
    GEODEC_LIBRARY_SURROGATE,
    GEODEC_LIBRARY_STREAMS,
} geodec_library_stream;
typedef enum geodec_library_prediction {
    GEODEC_LIBRARY_COPY,
    GEODEC_LIBRARY_TRANSPORT,
    GEODEC_LIBRARY_IDENTITY,
    GEODEC_LIBRARY_RANDOM,
    GEODEC_LIBRARY_PREDICTIONS,
} geodec_library_prediction;

typedef struct geodec_library_options {
    int64_t n_radii;
    double radius[GEODEC_LIBRARY_RADII]; /* multiples of the median nearest-neighbour distance, rising, > 0 */
    double target;                       /* share of hits whose radius is looked for, in (0, 1); default 0.922 */
    geodec_surrogate surrogate;
    uint64_t seed;
} geodec_library_options;
/* .25 .5 .75 1 1.5 2 3 4 6 8; 0.922; shuffle. */
geodec_library_options geodec_library_defaults(void);

typedef struct geodec_library_summary {
    int64_t queries, stored;
    double hit_rate, second_half; /* shares of hits */
    double exponent;              /* of growth, fitted to seen = 1, 2, 4, .. and all; 0 below 4 queries */
    double distance, rms_spacing; /* mean distance of a hit to its record; rms distance of a query to the mean: that of
                                     a random hit */
} geodec_library_summary;

/* One stream at one radius. query [queries][n], in their order; hit [queries] 1 or 0 and assigned [queries] (number of
 * the record, its own new one for a miss) may be NULL. A hit goes to the Euclid-nearest record at a distance <= radius,
 * the first stored of several. GEODEC_RANGE, GEODEC_NUMERIC (not finite), GEODEC_INTERRUPTED. O(queries stored n). */
geodec_status geodec_library_run(int64_t queries, int64_t n, const double *query, double radius,
                                 const geodec_hooks *hooks, uint8_t *hit, int64_t *assigned,
                                 geodec_library_summary *out, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_library_sweep {
    int64_t points, n, n_radii;
    double unit;                     /* median distance to the nearest neighbour */
    double *radius;                  /* [R] multiples of it */
    geodec_library_summary *summary; /* [W][R] */
    bool has_quality;                /* next states were given */
    double *quality;                 /* [R][4 predictions] of hits in the text stream; 0 where nothing hits */
    int64_t *judged;                 /* [R] hits with a known next state, of query and record */
    double target;
    double target_radius[GEODEC_LIBRARY_STREAMS]; /* smallest multiple found with at least `target` hits, to 1 % */
    geodec_library_summary target_summary[GEODEC_LIBRARY_STREAMS];
    double target_quality[GEODEC_LIBRARY_PREDICTIONS];
    geodec_surrogate surrogate;
} geodec_library_sweep;

/* x [points][n] in the order of the text; next NULL = next states are not known, else of the same points, whose first n
 * coordinates are compared with the states (so next->k >= n). At least 8 points.
 * GEODEC_SCARCE (fewer than 8 points, or half of them equal), GEODEC_RANGE, GEODEC_NUMERIC, GEODEC_INTERRUPTED. */
geodec_status geodec_library_sweep_run(int64_t points, int64_t n, const double *x, const geodec_successors *next,
                                       const geodec_library_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                       geodec_library_sweep *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_library_sweep_clear(geodec_library_sweep *s);
/* Fills a new artifact of geodec_library_kind; the caller commits. */
geodec_status geodec_library_sweep_write(const geodec_library_sweep *s, geodec_artifact *a,
                                         geodec_err *err) GEODEC_MUST_USE;

/* Logs the figures in words. */
void geodec_library_say(const geodec_hooks *hooks, const geodec_library_sweep *s);

#endif
