/* Comma-separated lists of numbers. */
#ifndef GEODEC_BASE_NUMBERS_H
#define GEODEC_BASE_NUMBERS_H

#include "base/err.h"

#include <stdint.h>

/* Parses a list of 1 to `room` numbers, each in low..high, into out [*n]. GEODEC_INVAL for any other text; the message
 * names the option. */
geodec_status geodec_numbers_parse(const char *list, const char *option, double low, double high, int64_t room,
                                   double *out, int64_t *n, geodec_err *err) GEODEC_MUST_USE;

#endif
