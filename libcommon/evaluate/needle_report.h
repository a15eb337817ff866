/* Retrieval by depth as a table. */
#ifndef GEODEC_EVALUATE_NEEDLE_REPORT_H
#define GEODEC_EVALUATE_NEEDLE_REPORT_H

#include "evaluate/needle.h"

#include <stdio.h>

/* A row a depth, and one over all. */
GEODEC_API geodec_status geodec_needle_report_table(FILE *out, const geodec_needle_result *r,
                                                    geodec_err *err) GEODEC_MUST_USE;

#endif
