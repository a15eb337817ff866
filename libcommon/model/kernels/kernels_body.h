/* The kernels, written over sixteen floats (base/simd_internal.h). Included by kernels_scalar.c, kernels_avx2.c and
 * kernels_avx512.c after they define:
 *   f_pow2(t)                     2^n for the n in the low mantissa bits of t (see exp below)
 *   f_sum4(a, b, c, d, out)       the four fixed reductions
 *   load_f16 load_bf16 load_i8    16 consecutive weights as floats
 *   load_f16_tail load_bf16_tail (p, n)
 *                                 n < 16 weights, the rest zero; nothing past them is read
 *   scale_f16(p)                  a binary16 in all lanes
 *   MAX_GROUP, TILE_ROWS(B)       largest number of rows of x of a tile, weight rows of a tile for B rows of x
 *   KERNELS, KERNELS_ISA          name and value of the table */

#include "base/f16.h"
#include "base/unroll_internal.h"
#include "gguf/gguf.h"
#include "kernels/kernels_internal.h"

#include <math.h>
#include <string.h>

#ifndef BLOCK_GROUP /* MAX_GROUP of Q8_0 */
#define BLOCK_GROUP MAX_GROUP
#endif
enum { MAX_TILE = 32 };

/* ---- weights ---------------------------------------------------------------------------------------------------- */

/* Chunk c (16 weights) of a row. */
INLINE fvec load_weights(const int type, const uint8_t *row, int64_t c)
{
    switch (type) {
    case GEODEC_GGML_F32:
        return f_load((const float *)(const void *)row + 16 * c);
    case GEODEC_GGML_F16:
        return load_f16(row + 32 * c);
    case GEODEC_GGML_BF16:
        return load_bf16(row + 32 * c);
    default: {
        const uint8_t *block = row + (c >> 1) * GEODEC_GGML_BYTES_Q8_0;
        return f_mul(scale_f16(block), load_i8(block + 2 + 16 * (c & 1)));
    }
    }
}

/* The last n < 16 weights of a row, the rest zero. Q8_0 rows have no tail. */
INLINE fvec load_tail(const int type, const uint8_t *row, int64_t c, int64_t n)
{
    switch (type) {
    case GEODEC_GGML_F32:
        return f_load_n((const float *)(const void *)row + 16 * c, n);
    case GEODEC_GGML_F16:
        return load_f16_tail(row + 32 * c, n);
    default:
        return load_bf16_tail(row + 32 * c, n);
    }
}

/* Prefetch distance of the weights in bytes; 0 = none. Tiles read several rows at once: rows below a page are streams
 * too short for the hardware prefetcher, so the lines of the whole tile are prefetched in the order of memory. The
 * hardware follows long rows itself, better without hints. For few rows of x the weights go to the first-level cache;
 * more rows fill that cache themselves, so their weights go to the second. */
enum { AHEAD_ONE = 16384, AHEAD_FEW = 8192, AHEAD_MORE = 32768, FEW_ROWS = 3, LONG_ROW = 4096 };
INLINE int64_t ahead_of(int64_t row_bytes, const int B)
{
    return row_bytes > LONG_ROW ? 0 : B == 1 ? AHEAD_ONE : B <= FEW_ROWS ? AHEAD_FEW : AHEAD_MORE;
}

/* What a call reads: its rows end at `end`; then come those at `next`, unless it is NULL. */
typedef struct reading {
    const uint8_t *end, *next;
} reading;

/* The lines to prefetch while the tile at w is multiplied; NULL: none. */
INLINE const uint8_t *ahead_from(const uint8_t *w, int64_t distance, const reading *r)
{
    if (distance == 0) return NULL;
    const int64_t past = w + distance - r->end;
    return past >= 0 && r->next ? r->next + past : w + distance;
}

/* Prefetches the part of the lines at `ahead` of step `step` of a tile of R rows. Does nothing past the end of the
 * matrix. */
INLINE void prefetch(const int type, const int R, const int B, const uint8_t *ahead, int64_t step)
{
    const int bytes = R * (type == GEODEC_GGML_Q8_0 ? GEODEC_GGML_BYTES_Q8_0 : type == GEODEC_GGML_F32 ? 64 : 32);
    UNROLL
    for (int k = 0; k < bytes; k += 64) {
        if (B <= FEW_ROWS)
            __builtin_prefetch(ahead + step * bytes + k, 0, 3);
        else
            __builtin_prefetch(ahead + step * bytes + k, 0, 2);
    }
}

/* ---- matrix products -------------------------------------------------------------------------------------------- */

/* The sums of a tile of floats or Q8_0. */
INLINE void sum_chunks(const int type, const uint8_t *ahead, const int R, const int B, const uint8_t *w,
                       int64_t row_bytes, int64_t cols, const float *const *x, fvec *sum)
{
    const int64_t chunks = cols / 16, tail = cols % 16;
    const int step = type == GEODEC_GGML_Q8_0 ? 2 : 1; /* both halves of a block share one scale */
    for (int64_t c = 0; c < chunks; c += step) {
        if (ahead) prefetch(type, R, B, ahead, c / step);
        UNROLL
        for (int half = 0; half < step; half++) {
            if (B <= R) { /* the smaller set stays in registers, the other is streamed */
                fvec xv[8];
                UNROLL
                for (int r = 0; r < B; r++) xv[r] = f_keep(f_load(x[r] + 16 * (c + half)));
                UNROLL
                for (int j = 0; j < R; j++) {
                    const fvec wv = f_keep(load_weights(type, w + j * row_bytes, c + half));
                    UNROLL
                    for (int r = 0; r < B; r++) sum[r * R + j] = f_fma(xv[r], wv, sum[r * R + j]);
                }
            } else {
                fvec wv[8];
                UNROLL
                for (int j = 0; j < R; j++) {
                    wv[j] = f_keep(load_weights(type, w + j * row_bytes, c + half));
                }
                UNROLL
                for (int r = 0; r < B; r++) {
                    const fvec xv = f_keep(f_load(x[r] + 16 * (c + half)));
                    UNROLL
                    for (int j = 0; j < R; j++) sum[r * R + j] = f_fma(xv, wv[j], sum[r * R + j]);
                }
            }
        }
    }
    if (type != GEODEC_GGML_Q8_0 && tail) {
        UNROLL
        for (int j = 0; j < R; j++) {
            const fvec wv = load_tail(type, w + j * row_bytes, chunks, tail);
            UNROLL
            for (int r = 0; r < B; r++) sum[r * R + j] = f_fma(f_load(x[r] + 16 * chunks), wv, sum[r * R + j]);
        }
    }
}

#ifdef PARTS_FROM
enum { SEGMENT = 32 /* chunks that are read twice, once for each half of the lanes, while they are in the cache */ };

INLINE vec8 load_part(const int type, const uint8_t *row, int64_t c, int64_t lane)
{
    return type == GEODEC_GGML_F32   ? p_load((const float *)(const void *)row + 16 * c + lane)
           : type == GEODEC_GGML_F16 ? p_half(row + 32 * c + 2 * lane)
                                     : p_bf16(row + 32 * c + 2 * lane);
}

/* The sums of a tile of floats, eight lanes at a time. */
INLINE void sum_parts(const int type, const uint8_t *ahead, const int R, const int B, const uint8_t *w,
                      int64_t row_bytes, int64_t cols, const float *const *x, fvec *sum)
{
    float held[MAX_TILE][16];
    const int64_t chunks = cols / 16, tail = cols % 16;
    UNROLL
    for (int i = 0; i < R * B; i++) f_store(held[i], f_zero());
    for (int64_t from = 0, to; from < chunks; from = to) {
        to = chunks - from < SEGMENT ? chunks : from + SEGMENT;
        for (int64_t lane = 0; lane < 16; lane += 8) {
            vec8 s[MAX_TILE];
            UNROLL
            for (int i = 0; i < R * B; i++) s[i] = p_load(held[i] + lane);
            for (int64_t c = from; c < to; c++) {
                if (ahead && lane == 0) prefetch(type, R, B, ahead, c);
                vec8 few[MAX_TILE]; /* the smaller set stays in registers, the other is streamed */
                UNROLL
                for (int i = 0; i < (B <= R ? B : R); i++)
                    few[i] =
                        p_keep(B <= R ? p_load(x[i] + 16 * c + lane) : load_part(type, w + i * row_bytes, c, lane));
                UNROLL
                for (int i = 0; i < (B <= R ? R : B); i++) {
                    const vec8 v =
                        p_keep(B <= R ? load_part(type, w + i * row_bytes, c, lane) : p_load(x[i] + 16 * c + lane));
                    UNROLL
                    for (int k = 0; k < (B <= R ? B : R); k++) {
                        const int at = B <= R ? k * R + i : i * R + k;
                        s[at] = p_fma(few[k], v, s[at]);
                    }
                }
            }
            UNROLL
            for (int i = 0; i < R * B; i++) p_store(held[i] + lane, s[i]);
        }
    }
    UNROLL
    for (int i = 0; i < R * B; i++) sum[i] = f_load(held[i]);
    if (!tail) return;
    UNROLL
    for (int j = 0; j < R; j++) {
        const fvec wv = load_tail(type, w + j * row_bytes, chunks, tail);
        UNROLL
        for (int r = 0; r < B; r++) sum[r * R + j] = f_fma(f_load(x[r] + 16 * chunks), wv, sum[r * R + j]);
    }
}
#else
#define PARTS_FROM (MAX_GROUP + 1)
#define sum_parts sum_chunks
#endif

/* Weights that are converted without extra registers. */
INLINE bool is_float(const int type)
{
    return type == GEODEC_GGML_F32 || type == GEODEC_GGML_F16 || type == GEODEC_GGML_BF16;
}
INLINE int tile_group(const int type) { return is_float(type) ? MAX_GROUP : BLOCK_GROUP; }

/* One tile: R weight rows against B rows of x, all sums in registers. type, R and B are constants after inlining. */
INLINE void tile(const int type, const uint8_t *ahead, const int R, const int B, const uint8_t *w, int64_t row_bytes,
                 int64_t cols, const float *const *x, float *const *y, int64_t o)
{
    fvec sum[MAX_TILE];
    UNROLL
    for (int i = 0; i < R * B; i++) sum[i] = f_zero();
    if (is_float(type) && B >= PARTS_FROM)
        sum_parts(type, ahead, R, B, w, row_bytes, cols, x, sum);
    else
        sum_chunks(type, ahead, R, B, w, row_bytes, cols, x, sum);
    if (R >= 3) {
        UNROLL
        for (int r = 0; r < B; r++) {
            UNROLL
            for (int j = 0; j < R; j += 4) {
                const fvec *s = sum + r * R + j;
                f_sum4(s[0], R - j > 1 ? s[1] : f_zero(), R - j > 2 ? s[2] : f_zero(), R - j > 3 ? s[3] : f_zero(),
                       y[r] + o + j, R - j < 4 ? R - j : 4);
            }
        }
    } else { /* too few rows for a vector of results: any four together */
        float total[MAX_TILE];
        UNROLL
        for (int i = R * B; i % 4; i++) sum[i] = f_zero();
        UNROLL
        for (int i = 0; i < R * B; i += 4) f_sum4(sum[i], sum[i + 1], sum[i + 2], sum[i + 3], total + i, 4);
        UNROLL
        for (int r = 0; r < B; r++) {
            UNROLL
            for (int j = 0; j < R; j++) y[r][o + j] = total[r * R + j];
        }
    }
}

/* Weight rows begin .. begin+rows-1 (w points at the first) against B rows of x. One function for each type and B, so
 * that each has its own register allocation. */
typedef void (*group_fn)(const uint8_t *w, int64_t row_bytes, int64_t cols, int64_t begin, int64_t rows,
                         const float *const *x, float *const *y, const reading *r);

#define GROUP(B_, name, type, ahead)                                                                                   \
    static __attribute__((noinline)) void name##_##B_(const uint8_t *w, int64_t row_bytes, int64_t cols,               \
                                                      int64_t begin, int64_t rows, const float *const *x,              \
                                                      float *const *y, const reading *reads)                           \
    {                                                                                                                  \
        const float *xr[B_];                                                                                           \
        float *yr[B_];                                                                                                 \
        UNROLL                                                                                                         \
        for (int r = 0; r < B_; r++) xr[r] = x[r], yr[r] = y[r];                                                       \
        const int64_t distance = (ahead) ? ahead_of(row_bytes, B_) : 0;                                                \
        int64_t j = 0;                                                                                                 \
        const int R = TILE_ROWS(B_);                                                                                   \
        for (; rows - j >= R; j += R)                                                                                  \
            tile(type, ahead_from(w + j * row_bytes, distance, reads), R, B_, w + j * row_bytes, row_bytes, cols, xr,  \
                 yr, begin + j);                                                                                       \
        if (R > 1)                                                                                                     \
            for (; j < rows; j++)                                                                                      \
                tile(type, ahead_from(w + j * row_bytes, distance, reads), 1, B_, w + j * row_bytes, row_bytes, cols,  \
                     xr, yr, begin + j);                                                                               \
    }

#define GROUP_NAME(B_, name) name##_##B_,
#define GROUPS(most, name, type, ahead)                                                                                \
    UP_TO(most, GROUP, name, type, ahead)                                                                              \
    static const group_fn name[] = {NULL, UP_TO(most, GROUP_NAME, name)};
GROUPS(MAX_GROUP, group_f32, GEODEC_GGML_F32, true)
GROUPS(MAX_GROUP, group_f16, GEODEC_GGML_F16, true)
GROUPS(MAX_GROUP, group_bf16, GEODEC_GGML_BF16, true)
GROUPS(BLOCK_GROUP, group_q8_0, GEODEC_GGML_Q8_0, true)
GROUPS(MAX_GROUP, group_strip, GEODEC_GGML_F32, false)

/* More rows of x than a tile holds, in groups of nearly equal size. */
INLINE void matmul_groups(const int type, const group_fn *direct, const geodec__matrix *w, int64_t begin, int64_t end,
                          const float *const *x, int64_t n, float *const *y)
{
    const int64_t most = tile_group(type), groups = (n + most - 1) / most;
    const reading reads = {w->data + end * w->row_bytes, w->next};
    for (int64_t o = begin; o < end; o += GEODEC__STRIP) {
        const int64_t rows = end - o < GEODEC__STRIP ? end - o : GEODEC__STRIP;
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = n * g / groups, last = n * (g + 1) / groups;
            const group_fn *group = g > 0 && type == GEODEC_GGML_F32 ? group_strip : direct;
            group[last - first](w->data + o * w->row_bytes, w->row_bytes, w->cols, o, rows, x + first, y + first,
                                &reads);
        }
    }
}

/* Types without a tile of their own (common ones are in products_internal.h): a strip of rows is decoded, then
 * multiplied by all rows of x. */
static void matmul_decoded(const geodec__matrix *w, int64_t begin, int64_t end, const float *const *x, int64_t n,
                           float *const *y, float *scratch)
{
    const geodec_ggml_traits *traits = geodec_ggml_traits_of(w->type);
    const int64_t groups = (n + MAX_GROUP - 1) / MAX_GROUP, stride = geodec__apart(w->cols);
    for (int64_t o = begin; o < end; o += GEODEC__STRIP) {
        const int64_t rows = end - o < GEODEC__STRIP ? end - o : GEODEC__STRIP;
        for (int64_t j = 0; j < rows; j++)
            traits->decode(w->data + (o + j) * w->row_bytes, scratch + j * stride, w->cols);
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = n * g / groups, last = n * (g + 1) / groups;
            group_strip[last - first]((const uint8_t *)(const void *)scratch, stride * (int64_t)sizeof *scratch,
                                      w->cols, o, rows, x + first, y + first, NULL);
        }
    }
}

static void matmul(const geodec__matrix *w, int64_t begin, int64_t end, const float *const *x, int64_t n,
                   float *const *y, float *scratch)
{
    const uint8_t *data = w->data + begin * w->row_bytes;
    const int64_t rows = end - begin;
    const reading reads = {w->data + end * w->row_bytes, w->next};
#define MATMUL(NAME, name)                                                                                             \
    case GEODEC_GGML_##NAME:                                                                                           \
        if (n <= tile_group(GEODEC_GGML_##NAME))                                                                       \
            group_##name[n](data, w->row_bytes, w->cols, begin, rows, x, y, &reads);                                   \
        else                                                                                                           \
            matmul_groups(GEODEC_GGML_##NAME, group_##name, w, begin, end, x, n, y);                                   \
        break;
    switch (w->type) {
        GEODEC__DIRECT_TYPES(MATMUL)
    default:
        matmul_decoded(w, begin, end, x, n, y, scratch);
        break;
    }
}

#ifdef COLUMN_GROUP
#include "kernels/columns_body.h"
#include "kernels/gemm_body.h"
#endif

/* ---- exponential ------------------------------------------------------------------------------------------------ */

/* exp(x), relative error below 2e-7 on [-87, 88], the argument clamped to that range: x = n ln2 + r with |r| <= ln2 /
 * 2, and the degree-6 polynomial of Cephes' expf (Moshier) for e^r. Adding 1.5 2^23 rounds to the integer n, which is
 * then in the low bits of the sum. */
INLINE fvec f_exp(fvec x)
{
    const fvec magic = f_set1(12582912.0f);
    x = f_min(f_set1(88.0f), f_max(f_set1(-87.0f), x)); /* in this order NaN is kept */
    const fvec t = f_add(f_mul(x, f_set1(1.44269504088896341f)), magic);
    const fvec n = f_sub(t, magic);
    fvec r = f_fma(n, f_set1(-0.693359375f), x);
    r = f_fma(n, f_set1(2.12194440e-4f), r);
    fvec p = f_set1(1.9875691500e-4f);
    p = f_fma(p, r, f_set1(1.3981999507e-3f));
    p = f_fma(p, r, f_set1(8.3334519073e-3f));
    p = f_fma(p, r, f_set1(4.1665795894e-2f));
    p = f_fma(p, r, f_set1(1.6666665459e-1f));
    p = f_fma(p, r, f_set1(5.0000001201e-1f));
    p = f_add(f_fma(f_mul(r, r), p, r), f_set1(1.0f));
    return f_mul(p, f_pow2(t));
}

/* tanh(x), relative error below 3e-7: the odd polynomial of Cephes' tanhf below 0.625, 1 - 2 / (e^2x + 1) above. */
INLINE fvec f_tanh(fvec x)
{
    const fvec one = f_set1(1.0f), size = f_max(x, f_sub(f_zero(), x)), z = f_mul(x, x);
    fvec p = f_set1(-5.70498872745e-3f);
    p = f_fma(p, z, f_set1(2.06390887954e-2f));
    p = f_fma(p, z, f_set1(-5.37397155531e-2f));
    p = f_fma(p, z, f_set1(1.33314422036e-1f));
    p = f_fma(p, z, f_set1(-3.33332819422e-1f));
    p = f_fma(f_mul(p, z), x, x);
    const fvec far = f_sub(one, f_div(f_set1(2.0f), f_add(f_exp(f_add(size, size)), one)));
    return f_below(size, f_set1(0.625f), p, f_below(x, f_zero(), f_sub(f_zero(), far), far));
}

/* x[i] = cap tanh(x[i] / cap) */
static void softcap(float *x, int64_t n, float cap)
{
    const fvec c = f_set1(cap);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) f_store(x + i, f_mul(c, f_tanh(f_div(f_load(x + i), c))));
    if (i == n) return;
    float tail[16];
    f_store(tail, f_mul(c, f_tanh(f_div(f_load_n(x + i, n - i), c))));
    memcpy(x + i, tail, (size_t)(n - i) * sizeof *x);
}

INLINE fvec silu(fvec g) { return f_div(g, f_add(f_set1(1.0f), f_exp(f_sub(f_zero(), g)))); }

/* The tanh form of GELU: (1 + tanh u) / 2 = 1 / (1 + exp(-2u)). */
INLINE fvec gelu(fvec g)
{
    const fvec cubic = f_set1(0.044715f), twice = f_set1(-1.5957691216057308f);
    const fvec u = f_mul(twice, f_fma(f_mul(cubic, f_mul(g, g)), g, g));
    return f_div(g, f_add(f_set1(1.0f), f_exp(u)));
}

/* A gate that is clamped from above, and what up becomes. */
INLINE fvec clamped_gate(fvec g)
{
    const fvec x = f_min(f_set1(7.0f), g);
    return f_div(x, f_add(f_set1(1.0f), f_exp(f_mul(f_set1(-1.702f), x))));
}
INLINE fvec clamped_up(fvec u) { return f_add(f_min(f_set1(7.0f), f_max(f_set1(-7.0f), u)), f_set1(1.0f)); }

static double softplus(double x) { return x > 20 ? x : log1p(exp(x)); }

/* In double: a rare activation. constant: alpha of positive and negative numbers, beta, eps. */
static void xielu(const float *constant, float *gate, const float *up, int64_t n)
{
    const double beta = (double)constant[2], eps = (double)constant[3], p = softplus((double)constant[0]),
                 q = beta + softplus((double)constant[1]);
    for (int64_t i = 0; i < n; i++) {
        const double x = (double)gate[i], least = x < eps ? x : eps;
        gate[i] = (float)(x > 0 ? p * x * x + beta * x : (expm1(least) - x) * q + beta * x);
        if (up) gate[i] *= up[i];
    }
}

#define ACTIVATE(f)                                                                                                    \
    for (int64_t i = 0; i < n; i += 16) {                                                                              \
        const fvec g = f_load(gate + i);                                                                               \
        f_store(gate + i, up ? f_mul(f, f_load(up + i)) : f);                                                          \
    }
static void activate(geodec_activation a, const float *constant, float *gate, const float *up, int64_t n)
{
    const fvec zero = f_zero();
    switch (a) {
    case GEODEC_SILU:
        ACTIVATE(silu(g))
        return;
    case GEODEC_GELU_TANH:
        ACTIVATE(gelu(g))
        return;
    case GEODEC_RELU:
        ACTIVATE(f_max(g, zero))
        return;
    case GEODEC_RELU2:
        ACTIVATE(f_mul(f_max(g, zero), f_max(g, zero)))
        return;
    case GEODEC_XIELU:
        xielu(constant, gate, up, n);
        return;
    case GEODEC_SWIGLU_CLAMPED:
        for (int64_t i = 0; i < n; i += 16) {
            const fvec g = clamped_gate(f_load(gate + i));
            f_store(gate + i, up ? f_mul(g, clamped_up(f_load(up + i))) : g);
        }
        return;
    }
}
#undef ACTIVATE

/* The order of the sums is explicit, so vectorisation keeps the bits. */
INLINE double eight_sums(const double *sum)
{
    return ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
}

static double sum_squares(const float *x, int64_t n)
{
    double sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) sum[l] += (double)x[i + l] * (double)x[i + l];
    for (int l = 0; i < n; i++, l++) sum[l & 7] += (double)x[i] * (double)x[i];
    return eight_sums(sum);
}

static void rms_norm(const float *x, const float *w, int64_t n, float eps, float *y)
{
    const float scale = (float)(1.0 / sqrt(sum_squares(x, n) / (double)n + (double)eps));
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) f_store(y + i, f_mul(f_mul(f_load(x + i), f_set1(scale)), f_load(w + i)));
    for (; i < n; i++) y[i] = x[i] * scale * w[i];
}

static void layer_norm(const float *x, const float *w, const float *b, int64_t n, float eps, float *y)
{
    double sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) sum[l] += (double)x[i + l];
    for (int l = 0; i < n; i++, l++) sum[l & 7] += (double)x[i];
    const float mean = (float)(eight_sums(sum) / (double)n);
    for (i = 0; i < n; i++) y[i] = x[i] - mean;
    const float scale = (float)(1.0 / sqrt(sum_squares(y, n) / (double)n + (double)eps));
    for (i = 0; i < n; i++) y[i] = y[i] * scale * w[i];
    for (i = 0; b && i < n; i++) y[i] += b[i];
}

INLINE float sum_lanes(fvec s)
{
    float out[4];
    f_sum4(s, f_zero(), f_zero(), f_zero(), out, 4);
    return out[0];
}

static float softmax(float *x, int64_t n)
{
    const int64_t padded = geodec__pad(n);
    for (int64_t i = n; i < padded; i++) x[i] = -3e38f;
    fvec m = f_load(x);
    for (int64_t i = 16; i < padded; i += 16) m = f_max(f_load(x + i), m);
    const fvec shift = f_set1(f_top(m));
    for (int64_t i = 0; i < padded; i += 16) f_store(x + i, f_exp(f_sub(f_load(x + i), shift)));
    for (int64_t i = n; i < padded; i++) x[i] = 0;
    fvec s = f_zero();
    for (int64_t i = 0; i < padded; i += 16) s = f_add(s, f_load(x + i));
    return sum_lanes(s);
}

#include "kernels/attend_body.h"

const geodec__kernels KERNELS = {
    .isa = KERNELS_ISA,
    .matmul = matmul,
#ifdef COLUMN_GROUP
    .columns = columns,
    .gemm_group = GEMM_GROUP,
    .gemm_pack = gemm_pack,
    .gemm = gemm,
#endif
    .activate = activate,
    .rms_norm = rms_norm,
    .layer_norm = layer_norm,
    .softcap = softcap,
    .softmax = softmax,
    .attend_block = attend_block,
    .attend_merge = attend_merge,
    .attend_sink = attend_sink,
    .attend_finish = attend_finish,
    .decode_f16 = decode_f16,
    .decode_q8_keys = decode_q8_keys,
    .decode_q8_values = decode_q8_values,
    .low_block = low_block,
};
