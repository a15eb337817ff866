/* What the other folders use beyond geodec/geodesics.h. */
#ifndef GEODEC_CHAIN_GEODESICS_H
#define GEODEC_CHAIN_GEODESICS_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/shard.h"
#include "chain/metric.h"
#include "geodec/geodesics.h"
#include "geometry/geodesic.h"

extern const geodec_kind geodec_geodesics_kind;

/* Internal: names of geodec_velocity and of the methods in artifacts, and checks common to all files of paths (the
 * message names `path`). */
extern const char *const geodec__geodesics_velocity_names[], *const geodec__geodesics_methods[];
geodec_status geodec__geodesics_check(const geodec_geodesics *g, const char *path, geodec_err *err);

/* Logs a summary of the figures. */
void geodec_geodesics_say(const geodec_hooks *hooks, const geodec_geodesics *g);

#endif
