/* The space of a metric. By the metric's kind (metric.h) it is the smooth field through its matrices, one matrix
 * everywhere, or a space in closed form. */
#ifndef GEODEC_CHAIN_METRIC_SPACE_H
#define GEODEC_CHAIN_METRIC_SPACE_H

#include "chain/metric.h"
#include "geometry/space_closed.h"

/* Must not be moved: `space` may point into it. */
typedef struct geodec_metric_space {
    const geodec_space *space;
    geodec_rbf *field; /* of the kinds that are fields; NULL otherwise */
    union {
        geodec_space base;
        geodec_space_conformal conformal;
        geodec_space_torus torus;
        geodec_space_constant constant;
    } exact;
} geodec_metric_space;

/* GEODEC_FORMAT when the matrices at the points are not those of the kind's space (a relative difference above 1e-9),
 * GEODEC_UNSUPPORTED for GEODEC_METRIC_PUBLISHED (lab/harness/manifold.h), GEODEC_RANGE, GEODEC_NUMERIC. */
GEODEC_API geodec_status geodec_metric_space_init(const geodec_metric *m, geodec_metric_space *out,
                                                  geodec_err *err) GEODEC_MUST_USE;
/* The same from the file from which the tables m were read (geodec_metric_read_tables). If the matrices of a field take
 * more than `limit` bytes, they stay in a file (geodec_metric_field_from) and m->log_g stays NULL; otherwise they are
 * read into m. */
GEODEC_API geodec_status geodec_metric_space_from(const geodec_artifact *a, geodec_metric *m, int64_t limit,
                                                  geodec_metric_space *out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_metric_space_clear(geodec_metric_space *s);

/* Internal: a space in closed form, by kind, dimension and curvature. GEODEC_RANGE. */
GEODEC_API geodec_status geodec__metric_space_exact(geodec_metric_type kind, int64_t n, double curvature,
                                                    geodec_metric_space *s, geodec_err *err) GEODEC_MUST_USE;

#endif
