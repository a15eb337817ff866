/* Joins the parts of a sweep (base/shard.h). The result is byte for byte the artifact that one run over all items
 * writes.
 *
 * Parts can be joined when kind, schema and tool version, seed, BLAS kernels, fingerprints, inputs and the command line
 * without --shard are the same, when they are slices 1/m .. m/m, and when each has the items of its slice. Fields whose
 * first axis is a dimension of kind->shards are joined in the order of the slices. All other fields, and attributes
 * without a rule, must be the same in every part. */
#ifndef GEODEC_ARTIFACT_MERGE_H
#define GEODEC_ARTIFACT_MERGE_H

#include "artifact/artifact.h"
#include "base/shard.h"

typedef struct geodec_merge geodec_merge;

/* kinds [n_kinds]: the accepted kinds; part [n]: the files, in any order. GEODEC_CHECK, with the reason in one line,
 * when they cannot be joined; the errors of geodec_artifact_open. */
geodec_status geodec_merge_open(const geodec_kind *const *kinds, int n_kinds, int64_t n, const char *const *part,
                                geodec_merge **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_merge_close(geodec_merge *m); /* NULL ok */
/* Writes the joined file. Holds one field in memory at a time. */
geodec_status geodec_merge_write(geodec_merge *m, const char *path, geodec_err *err) GEODEC_MUST_USE;

/* For messages and for kind->derive: the kind of the parts, a dimension of the joined file, and a field of the joined
 * file in new memory of its type (out_pointer is a `T **`). */
const geodec_kind *geodec_merge_kind(const geodec_merge *m);
int64_t geodec_merge_parts(const geodec_merge *m);
geodec_status geodec_merge_dim(const geodec_merge *m, const char *name, int64_t *extent,
                               geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_merge_read(geodec_merge *m, const char *path, void *out_pointer, geodec_err *err) GEODEC_MUST_USE;

#endif
