/* TwoNN with neighbours in time left out: exact, found from the data, and right on published sets, whose points are
 * independent or sampled along texts. */
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "geometry/benchmark_sets.h"
#include "geometry/theiler.h"
#include "geometry/twonn_sphere.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the closed form ----------------------------------------------------------------------------------------------
 */

/* On S^2 the area of a cap is proportional to the square of its chord, so TwoNN has no bias at any n. The others are
 * Monte Carlo means over uniform points; the tolerance is 5 standard errors. */
Test(geometry, twonn_of_uniform_points_on_spheres)
{
    for (int64_t n = 4; n < 1000000; n *= 11) cr_assert_float_eq(geodec_twonn_sphere_dimension(0.5, n), 2, 1e-5);
    cr_assert_float_eq(geodec_twonn_sphere_dimension(0.2, INT64_C(1) << 50), 5, 1e-4);
    enum { POINTS = 12, TRIALS = 40000 };
    for (int d = 1; d <= 11; d += 5) {
        geodec_rng r = geodec_rng_stream(3, geodec_rng_id("sphere", (uint64_t)d));
        double sum = 0, squares = 0;
        for (int t = 0; t < TRIALS; t++) {
            double first = INFINITY, second = INFINITY;
            for (int i = 1; i < POINTS; i++) { /* distances from the pole */
                double z[12], s = 0, d2 = 0;
                for (int c = 0; c <= d; c++) {
                    z[c] = geodec_rng_normal(&r);
                    s += z[c] * z[c];
                }
                for (int c = 0; c <= d; c++) d2 += (z[c] / sqrt(s) - (c == 0)) * (z[c] / sqrt(s) - (c == 0));
                second = fmin(second, fmax(first, d2));
                first = fmin(first, d2);
            }
            const double l = 0.5 * log(second / first);
            sum += l;
            squares += l * l;
        }
        const double mean = sum / TRIALS, error = sqrt((squares / TRIALS - mean * mean) / TRIALS);
        const double low = geodec_twonn_sphere_dimension(mean + 5 * error, POINTS),
                     high = geodec_twonn_sphere_dimension(mean - 5 * error, POINTS);
        cr_assert(low < d && d < high && high - low < 0.2 * d, "S^%d: %g to %g", d, low, high);
    }
    cr_assert(isnan(geodec_twonn_sphere_dimension(NAN, 100)) && isnan(geodec_twonn_sphere_dimension(0, 100)));
    cr_assert(isnan(geodec_twonn_sphere_dimension(0.5, 2)));
}

/* ---- exactness ----------------------------------------------------------------------------------------------------
 */

enum { DIM = 6, LENGTH = 60 };

/* Normal vectors along texts, filtered twice over `memory` steps; 0: independent. */
static void paths(int64_t n, double memory, uint64_t seed, double *x, int32_t *text, int32_t *position)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("paths", 0));
    double fast[DIM] = {0}, slow[DIM] = {0};
    const double a = memory > 0 ? exp(-1 / memory) : 0;
    for (int64_t i = 0; i < n; i++) {
        text[i] = (int32_t)(i / LENGTH);
        position[i] = (int32_t)(i % LENGTH);
        const int steps = position[i] == 0 ? 1 + (int)(12 * memory) : 1;
        for (int c = 0; c < DIM; c++) {
            for (int s = 0; s < steps; s++) {
                fast[c] = a * fast[c] + sqrt(1 - a * a) * geodec_rng_normal(&r);
                slow[c] = a * slow[c] + (1 - a) * fast[c];
            }
            x[i * DIM + c] = slow[c];
        }
    }
}

Test(geometry, parts_hold_points_of_a_text_apart)
{
    enum { N = 1200 };
    static double x[N * DIM];
    static int32_t text[N], position[N];
    geodec_err err = {0};
    geodec_rng r = geodec_rng_stream(9, geodec_rng_id("gaps", 0));
    paths(N, 4, 5, x, text, position);
    for (int64_t i = 0; i < N; i++) { /* gaps, and no order of the rows */
        position[i] = (int32_t)(2 * position[i] + (int32_t)geodec_rng_below(&r, 2));
        const int64_t j = (int64_t)geodec_rng_below(&r, (uint64_t)i + 1);
        for (int c = 0; c < DIM; c++) {
            const double v = x[i * DIM + c];
            x[i * DIM + c] = x[j * DIM + c];
            x[j * DIM + c] = v;
        }
        const int32_t t = text[i], p = position[i];
        text[i] = text[j];
        position[i] = position[j];
        text[j] = t;
        position[j] = p;
    }
    const int64_t window[] = {0, 1, 2, 5, 16, 1000};
    for (int w = 0; w < 6; w++) {
        geodec_theiler_parts p;
        geodec_theiler e;
        geodec_twonn_options o = geodec_twonn_defaults();
        test_ok(geodec_theiler_divide(N, text, position, window[w], &p, &err), &err);
        cr_assert_eq(p.parts == 1, w < 3 && window[w] < 2, "window %d: %d parts", (int)window[w], (int)p.parts);
        if (p.parts == 1) {
            geodec_theiler_clear(&p);
            continue;
        }
        if (window[w] == 1000) cr_assert_eq(p.parts, LENGTH);
        double sum = 0;
        int64_t used = 0, size[LENGTH] = {0};
        for (int64_t i = 0; i < N; i++) {
            double d2[2] = {INFINITY, INFINITY};
            size[p.part[i]]++;
            for (int64_t j = 0; j < N; j++) {
                double s = 0;
                if (i == j || p.part[i] != p.part[j]) continue;
                if (text[i] == text[j]) cr_assert_geq(labs((long)position[i] - position[j]), window[w]);
                for (int c = 0; c < DIM; c++)
                    s += (x[i * DIM + c] - x[j * DIM + c]) * (x[i * DIM + c] - x[j * DIM + c]);
                d2[1] = fmin(d2[1], fmax(d2[0], s));
                d2[0] = fmin(d2[0], s);
            }
            const double l = 0.5 * log(d2[1] / d2[0]);
            if (!(l > 1e-9)) continue;
            sum += l;
            used++;
        }
        for (int64_t q = 0; q < p.parts; q++) cr_assert(size[q] >= N / p.parts && size[q] <= N / p.parts + 1);
        test_ok(geodec_theiler_estimate(N, DIM, x, &p, &o, NULL, NULL, &e, &err), &err);
        cr_assert_eq(e.twonn.used, used);
        cr_assert_float_eq(e.twonn.ml, (double)used / sum, 1e-9 * e.twonn.ml);
        cr_assert_eq(e.part_points, N / p.parts);
        cr_assert(e.low < e.dimension && e.dimension < e.high && e.dimension >= e.twonn.ml);

        geodec_pool *pool;
        geodec_theiler threads;
        test_ok(geodec_pool_create(3, &pool, &err), &err);
        test_ok(geodec_theiler_estimate(N, DIM, x, &p, &o, pool, NULL, &threads, &err), &err);
        cr_assert(memcmp(&threads, &e, sizeof e) == 0, "the number of threads changes nothing");
        geodec_pool_destroy(pool);
        geodec_theiler_clear(&p);
    }
}

/* ---- the window: planted cases and clean ones, 20 seeds each -------------------------------------------------------
 */

enum { SEEDS = 20, STATES = 1500 };

static geodec_theiler_window find(int64_t n, const double *x, const int32_t *text, const int32_t *position)
{
    geodec_theiler_window w;
    geodec_err err = {0};
    test_ok(geodec_theiler_find(n, DIM, x, text, position, -1, NULL, NULL, &w, &err), &err);
    return w;
}

Test(geometry, time_neighbours_are_found_where_they_are)
{
    static double x[STATES * DIM], y[STATES * DIM];
    static int32_t text[STATES], position[STATES], alone[STATES];
    geodec_err err = {0};
    const geodec_twonn_options o = {.trim = 0.1};
    double plain = 0, apart = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        paths(STATES, 4, seed, x, text, position);
        const geodec_theiler_window w = find(STATES, x, text, position);
        cr_assert(w.window > 1 && w.window < LENGTH && !w.remain, "seed %d: %d", (int)seed, (int)w.window);
        cr_assert_gt(w.near, 10 * w.chance);
        geodec_theiler_parts p, one = {.parts = 1};
        geodec_theiler e, f;
        test_ok(geodec_theiler_divide(STATES, text, position, w.window, &p, &err), &err);
        test_ok(geodec_theiler_estimate(STATES, DIM, x, &p, &o, NULL, NULL, &e, &err), &err);
        test_ok(geodec_theiler_estimate(STATES, DIM, x, &one, &o, NULL, NULL, &f, &err), &err);
        plain += f.dimension / SEEDS;
        apart += e.dimension / SEEDS;
        geodec_theiler_clear(&p);

        /* clean: the same points, dealt out to positions and texts at random */
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("deal", 0));
        memcpy(y, x, sizeof x);
        for (int64_t i = STATES - 1; i > 0; i--) {
            const int64_t j = (int64_t)geodec_rng_below(&r, (uint64_t)i + 1);
            double v[DIM];
            memcpy(v, y + i * DIM, sizeof v);
            memcpy(y + i * DIM, y + j * DIM, sizeof v);
            memcpy(y + j * DIM, v, sizeof v);
        }
        geodec_theiler_window clean = find(STATES, y, text, position);
        cr_assert_eq(clean.window, 1, "seed %d: %d", (int)seed, (int)clean.window);
        /* clean: texts that are clusters, in no order */
        paths(STATES, 0, seed, y, text, position);
        for (int64_t i = 0; i < STATES; i++)
            for (int c = 0; c < DIM; c++) y[i * DIM + c] += 20 * sin(100 * (double)text[i] + 10 * c);
        clean = find(STATES, y, text, position);
        cr_assert_eq(clean.window, 1, "seed %d: %d", (int)seed, (int)clean.window);
        /* no texts */
        for (int32_t i = 0; i < STATES; i++) alone[i] = i;
        clean = find(STATES, x, alone, position);
        cr_assert(clean.window == 1 && clean.near == 0 && clean.chance == 0);
    }
    cr_assert_lt(plain, 4.8, "paths of a set of six dimensions: %g", plain);
    cr_assert_float_eq(apart, 6, 0.5, "%g", apart);
}

/* One slow path in each short text: a part gets one point of a text. One long slow path: too few points. */
Test(geometry, windows_as_long_as_texts)
{
    static double x[STATES * DIM];
    static int32_t text[STATES], position[STATES];
    paths(STATES, 300, 3, x, text, position);
    for (int64_t i = 0; i < STATES; i++) {
        text[i] = (int32_t)(i / 6);
        position[i] = (int32_t)(i % 6);
    }
    geodec_theiler_window w = find(STATES, x, text, position);
    cr_assert(w.window == 6 && !w.remain, "%d", (int)w.window);
    memset(text, 0, sizeof text);
    for (int32_t i = 0; i < STATES; i++) position[i] = i;
    for (int64_t i = 0; i < STATES; i++)
        for (int c = 0; c < DIM; c++) x[i * DIM + c] = cos((c / 2 + 1) * 1e-3 * (double)i + (c % 2) * 1.5);
    w = find(STATES, x, text, position);
    cr_assert(w.remain && w.window > 4, "%d", (int)w.window);
}

/* ---- published sets -----------------------------------------------------------------------------------------------
 */

typedef struct sample {
    double plain, dimension; /* means over the seeds */
} sample;

static sample measure(int set, int64_t n, int64_t length, double memory, int seeds)
{
    geodec_err err = {0};
    const geodec_twonn_options o = {.trim = 0.1};
    const int64_t d = benchmark_sets[set].width;
    int32_t *text = geodec_mem_new(n, sizeof *text), *position = geodec_mem_new(n, sizeof *position);
    sample s = {0};
    for (int seed = 1; seed <= seeds; seed++) {
        geodec_theiler_window w;
        geodec_theiler_parts p;
        geodec_theiler e;
        geodec_twonn plain;
        double *x = benchmark_sets_sample(set, n, length, memory, (uint64_t)seed, text, position);
        test_ok(geodec_theiler_find(n, d, x, text, position, -1, NULL, NULL, &w, &err), &err);
        test_ok(geodec_theiler_divide(n, text, position, w.window, &p, &err), &err);
        test_ok(geodec_theiler_estimate(n, d, x, &p, &o, NULL, NULL, &e, &err), &err);
        test_ok(geodec_twonn_estimate(n, d, x, &o, NULL, NULL, &plain, &err), &err);
        s.plain += plain.ml / seeds;
        s.dimension += e.dimension / seeds;
        geodec_theiler_clear(&p);
        geodec_mem_free(x);
    }
    GEODEC_FREE(text, position);
    return s;
}

static void within(int set, const char *how, const sample *s)
{
    const int d = benchmark_sets[set].dimension;
    printf("%-17s %-11s dimension %2d: plain TwoNN %5.2f, corrected %5.2f\n", benchmark_sets[set].name, how, d,
           s->plain, s->dimension);
    cr_expect(fabs(s->dimension - d) <= 0.5, "%s, %s: %g, not %d", benchmark_sets[set].name, how, s->dimension, d);
}

/* Means of data sets, as the published tables have them: a single set of ten dimensions and 2500 points scatters by
 * 0.3. */
Test(geometry, dimension_of_published_sets)
{
    for (int set = 0; set < BENCHMARK_SETS; set++) {
        const sample s = measure(set, 2500, 1, 0, 4);
        within(set, "independent", &s);
    }
}

Test(geometry, dimension_of_published_sets_along_texts)
{
    for (int set = 0; set < BENCHMARK_SETS; set++) {
        const sample s = measure(set, 5000, 128, 3, 4);
        within(set, "along texts", &s);
        if (benchmark_sets[set].dimension >= 6) cr_expect(benchmark_sets[set].dimension - s.plain > 1, "%g", s.plain);
    }
}

/* Steps a tenth as long: plain TwoNN is wrong in few dimensions too. */
Test(geometry, dimension_of_published_sets_in_small_steps)
{
    for (int set = 1; set < 4; set++) {
        const sample s = measure(set, 20000, 256, 40, 1);
        within(set, "small steps", &s);
        cr_expect(s.plain - benchmark_sets[set].dimension > 0.7, "%g", s.plain);
    }
}
