/* What kinds of artifacts are made of, and what stages do with artifacts beyond geodec/artifact.h. One constant table
 * per kind (geodec_kind) drives create, open, validate, print, diff and the schema page. */
#ifndef GEODEC_ARTIFACT_ARTIFACT_H
#define GEODEC_ARTIFACT_ARTIFACT_H

#include "artifact/member.h"
#include "base/err.h"
#include "base/sha256.h"
#include "geodec/artifact.h"
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
} geodec_attr;

struct geodec_merge;
struct geodec_kind {
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
    geodec_status (*put)(const void *object, struct geodec_artifact *a, const char *name, geodec_err *err);
};

/* Checks a table. GEODEC_INTERNAL if it breaks the rules (bad paths, axes, types, versions). Create and open call it
 * too. */
geodec_status geodec_kind_check(const geodec_kind *kind, geodec_err *err) GEODEC_MUST_USE;

/* Adds files as one input of this name, whose digest is the SHA-256 of the lines "digest  name\n" of the files, as
 * sha256sum prints them for their last components. */
geodec_status geodec_provenance_add_files(geodec_provenance *p, const char *name, int n, const char *const *paths,
                                          geodec_err *err) GEODEC_MUST_USE;

/* For tools that serve every kind: the kind is looked up by name in kinds[0..n-1]. */
geodec_status geodec_artifact_open_any(const geodec_kind *const *kinds, int n_kinds, const char *path,
                                       geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;
/* geodec_artifact_open without the digest, in a time that does not grow with the file: for sizes and a few rows, before
 * a run that opens the file again. */
geodec_status geodec_artifact_peek(const geodec_kind *kind, const char *path, geodec_artifact **out,
                                   geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_artifact_peek_any(const geodec_kind *const *kinds, int n_kinds, const char *path,
                                       geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;

/* Size of the opened file. */
int64_t geodec_artifact_file_bytes(const geodec_artifact *a);
/* Schema version of the opened file: its minor may be older or newer than the kind's. */
void geodec_artifact_version(const geodec_artifact *a, int *major, int *minor);
/* Provenance of the opened file; texts owned by the artifact. */
const geodec_provenance *geodec_artifact_provenance(const geodec_artifact *a);

/* The part of geodec_provenance_add_artifact that concerns the fingerprints, without the digest of a: for a run that is
 * only planned. */
geodec_status geodec_provenance_agree(geodec_provenance *p, const geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;

/* Any attribute as text: a number is written to room, exactly; a text is owned by the artifact. GEODEC_INVAL: the kind
 * has no such attribute; GEODEC_NOTFOUND: this file does not have it. */
geodec_status geodec_artifact_attr_text(const geodec_artifact *a, const char *attr, char room[GEODEC_FORMAT_ROOM],
                                        const char **text, geodec_err *err) GEODEC_MUST_USE;

#endif
