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
#include "kernels/settings.h"

#include <string.h>

enum { GEODEC__PRODUCT_ROWS = 16 /* of a panel */, GEODEC__PRODUCT_UNIT = 24 };

/* A record is two blocks of 16 rows: multipliers [2][16] as int16, then the codes of each block. They are unsigned,
 * code
 * + geodec__product_offset, but with 16 bits. 8 bits: word g (columns 4g to 4g + 3) of all rows, [8][16][4]. 4 bits:
 * the same, words g and g + 4 in the low and high nibbles, [4][16][4]. 16 bits: [16 rows][32]. */
enum { GEODEC__PRODUCT_HEAD = 4 * GEODEC__PRODUCT_ROWS /* bytes of multipliers */ };
struct geodec_panels16 {
    int64_t rows, cols, pairs, record, bytes;
    int bits;
    uint8_t *data;          /* [panels][pairs][record], aligned to 64 bytes */
    int32_t *shift;         /* [16 panels] */
    geodec_coded_area *own; /* of data; NULL: in a larger one */
};

static inline int64_t geodec__product_record(int bits) { return GEODEC__PRODUCT_HEAD + 2 * 64 * (int64_t)bits; }
static inline int geodec__product_offset(int bits) { return bits == 8 ? 128 : bits == 4 ? 8 : 0; }
/* Codes of block b of a panel. */
static inline uint8_t *geodec__product_codes(const geodec_panels16 *p, int64_t panel, int64_t b)
{
    return p->data + (panel * p->pairs + b / 2) * p->record + GEODEC__PRODUCT_HEAD + b % 2 * 64 * p->bits;
}
static inline int16_t *geodec__product_multipliers(const geodec_panels16 *p, int64_t panel, int64_t b)
{
    uint8_t *head = p->data + (panel * p->pairs + b / 2) * p->record;
    return (int16_t *)(void *)head + b % 2 * GEODEC__PRODUCT_ROWS;
}

static inline void geodec__product_put(uint8_t *codes, int bits, int lane, int c, int code)
{
    const unsigned u = (unsigned)(code + geodec__product_offset(bits));
    if (bits == 8) {
        codes[(c / 4 * 16 + lane) * 4 + c % 4] = (uint8_t)u;
    } else if (bits == 4) {
        uint8_t *at = codes + (c % 16 / 4 * 16 + lane) * 4 + c % 4;
        *at = (uint8_t)(c < 16 ? (*at & 240u) | u : (*at & 15u) | u << 4);
    } else {
        int16_t *row = (int16_t *)(void *)codes;
        row[32 * lane + c] = (int16_t)code;
    }
}

/* A row's 32 codes of 8 bits, word by word. */
static inline void geodec__product_put_bytes(uint8_t *codes, int lane, const uint8_t *from)
{
    for (int g = 0; g < GEODEC_CODED_BLOCK / 4; g++) {
        uint32_t word;
        memcpy(&word, from + 4 * g, sizeof word);
        word ^= 0x80808080u; /* code + 128 */
        memcpy(codes + (g * GEODEC__PRODUCT_ROWS + lane) * 4, &word, sizeof word);
    }
}

static inline int geodec__product_get(const uint8_t *codes, int bits, int lane, int c)
{
    if (bits == 8) return codes[(c / 4 * 16 + lane) * 4 + c % 4] - 128;
    if (bits == 4) return (codes[(c % 16 / 4 * 16 + lane) * 4 + c % 4] >> (c < 16 ? 0 : 4) & 15) - 8;
    return ((const int16_t *)(const void *)codes)[32 * lane + c];
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
/* acc[t][r] of panels begin .. end - 1 and n inputs, without the last step. */
void geodec__product_sums(const geodec__product_ops *ops, const geodec_panels16 *w, int64_t begin, int64_t end,
                          const geodec_rounded *const *x, int64_t n, int64_t *const *acc);
/* Codes of 16 bits, in every set. */
void geodec__product_wide(const geodec_panels16 *w, int64_t begin, int64_t end, const geodec_rounded *const *x,
                          int64_t n, int64_t *const *y);

#endif
