/* The space of a metric. By the metric's kind (metric.h) it is the smooth field through its matrices, one matrix
 * everywhere, or a space in closed form. */
#ifndef GEODEC_CHAIN_METRIC_SPACE_H
#define GEODEC_CHAIN_METRIC_SPACE_H

#include "chain/metric.h"
#include "geodec/metric.h"
#include "geometry/space_closed.h"

/* As geodec_metric_space_init, from the file from which the tables m were read (geodec_metric_read_tables). If the
 * matrices of a field take more than `limit` bytes, they stay in a file (geodec_metric_field_from) and m->log_g stays
 * NULL; otherwise they are read into m. */
geodec_status geodec_metric_space_from(const geodec_artifact *a, geodec_metric *m, int64_t limit,
                                       geodec_metric_space *out, geodec_err *err) GEODEC_MUST_USE;

/* Internal: a space in closed form, by kind, dimension and curvature. GEODEC_RANGE. */
geodec_status geodec__metric_space_exact(geodec_metric_type kind, int64_t n, double curvature, geodec_metric_space *s,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
