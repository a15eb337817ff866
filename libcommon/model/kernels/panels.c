/* Packing of panels, one block of a row at a time, and unpacking. */
#include "base/unroll_internal.h"
#include "kernels/panels_internal.h"

#include "base/mem.h"

#include <string.h>

#define X(name_, type_, blocks_, bytes_, bits_, group_, offset_, minima_, levels_, scales_, ...)                       \
    {.index = GEODEC__PANEL_##name_,                                                                                   \
     .type = (type_),                                                                                                  \
     .bits = (bits_),                                                                                                  \
     .blocks = (blocks_),                                                                                              \
     .group = (group_),                                                                                                \
     .offset = (offset_),                                                                                              \
     .minima = (minima_),                                                                                              \
     .levels = (levels_),                                                                                              \
     .scales = GEODEC__SCALES_##scales_,                                                                               \
     .fine = GEODEC__PANEL_D(minima_, GEODEC__SCALES_##scales_),                                                       \
     .head_bytes = HEAD(blocks_, group_, minima_, GEODEC__SCALES_##scales_),                                           \
     .record_bytes = HEAD(blocks_, group_, minima_, GEODEC__SCALES_##scales_) + 64 * (bits_) * (blocks_),              \
     .layout = {bytes_, __VA_ARGS__}},
#define HEAD(blocks, group, minima, scales)                                                                            \
    (GEODEC__PANEL_D(minima, scales) + GEODEC__PANEL_FINE(blocks, group, scales))
static const geodec__panel_format formats[] = {GEODEC__PANEL_FORMATS(X)};
#undef HEAD
#undef X

const geodec__panel_format *geodec__panel_format_of(int type)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].type == type) return &formats[i];
    return NULL;
}

const geodec__panel_format *geodec__panel_format_in(geodec_arithmetic a, int type)
{
    const geodec__panel_format *f = geodec__panel_format_of(type);
    return f && a == GEODEC_EXACT && geodec_ggml_traits_of(type)->product == GEODEC_GGML_BYTES ? NULL : f;
}

/* ---- words ------------------------------------------------------------------------------------------------------ */

/* This code is instantiated for each format, with its numbers as constants. */

/* A word of each row of a panel: 16 lanes in the registers that the compiler has. */
typedef uint32_t words __attribute__((vector_size(4 * GEODEC__PANEL)));
enum { WORDS = 64 /* most words of codes of a block */ };

INLINE uint32_t load32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void store32(uint8_t *p, uint32_t v) { memcpy(p, &v, sizeof v); }

enum { LOW4 = 0x0f0f0f0f, LOW2 = 0x03030303, LOW1 = 0x01010101 };

/* The 16 rows of a block of the file, or of what it expands to; `keep` has zeros in the lanes of rows that are not
 * there. */
typedef struct rows {
    const uint8_t *at[GEODEC__PANEL];
    words keep;
} rows;

typedef uint32_t quad __attribute__((vector_size(16)));

INLINE quad load_quad(const uint8_t *p)
{
    quad q;
    memcpy(&q, p, sizeof q);
    return q;
}

/* Four words of each row, from byte `from` on, into four vectors. */
INLINE void transpose(const rows *r, int from, uint8_t *out)
{
    for (int row = 0; row < GEODEC__PANEL; row += 4) {
        const quad a = load_quad(r->at[row] + from), b = load_quad(r->at[row + 1] + from),
                   c = load_quad(r->at[row + 2] + from), d = load_quad(r->at[row + 3] + from);
        const quad low[] = {__builtin_shufflevector(a, b, 0, 4, 1, 5), __builtin_shufflevector(c, d, 0, 4, 1, 5)},
                   high[] = {__builtin_shufflevector(a, b, 2, 6, 3, 7), __builtin_shufflevector(c, d, 2, 6, 3, 7)};
        const quad word[] = {
            __builtin_shufflevector(low[0], low[1], 0, 1, 4, 5),
            __builtin_shufflevector(low[0], low[1], 2, 3, 6, 7),
            __builtin_shufflevector(high[0], high[1], 0, 1, 4, 5),
            __builtin_shufflevector(high[0], high[1], 2, 3, 6, 7),
        };
        for (int w = 0; w < 4; w++) memcpy(out + 64 * w + 4 * row, &word[w], sizeof word[w]);
    }
}

/* `count` words of each row, from byte `from` on. */
INLINE void gather(const rows *r, int from, int count, uint8_t *out)
{
    int w = 0;
    for (; w + 4 <= count; w += 4) transpose(r, from + 4 * w, out + 64 * w);
    for (; w < count; w++)
        for (int row = 0; row < GEODEC__PANEL; row++)
            store32(out + 64 * w + 4 * row, load32(r->at[row] + from + 4 * w));
}

INLINE void put(const words *v, const rows *r, uint8_t *vector)
{
    const words kept = *v & r->keep;
    memcpy(vector, &kept, sizeof kept);
}

/* As gather, of the rows that are there, with the bits of `flip` inverted in each word. */
INLINE void copy_words(const rows *r, int from, int count, uint32_t flip, uint8_t *codes)
{
    gather(r, from, count, codes);
    for (int g = 0; (flip || !r->keep[GEODEC__PANEL - 1]) && g < count; g++) {
        words v;
        memcpy(&v, codes + 64 * g, sizeof v);
        v ^= flip;
        put(&v, r, codes + 64 * g);
    }
}

/* Four vectors of nibbles from eight words of codes (their low four bits count). */
INLINE void put_nibbles(const words c[8], const rows *r, uint8_t *codes)
{
    for (int g = 0; g < 4; g++) {
        const words v = (c[g] & LOW4) | (c[g + 4] & LOW4) << 4;
        put(&v, r, codes + 64 * g);
    }
}

INLINE void put_pairs(const words c[8], int shift, const rows *r, uint8_t *codes)
{
    for (int p = 0; p < 2; p++) {
        words v = {0};
        for (int f = 0; f < 4; f++) v |= (c[4 * p + f] >> shift & LOW2) << 2 * f;
        put(&v, r, codes + 64 * p);
    }
}

INLINE void put_plane(const words c[8], int shift, const rows *r, uint8_t *codes)
{
    words v = {0};
    for (int g = 0; g < 8; g++) v |= (c[g] >> shift & LOW1) << g;
    put(&v, r, codes);
}

/* Eight words of codes, a byte each, into the vectors of their width; and back, for one row. */
INLINE void put_codes(int bits, const words c[8], const rows *r, uint8_t *codes)
{
    switch (bits) {
    case 8:
        for (int g = 0; g < 8; g++) put(&c[g], r, codes + 64 * g);
        break;
    case 6:
        put_nibbles(c, r, codes);
        put_pairs(c, 4, r, codes + 4 * 64);
        break;
    case 5:
        put_nibbles(c, r, codes);
        put_plane(c, 4, r, codes + 4 * 64);
        break;
    case 4:
        put_nibbles(c, r, codes);
        break;
    case 3:
        put_pairs(c, 0, r, codes);
        put_plane(c, 2, r, codes + 2 * 64);
        break;
    case 1:
        put_plane(c, 0, r, codes);
        break;
    default:
        put_pairs(c, 0, r, codes);
        break;
    }
}

INLINE void get_codes(int bits, const uint8_t *codes, int row, uint32_t c[8])
{
    const uint8_t *at = codes + 4 * row;
    for (int g = 0; g < 8; g++) {
        if (bits == 8)
            c[g] = load32(at + 64 * g);
        else if (bits >= 4)
            c[g] = load32(at + 64 * (g & 3)) >> (g < 4 ? 0 : 4) & LOW4;
        else if (bits == 1)
            c[g] = load32(at) >> g & LOW1;
        else
            c[g] = load32(at + 64 * (g / 4)) >> 2 * (g & 3) & LOW2;
        if (bits == 6) c[g] |= (load32(at + 64 * (4 + g / 4)) >> 2 * (g & 3) & LOW2) << 4;
        if (bits == 5) c[g] |= (load32(at + 64 * 4) >> g & LOW1) << 4;
        if (bits == 3) c[g] |= (load32(at + 64 * 2) >> g & LOW1) << 2;
    }
}

/* ---- the file's blocks ------------------------------------------------------------------------------------------- */

/* Bit 4g + j of q at bit g of byte j. */
INLINE void spread_bits(const words *q, words *out)
{
    *out = (words){0};
    for (int j = 0; j < 4; j++) {
        words t = *q >> j & 0x11111111u;
        t = (t | t >> 3) & 0x03030303u;
        t = (t | t >> 6) & 0x000f000fu;
        *out |= ((t | t >> 12) & 0xffu) << 8 * j;
    }
}

static uint32_t gather_bits(uint32_t plane)
{
    uint32_t q = 0;
    for (int g = 0; g < 8; g++)
        for (int j = 0; j < 4; j++) q |= (plane >> (8 * j + g) & 1u) << (4 * g + j);
    return q;
}

/* The eight words of codes of 32-column block b of a file's block; and back, OR-ed into zeroed bytes. If a byte of the
 * file holds several codes: low bits of block b of a K-quant are in the 32 bytes at `at`, shifted by `shift`. */
typedef struct place {
    int at, shift;         /* low bits: 32 bytes there */
    int high_at, high_bit; /* high bits, if any */
} place;

INLINE place place_of(int bits, const geodec__block_layout *l, int b)
{
    switch (bits) {
    case 4:
    case 5: /* 64 columns to 32 bytes */
        return (place){l->low + b / 2 * 32, b % 2 * 4, l->high, b};
    case 6: /* 128 columns to 64 bytes: two blocks in the low nibbles, two in the high ones */
        return (place){l->low + b / 4 * 64 + b % 2 * 32, b % 4 / 2 * 4, l->high + b / 4 * 32, b % 4 * 2};
    default: /* 128 columns to 32 bytes */
        return (place){l->low + b / 4 * 32, b % 4 * 2, l->high, b};
    }
}

/* Bytes of the file's block that hold codes: from the first on, in words. */
INLINE int codes_from(const geodec__block_layout *l) { return l->high >= 0 && l->high < l->low ? l->high : l->low; }
INLINE int codes_words(const geodec__panel_format *f) { return f->bits * f->blocks; }

/* raw: the words of the block from codes_from on, of all rows. */
INLINE void read_codes(const geodec__panel_format *f, const words *raw, int b, words c[8])
{
    const geodec__block_layout *l = &f->layout;
    const int from = codes_from(l);
    if (f->blocks == 1) { /* five bits: columns 0-15 low, 16-31 high, and a plane */
        const words *q = raw + (l->low - from) / 4;
        words plane;
        spread_bits(raw + (l->high - from) / 4, &plane);
        for (int g = 0; g < 8; g++) c[g] = (q[g & 3] >> (g < 4 ? 0 : 4) & LOW4) | (plane >> g & LOW1) << 4;
        return;
    }
    const place p = place_of(f->bits, l, b);
    const words *low = raw + (p.at - from) / 4, *high = raw + (p.high_at - from) / 4;
    const uint32_t mask = f->bits >= 4 ? LOW4 : LOW2, high_mask = f->bits == 6 ? LOW2 : LOW1;
    const int low_bits = f->bits >= 4 ? 4 : 2;
    for (int g = 0; g < 8; g++) {
        c[g] = low[g] >> p.shift & mask;
        if (l->high >= 0) c[g] |= (high[g] >> p.high_bit & high_mask) << low_bits;
    }
}

static void write_codes(const geodec__panel_format *f, const uint32_t c[8], int b, uint8_t *block)
{
    const geodec__block_layout *l = &f->layout;
    if (f->blocks == 1) {
        uint8_t *q = block + l->low;
        if (f->bits == 8) {
            for (int g = 0; g < 8; g++) store32(q + 4 * g, c[g] ^ 0x80808080u);
            return;
        }
        uint32_t plane = 0;
        for (int g = 0; g < 8; g++) plane |= (c[g] >> 4 & LOW1) << g;
        for (int g = 0; g < 4; g++) store32(q + 4 * g, (c[g] & LOW4) | (c[g + 4] & LOW4) << 4);
        if (l->high >= 0) store32(block + l->high, gather_bits(plane));
        return;
    }
    const place p = place_of(f->bits, l, b);
    const uint32_t mask = f->bits >= 4 ? LOW4 : LOW2, high_mask = f->bits == 6 ? LOW2 : LOW1;
    const int low_bits = f->bits >= 4 ? 4 : 2;
    for (int g = 0; g < 8; g++) {
        uint8_t *low = block + p.at + 4 * g, *high = block + p.high_at + 4 * g;
        store32(low, load32(low) | (c[g] & mask) << p.shift);
        if (l->high >= 0) store32(high, load32(high) | (c[g] >> low_bits & high_mask) << p.high_bit);
    }
}

/* Scales of a 256-column block as bytes: [8] scales and [8] minima, or [16]; and back. */
INLINE void read_scales(const geodec__panel_format *f, const uint8_t *s, uint8_t out[16])
{
    if (f->scales == GEODEC__SCALES_PAIRS) /* groups 4-7: four bits in the last four bytes, two atop the first eight */
        for (int g = 0; g < 4; g++) {
            out[g] = s[g] & 63;
            out[8 + g] = s[4 + g] & 63;
            out[4 + g] = (uint8_t)((s[8 + g] & 15) | s[g] >> 6 << 4);
            out[12 + g] = (uint8_t)(s[8 + g] >> 4 | s[4 + g] >> 6 << 4);
        }
    else if (f->layout.n_scales == 12) /* sixteen: four bits in the first eight bytes, two in the others, less 32 */
        for (int g = 0; g < 16; g++)
            out[g] = (uint8_t)(((s[g & 7] >> (g < 8 ? 0 : 4) & 15) | (s[8 + (g & 3)] >> 2 * (g / 4) & 3) << 4) - 32);
    else
        memcpy(out, s, 16);
}

static void write_scales(const geodec__panel_format *f, const uint8_t in[16], uint8_t *s)
{
    if (f->scales == GEODEC__SCALES_PAIRS)
        for (int g = 0; g < 4; g++) {
            s[g] = (uint8_t)(in[g] | in[4 + g] >> 4 << 6);
            s[4 + g] = (uint8_t)(in[8 + g] | in[12 + g] >> 4 << 6);
            s[8 + g] = (uint8_t)((in[4 + g] & 15) | (in[12 + g] & 15) << 4);
        }
    else if (f->layout.n_scales == 12)
        for (int g = 0; g < 16; g++) {
            const unsigned v = (in[g] + 32u) & 63u;
            s[g & 7] = (uint8_t)(s[g & 7] | (v & 15u) << (g < 8 ? 0 : 4));
            s[8 + (g & 3)] = (uint8_t)(s[8 + (g & 3)] | v >> 4 << 2 * (g / 4));
        }
    else
        memcpy(s, in, 16);
}

/* ---- types with levels ------------------------------------------------------------------------------------------- */

/* Their blocks have one form, gguf/code_books_internal.h, whose parts go to the record as they are. */
INLINE void pack_expanded(const geodec__panel_format *f, geodec__expand_fn expand, const rows *block, int present,
                          uint8_t *record)
{
    geodec__expanded e[GEODEC__PANEL];
    rows r = {.keep = block->keep};
    const bool nibbles = f->type == GEODEC_GGML_IQ4_XS || f->type == GEODEC_GGML_MXFP4;
    for (int row = 0; row < GEODEC__PANEL; row++) {
        if (row >= present) {
            r.at[row] = r.at[0];
            continue;
        }
        expand(block->at[row], &e[row]);
        r.at[row] = nibbles ? e[row].nibbles : e[row].code;
        if (f->fine) {
            record[2 * row] = (uint8_t)(e[row].d & 255);
            record[2 * row + 1] = (uint8_t)(e[row].d >> 8);
        }
        for (int g = 0; g < (f->head_bytes - f->fine) / 16; g++) record[f->fine + 16 * g + row] = e[row].scale[g];
    }
    for (int b = 0; b < f->blocks; b++) {
        uint8_t *codes = record + f->head_bytes + 64 * f->bits * b;
        words c[8];
        if (nibbles) {
            copy_words(&r, 16 * b, 4, 0, codes);
            continue;
        }
        gather(&r, 32 * b, 8, (uint8_t *)c);
        put_codes(f->bits, c, &r, codes);
    }
}

/* The scale of group g of a row. */
static float fine_scale(const geodec__panel_format *f, const uint8_t *record, int row, int g)
{
    const uint8_t *fine = record + f->fine + 16 * g + row;
    if (f->scales == GEODEC__SCALES_E8M0) return geodec__e8m0_half(*fine);
    if (f->scales == GEODEC__SCALES_E4M3) return geodec__e4m3_half(*fine);
    const float d = geodec_f16_to_f32((uint16_t)(record[2 * row] | record[2 * row + 1] << 8));
    return geodec__levels_unit(f->levels) * d * (f->scales == GEODEC__SCALES_SIGNED ? (float)(int8_t)*fine : 1.0f);
}

static void decode_expanded(const geodec__panel_format *f, const uint8_t *record, int row, float *out)
{
    for (int b = 0; b < f->blocks; b++) {
        uint32_t word[8];
        uint8_t code[32];
        get_codes(f->bits, record + f->head_bytes + 64 * f->bits * b, row, word);
        memcpy(code, word, sizeof code);
        for (int i = 0; i < 32; i += f->group) {
            const float scale = fine_scale(f, record, row, (32 * b + i) / f->group);
            for (int k = i; k < i + f->group; k++)
                *out++ =
                    scale * (float)(f->levels ? geodec__code_books_level[f->levels][code[k]] : code[k] - f->offset);
        }
    }
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

INLINE void pack_blocks(const geodec__panel_format *f, const rows *r, int present, uint8_t *record)
{
    const geodec__block_layout *l = &f->layout;
    const bool same = f->blocks == 1 && (f->bits == 4 || f->bits == 8); /* nibbles, or bytes */
    words raw[WORDS];
    if (same)
        copy_words(r, l->low, f->bits, f->bits == 8 ? 0x80808080u : 0, record + f->head_bytes);
    else
        gather(r, codes_from(l), codes_words(f), (uint8_t *)raw);
    for (int row = 0; row < GEODEC__PANEL && row < present; row++) { /* the constant, so that it is unrolled */
        const uint8_t *block = r->at[row];
        memcpy(record + 2 * row, block + l->d, 2);
        if (f->minima) memcpy(record + 32 + 2 * row, block + l->dmin, 2);
        if (f->scales != GEODEC__SCALES_NONE) {
            uint8_t s[16];
            read_scales(f, block + l->scales, s);
            for (int g = 0; g < 16; g++) record[f->head_bytes - 256 + 16 * g + row] = s[g];
        }
    }
    for (int b = 0; !same && b < f->blocks; b++) {
        words c[8];
        read_codes(f, raw, b, c);
        put_codes(f->bits, c, r, record + f->head_bytes + 64 * f->bits * b);
    }
}

static void unpack_block(const geodec__panel_format *f, const uint8_t *record, int row, uint8_t *block)
{
    const geodec__block_layout *l = &f->layout;
    memset(block, 0, (size_t)l->bytes);
    memcpy(block + l->d, record + 2 * row, 2);
    if (f->minima) memcpy(block + l->dmin, record + 32 + 2 * row, 2);
    if (f->scales != GEODEC__SCALES_NONE) {
        uint8_t s[16];
        for (int g = 0; g < 16; g++) s[g] = record[f->head_bytes - 256 + 16 * g + row];
        write_scales(f, s, block + l->scales);
    }
    for (int b = 0; b < f->blocks; b++) {
        uint32_t c[8];
        get_codes(f->bits, record + f->head_bytes + 64 * f->bits * b, row, c);
        write_codes(f, c, b, block);
    }
}

INLINE void pack_rows(const geodec__panel_format *f, const geodec__matrix *w, int64_t panel, uint8_t *out)
{
    const int bytes = f->layout.bytes;
    const int64_t first = panel * GEODEC__PANEL, records = w->row_bytes / bytes;
    const int present = (int)(w->rows - first < GEODEC__PANEL ? w->rows - first : GEODEC__PANEL);
    const uint8_t *data = w->data + first * w->row_bytes;
    const geodec__expand_fn expand = geodec__expand_of(f->type);
    rows r;
    const uint8_t *begin[GEODEC__PANEL];
    for (int row = 0; row < GEODEC__PANEL; row++) {
        const uint32_t mask = row < present ? UINT32_MAX : 0;
        memcpy((uint8_t *)&r.keep + 4 * row, &mask, sizeof mask);
        begin[row] = data + (row < present ? row : 0) * w->row_bytes;
    }
    if (present < GEODEC__PANEL) memset(out, 0, (size_t)(records * f->record_bytes));
    /* The next panel is asked for ahead: 16 rows in step are no order that a processor foresees. */
    const uint8_t *next = data + GEODEC__PANEL * w->row_bytes;
    for (int64_t record = 0; record < records; record++) {
        for (int64_t at = 0; at < GEODEC__PANEL * bytes; at += 64)
            __builtin_prefetch(next + record * GEODEC__PANEL * bytes + at);
        for (int row = 0; row < GEODEC__PANEL; row++) r.at[row] = begin[row] + record * bytes;
        if (expand)
            pack_expanded(f, expand, &r, present, out + record * f->record_bytes);
        else
            pack_blocks(f, &r, present, out + record * f->record_bytes);
    }
}

void geodec__panel_pack(const geodec__panel_format *f, const geodec__matrix *w, int64_t panel, uint8_t *out)
{
    switch (f->index) {
#define X(name, ...)                                                                                                   \
    case GEODEC__PANEL_##name:                                                                                         \
        pack_rows(&formats[GEODEC__PANEL_##name], w, panel, out);                                                      \
        break;
        GEODEC__PANEL_FORMATS(X)
#undef X
    case GEODEC__PANEL_KINDS:
        break;
    }
}

void geodec__panel_decode_row(const geodec__panels *p, int64_t row, float *out)
{
    const geodec__panel_format *f = p->format;
    const uint8_t *panel = p->data + row / GEODEC__PANEL * geodec__panel_bytes(p);
    const geodec_ggml_traits *t = geodec_ggml_traits_of(f->type);
    const bool expanded = geodec__expand_of(f->type) != NULL;
    uint8_t block[256];
    for (int64_t r = 0; r < p->records; r++) {
        if (expanded) {
            decode_expanded(f, panel + r * f->record_bytes, (int)(row % GEODEC__PANEL), out + r * 32 * f->blocks);
            continue;
        }
        unpack_block(f, panel + r * f->record_bytes, (int)(row % GEODEC__PANEL), block);
        t->decode(block, out + r * 32 * f->blocks, 32 * f->blocks);
    }
}
