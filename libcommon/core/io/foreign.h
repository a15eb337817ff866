/* Reads numbers from files that are not artifacts: golden files, random numbers and matrices of other programs, as
 * HDF5 or text; io/matrix.h reads matrices.
 *
 * Such a file is not trusted until it is checked. A dataset must be a simple array of integers or floats (any size and
 * byte order; no conversion from text or compounds) of the expected rank and extents. Before memory is allocated, its
 * storage is checked:
 *   - it is entirely in this file and reached by hard links alone (no soft or external links to groups, datasets,
 *     committed types or attributes; no external or virtual storage);
 *   - its filters are shuffle, deflate and fletcher32; any other is an error that names it;
 *   - its chunks are all present, at most GEODEC_FOREIGN_CHUNK_MAX bytes each, and inflate to exactly that size;
 *   - as float64 it takes at most GEODEC_FOREIGN_FREE_BYTES or GEODEC_FOREIGN_GROWTH_MAX times its stored bytes.
 * Integers beyond 2^53 lose their last bits. */
#ifndef GEODEC_IO_FOREIGN_H
#define GEODEC_IO_FOREIGN_H

#include "base/err.h"

#include <stdint.h>

enum {
    GEODEC_FOREIGN_RANK_MAX = 8,
    GEODEC_FOREIGN_CHUNK_MAX = 256 << 20, /* bytes of a chunk, inflated */
    GEODEC_FOREIGN_FREE_BYTES = 64 << 20, /* any dataset may take this amount of memory */
    GEODEC_FOREIGN_GROWTH_MAX = 64,       /* larger datasets must not exceed this ratio to the stored bytes */
};

/* Dataset `name` of the file into new memory *out (C order; the caller frees with geodec_mem_free). rank: the expected
 * rank, or -1 for any (*rank_out receives it; it may be NULL otherwise). shape [GEODEC_FOREIGN_RANK_MAX]: on entry the
 * expected extents, negative = any; on return the extents found. Every value must be finite. GEODEC_NOTFOUND (file or
 * dataset), GEODEC_FORMAT (also a value that is not finite), GEODEC_LIMIT, GEODEC_NOMEM. */
geodec_status geodec_foreign_read(const char *path, const char *name, int rank, int64_t *shape, int *rank_out,
                                  double **out, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_foreign_read, for whole numbers: GEODEC_RANGE if a number is outside low..high or has a fraction. */
geodec_status geodec_foreign_read_i64(const char *path, const char *name, int rank, int64_t *shape, int64_t low,
                                      int64_t high, int64_t **out, geodec_err *err) GEODEC_MUST_USE;
/* A scalar number attribute of an object ("/" for the root). GEODEC_NOTFOUND, GEODEC_FORMAT, GEODEC_NUMERIC. */
geodec_status geodec_foreign_attr(const char *path, const char *object, const char *name, double *out,
                                  geodec_err *err) GEODEC_MUST_USE;

/* A table of text, x [rows][cols] in new memory, by the rules of io/matrix.h; every cell must be a finite number. */
geodec_status geodec_foreign_text(const char *path, int64_t *rows, int64_t *cols, double **out,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
