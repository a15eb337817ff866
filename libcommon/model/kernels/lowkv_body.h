/* Keys of a whole block from their coefficients: k[d] = sum_j b[d][j] x[j] over 64 lanes, products and sums rounded
 * each, in ascending order of j: the same bits at any width. Included with KERNEL defined. */
#include "model/kernels/lowkv_internal.h"

#include <string.h>

typedef float v16 __attribute__((vector_size(64), aligned(4)));

/* D rows of b at once; a constant after inlining. */
static inline __attribute__((always_inline)) void block_rows(const int D, const float *b, int64_t rank, const float *x,
                                                             float *k)
{
    v16 sum[4][4];
    memset(sum, 0, sizeof sum);
    for (int64_t j = 0; j < rank; j++) {
        v16 c[4];
        memcpy(c, x + 64 * j, sizeof c);
        for (int d = 0; d < D; d++)
            for (int i = 0; i < 4; i++) sum[d][i] += b[d * rank + j] * c[i];
    }
    for (int d = 0; d < D; d++) memcpy(k + 64 * d, sum[d], sizeof sum[d]);
}

static void KERNEL(const float *b, int64_t dims, int64_t rank, const float *x, float *k)
{
    int64_t d = 0;
    for (; d + 4 <= dims; d += 4) block_rows(4, b + d * rank, rank, x, k + 64 * d);
    for (; d < dims; d++) block_rows(1, b + d * rank, rank, x, k + 64 * d);
}
