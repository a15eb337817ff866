/* Routes in a flow map: which experts of a mixture the model used for the token of each node.
 *
 * Token table. For each token and layer, the experts that its nodes used, with counts, most frequent first (ties: the
 * lower id). Route of a node. A bit mask for each layer over the experts in the order of its token's table, `width`
 * bits: all experts if the masks of all layers take at most GEODEC_ROUTE_BYTES, otherwise the largest equal width that
 * does. Experts beyond it are not stored (`lost`); the table is cut to the same width.
 *
 * Vote. The routes of the nodes nearest to a state, in the bucket of a token, foretell the experts of that token:
 *     share_e = sum_i w_i [e in route_i] + 0.5 table_e, scaled to a sum of `used`
 *     w_i = exp(-(D_i - D_1) / (0.24 D_16) + b_i), D_i = squared distance of the i-th nearest node (D_16: the last one
 *           if there are fewer), b_i = 1 if the token before it is the one before the query's token, else 0
 *     table_e = (count_e + 2 popular_e) / (sum of counts + 2)
 *     popular_e = share of e in all uses of the layer
 * Without neighbours the table is left, and for a token without nodes the popularity. */
#ifndef GEODEC_FLOWMAP_ROUTE_H
#define GEODEC_FLOWMAP_ROUTE_H

#include "flowmap/map.h"

enum {
    GEODEC_ROUTE_BYTES = 96,
    GEODEC_ROUTE_NEIGHBOURS = 32,
    GEODEC_ROUTE_BEYOND = 12 /* tokens that a forecast of later ones reaches */
};
/* Weight of each token in it, against the one before. */
#define GEODEC_ROUTE_BEYOND_KEEP 0.75F

/* What a share was computed from. */
typedef enum geodec_route_basis { GEODEC_ROUTE_STATE, GEODEC_ROUTE_TOKEN } geodec_route_basis;

bool geodec_flowmap_route_known(const geodec_flowmap *map);
/* Experts of a node in one layer, as far as they are stored: expert [used], ascending rank. Returns their number. */
int32_t geodec_flowmap_route_of(const geodec_flowmap *map, int64_t node, int64_t layer, int32_t *expert);
/* share [layers][experts] by the vote. before: the token before, -1 = not known. hit: the n nearest nodes of the
 * token's bucket, at most GEODEC_ROUTE_NEIGHBOURS of them are used. n = 0: by the token table. token -1: popularity.
 * skip: a text whose nodes the table leaves out (-1: none). The map must have routes. */
void geodec_flowmap_route_vote(const geodec_flowmap *map, int32_t before, int32_t token, const geodec_flowmap_hit *hit,
                               int32_t n, int32_t skip, float *share);
/* The vote one token further, when that token is not known yet: by the routes of the nodes that follow the hits in
 * their texts, and 0.2 popular. */
void geodec_flowmap_route_further(const geodec_flowmap *map, int32_t before, const geodec_flowmap_hit *hit, int32_t n,
                                  float *share);
/* Weights of the tokens after the hits' own, all unknown yet: by the routes of the next GEODEC_ROUTE_BEYOND nodes of
 * their texts, each GEODEC_ROUTE_BEYOND_KEEP of the one before; and popular. The first node after a hit weighs
 *     exp((D_i - D_1) scale + b_i), b_i = GEODEC_ROUTE_BEYOND_SAME if the token before it is `before`, else 0
 * Returns scale, below 0; 0 without hits. The weights are not scaled to a sum, so that others can be added. */
#define GEODEC_ROUTE_BEYOND_SAME 0.5F
float geodec_flowmap_route_beyond(const geodec_flowmap *map, int32_t before, const geodec_flowmap_hit *hit, int32_t n,
                                  float *weight);
/* Probabilities that the experts of all layers are used, given their shares, in place: share [layers][experts].
 * Measured when the map was baked, on texts whose nodes were left out. */
void geodec_flowmap_route_probabilities(const geodec_flowmap *map, geodec_route_basis basis, float *share);
/* The scale of such probabilities, made of other measured shares: bin of a share, and interpolation of n shares in a
 * row of GEODEC_ROUTE_BINS values at the middles of the bins, even in the root of the share; out may be share. */
int32_t geodec_flowmap_route_bin(float share);
void geodec_flowmap_route_scale(const float *reliability, int64_t n, const float *share, float *out);
/* A row of reliabilities from counts of each bin, seen and right; rising (isotonic regression). */
void geodec_flowmap_route_fit(const int64_t *seen, const int64_t *right, float *reliability);

#endif
