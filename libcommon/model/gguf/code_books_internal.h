/* Internal: levels and code books of the types whose values are taken from tables (code_books.c), and their blocks in
 * one common form (expand.c).
 *
 * A value of such a type is
 *   d unit scale level[code]
 * d is the block's scale; scale an integer of its group of values; level a table of at most 16 integers; and unit a
 * power of two, which the levels' table has in common:
 *
 *   levels    type                     unit  level                                   code
 *   IQ4       IQ4_NL, IQ4_XS           1     levels for a normal density             4 bits of the file
 *   E2M1      MXFP4, NVFP4             1     twice a float of 1 + 2 + 1 bits         4 bits of the file
 *   IQ3       IQ3_S                    1     1, 3, .. 15 and their negatives         place of the magnitude; bit 3:
 * sign IQ3_XXS   IQ3_XXS                  1/2   2, 6, .. 26, 31 and their negatives     the same IQ2       IQ2_XXS,
 * IQ2_XS, IQ2_S   1/8   8, 25, 43 and their negatives           the same; bit 2: sign IQ1       IQ1_S, IQ1_M 1/8   8
 * (-1, 0, 1) + 1; 8 (-1, 0, 1) - 1      place; bit 2: less 1 SIGN      Q1_0                     1     -1, 1 1 bit of
 * the file */
#ifndef GEODEC_GGUF_CODE_BOOKS_INTERNAL_H
#define GEODEC_GGUF_CODE_BOOKS_INTERNAL_H

#include "base/f16.h"

#include <stdint.h>
#include <string.h>

typedef enum geodec__levels {
    GEODEC__LEVELS_NONE, /* the codes are the numbers */
    GEODEC__LEVELS_IQ4,
    GEODEC__LEVELS_E2M1,
    GEODEC__LEVELS_IQ3,
    GEODEC__LEVELS_IQ3_XXS,
    GEODEC__LEVELS_IQ2,
    GEODEC__LEVELS_IQ1,
    GEODEC__LEVELS_SIGN,
    GEODEC__LEVELS_KINDS
} geodec__levels;

extern const int8_t geodec__code_books_level[GEODEC__LEVELS_KINDS][16];

static inline float geodec__levels_unit(geodec__levels l)
{
    return l == GEODEC__LEVELS_IQ2 || l == GEODEC__LEVELS_IQ1 ? 0.125f : l == GEODEC__LEVELS_IQ3_XXS ? 0.5f : 1.0f;
}

extern const uint16_t geodec__code_books_iq2_xxs[256], geodec__code_books_iq2_xs[512], geodec__code_books_iq2_s[1024];
extern const uint16_t geodec__code_books_iq1[2048], geodec__code_books_iq3_xxs[256], geodec__code_books_iq3_s[512];

/* Half of 2^(e - 127), MXFP4's scale: its levels are doubled. */
static inline float geodec__e8m0_half(uint8_t e)
{
    const uint32_t bits = e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23; /* the first two are subnormal */
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

/* Half of a number of 4 bits of exponent and 3 of mantissa, NVFP4's scale: a binary16 of these bits is 2^-8 of it. */
static inline float geodec__e4m3_half(uint8_t v) { return 128.0f * geodec_f16_to_f32((uint16_t)((v & 0x7fu) << 7)); }

/* A block in that form. */
typedef struct geodec__expanded {
    uint16_t d;        /* binary16; not set for MXFP4 and NVFP4 */
    uint8_t scale[16]; /* of the groups of 16 or 32 values: signed integers; MXFP4: exponents; NVFP4: floats of 7 bits,
                        * without a number that means 0; not set for Q1_0 and Q2_0 */
    uint8_t code[256];
    const uint8_t
        *nibbles; /* IQ4_XS, MXFP4: the codes are not set, but here: 16 bytes for 32 values, nibbles as Q4_0 */
} geodec__expanded;

typedef void (*geodec__expand_fn)(const uint8_t *block, geodec__expanded *out);
/* The function of a type of this form, whose result is read while the block is there; NULL for any other, and for
 * IQ4_NL. */
geodec__expand_fn geodec__expand_of(int type);

#endif
