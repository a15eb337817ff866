/* Tiles of R rows and N vectors, for one encoding of one instruction set. The including file defines dot_tile(R, N, w,
 * first, q, stride, sum), which is inlined with constants R and N, and DOT(name, wide): one vector takes four rows at
 * once, more vectors two. */
#include "base/unroll_internal.h"

#define TILE GEODEC__TERNARY_TILE
#define DOT_OF(name, tile)                                                                                             \
    static void name##_4_1(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int first, int32_t *sum)    \
    {                                                                                                                  \
        tile(4, 1, w, first, q, stride, sum);                                                                          \
    }                                                                                                                  \
    DOT_ROWS(name, tile, 1)                                                                                            \
    DOT_ROWS(name, tile, 2)                                                                                            \
    static void name(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int n, int32_t *sum)              \
    {                                                                                                                  \
        typedef void (*tile_fn)(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int first,             \
                                int32_t *sum);                                                                         \
        static const tile_fn table[3][TILE + 1] = {{NULL},                                                             \
                                                   {NULL, name##_1_1, name##_1_2, name##_1_3, name##_1_4},             \
                                                   {NULL, name##_2_1, name##_2_2, name##_2_3, name##_2_4}};            \
        if (n == 1 && w->rows == TILE) {                                                                               \
            name##_4_1(w, q, stride, 0, sum);                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        for (int r = 0; r < w->rows;) {                                                                                \
            const int rows = w->rows - r >= 2 ? 2 : 1;                                                                 \
            table[rows][n](w, q, stride, r, sum);                                                                      \
            r += rows;                                                                                                 \
        }                                                                                                              \
    }
#define DOT_ROWS(name, tile, R)                                                                                        \
    DOT_ONE(name, tile, R, 1) DOT_ONE(name, tile, R, 2) DOT_ONE(name, tile, R, 3) DOT_ONE(name, tile, R, 4)
#define DOT_ONE(name, tile, R, N)                                                                                      \
    static void name##_##R##_##N(const geodec__ternary_rows *w, const int8_t *q, int64_t stride, int first,            \
                                 int32_t *sum)                                                                         \
    {                                                                                                                  \
        tile(R, N, w, first, q, stride, sum);                                                                          \
    }
