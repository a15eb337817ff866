/* Artifacts: the HDF5 files that stages pass to each other. Each has a kind, which names its fields and attributes
 * (docs/schema). kinds.h finds a kind by its name and opens a file of any kind.
 *
 * File layout. A 512-byte HDF5 user block comes first: the line
 *     "geodec artifact <kind> <major>.<minor>\nsha256 <64 hex digits of every byte after the user block>\n" padded with
 * NUL. Opening verifies that digest, so a truncated, altered or extended file is refused. Datasets are chunked with
 * Fletcher32 and little-endian. Objects have no times, so equal inputs give equal bytes. Root attributes: kind,
 * schema_version, tool, tool_version, command_line, seed, blas_core, model_fingerprint, tokenizer_fingerprint,
 * input_names, input_sha256 and the kind's own attributes. The file holds no clock time, thread count or folder.
 *
 * HDF5 is called from one thread only. */
#ifndef GEODEC_ARTIFACT_H
#define GEODEC_ARTIFACT_H

#include "geodec/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_kind geodec_kind; /* its name, fields and attributes */
struct geodec_artifact;

enum { GEODEC_INPUTS_MAX = 16 };

/* From what an artifact was made. */
typedef struct geodec_provenance {
    const char *tool; /* "geodec-cloud" */
    const char *command_line;
    uint64_t seed;
    const char *model_fingerprint;     /* hex SHA-256 or "" */
    const char *tokenizer_fingerprint; /* hex SHA-256 or "" */
    const char *blas_core;             /* of OpenBLAS, or "" if no BLAS was used; the last bits depend on it */
    /* Fingerprints of input artifacts (geodec_provenance_add_artifact), used where the two above are NULL or "". */
    char inherited_model[65], inherited_tokenizer[65];
    int n_inputs;
    struct {
        char name[128]; /* last path component */
        char sha256[65];
    } input[GEODEC_INPUTS_MAX];
} geodec_provenance;

/* Adds an input file; its content is hashed. GEODEC_LIMIT beyond GEODEC_INPUTS_MAX. */
GEODEC_API geodec_status geodec_provenance_add_file(geodec_provenance *p, const char *path,
                                                    geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_artifact geodec_artifact;

/* ---- writing: create, set dims, write fields and attributes, commit --------------------------------------------- */

/* Creates a temporary file in the folder of path; path itself is unchanged until commit. p is copied; NULL texts count
 * as "". */
GEODEC_API geodec_status geodec_artifact_create(const geodec_kind *kind, const char *path, const geodec_provenance *p,
                                                geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;

/* Sets a named dimension; every field that names it must agree. */
GEODEC_API geodec_status geodec_artifact_set_dim(geodec_artifact *a, const char *name, int64_t extent,
                                                 geodec_err *err) GEODEC_MUST_USE;

/* Writes a whole field, once, after its dimensions are set. data: C order, of the field's type. GEODEC_NUMERIC for a
 * NaN or infinity in a field whose kind does not allow it. */
GEODEC_API geodec_status geodec_artifact_write(geodec_artifact *a, const char *path, const void *data,
                                               geodec_err *err) GEODEC_MUST_USE;

/* Appends n_rows along the first dimension of a field that grows (0 rows: an empty field), after its other dimensions
 * are set. */
GEODEC_API geodec_status geodec_artifact_append(geodec_artifact *a, const char *path, int64_t n_rows, const void *data,
                                                geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_artifact_put_i64(geodec_artifact *a, const char *attr, int64_t v,
                                                 geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_artifact_put_f64(geodec_artifact *a, const char *attr, double v,
                                                 geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_artifact_put_str(geodec_artifact *a, const char *attr, const char *v,
                                                 geodec_err *err) GEODEC_MUST_USE;

/* Checks that every required field and attribute was written, closes, writes the digest, fsyncs and renames into place.
 * Frees a in every case (on failure the temporary file is removed). */
GEODEC_API geodec_status geodec_artifact_commit(geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* ---- reading ---------------------------------------------------------------------------------------------------- */

/* Opens an artifact of the given kind; an error for another kind names the tool that makes the right one. Verifies user
 * block, digest, schema version, presence, type, rank and extents of every field and attribute, and the limits (rank,
 * bytes of a field, the most that a file of this size can hold) before memory is allocated. GEODEC_NOTFOUND, GEODEC_IO,
 * GEODEC_FORMAT (not an artifact, another kind, a field that does not fit the table), GEODEC_VERSION, GEODEC_CHECKSUM,
 * GEODEC_LIMIT; the message names file, field and tool. */
GEODEC_API geodec_status geodec_artifact_open(const geodec_kind *kind, const char *path, geodec_artifact **out,
                                              geodec_err *err) GEODEC_MUST_USE;

/* Aborts a file being written. NULL ok. */
GEODEC_API void geodec_artifact_close(geodec_artifact *a);
GEODEC_API const geodec_kind *geodec_artifact_kind(const geodec_artifact *a);
GEODEC_API const char *geodec_artifact_path(const geodec_artifact *a);

/* The named dimensions that are known, in the table's order of first use; NULL past the last. */
GEODEC_API const char *geodec_artifact_dim_at(const geodec_artifact *a, int i, int64_t *extent);

/* SHA-256 of the whole file, for the provenance of its products; only after open. The first call reads the file; ""
 * when reading fails. */
GEODEC_API const char *geodec_artifact_sha256(const geodec_artifact *a);

/* Adds the opened artifact as an input of p. p inherits its model and tokenizer fingerprints if p has none (they are
 * copied, so a may be closed). GEODEC_CHECKSUM if p has different fingerprints. */
GEODEC_API geodec_status geodec_provenance_add_artifact(geodec_provenance *p, const geodec_artifact *a,
                                                        geodec_err *err) GEODEC_MUST_USE;

/* Extent of a named dimension. */
GEODEC_API geodec_status geodec_artifact_dim(const geodec_artifact *a, const char *name, int64_t *extent,
                                             geodec_err *err) GEODEC_MUST_USE;
GEODEC_API bool geodec_artifact_has(const geodec_artifact *a, const char *path);
GEODEC_API bool geodec_artifact_has_attr(const geodec_artifact *a, const char *attr);

/* Shape of a stored field: rank <= 6. */
GEODEC_API geodec_status geodec_artifact_shape(const geodec_artifact *a, const char *path, int64_t shape[6], int *rank,
                                               geodec_err *err) GEODEC_MUST_USE;

/* Reads a whole field into new memory of the field's type: out_pointer is a `T **` (caller frees with geodec_mem_free).
 */
GEODEC_API geodec_status geodec_artifact_read(const geodec_artifact *a, const char *path, void *out_pointer,
                                              geodec_err *err) GEODEC_MUST_USE;

/* Rows row0 .. row0+n_rows-1 along the first dimension into the caller's buffer. */
GEODEC_API geodec_status geodec_artifact_read_rows(const geodec_artifact *a, const char *path, int64_t row0,
                                                   int64_t n_rows, void *buffer, geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_artifact_get_i64(const geodec_artifact *a, const char *attr, int64_t *v,
                                                 geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_artifact_get_f64(const geodec_artifact *a, const char *attr, double *v,
                                                 geodec_err *err) GEODEC_MUST_USE;

/* Text owned by the artifact. Also serves the common attributes tool, tool_version, command_line, blas_core,
 * model_fingerprint and tokenizer_fingerprint. */
GEODEC_API geodec_status geodec_artifact_get_str(const geodec_artifact *a, const char *attr, const char **v,
                                                 geodec_err *err) GEODEC_MUST_USE;

#endif
