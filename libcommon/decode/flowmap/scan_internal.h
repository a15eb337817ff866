/* Internal: the inner loops of the flow map, in one variant for each instruction set. All variants give the same bits:
 * distances are integers, and sums of floats run over the rows of a matrix in order, one lane per column, without fused
 * operations.
 *
 * Layout of keys: coordinates are stored plus 64 (0..127). Sixteen nodes make a block; a block is dims/4 groups of 64
 * bytes, group g holding coordinates 4g .. 4g+3 of node 0, then of node 1, ..., 64 bytes of the nodes' squared norms,
 * int32: |a - q|^2 = |a|^2 - 2 a.q + |q|^2, and 64 bytes of their numbers. Buckets are padded to whole blocks with
 * nodes of all zeros and the norm GEODEC__FLOW_FAR. Two blocks form a leaf (near.c) with the bounding box of its keys:
 * 32 bytes of smallest coordinates, 32 of largest, zero after the last. */
#ifndef GEODEC_FLOWMAP_SCAN_INTERNAL_H
#define GEODEC_FLOWMAP_SCAN_INTERNAL_H

#include "flowmap/map.h"

#include <stdint.h>

enum {
    GEODEC__FLOW_BLOCK = 16,
    GEODEC__FLOW_GROUPS = 8, /* at most */
    GEODEC__FLOW_LOWS = 128,
    GEODEC__FLOW_LEAF = 2, /* blocks */
    GEODEC__FLOW_BOX = 2 * GEODEC_FLOW_DIMS_MAX,
    GEODEC__FLOW_FAR = 1 << 29, /* larger than any distance of two keys */
};

typedef struct geodec__flowmap_scan_kernels {
    const char *name;
    /* distance [16 n] of the blocks which [n] of block [][groups + 2][64] (64-byte aligned) to query [4 groups] (plus
     * 64), whose squared norm is `norm`, and low [GEODEC__FLOW_LOWS]: the minimum of every GEODEC__FLOW_LOWS-th. */
    void (*distance)(const uint8_t *block, const int32_t *which, int64_t n, int32_t groups, const uint8_t *query,
                     int32_t norm, int32_t *distance, int32_t *low);
    /* bound [n]: squared distances of query [GEODEC_FLOW_DIMS_MAX] (plus 64, zero after the key) to boxes [n][64]. */
    void (*boxes)(const uint8_t *box, int64_t n, const uint8_t *query, int32_t *bound);
    /* Number of values of x [n] below limit, n a multiple of 16. */
    int64_t (*below)(const int32_t *x, int64_t n, int32_t limit);
    /* y [columns] = sum_i x[i] a[i][.], columns a multiple of 4. */
    void (*apply_f32)(const float *a, int64_t rows, int64_t columns, const float *x, float *y);
    void (*apply_i8)(const int8_t *a, int64_t rows, int64_t columns, const float *x, float *y);
    /* x [r] = a - b; r a multiple of 4, as everywhere below. */
    void (*offset)(const int8_t *a, const int8_t *b, int64_t r, float *x);
    /* Subtracts mean [r] from every row of x [n][r]. */
    void (*centre)(float *x, int64_t n, int64_t r, const float *mean);
    /* s [columns][columns] = sum_i w[i] x[i] x[i]^T, x [rows][columns], columns a multiple of 4 up to 32. */
    void (*scatter)(const float *x, const float *w, int64_t rows, int64_t columns, float *s);
    /* b <- A^-1 b for symmetric positive definite A [n][n], n <= 64; A is destroyed. */
    void (*solve)(int64_t n, float *a, float *b);
    /* Indices of the values of x [n] below limit, ascending; n a multiple of 16. Returns their number. */
    int64_t (*collect)(const int32_t *x, int64_t n, int32_t limit, int32_t *index);
} geodec__flowmap_scan_kernels;
extern const geodec__flowmap_scan_kernels geodec__flowmap_scan_scalar, geodec__flowmap_scan_avx2,
    geodec__flowmap_scan_avx512, geodec__flowmap_scan_vnni;
/* The best variant that the processor supports. */
const geodec__flowmap_scan_kernels *geodec__flowmap_scan_best(void);

/* A node's successors and key, stored together so that a step along the flow reads one cache line. */
typedef struct geodec__flowmap_scan_hop {
    int32_t label, next; /* argmax of the model, and its successor */
    int32_t text, along; /* the text's own next token, and its node; -1 at the end of a text */
    int32_t sequence, token;
    float agreement;
    int32_t before;                   /* the token before it in its text */
    int8_t key[GEODEC_FLOW_DIMS_MAX]; /* 64 bytes, so that it is never in two cache lines */
} geodec__flowmap_scan_hop;

struct geodec_flowmap_scan {
    const geodec__flowmap_scan_kernels *kernels;
    int32_t groups, stride; /* of a block, in bytes */
    int64_t *first, *leaf;  /* [vocab+1] first block and first leaf of a bucket */
    /* In huge pages, because accesses are far apart. */
    uint8_t *block;                /* [first[vocab]][stride] */
    uint8_t *box;                  /* [leaf[vocab]][GEODEC__FLOW_BOX] */
    geodec__flowmap_scan_hop *hop; /* [nodes] */
    int64_t block_bytes, box_bytes, hop_bytes;
    int64_t widest; /* blocks of the largest bucket */
};

#endif
