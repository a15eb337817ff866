/* The passes of the transforms, compiled for each path. A path defines before the inclusion:
 *
 *   WORD, TWORD       words of the data and of the twiddle tables
 *   V, LOG_LANES      a vector of 1 << LOG_LANES residues
 *   RADIX             most levels that a pass does in registers, 1 to 4
 *   PARTS             constants of a twiddle
 *   SETTLE            levels after which values of a forward transform must be settled; 0: never
 *   TW, one(p), lanes(p)   a twiddle; an entry [PARTS] of a table; an entry [PARTS][lanes] of a lane table
 *   K, constants(tables)
 *   take(WORD *), put(K, WORD *, V)   reading, and writing between passes
 *   forward_pair(K, TW, V *x, V *y)   x, y = x + wy, x - wy
 *   inverse_pair(K, TW, V *x, V *y)   x, y = x + y, w(x - y)
 *   inverse_last(K, TW n, TW w, V *x, V *y)   x, y = n(x + y), w(x - y), canonical
 *   settle(K, V), canonical(K, V)     of forward values that the next level does not multiply; to [0, q)
 *   inverse_settle(K, V)              of inverse values that are sums in the last level of a pass
 *   transpose(V x[lanes])             if LOG_LANES > 0 */
#include "base/unroll_internal.h"

enum { LANES = 1 << LOG_LANES, CACHED = (32 << 10) / (int)sizeof(WORD) };

/* Level l of `log`: 2^l blocks of 2^(log - l) values; block g has the twiddle (index << l) + g. */
INLINE void forward_level(const K *k, const TWORD *table, int64_t index, V *x, int l, int log)
{
    const int pairs = 1 << (log - 1), half = pairs >> l;
    UNROLL
    for (int p = 0; p < pairs; p++) {
        const int g = p / half, at = g * 2 * half + p % half;
        forward_pair(k, one(table + ((index << l) + g) * PARTS), &x[at], &x[at + half]);
    }
}

/* Levels s .. s + log - 1 of the blocks from .. to - 1 of level s, which divides `total` words into 2^s blocks. */
INLINE void forward_pass(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int64_t from,
                         int64_t to, int s, int log, bool settled, bool last)
{
    const K k = constants(t);
    const TWORD *const roots = t->roots;
    const int64_t step = total >> (s + log);
    const int count = 1 << log;
    for (int64_t i = from; i < to; i++) {
        const int64_t base = i * (total >> s), index = ((int64_t)1 << s) + i;
        for (int64_t j = base; j < base + step; j += LANES) {
            V x[1 << RADIX];
            UNROLL
            for (int r = 0; r < count; r++)
                x[r] = settled && r < count / 2 ? settle(&k, take(in + j + r * step)) : take(in + j + r * step);
            forward_level(&k, roots, index, x, 0, log);
            if (log > 1) forward_level(&k, roots, index, x, 1, log);
            if (log > 2) forward_level(&k, roots, index, x, 2, log);
            if (log > 3) forward_level(&k, roots, index, x, 3, log);
            UNROLL
            for (int r = 0; r < count; r++) put(&k, out + j + r * step, last ? canonical(&k, x[r]) : x[r]);
        }
    }
}

INLINE void inverse_level(const K *k, const TWORD *table, int64_t index, V *x, int l, int log)
{
    const int pairs = 1 << (log - 1), half = pairs >> l;
    UNROLL
    for (int p = 0; p < pairs; p++) {
        const int g = p / half, at = g * 2 * half + p % half;
        inverse_pair(k, one(table + ((index << l) + g) * PARTS), &x[at], &x[at + half]);
    }
}

/* The levels of forward_pass in the opposite order; s = 0 is the last pass. */
INLINE void inverse_pass(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int64_t from,
                         int64_t to, int s, int log, bool last)
{
    const K k = constants(t);
    const TWORD *const inverses = t->inverses;
    const int64_t step = total >> (s + log);
    const int count = 1 << log;
    for (int64_t i = from; i < to; i++) {
        const int64_t base = i * (total >> s), index = ((int64_t)1 << s) + i;
        for (int64_t j = base; j < base + step; j += LANES) {
            V x[1 << RADIX];
            const int half = count / 2;
            UNROLL
            for (int r = 0; r < count; r++) x[r] = take(in + j + r * step);
            if (log > 3) inverse_level(&k, inverses, index, x, 3, log);
            if (log > 2) inverse_level(&k, inverses, index, x, 2, log);
            if (log > 1) inverse_level(&k, inverses, index, x, 1, log);
            if (!last) inverse_level(&k, inverses, index, x, 0, log);
            UNROLL
            for (int r = 0; r < half; r++) {
                if (last)
                    inverse_last(&k, one(inverses), one(inverses + PARTS), &x[r], &x[r + half]);
                else
                    x[r] = inverse_settle(&k, x[r]);
            }
            UNROLL
            for (int r = 0; r < count; r++) put(&k, out + j + r * step, x[r]);
        }
    }
}

/* One function for each number of levels; the flags are constants in each call. */
static void forward_step(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int64_t from,
                         int64_t to, int s, int log, bool settled)
{
    const bool last = s + log == t->levels;
#define CASE(n)                                                                                                        \
    if (log == (n) && !settled && !last) forward_pass(t, in, out, total, from, to, s, n, false, false);                \
    if (log == (n) && !settled && last) forward_pass(t, in, out, total, from, to, s, n, false, true);                  \
    if (SETTLE && log == (n) && settled && !last) forward_pass(t, in, out, total, from, to, s, n, true, false);        \
    if (SETTLE && log == (n) && settled && last) forward_pass(t, in, out, total, from, to, s, n, true, true);
    UP_TO_LOG(CASE)
#undef CASE
}

static void inverse_step(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int64_t from,
                         int64_t to, int s, int log)
{
#define CASE(n)                                                                                                        \
    if (log == (n) && s) inverse_pass(t, in, out, total, from, to, s, n, false);                                       \
    if (log == (n) && !s) inverse_pass(t, in, out, total, from, to, s, n, true);
    UP_TO_LOG(CASE)
#undef CASE
}

/* Levels s .. levels - 1 of the blocks from .. to - 1 of level s, in `passes` passes of lengths that differ by one at
 * most. A part that does not fit in the first cache is done block by block. since: levels since values were settled.
 * Returns that of the end. */
static int forward_levels(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int64_t from,
                          int64_t to, int s, int levels, int passes, int since)
{
    for (int log; passes; passes--, s += log, in = out) {
        log = (levels - s) / passes;
        const bool settled = SETTLE && since + log > SETTLE;
        since = settled ? log : since + log;
        if ((total >> s) * (to - from) > CACHED) {
            int end = since;
            for (int64_t i = from; i < to; i++) {
                forward_step(t, in, out, total, i, i + 1, s, log, settled);
                end = forward_levels(t, out, out, total, i << log, (i + 1) << log, s + log, levels, passes - 1, since);
            }
            return end;
        }
        forward_step(t, in, out, total, from, to, s, log, settled);
        from <<= log;
        to <<= log;
    }
    return since;
}

/* The levels of forward_levels backwards, in passes of equal lengths. */
static void inverse_levels(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int64_t from,
                           int64_t to, int s, int levels, int passes)
{
    const int log = (levels - s) / passes;
    if ((total >> s) * (to - from) > CACHED && passes > 1) {
        for (int64_t i = from; i < to; i++) {
            inverse_levels(t, in, out, total, i << log, (i + 1) << log, s + log, levels, passes - 1);
            inverse_step(t, out, out, total, i, i + 1, s, log);
        }
        return;
    }
    if (passes > 1) {
        inverse_levels(t, in, out, total, from << log, to << log, s + log, levels, passes - 1);
        in = out;
    }
    inverse_step(t, in, out, total, from, to, s, log);
}

static int forward_all(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int levels)
{
    return forward_levels(t, in, out, total, 0, 1, 0, levels, (levels + RADIX - 1) / RADIX, 0);
}

static void inverse_all(const geodec__ntt_tables *t, const WORD *in, WORD *out, int64_t total, int levels)
{
    inverse_levels(t, in, out, total, 0, 1, 0, levels, (levels + RADIX - 1) / RADIX);
}

#if LOG_LANES > 0
INLINE void forward_within(const K *k, const TWORD *w, V x[LANES])
{
    UNROLL
    for (int p = 0; p < LOG_LANES * LANES / 2; p++) {
        const int l = p / (LANES / 2), half = LANES / 2 >> l, g = p % (LANES / 2) / half;
        const int at = g * 2 * half + p % half;
        forward_pair(k, lanes(w + ((1 << l) - 1 + g) * PARTS * LANES), &x[at], &x[at + half]);
    }
}

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
            for (int r = 0; r < LANES / 2; r++) x[r] = settle(&k, x[r]);
        }
        forward_within(&k, w, x);
        w += (LANES - 1) * PARTS * LANES;
        UNROLL
        for (int r = 0; r < LANES; r++) put(&k, a + base + r * LANES, canonical(&k, x[r]));
    }
}

INLINE void inverse_within(const K *k, const TWORD *w, V x[LANES])
{
    UNROLL
    for (int p = 0; p < LOG_LANES * LANES / 2; p++) {
        const int l = LOG_LANES - 1 - p / (LANES / 2), half = LANES / 2 >> l, g = p % (LANES / 2) / half;
        const int at = g * 2 * half + p % half;
        inverse_pair(k, lanes(w + ((1 << l) - 1 + g) * PARTS * LANES), &x[at], &x[at + half]);
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
        inverse_within(&k, w, x);
        w += (LANES - 1) * PARTS * LANES;
        UNROLL
        for (int r = 0; r < LANES / 2; r++) x[r] = inverse_settle(&k, x[r]);
        transpose(x);
        UNROLL
        for (int r = 0; r < LANES; r++) put(&k, out + base + r * LANES, x[r]);
    }
}
#endif

#if LOG_LANES > 0 && RADIX == LOG_LANES
/* One block of LANES x LANES words stays in registers. */
static void forward_square(const geodec__ntt_tables *t, const WORD *in, WORD *out)
{
    const K k = constants(t);
    V x[LANES];
    UNROLL
    for (int r = 0; r < LANES; r++) x[r] = take(in + r * LANES);
    forward_level(&k, t->roots, 1, x, 0, LOG_LANES);
    forward_level(&k, t->roots, 1, x, 1, LOG_LANES);
    forward_level(&k, t->roots, 1, x, 2, LOG_LANES);
    if (LOG_LANES > 3) forward_level(&k, t->roots, 1, x, 3, LOG_LANES);
    transpose(x);
    forward_within(&k, t->root_lanes, x);
    UNROLL
    for (int r = 0; r < LANES; r++) put(&k, out + r * LANES, canonical(&k, x[r]));
}

static void inverse_square(const geodec__ntt_tables *t, const WORD *in, WORD *out)
{
    const K k = constants(t);
    V x[LANES];
    UNROLL
    for (int r = 0; r < LANES; r++) x[r] = take(in + r * LANES);
    inverse_within(&k, t->inverse_lanes, x);
    UNROLL
    for (int r = 0; r < LANES / 2; r++) x[r] = inverse_settle(&k, x[r]);
    transpose(x);
    if (LOG_LANES > 3) inverse_level(&k, t->inverses, 1, x, 3, LOG_LANES);
    inverse_level(&k, t->inverses, 1, x, 2, LOG_LANES);
    inverse_level(&k, t->inverses, 1, x, 1, LOG_LANES);
    UNROLL
    for (int r = 0; r < LANES / 2; r++)
        inverse_last(&k, one(t->inverses), one((const TWORD *)t->inverses + PARTS), &x[r], &x[r + LANES / 2]);
    UNROLL
    for (int r = 0; r < LANES; r++) put(&k, out + r * LANES, x[r]);
}
#endif

static void forward(const geodec__ntt_tables *t, const void *in, void *out)
{
#if LOG_LANES > 0 && RADIX == LOG_LANES
    if (t->n == LANES * LANES) {
        forward_square(t, in, out);
        return;
    }
#endif
#if LOG_LANES > 0
    const int since = forward_all(t, in, out, t->n, t->levels - LOG_LANES);
    if (SETTLE && since + LOG_LANES > SETTLE)
        forward_lanes(t, out, true);
    else
        forward_lanes(t, out, false);
#else
    (void)forward_all(t, in, out, t->n, t->levels);
#endif
}

static void inverse(const geodec__ntt_tables *t, const void *in, void *out)
{
#if LOG_LANES > 0 && RADIX == LOG_LANES
    if (t->n == LANES * LANES) {
        inverse_square(t, in, out);
        return;
    }
#endif
#if LOG_LANES > 0
    inverse_lanes(t, in, out);
    inverse_all(t, out, out, t->n, t->levels - LOG_LANES);
#else
    inverse_all(t, in, out, t->n, t->levels);
#endif
}

static void forward_batch(const geodec__ntt_tables *t, const void *in, void *out)
{
    (void)forward_all(t, in, out, t->n * GEODEC_NTT_BATCH, t->levels);
}

static void inverse_batch(const geodec__ntt_tables *t, const void *in, void *out)
{
    inverse_all(t, in, out, t->n * GEODEC_NTT_BATCH, t->levels);
}

static void multiply(const geodec__ntt_tables *t, const void *a, const void *b, void *out, int64_t n)
{
    const K k = constants(t);
    const WORD *x = a, *y = b;
    WORD *z = out;
    for (int64_t i = 0; i < n; i += LANES) put(&k, z + i, product(&k, take(x + i), take(y + i)));
}

#define KERNEL(path_)                                                                                                  \
    {                                                                                                                  \
        path_, LANES, PARTS, sizeof(WORD), sizeof(TWORD), twiddle, forward, inverse, forward_batch, inverse_batch,     \
            multiply                                                                                                   \
    }
