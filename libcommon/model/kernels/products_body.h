/* Integer products, written over sixteen floats (base/simd_internal.h) and sixteen integers, one lane a weight row.
 * Included by products_scalar.c, products_avx2.c and products_vnni.c after they define
 *   fvec  f_half(p) 16 binary16  f_u8(p) f_i8(p) 16 bytes  f_u4(p, shift) 4 bits of them
 *         f_e8m0(p) f_e4m3(p) 16 bytes as geodec__e8m0_half and geodec__e4m3_half read them
 *   ivec  i_set1 i_add i_float, 16 sums; i_keep(a) is a, computed before what follows
 *   codes c_load(p) 64 bytes; c_field(v, from, to, mask) bits `from`.. of every byte moved to `to`.., others zero;
 *         c_or; c_levels(levels, offset, v) the levels of codes, as p_dot wants them; c_bytes(v) codes of 8 bits
 *         likewise
 *   part  p_start(result of starts(), or 0);
 *         p_dot(wide, part, codes, q) adds the four products of lane l's codes and q[0 .. 3] to lane l, wide: codes
 *         that can be signed bytes, is_wide(); p_sum(part, 1 or 254) that many times the sum as an ivec
 *   RUN(bits, offset, wide)      words of codes that a part can sum
 *   START(wide)                  0: the codes need no offset, since c_bytes and c_levels applied it
 *   to_integers(x, factor, v)    32 products, rounded to nearest, ties to even
 *   OWN_LARGEST, OWN_DIGITS      if the set brings its own largest(); its own round_digits() and starts()
 *   FAST_WIDTHS(X, ...)          X(n, ...) for every number of rows with its own kernel, ascending; 0: one for
 *   EXACT_WIDTHS(X, ...)         any number up to 16
 *   TOGETHER(planes)             rows that such a kernel holds in registers together
 *   PRODUCTS, PRODUCTS_ISA       name and value of the table */

#include "base/unroll_internal.h"
#include "kernels/products_internal.h"

#include <math.h>
#include <string.h>

/* ---- activations ------------------------------------------------------------------------------------------------- */

/* Bytes of a block of activations. */
INLINE int64_t block_size(const int planes) { return (int64_t)sizeof(geodec__rounded) + 32 * planes; }

#ifndef OWN_LARGEST
/* Bits of the largest magnitude: ordered like integers, infinity and NaN above all. */
INLINE int32_t largest(const float *x)
{
    int32_t bits[32], top = 0;
    memcpy(bits, x, sizeof bits);
    for (int i = 0; i < 32; i++) {
        const int32_t size = bits[i] & 0x7fffffff;
        top = size > top ? size : top;
    }
    return top;
}
#endif

#ifndef OWN_DIGITS
/* q = x times inverse, rounded to `planes` digits; the sums of both halves, of all digits together. Simple loops, which
 * the compiler vectorises. */
INLINE void round_digits(const float *x, float inverse, const int planes, int8_t (*q)[32], int32_t sum[2])
{
    int32_t v[32];
    to_integers(x, inverse, v);
    for (int i = 0; i < 16; i++) sum[0] += v[i];
    for (int i = 16; i < 32; i++) sum[1] += v[i];
    for (int p = 0; p < planes; p++) {
        int32_t rest[32] = {0};
        if (p + 1 < planes) {
            float whole[32];
            for (int i = 0; i < 32; i++) whole[i] = (float)v[i];
            to_integers(whole, 1.0f / 254.0f, rest);
        }
        for (int i = 0; i < 32; i++) q[p][i] = (int8_t)(v[i] - 254 * rest[i]);
        memcpy(v, rest, sizeof v);
    }
}

/* Subtracts the offset from the sums of these digits, group by group. */
INLINE void starts(const int8_t q[32], int offset, int group, int planes, int32_t *out)
{
    for (int k = 0; k < 32 / group; k++) {
        int32_t sum = 0;
        for (int i = k * group; i < (k + 1) * group; i++) sum += q[i];
        out[k * planes] = -offset * sum;
    }
}
#endif

/* Whether there is anything to round. Otherwise the block is zero, or its scale is not a number. */
INLINE bool round_any(const float *x, float *a, float *scale)
{
    const int32_t top = largest(x);
    memcpy(a, &top, sizeof *a);
    if (top < 0x7f800000 && *a >= 1e-30f) return true;
    if (top >= 0x7f800000) *scale = NAN;
    return false;
}

INLINE void finish_sums(const int32_t sum[2], int group, float scale, float out[2])
{
    out[0] = (float)(group == 32 ? sum[0] + sum[1] : sum[0]) * scale;
    out[1] = group == 32 ? 0 : (float)sum[1] * scale;
}

/* most: the code of the largest magnitude. */
INLINE void round_row(const int planes, const float most, const float *x, int64_t cols, int offset, int group,
                      uint8_t *to, int64_t stride)
{
    for (int64_t b = 0; b < cols / 32; b++, x += 32, to += stride * block_size(planes)) {
        geodec__rounded *out = (geodec__rounded *)(void *)to;
        float a;
        int32_t sum[2] = {0, 0};
        memset(to, 0, (size_t)block_size(planes));
        if (!round_any(x, &a, &out->scale)) continue;
        round_digits(x, most / a, planes, out->q, sum);
        out->scale = a * (1.0f / most);
        for (int p = 0; p < planes && offset; p++) starts(out->q[p], offset, group, 3, &out->group.start[0][p]);
        if (!offset) finish_sums(sum, group, out->scale, out->group.sum);
    }
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* The eight words of 32 columns, from their vectors. */
INLINE void load_codes(const int bits, const geodec__levels levels, const int offset, const uint8_t *p, codes c[8])
{
    UNROLL
    for (int g = 0; g < 8; g++) {
        if (bits == 8) {
            c[g] = c_bytes(c_load(p + 64 * g));
        } else if (bits >= 4) {
            c[g] = c_field(c_load(p + 64 * (g & 3)), g < 4 ? 0 : 4, 0, 15);
            if (bits == 5) c[g] = c_or(c[g], c_field(c_load(p + 64 * 4), g, 4, 1));
            if (bits == 6) c[g] = c_or(c[g], c_field(c_load(p + 64 * (4 + g / 4)), 2 * (g & 3), 4, 3));
        } else if (bits == 1) {
            c[g] = c_field(c_load(p), g, 0, 1);
        } else {
            c[g] = c_field(c_load(p + 64 * (g / 4)), 2 * (g & 3), 0, 3);
            if (bits == 3) c[g] = c_or(c[g], c_field(c_load(p + 64 * 2), g, 2, 1));
        }
        if (levels) c[g] = c_levels(levels, offset, c[g]);
    }
}

enum { AHEAD = 8192 /* prefetch distance in bytes, into the second-level cache */ };

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* A format, constant after inlining. */
typedef struct shape {
    int bits, blocks, group, offset, sign;
    geodec__levels levels;
    geodec__panel_scales scales;
    int planes; /* bytes of an activation: 1 in fast arithmetic, 3 in exact */
} shape;
/* Whether a sum of 16 bits cannot take all products of a group, offset and all. */
INLINE bool is_wide(shape f) { return f.bits == 8 || (f.levels && f.offset > 16); }
/* Group h of 32 columns against T rows of x, whose blocks are contiguous; c: the words of the group. */
INLINE void group_rows(const shape f, const int T, const codes *c, const int h, fvec s, fvec m, const uint8_t *x,
                       fvec *acc)
{
    enum { MOST = 8 };
    const bool wide = is_wide(f), started = f.offset && START(wide);
    const int most = RUN(f.bits, f.offset, wide), words = f.group / 4, run = most < words ? most : words, P = f.planes;
    const int64_t step = block_size(f.planes);
    ivec low[MOST], high[MOST];
#define BLOCK_OF(r) ((const geodec__rounded *)(const void *)(x + (r)*step))
    UNROLL
    for (int first = 0; first < words; first += run) {
        part sum[3 * MOST];
        UNROLL
        for (int i = 0; i < T * P; i++)
            sum[i] = started && first == 0 ? p_start(BLOCK_OF(i / P)->group.start[h][i % P]) : p_start(0);
        UNROLL
        for (int g = first; g < first + run; g++) {
            UNROLL
            for (int i = 0; i < T * P; i++)
                sum[i] = p_dot(wide, sum[i], c[g], BLOCK_OF(i / P)->q[i % P] + h * f.group + 4 * g);
        }
        UNROLL
        for (int r = 0; r < T; r++) {
            ivec l = p_sum(sum[r * P], 1);
            if (P == 3) l = i_add(l, p_sum(sum[r * P + 1], 254));
            low[r] = i_keep(first ? i_add(low[r], l) : l);
            if (P == 3) high[r] = i_keep(first ? i_add(high[r], p_sum(sum[r * P + 2], 1)) : p_sum(sum[r * P + 2], 1));
        }
    }
    UNROLL
    for (int r = 0; r < T; r++) {
        const geodec__rounded *at = BLOCK_OF(r);
        fvec sum = i_float(low[r]);
        if (P == 3) sum = f_fma(i_float(high[r]), f_set1(64516.0f), sum);
        acc[r] = f_fma(sum, f_mul(s, f_set1(at->scale)), acc[r]);
        if (f.sign < 0) acc[r] = f_fnma(m, f_set1(at->group.sum[h]), acc[r]);
        if (f.sign > 0) acc[r] = f_fma(m, f_set1(at->group.sum[h]), acc[r]);
    }
#undef BLOCK_OF
}

/* Scale and minimum of group `index` of a record. */
INLINE void group_scale(const shape f, const uint8_t *fine, int index, fvec *s, fvec *m)
{
    const uint8_t *at = fine + 16 * index;
    if (f.scales == GEODEC__SCALES_PAIRS) {
        *s = f_mul(*s, f_u8(at));
        *m = f_mul(*m, f_u8(at + 128));
    } else if (f.scales == GEODEC__SCALES_SIGNED) {
        *s = f_mul(*s, f_i8(at));
    } else if (f.scales == GEODEC__SCALES_NIBBLES) {
        *s = f_mul(*s, f_u4(at, 0));
        *m = f_mul(*m, f_u4(at, 4));
    } else if (f.scales == GEODEC__SCALES_E8M0) {
        *s = f_e8m0(at);
    } else if (f.scales == GEODEC__SCALES_E4M3) {
        *s = f_e4m3(at);
    }
}

/* One panel against n rows of a tile, while that at `ahead` is prefetched; B: n as a constant, or 0. */
INLINE void panel(const shape f, const int B, int64_t n, const uint8_t *p, const uint8_t *ahead, int64_t records,
                  const uint8_t *x, int64_t stride, float *const *y, int64_t o, int64_t rows)
{
    const int fine = GEODEC__PANEL_D(f.sign, f.scales), head = fine + GEODEC__PANEL_FINE(f.blocks, f.group, f.scales);
    const float unit = geodec__levels_unit(f.levels);
    const int lines = ((head + 63) / 64 + f.blocks - 1) / f.blocks + f.bits; /* of the cache, for each 32 columns */
    const int64_t step = block_size(f.planes);
    fvec acc[GEODEC__PRODUCT_TILE];
    if (B) {
        UNROLL
        for (int r = 0; r < B; r++) acc[r] = f_zero();
    } else {
        for (int64_t r = 0; r < n; r++) acc[r] = f_zero();
    }
    const int64_t record = head + 64 * f.bits * f.blocks;
    for (int64_t k = 0; k < records; k++, p += record, ahead += record) {
        const fvec d = !fine ? f_zero() : unit == 1.0f ? f_half(p) : f_mul(f_half(p), f_set1(unit));
        const fvec dmin = f.sign ? f_half(p + 32) : f_zero();
        for (int b = 0; b < f.blocks; b++, x += stride * step) {
            codes c[8];
            UNROLL
            for (int at = 0; at < lines; at++) __builtin_prefetch(ahead + (b * lines + at) * 64, 0, 2);
            load_codes(f.bits, f.levels, f.offset, p + head + 64 * f.bits * b, c);
            UNROLL
            for (int h = 0; h < 32 / f.group; h++) {
                const codes *const own = c + h * f.group / 4;
                fvec s = d, m = dmin;
                group_scale(f, p + fine, b * 32 / f.group + h, &s, &m);
                if (B) {
                    UNROLL
                    for (int r = 0; r < B; r++) group_rows(f, 1, own, h, s, m, x + r * step, acc + r);
                } else {
                    const int T = TOGETHER(f.planes);
                    int64_t r = 0;
                    for (; r + T <= n; r += T) {
                        const codes *here = own; /* they stay in memory: the registers are for sums */
                        __asm__("" : "+r"(here) : : "memory");
                        group_rows(f, T, here, h, s, m, x + r * step, acc + r);
                    }
                    for (; r < n; r++) group_rows(f, 1, own, h, s, m, x + r * step, acc + r);
                }
            }
        }
    }
    if (B) {
        UNROLL
        for (int r = 0; r < B; r++) f_store_n(y[r] + o, acc[r], rows);
    } else {
        for (int64_t r = 0; r < n; r++) f_store_n(y[r] + o, acc[r], rows);
    }
}

/* A function for each format and number of rows, so that each has its own register allocation. */
typedef void (*panel_fn)(const uint8_t *p, const uint8_t *ahead, int64_t records, const uint8_t *x, int64_t stride,
                         int64_t n, float *const *y, int64_t o, int64_t rows);

#define PANEL(B_, name, planes_, bits_, blocks_, group_, offset_, sign_, levels_, scales_)                             \
    static __attribute__((noinline)) void name##_##planes_##_##B_(const uint8_t *p, const uint8_t *ahead,              \
                                                                  int64_t records, const uint8_t *x, int64_t stride,   \
                                                                  int64_t n, float *const *y, int64_t o, int64_t rows) \
    {                                                                                                                  \
        const shape f = {bits_, blocks_, group_, offset_, sign_, levels_, scales_, planes_};                           \
        panel(f, B_, n, p, ahead, records, x, stride, y, o, rows);                                                     \
    }
#define FAST_FORMAT(name, type, blocks, bytes, bits, group, offset, sign, levels, scales, ...)                         \
    FAST_WIDTHS(PANEL, name, 1, bits, blocks, group, offset, sign, levels, GEODEC__SCALES_##scales)
#define EXACT_FORMAT(name, type, blocks, bytes, bits, group, offset, sign, levels, scales, ...)                        \
    EXACT_WIDTHS(PANEL, name, 3, bits, blocks, group, offset, sign, levels, GEODEC__SCALES_##scales)
GEODEC__PANEL_FORMATS(FAST_FORMAT)
GEODEC__EXACT_FORMATS(EXACT_FORMAT)

#define ENTRY(B_, name, planes) [B_] = name##_##planes##_##B_,
#define FAST_ENTRIES(name, ...) [GEODEC__PANEL_##name] = {FAST_WIDTHS(ENTRY, name, 1)},
#define EXACT_ENTRIES(name, ...) [GEODEC__PANEL_##name] = {EXACT_WIDTHS(ENTRY, name, 3)},
typedef panel_fn panel_fns[GEODEC__PRODUCT_TILE + 1]; /* by rows; 0: any number */
static const panel_fns fast_kernels[GEODEC__PANEL_KINDS] = {GEODEC__PANEL_FORMATS(FAST_ENTRIES)};
static const panel_fns exact_kernels[GEODEC__PANEL_KINDS] = {GEODEC__EXACT_FORMATS(EXACT_ENTRIES)};

INLINE void multiply(const panel_fns *kernels, const int64_t block_bytes, const geodec__panels *w, int64_t begin,
                     int64_t end, const uint8_t *x, int64_t n, float *const *y)
{
    const panel_fn *kernel = kernels[w->format->index];
    const int64_t bytes = geodec__panel_bytes(w), blocks = w->records * w->format->blocks;
    for (int64_t i = begin; i < end; i++) {
        const int64_t o = i * GEODEC__PANEL, rows = w->rows - o < GEODEC__PANEL ? w->rows - o : GEODEC__PANEL;
        const uint8_t *const p = w->data + (i - w->first) * bytes;
        const int64_t past = AHEAD - (end - i) * bytes; /* from the last panel's end */
        const uint8_t *const ahead = past >= 0 && w->next ? w->next + past : p + AHEAD;
        for (int64_t first = 0; first < n; first += GEODEC__PRODUCT_TILE) {
            const int64_t stride = n - first < GEODEC__PRODUCT_TILE ? n - first : GEODEC__PRODUCT_TILE;
            const uint8_t *tile = x + first * blocks * block_bytes;
            for (int64_t r = 0, width; r < stride; r += width) {
                width = stride - r;
                if (!kernel[0])
                    while (!kernel[width]) width--;
                kernel[kernel[width] ? width : 0](p, ahead, w->records, tile + r * block_bytes, stride, width,
                                                  y + first + r, o, rows);
            }
        }
    }
}

#define ARITHMETIC(name, planes, most)                                                                                 \
    static void name##_round(const float *x, int64_t cols, int offset, int group, void *to, int64_t stride)            \
    {                                                                                                                  \
        round_row(planes, most, x, cols, offset, group, to, stride);                                                   \
    }                                                                                                                  \
    static void name##_multiply(const geodec__panels *w, int64_t begin, int64_t end, const void *x, int64_t n,         \
                                float *const *y)                                                                       \
    {                                                                                                                  \
        multiply(name##_kernels, block_size(planes), w, begin, end, x, n, y);                                          \
    }
ARITHMETIC(fast, 1, 127.0f)
ARITHMETIC(exact, 3, 8225600.0f) /* slightly below 127 (254^2 + 254 + 1), to allow for rounding */

const geodec__products PRODUCTS = {.isa = PRODUCTS_ISA,
                                   .fast = {sizeof(geodec__rounded) + 32, fast_round, fast_multiply},
                                   .exact = {sizeof(geodec__rounded) + 96, exact_round, exact_multiply}};
