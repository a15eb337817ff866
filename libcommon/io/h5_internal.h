/* HDF5 calls with our error values; private to the io folder. */
#ifndef GEODEC_IO_H5_INTERNAL_H
#define GEODEC_IO_H5_INTERNAL_H

#include "base/err.h"
#include "io/artifact.h"

#include <hdf5.h>

/* Starts an error chain with the message and HDF5's innermost reason (or the system's, when a system call failed). */
geodec_status geodec__h5_fail(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt, ...)
    GEODEC_PRINTF(5, 6);

/* Runs an HDF5 call whose failure is negative; like GEODEC_THROW otherwise. */
#define GEODEC__H5(call, status_, ...)                                                                                 \
    do {                                                                                                               \
        if ((call) < 0) {                                                                                              \
            st = geodec__h5_fail(err, (status_), __func__, __LINE__, __VA_ARGS__);                                     \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* Closes an identifier of any sort; a negative one is ignored. Negative when closing failed. */
herr_t geodec__h5_close(hid_t id);

/* The explicit little-endian type in files, and the native type in memory. Library constants: not to be closed. */
hid_t geodec__h5_file_type(geodec_type t);
hid_t geodec__h5_memory_type(geodec_type t);

/* Replaces, in place, what is not plain UTF-8 text by '?'. */
void geodec__h5_make_plain(char *text);

/* Scalar attributes of an object. The writers copy; text is stored with fixed length. */
geodec_status geodec__h5_put_text(hid_t object, const char *name, const char *text, geodec_err *err) GEODEC_MUST_USE;
/* n texts of equal room, as a 1-D attribute (an empty one when n = 0). */
geodec_status geodec__h5_put_texts(hid_t object, const char *name, int n, const char *texts, size_t stride,
                                   geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__h5_put_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type, const void *v,
                                    geodec_err *err) GEODEC_MUST_USE;

/* Readers: GEODEC_FORMAT for a missing or wrongly typed attribute, GEODEC_LIMIT for overlong text. New memory. */
geodec_status geodec__h5_get_text(hid_t object, const char *name, char **out, geodec_err *err) GEODEC_MUST_USE;
/* At most n_max texts, each shorter than stride, into texts[n_max][stride]. */
geodec_status geodec__h5_get_texts(hid_t object, const char *name, int n_max, char *texts, size_t stride, int *n,
                                   geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__h5_get_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type, void *v,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
