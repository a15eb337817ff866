/* libgeodec: decode with a language model, and the geometry of its hidden states. This header includes all others; each
 * of them has an example program in docs/examples.
 *
 * In the order in which a program meets them:
 *   err.h, run.h                                     errors; threads, log and progress
 *   model.h, tokenizer.h, session.h                  open a model, tokens of a text, forward passes
 *   sampler.h, drafter.h, decode.h                   one token from logits; drafters; exact speculative decoding
 *   streaming.h                                      experts of a mixture that are read from disk while it runs
 *   export.h                                         hidden states on a text, as an artifact
 *   artifact.h, matrix.h                             artifacts and their provenance; matrices of other programs
 *   cloud.h, metric.h                                principal coordinates, intrinsic dimension; a metric at every
 * point space.h, geodesic.h, curvature.h                 Riemannian spaces, geodesics, propagators, curvature
 *   christoffel.h, geodesics.h, riemann.h,
 *   propagators.h, records.h                         the later stages of the chain, each with its artifact
 *   flowmap.h                                        the flow map, from which a drafter drafts
 *
 * Functions and types begin with geodec_, constants with GEODEC_. What these headers declare stays as it is for all
 * versions with the same first number (docs/manual/packaging.md); the library exports nothing else. */
#ifndef GEODEC_GEODEC_H
#define GEODEC_GEODEC_H

#include "geodec/artifact.h"
#include "geodec/christoffel.h"
#include "geodec/cloud.h"
#include "geodec/curvature.h"
#include "geodec/decode.h"
#include "geodec/drafter.h"
#include "geodec/err.h"
#include "geodec/export.h"
#include "geodec/flowmap.h"
#include "geodec/geodesic.h"
#include "geodec/geodesics.h"
#include "geodec/matrix.h"
#include "geodec/metric.h"
#include "geodec/model.h"
#include "geodec/propagators.h"
#include "geodec/records.h"
#include "geodec/riemann.h"
#include "geodec/run.h"
#include "geodec/sampler.h"
#include "geodec/session.h"
#include "geodec/space.h"
#include "geodec/streaming.h"
#include "geodec/tokenizer.h"

/* The kind of that name ("cloud", "metric", ..), for geodec_artifact_create and geodec_artifact_open; NULL: none. */
GEODEC_API const geodec_kind *geodec_kinds_find(const char *name);
/* Opens an artifact of any kind. The errors of geodec_artifact_open. */
GEODEC_API geodec_status geodec_kinds_open(const char *path, geodec_artifact **out, geodec_err *err) GEODEC_MUST_USE;

#endif
