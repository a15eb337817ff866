/* The nearest nodes of a bucket. Nodes are split in halves along the coordinate that varies most, down to leaves of two
 * blocks. Each leaf has the bounding box of its keys; a leaf whose box is farther than k nodes is skipped. */
#include "base/mem.h"
#include "flowmap/flowmap_internal.h"

#include <string.h>

enum {
    BLOCK = GEODEC__FLOW_BLOCK,
    LEAF = GEODEC_FLOW_LEAF_NODES,
    BOX = GEODEC__FLOW_BOX,
    SIDE = BOX / 2, /* of a box: its lower corner, then its upper one */
    VALUES = 128,   /* of a coordinate */
    FEW = 4,        /* leaves of a bucket that is scanned as a whole */
};

/* ---- layout ----------------------------------------------------------------------------------------------------- */

void geodec__flowmap_unlay(geodec_flowmap *map)
{
    geodec_flowmap_scan *s = map->scan;
    if (s) {
        GEODEC_FREE(s->first, s->leaf);
        geodec_mem_unmap(s->block, s->block_bytes);
        geodec_mem_unmap(s->box, s->box_bytes);
        geodec_mem_unmap(s->hop, s->hop_bytes);
    }
    geodec_mem_free(s);
    map->scan = NULL;
}

/* Allocates memory in huge pages and sets *bytes. */
static geodec_status new_pages(int64_t n, int64_t size, void **out, int64_t *bytes, geodec_err *err)
{
    const int64_t all = n > 0 ? n * size : size;
    *out = geodec_mem_map(all);
    if (!*out) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %lld x %lld bytes", (long long)n, (long long)size);
    *bytes = all;
    return GEODEC_OK;
}

/* The coordinate along which the keys of these nodes vary most. */
static int64_t widest_coordinate(const geodec_flowmap *map, const int32_t *node, int64_t n)
{
    int64_t sum[GEODEC_FLOW_DIMS_MAX] = {0}, square[GEODEC_FLOW_DIMS_MAX] = {0}, best = 0;
    double most = -1;
    for (int64_t i = 0; i < n; i++) {
        const int8_t *key = map->key + node[i] * map->dims;
        for (int64_t c = 0; c < map->dims; c++) {
            sum[c] += key[c];
            square[c] += key[c] * key[c];
        }
    }
    for (int64_t c = 0; c < map->dims; c++) {
        const double variance = (double)square[c] - (double)sum[c] * (double)sum[c] / (double)n;
        if (variance <= most) continue;
        most = variance;
        best = c;
    }
    return best;
}

/* Partitions the nodes into those of the first leaf and those of the second; lower nodes come first on equal
 * coordinates. work: [n]. */
static void split(const geodec_flowmap *map, int32_t *node, int64_t n, int32_t *work)
{
    while (n > LEAF) {
        int64_t place[VALUES + 1] = {0};
        const int64_t c = widest_coordinate(map, node, n), leaves = (n + LEAF - 1) / LEAF, half = leaves / 2 * LEAF;
        for (int64_t i = 0; i < n; i++) place[map->key[node[i] * map->dims + c] + VALUES / 2 + 1]++;
        for (int v = 0; v < VALUES; v++) place[v + 1] += place[v];
        for (int64_t i = 0; i < n; i++) work[place[map->key[node[i] * map->dims + c] + VALUES / 2]++] = node[i];
        memcpy(node, work, (size_t)n * sizeof *node);
        split(map, node, half, work);
        node += half;
        n -= half;
    }
}

/* The blocks and boxes of a token's nodes, in the order of the leaves. */
static void lay_bucket(const geodec_flowmap *map, int64_t t, const int32_t *node)
{
    geodec_flowmap_scan *s = map->scan;
    const int64_t r = map->dims, n = map->bucket[t + 1] - map->bucket[t], blocks = s->first[t + 1] - s->first[t];
    const int32_t far = GEODEC__FLOW_FAR;
    for (int64_t i = 0; i < blocks * BLOCK; i++) {
        const int64_t lane = i % BLOCK;
        uint8_t *b = s->block + (s->first[t] + i / BLOCK) * s->stride, *box = s->box + (s->leaf[t] + i / LEAF) * BOX;
        int32_t norm = 0;
        if (i >= n) {
            memcpy(b + s->stride - 128 + 4 * lane, &far, sizeof far);
            continue;
        }
        const int8_t *key = map->key + node[i] * r;
        for (int64_t c = 0; c < r; c++) {
            const int32_t x = key[c] + 64;
            b[(c / 4 * BLOCK + lane) * 4 + c % 4] = (uint8_t)x;
            norm += x * x;
            if (i % LEAF == 0 || x < box[c]) box[c] = (uint8_t)x;
            if (i % LEAF == 0 || x > box[SIDE + c]) box[SIDE + c] = (uint8_t)x;
        }
        memcpy(b + s->stride - 128 + 4 * lane, &norm, sizeof norm);
        memcpy(b + s->stride - 64 + 4 * lane, &node[i], sizeof *node);
    }
}

static void lay_hops(const geodec_flowmap *map)
{
    geodec_flowmap_scan *s = map->scan;
    for (int64_t t = 0; t < map->vocab; t++)
        for (int64_t n = map->bucket[t]; n < map->bucket[t + 1]; n++) s->hop[n].token = (int32_t)t;
    for (int64_t q = 0; q < map->sequences; q++)
        for (int64_t i = map->sequence_start[q]; i < map->sequence_start[q + 1]; i++) {
            const int32_t n = map->order[i], after = i + 1 < map->sequence_start[q + 1] ? map->order[i + 1] : -1;
            s->hop[n] = (geodec__flowmap_scan_hop){
                .label = map->label[n],
                .next = map->next ? map->next[n] : -1,
                .text = after >= 0 ? s->hop[after].token : -1,
                .along = after,
                .sequence = (int32_t)q,
                .before = i > map->sequence_start[q] ? s->hop[map->order[i - 1]].token : map->first_token[q],
                .token = s->hop[n].token,
                .agreement = map->agreement ? (float)map->agreement[n] / 255 : 0};
            memcpy(s->hop[n].key, map->key + n * map->dims, (size_t)map->dims);
        }
}

geodec_status geodec__flowmap_layout(geodec_flowmap *map, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *node = NULL, *work = NULL;
    geodec__flowmap_unlay(map);
    GEODEC_NEW(map->scan, 1);
    geodec_flowmap_scan *s = map->scan;
    s->kernels = geodec__flowmap_scan_best();
    s->groups = (int32_t)(map->dims / 4);
    s->stride = (s->groups + 2) * 64;
    GEODEC_NEW_EACH(map->vocab + 1, s->first, s->leaf);
    for (int64_t t = 0; t < map->vocab; t++) {
        const int64_t blocks = (map->bucket[t + 1] - map->bucket[t] + BLOCK - 1) / BLOCK;
        s->first[t + 1] = s->first[t] + blocks;
        s->leaf[t + 1] = s->leaf[t] + (blocks + GEODEC__FLOW_LEAF - 1) / GEODEC__FLOW_LEAF;
        if (blocks > s->widest) s->widest = blocks;
    }
    GEODEC_TRY(new_pages(s->first[map->vocab], s->stride, (void **)&s->block, &s->block_bytes, err));
    GEODEC_TRY(new_pages(s->leaf[map->vocab], BOX, (void **)&s->box, &s->box_bytes, err));
    GEODEC_TRY(new_pages(map->nodes, sizeof *s->hop, (void **)&s->hop, &s->hop_bytes, err));
    GEODEC_NEW_EACH(s->widest * BLOCK, node, work);
    for (int64_t t = 0; t < map->vocab; t++) {
        const int64_t first = map->bucket[t], n = map->bucket[t + 1] - first;
        for (int64_t i = 0; i < n; i++) node[i] = (int32_t)(first + i);
        split(map, node, n, work);
        lay_bucket(map, t, node);
    }
    lay_hops(map);
done:
    GEODEC_FREE(node, work);
    return st;
}

/* ---- search ----------------------------------------------------------------------------------------------------- */

/* Room for a bucket: distances and candidates of its nodes, blocks to scan, bounds of its leaves. */
int64_t geodec_flowmap_room(const geodec_flowmap *map) { return (2 * BLOCK + 2) * (map->scan->widest + 1); }

/* A limit with at least k distances below it, and few more: k of the minima of interleaved parts are below it. The
 * nearest neighbours do not depend on it. */
static int32_t limit_for(const geodec__flowmap_scan_kernels *kernels, const int32_t *low, int64_t n, int64_t k)
{
    int32_t below = 0, high = GEODEC_FLOW_DIMS_MAX * 127 * 127 + 1;
    if (kernels->below(low, n, high) < k) return GEODEC__FLOW_FAR;
    while (high - below > 1 + high / 32) { /* count(below) < k <= count(high) */
        const int32_t middle = below + (high - below) / 2;
        if (kernels->below(low, n, middle) >= k)
            high = middle;
        else
            below = middle;
    }
    return high;
}

/* Number of nodes of a text in a bucket, which is in text order. */
static int64_t nodes_of_text(const geodec_flowmap *map, int64_t first, int64_t n, int32_t text)
{
    int64_t edge[2];
    for (int side = 0; side < 2; side++) {
        int64_t low = 0, high = n;
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if (map->scan->hop[first + middle].sequence < text + side)
                low = middle + 1;
            else
                high = middle;
        }
        edge[side] = low;
    }
    return edge[1] - edge[0];
}

/* The search of one bucket. */
typedef struct search {
    const geodec_flowmap_scan *scan;
    const uint8_t *block; /* of the bucket */
    int64_t blocks, leaves;
    uint8_t query[SIDE]; /* plus 64, zero after the key as in boxes */
    int32_t norm;
    int32_t *distance, *candidate, *which, *bound;
    int32_t low[GEODEC__FLOW_LOWS];
} search;

static int64_t add_leaf(search *x, int64_t leaf, int64_t n)
{
    for (int64_t b = leaf * GEODEC__FLOW_LEAF; b < (leaf + 1) * GEODEC__FLOW_LEAF && b < x->blocks; b++)
        x->which[n++] = (int32_t)b;
    return n;
}

static void measure(search *x, int64_t n)
{
    x->scan->kernels->distance(x->block, x->which, n, x->scan->groups, x->query, x->norm, x->distance, x->low);
}

/* The blocks that may hold one of the k nearest. The leaves of the nearest boxes give an upper bound of their distance.
 * Returns the number of blocks. */
static int64_t choose_blocks(search *x, const uint8_t *box, int64_t k)
{
    const geodec__flowmap_scan_kernels *kernels = x->scan->kernels;
    const int64_t probes = k / LEAF + 2;
    int32_t limit = GEODEC__FLOW_FAR;
    int64_t n = 0;
    if (x->leaves > FEW && x->leaves > 2 * probes) {
        kernels->boxes(box, x->leaves, x->query, x->bound);
        int32_t taken = -1, at = -1; /* in the order of (bound, leaf) */
        for (int64_t i = 0; i < probes; i++) {
            int32_t best = INT32_MAX, leaf = -1;
            for (int32_t l = 0; l < x->leaves; l++) {
                const int32_t d = x->bound[l];
                if (d < best && (d > taken || (d == taken && l > at))) {
                    best = d;
                    leaf = l;
                }
            }
            taken = best;
            at = leaf;
            n = add_leaf(x, leaf, n);
        }
        measure(x, n);
        limit = limit_for(kernels, x->low, GEODEC__FLOW_LOWS, k);
        n = 0;
        for (int64_t l = 0; l < x->leaves; l++)
            if (x->bound[l] < limit) n = add_leaf(x, l, n);
        return n;
    }
    for (int64_t l = 0; l < x->leaves; l++) n = add_leaf(x, l, n);
    return n;
}

/* The blocks of about `most` leaves, those with the nearest boxes; of all leaves if there are no more. */
static int64_t choose_leaves(search *x, const uint8_t *box, int64_t most)
{
    int64_t n = 0;
    if (x->leaves > most) {
        const int64_t padded = (x->leaves + BLOCK - 1) / BLOCK * BLOCK;
        x->scan->kernels->boxes(box, x->leaves, x->query, x->bound);
        for (int64_t l = x->leaves; l < padded; l++) x->bound[l] = GEODEC__FLOW_FAR;
        const int32_t limit = limit_for(x->scan->kernels, x->bound, padded, most);
        const int64_t chosen = x->scan->kernels->collect(x->bound, padded, limit, x->candidate);
        for (int64_t i = 0; i < chosen; i++) n = add_leaf(x, x->candidate[i], n);
        return n;
    }
    for (int64_t l = 0; l < x->leaves; l++) n = add_leaf(x, l, n);
    return n;
}

/* leaves: about so many are searched; 0: all that may hold one of the k nearest. */
static int32_t search_bucket(const geodec_flowmap *map, int32_t token, const int8_t *key, int32_t k, int32_t skip,
                             int64_t leaves, int32_t *scratch, geodec_flowmap_hit *hit)
{
    const geodec_flowmap_scan *s = map->scan;
    int32_t count = 0;
    if (token < 0 || token >= map->vocab || k < 1 || k > GEODEC_FLOW_NEAR_MAX) return 0;
    const int64_t first = map->bucket[token], n = map->bucket[token + 1] - first;
    const int64_t blocks = s->first[token + 1] - s->first[token], padded = blocks * BLOCK;
    search x = {.scan = s,
                .block = s->block + s->first[token] * s->stride,
                .blocks = blocks,
                .leaves = s->leaf[token + 1] - s->leaf[token],
                .distance = scratch,
                .candidate = scratch + padded,
                .which = scratch + 2 * padded,
                .bound = scratch + 2 * padded + blocks};
    for (int64_t c = 0; c < map->dims; c++) {
        x.query[c] = (uint8_t)(key[c] + 64);
        x.norm += x.query[c] * x.query[c];
    }
    /* If a text is left out, all its nodes may be among the nearest. */
    const int64_t wanted = k + (skip >= 0 ? nodes_of_text(map, first, n, skip) : 0);
    const uint8_t *box = s->box + s->leaf[token] * BOX;
    const int64_t chosen = leaves > 0 ? choose_leaves(&x, box, leaves) : choose_blocks(&x, box, wanted);
    measure(&x, chosen);
    const int32_t limit = n > wanted ? limit_for(s->kernels, x.low, GEODEC__FLOW_LOWS, wanted) : GEODEC__FLOW_FAR;
    const int64_t found = s->kernels->collect(x.distance, chosen * BLOCK, limit, x.candidate);
    for (int64_t i = 0; i < found; i++) {
        const int32_t slot = x.candidate[i], d = x.distance[slot];
        int32_t node;
        if (count == k && d > hit[count - 1].distance) continue;
        memcpy(&node, x.block + (x.which[slot / BLOCK] + 1) * s->stride - 64 + 4 * (slot % BLOCK), sizeof node);
        __builtin_prefetch(&s->hop[node]); /* it is read next */
        if (skip >= 0 && s->hop[node].sequence == skip) continue;
        if (count == k && d == hit[count - 1].distance && node > hit[count - 1].node) continue;
        int32_t at = count < k ? count++ : count - 1;
        for (; at > 0 && (hit[at - 1].distance > d || (hit[at - 1].distance == d && hit[at - 1].node > node)); at--)
            hit[at] = hit[at - 1];
        hit[at] = (geodec_flowmap_hit){d, node};
    }
    return count;
}

int32_t geodec_flowmap_nearest(const geodec_flowmap *map, int32_t token, const int8_t *key, int32_t k, int32_t skip,
                               int32_t *scratch, geodec_flowmap_hit *hit)
{
    return search_bucket(map, token, key, k, skip, 0, scratch, hit);
}

int32_t geodec_flowmap_nearby(const geodec_flowmap *map, int32_t token, const int8_t *key, int32_t k, int64_t leaves,
                              int32_t *scratch, geodec_flowmap_hit *hit)
{
    return search_bucket(map, token, key, k, -1, leaves, scratch, hit);
}
