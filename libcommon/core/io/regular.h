/* Regular files that are read at positions. */
#ifndef GEODEC_IO_REGULAR_H
#define GEODEC_IO_REGULAR_H

#include "base/err.h"

#include <stdint.h>

typedef struct geodec_regular {
    const char *path; /* borrowed */
    int fd;           /* -1: not open */
    int64_t size;
} geodec_regular;

/* GEODEC_NOTFOUND, GEODEC_IO. Closed with geodec_regular_close, also after an error. */
geodec_status geodec_regular_open(const char *path, geodec_regular *f, geodec_err *err) GEODEC_MUST_USE;
void geodec_regular_close(geodec_regular *f);
/* GEODEC_FORMAT: the file ends before them. */
geodec_status geodec_regular_read(const geodec_regular *f, int64_t offset, void *to, int64_t n,
                                  geodec_err *err) GEODEC_MUST_USE;

#endif
