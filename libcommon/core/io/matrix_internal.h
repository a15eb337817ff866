/* Internal: the readers of matrix.h. Each fills rows, cols, x (missing cells NaN), given, rounded and the note. */
#ifndef GEODEC_IO_MATRIX_INTERNAL_H
#define GEODEC_IO_MATRIX_INTERNAL_H

#include "io/matrix.h"

geodec_status geodec__matrix_npy(const char *path, geodec_matrix *m, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__matrix_text(const char *path, geodec_matrix_header header, bool drop, geodec_matrix *m,
                                  geodec_err *err) GEODEC_MUST_USE;
/* left [rows], in new memory: why a row is no data, 0 if it is. */
enum { GEODEC__ROW_MASKED = 1, GEODEC__ROW_FILLED, GEODEC__ROW_INVALID };
geodec_status geodec__matrix_h5(const char *path, const geodec_matrix_options *o, geodec_matrix *m, uint8_t **left,
                                geodec_err *err) GEODEC_MUST_USE;
/* Counts whole numbers that a float64 may have rounded. */
int64_t geodec__matrix_rounded(int64_t n, const double *x);

#endif
