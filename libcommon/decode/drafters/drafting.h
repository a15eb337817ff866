/* Creates drafters by name and reads the artifacts they need. One geodec_drafting holds the artifacts of a run; any
 * number of drafters (one per worker) can be made from it. */
#ifndef GEODEC_DRAFTERS_DRAFTING_H
#define GEODEC_DRAFTERS_DRAFTING_H

#include "artifact/artifact.h"
#include "base/err.h"
#include "decode/drafter.h"
#include "flowmap/library.h"
#include "geodec/drafter.h"
#include "session/model.h"

enum { GEODEC_DRAFTER_NAME_MAX = 64 };

bool geodec_drafting_knows(const char *name);
/* Whether a drafter of this name, or a part of it, can use drafting artifacts, and whether it needs them. "ngram" and
 * "auto" can use them but do not need them. */
bool geodec_drafting_takes_artifacts(const char *name);
bool geodec_drafting_needs_artifacts(const char *name);
/* For "model" and "exit": sets the options of their sessions (the drafters set n_blocks) and the file of the second
 * model, NULL = none. Call it before create. GEODEC_CHECKSUM: the second model has another tokenizer. */
geodec_status geodec_drafting_sessions(geodec_drafting *d, const geodec_session_options *how, const char *draft_model,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Runs "model" from the projection at `path` (lowrank/projection.h): a projection of the second model or, without one,
 * of the target, which is opened a second time as its own draft model. Call it after sessions and before create.
 * GEODEC_CHECKSUM: the projection belongs to another model. */
geodec_status geodec_drafting_project(geodec_drafting *d, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* The second model, NULL = there is none. Call it after sessions and project. */
const geodec_model *geodec_drafting_second(const geodec_drafting *d);
/* Sets the arithmetic of the second model, in place of that of `how` (sessions). Call it before create. */
void geodec_drafting_arithmetic(geodec_drafting *d, geodec_arithmetic a);
/* Gives the flowmap drafter a library file that grows while it drafts (flowmap/library.h). Only one flowmap drafter can
 * then be made. bound: limit on the bytes of file and memory, 0 = that of the file or the default. Call it after open
 * and before create. GEODEC_INVAL: no flowmap drafter was requested; otherwise the errors of
 * geodec_flowmap_library_open. */
geodec_status geodec_drafting_library(geodec_drafting *d, const char *path, int64_t bound, const geodec_hooks *hooks,
                                      geodec_err *err) GEODEC_MUST_USE;
/* The library, or NULL. */
const geodec_flowmap_library *geodec_drafting_grown(const geodec_drafting *d);
/* Adds the artifacts that were read to p. */
geodec_status geodec_drafting_provenance(const geodec_drafting *d, geodec_provenance *p,
                                         geodec_err *err) GEODEC_MUST_USE;

/* The stored consistency of the flow map, measured when it was baked, and its control (flowmap/map.h). NaN without a
 * map or without values. */
void geodec_drafting_consistency(const geodec_drafting *d, double *consistency, double *shuffled);

#endif
