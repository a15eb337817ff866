#include "integer/fixed/fixed_tables.h"

#include "base/sha256.h"

static const int64_t TWO_PI = 6588397; /* Q20 */

uint32_t geodec_fixed_isqrt(uint64_t v)
{
    uint64_t root = 0, bit = (uint64_t)1 << 62;
    while (bit > v) bit >>= 2;
    for (; bit; bit >>= 2) {
        if (v >= root + bit) {
            v -= root + bit;
            root = (root >> 1) + bit;
        } else {
            root >>= 1;
        }
    }
    return (uint32_t)root;
}

uint32_t geodec_fixed_exp(uint32_t d)
{
    const uint64_t t = ((uint64_t)d * GEODEC__FIXED_LOG2E + (1u << 29)) >> 30, n = t >> 16, f = t & 65535;
    if (n >= 31) return 0;
    const uint64_t e =
        ((uint64_t)geodec__fixed_exp_coarse[f >> 8] * geodec__fixed_exp_fine[f & 255] + (1u << 29)) >> 30;
    return (uint32_t)((e + (n ? (uint64_t)1 << (n - 1) : 0)) >> n);
}

uint64_t geodec_fixed_softmax(const int32_t *z, int64_t n, uint32_t *p)
{
    int32_t top = z[0];
    uint64_t sum = 0;
    for (int64_t i = 1; i < n; i++) top = z[i] > top ? z[i] : top;
    for (int64_t i = 0; i < n; i++) sum += p[i] = geodec_fixed_exp((uint32_t)((int64_t)top - z[i]));
    for (int64_t i = 0; i < n; i++) p[i] = (uint32_t)((((uint64_t)p[i] << 30) + sum / 2) / sum);
    return sum;
}

uint32_t geodec_fixed_sigmoid(int64_t x)
{
    const uint64_t size = x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    const uint64_t d = GEODEC_FIXED_ONE + (uint64_t)geodec_fixed_exp(size > UINT32_MAX ? UINT32_MAX : (uint32_t)size);
    const uint32_t s = (uint32_t)((((uint64_t)1 << 60) + d / 2) / d);
    return x < 0 ? GEODEC_FIXED_ONE - s : s;
}

int32_t geodec_fixed_tanh(int64_t x)
{
    const int64_t most = (int64_t)1 << 31;
    const int64_t s = geodec_fixed_sigmoid(2 * (x > most ? most : x < -most ? -most : x));
    return (int32_t)(2 * s - GEODEC_FIXED_ONE > INT32_MAX ? INT32_MAX : 2 * s - GEODEC_FIXED_ONE);
}

/* x s, s in Q30. */
static int64_t gated(int64_t x, uint32_t s) { return geodec_wide_round(geodec_wide_mul(x, s), 30); }

int64_t geodec_fixed_silu(int64_t x) { return gated(x, geodec_fixed_sigmoid(geodec_wide_shift(x, 8))); }

int64_t geodec_fixed_gelu(int64_t x)
{
    if (x > GEODEC__FIXED_GELU_MOST) return x;
    if (x < -GEODEC__FIXED_GELU_MOST) return 0;
    const int64_t square = (x * x) >> 24; /* at most 2^34 */
    const int64_t factor =
        GEODEC__FIXED_GELU_LINEAR + geodec_wide_round(geodec_wide_mul(square, GEODEC__FIXED_GELU_CUBE), 24);
    return gated(x, geodec_fixed_sigmoid(geodec_wide_round(geodec_wide_mul(x, factor), 32)));
}

/* v 2^s below 2^127, s <= 126. */
static geodec_wide left(uint64_t v, int s)
{
    if (s >= 64) return (geodec_wide){0, (int64_t)(v << (s - 64))};
    return (geodec_wide){v << s, s ? (int64_t)(v >> (64 - s)) : 0};
}

static int less(geodec_wide a, geodec_wide b) { return a.high != b.high ? a.high < b.high : a.low < b.low; }

geodec_fixed_rms geodec_fixed_rms_of(uint64_t ss, int64_t n)
{
    int k = (62 + geodec_wide_bits((int64_t)ss) - geodec_wide_bits(n) + 1) / 2;
    while (!less(left((uint64_t)n, 2 * k), left(ss, 62))) k--;
    return (geodec_fixed_rms){geodec_fixed_isqrt(geodec_wide_divide(left((uint64_t)n, 2 * k), ss)), k};
}

geodec_fixed_turn geodec_fixed_turn_of(uint64_t angle)
{
    const geodec_fixed_turn a = geodec__fixed_turn_coarse[angle >> 54], b = geodec__fixed_turn_fine[angle >> 44 & 1023];
    const int64_t rest = (int64_t)(angle >> 24 & 0xfffff); /* 2^-40 turns */
    const int64_t small = (rest * TWO_PI + (1 << 29)) >> 30, half = 1 << 29;
    const int64_t c = ((int64_t)a.cosine * b.cosine - (int64_t)a.sine * b.sine + half) >> 30;
    const int64_t s = ((int64_t)a.sine * b.cosine + (int64_t)a.cosine * b.sine + half) >> 30;
    return (geodec_fixed_turn){(int32_t)(c - ((s * small + half) >> 30)), (int32_t)(s + ((c * small + half) >> 30))};
}

static void put(geodec_sha256 *h, uint32_t v)
{
    const uint8_t b[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    geodec_sha256_update(h, b, sizeof b);
}

void geodec_fixed_digest(char hex[65])
{
    geodec_sha256 h;
    geodec_sha256_init(&h);
    for (int i = 0; i < GEODEC__FIXED_EXP; i++) {
        put(&h, geodec__fixed_exp_coarse[i]);
        put(&h, geodec__fixed_exp_fine[i]);
    }
    for (int i = 0; i < GEODEC__FIXED_TURN; i++) {
        put(&h, (uint32_t)geodec__fixed_turn_coarse[i].cosine);
        put(&h, (uint32_t)geodec__fixed_turn_coarse[i].sine);
        put(&h, (uint32_t)geodec__fixed_turn_fine[i].cosine);
        put(&h, (uint32_t)geodec__fixed_turn_fine[i].sine);
    }
    geodec_sha256_hex(&h, hex);
}
