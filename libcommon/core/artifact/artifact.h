/* Artifacts: the HDF5 files that stages pass to each other. One constant table per kind (geodec_kind) drives create,
 * open, validate, print, diff and the schema page.
 *
 * File layout. A 512-byte HDF5 user block comes first: the line
 *     "geodec artifact <kind> <major>.<minor>\nsha256 <64 hex digits of every byte after the user block>\n" padded with
 * NUL. Opening verifies that digest, so a truncated, altered or extended file is refused. Datasets are chunked with
 * Fletcher32 (deflate + shuffle with `GEODEC_FIELD_COMPRESS`) and little-endian. Objects have no times, so equal inputs
 * give equal bytes. Root attributes: kind, schema_version, tool, tool_version, command_line, seed, blas_core,
 * model_fingerprint, tokenizer_fingerprint, input_names, input_sha256 and the kind's own attributes. The file holds no
 * clock time, thread count or folder. */
#ifndef GEODEC_ARTIFACT_ARTIFACT_H
#define GEODEC_ARTIFACT_ARTIFACT_H

#include "artifact/member.h"
#include "base/err.h"
#include "base/sha256.h"
#include "io/format.h"
#include "io/type.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_FIELD_OPTIONAL = 1,
    GEODEC_FIELD_COMPRESS = 2,  /* shuffle + deflate */
    GEODEC_FIELD_STREAM = 4,    /* first dimension grows by geodec_artifact_append; its name is set at commit */
    GEODEC_FIELD_NONFINITE = 8, /* NaN and infinity are allowed; in other fields writing them is GEODEC_NUMERIC */
    GEODEC_FIELD_ZERO = 256, /* bound: NaN and infinity are saved as 0 (a count in the same file marks an empty sum) */
};
/* How an attribute of the joined file is computed from those of its parts (artifact/merge.h). Without a rule it must be
 * the same in all parts. */
enum { GEODEC_ATTR_SUM = 16, GEODEC_ATTR_MAX = 32, GEODEC_ATTR_MIN = 64, GEODEC_ATTR_DERIVED = 128 };

/* Limits, checked before memory is allocated. */
enum { GEODEC_RANK_MAX = 6 };

typedef struct geodec_field {
    const char *path; /* "/points"; one level of groups allowed: "/knn/index" */
    geodec_type type;
    const char *dims; /* names joined by commas, "N,K"; a decimal number is a fixed extent; "" = a scalar */
    unsigned flags;
    const char *unit;      /* "1" when dimensionless */
    const char *long_name; /* its meaning, with the equation or paper that it implements */
    int since_minor;
    geodec_member member; /* its place in the kind's struct (artifact/binding.h); {0}: not bound */
    geodec_when when;
} geodec_field;

typedef enum geodec_attr_type { GEODEC_ATTR_I64, GEODEC_ATTR_F64, GEODEC_ATTR_STR } geodec_attr_type;
typedef struct geodec_attr {
    const char *name;
    geodec_attr_type type;
    unsigned flags; /* GEODEC_FIELD_OPTIONAL, GEODEC_FIELD_NONFINITE */
    const char *long_name;
    geodec_member member; /* as in a field */
    geodec_when when;
    const char *after; /* bound: saved after this field, "" before all; NULL: after the last. Not with shards */
} geodec_attr;

struct geodec_merge;
struct geodec_artifact;
typedef struct geodec_kind {
    const char *name; /* "cloud" */
    int major, minor; /* another major version is an error; a newer minor version is read and its unknown members are
                         ignored */
    const char *tool; /* the tool that makes it, for messages: "geodec-cloud" */
    const char *purpose;
    const geodec_field *fields;
    int n_fields;
    const geodec_attr *attrs;
    int n_attrs;
    /* For a stage with --shard: the dimensions that its slices divide, separated by commas, the dimension of the items
     * first ("P,C"). A field whose first axis is one of them is joined along that axis. The stage writes fields, then
     * attributes, in the table's order. */
    const char *shards;
    /* Value of a GEODEC_ATTR_DERIVED attribute of the joined file, also for integers. */
    geodec_status (*derive)(struct geodec_merge *whole, const char *attr, double *value, geodec_err *err);
    /* Binding to a struct (artifact/binding.h): its axes, its rows, and the function that writes unbound members. */
    const geodec_extent *extents;
    int n_extents;
    geodec_rows rows; /* further arrays of rows: GEODEC_OF_ROWS */
    bool attrs_first; /* saved before the fields */
    geodec_status (*put)(const void *object, struct geodec_artifact *a, const char *name, geodec_err *err);
    /* Names of fields and attributes that are saved first, in this order, separated by commas; the others follow in the
     * tables' order. Only for kinds whose first version used another order, because the bytes of a file depend on the
     * order. NULL for new kinds and kinds with shards. */
    const char *first;
} geodec_kind;

/* Checks a table. GEODEC_INTERNAL if it breaks the rules (bad paths, axes, types, versions). Create and open call it
 * too. */
GEODEC_API geodec_status geodec_kind_check(const geodec_kind *kind, geodec_err *err) GEODEC_MUST_USE;

enum { GEODEC_INPUTS_MAX = 16 };
typedef struct geodec_provenance {
    const char *tool;         /* "geodec-cloud" */
    const char *command_line; /* canonical (tools/cli/cli.h) */
    uint64_t seed;
    const char *model_fingerprint;     /* hex SHA-256 or "" */
    const char *tokenizer_fingerprint; /* hex SHA-256 or "" */
    const char *blas_core;             /* geodec_linalg_core(), or "" if no BLAS was used; the last bits depend on it */
    /* Fingerprints of input artifacts (geodec_provenance_add_artifact), used where the two above are NULL or "". */
    char inherited_model[GEODEC_SHA256_HEX], inherited_tokenizer[GEODEC_SHA256_HEX];
    int n_inputs;
    struct {
        char name[128]; /* last path component */
        char sha256[GEODEC_SHA256_HEX];
    } input[GEODEC_INPUTS_MAX];
} geodec_provenance;

/* Adds files as one input of this name, whose digest is the SHA-256 of the lines "digest  name\n" of the files, as
 * sha256sum prints them for their last components. */
GEODEC_API geodec_status geodec_provenance_add_files(geodec_provenance *p, const char *name, int n,
                                                     const char *const *paths, geodec_err *err) GEODEC_MUST_USE;
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
 * NaN or infinity in a float field without GEODEC_FIELD_NONFINITE. */
GEODEC_API geodec_status geodec_artifact_write(geodec_artifact *a, const char *path, const void *data,
                                               geodec_err *err) GEODEC_MUST_USE;
/* Appends n_rows along the first dimension of a STREAM field (0 rows: an empty field), after its other dimensions are
 * set. */
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
/* For tools that serve every kind: the kind is looked up by name in kinds[0..n-1]. */
GEODEC_API geodec_status geodec_artifact_open_any(const geodec_kind *const *kinds, int n_kinds, const char *path,
                                                  geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;
/* geodec_artifact_open without the digest, in a time that does not grow with the file: for sizes and a few rows, before
 * a run that opens the file again. */
GEODEC_API geodec_status geodec_artifact_peek(const geodec_kind *kind, const char *path, geodec_artifact **out,
                                              geodec_err *err) GEODEC_MUST_USE;
GEODEC_API geodec_status geodec_artifact_peek_any(const geodec_kind *const *kinds, int n_kinds, const char *path,
                                                  geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;
/* Aborts a file being written. NULL ok. */
GEODEC_API void geodec_artifact_close(geodec_artifact *a);

GEODEC_API const geodec_kind *geodec_artifact_kind(const geodec_artifact *a);
/* Size of the opened file. */
GEODEC_API int64_t geodec_artifact_file_bytes(const geodec_artifact *a);
GEODEC_API const char *geodec_artifact_path(const geodec_artifact *a);
/* Schema version of the opened file: its minor may be older or newer than the kind's. */
GEODEC_API void geodec_artifact_version(const geodec_artifact *a, int *major, int *minor);
/* Provenance of the opened file; texts owned by the artifact. */
GEODEC_API const geodec_provenance *geodec_artifact_provenance(const geodec_artifact *a);
/* The named dimensions that are known, in the table's order of first use; NULL past the last. */
GEODEC_API const char *geodec_artifact_dim_at(const geodec_artifact *a, int i, int64_t *extent);
/* SHA-256 of the whole file, for the provenance of its products; only after open. The first call reads the file; ""
 * when reading fails. */
GEODEC_API const char *geodec_artifact_sha256(const geodec_artifact *a);
/* Adds the opened artifact as an input of p. p inherits its model and tokenizer fingerprints if p has none (they are
 * copied, so a may be closed). GEODEC_CHECKSUM if p has different fingerprints. */
GEODEC_API geodec_status geodec_provenance_add_artifact(geodec_provenance *p, const geodec_artifact *a,
                                                        geodec_err *err) GEODEC_MUST_USE;

/* The part of this that concerns the fingerprints, without the digest of a: for a run that is only planned. */
GEODEC_API geodec_status geodec_provenance_agree(geodec_provenance *p, const geodec_artifact *a,
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
/* Any attribute as text: a number is written to room, exactly; a text is owned by the artifact. GEODEC_INVAL: the kind
 * has no such attribute; GEODEC_NOTFOUND: this file does not have it. */
GEODEC_API geodec_status geodec_artifact_attr_text(const geodec_artifact *a, const char *attr,
                                                   char room[GEODEC_FORMAT_ROOM], const char **text,
                                                   geodec_err *err) GEODEC_MUST_USE;

#endif
