#include "flowmap/route.h"

#include "flowmap/flowmap_internal.h"

#include <math.h>
#include <string.h>

enum { BINS = GEODEC_ROUTE_BINS, RANK = 16 };
/* Measured on a mixture of 22 M parameters, leaving texts out, with keys of 32 coordinates: these foretell .750 / .895
 * / .961 of the experts among 2 / 4 / 8 of 32; without SAME_BEFORE .743 / .891 / .960. With keys of 16 coordinates and
 * without it .738 / .887 / .958; then weights of 1 / rank with 16 neighbours .728 / .879 / .954. */
static const float BANDWIDTH = 0.24F, SAME_BEFORE = 1;
static const float TABLE_WEIGHT = 0.5F, POPULAR_WEIGHT = 2, POPULAR_FURTHER = 0.2F;
/* Of later tokens less is known, so more neighbours have a say. */
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

/* To a sum of `used` in each layer. */
static void scale(const geodec_flowmap_routes *r, float *share)
{
    for (int64_t l = 0; l < r->layers; l++) {
        float *of = share + l * r->experts, sum = 0;
        for (int64_t e = 0; e < r->experts; e++) sum += of[e];
        for (int64_t e = 0; sum > 0 && e < r->experts; e++) of[e] *= (float)r->used / sum;
    }
}

void geodec_flowmap_route_vote(const geodec_flowmap *map, int32_t before, int32_t token, const geodec_flowmap_hit *hit,
                               int32_t n, int32_t skip, float *share)
{
    const geodec_flowmap_routes *r = &map->routes;
    const bool known = token >= 0 && token < map->vocab;
    memset(share, 0, (size_t)(r->layers * r->experts) * sizeof *share);
    if (known) add_table(map, token, skip, share);
    for (int64_t l = 0; l < r->layers; l++) {
        float *of = share + l * r->experts, counts = POPULAR_WEIGHT;
        const float *popular = r->popular + l * r->experts;
        for (int64_t e = 0; e < r->experts; e++) counts += of[e];
        for (int64_t e = 0; e < r->experts; e++) of[e] = TABLE_WEIGHT * (of[e] + POPULAR_WEIGHT * popular[e]) / counts;
    }
    const float factor = bandwidth(hit, &n);
    for (int32_t i = 0; known && i < n; i++)
        add_node(r, r->length + token * r->layers, r->start[token], hit[i].node,
                 weight_of(map, before, hit, i, factor, SAME_BEFORE), share);
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

float geodec_flowmap_route_read(const float *reliability, float share)
{
    const float x = share > 0 ? sqrtf(share < 1 ? share : 1) * BINS - 0.5F : 0;
    if (!(x > 0)) return reliability[0];
    if (x >= BINS - 1) return reliability[BINS - 1];
    const int i = (int)x;
    return reliability[i] + (x - (float)i) * (reliability[i + 1] - reliability[i]);
}

float geodec_flowmap_route_probability(const geodec_flowmap *map, geodec_route_basis basis, int64_t layer, float share)
{
    const geodec_flowmap_routes *r = &map->routes;
    return geodec_flowmap_route_read(r->reliability + ((int64_t)basis * r->layers + layer) * BINS, share);
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
