/* The reference, as plain loops that the compiler vectorises for the set of the including file, which defines ROWS. */
#include "integer/engine/rows_internal.h"

static uint64_t reach(const int64_t *x, int64_t n)
{
    uint64_t most = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t m = (uint64_t)(x[i] < 0 ? -(x[i] + 1) : x[i]);
        most = m > most ? m : most;
    }
    return most;
}

static uint64_t squares(const int64_t *x, int64_t n, int shift)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = geodec_wide_shift(x[i], shift);
        sum += (uint64_t)(v * v);
    }
    return sum;
}

static void scale(geodec_fixed_rms r, const int64_t *x, int shift, const int32_t *w, int64_t n, int64_t *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = geodec_fixed_rms_apply(r, geodec_wide_shift(x[i], shift), w[i]);
}

static void add(int64_t *x, const int64_t *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) x[i] = geodec_wide_limit(x[i] + geodec_wide_limit(y[i]));
}

static void gate(int64_t *y, const int64_t *up, int64_t n, bool gelu)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t a = gelu ? geodec_fixed_gelu(y[i]) : geodec_fixed_silu(y[i]);
        y[i] = geodec_wide_round(geodec_wide_mul(a, up[i]), 24);
    }
}

static void rotate(const geodec_fixed_turn *turn, int64_t n, bool halves, int64_t *y)
{
    for (int64_t i = 0; i < n; i++) {
        if (halves)
            geodec_fixed_rotate(turn[i], y + i, y + n + i);
        else
            geodec_fixed_rotate(turn[i], y + 2 * i, y + 2 * i + 1);
    }
}

static void store(const int64_t *y, int64_t n, int shift, int16_t *v)
{
    for (int64_t i = 0; i < n; i++) {
        const int64_t c = geodec_wide_shift(y[i], shift);
        v[i] = (int16_t)(c > INT16_MAX ? INT16_MAX : c < -INT16_MAX ? -INT16_MAX : c);
    }
}

static void scores(const int32_t *raw, const int32_t *exponent, int64_t n, int32_t f, int base, int32_t *z)
{
    for (int64_t i = 0; i < n; i++)
        z[i] = geodec__rows_limit(geodec_wide_shift((int64_t)raw[i] * f, base + exponent[i]));
}

static uint64_t weights(const int32_t *z, const int32_t *exponent, int64_t n, int32_t top, int32_t least, int32_t *w)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint32_t e = geodec_fixed_exp((uint32_t)(top - z[i]));
        sum += e;
        w[i] = geodec__rows_weight(e, exponent[i], least);
    }
    return sum;
}

static void logits(const int64_t *x, int64_t n, int32_t *z)
{
    for (int64_t i = 0; i < n; i++) z[i] = geodec__rows_limit(geodec_wide_shift(x[i], 8));
}

static void dots(const int16_t *q, const int16_t *k, int64_t n, int64_t dim, int32_t *sum)
{
    for (int64_t i = 0; i < n; i++, k += dim) {
        int32_t s = 0;
        for (int64_t d = 0; d < dim; d++) s += (int32_t)q[d] * k[d];
        sum[i] = s;
    }
}

static void mix(const int32_t *w, const int16_t *v, int64_t n, int64_t dim, int64_t *acc)
{
    for (int64_t i = 0; i < n; i++, v += dim) {
        const int64_t f = w[i];
        if (f == 0) continue;
        for (int64_t d = 0; d < dim; d++) acc[d] += f * v[d];
    }
}

static void share(const int64_t *acc, int64_t n, int64_t inverse, int shift, int64_t *y)
{
    for (int64_t i = 0; i < n; i++) {
        const geodec_wide p = geodec_wide_mul(acc[i], inverse);
        y[i] = shift >= 0 ? geodec_wide_round(p, shift < 127 ? shift : 127)
                          : geodec_wide_shift(geodec_wide_round(p, 0), shift);
    }
}

const geodec__rows_ops ROWS = {
    .round = geodec_rounded_of,
    .reach = reach,
    .squares = squares,
    .scale = scale,
    .add = add,
    .gate = gate,
    .rotate = rotate,
    .store = store,
    .scores = scores,
    .weights = weights,
    .logits = logits,
    .dots = dots,
    .mix = mix,
    .share = share,
};
