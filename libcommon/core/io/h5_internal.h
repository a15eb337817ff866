/* Internal: HDF5 calls with Geodec's error values, for this folder and artifact/. */
#ifndef GEODEC_IO_H5_INTERNAL_H
#define GEODEC_IO_H5_INTERNAL_H

#include "base/err.h"
#include "io/type.h"

#include <hdf5.h>
#include <stdbool.h>
#include <stdint.h>

/* Starts an error chain with the message and HDF5's innermost reason (or that of a failed system call). */
geodec_status geodec__h5_fail(geodec_err *err, geodec_status s, const char *func, int line, const char *fmt, ...)
    GEODEC_PRINTF(5, 6);

/* False: the limit of the address space leaves less than a call of HDF5 may need. Its own lack of memory corrupts the
 * heap at times, so it is not called then. */
bool geodec__h5_room(void);

/* Runs an HDF5 call; a negative result is an error, as in GEODEC_THROW. */
#define GEODEC__H5(call, status_, ...)                                                                                 \
    do {                                                                                                               \
        if (!geodec__h5_room() || (call) < 0) {                                                                        \
            st = geodec__h5_fail(err, (status_), __func__, __LINE__, __VA_ARGS__);                                     \
            goto done;                                                                                                 \
        }                                                                                                              \
    } while (0)

/* Closes an identifier of any type; a negative identifier is ignored. Returns a negative number if closing fails. */
herr_t geodec__h5_close(hid_t id);

/* The explicit little-endian type in files, and the native type in memory. Library constants; do not close. */
hid_t geodec__h5_file_type(geodec_type t);
hid_t geodec__h5_memory_type(geodec_type t);

/* Called around reads of a file: the program's guard (io/h5.h). */
void geodec__h5_enter(const char *path, bool few);
void geodec__h5_leave(void);

/* ---- untrusted datasets (h5_storage.c) -------------------------------------------------------------------------- */

enum { GEODEC__H5_RANK_MAX = 8 };

/* How a dataset is stored. */
typedef struct geodec__h5_storage {
    int rank;
    int64_t extent[GEODEC__H5_RANK_MAX];
    int64_t element, bytes, stored; /* bytes of an element, of all elements, of the file */
    bool chunked, deflated, summed; /* has a checksum (fletcher32) */
    bool sum_inside;                /* the checksum comes before the compression */
    unsigned deflate_bit, sum_bit;  /* its bit in the mask of filters that a chunk skipped */
    int64_t chunk[GEODEC__H5_RANK_MAX], across[GEODEC__H5_RANK_MAX]; /* extent of a chunk; chunks along an axis */
    int64_t chunk_bytes, chunks;
} geodec__h5_storage;

/* Follows a path by hard links within this file. *present: the object exists and has type *sort (the root is a group);
 * if not, *sort is the type of the last object found. *elsewhere: the path has a soft, external or user-defined link,
 * which was not followed. */
geodec_status geodec__h5_walk(hid_t file, const char *path, bool *present, bool *elsewhere, H5O_type_t *sort,
                              geodec_err *err) GEODEC_MUST_USE;
/* Checks, without reading a number, that the dataset is stored completely in this file of file_bytes bytes: no external
 * or virtual storage, no filters but shuffle, deflate and fletcher32 (once each, in a valid order), chunks of at most
 * chunk_limit bytes all present, and no more bytes than deflate can produce from the stored ones. what: the dataset's
 * name in messages. GEODEC_FORMAT, GEODEC_LIMIT. */
geodec_status geodec__h5_storage_check(hid_t set, const char *what, int64_t file_bytes, int64_t chunk_limit,
                                       geodec__h5_storage *s, geodec_err *err) GEODEC_MUST_USE;
/* Checks that every filtered chunk decodes to exactly the bytes of a chunk, in memory of two chunks: HDF5 allocates as
 * much as a larger chunk needs, and reads past the end of a smaller one. */
geodec_status geodec__h5_chunks_check(hid_t set, const char *what, const geodec__h5_storage *s,
                                      geodec_err *err) GEODEC_MUST_USE;
/* After a dataset was written: GEODEC_NOMEM when a chunk of a compressed one was stored without a filter. Shuffle and
 * deflate are optional to HDF5: without memory for them it stores other bytes. They fail for no other reason, because
 * they have room for incompressible data. Memory of one chunk. */
geodec_status geodec__h5_filters_check(hid_t set, const char *what, geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_IO when the open file has become shorter than `bytes`: HDF5 reads zeros after the end of a file. */
geodec_status geodec__h5_still_whole(hid_t file, int64_t bytes, geodec_err *err) GEODEC_MUST_USE;

/* Replaces bytes that are not plain UTF-8 text by '?', in place. */
void geodec__h5_make_plain(char *text);

/* Scalar attributes of an object. The writers copy their values; text is stored with fixed length. */
geodec_status geodec__h5_put_text(hid_t object, const char *name, const char *text, geodec_err *err) GEODEC_MUST_USE;
/* n texts of equal size, as a 1-D attribute (an empty one when n = 0). */
geodec_status geodec__h5_put_texts(hid_t object, const char *name, int n, const char *texts, size_t stride,
                                   geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__h5_put_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type, const void *v,
                                    geodec_err *err) GEODEC_MUST_USE;

/* Readers: GEODEC_FORMAT for a missing or wrongly typed attribute, GEODEC_LIMIT for overlong text. New memory. */
geodec_status geodec__h5_get_text(hid_t object, const char *name, char **out, geodec_err *err) GEODEC_MUST_USE;
/* Reads at most n_max texts, each shorter than stride, into texts[n_max][stride]. */
geodec_status geodec__h5_get_texts(hid_t object, const char *name, int n_max, char *texts, size_t stride, int *n,
                                   geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__h5_get_number(hid_t object, const char *name, hid_t file_type, hid_t memory_type, void *v,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
