/* The reference. */
#include "attest/projection_internal.h"
#include "base/rng.h"
#include "integer/fixed/wide.h"

enum { COLUMNS = GEODEC_CODED_BLOCK, FLUSH = 1 << 12 /* panels: sums of 31 and 15 bits stay below 2^63 */ };

static uint64_t draw(uint64_t seed, uint64_t stream, int64_t n, uint64_t *r)
{
    uint64_t sum = 0;
    geodec_rng_fill(seed, stream, n, r);
    for (int64_t i = 0; i < n; i++) {
        r[i] >>= 64 - GEODEC__PROJECTION_BITS;
        sum = geodec__projection_plus(sum, r[i]);
    }
    for (int64_t i = n; i % GEODEC__PRODUCT_ROWS; i++) r[i] = 0;
    return sum;
}

/* One block of columns. */
static void block_columns(const geodec_panels16 *w, const uint64_t *r, int64_t b, uint64_t *u)
{
    int64_t low[COLUMNS] = {0}, high[COLUMNS] = {0};
    const int64_t panels = (w->rows + GEODEC__PRODUCT_ROWS - 1) / GEODEC__PRODUCT_ROWS;
    for (int c = 0; c < COLUMNS; c++) u[c] = 0;
    for (int64_t panel = 0; panel < panels; panel++) {
        const uint8_t *codes = geodec__product_codes(w, panel, b);
        const int16_t *m = geodec__product_multipliers(w, panel, b);
        for (int lane = 0; lane < GEODEC__PRODUCT_ROWS; lane++) {
            const int64_t s = geodec__projection_scaled(r[panel * GEODEC__PRODUCT_ROWS + lane], m[lane]);
            const int64_t s0 = s & GEODEC__PROJECTION_MASK, s1 = s >> GEODEC__PROJECTION_HALF;
            for (int c = 0; c < COLUMNS; c++) {
                const int code = geodec__product_get(codes, w->bits, lane, c);
                low[c] += s0 * code;
                high[c] += s1 * code;
            }
        }
        if (panel % FLUSH != FLUSH - 1 && panel != panels - 1) continue;
        for (int c = 0; c < COLUMNS; c++) {
            u[c] = geodec__projection_plus(u[c], geodec__projection_join(low[c], high[c]));
            low[c] = high[c] = 0;
        }
    }
    for (int c = 0; c < COLUMNS; c++) u[c] = geodec__projection_split(u[c]);
}

static void columns(const geodec_panels16 *w, const uint64_t *r, int64_t begin, int64_t end, uint64_t *u)
{
    for (int64_t b = 2 * begin; b < 2 * end; b++) block_columns(w, r, b, u + COLUMNS * b);
}

static uint64_t input(const uint64_t *u, const geodec_rounded *x, int64_t blocks)
{
    int64_t low[GEODEC_ROUNDED_SHIFT + 1] = {0}, high[GEODEC_ROUNDED_SHIFT + 1] = {0}; /* by up: below 2^61 */
    uint64_t sum = 0;
    for (int64_t b = 0; b < blocks; b++) {
        int64_t l = 0, h = 0;
        for (int c = 0; c < COLUMNS; c++) {
            l += (int64_t)(u[COLUMNS * b + c] & GEODEC__PROJECTION_MASK) * x->block[b].v[c];
            h += (int64_t)(u[COLUMNS * b + c] >> 32) * x->block[b].v[c];
        }
        low[x->block[b].up] += l;
        high[x->block[b].up] += h;
    }
    for (int up = GEODEC_ROUNDED_SHIFT; up >= 0; up--) {
        sum = geodec__projection_plus(sum, sum);
        sum = geodec__projection_plus(sum, geodec__projection_join(low[up], high[up]));
    }
    return sum;
}

static uint64_t output(const geodec_transcript_sums *s, const uint64_t *r, uint64_t total, int64_t n,
                       const geodec__projection_finish *f, int64_t *y, const uint8_t *next)
{
    enum { PIECE = 64 };
    const uint64_t half = (uint64_t)1 << (s->bits - 1);
    uint64_t sum = 0;
    (void)next;
    geodec_transcript_sums piece = *s;
    piece.zeros = 0;
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t v[PIECE];
        const int64_t count = n - at < PIECE ? n - at : PIECE;
        geodec_mulmod_wide all = {0, 0}; /* of r (v + half): below 2^123 */
        geodec_transcript_unpack(&piece, count, v);
        for (int64_t i = 0; i < count; i++) {
            const geodec_mulmod_wide p = geodec_mulmod_product(r[at + i], (uint64_t)v[i] + half);
            all.low += p.low;
            all.high += p.high + (all.low < p.low);
            y[at + i] = geodec_wide_shift((int64_t)((uint64_t)v[i] << s->zeros), f->base + f->shift[at + i]);
        }
        sum = geodec__projection_plus(sum, geodec__projection_reduce(all));
        piece.packed += PIECE / 8 * s->bits;
    }
    sum = geodec__projection_minus(sum, geodec__projection_times(half, total));
    return geodec__projection_shifted(sum, s->zeros);
}

const geodec__projection_ops geodec__projection_scalar = {draw, columns, input, output};
