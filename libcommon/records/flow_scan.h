/* Internal: squared distances from one key to all keys of a bucket. Integers, so every variant gives the same bits.
 *
 * Layout: coordinates are stored plus 64 (0..127). Sixteen nodes make a block; a block is dims/4 groups of 64 bytes,
 * group g holding coordinates 4g .. 4g+3 of node 0, then of node 1, ... Buckets are padded to whole blocks. */
#ifndef GEODEC_RECORDS_FLOW_SCAN_H
#define GEODEC_RECORDS_FLOW_SCAN_H

#include "base/err.h"

#include <stdint.h>

enum { GEODEC__FLOW_BLOCK = 16 };

/* distance [16 blocks]; block [blocks][groups][16][4], 64-byte aligned; query [4 groups], coordinates plus 64. */
typedef void (*geodec__flow_distance_fn)(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query,
                                         int32_t *distance);
void geodec__flow_distance_scalar(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query,
                                  int32_t *distance);
void geodec__flow_distance_avx2(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query,
                                int32_t *distance);
void geodec__flow_distance_avx512(const uint8_t *block, int64_t blocks, int32_t groups, const uint8_t *query,
                                  int32_t *distance);

struct geodec_flow_scan {
    geodec__flow_distance_fn distance;
    int32_t groups;
    int64_t *first; /* [vocab+1] first block of a bucket */
    uint8_t *block;
    int64_t widest; /* blocks of the largest bucket */
};

#endif
