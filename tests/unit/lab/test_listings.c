/* The published listings of integer arithmetic: their failures, and the counts of the correct forms. */
#include "base/rng.h"
#include "kernels/settings.h"
#include "lab/integer/listings.h"
#include "lab/integer/ntt/modulus.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef geodec_ring_element element;

/* (3 + 5w, -7 + 11w) . (13 - 17w, 19 + 23w) = -6982 + 230w. A shuffle of 32-bit words (2, 3, 0, 1) swaps the words
 * inside of a number, so the cross products take sign words and ad + bc is never formed. */
Test(listings, published_shuffle_fails)
{
    const element w[2] = {{3, 5}, {-7, 11}}, x[2] = {{13, -17}, {19, 23}};
    if (!geodec_kernels_isa_available(GEODEC_ISA_AVX2)) cr_skip("no AVX2");
    const element published = geodec_listings_avx2(w, x, false), mended = geodec_listings_avx2(w, x, true);
    cr_assert(published.a == -6982 && published.b == 163, "%lld %lld", (long long)published.a, (long long)published.b);
    cr_assert(mended.a == -6982 && mended.b == 230, "%lld %lld", (long long)mended.a, (long long)mended.b);
}

/* One constant of 64 bits and two shifts by 64. floor(2^128 / q) has 69 bits, so no constant fits. */
Test(listings, published_barrett_fails)
{
    const uint64_t q = geodec_modulus_of(GEODEC_MODULUS_P60)->q;
    const geodec_mulmod_barrett right = geodec_mulmod_tight(q);
    uint64_t mu[GEODEC_LISTINGS_CONSTANTS];
    geodec_listings_constants(q, mu);
    cr_assert_eq(mu[0], 31); /* floor(2^64 / q) with q just above 2^59 */
    for (int c = 0; c < GEODEC_LISTINGS_CONSTANTS; c++) {
        geodec_rng r = geodec_rng_stream(15, 3);
        int correct = 0;
        for (int i = 0; i < 20000; i++) {
            const geodec_mulmod_wide x = geodec_mulmod_product(geodec_rng_u64(&r) % q, geodec_rng_u64(&r) % q);
            correct += geodec_listings_barrett(x, mu[c], q) == geodec_mulmod_reduce(&right, x, NULL);
        }
        cr_assert_eq(correct, 0, "constant %d: %d correct", c, correct);
    }
    const geodec_mulmod_wide small = {q + 5, 0}; /* below 2q nothing but the subtraction is needed */
    cr_assert_eq(geodec_listings_barrett(small, mu[0], q), 5);
}

Test(listings, proth)
{
    static const uint64_t yes[] = {3, 5, 13, 17, 97, 193, 65537, 3221225473}, no[] = {2, 7, 11, 19, 29, 1073738753};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) cr_assert(geodec_listings_proth(yes[i]), "%zu", i);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) cr_assert(!geodec_listings_proth(no[i]), "%zu", i);
}

/* Exact for a power of two directly before the norm; to rounding for 41^4; of the order of 1 with an addition. */
Test(listings, cancellation)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        cr_assert_eq(geodec_listings_cancel((geodec_listings_block){.eps = 0}, 4, seed), 0);
        cr_assert_lt(geodec_listings_cancel((geodec_listings_block){.eps = 0}, 2825761, seed), 1e-14);
        cr_assert_gt(geodec_listings_cancel((geodec_listings_block){.added = true}, 4, seed), 0.05);
        cr_assert_gt(geodec_listings_cancel((geodec_listings_block){.gated = true}, 4, seed), 0.05);
        cr_assert_eq(geodec_listings_cancel((geodec_listings_block){.added = true}, 1, seed), 0);
    }
}

static geodec_listings_row row_of(const geodec_listings_row *row, const char *key)
{
    for (int i = 0; i < GEODEC_LISTINGS_ROWS; i++)
        if (strcmp(row[i].key, key) == 0) return row[i];
    cr_assert(false, "no row %s", key);
    return row[0];
}

Test(listings, rows)
{
    geodec_listings_row row[GEODEC_LISTINGS_ROWS], again[GEODEC_LISTINGS_ROWS];
    geodec_err err = {0};
    test_ok(geodec_listings_measure(20000, 1, row, &err), &err);
    test_ok(geodec_listings_measure(20000, 1, again, &err), &err);
    for (int i = 0; i < GEODEC_LISTINGS_ROWS; i++) {
        cr_assert(row[i].key && row[i].quantity && row[i].compared);
        cr_assert(memcmp(&row[i].value, &again[i].value, sizeof row[i].value) == 0);
    }
    if (geodec_kernels_isa_available(GEODEC_ISA_AVX2)) {
        cr_assert_lt(row_of(row, "avx2").value, 0.01);
        cr_assert_eq(row_of(row, "avx2").control, 1);
    }
    cr_assert(row_of(row, "barrett").value == 0 && row_of(row, "barrett").control == 1);
    cr_assert(row_of(row, "corrections").value == 2 && row_of(row, "corrections").control == 1);
    cr_assert(row_of(row, "corrections-30").value == 1 && row_of(row, "corrections-30").control == 1);
    cr_assert(row_of(row, "proth").value == 0 && row_of(row, "proth").control == 4);
    cr_assert(row_of(row, "length").value == 512 && row_of(row, "length").control == 131072);
    cr_assert_float_eq(row_of(row, "crt-same").value, 0.5, 0.02); /* 2^59 / 2^60; 4 deviations of 20000 draws: 0.014 */
    cr_assert_eq(row_of(row, "crt-same").control, 1);
    cr_assert_eq(row_of(row, "crt-right").value, 1);
    cr_assert_float_eq(row_of(row, "crt-right").control, 0.5, 0.02);
    cr_assert(row_of(row, "bound-1").value == 468619350 && row_of(row, "bound-1").control == 468619350);
    cr_assert(row_of(row, "bound-4096").value == 7322177 && row_of(row, "bound-4096").control == 7322177);
    cr_assert(row_of(row, "coverage").value == 74 && row_of(row, "coverage").control == 154);
    cr_assert_eq(geodec_listings_measure(0, 1, row, &err), GEODEC_RANGE);
}
