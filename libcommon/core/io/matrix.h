/* Words and names by which the reader of matrices (geodec/matrix.h) knows what is no data. */
#ifndef GEODEC_IO_MATRIX_H
#define GEODEC_IO_MATRIX_H

#include "base/err.h"
#include "geodec/matrix.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether a word means a missing value: empty, nan, NA, N/A, #N/A, null, none, missing, "." or "-", in any case. Tables
 * (io/table.h) have the same rule. */
bool geodec_matrix_is_missing(const char *word, int64_t length);
/* Whether `name`, behind its last slash, is that of a mask; *padding: 1 is a row that is not data. */
bool geodec_matrix_is_mask(const char *name, bool *padding);

#endif
