/* The reference: digits by the definition, sums in order. */
#include "ternary/multiply_internal.h"

#include <string.h>

enum { LANES = GEODEC__TERNARY_LANES, BLOCK = GEODEC_TERNARY_BLOCK };

/* The codes of a block in the order of its columns. */
static void codes3(const uint8_t *b, uint8_t c[5 * BLOCK])
{
    for (int j = 0; j < BLOCK; j++) {
        unsigned q = b[j];
        for (int k = 0; k < 5; k++) {
            c[BLOCK * k + j] = (uint8_t)(3 * q >> 8);
            q = 3 * q & 255;
        }
    }
}

static void codes2(const uint8_t *b, uint8_t c[5 * BLOCK])
{
    for (int k = 0; k < 4; k++)
        for (int j = 0; j < BLOCK; j++) c[BLOCK * k + j] = b[j] >> 2 * k & 3;
}

typedef void (*codes_fn)(const uint8_t *b, uint8_t c[5 * BLOCK]);

static inline void dot(codes_fn codes, int columns, const geodec__ternary_rows *w, const int8_t *q, int64_t stride,
                       int n, int32_t *sum)
{
    for (int r = 0; r < w->rows; r++) {
        for (int v = 0; v < n; v++) sum[v * GEODEC__TERNARY_TILE + r] = 0;
        for (int64_t b = 0; b < w->blocks; b++) {
            uint8_t c[5 * BLOCK];
            codes(w->data + r * w->row_bytes + b * BLOCK, c);
            for (int v = 0; v < n; v++) {
                const int8_t *x = q + v * stride + b * columns;
                int32_t s = 0;
                for (int i = 0; i < columns; i++) s += c[i] * x[i];
                sum[v * GEODEC__TERNARY_TILE + r] += s;
            }
        }
    }
}

/* Adding -x is subtracting x, and adding +0 changes no sum that began as +0. */
static inline void add(codes_fn codes, int columns, const geodec__ternary_rows *w, const float *x, float lane[][LANES])
{
    static const uint32_t keep[4] = {UINT32_MAX, 0, UINT32_MAX, 0}, flip[4] = {UINT32_C(1) << 31, 0, 0, 0};
    for (int r = 0; r < w->rows; r++) {
        memset(lane[r], 0, sizeof lane[r]);
        for (int64_t b = 0; b < w->blocks; b++) {
            uint8_t c[5 * BLOCK];
            codes(w->data + r * w->row_bytes + b * BLOCK, c);
            for (int i = 0; i < columns; i++) {
                uint32_t bits;
                float v;
                memcpy(&bits, &x[b * columns + i], sizeof bits);
                bits = (bits & keep[c[i]]) ^ flip[c[i]];
                memcpy(&v, &bits, sizeof v);
                lane[r][i % LANES] += v;
            }
        }
    }
}

static void dot3(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int n, int32_t *sum)
{
    dot(codes3, 5 * BLOCK, w, q, stride, n, sum);
}
static void dot2(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int n, int32_t *sum)
{
    dot(codes2, 4 * BLOCK, w, q, stride, n, sum);
}
static void add3(const geodec__ternary_rows *w, const float *x, float lane[][LANES])
{
    add(codes3, 5 * BLOCK, w, x, lane);
}
static void add2(const geodec__ternary_rows *w, const float *x, float lane[][LANES])
{
    add(codes2, 4 * BLOCK, w, x, lane);
}

const geodec__ternary_ops geodec__ternary_scalar = {
    .name = "scalar", .dot = {NULL, dot3, dot2}, .add = {NULL, add3, add2}};
