/* Numbers in words: lists separated by commas. */
#ifndef GEODEC_BASE_NUMBERS_H
#define GEODEC_BASE_NUMBERS_H

#include "base/err.h"

#include <stdint.h>

/* out [*n]: the 1 to `room` numbers of the list, each in low..high. GEODEC_INVAL, which names the option, for any other
 * text. */
GEODEC_API geodec_status geodec_numbers_parse(const char *list, const char *option, double low, double high,
                                              int64_t room, double *out, int64_t *n, geodec_err *err) GEODEC_MUST_USE;

#endif
