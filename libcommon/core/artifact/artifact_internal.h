/* Internal: shared by the files of this folder. */
#ifndef GEODEC_ARTIFACT_ARTIFACT_INTERNAL_H
#define GEODEC_ARTIFACT_ARTIFACT_INTERNAL_H

#include "artifact/artifact.h"
#include "io/atomic.h"
#include "io/h5_internal.h"

enum {
    GEODEC__USER_BLOCK = 512,        /* smallest user block of HDF5 */
    GEODEC__KIND_NAME = 32,          /* bytes, with the final zero */
    GEODEC__DIM_NAME = 32,           /* the same */
    GEODEC__TOOL_VERSION = 64,       /* the same */
    GEODEC__CHUNK_BYTES = 256 << 10, /* bytes of a chunk; whole rows when a row is smaller */
    GEODEC__CHUNK_CACHE = 4 << 20,   /* bytes of a field that are kept in memory while it is written, unless it grows */
};
#define GEODEC__EXTENT_UNKNOWN ((int64_t)-1)

/* ---- field tables (kind.c) -------------------------------------------------------------------------------------- */

/* One axis of a field: a name, or a fixed extent with an empty name. */
typedef struct geodec__axis {
    char name[GEODEC__DIM_NAME];
    int64_t fixed;
} geodec__axis;

/* Splits "N,K,3". GEODEC_INTERNAL for a malformed table. */
geodec_status geodec__kind_field_axes(const geodec_field *f, geodec__axis axis[GEODEC_RANK_MAX], int *rank,
                                      geodec_err *err) GEODEC_MUST_USE;
/* Bytes of a shape: GEODEC_LIMIT beyond GEODEC_FIELD_BYTES_MAX. */
geodec_status geodec__kind_shape_bytes(const geodec_field *f, const int64_t *shape, int rank, int64_t *bytes,
                                       geodec_err *err) GEODEC_MUST_USE;

/* GEODEC_NUMERIC when `bytes` of the field's data hold a NaN or infinity that the table does not allow; first: index of
 * the first element, for the message. */
geodec_status geodec__kind_check_finite(const geodec_field *f, const void *data, int64_t bytes, int64_t first,
                                        geodec_err *err) GEODEC_MUST_USE;

/* ---- the user block (header.c) ------------------------------------------------------------------------- */

typedef struct geodec__header {
    char kind[GEODEC__KIND_NAME];
    int major, minor;
    char sha256[GEODEC_SHA256_HEX];
} geodec__header;

void geodec__header_format(const geodec__header *h, char block[GEODEC__USER_BLOCK]);
/* GEODEC_FORMAT unless the block has exactly the form that geodec writes. */
geodec_status geodec__header_parse(const char block[GEODEC__USER_BLOCK], geodec__header *h,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Digest of a file from byte `start` to its end. */
geodec_status geodec__header_digest(int fd, int64_t start, char hex[GEODEC_SHA256_HEX],
                                    geodec_err *err) GEODEC_MUST_USE;

/* ---- whole chunks (chunks.c) --------------------------------------------------------------------------- */

enum { GEODEC__CHECKSUM = 4 /* bytes after a chunk */ };

/* Whether whole chunks can bypass HDF5's filters: rows of full width, no compression, the file's type. */
bool geodec__chunks_direct(const geodec_field *f, const int64_t *shape, const hsize_t *chunk, int rank);
/* Writes the chunk whose first row is `row`; buffer holds `bytes` and space for the checksum. */
geodec_status geodec__chunks_write(hid_t dataset, const char *path, int64_t row, char *buffer, int64_t bytes,
                                   geodec_err *err) GEODEC_MUST_USE;

/* ---- the object ------------------------------------------------------------------------------------------------- */

struct geodec_artifact {
    const geodec_kind *kind;
    char *path;
    geodec_atomic *tmp; /* while writing, else NULL */
    hid_t file;
    int major, minor;
    int64_t file_bytes;
    /* Digest of the whole file, computed on first use. A pointer, because the artifact is const then. */
    struct geodec__whole {
        int fd; /* the checked file, -1 while writing */
        char sha256[GEODEC_SHA256_HEX];
    } * whole;
    struct geodec__field_state {
        hid_t dataset; /* kept open after first use, for its chunk cache; -1 before */
        bool present;
        /* STREAM field being written: rows in the dataset, rows of a chunk, and rows waiting in buffer[chunk_rows].
         * Only whole chunks are written, and a short field gets a short chunk. */
        int64_t rows, chunk_rows, waiting;
        char *buffer; /* NULL for chunks of one row; with space for the checksum after a chunk */
        bool direct;  /* whole chunks bypass HDF5's filters; the checksum is computed here */
        int rank;
        int64_t shape[GEODEC_RANK_MAX];
        geodec__h5_storage storage; /* of a field being read */
        bool inflates;              /* its chunks were checked */
    } * field;
    struct geodec__attr_state {
        bool present;
        int64_t i64;
        double f64;
        char *text;
    } * attr;
    int n_dims;
    struct geodec__dim_state {
        char name[GEODEC__DIM_NAME];
        int64_t extent; /* GEODEC__EXTENT_UNKNOWN until set */
    } * dim;
    geodec_provenance provenance; /* its texts are in the members below */
    char *text_tool, *text_command, *text_model, *text_tokenizer, *text_core, *text_tool_version;
};

/* ---- dimension scales (scales.c) -------------------------------------------------------------------------------- */

/* Writes a scale for every axis of the fields that are present, and attaches it; once, before the file is closed. */
geodec_status geodec__scales_write(geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* An empty object for the kind, with checked tables and its dimension names. */
geodec_status geodec__artifact_new(const geodec_kind *kind, const char *path, geodec_artifact **out,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Index in the kind's table, or GEODEC_INVAL with the name. */
geodec_status geodec__kind_field_index(const geodec_artifact *a, const char *path, int *index,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Index in the kind's table, or -1. */
int geodec__kind_attr_find(const geodec_kind *kind, const char *name);
geodec_status geodec__kind_attr_index(const geodec_artifact *a, const char *name, geodec_attr_type type, int *index,
                                      geodec_err *err) GEODEC_MUST_USE;
/* NULL when the kind has no such dimension. */
struct geodec__dim_state *geodec__kind_dim_find(const geodec_artifact *a, const char *name);

#endif
