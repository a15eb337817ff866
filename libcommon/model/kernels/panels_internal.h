/* Weights repacked for products in integers, so that one register holds a column of 16 weight rows.
 *
 * A panel is 16 rows of a matrix (the last one padded with zeros); a record of it is one block of each row: 32 columns,
 * or 256 for the K-quants and ternary types. Columns are grouped by four: word g of a row's 32 columns is columns 4g to
 * 4g + 3. A record holds, in this order,
 *   d           [16] binary16, one a row; absent where the scales of the groups are floats themselves
 *   dmin        [16] binary16, if the type has minima
 *   scales      of the groups: see geodec__panel_scales
 *   codes       for each 32 columns `bits` vectors of [16 rows][4 bytes], unsigned codes, value = scale (code -
 *               offset):
 *                 8 bits   vector g: word g
 *                 4 bits   vector g < 4: word g in the low, word g + 4 in the high nibbles
 *                 2 bits   vector p < 2: word 4p + f in bits 2f, 2f + 1 of each byte
 *                 5, 3     those of 4 or 2 bits, then a plane: bit g of each byte is the highest bit of word g
 *                 6        those of 4 bits, then two planes as for 2 bits, holding the two highest bits
 *                 1        a plane
 * The codes keep their width, so a panel is as large as its rows in the file (Q4_K and Q5_K: 6-bit scales become bytes,
 * 2.8 and 2.3 % more; Q3_K 3.6 %, IQ4_XS 1.5 %). Codes of a code book become the places of their levels, 3 or 4 bits a
 * value (gguf/code_books_internal.h): IQ3_S takes 1.25 times its size in the file, IQ2_S 1.39, IQ1_S 2.1 times. Packing
 * is lossless: the values of a row can be restored. */
#ifndef GEODEC_MODEL_KERNELS_PANELS_INTERNAL_H
#define GEODEC_MODEL_KERNELS_PANELS_INTERNAL_H

#include "gguf/code_books_internal.h"
#include "gguf/gguf.h"
#include "kernels/matrix_internal.h"
#include "kernels/settings.h"

enum { GEODEC__PANEL = 16 /* rows of a panel */ };

/* Scales of the groups of a record. */
typedef enum geodec__panel_scales {
    GEODEC__SCALES_NONE,    /* d alone */
    GEODEC__SCALES_PAIRS,   /* [8][16] unsigned bytes, then as many minima */
    GEODEC__SCALES_SIGNED,  /* [groups][16] signed bytes */
    GEODEC__SCALES_NIBBLES, /* [16][16] bytes: scale in the low, minimum in the high nibble */
    GEODEC__SCALES_E8M0,    /* [groups][16] bytes: exponents, geodec__e8m0_half; no d */
    GEODEC__SCALES_E4M3     /* [groups][16] bytes: small floats, geodec__e4m3_half; no d */
} geodec__panel_scales;

/* Bytes of d and dmin of a record, and of its scales. */
#define GEODEC__PANEL_D(minima, scales)                                                                                \
    ((scales) == GEODEC__SCALES_E8M0 || (scales) == GEODEC__SCALES_E4M3 ? 0 : 32 + 32 * ((minima) != 0))
#define GEODEC__PANEL_FINE(blocks, group, scales)                                                                      \
    ((scales) == GEODEC__SCALES_NONE ? 0 : (scales) == GEODEC__SCALES_PAIRS ? 256 : 16 * (32 * (blocks) / (group)))

/* The types that have panels, from the table of types (gguf/tensor_types.h), which explains the columns:
 *   X(name, type, 32-column blocks of a record, bytes of a block in the file, bits, group, offset, minima, levels,
 *     scales, d, dmin, at, n, high, low)
 * EXACT_FORMATS are those that exact arithmetic multiplies in integers too; Q8_0 is as fast in floats. */
#define GEODEC__PANEL_FORMATS(X) GEODEC_TENSOR_TYPES(GEODEC__PANEL_ROW, X)
#define GEODEC__EXACT_FORMATS(X) GEODEC_TENSOR_TYPES(GEODEC__EXACT_ROW, X)
#define GEODEC__PANEL_ROW(X, NAME, name, number, block, bytes, codec, limit, instead, file, product, packing)          \
    GEODEC__PANEL_##product(X, name, GEODEC_GGML_##NAME, (block) / 32, bytes, GEODEC__OPEN packing)
#define GEODEC__EXACT_ROW(X, NAME, name, number, block, bytes, codec, limit, instead, file, product, packing)          \
    GEODEC__EXACT_##product(X, name, GEODEC_GGML_##NAME, (block) / 32, bytes, GEODEC__OPEN packing)
#define GEODEC__OPEN(...) __VA_ARGS__
#define GEODEC__PANEL_FLOATS(X, ...)
#define GEODEC__PANEL_DECODED(X, ...)
#define GEODEC__PANEL_BYTES(X, ...) X(__VA_ARGS__)
#define GEODEC__PANEL_INTEGERS(X, ...) X(__VA_ARGS__)
#define GEODEC__EXACT_FLOATS(X, ...)
#define GEODEC__EXACT_DECODED(X, ...)
#define GEODEC__EXACT_BYTES(X, ...)
#define GEODEC__EXACT_INTEGERS(X, ...) X(__VA_ARGS__)

typedef enum geodec__panel_index {
#define X(name, ...) GEODEC__PANEL_##name,
    GEODEC__PANEL_FORMATS(X)
#undef X
        GEODEC__PANEL_KINDS
} geodec__panel_index;

/* Offsets of the parts of a block in the file; -1 = absent. */
typedef struct geodec__block_layout {
    int bytes, d, dmin, scales, n_scales, high, low;
} geodec__block_layout;

typedef struct geodec__panel_format {
    geodec__panel_index index;
    int type; /* geodec_ggml_type */
    int bits, blocks, group, offset;
    int minima; /* their sign: value = scale code + minima minimum; 0 = none */
    geodec__levels levels;
    geodec__panel_scales scales;
    int fine, head_bytes, record_bytes; /* offset of the scales; bytes before the codes; all */
    geodec__block_layout layout;        /* no more than `bytes` of types with geodec__expand_of */
} geodec__panel_format;

/* NULL for a type without panels, or one that this arithmetic multiplies in floats. */
const geodec__panel_format *geodec__panel_format_of(int type);
const geodec__panel_format *geodec__panel_format_in(geodec_arithmetic a, int type);

/* A packed matrix, or some of its panels. */
typedef struct geodec__panels {
    const geodec__panel_format *format;
    const uint8_t *data; /* [ceil(rows/16) - first][records][record_bytes] */
    int64_t rows, records;
    int64_t first;       /* the first panel in data */
    const uint8_t *next; /* as in geodec__matrix */
} geodec__panels;

static inline int64_t geodec__panels_count(int64_t rows) { return (rows + GEODEC__PANEL - 1) / GEODEC__PANEL; }
static inline int64_t geodec__panel_bytes(const geodec__panels *p) { return p->records * p->format->record_bytes; }

/* Rows 16 panel .. of w into out; rows that are not there are zero. */
void geodec__panel_pack(const geodec__panel_format *f, const geodec__matrix *w, int64_t panel, uint8_t *out);
/* The values of one row, as the type's decoder gives them. */
void geodec__panel_decode_row(const geodec__panels *p, int64_t row, float *out);

#endif
