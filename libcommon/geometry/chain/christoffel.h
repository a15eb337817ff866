/* What the other folders use beyond geodec/christoffel.h. */
#ifndef GEODEC_CHAIN_CHRISTOFFEL_H
#define GEODEC_CHAIN_CHRISTOFFEL_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "base/shard.h"
#include "geodec/christoffel.h"
#include "geometry/space.h"

#include <stdint.h>

extern const geodec_kind geodec_christoffel_kind;

/* max |d_l g_ij - Gamma^m_li g_mj - Gamma^m_lj g_im| for given g [n][n], dg [n][n][n], gamma [n][n][n]. */
double geodec_christoffel_residual(int64_t n, const double *g, const double *dg, const double *gamma);

#endif
