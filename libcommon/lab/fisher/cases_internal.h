/* Internal: the figures of a case from its starts. */
#ifndef GEODEC_LAB_FISHER_CASES_INTERNAL_H
#define GEODEC_LAB_FISHER_CASES_INTERNAL_H

#include "lab/fisher/cases.h"

/* x [count], those of a text together. Fills the rest of *c. */
geodec_status geodec__fisher_cases_sum(const geodec_fisher_cases *s, int64_t count, const geodec_fisher_start *x,
                                       geodec_fisher_case *c, geodec_err *err) GEODEC_MUST_USE;

#endif
