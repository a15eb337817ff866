/* Measurements of speed as a table and as JSON. */
#ifndef GEODEC_EVALUATE_SPEED_REPORT_H
#define GEODEC_EVALUATE_SPEED_REPORT_H

#include "evaluate/speed.h"

#include <stdio.h>

/* Widths from a list separated by commas, "none" for none. GEODEC_INVAL. */
GEODEC_API geodec_status geodec_speed_report_widths(const char *widths, geodec_speed_options *o,
                                                    geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_speed_report_table(FILE *out, const geodec_speed_result *r,
                                                   geodec_err *err) GEODEC_MUST_USE;
/* file: the model's name. */
GEODEC_API geodec_status geodec_speed_report_json(FILE *out, const char *file, const geodec_speed_options *o,
                                                  const geodec_speed_result *r, geodec_err *err) GEODEC_MUST_USE;

#endif
