/* safetensors files: a JSON header and named arrays, the format of the Hugging Face tools.
 *
 * Layout: the header's length as 8 bytes little-endian; the header, a JSON object
 *     {"__metadata__": {text: text}, "name": {"dtype": "F32", "shape": [..], "data_offsets": [begin, end]}, ...}
 * padded with blanks so that the data begin at a multiple of 8; the data: arrays in C order, little-endian, in the
 * order of the header without gaps (the caller keeps arrays aligned by listing wider types first). */
#ifndef GEODEC_IO_SAFETENSORS_H
#define GEODEC_IO_SAFETENSORS_H

#include "base/err.h"
#include "io/type.h"

enum { GEODEC_SAFETENSORS_RANK_MAX = 4, GEODEC_SAFETENSORS_NAME_MAX = 96, GEODEC_SAFETENSORS_REFUSED = 32 };

typedef struct geodec_safetensor {
    char name[GEODEC_SAFETENSORS_NAME_MAX];
    geodec_type type; /* GEODEC_F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8; BOOL is U8 */
    int rank;         /* 0 (a number; of read files only) to GEODEC_SAFETENSORS_RANK_MAX */
    int64_t shape[GEODEC_SAFETENSORS_RANK_MAX];
    /* Why the tensor cannot be read, for messages ("type F8_E4M3", "5 axes"); "" if it can. A tensor that nobody reads
     * is no reason to refuse a file. */
    char refused[GEODEC_SAFETENSORS_REFUSED];
} geodec_safetensor;

typedef struct geodec_safetensors_meta {
    const char *key, *value;
} geodec_safetensors_meta;

/* ---- writing ---------------------------------------------------------------------------------------------------- */

typedef struct geodec_safetensors_writer geodec_safetensors_writer;

/* Writes under a temporary name; commit puts the file at path (io/atomic.h). tensors are copied. */
geodec_status geodec_safetensors_create(const char *path, const geodec_safetensor *tensor, int n,
                                        const geodec_safetensors_meta *meta, int n_meta,
                                        geodec_safetensors_writer **out, geodec_err *err) GEODEC_MUST_USE;
/* Writes elements first .. first+count-1 of tensor i. Each element must be put once. Several threads may put at the
 * same time. */
geodec_status geodec_safetensors_put(geodec_safetensors_writer *w, int i, int64_t first, int64_t count,
                                     const void *data, geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_INVAL when elements are missing. Frees w in every case. */
geodec_status geodec_safetensors_commit(geodec_safetensors_writer *w, geodec_err *err) GEODEC_MUST_USE;
void geodec_safetensors_abandon(geodec_safetensors_writer *w); /* NULL ok */

/* ---- reading ---------------------------------------------------------------------------------------------------- */

typedef struct geodec_safetensors geodec_safetensors;

/* Checks the header against the file: shapes that match their bytes (of types it knows), no gap and no overlap, and the
 * file's size. GEODEC_NOTFOUND, GEODEC_IO, GEODEC_FORMAT, GEODEC_LIMIT; the message names the file. */
geodec_status geodec_safetensors_open(const char *path, geodec_safetensors **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_safetensors_close(geodec_safetensors *s); /* NULL ok */
int geodec_safetensors_count(const geodec_safetensors *s);
const geodec_safetensor *geodec_safetensors_at(const geodec_safetensors *s, int i); /* in file order */
/* Index of the tensor of that name, or -1. */
int geodec_safetensors_find(const geodec_safetensors *s, const char *name);
/* Text of __metadata__, or NULL. */
const char *geodec_safetensors_text(const geodec_safetensors *s, const char *key);
/* GEODEC_UNSUPPORTED: a tensor that is refused. */
geodec_status geodec_safetensors_read(const geodec_safetensors *s, int i, int64_t first, int64_t count, void *data,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
