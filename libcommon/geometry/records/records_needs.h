/* What the record store needs. */
#ifndef GEODEC_RECORDS_RECORDS_NEEDS_H
#define GEODEC_RECORDS_RECORDS_NEEDS_H

#include "base/needs.h"
#include "records/records.h"

/* Records of some of the paths, spread over all, and lookups of some of the queries x [count][n] among them; the others
 * are taken to need as long. A lookup grows with the number of records, because the control compares all. Adds sizes,
 * results and times. *bytes: of the store. Errors: those of the stage. */
geodec_status geodec_records_needs(const geodec_propagators *p, const geodec_space *s,
                                   const geodec_artifact *activations, const geodec_records_options *o, int64_t count,
                                   const double *x, double budget, geodec_pool *pool, const geodec_hooks *hooks,
                                   geodec_needs *needs, double *bytes, geodec_err *err) GEODEC_MUST_USE;

#endif
