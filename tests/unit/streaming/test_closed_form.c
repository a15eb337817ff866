/* The closed form against the published figures of its times and plans. */
#include "streaming/closed_form.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static void near(double got, double wanted, double half_digit)
{
    cr_assert(fabs(got - wanted) <= half_digit, "%g, wanted %g", got, wanted);
}

/* Published: 12.4 GB/s, 9.99 MB a load: 0.806 ms; 80 loads 64.5 ms (15.5 tokens a second), with 13 % waste 72.8 ms
 * (13.7); 60 loads 54.6 ms (18.3). */
Test(closed_form, figures_of_the_seed)
{
    geodec_closed_form f = {.layers = 80, .used = 1, .blob = 9.99e6, .right = 0.87, .waste = -1, .bandwidth = 12.4e9};
    geodec_closed_form_times t = geodec_closed_form_of(&f);
    near(t.wall / 80 * 1e3, 0.806, 5e-4);
    near(t.wall * 1e3, 64.5, 0.06);
    near(1 / t.wall, 15.5, 0.06);
    near(t.look_ahead * 1e3, 72.8, 0.06);
    near(1 / t.look_ahead, 13.7, 0.06);
    f.layers = 60;
    t = geodec_closed_form_of(&f);
    near(t.look_ahead * 1e3, 54.6, 0.06);
    near(1 / t.look_ahead, 18.3, 0.06);
}

Test(closed_form, parts)
{
    geodec_closed_form f = {.layers = 10,
                            .used = 4,
                            .blob = 1e6,
                            .hit = 0.5,
                            .right = 0.75,
                            .waste = 0.5,
                            .bandwidth = 1e9,
                            .latency = 1e-4,
                            .layer_seconds = 1e-3,
                            .rest_seconds = 2e-3};
    geodec_closed_form_times t = geodec_closed_form_of(&f); /* 2 misses of 1.1 ms a layer */
    near(t.bytes, 20e6, 1e-3);
    near(t.read_bytes, 30e6, 1e-3);
    near(t.no_overlap, 2e-3 + 10e-3 + 22e-3, 1e-12);
    near(t.double_buffer, 2e-3 + 22e-3, 1e-12);
    near(t.look_ahead, 2e-3 + 10 * fmax(1e-3 + 0.25 * 2.2e-3, 3e-3), 1e-12);
    near(t.wall, 20e-3, 1e-12);
    f.layer_seconds = 4e-3; /* computing is the wall */
    t = geodec_closed_form_of(&f);
    near(t.double_buffer, 42e-3, 1e-12);
    near(t.look_ahead, 2e-3 + 10 * (4e-3 + 0.55e-3), 1e-12);
    f.hit = 1;
    t = geodec_closed_form_of(&f);
    near(t.no_overlap, 42e-3, 1e-12);
    near(t.wall, 0, 0);
}

/* The published table of plans, at 2.5 GB/s. It has two or three digits: 2.453 is printed as 2.5. */
Test(closed_form, table_of_plans)
{
    static const struct {
        const char *name;
        double store, blob;
        int reads;
        double bytes, speed[5];
    } rows[] = {
        {"PERSPECTIVE", 208e9, 27.07e6, 60, 1.624e9, {1.54, 2.05, 3.08, 6.16, 15.4}},
        {"OLMoE-1B-7B Q4_0", 3.6e9, 3.54e6, 128, 0.453e9, {5.5, 7.4, 11.0, 22, 55}},
        {"OLMoE-1B-7B Q8_0", 6.8e9, 6.68e6, 128, 0.856e9, {2.9, 3.9, 5.8, 11.7, 29}},
        {"Qwen3-30B-A3B Q4_0", 16.3e9, 2.65e6, 384, 1.019e9, {2.5, 3.3, 4.9, 9.8, 24.5}},
        {"Mixtral-8x7B Q4_0", 25.4e9, 99.1e6, 64, 6.34e9, {0.39, 0.53, 0.79, 1.6, 3.9}},
    };
    static const double hit[5] = {0, .25, .5, .75, .9};
    int32_t n = 0;
    const geodec_closed_form_model *const m = geodec_closed_form_models(&n);
    cr_assert_eq(n, 5);
    for (int i = 0; i < 5; i++) {
        cr_assert_eq(strncmp(m[i].name, rows[i].name, strlen(rows[i].name)), 0);
        near(m[i].store / rows[i].store, 1, 0.015);
        near(m[i].blob / rows[i].blob, 1, 0.002);
        cr_assert_eq(m[i].layers * m[i].used, rows[i].reads);
        for (int k = 0; k < 5; k++) {
            const geodec_closed_form f = {
                .layers = m[i].layers, .used = m[i].used, .blob = m[i].blob, .hit = hit[k], .bandwidth = 2.5e9};
            const geodec_closed_form_times t = geodec_closed_form_of(&f);
            if (k == 0) near(t.bytes / rows[i].bytes, 1, 0.002);
            near(1 / t.wall / rows[i].speed[k], 1, 0.021);
        }
    }
}
