/* Products of coded matrices and rounded rows, one table per instruction set. All give the same bits:
 *
 *     acc(r) = sum over blocks b of (sum over c of code(r, c) v(c)) multiplier(r, b) 2^up(b)     exact
 *     y(r)   = floor(acc(r) 2^-s + 1/2),  s = exponent + 8 + shift(r) - 24                      in Q24
 *
 * Bounds: the inner sum is at most 2^27 (2^35 with codes of 16 bits), its product with multiplier 2^up at most 2^50
 * (2^51), and with at most 2^11 blocks acc is at most 2^62. */
#ifndef GEODEC_INTEGER_ENGINE_PRODUCT_INTERNAL_H
#define GEODEC_INTEGER_ENGINE_PRODUCT_INTERNAL_H

#include "integer/engine/coded.h"
#include "integer/engine/rounded.h"
#include "model/kernels/settings.h"

enum { GEODEC__PRODUCT_ROWS = 16 /* of a panel */, GEODEC__PRODUCT_UNIT = 24 };

/* A record is a block of 16 rows. Codes of 8 bits: word g (columns 4g to 4g + 3) of all rows, [8][16][4]. Of 4 bits:
 * the same bytes, words g and g + 4 in the low and high nibbles (plus 8, so that they are unsigned), [4][16][4]. Of 16
 * bits: [16 rows][32]. */
struct geodec_panels16 {
    int64_t rows, cols, blocks, record, bytes;
    int bits;
    uint8_t *memory, *code; /* [panels][blocks][record] */
    int16_t *multiplier;    /* [panels][blocks][16] */
    int32_t *shift;         /* [16 panels] */
};

static inline void geodec__product_put(uint8_t *record, int bits, int lane, int c, int code)
{
    if (bits == 8) {
        record[(c / 4 * 16 + lane) * 4 + c % 4] = (uint8_t)code;
    } else if (bits == 4) {
        uint8_t *at = record + (c % 16 / 4 * 16 + lane) * 4 + c % 4;
        const unsigned u = (unsigned)(code + 8) & 15;
        *at = (uint8_t)(c < 16 ? (*at & 240u) | u : (*at & 15u) | u << 4);
    } else {
        int16_t *row = (int16_t *)(void *)record;
        row[32 * lane + c] = (int16_t)code;
    }
}

static inline int geodec__product_get(const uint8_t *record, int bits, int lane, int c)
{
    if (bits == 8) return (int8_t)record[(c / 4 * 16 + lane) * 4 + c % 4];
    if (bits == 4) return (record[(c % 16 / 4 * 16 + lane) * 4 + c % 4] >> (c < 16 ? 0 : 4) & 15) - 8;
    return ((const int16_t *)(const void *)record)[32 * lane + c];
}

typedef struct geodec__product_ops {
    geodec_isa isa;
    /* y[r][16 begin .. 16 end - 1] in Q24 for n rows x, up to the number of rows of w. */
    void (*multiply)(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x, int64_t n,
                     int64_t *const *y);
} geodec__product_ops;
extern const geodec__product_ops geodec__product_scalar, geodec__product_avx2, geodec__product_vnni;
/* The best of this processor up to the set; NULL: it does not have that set. */
const geodec__product_ops *geodec__product_for(geodec_isa isa);
/* y of a panel from its sums. */
void geodec__product_finish(const geodec_panels16 *w, int64_t panel, const geodec_rounded *x,
                            const int64_t acc[GEODEC__PRODUCT_ROWS], int64_t *y);
/* Codes of 16 bits, in every set. */
void geodec__product_wide(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x,
                          int64_t n, int64_t *const *y);

#endif
