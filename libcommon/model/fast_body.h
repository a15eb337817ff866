/* Integer products, written once over vectors of 16 floats and 16 integers, one lane a weight row. Included by
 * fast_scalar.c, fast_avx2.c and fast_vnni.c after they define
 *   fvec  f_zero f_set1 f_mul f_fma(a, b, c) = a b + c  f_fnma(a, b, c) = c - a b  f_store(p, a, n) the first n lanes
 *         f_half(p) 16 binary16  f_u8(p) f_i8(p) 16 bytes  f_u4(p, shift) 4 bits of them
 *   ivec  i_set1 i_float, 16 sums
 *   codes c_load(p) 64 bytes; c_field(v, from, to, mask) bits `from`.. of every byte moved to `to`.., others zero;
 *         c_or; c_table(v) IQ4_NL's table, as c_dot wants it; c_bytes(v) the same for codes of 8 bits
 *   c_dot(wide, sum, codes, q)   sum[l] + the four products of lane l's codes and q[0 .. 3]; wide: codes of 8 bits
 *   OWN_ROUNDING                 if the set brings its own largest and round_values
 *   START(wide, s)               what a sum of codes begins with: s takes the offset away, 0 if c_bytes did
 *   WIDTHS(X, ...)               X(n, ...) for every number of rows that has a kernel, ascending; WIDEST the last of
 * them FAST, FAST_ISA               name and value of the table */

#include "base/unroll.h"
#include "model/fast.h"

#include <math.h>
#include <string.h>

/* ---- activations ------------------------------------------------------------------------------------------------- */

#ifndef OWN_ROUNDING
/* Bits of the largest magnitude: they sort like integers, infinity and NaN above all. */
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

/* q = x times inverse, rounded; the sums of both halves. */
INLINE void round_values(const float *x, float inverse, int8_t *q, int32_t sum[2])
{
    const float magic = 12582912.0f; /* adding 1.5 2^23 rounds to an integer, ties to even */
    const int32_t magic_bits = 0x4b400000;
    int32_t v[32]; /* simple loops: the compiler makes vectors of them */
    for (int i = 0; i < 32; i++) {
        const float t = x[i] * inverse + magic;
        int32_t u;
        memcpy(&u, &t, sizeof u);
        v[i] = u - magic_bits;
    }
    for (int i = 0; i < 32; i++) q[i] = (int8_t)v[i];
    for (int i = 0; i < 16; i++) sum[0] += v[i];
    for (int i = 16; i < 32; i++) sum[1] += v[i];
}
#endif

INLINE void quantise_block(const float *x, int offset, int group, geodec__fast_block *out)
{
    const int32_t top = largest(x);
    float a;
    memcpy(&a, &top, sizeof a);
    if (top >= 0x7f800000 || a < 1e-30f) {
        memset(out, 0, sizeof *out);
        if (top >= 0x7f800000) out->scale = out->sum[0] = out->sum[1] = NAN;
        return;
    }
    int32_t sum[2] = {0, 0};
    round_values(x, 127.0f / a, out->q, sum);
    if (group == 32) {
        sum[0] += sum[1];
        sum[1] = 0;
    }
    out->scale = a * (1.0f / 127.0f);
    for (int k = 0; k < 2; k++) {
        out->sum[k] = (float)sum[k] * out->scale;
        out->start[k] = -offset * sum[k];
    }
}

static void quantise(const float *x, int64_t cols, int offset, int group, geodec__fast_block *out, int64_t stride)
{
    for (int64_t b = 0; b < cols / 32; b++) quantise_block(x + 32 * b, offset, group, out + b * stride);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* The eight words of 32 columns, from their vectors. */
INLINE void load_codes(const int bits, const bool table, const uint8_t *p, codes c[8])
{
    UNROLL
    for (int g = 0; g < 8; g++) {
        if (bits == 8) {
            c[g] = c_bytes(c_load(p + 64 * g));
        } else if (bits >= 4) {
            c[g] = c_field(c_load(p + 64 * (g & 3)), g < 4 ? 0 : 4, 0, 15);
            if (bits == 5) c[g] = c_or(c[g], c_field(c_load(p + 64 * 4), g, 4, 1));
            if (bits == 6) c[g] = c_or(c[g], c_field(c_load(p + 64 * (4 + g / 4)), 2 * (g & 3), 4, 3));
            if (table) c[g] = c_table(c[g]);
        } else {
            c[g] = c_field(c_load(p + 64 * (g / 4)), 2 * (g & 3), 0, 3);
            if (bits == 3) c[g] = c_or(c[g], c_field(c_load(p + 64 * 2), g, 2, 1));
        }
    }
}

enum { AHEAD = 8192 /* bytes between what is used and what is asked for, into the second level of the cache */ };

/* ---- products ---------------------------------------------------------------------------------------------------- */

/* One panel against B rows of a tile. The format and B are constants after inlining. */
INLINE void panel(const int bits, const int blocks, const int group, const int sign, const bool table,
                  const geodec__panel_scales scales, const int B, const uint8_t *p, int64_t records,
                  const geodec__fast_block *x, int64_t stride, float *const *y, int64_t o, int64_t rows)
{
    const bool wide = bits == 8 || table;
    const int head = 32 + (sign ? 32 : 0) + (scales == GEODEC__SCALES_NONE ? 0 : 256);
    const int lines = ((head + 63) / 64 + blocks - 1) / blocks + bits; /* of the cache, for each 32 columns */
    fvec acc[WIDEST];
    UNROLL
    for (int r = 0; r < B; r++) acc[r] = f_zero();
    for (int64_t k = 0; k < records; k++, p += head + 64 * bits * blocks) {
        const fvec d = f_half(p);
        const fvec dmin = sign ? f_half(p + 32) : f_zero();
        const uint8_t *fine = p + head - 256;
        for (int b = 0; b < blocks; b++, x += stride) {
            codes c[8];
            if (B > 2) { /* fewer are fast enough for the hardware to run ahead; more are not, and memory would wait */
                UNROLL
                for (int at = 0; at < lines; at++) __builtin_prefetch(p + AHEAD + (b * lines + at) * 64, 0, 2);
            }
            load_codes(bits, table, p + head + 64 * bits * b, c);
            UNROLL
            for (int h = 0; h < 32 / group; h++) {
                const uint8_t *at = fine + 16 * (b * 32 / group + h);
                fvec s = d, m = dmin;
                if (scales == GEODEC__SCALES_PAIRS) {
                    s = f_mul(d, f_u8(at));
                    m = f_mul(dmin, f_u8(at + 128));
                } else if (scales == GEODEC__SCALES_SIGNED) {
                    s = f_mul(d, f_i8(at));
                } else if (scales == GEODEC__SCALES_NIBBLES) {
                    s = f_mul(d, f_u4(at, 0));
                    m = f_mul(dmin, f_u4(at, 4));
                }
                UNROLL
                for (int r = 0; r < B; r++) {
                    ivec sum = i_set1(START(wide, x[r].start[h]));
                    UNROLL
                    for (int g = h * group / 4; g < (h + 1) * group / 4; g++)
                        sum = c_dot(wide, sum, c[g], x[r].q + 4 * g);
                    acc[r] = f_fma(i_float(sum), f_mul(s, f_set1(x[r].scale)), acc[r]);
                    if (sign < 0) acc[r] = f_fnma(m, f_set1(x[r].sum[h]), acc[r]);
                    if (sign > 0) acc[r] = f_fma(m, f_set1(x[r].sum[h]), acc[r]);
                }
            }
        }
    }
    UNROLL
    for (int r = 0; r < B; r++) f_store(y[r] + o, acc[r], rows);
}

/* A function for each format and number of rows, so that each has the registers to itself. */
typedef void (*panel_fn)(const uint8_t *p, int64_t records, const geodec__fast_block *x, int64_t stride,
                         float *const *y, int64_t o, int64_t rows);

#define PANEL(B_, name, bits, blocks, group, sign, table, scales)                                                      \
    static __attribute__((noinline)) void name##_##B_(const uint8_t *p, int64_t records, const geodec__fast_block *x,  \
                                                      int64_t stride, float *const *y, int64_t o, int64_t rows)        \
    {                                                                                                                  \
        panel(bits, blocks, group, sign, table, scales, B_, p, records, x, stride, y, o, rows);                        \
    }
#define FORMAT(name, type, bits, blocks, group, offset, sign, table, scales)                                           \
    WIDTHS(PANEL, name, bits, blocks, group, sign, table, scales)
GEODEC__PANEL_FORMATS(FORMAT)

#define ENTRY(B_, name) [B_] = name##_##B_,
#define ENTRIES(name, ...) [GEODEC__PANEL_##name] = {WIDTHS(ENTRY, name)},
static const panel_fn kernels[GEODEC__PANEL_KINDS][WIDEST + 1] = {GEODEC__PANEL_FORMATS(ENTRIES)};

static void product(const geodec__panels *w, int64_t begin, int64_t end, const geodec__fast_block *x, int64_t n,
                    float *const *y)
{
    const panel_fn *kernel = kernels[w->format->index];
    const int64_t bytes = geodec__panel_bytes(w), blocks = w->records * w->format->blocks;
    for (int64_t i = begin; i < end; i++) {
        const int64_t o = i * GEODEC__PANEL, rows = w->rows - o < GEODEC__PANEL ? w->rows - o : GEODEC__PANEL;
        for (int64_t first = 0; first < n; first += GEODEC__FAST_TILE) {
            const int64_t stride = n - first < GEODEC__FAST_TILE ? n - first : GEODEC__FAST_TILE;
            const geodec__fast_block *tile = x + first * blocks;
            for (int64_t r = 0, width; r < stride; r += width) {
                width = stride - r < WIDEST ? stride - r : WIDEST;
                while (!kernel[width]) width--;
                kernel[width](w->data + (i - w->first) * bytes, w->records, tile + r, stride, y + first + r, o, rows);
            }
        }
    }
}

const geodec__fast FAST = {.isa = FAST_ISA, .quantise = quantise, .product = product};
