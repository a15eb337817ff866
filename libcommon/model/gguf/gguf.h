/* GGUF v2/v3, little-endian on any host: bounded reader over a read-only map, and a writer.
 *
 * Files are untrusted: every count, length and offset is checked before use. Errors name the file and the key or
 * tensor. */
#ifndef GEODEC_GGUF_GGUF_H
#define GEODEC_GGUF_GGUF_H

#include "base/err.h"
#include "base/sha256.h"
#include "gguf/tensor_types.h"
#include "io/atomic.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How products of model/ use the weights of a type: see gguf/tensor_types.h. */
typedef enum geodec_ggml_product {
    GEODEC_GGML_FLOATS,
    GEODEC_GGML_BYTES,
    GEODEC_GGML_INTEGERS,
    GEODEC_GGML_DECODED
} geodec_ggml_product;

/* One row of the table of types (gguf/tensor_types.h). */
typedef struct geodec_ggml_traits {
    int type; /* geodec_ggml_type */
    const char *name;
    int block;       /* elements of a block */
    int block_bytes; /* bytes of a block */
    /* n elements, n a multiple of block. Reference conversions: decode is exact; encode searches for the smallest
     * squared error where the format leaves a choice; nearest only rounds with the scale of the block's extremes (the
     * control of encode). Both are NULL without an encoder. */
    void (*decode)(const void *src, float *dst, int64_t n);
    void (*encode)(const float *src, void *dst, int64_t n);
    void (*nearest)(const float *src, void *dst, int64_t n);
    float limit;   /* the encoders accept finite values of a magnitude below this */
    int instead;   /* geodec_ggml_type of a matrix whose rows are not a multiple of block; the type itself when block is
                    * 1 */
    int file_type; /* general.file_type of a file mostly of this type; -1 without an encoder */
    geodec_ggml_product product;
} geodec_ggml_traits;
/* NULL for a type that is not supported. */
const geodec_ggml_traits *geodec_ggml_traits_of(int type);
/* Row i of the table, from 0; NULL after the last one. */
const geodec_ggml_traits *geodec_ggml_traits_at(int i);
/* The row with that name, in upper or lower case; NULL when there is none. */
const geodec_ggml_traits *geodec_ggml_traits_named(const char *name);
/* ggml's name of a type number, supported or not, for messages; "unknown" outside its list. */
const char *geodec_ggml_type_name(int type);
/* Plain integers, little-endian: no weights of a model in floats, but of one in integers
 * (integer/engine/network_file.h). Their number in the file; bytes of an element, 0 for any other type. */
enum { GEODEC_GGML_I8 = 24, GEODEC_GGML_I16 = 25, GEODEC_GGML_I32 = 26 };
int geodec_ggml_integer_bytes(int type);
/* Bytes of n elements; n must be a multiple of the block. */
size_t geodec_ggml_bytes(const geodec_ggml_traits *t, int64_t n);

typedef struct geodec_gguf_tensor {
    const char *name;
    int n_dims;
    int64_t dim[4]; /* fastest first, 1 beyond n_dims; one may be 0 */
    int type;
    const void *data; /* inside the map */
    size_t bytes;     /* of an unsupported type: up to the next tensor or the end of the file */
} geodec_gguf_tensor;

typedef struct geodec_gguf geodec_gguf;

/* Elements of a tensor; 0 for one of size zero. */
static inline int64_t geodec_gguf_elements(const geodec_gguf_tensor *t)
{
    return t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
}

/* NAME-00001-of-0000N.gguf opens all parts of a split model, which then is like one file: without the keys split.*, and
 * with the tensors of all parts. GEODEC_NOTFOUND or GEODEC_FORMAT, naming the part: missing, damaged, of another model;
 * GEODEC_FORMAT for a part that is not the first.
 * A file with tensors of unsupported types can be opened (for its vocabulary, say); check before reading values. */
geodec_status geodec_gguf_open(const char *path, geodec_gguf **out, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_gguf_open, for a GGUF inside a file: `size` bytes at `offset`, a multiple of 4,096. */
geodec_status geodec_gguf_open_part(const char *path, int64_t offset, int64_t size, geodec_gguf **out,
                                    geodec_err *err) GEODEC_MUST_USE;
/* GEODEC_UNSUPPORTED, naming the tensor and its type, unless every tensor can be decoded. */
geodec_status geodec_gguf_check_types(const geodec_gguf *g, geodec_err *err) GEODEC_MUST_USE;
/* As geodec_gguf_open, for bytes in memory. The caller owns them and keeps them while the object lives; `data` is
 * aligned to 32. */
geodec_status geodec_gguf_open_memory(const void *data, size_t size, const char *name, geodec_gguf **out,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_gguf_close(geodec_gguf *g); /* NULL ok */
const char *geodec_gguf_path(const geodec_gguf *g);
/* Part i of a split model, from 0; NULL after the last one. A file that is not split is part 0. Offsets count through
 * all parts: those of part i begin at *start, a multiple of 4,096, at least 4,096 after the end of the part before. */
const char *geodec_gguf_part_at(const geodec_gguf *g, int32_t i, int64_t *start, int64_t *bytes);
/* The file of an address inside the map. */
const char *geodec_gguf_path_of(const geodec_gguf *g, const void *data);
/* Bytes of the whole file, of all parts, or of the part of a file that was opened. */
int64_t geodec_gguf_file_bytes(const geodec_gguf *g);
/* Offset in that file of an address inside the map; -1 for one outside, and for bytes in memory. */
int64_t geodec_gguf_offset(const geodec_gguf *g, const void *data);

int64_t geodec_gguf_n_tensors(const geodec_gguf *g);
const geodec_gguf_tensor *geodec_gguf_tensor_at(const geodec_gguf *g, int64_t i);
/* NULL when absent. */
const geodec_gguf_tensor *geodec_gguf_find(const geodec_gguf *g, const char *name);

bool geodec_gguf_has(const geodec_gguf *g, const char *key);
/* Names of keys in the order of the file; NULL outside. */
int64_t geodec_gguf_n_keys(const geodec_gguf *g);
const char *geodec_gguf_key_at(const geodec_gguf *g, int64_t i);
/* One rule for numbers, of keys and of elements: any integer or float type, and bool as 0 or 1, is read where the value
 * fits: an integer without a fraction, a bool 0 or 1, a float an integer of its bits, float64 rounded to float32.
 * GEODEC_NOTFOUND; GEODEC_FORMAT, naming the key: no number, or one that does not fit. */
geodec_status geodec_gguf_get_i64(const geodec_gguf *g, const char *key, int64_t *v, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_get_f64(const geodec_gguf *g, const char *key, double *v, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_get_bool(const geodec_gguf *g, const char *key, bool *v, geodec_err *err) GEODEC_MUST_USE;
/* A zero-terminated copy owned by g. */
geodec_status geodec_gguf_get_str(const geodec_gguf *g, const char *key, const char **v,
                                  geodec_err *err) GEODEC_MUST_USE;
/* Arrays: length, then elements. String elements point into the map with their length. */
geodec_status geodec_gguf_array_length(const geodec_gguf *g, const char *key, int64_t *n,
                                       geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_array_str(const geodec_gguf *g, const char *key, int64_t i, const char **s, size_t *n,
                                    geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_array_f32(const geodec_gguf *g, const char *key, float *out, int64_t n,
                                    geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_array_i32(const geodec_gguf *g, const char *key, int32_t *out, int64_t n,
                                    geodec_err *err) GEODEC_MUST_USE;
/* Whether an array, not empty, has n times the same integer, *v. */
geodec_status geodec_gguf_array_same(const geodec_gguf *g, const char *key, int64_t *v, bool *same,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Releases the pages of data[0 .. n-1], inside the map; they are read again on access. Pages of pieces below 512 KiB
 * are released together, after 1 MiB of them. */
void geodec_gguf_release(const geodec_gguf *g, const void *data, size_t n);
/* Releases the pages of the whole file; its `rare` bytes (n of them, may be 0) are then expected to be accessed at
 * random. */
void geodec_gguf_release_all(const geodec_gguf *g, const void *rare, size_t n);
/* SHA-256 of the whole file, of the files of a split model one after the other, or of the part that was opened. */
void geodec_gguf_file_digest(const geodec_gguf *g, char hex[GEODEC_SHA256_HEX]);
/* SHA-256 over name, type, dims and bytes of every tensor in name order: the model fingerprint. */
void geodec_gguf_tensor_digest(const geodec_gguf *g, char hex[GEODEC_SHA256_HEX]);

/* ---- writer: keys in the order put, then tensors; committed atomically ------------------------------------------ */
typedef struct geodec_gguf_writer geodec_gguf_writer;
geodec_status geodec_gguf_writer_create(const char *path, geodec_gguf_writer **out, geodec_err *err) GEODEC_MUST_USE;
/* A writer of a part of a larger file: written from the file's current place, a multiple of 32. The file stays the
 * caller's; commit only ends the part. */
geodec_status geodec_gguf_writer_embed(geodec_atomic *file, const char *name, geodec_gguf_writer **out,
                                       geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_put_u32(geodec_gguf_writer *w, const char *key, uint32_t v, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_put_f32(geodec_gguf_writer *w, const char *key, float v, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_put_bool(geodec_gguf_writer *w, const char *key, bool v, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_put_str(geodec_gguf_writer *w, const char *key, const char *v,
                                  geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_put_str_array(geodec_gguf_writer *w, const char *key, const char *const *s, const size_t *len,
                                        int64_t n, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_put_f32_array(geodec_gguf_writer *w, const char *key, const float *v, int64_t n,
                                        geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_put_i32_array(geodec_gguf_writer *w, const char *key, const int32_t *v, int64_t n,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Copies a key of an open file verbatim, of any type. GEODEC_NOTFOUND. */
geodec_status geodec_gguf_put_copy(geodec_gguf_writer *w, const geodec_gguf *g, const char *key,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Encodes float32 data [dims, fastest first] to `type` (copied now). Rows must be a multiple of the block. */
geodec_status geodec_gguf_put_tensor(geodec_gguf_writer *w, const char *name, int type, int n_dims, const int64_t *dim,
                                     const float *data, geodec_err *err) GEODEC_MUST_USE;
/* For files larger than memory: first all tensors are planned, then their bytes, already in `type`, are streamed in
 * that order in pieces of any size (padding is added). Planned tensors and geodec_gguf_put_tensor exclude each other
 * (GEODEC_INVAL). Keys come before the first byte. commit refuses an incomplete stream. */
geodec_status geodec_gguf_plan_tensor(geodec_gguf_writer *w, const char *name, int type, int n_dims, const int64_t *dim,
                                      geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_gguf_stream(geodec_gguf_writer *w, const void *data, size_t n, geodec_err *err) GEODEC_MUST_USE;
/* Frees w in every case. */
geodec_status geodec_gguf_writer_commit(geodec_gguf_writer *w, geodec_err *err) GEODEC_MUST_USE;
void geodec_gguf_writer_abandon(geodec_gguf_writer *w);

#endif
