/* What the other folders use beyond geodec/riemann.h. */
#ifndef GEODEC_CHAIN_RIEMANN_H
#define GEODEC_CHAIN_RIEMANN_H

#include "base/shard.h"
#include "chain/geodesics.h"
#include "chain/metric.h"
#include "geodec/riemann.h"
#include "geometry/curvature.h"

extern const geodec_kind geodec_riemann_kind; /* of geodec_riemann */

enum { GEODEC_RIEMANN_NOISE = 2048 };

/* Sites of the field of noise beside a metric. */
int64_t geodec_riemann_noise_sites(const geodec_metric *metric);

#endif
