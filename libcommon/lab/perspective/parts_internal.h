/* The measurements of each part, and how they add rows. */
#ifndef GEODEC_LAB_PERSPECTIVE_PARTS_INTERNAL_H
#define GEODEC_LAB_PERSPECTIVE_PARTS_INTERNAL_H

#include "lab/perspective/parts.h"

geodec_status geodec__parts_add(geodec_parts *p, const char *key, const char *quantity, double value,
                                const char *compared, double control, geodec_err *err) GEODEC_MUST_USE;

geodec_status geodec__parts_scan(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_state(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_changes(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_product(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_memory(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_polytope(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_hull(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_gradient(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__parts_adapter(const geodec_parts_options *o, geodec_parts *out, geodec_err *err) GEODEC_MUST_USE;

#endif
