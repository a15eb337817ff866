/* Matrices of other programs, one point or state per row, and what stands beside them: rows that are not data are left
 * out and counted by cause, and whatever was changed or guessed is reported.
 *
 * HDF5 follows the conventions of netCDF and CF for a dataset: _FillValue, missing_value, valid_min, valid_max and
 * valid_range are compared with the stored values; scale_factor and add_offset are applied after that; _Unsigned makes
 * integers unsigned; without _FillValue, netCDF's default fill is not data: for floats, in files of netCDF, and in rows
 * that are nothing else. A mask is a dataset of whole numbers or booleans beside the matrix, with one number for each
 * row. */
#ifndef GEODEC_MATRIX_H
#define GEODEC_MATRIX_H

#include "geodec/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum geodec_matrix_header { GEODEC_HEADER_AUTO, GEODEC_HEADER_YES, GEODEC_HEADER_NO } geodec_matrix_header;

enum { GEODEC_MATRIX_NOTE = 320 };

typedef struct geodec_matrix_options {
    const char *dataset; /* HDF5: its path */
    /* HDF5: the mask. NULL: found by its name (GEODEC_MASKS); "none"; or a path, with ! before it where 1 means a row
     * that is not data */
    const char *mask;
    geodec_matrix_header header; /* of a table of text */
    bool drop_missing;           /* rows with missing or infinite values are left out, not refused */
} geodec_matrix_options;

typedef struct geodec_matrix {
    int64_t rows, cols;
    double *x;     /* [rows][cols]: the rows that are data */
    int64_t given; /* rows of the file */
    /* rows left out, each counted for its first cause: by the mask, with a fill or missing value, outside of the valid
     * range, with a value that is missing or not finite */
    int64_t masked, filled, invalid, missing;
    int64_t rounded; /* HDF5: whole numbers beyond 2^53, which a float64 rounds */
    bool scaled;     /* scale_factor and add_offset were applied */
    double scale, offset;
    char mask[GEODEC_MATRIX_NOTE]; /* the mask that was used, "" without */
    char note[GEODEC_MATRIX_NOTE]; /* what was guessed about the form of a table, "" without */
} geodec_matrix;

/* Names of masks, without a folder: 1 is a row that is data, or (the second list) a row that is not. */
#define GEODEC_MASKS "attention_mask attn_mask input_mask token_mask valid_mask mask"
#define GEODEC_PADDING_MASKS "key_padding_mask padding_mask pad_mask"

/* format: "npy", "text" or "hdf5". A .npy matrix is of float16, float32, float64, booleans or integers of 1 to 8 bytes,
 * either byte order, C or Fortran order, of one to three axes: [sequences][positions][columns] are rows. A table of
 * text has one row per line, LF, CR LF or CR; cells separated by tabs, semicolons, commas or blanks (the first of these
 * that the first line has); numbers with a decimal point, or a comma where that does not separate, and exponents of e
 * or d. Empty lines and lines that begin with # or % are skipped, as is a byte order mark; quotes around a cell are
 * removed. HEADER_AUTO: a first line whose cells are all no numbers, or the whole numbers from 0 or 1 in order above
 * other data, is a header; a first column that the header has no name for is no data. "-" reads text from standard
 * input. GEODEC_NOTFOUND, GEODEC_FORMAT (also a missing value or one that is not finite, with its row, unless
 * drop_missing), GEODEC_UNSUPPORTED (type), GEODEC_LIMIT, GEODEC_SCARCE (no row is data), GEODEC_NOMEM. */
GEODEC_API geodec_status geodec_matrix_read(const char *path, const char *format, const geodec_matrix_options *o,
                                            geodec_matrix *out, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_matrix_clear(geodec_matrix *m);

#endif
