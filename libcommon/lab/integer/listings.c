#include "lab/integer/listings.h"

#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/codes/block_h63.h"
#include "lab/integer/ntt/crt.h"
#include "lab/integer/ring/gemv.h"

#include <math.h>

/* ---- the published forms ---------------------------------------------------------------------------------------- */

uint64_t geodec_listings_barrett(geodec_mulmod_wide x, uint64_t mu, uint64_t q)
{
    const uint64_t t = geodec_mulmod_product(x.high, mu).high; /* ((x >> 64) mu) >> 64 */
    return geodec_mulmod_once(x.low - t * q, q);
}

void geodec_listings_constants(uint64_t q, uint64_t mu[GEODEC_LISTINGS_CONSTANTS])
{
    static const int power[GEODEC_LISTINGS_CONSTANTS - 1] = {64, 120, 121, 122, 123, 124, 128};
    for (int i = 0; i < GEODEC_LISTINGS_CONSTANTS - 1; i++) mu[i] = geodec_mulmod_quotient(1, power[i], q, NULL);
    mu[GEODEC_LISTINGS_CONSTANTS - 1] = UINT64_MAX;
}

bool geodec_listings_proth(uint64_t q)
{
    uint64_t k = q - 1, power = 1;
    for (; k % 2 == 0 && k; power *= 2) k /= 2;
    return power > 1 && k < power;
}

/* ---- counts ----------------------------------------------------------------------------------------------------- */

static geodec_rng stream(const char *name, uint64_t seed) { return geodec_rng_stream(seed, geodec_rng_id(name, 15)); }

static void count_avx2(int64_t draws, uint64_t seed, geodec_listings_row *row)
{
    geodec_rng r = stream("listings avx2", seed);
    int64_t right[2] = {0, 0};
    row->value = row->control = NAN;
    if (!geodec_kernels_isa_available(GEODEC_ISA_AVX2)) return;
    for (int64_t i = 0; i < draws; i++) {
        int64_t v[8];
        for (int k = 0; k < 8; k++) v[k] = (int64_t)geodec_rng_below(&r, 255) - 127;
        const geodec_ring_element w[2] = {{v[0], v[1]}, {v[2], v[3]}}, x[2] = {{v[4], v[5]}, {v[6], v[7]}},
                                  first = geodec_ring_mul_wrapped(w[0], x[0]),
                                  second = geodec_ring_mul_wrapped(w[1], x[1]);
        for (int mended = 0; mended < 2; mended++) {
            const geodec_ring_element y = geodec_listings_avx2(w, x, mended);
            right[mended] += y.a == first.a + second.a && y.b == first.b + second.b;
        }
    }
    row->value = (double)right[0] / (double)draws;
    row->control = (double)right[1] / (double)draws;
}

/* The share of the best constant; the control is the reduction of mulmod.h. Montgomery's product decides. */
static void count_barrett(int64_t draws, uint64_t seed, geodec_listings_row *row)
{
    const uint64_t q = geodec_modulus_of(GEODEC_MODULUS_P60)->q;
    const geodec_mulmod_montgomery m = geodec_mulmod_montgomery_of(q, 64);
    const geodec_mulmod_barrett tight = geodec_mulmod_tight(q);
    geodec_rng r = stream("listings barrett", seed);
    uint64_t mu[GEODEC_LISTINGS_CONSTANTS];
    int64_t right[GEODEC_LISTINGS_CONSTANTS] = {0}, control = 0, best = 0;
    geodec_listings_constants(q, mu);
    for (int64_t i = 0; i < draws; i++) {
        const uint64_t a = geodec_rng_below(&r, q), b = geodec_rng_below(&r, q);
        const uint64_t want = geodec_mulmod_montgomery_multiply(&m, a, b);
        const geodec_mulmod_wide x = geodec_mulmod_product(a, b);
        for (int c = 0; c < GEODEC_LISTINGS_CONSTANTS; c++) right[c] += geodec_listings_barrett(x, mu[c], q) == want;
        control += geodec_mulmod_reduce(&tight, x, NULL) == want;
    }
    for (int c = 0; c < GEODEC_LISTINGS_CONSTANTS; c++) best = right[c] > best ? right[c] : best;
    row->value = (double)best / (double)draws;
    row->control = (double)control / (double)draws;
}

/* Largest number of subtractions after the classical constants, and after those of the tight form; operands among
 * the 2^26 largest residues, of whose products about one in 50 needs two for p60. */
static void count_corrections(int64_t draws, uint64_t seed, geodec_modulus_id from, geodec_modulus_id to,
                              geodec_listings_row *row)
{
    geodec_rng r = stream("listings corrections", seed);
    row->value = row->control = 0;
    for (geodec_modulus_id id = from; id <= to; id++) {
        const uint64_t q = geodec_modulus_of(id)->q;
        const geodec_mulmod_barrett classical = geodec_mulmod_classical(q), tight = geodec_mulmod_tight(q);
        for (int64_t i = 0; i < draws; i++) {
            const geodec_mulmod_wide x =
                geodec_mulmod_product(q - 1 - geodec_rng_below(&r, 1 << 26), q - 1 - geodec_rng_below(&r, 1 << 26));
            int n;
            (void)geodec_mulmod_reduce(&classical, x, &n);
            row->value = fmax(row->value, n);
            (void)geodec_mulmod_reduce(&tight, x, &n);
            row->control = fmax(row->control, n);
        }
    }
}

static void count_proth(geodec_listings_row *row)
{
    static const uint64_t known[4] = {13, 97, 193, 3221225473}; /* 3 2^n + 1, n = 2, 5, 6, 30 */
    row->value = row->control = 0;
    for (geodec_modulus_id id = GEODEC_MODULUS_P60; id <= GEODEC_MODULUS_Q2; id++)
        row->value += geodec_listings_proth(geodec_modulus_of(id)->q);
    for (int i = 0; i < 4; i++) row->control += geodec_listings_proth(known[i]);
}

/* Coefficients for which p60 alone and the pair give the same integer; and for which each gives the right one. */
static void count_crt(int64_t draws, uint64_t seed, geodec_listings_row *same, geodec_listings_row *right)
{
    const geodec_modulus *p60 = geodec_modulus_of(GEODEC_MODULUS_P60);
    const geodec_crt c = geodec_crt_of(geodec_modulus_of(GEODEC_MODULUS_Q1), geodec_modulus_of(GEODEC_MODULUS_Q2));
    geodec_rng r = stream("listings crt", seed);
    int64_t equal[2] = {0, 0}, pair_right = 0, p60_right = 0;
    for (int64_t i = 0; i < draws; i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            const uint64_t half = narrow ? (p60->q - 1) / 2 : c.half;
            const int64_t x = (int64_t)geodec_rng_below(&r, 2 * half + 1) - (int64_t)half;
            const int64_t pair = geodec_crt_centred(&c, geodec_modulus_residue(c.a, x), geodec_modulus_residue(c.b, x));
            const int64_t one = geodec_modulus_centred(p60, geodec_modulus_residue(p60, x));
            equal[narrow] += pair == one;
            pair_right += !narrow && pair == x;
            p60_right += !narrow && one == x;
        }
    same->value = (double)equal[0] / (double)draws;
    same->control = (double)equal[1] / (double)draws;
    right->value = (double)pair_right / (double)draws;
    right->control = (double)p60_right / (double)draws;
}

/* Whether sums of k products of B + B w and B - B w, the largest there are, fit in int64: computed in 192 bits. */
static geodec_status fits(int64_t k, int64_t b, bool *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ring_element *w = NULL, *x = NULL, y;
    geodec_ring_matrix *m = NULL;
    geodec_ring_vector *v = NULL;
    uint8_t overflow = 0;
    GEODEC_NEW_EACH(k, w, x);
    for (int64_t i = 0; i < k; i++) {
        w[i] = (geodec_ring_element){b, b};
        x[i] = (geodec_ring_element){b, -b};
    }
    GEODEC_TRY(geodec_ring_matrix_create(w, 1, k, false, &m, err));
    GEODEC_TRY(geodec_ring_vector_create(x, k, &v, err));
    GEODEC_TRY(geodec_ring_gemv(m, v, &(geodec_ring_gemv_options){.form = GEODEC_RING_WIDE}, &y, &overflow, NULL, err));
    *out = !overflow;
done:
    geodec_ring_matrix_destroy(m);
    geodec_ring_vector_destroy(v);
    GEODEC_FREE(w, x);
    return st;
}

/* The largest |coordinate| that fits: found by such products, and by the bound that a load computes. */
static geodec_status find_bound(int64_t k, geodec_listings_row *row, geodec_err *err)
{
    int64_t low = 1, high = INT64_C(1) << 31, bound = 1, above = INT64_C(1) << 31;
    while (high - low > 1) {
        const int64_t middle = (low + high) / 2;
        bool fit = false;
        GEODEC_PASS(fits(k, middle, &fit, err));
        *(fit ? &low : &high) = middle;
    }
    while (above - bound > 1) {
        const int64_t middle = (bound + above) / 2;
        const geodec_ring_bound b = {middle, middle, true};
        *(geodec_ring_bound_safe(k, b, b) ? &bound : &above) = middle;
    }
    row->value = (double)low;
    row->control = (double)bound;
    return GEODEC_OK;
}

static geodec_status count_h63(geodec_listings_row *row, geodec_err *err)
{
    geodec_block_h63 h = {0};
    GEODEC_PASS(geodec_block_h63_create(128, GEODEC_BLOCK_H63_MAGNITUDE, &h, err));
    row->value = h.n_skeleton + h.n_residual;
    row->control = h.pad;
    geodec_block_h63_clear(&h);
    return GEODEC_OK;
}

/* ---- the cancellation theorem ----------------------------------------------------------------------------------- */

enum { WIDTH = 16 };

static void normed(geodec_listings_block b, double s, uint64_t seed, double y[WIDTH])
{
    geodec_rng r = stream("listings cancel", seed);
    double w[WIDTH * WIDTH], x[WIDTH], sum = 0;
    for (int i = 0; i < WIDTH * WIDTH; i++) w[i] = s * geodec_rng_normal(&r) / 4;
    for (int i = 0; i < WIDTH; i++) x[i] = geodec_rng_normal(&r);
    for (int i = 0; i < WIDTH; i++) {
        y[i] = 0;
        for (int k = 0; k < WIDTH; k++) y[i] += w[i * WIDTH + k] * x[k];
        if (b.gated) y[i] /= 1 + exp(-y[i]);
        if (b.added) y[i] += x[i];
        sum += y[i] * y[i];
    }
    for (int i = 0; i < WIDTH; i++) y[i] /= sqrt(sum / WIDTH + b.eps);
}

double geodec_listings_cancel(geodec_listings_block b, double s, uint64_t seed)
{
    double plain[WIDTH], scaled[WIDTH], difference = 0, largest = 0;
    normed(b, 1, seed, plain);
    normed(b, s, seed, scaled);
    for (int i = 0; i < WIDTH; i++) {
        difference = fmax(difference, fabs(scaled[i] - plain[i]));
        largest = fmax(largest, fabs(plain[i]));
    }
    return difference / largest;
}

/* ---- all -------------------------------------------------------------------------------------------------------- */

enum {
    AVX2,
    BARRETT,
    CORRECTIONS,
    CORRECTIONS_30,
    PROTH,
    LENGTH,
    CRT_SAME,
    CRT_RIGHT,
    BOUND_1,
    BOUND_4096,
    COVERAGE,
    CANCEL_4,
    CANCEL_41,
    CANCEL_GATE,
    CANCEL_EPS
};

static const geodec_listings_row names[GEODEC_LISTINGS_ROWS] = {
    [AVX2] = {"avx2", "share of right products of the AVX2 listing", "the shuffle (1, 0, 3, 2)", 0, 0},
    [BARRETT] = {"barrett", "share of right products of the Barrett listing, best constant", "tight Barrett", 0, 0},
    [CORRECTIONS] = {"corrections", "most subtractions after classical Barrett, p60", "tight Barrett", 0, 0},
    [CORRECTIONS_30] = {"corrections-30", "most subtractions after classical Barrett, 30 bits", "tight Barrett", 0, 0},
    [PROTH] = {"proth", "Proth primes among p60, q1, q2", "among four known ones", 0, 0},
    [LENGTH] = {"length", "longest transform of the pair q1, q2", "of the pair w1, w2", 0, 0},
    [CRT_SAME] = {"crt-same", "share of the pair's range with the result of p60", "of the range of p60", 0, 0},
    [CRT_RIGHT] = {"crt-right", "share of the pair's range that the pair recovers", "that p60 recovers", 0, 0},
    [BOUND_1] = {"bound-1", "largest coordinates of a product that fits in 64 bits", "by the bound", 0, 0},
    [BOUND_4096] = {"bound-4096", "the same of sums of 4096 products", "by the bound", 0, 0},
    [COVERAGE] = {"coverage", "coefficients that the 63-byte block keeps, of 128 values", "all coefficients", 0, 0},
    [CANCEL_4] = {"cancel-4", "difference after the norm, weights times 4", "an addition before the norm", 0, 0},
    [CANCEL_41] = {"cancel-41", "difference after the norm, weights times 41^4", "an addition before the norm", 0, 0},
    [CANCEL_GATE] = {"cancel-gate", "difference after SiLU and the norm, weights times 4", "without SiLU", 0, 0},
    [CANCEL_EPS] = {"cancel-eps", "difference after the norm with eps = 0.01, weights times 4", "eps = 0", 0, 0},
};

geodec_status geodec_listings_measure(int64_t draws, uint64_t seed, geodec_listings_row row[GEODEC_LISTINGS_ROWS],
                                      geodec_err *err)
{
    const geodec_listings_block direct = {.eps = 0}, added = {.added = true}, gated = {.gated = true},
                                eps = {.eps = 0.01};
    const double modulus = 2825761; /* 41^4 */
    if (draws < 1) GEODEC_FAIL(GEODEC_RANGE, "draws must be at least 1");
    for (int i = 0; i < GEODEC_LISTINGS_ROWS; i++) row[i] = names[i];
    count_avx2(draws, seed, &row[AVX2]);
    count_barrett(draws, seed, &row[BARRETT]);
    count_corrections(draws, seed, GEODEC_MODULUS_P60, GEODEC_MODULUS_P60, &row[CORRECTIONS]);
    count_corrections(draws, seed, GEODEC_MODULUS_Q1, GEODEC_MODULUS_W2, &row[CORRECTIONS_30]);
    count_proth(&row[PROTH]);
    row[LENGTH].value = (double)geodec_modulus_of(GEODEC_MODULUS_Q1)->most;
    row[LENGTH].control = (double)geodec_modulus_of(GEODEC_MODULUS_W1)->most;
    count_crt(draws, seed, &row[CRT_SAME], &row[CRT_RIGHT]);
    GEODEC_PASS(find_bound(1, &row[BOUND_1], err));
    GEODEC_PASS(find_bound(4096, &row[BOUND_4096], err));
    GEODEC_PASS(count_h63(&row[COVERAGE], err));
    row[CANCEL_4].value = geodec_listings_cancel(direct, 4, seed);
    row[CANCEL_4].control = geodec_listings_cancel(added, 4, seed);
    row[CANCEL_41].value = geodec_listings_cancel(direct, modulus, seed);
    row[CANCEL_41].control = geodec_listings_cancel(added, modulus, seed);
    row[CANCEL_GATE].value = geodec_listings_cancel(gated, 4, seed);
    row[CANCEL_GATE].control = geodec_listings_cancel(direct, 4, seed);
    row[CANCEL_EPS].value = geodec_listings_cancel(eps, 4, seed);
    row[CANCEL_EPS].control = geodec_listings_cancel(direct, 4, seed);
    return GEODEC_OK;
}
