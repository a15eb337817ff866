/* The penalty on residual streams: its value, its derivative by the states, and its invariances. */
#include "base/mem.h"
#include "base/rng.h"
#include "shf/shf.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { B = 6, SEQ = 2, LEN = 24, ROWS = SEQ * LEN, D = 10 };

typedef struct streams {
    float state[B][ROWS * D];
    const float *at[B];
} streams;

/* Curved streams: a walk with a drift and a separate rotation for every token. */
static void make(streams *s, double bend)
{
    geodec_rng r = geodec_rng_stream(7, geodec_rng_id("shf test", 0));
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < D; j++) {
            const double x = geodec_rng_normal(&r) * (4 - 0.3 * j), v = geodec_rng_normal(&r),
                         a = bend * geodec_rng_normal(&r);
            for (int l = 0; l < B; l++) s->state[l][i * D + j] = (float)(x + v * l + a * l * l);
        }
    for (int l = 0; l < B; l++) s->at[l] = s->state[l];
}

static geodec_shf *prepared(const streams *s, bool flat, int64_t stride)
{
    geodec_err err = {0};
    geodec_shf *p = NULL;
    geodec_shf_options o = geodec_shf_defaults();
    o.n = 3;
    o.sites = 40;
    o.flat = flat;
    o.stride = stride;
    test_ok(geodec_shf_create(&o, &p, &err), &err);
    test_ok(geodec_shf_prepare(p, 0, B, ROWS, D, &s->state[0][0], &err), &err);
    return p;
}

static double value_of(geodec_shf *p, const streams *s, double scale, float *cotangent)
{
    geodec_err err = {0};
    double value;
    memset(cotangent, 0, sizeof(float) * B * ROWS * D);
    test_ok(geodec_shf_apply(p, B, SEQ, LEN, D, s->at, scale, cotangent, &value, &err), &err);
    return value;
}

static float cotangent[B * ROWS * D], other[B * ROWS * D];

static void check_derivative(bool flat)
{
    static streams s, t;
    make(&s, 0.1);
    geodec_shf *p = prepared(&s, flat, 4);
    (void)value_of(p, &s, 2, cotangent);
    geodec_rng r = geodec_rng_stream(8, 8);
    double worst = 0, largest = 0;
    for (int k = 0; k < 40; k++) { /* directions that move all states of a token */
        const int row = 4 * (int)geodec_rng_below(&r, ROWS / 4) + 3, l = (int)geodec_rng_below(&r, B);
        double dir[D], along = 0;
        for (int j = 0; j < D; j++) {
            dir[j] = geodec_rng_normal(&r);
            along += dir[j] * (double)cotangent[(l * ROWS + row) * D + j];
        }
        const double h = 0.005;
        double value[2];
        for (int sign = 0; sign < 2; sign++) {
            memcpy(t.state, s.state, sizeof t.state);
            for (int m = 0; m < B; m++) t.at[m] = t.state[m];
            for (int j = 0; j < D; j++) t.state[l][row * D + j] += (float)((sign ? h : -h) * dir[j]);
            value[sign] = value_of(p, &t, 1, other);
        }
        const double want = 2 * (value[1] - value[0]) / (2 * h);
        worst = fmax(worst, fabs(along - want));
        largest = fmax(largest, fabs(want));
    }
    cr_assert(worst <= 2e-3 * largest, "%g of %g", worst, largest);
    geodec_shf_destroy(p);
}
Test(shf, derivative_in_the_fitted_metric) { check_derivative(false); }
Test(shf, derivative_in_the_flat_metric) { check_derivative(true); }

Test(shf, straight_streams_cost_nothing_where_space_is_flat)
{
    static streams s;
    make(&s, 0);
    geodec_shf *flat = prepared(&s, true, 1), *fitted = prepared(&s, false, 1);
    cr_assert_lt(value_of(flat, &s, 1, cotangent), 1e-8 * ROWS);
    cr_assert_gt(value_of(fitted, &s, 1, cotangent), 1e-4 * ROWS); /* a straight line is no geodesic of that metric */
    make(&s, 0.2);
    geodec_shf *bent = prepared(&s, true, 1);
    cr_assert_gt(value_of(bent, &s, 1, cotangent), 1e-2 * ROWS);
    geodec_shf_destroy(flat);
    geodec_shf_destroy(fitted);
    geodec_shf_destroy(bent);
}

/* One token in four counts for all: only those rows are moved, with four times the weight. */
Test(shf, stride)
{
    static streams s;
    make(&s, 0.1);
    geodec_shf *all = prepared(&s, true, 1), *some = prepared(&s, true, 4);
    const double a = value_of(all, &s, 1, cotangent), b = value_of(some, &s, 1, other);
    cr_assert(b > 0.3 * a && b < 3 * a, "%g %g", a, b);
    for (int i = 0; i < B * ROWS; i++) {
        double size = 0;
        for (int j = 0; j < D; j++) size += fabs((double)other[i * D + j]);
        cr_assert_eq(size > 0, i >= ROWS && i % 4 == 3, "row %d", i);
    }
    geodec_shf_destroy(all);
    geodec_shf_destroy(some);
}

Test(shf, bad_input_is_refused)
{
    static streams s;
    geodec_err err = {0};
    geodec_shf *p = NULL;
    geodec_shf_options o = geodec_shf_defaults();
    double value;
    o.n = 17;
    cr_assert_eq(geodec_shf_create(&o, &p, &err), GEODEC_RANGE);
    o = geodec_shf_defaults();
    o.stride = 0;
    cr_assert_eq(geodec_shf_create(&o, &p, &err), GEODEC_RANGE);
    o = geodec_shf_defaults();
    test_ok(geodec_shf_create(&o, &p, &err), &err);
    make(&s, 0.1);
    cr_assert_eq(geodec_shf_apply(p, B, SEQ, LEN, D, s.at, 1, cotangent, &value, &err), GEODEC_INVAL);
    cr_assert_eq(geodec_shf_prepare(p, 0, 3, ROWS, D, &s.state[0][0], &err), GEODEC_RANGE);
    memset(s.state, 0, sizeof s.state);
    cr_assert_eq(geodec_shf_prepare(p, 0, B, ROWS, D, &s.state[0][0], &err), GEODEC_SCARCE); /* one state, many times */
    geodec_shf_destroy(p);
}
