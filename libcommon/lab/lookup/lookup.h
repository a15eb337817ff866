/* Speed of the nearest-record search against the number of records, compared with exhaustive search and a plain
 * screen.
 *
 * Anchors are standard normal in n dimensions. near: queries are anchors moved by 0.05 in each coordinate; fresh:
 * queries are standard normal themselves; both with a metric of their own each, random axes, eigenvalues spread evenly
 * in the logarithm up to `condition`. own: fresh queries in each record's own metric of that kind. Times depend on the
 * machine; the rest is deterministic. */
#ifndef GEODEC_LAB_LOOKUP_LOOKUP_H
#define GEODEC_LAB_LOOKUP_LOOKUP_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "chain/metric.h"

extern const geodec_kind geodec_lookup_speed_kind;

typedef enum geodec_lookup_queries {
    GEODEC_LOOKUP_NEAR,
    GEODEC_LOOKUP_FRESH,
    GEODEC_LOOKUP_OWN,
    GEODEC_LOOKUP_KINDS,
    GEODEC_LOOKUP_CLOUD = GEODEC_LOOKUP_KINDS /* of geodec_lookup_speed_cloud alone */
} geodec_lookup_queries;
/* "near", "fresh", "own", "cloud". Static storage. */
const char *geodec_lookup_queries_name(geodec_lookup_queries k);

typedef struct geodec_lookup_speed {
    geodec_lookup_queries kind;
    int64_t records, n;
    double condition;
    double single_us, batch_us;      /* median of 7 rounds, a query: one call each, one call for all */
    double exhaustive_us, screen_us; /* every record in float64; the best of the 8 nearest by Euclid */
    double euclid_us;                /* the same search with the identity in place of the metric, one call each */
    double computed;                 /* distances in float64 a query */
    double recall, recall_screen;    /* against exhaustive search: bit for bit; the same record */
    double recall_euclid;            /* the same record by Euclid's nearest one alone */
    double create_ms;
} geodec_lookup_speed;

/* Measures a search of the given kind, records, n (2..16) and condition (>= 1) in *row, the rest. brief: fewer repeats.
 * GEODEC_RANGE, GEODEC_NOMEM. */
geodec_status geodec_lookup_speed_measure(uint64_t seed, bool brief, geodec_lookup_speed *row,
                                          geodec_err *err) GEODEC_MUST_USE;
/* On a cloud of at least 16 points: its points are the anchors, queries lie halfway from a point to its nearest
 * neighbour, in the metric of the field there, whose eigenvalues are raised to the power that gives `condition`; with
 * condition 0 as they are, and *row has the median condition. row->kind and row->n are set. GEODEC_SCARCE for a smaller
 * cloud. */
geodec_status geodec_lookup_speed_cloud(const geodec_metric *cloud, uint64_t seed, bool brief, geodec_lookup_speed *row,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact; the caller commits. */
geodec_status geodec_lookup_speed_write(int64_t rows, const geodec_lookup_speed *row, geodec_artifact *a,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
