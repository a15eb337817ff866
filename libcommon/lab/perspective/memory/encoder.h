/* Hypervectors of states: bits = sign(P (e - mean)) with a random matrix P [10,000][width].
 *
 * The angle between two states, in units of pi, is the expected share of bits that differ (Charikar 2002): near states
 * have near hypervectors. Without the mean, all states that lie far from the origin would have the same bits.
 *
 * P is a pure function of (seed, kind): row i is never read from a file. An encoder is immutable, and may be shared
 * between threads. */
#ifndef GEODEC_PERSPECTIVE_MEMORY_ENCODER_H
#define GEODEC_PERSPECTIVE_MEMORY_ENCODER_H

#include "base/pool.h"
#include "lab/perspective/memory/hv.h"

/* Entries of P: +-1, of one bit each; or standard normal, of 4 bytes each. */
typedef enum geodec_hv_projection { GEODEC_HV_SIGNS, GEODEC_HV_NORMAL, GEODEC_HV_PROJECTIONS } geodec_hv_projection;

enum { GEODEC_HV_WIDTH_MAX = 16384 };

typedef struct geodec_hv_encoder geodec_hv_encoder;

/* mean [width] is copied; finite. GEODEC_LIMIT (width outside 1..16,384), GEODEC_RANGE (kind), GEODEC_NUMERIC,
 * GEODEC_NOMEM. */
geodec_status geodec_hv_encoder_create(geodec_hv_projection kind, uint64_t seed, int64_t width, const float *mean,
                                       geodec_hv_encoder **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_hv_encoder_destroy(geodec_hv_encoder *e); /* NULL ok */

/* state [n][width] finite, out [n]. A sum of exactly 0 takes a bit of the seed. Sums are in float64 in a fixed order.
 * GEODEC_NUMERIC, GEODEC_NOMEM. */
geodec_status geodec_hv_encode(const geodec_hv_encoder *e, int64_t n, const float *state, geodec_hv *out,
                               geodec_pool *pool, geodec_err *err) GEODEC_MUST_USE;

#endif
