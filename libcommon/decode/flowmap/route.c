#include "flowmap/route.h"

#include "base/lanes_internal.h"
#include "flowmap/flowmap_internal.h"

#include <math.h>
#include <string.h>

enum { BINS = GEODEC_ROUTE_BINS, RANK = 16, GROUP = 8 /* layers */ };
/* Measured on a mixture of 22 M parameters, leaving texts out, with keys of 32 coordinates: these foretell .750 / .895
 * / .961 of the experts among 2 / 4 / 8 of 32; without SAME_BEFORE .743 / .891 / .960. With keys of 16 coordinates and
 * without it .738 / .887 / .958; then weights of 1 / rank with 16 neighbours .728 / .879 / .954. */
static const float BANDWIDTH = 0.24F, SAME_BEFORE = 1;
static const float TABLE_WEIGHT = 0.5F, POPULAR_WEIGHT = 2, POPULAR_FURTHER = 0.2F;
/* Less is known of later tokens, so more neighbours have a say. */
static const float WIDER = 0.5F, POPULAR_BEYOND = 1;
static const double PRIOR = 4; /* observations in a bin, at the share itself */

bool geodec_flowmap_route_known(const geodec_flowmap *map) { return map->routes.code != NULL; }

static bool bit(const uint8_t *code, int64_t i) { return code[i / 8] >> (i % 8) & 1; }

/* ---- lists ------------------------------------------------------------------------------------------------------ */

/* First entry of a token's list in a layer, and its length. */
static int64_t list_of(const geodec_flowmap *map, int64_t token, int64_t layer, int64_t *length)
{
    const geodec_flowmap_routes *r = &map->routes;
    const int16_t *of = r->length + token * r->layers;
    int64_t at = r->start[token];
    for (int64_t l = 0; l < layer; l++) at += of[l];
    *length = of[layer];
    return at;
}

int32_t geodec_flowmap_route_of(const geodec_flowmap *map, int64_t node, int64_t layer, int32_t *expert)
{
    const geodec_flowmap_routes *r = &map->routes;
    const uint8_t *code = r->code + node * r->bytes;
    int64_t length;
    const int64_t at = list_of(map, map->scan->hop[node].token, layer, &length);
    int32_t n = 0;
    for (int64_t i = 0; i < length && n < r->used; i++)
        if (bit(code, layer * r->width + i)) expert[n++] = r->expert[at + i];
    return n;
}

/* ---- votes ------------------------------------------------------------------------------------------------------ */

/* The nodes of a text in a bucket, which is in text order: *first .. *end - 1. */
static void nodes_of(const geodec_flowmap *map, int32_t token, int32_t text, int64_t *first, int64_t *end)
{
    int64_t edge[2];
    for (int side = 0; side < 2; side++) {
        int64_t low = map->bucket[token], high = map->bucket[token + 1];
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (map->scan->hop[middle].sequence < text + side)
                low = middle + 1;
            else
                high = middle;
        }
        edge[side] = low;
    }
    *first = edge[0];
    *end = edge[1];
}

/* Adds `weight` for every expert of a node's mask; lists of the token start at `at`. */
static void add_node(const geodec_flowmap_routes *r, const int16_t *length, int64_t at, int64_t node, float weight,
                     float *share)
{
    const uint8_t *code = r->code + node * r->bytes;
    const int64_t end = r->layers * r->width;
    int64_t l = 0, base = 0; /* a layer and its first bit */
    for (int64_t from = 0; from < r->bytes; from += 8) {
        uint64_t bits = 0;
        for (int64_t k = 0; k < 8 && from + k < r->bytes; k++) bits |= (uint64_t)code[from + k] << (8 * k);
        for (; bits; bits &= bits - 1) {
            const int64_t i = 8 * from + __builtin_ctzll(bits);
            if (i >= end) return;
            for (; i >= base + r->width; base += r->width) at += length[l++];
            if (i - base < length[l]) share[l * r->experts + r->expert[at + i - base]] += weight;
        }
    }
}

/* Adds the weight [n] of nodes of one token for the experts of their masks. In between, the votes are in the order of
 * the bits, which mean the same in all of these nodes. */
static void add_nodes(const geodec_flowmap *map, int64_t token, int32_t n, const geodec_flowmap_hit *hit,
                      const float *weight, float *share)
{
    const geodec_flowmap_routes *r = &map->routes;
    const int16_t *length = r->length + token * r->layers, *const expert = r->expert + r->start[token], *at = expert;
    float vote[8 * GEODEC__FLOW_ROUTE_MOST];
    memset(vote, 0, (size_t)(8 * r->bytes) * sizeof *vote);
    for (int64_t l = 0; l < r->layers; at += length[l++])
        for (int64_t i = 0; i < length[l]; i++) vote[l * r->width + i] = share[l * r->experts + at[i]];
    for (int32_t i = 0; i < n; i++) {
        const uint8_t *code = r->code + hit[i].node * r->bytes;
        for (int64_t first = 0; first < r->bytes; first += 8) {
            uint64_t bits = 0;
            if (first + 8 <= r->bytes)
                memcpy(&bits, code + first, 8);
            else
                memcpy(&bits, code + first, (size_t)(r->bytes - first));
            for (; bits; bits &= bits - 1) vote[8 * first + __builtin_ctzll(bits)] += weight[i];
        }
    }
    at = expert;
    for (int64_t l = 0; l < r->layers; at += length[l++])
        for (int64_t i = 0; i < length[l]; i++) share[l * r->experts + at[i]] = vote[l * r->width + i];
}

/* Counts of the token's table into share. */
static void add_table(const geodec_flowmap *map, int32_t token, int32_t skip, float *share)
{
    const geodec_flowmap_routes *r = &map->routes;
    const int16_t *length = r->length + token * r->layers;
    int64_t at = r->start[token], first, end;
    for (int64_t l = 0; l < r->layers; l++)
        for (int64_t i = 0; i < length[l]; i++, at++) share[l * r->experts + r->expert[at]] += (float)r->count[at];
    if (skip < 0) return;
    nodes_of(map, token, skip, &first, &end);
    for (int64_t node = first; node < end; node++) add_node(r, length, r->start[token], node, -1, share);
}

/* From the counts of a layer to its part of the shares. The sum is exact, unless counts exceed 2^24. */
static void weigh_table(int64_t n, const float *popular, float *of)
{
    geodec__lanes sum = {0};
    for (int64_t e = 0; e < n; e += GEODEC__LANES) sum += geodec__lanes_load(of + e, n - e);
    const float counts = geodec__lanes_sum(sum) + POPULAR_WEIGHT;
    for (int64_t e = 0; e < n; e += GEODEC__LANES) {
        const geodec__lanes seen = geodec__lanes_load(of + e, n - e), all = geodec__lanes_load(popular + e, n - e);
        geodec__lanes_store(TABLE_WEIGHT * (seen + POPULAR_WEIGHT * all) / counts, of + e, n - e);
    }
}

/* Cuts n, and returns the factor of distances in the exponent. */
static float bandwidth(const geodec_flowmap_hit *hit, int32_t *n)
{
    if (*n > GEODEC_ROUTE_NEIGHBOURS) *n = GEODEC_ROUTE_NEIGHBOURS;
    return *n > 0 ? -1 / (BANDWIDTH * (float)hit[*n < RANK ? *n - 1 : RANK - 1].distance + 1e-3F) : 0;
}

static float weight_of(const geodec_flowmap *map, int32_t before, const geodec_flowmap_hit *hit, int32_t i,
                       float factor, float same_before)
{
    const bool same = before >= 0 && map->scan->hop[hit[i].node].before == before;
    return expf((float)(hit[i].distance - hit[0].distance) * factor + (same ? same_before : 0));
}

/* To a sum of `used` in each layer. Layers side by side, because the additions of one sum wait for each other. */
static void scale(const geodec_flowmap_routes *r, float *share)
{
    for (int64_t first = 0; first < r->layers; first += GROUP) {
        const int64_t n = r->layers - first < GROUP ? r->layers - first : GROUP;
        float *of = share + first * r->experts, sum[GROUP] = {0};
        for (int64_t e = 0; e < r->experts; e++)
            for (int64_t l = 0; l < n; l++) sum[l] += of[l * r->experts + e];
        for (int64_t l = 0; l < n; l++, of += r->experts) {
            const float factor = (float)r->used / sum[l];
            for (int64_t e = 0; sum[l] > 0 && e < r->experts; e++) of[e] *= factor;
        }
    }
}

void geodec_flowmap_route_vote(const geodec_flowmap *map, int32_t before, int32_t token, const geodec_flowmap_hit *hit,
                               int32_t n, int32_t skip, float *share)
{
    const geodec_flowmap_routes *r = &map->routes;
    const bool known = token >= 0 && token < map->vocab;
    memset(share, 0, (size_t)(r->layers * r->experts) * sizeof *share);
    if (known) add_table(map, token, skip, share);
    for (int64_t l = 0; l < r->layers; l++)
        weigh_table(r->experts, r->popular + l * r->experts, share + l * r->experts);
    const float factor = bandwidth(hit, &n);
    if (known && n > 0) {
        float weight[GEODEC_ROUTE_NEIGHBOURS];
        for (int32_t i = 0; i < n; i++) __builtin_prefetch(r->code + hit[i].node * r->bytes);
        for (int32_t i = 0; i < n; i++) weight[i] = weight_of(map, before, hit, i, factor, SAME_BEFORE);
        add_nodes(map, token, n, hit, weight, share);
    }
    scale(r, share);
}

void geodec_flowmap_route_further(const geodec_flowmap *map, int32_t before, const geodec_flowmap_hit *hit, int32_t n,
                                  float *share)
{
    const geodec_flowmap_routes *r = &map->routes;
    const float factor = bandwidth(hit, &n);
    for (int64_t i = 0; i < r->layers * r->experts; i++) share[i] = POPULAR_FURTHER * r->popular[i];
    for (int32_t i = 0; i < n; i++) {
        const int32_t node = map->scan->hop[hit[i].node].along;
        if (node < 0) continue;
        const int64_t token = map->scan->hop[node].token;
        add_node(r, r->length + token * r->layers, r->start[token], node,
                 weight_of(map, before, hit, i, factor, SAME_BEFORE), share);
    }
    scale(r, share);
}

float geodec_flowmap_route_beyond(const geodec_flowmap *map, int32_t before, const geodec_flowmap_hit *hit, int32_t n,
                                  float *weight)
{
    const geodec_flowmap_routes *r = &map->routes;
    const geodec__flowmap_scan_hop *const hop = map->scan->hop;
    const float factor = WIDER * bandwidth(hit, &n);
    int32_t node[GEODEC_ROUTE_NEIGHBOURS];
    float w[GEODEC_ROUTE_NEIGHBOURS];
    for (int64_t i = 0; i < r->layers * r->experts; i++) weight[i] = POPULAR_BEYOND * r->popular[i];
    for (int32_t i = 0; i < n; i++) {
        node[i] = hit[i].node;
        w[i] = weight_of(map, before, hit, i, factor, GEODEC_ROUTE_BEYOND_SAME);
    }
    /* a step of all texts at a time, so that their loads overlap */
    for (int step = 0; step < GEODEC_ROUTE_BEYOND; step++) {
        for (int32_t i = 0; i < n; i++) {
            if (node[i] >= 0) node[i] = hop[node[i]].along;
            if (node[i] < 0) continue;
            __builtin_prefetch(&hop[node[i]]);
            __builtin_prefetch(r->code + node[i] * r->bytes);
        }
        for (int32_t i = 0; i < n; i++)
            if (node[i] >= 0) {
                const int64_t token = hop[node[i]].token;
                __builtin_prefetch(r->length + token * r->layers);
                __builtin_prefetch(r->expert + r->start[token]);
            }
        for (int32_t i = 0; i < n; i++, w[i - 1] *= GEODEC_ROUTE_BEYOND_KEEP)
            if (node[i] >= 0) {
                const int64_t token = hop[node[i]].token;
                add_node(r, r->length + token * r->layers, r->start[token], node[i], w[i], weight);
            }
    }
    return factor;
}

/* ---- calibration ------------------------------------------------------------------------------------------------ */

/* Bins are even in the root of the share, because most shares are small. */
int32_t geodec_flowmap_route_bin(float share)
{
    if (!(share > 0)) return 0;
    return share < 1 ? (int32_t)(sqrtf(share) * BINS) : BINS - 1;
}

void geodec_flowmap_route_scale(const float *reliability, int64_t n, const float *share, float *out)
{
    const geodec__lanes none = {0}, one = geodec__lanes_of(1), last = geodec__lanes_of(BINS - 1);
    float scale[BINS + 1];
    memcpy(scale, reliability, BINS * sizeof *scale);
    scale[BINS] = scale[BINS - 1];
    for (int64_t i = 0; i < n; i += GEODEC__LANES) {
        const geodec__lanes x = geodec__lanes_min(geodec__lanes_max(geodec__lanes_load(share + i, n - i), none), one);
        const geodec__lanes at = geodec__lanes_sqrt(x) * BINS - 0.5F;
        const geodec__lanes place = geodec__lanes_min(geodec__lanes_max(at, none), last);
        const geodec__lanes_int bin = __builtin_convertvector(place, geodec__lanes_int);
        geodec__lanes low, high;
        for (int k = 0; k < GEODEC__LANES; k++) {
            low[k] = scale[bin[k]];
            high[k] = scale[bin[k] + 1];
        }
        const geodec__lanes p = low + (place - __builtin_convertvector(bin, geodec__lanes)) * (high - low);
        geodec__lanes_store(p, out + i, n - i);
    }
}

void geodec_flowmap_route_probabilities(const geodec_flowmap *map, geodec_route_basis basis, float *share)
{
    const geodec_flowmap_routes *r = &map->routes;
    for (int64_t l = 0; l < r->layers; l++, share += r->experts)
        geodec_flowmap_route_scale(r->reliability + ((int64_t)basis * r->layers + l) * BINS, r->experts, share, share);
}

void geodec_flowmap_route_fit(const int64_t *seen, const int64_t *right, float *reliability)
{
    double value[BINS], weight[BINS];
    for (int b = 0; b < BINS; b++) {
        const double centre = (b + 0.5) / BINS;
        weight[b] = (double)seen[b] + PRIOR;
        value[b] = ((double)right[b] + PRIOR * centre * centre) / weight[b];
    }
    geodec__flowmap_rise(BINS, value, weight);
    for (int b = 0; b < BINS; b++) reliability[b] = (float)value[b];
}
