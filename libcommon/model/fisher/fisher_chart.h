/* A chart at one state of a model, as a map to the logits of the next token (fisher_field.h): z -> logits after the
 * text, with the state x + B^T z in place of its last row at a boundary, rows before it fixed, and B [n][d_model] any
 * directions. Derivatives are jvps of the float64 reference, exact up to rounding.
 *
 * A call linearises the rest of the network at each point: two passes over the text from the boundary on, and k
 * tangents of one row. At the last boundary it is final norm and head alone, for all points together, and needs no
 * text. */
#ifndef GEODEC_FISHER_CHART_H
#define GEODEC_FISHER_CHART_H

#include "fisher/fisher_field.h"
#include "fisher/fisher_metric.h"

typedef struct geodec_fisher_chart geodec_fisher_chart;

/* At state i of s. r must have no pool, if the field is used by several threads, and outlives the chart; the rest is
 * copied. GEODEC_RANGE (layer, n, tokens), GEODEC_NUMERIC (not finite); those of reference.h. */
geodec_status geodec_fisher_chart_create(const geodec_reference *r, const geodec_fisher_states *s, int64_t i, int64_t n,
                                         const double *basis, geodec_fisher_chart **out,
                                         geodec_err *err) GEODEC_MUST_USE;
void geodec_fisher_chart_destroy(geodec_fisher_chart *c); /* NULL ok */
/* The map; the chart must outlive it. */
geodec_fisher_map geodec_fisher_chart_map(const geodec_fisher_chart *c);
/* The same chart with other directions, basis [n][d_model]. */
geodec_status geodec_fisher_chart_turn(geodec_fisher_chart *c, int64_t n, const double *basis,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Metric of the whole stream at the state (geodec_reference_fisher): [d_model][d_model]. */
geodec_status geodec_fisher_chart_whole(const geodec_fisher_chart *c, double *metric, geodec_err *err) GEODEC_MUST_USE;
/* So far: tangents (jvps of one row), and points at which the network was evaluated. */
void geodec_fisher_chart_cost(const geodec_fisher_chart *c, int64_t *tangents, int64_t *points);

#endif
