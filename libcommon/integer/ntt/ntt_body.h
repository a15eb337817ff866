/* The passes of the transforms, compiled for each path. A path defines before the inclusion:
 *
 *   WORD, TWORD       words of the data and of the twiddle tables
 *   V, LOG_LANES      a vector of 1 << LOG_LANES residues
 *   RADIX             most levels that a pass does in registers, 1 to 4
 *   PARTS             constants of a twiddle
 *   SETTLE            levels after which values of a forward transform must be settled; 0: never
 *   TW, one(p, n, i), lanes(p)   a twiddle; entry i of a table [PARTS][n]; an entry [PARTS][lanes] of a lane table
 *   K, constants(tables)
 *   take(WORD *), put(K, WORD *, V)   reading, and writing between passes
 *   forward_pair(K, TW, V *x, V *y)   x, y = x + wy, x - wy
 *   inverse_pair(K, TW, V *x, V *y)   x, y = x + y, w(x - y)
 *   inverse_last(K, TW n, TW w, V *x, V *y)   x, y = n(x + y), w(x - y), canonical
 *   settle(K, V), canonical(K, V)     of forward values; reduces any value of the path, to [0, q)
 *   inverse_settle(K, V)              of inverse values that are sums in the last level of a pass
 *   transpose(V x[lanes])             if LOG_LANES > 0 */
#include "base/unroll_internal.h"

enum { LANES = 1 << LOG_LANES };

/* Level l of `log`: 2^l blocks of 2^(log - l) values; block g has the twiddle (index << l) + g. */
INLINE void forward_level(const K *k, const TWORD *table, int64_t n, int64_t index, V *x, int l, int log)
{
    const int half = 1 << (log - 1 - l);
    UNROLL
    for (int p = 0; p < 1 << (log - 1); p++) {
        const int g = p / half, at = g * 2 * half + p % half;
        forward_pair(k, one(table, n, (index << l) + g), &x[at], &x[at + half]);
    }
}

/* Levels s .. s + log - 1 of `total` words; a level's blocks are total >> s words long. */
INLINE void forward_pass(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int s, int log,
                         bool settled, bool last)
{
    const K k = constants(t);
    const int64_t step = total >> (s + log);
    for (int64_t i = 0; i < (int64_t)1 << s; i++) {
        const int64_t base = i * (total >> s), index = ((int64_t)1 << s) + i;
        for (int64_t j = base; j < base + step; j += LANES) {
            V x[1 << RADIX];
            UNROLL
            for (int r = 0; r < 1 << log; r++) x[r] = settled ? settle(&k, take(in + j + r * step)) : take(in + j + r * step);
            forward_level(&k, t->roots, t->n, index, x, 0, log);
            if (log > 1) forward_level(&k, t->roots, t->n, index, x, 1, log);
            if (log > 2) forward_level(&k, t->roots, t->n, index, x, 2, log);
            if (log > 3) forward_level(&k, t->roots, t->n, index, x, 3, log);
            UNROLL
            for (int r = 0; r < 1 << log; r++) put(&k, out + j + r * step, last ? canonical(&k, x[r]) : x[r]);
        }
    }
}

INLINE void inverse_level(const K *k, const TWORD *table, int64_t n, int64_t index, V *x, int l, int log)
{
    const int half = 1 << (log - 1 - l);
    UNROLL
    for (int p = 0; p < 1 << (log - 1); p++) {
        const int g = p / half, at = g * 2 * half + p % half;
        inverse_pair(k, one(table, n, (index << l) + g), &x[at], &x[at + half]);
    }
}

/* The levels of forward_pass in the opposite order; s = 0 is the last pass. */
INLINE void inverse_pass(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int s, int log,
                         bool last)
{
    const K k = constants(t);
    const int64_t step = total >> (s + log);
    for (int64_t i = 0; i < (int64_t)1 << s; i++) {
        const int64_t base = i * (total >> s), index = ((int64_t)1 << s) + i;
        for (int64_t j = base; j < base + step; j += LANES) {
            V x[1 << RADIX];
            const int half = 1 << (log - 1);
            UNROLL
            for (int r = 0; r < 1 << log; r++) x[r] = take(in + j + r * step);
            if (log > 3) inverse_level(&k, t->inverses, t->n, index, x, 3, log);
            if (log > 2) inverse_level(&k, t->inverses, t->n, index, x, 2, log);
            if (log > 1) inverse_level(&k, t->inverses, t->n, index, x, 1, log);
            if (!last) inverse_level(&k, t->inverses, t->n, index, x, 0, log);
            UNROLL
            for (int r = 0; r < half; r++) {
                if (last)
                    inverse_last(&k, one(t->inverses, t->n, 0), one(t->inverses, t->n, 1), &x[r], &x[r + half]);
                else
                    x[r] = inverse_settle(&k, x[r]);
            }
            UNROLL
            for (int r = 0; r < 1 << log; r++) put(&k, out + j + r * step, x[r]);
        }
    }
}

/* One function for each number of levels; the flags are constants in each call. */
static void forward_step(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int s, int log,
                         bool settled)
{
    const bool last = s + log == t->levels;
#define CASE(n)                                                                                                        \
    if (log == (n) && !settled && !last) forward_pass(t, in, out, total, s, n, false, false);                          \
    if (log == (n) && !settled && last) forward_pass(t, in, out, total, s, n, false, true);                            \
    if (SETTLE && log == (n) && settled && !last) forward_pass(t, in, out, total, s, n, true, false);                  \
    if (SETTLE && log == (n) && settled && last) forward_pass(t, in, out, total, s, n, true, true);
    UP_TO_LOG(CASE)
#undef CASE
}

static void inverse_step(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int s, int log)
{
#define CASE(n)                                                                                                        \
    if (log == (n) && s) inverse_pass(t, in, out, total, s, n, false);                                                 \
    if (log == (n) && !s) inverse_pass(t, in, out, total, s, n, true);
    UP_TO_LOG(CASE)
#undef CASE
}

/* The first `levels` levels in as few passes as there can be, of lengths that differ by one at most. Returns the
 * levels since values were last settled. */
static int forward_levels(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int levels)
{
    int since = 0;
    for (int s = 0, passes = (levels + RADIX - 1) / RADIX, log; passes; passes--, s += log) {
        log = (levels - s) / passes;
        const bool settled = SETTLE && since + log > SETTLE;
        forward_step(t, s ? out : in, out, total, s, log, settled);
        since = settled ? log : since + log;
    }
    return since;
}

static void inverse_levels(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int levels)
{
    for (int s = levels, passes = (levels + RADIX - 1) / RADIX, log; passes; passes--) {
        log = (s + passes - 1) / passes;
        s -= log;
        inverse_step(t, s + log == levels ? in : out, out, total, s, log);
    }
}

#if LOG_LANES > 0
/* The levels within vectors: blocks of LANES x LANES words are transposed, so that lane b has block b, and forward
 * transforms leave them so. */
INLINE void forward_lanes(const geodec__ntt_tables *t, WORD *a, bool settled)
{
    const K k = constants(t);
    const TWORD *w = t->root_lanes;
    for (int64_t base = 0; base < t->n; base += LANES * LANES) {
        V x[LANES];
        UNROLL
        for (int r = 0; r < LANES; r++) x[r] = take(a + base + r * LANES);
        transpose(x);
        if (settled) {
            UNROLL
            for (int r = 0; r < LANES; r++) x[r] = settle(&k, x[r]);
        }
        UNROLL
        for (int p = 0; p < LOG_LANES * LANES / 2; p++) {
            const int l = p / (LANES / 2), half = LANES / 2 >> l, g = p % (LANES / 2) / half;
            const int at = g * 2 * half + p % half;
            forward_pair(&k, lanes(w + ((1 << l) - 1 + g) * PARTS * LANES), &x[at], &x[at + half]);
        }
        w += (LANES - 1) * PARTS * LANES;
        UNROLL
        for (int r = 0; r < LANES; r++) put(&k, a + base + r * LANES, canonical(&k, x[r]));
    }
}

static void inverse_lanes(const geodec__ntt_tables *t, const WORD *in, WORD *out)
{
    const K k = constants(t);
    const TWORD *w = t->inverse_lanes;
    for (int64_t base = 0; base < t->n; base += LANES * LANES) {
        V x[LANES];
        UNROLL
        for (int r = 0; r < LANES; r++) x[r] = take(in + base + r * LANES);
        UNROLL
        for (int p = 0; p < LOG_LANES * LANES / 2; p++) {
            const int l = LOG_LANES - 1 - p / (LANES / 2), half = LANES / 2 >> l, g = p % (LANES / 2) / half;
            const int at = g * 2 * half + p % half;
            inverse_pair(&k, lanes(w + ((1 << l) - 1 + g) * PARTS * LANES), &x[at], &x[at + half]);
        }
        w += (LANES - 1) * PARTS * LANES;
        UNROLL
        for (int r = 0; r < LANES / 2; r++) x[r] = inverse_settle(&k, x[r]);
        transpose(x);
        UNROLL
        for (int r = 0; r < LANES; r++) put(&k, out + base + r * LANES, x[r]);
    }
}
#endif

static void forward(const geodec__ntt_tables *t, const void *in, void *out)
{
#if LOG_LANES > 0
    const int since = forward_levels(t, in, out, t->n, t->levels - LOG_LANES);
    if (SETTLE && since + LOG_LANES > SETTLE)
        forward_lanes(t, out, true);
    else
        forward_lanes(t, out, false);
#else
    (void)forward_levels(t, in, out, t->n, t->levels);
#endif
}

static void inverse(const geodec__ntt_tables *t, const void *in, void *out)
{
#if LOG_LANES > 0
    inverse_lanes(t, in, out);
    inverse_levels(t, out, out, t->n, t->levels - LOG_LANES);
#else
    inverse_levels(t, in, out, t->n, t->levels);
#endif
}

static void forward_batch(const geodec__ntt_tables *t, const void *in, void *out)
{
    (void)forward_levels(t, in, out, t->n * GEODEC_NTT_BATCH, t->levels);
}

static void inverse_batch(const geodec__ntt_tables *t, const void *in, void *out)
{
    inverse_levels(t, in, out, t->n * GEODEC_NTT_BATCH, t->levels);
}

static void multiply(const geodec__ntt_tables *t, const void *a, const void *b, void *out, int64_t n)
{
    const K k = constants(t);
    const WORD *x = a, *y = b;
    WORD *z = out;
    for (int64_t i = 0; i < n; i += LANES) put(&k, z + i, product(&k, take(x + i), take(y + i)));
}

#define KERNEL(path_)                                                                                                  \
    {path_, LANES, PARTS, sizeof(WORD), sizeof(TWORD), twiddle, forward, inverse, forward_batch, inverse_batch, multiply}
