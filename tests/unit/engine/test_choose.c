/* Sampling with integer thresholds. */
#include "base/mem.h"
#include "integer/engine/choose.h"
#include "integer/fixed/fixed.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

enum { N = 12, DRAWS = 60000 };
static const int32_t z[N] = {65536, 0, -65536, 131072, 65536, INT32_MIN, -9999, 10000, 131072, 131071, 0, -6553600};

static geodec_choose *chooser(double temperature, int32_t top_k, double top_p, uint64_t seed)
{
    geodec_err err = {0};
    geodec_choose *c = NULL;
    const geodec_choose_settings s = geodec_choose_settings_of(temperature, top_k, top_p, seed);
    test_ok(geodec_choose_create(&s, N, &c, &err), &err);
    return c;
}

Test(choose, argmax_takes_the_lowest_of_equals)
{
    geodec_choose *c = chooser(0, 0, 1, 1);
    cr_assert_eq(geodec_choose_next(c, 0, z), 3);
    uint32_t w[N];
    cr_assert_eq(geodec_choose_weights(c, z, w), GEODEC_FIXED_ONE);
    cr_assert_eq(w[3], GEODEC_FIXED_ONE);
    geodec_choose_destroy(c);
}

/* Frequencies of the sampled tokens against their probabilities, by the statistic of chi squared. */
static void check_frequencies(double temperature, int32_t top_k, double top_p, int expected_tokens)
{
    geodec_choose *c = chooser(temperature, top_k, top_p, 77);
    uint32_t w[N];
    int64_t count[N] = {0};
    const uint64_t sum = geodec_choose_weights(c, z, w);
    for (int64_t i = 0; i < DRAWS; i++) count[geodec_choose_next(c, i, z)]++;
    double chi = 0;
    int tokens = 0;
    uint64_t all = 0;
    for (int i = 0; i < N; i++) {
        all += w[i];
        const double wanted = DRAWS * (double)w[i] / (double)sum;
        if (w[i] == 0) cr_assert_eq(count[i], 0);
        if (wanted < 1e-3) continue;
        tokens++;
        if (wanted > 5) chi += pow((double)count[i] - wanted, 2) / wanted;
    }
    cr_assert_eq(all, sum);
    cr_assert_eq(tokens, expected_tokens, "%d tokens", tokens);
    cr_assert_lt(chi, 35, "chi squared %g", chi); /* 11 degrees of freedom at most: beyond 1 in 1000 */
    geodec_choose_destroy(c);
}

Test(choose, frequencies_are_the_probabilities)
{
    check_frequencies(1, 0, 1, 10);
    check_frequencies(0.5, 0, 1, 10);
    check_frequencies(3, 4, 1, 4);
    check_frequencies(1, 0, 0.5, 3); /* 3, 8, 9 have a quarter each */
    check_frequencies(1, 2, 0.99, 2);
}

Test(choose, weights_are_near_the_real_ones)
{
    geodec_choose *c = chooser(0.7, 0, 1, 1);
    uint32_t w[N];
    (void)geodec_choose_weights(c, z, w);
    for (int i = 0; i < N; i++) {
        const double real = z[i] == INT32_MIN ? 0 : exp(((double)z[i] - 131072) / 65536 / 0.7);
        cr_assert_float_eq(w[i] / 1073741824.0, real, 2e-5 * real + 1e-9);
    }
    int32_t none[N];
    for (int i = 0; i < N; i++) none[i] = INT32_MIN;
    cr_assert_eq(geodec_choose_next(c, 0, none), -1);
    geodec_choose_destroy(c);
}
