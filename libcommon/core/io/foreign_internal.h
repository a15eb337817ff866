/* Internal: numbers of a foreign HDF5 file without the check that they are finite, and the attributes beside them. */
#ifndef GEODEC_IO_FOREIGN_INTERNAL_H
#define GEODEC_IO_FOREIGN_INTERNAL_H

#include "io/foreign.h"

#include <stdbool.h>

enum { GEODEC__ATTR_NUMBERS = 64, GEODEC__ATTR_TEXT = 64 };

typedef struct geodec__foreign_type {
    bool whole, is_signed; /* an integer, or an enumeration of them (booleans) */
    int size;              /* bytes */
} geodec__foreign_type;

/* geodec_foreign_read without the last check; also of enumerations of integers. *type may be NULL. */
geodec_status geodec__foreign_values(const char *path, const char *name, int rank, int64_t *shape, int *rank_out,
                                     geodec__foreign_type *type, double **out, geodec_err *err) GEODEC_MUST_USE;

/* An attribute of an object: up to GEODEC__ATTR_NUMBERS numbers, or a short text (count 0); neither if it is of another
 * kind or larger. found is false if there is none. */
typedef struct geodec__foreign_note {
    bool found;
    int count;
    double v[GEODEC__ATTR_NUMBERS];
    char text[GEODEC__ATTR_TEXT];
} geodec__foreign_note;
geodec_status geodec__foreign_notes(const char *path, const char *object, int n, const char *const *names,
                                    geodec__foreign_note *out, geodec_err *err) GEODEC_MUST_USE;

/* The names of the datasets in the group that holds `name`, at most `room` of them, each of fewer than 160 bytes; *n:
 * how many. */
geodec_status geodec__foreign_beside(const char *path, const char *name, int room, char (*names)[160], int *n,
                                     geodec_err *err) GEODEC_MUST_USE;

#endif
