/* What the other folders use beyond geodec/propagators.h. */
#ifndef GEODEC_CHAIN_PROPAGATORS_H
#define GEODEC_CHAIN_PROPAGATORS_H

#include "base/shard.h"
#include "chain/geodesics.h"
#include "geodec/propagators.h"
#include "geometry/propagate.h"

extern const geodec_kind geodec_propagators_kind;

#endif
