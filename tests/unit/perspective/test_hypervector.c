/* Hypervectors: algebra, codebooks, sums, instruction sets, the encoder. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/memory/encoder.h"
#include "lab/perspective/memory/hv_internal.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static geodec_err err;

static geodec_hv code(uint64_t index)
{
    geodec_hv v;
    geodec_hv_code(7, 3, index, &v);
    return v;
}

static bool same(const geodec_hv *a, const geodec_hv *b) { return memcmp(a, b, sizeof *a) == 0; }
static int bit(const geodec_hv *v, int i) { return (int)(v->word[i / 64] >> (i % 64) & 1u); }

Test(hypervector, binding_is_associative_and_its_own_inverse)
{
    for (uint64_t i = 0; i < 50; i++) {
        const geodec_hv a = code(3 * i), b = code(3 * i + 1), c = code(3 * i + 2);
        geodec_hv ab, bc, left, right, back, ba;
        geodec_hv_bind(&a, &b, &ab);
        geodec_hv_bind(&ab, &c, &left);
        geodec_hv_bind(&b, &c, &bc);
        geodec_hv_bind(&a, &bc, &right);
        cr_assert(same(&left, &right));
        geodec_hv_bind(&ab, &b, &back);
        cr_assert(same(&back, &a));
        geodec_hv_bind(&b, &a, &ba);
        cr_assert(same(&ab, &ba));
        cr_assert_eq(left.word[GEODEC_HV_WORDS - 1] >> (GEODEC_HV_BITS % 64), 0);
    }
}

/* Distances of random pairs: mean 5000, standard deviation 50. Of 4,950 pairs of 100 vectors, which are pairwise
 * independent, the mean has a standard error of 0.7. */
Test(hypervector, codebook_distances)
{
    enum { N = 100 };
    static geodec_hv v[N];
    double sum = 0, square = 0, n = 0;
    int32_t least = GEODEC_HV_BITS, most = 0;
    for (int i = 0; i < N; i++) v[i] = code((uint64_t)i);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++, n++) {
            const int32_t d = geodec_hv_distance(&v[i], &v[j], GEODEC_ISA_AUTO);
            sum += d;
            square += (double)d * d;
            least = d < least ? d : least;
            most = d > most ? d : most;
        }
    const double mean = sum / n, sd = sqrt(square / n - mean * mean);
    printf("codebook: mean %.2f, sd %.2f, %d..%d\n", mean, sd, least, most);
    cr_assert_float_eq(mean, 5000, 3.5);
    cr_assert_float_eq(sd, 50, 2.5);        /* 5 / sqrt(2 4950) of 50, five times */
    cr_assert(least > 4700 && most < 5300); /* six standard deviations */
    geodec_hv again, seed, stream;
    geodec_hv_code(7, 3, 5, &again);
    geodec_hv_code(8, 3, 5, &seed);
    geodec_hv_code(7, 4, 5, &stream);
    cr_assert(same(&again, &v[5]) && !same(&seed, &v[5]) && !same(&stream, &v[5]));
    cr_assert_float_eq(geodec_hv_similarity(geodec_hv_distance(&v[0], &v[0], GEODEC_ISA_AUTO)), 1, 0);
    cr_assert_float_eq(geodec_hv_similarity(10000), -1, 0);
}

Test(hypervector, five_similar_ones_outvote_an_odd_one)
{
    const geodec_hv base = code(0), odd = code(1), tie = code(2);
    int16_t count[GEODEC_HV_COUNTS] = {0};
    geodec_hv sum;
    for (uint64_t i = 0; i < 5; i++) {
        geodec_hv v = base;
        geodec_hv_noise(0.1, 11, 0, i, &v);
        cr_assert(abs(geodec_hv_distance(&v, &base, GEODEC_ISA_AUTO) - 1000) < 150); /* sd 30 */
        geodec_hv_add(count, &v, GEODEC_ISA_AUTO);
    }
    geodec_hv_add(count, &odd, GEODEC_ISA_AUTO);
    geodec_hv_majority(count, &tie, &sum, GEODEC_ISA_AUTO);
    /* a bit is lost where 4 or 5 of the 6 are wrong, or 3 and the tie: with 0.1 of five and a half of the odd one,
     * 0.0292 + rounding of 10,000 bits; a bit of `odd` agrees for itself in 0.5 + a little */
    double lost = 0;
    const double p[] = {0.59049, 0.32805, 0.0729, 0.0081, 0.00045, 0.00001};
    for (int wrong = 0; wrong <= 5; wrong++)
        for (int o = 0; o < 2; o++) lost += p[wrong] * 0.5 * (wrong + o > 3 ? 1 : wrong + o == 3 ? 0.5 : 0);
    const double near = geodec_hv_similarity(geodec_hv_distance(&sum, &base, GEODEC_ISA_AUTO)),
                 far = geodec_hv_similarity(geodec_hv_distance(&sum, &odd, GEODEC_ISA_AUTO));
    printf("majority: similarity %.4f (expected %.4f), odd one %.4f\n", near, 1 - 2 * lost, far);
    cr_assert_float_eq(near, 1 - 2 * lost, 0.015);
    cr_assert_lt(far, 0.1);
}

/* The majority bit by bit, with ties, and a counter that stops at both ends. */
Test(hypervector, instruction_sets_agree)
{
    const geodec__hv_ops *const all[] = {&geodec__hv_scalar, geodec__hv_for(GEODEC_ISA_AVX2),
                                         geodec__hv_for(GEODEC_ISA_AUTO)};
    static int16_t count[3][GEODEC_HV_COUNTS];
    geodec_hv out[3], tie = code(900);
    const geodec_hv a = code(901);
    tie.word[GEODEC_HV_WORDS - 1] = UINT64_MAX; /* the padding of the result is 0 all the same */
    for (int k = 0; k < 3; k++) {
        memset(count[k], 0, sizeof count[k]);
        for (uint64_t i = 0; i < 200; i++) {
            const geodec_hv v = code(i);
            all[k]->add(count[k], v.word);
            all[k]->majority(count[k], tie.word, out[k].word);
            cr_assert_eq(all[k]->distance(v.word, a.word), geodec__hv_scalar.distance(v.word, a.word));
            cr_assert_eq(out[k].word[GEODEC_HV_WORDS - 1] >> (GEODEC_HV_BITS % 64), 0);
            if (i != 1 && i != 199) continue;
            for (int j = 0; j < GEODEC_HV_BITS; j++) {
                const int want = count[k][j] ? count[k][j] > 0 : bit(&tie, j);
                cr_assert_eq(bit(&out[k], j), want, "%s, bit %d", all[k]->name, j);
            }
        }
        for (int i = 0; i < 40000; i++) all[k]->add(count[k], a.word); /* until it stops */
        for (int j = 0; j < GEODEC_HV_BITS; j++) cr_assert_eq(count[k][j], bit(&a, j) ? 32767 : -32767);
        const geodec_hv b = code(902);
        all[k]->add(count[k], b.word);
        for (int j = GEODEC_HV_BITS; j < GEODEC_HV_COUNTS; j++) cr_assert_eq(count[k][j], 0);
        cr_assert_eq(memcmp(count[k], count[0], sizeof count[0]), 0, "%s", all[k]->name);
        cr_assert(same(&out[k], &out[0]));
    }
    /* one bit at a time: the distance of a vector and 0 is the number of its bits */
    geodec_hv none = {0}, one = {0};
    for (int j = 0; j < GEODEC_HV_BITS; j++) {
        one.word[j / 64] |= UINT64_C(1) << (j % 64);
        for (int k = 0; k < 3; k++) cr_assert_eq(all[k]->distance(one.word, none.word), j + 1);
    }
}

/* ---- the encoder ------------------------------------------------------------------------------------------------- */

enum { WIDTH = 70 };

static void states(int n, float *x, float offset)
{
    geodec_rng r = geodec_rng_stream(5, 5);
    for (int i = 0; i < n * WIDTH; i++) x[i] = offset + (float)geodec_rng_normal(&r);
}

static double angle(const float *a, const float *b, const float *mean)
{
    double ab = 0, aa = 0, bb = 0;
    for (int j = 0; j < WIDTH; j++) {
        const double x = (double)a[j] - (double)mean[j], y = (double)b[j] - (double)mean[j];
        ab += x * y;
        aa += x * x;
        bb += y * y;
    }
    return acos(ab / sqrt(aa * bb));
}

/* The share of bits that differ is the angle over pi, with a standard deviation of at most 0.005 for independent rows.
 * With +-1 in P that holds in the limit of a large width; at 70 it is within the same limit. */
Test(encoder, share_of_bits_is_the_angle)
{
    enum { N = 12 };
    static float x[N * WIDTH], mean[WIDTH];
    static geodec_hv v[N], w[N];
    geodec_pool *pool = NULL;
    states(N, x, 20);
    for (int j = 0; j < WIDTH; j++) mean[j] = 20;
    for (int j = 0; j < WIDTH; j++) x[WIDTH + j] = x[j] + 0.1F * (x[2 * WIDTH + j] - 20); /* a near one */
    test_ok(geodec_pool_create(2, &pool, &err), &err);
    for (int kind = 0; kind < GEODEC_HV_PROJECTIONS; kind++) {
        geodec_hv_encoder *e = NULL;
        test_ok(geodec_hv_encoder_create((geodec_hv_projection)kind, 3, WIDTH, mean, &e, &err), &err);
        test_ok(geodec_hv_encode(e, N, x, v, pool, &err), &err);
        test_ok(geodec_hv_encode(e, N, x, w, NULL, &err), &err);
        cr_assert_eq(memcmp(v, w, sizeof v), 0);
        double worst = 0;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < i; j++) {
                const double share = geodec_hv_distance(&v[i], &v[j], GEODEC_ISA_AUTO) / (double)GEODEC_HV_BITS;
                worst = fmax(worst, fabs(share - angle(x + i * WIDTH, x + j * WIDTH, mean) / M_PI));
            }
        printf("encoder %d: worst deviation of the share %.4f\n", kind, worst);
        cr_assert_lt(worst, 0.02); /* four standard deviations of the worst of 66 */
        /* a state that is the mean has no sign: ties */
        test_ok(geodec_hv_encode(e, 1, mean, w, NULL, &err), &err);
        const int32_t ones = geodec_hv_distance(&w[0], &(geodec_hv){0}, GEODEC_ISA_AUTO);
        cr_assert(abs(ones - 5000) < 300);
        geodec_hv_encoder_destroy(e);
    }
    geodec_pool_destroy(pool);
}

/* The control: without the mean, states that lie far from the origin are all alike. */
Test(encoder, without_the_mean_all_states_are_alike)
{
    enum { N = 6 };
    static float x[N * WIDTH], zero[WIDTH];
    static geodec_hv v[N];
    geodec_hv_encoder *e = NULL;
    states(N, x, 20);
    test_ok(geodec_hv_encoder_create(GEODEC_HV_NORMAL, 3, WIDTH, zero, &e, &err), &err);
    test_ok(geodec_hv_encode(e, N, x, v, NULL, &err), &err);
    for (int i = 1; i < N; i++)
        cr_assert_gt(geodec_hv_similarity(geodec_hv_distance(&v[0], &v[i], GEODEC_ISA_AUTO)), 0.9);
    geodec_hv_encoder_destroy(e);
}

/* Signs of P as the definition says, summed one by one. */
Test(encoder, signs_are_those_of_the_generator)
{
    static float x[WIDTH], mean[WIDTH];
    geodec_hv v;
    geodec_hv_encoder *e = NULL;
    states(1, x, 0);
    test_ok(geodec_hv_encoder_create(GEODEC_HV_SIGNS, 9, WIDTH, mean, &e, &err), &err);
    test_ok(geodec_hv_encode(e, 1, x, &v, NULL, &err), &err);
    for (int i = 0; i < GEODEC_HV_BITS; i++) {
        double sum = 0;
        for (int j = 0; j < WIDTH; j++) {
            const uint64_t word = geodec_rng_at(9, geodec_rng_id("hypervector signs", (uint64_t)i), (uint64_t)j / 64);
            sum += (word >> (j % 64) & 1u ? 1 : -1) * (double)x[j];
        }
        if (fabs(sum) > 1e-9) cr_assert_eq(bit(&v, i), sum > 0);
    }
    geodec_hv_encoder_destroy(e);
}

Test(encoder, refusals)
{
    float x[4] = {0, 1, NAN, 2};
    geodec_hv v;
    geodec_hv_encoder *e = NULL;
    cr_assert_eq(geodec_hv_encoder_create(GEODEC_HV_SIGNS, 1, 0, x, &e, &err), GEODEC_LIMIT);
    cr_assert_eq(geodec_hv_encoder_create(GEODEC_HV_SIGNS, 1, 1 << 20, x, &e, &err), GEODEC_LIMIT);
    cr_assert_eq(geodec_hv_encoder_create(GEODEC_HV_SIGNS, 1, 4, x, &e, &err), GEODEC_NUMERIC);
    cr_assert_eq(geodec_hv_encoder_create((geodec_hv_projection)9, 1, 2, x, &e, &err), GEODEC_RANGE);
    cr_assert_null(e);
    test_ok(geodec_hv_encoder_create(GEODEC_HV_SIGNS, 1, 2, x, &e, &err), &err);
    cr_assert_eq(geodec_hv_encode(e, 1, x + 2, &v, NULL, &err), GEODEC_NUMERIC);
    geodec_hv_encoder_destroy(e);
}
