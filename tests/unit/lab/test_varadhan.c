/* Attention that is a heat kernel of the sphere, where logarithms are known in closed form, and attention that is not.
 */
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "geometry/closed_forms.h"
#include "geometry/space_closed.h"
#include "lab/varadhan/varadhan.h"
#include "linalg/expm.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 2, QUERIES = 40, COLUMNS = 3, SITES = 9, POINTS = 1 + GEODEC_VARADHAN_KEYS, FORMS = GEODEC_VARADHAN_FORMS };

typedef struct world {
    geodec_space_conformal sphere;
    double site[SITES * N], log_g[SITES * 3], state[QUERIES * POINTS * N], gradient[QUERIES * COLUMNS * FORMS * N];
    double log[QUERIES * GEODEC_VARADHAN_KEYS * N]; /* exact logarithms */
    int32_t text[QUERIES];
    geodec_varadhan_queries q;
    geodec_harness_sites f;
    geodec_harness_split split;
    geodec_varadhan_options o;
} world;

/* Query x and keys exp_x(v), with the velocities kept. */
static world *begin(void)
{
    world *w = geodec_mem_new(1, sizeof *w);
    geodec_err err = {0};
    geodec_linalg_init();
    test_ok(geodec_space_conformal_init(&w->sphere, N, 1, &err), &err);
    for (int i = 0; i < SITES; i++) {
        double g[N * N], l[N * N];
        w->site[i * N] = 0.5 * (i / 3) - 0.5;
        w->site[i * N + 1] = 0.5 * (i % 3) - 0.5;
        test_ok(w->sphere.base.at(&w->sphere.base, w->site + i * N, g, NULL, NULL, &err), &err);
        test_ok(geodec_logm_spd(N, g, l, &err), &err);
        geodec_sym_pack(N, l, w->log_g + i * 3);
    }
    for (int i = 0; i < QUERIES; i++) {
        geodec_rng r = geodec_rng_stream(8, geodec_rng_id("query", (uint64_t)i));
        double *x = w->state + i * POINTS * N;
        for (int a = 0; a < N; a++) x[a] = geodec_rng_uniform(&r) - 0.5;
        for (int k = 0; k < GEODEC_VARADHAN_KEYS; k++) {
            double *v = w->log + (i * GEODEC_VARADHAN_KEYS + k) * N;
            const double turn = 6.283185307179586 * geodec_rng_uniform(&r), length = 0.2 + 0.5 * geodec_rng_uniform(&r);
            v[0] = length * cos(turn);
            v[1] = length * sin(turn);
            test_ok(closed_geodesic(&w->sphere, x, v, 1, x + (k + 1) * N, &err), &err);
        }
        w->text[i] = i / 4;
    }
    w->q = (geodec_varadhan_queries){
        .queries = QUERIES, .n = N, .columns = COLUMNS, .text = w->text, .state = w->state, .gradient = w->gradient};
    w->f = (geodec_harness_sites){
        .sites = SITES, .site = w->site, .log_g = w->log_g, .sigma = 0.5, .space = &w->sphere.base};
    w->split = geodec_harness_split_defaults();
    w->o = geodec_varadhan_defaults();
    w->o.rtol = 1e-8;
    w->o.replicates = 100;
    return w;
}

/* Attention p_k ~ exp(-d(x, y_k)^2 / 2) over the four keys: d log p_a = g (log_a - sum_k p_k log_k); the score alone g
 * log_a; the pair g (log_a - log_b). All columns are equal. */
static void heat_kernel(world *w)
{
    geodec_err err = {0};
    for (int i = 0; i < QUERIES; i++) {
        double g[N * N], p[GEODEC_VARADHAN_KEYS], sum = 0, v[FORMS][N];
        const double *log = w->log + i * GEODEC_VARADHAN_KEYS * N;
        test_ok(w->sphere.base.at(&w->sphere.base, w->state + i * POINTS * N, g, NULL, NULL, &err), &err);
        for (int k = 0; k < GEODEC_VARADHAN_KEYS; k++)
            sum += p[k] = exp(-0.5 * g[0] * (log[k * N] * log[k * N] + log[k * N + 1] * log[k * N + 1]));
        for (int a = 0; a < N; a++) {
            v[0][a] = v[1][a] = log[a];
            v[2][a] = log[a] - log[N + a];
            for (int k = 0; k < GEODEC_VARADHAN_KEYS; k++) v[0][a] -= p[k] / sum * log[k * N + a];
        }
        for (int c = 0; c < COLUMNS; c++)
            for (int f = 0; f < FORMS; f++)
                for (int a = 0; a < N; a++)
                    w->gradient[((i * COLUMNS + c) * FORMS + f) * N + a] = (c + 1) * g[a * N + a] * v[f][a];
    }
}

static double mean(const geodec_varadhan *v, int form, geodec_varadhan_direction d)
{
    return v->cosine[0][form][d].value;
}

Test(varadhan, a_heat_kernel_of_the_sphere_is_recognised)
{
    geodec_err err = {0};
    world *w = begin();
    geodec_varadhan v;
    heat_kernel(w);
    test_ok(geodec_varadhan_run(&w->q, &w->f, &w->split, &w->o, NULL, NULL, &v, &err), &err);
    cr_assert(v.queries == QUERIES && v.texts == QUERIES / 4);
    for (int form = 1; form < FORMS; form++) { /* score and pair: exactly the logarithm's direction */
        cr_assert_eq(v.counted[form][GEODEC_VARADHAN_LOG], QUERIES);
        cr_assert_gt(mean(&v, form, GEODEC_VARADHAN_LOG), 1 - 1e-6);
        cr_assert_lt(mean(&v, form, GEODEC_VARADHAN_EUCLID), 1 - 1e-4); /* chords turn */
        cr_assert_gt(v.excess[0][form][GEODEC_VARADHAN_EUCLID].low, 0);
        cr_assert_lt(fabs(mean(&v, form, GEODEC_VARADHAN_WRONG_LOG)), 0.35);
        cr_assert_lt(fabs(mean(&v, form, GEODEC_VARADHAN_NOISE)), 0.35);
    }
    /* the softmax term rotates the gradient of the weight away from the key, and towards no other key */
    cr_assert(mean(&v, 0, GEODEC_VARADHAN_LOG) > 0.5 && mean(&v, 0, GEODEC_VARADHAN_LOG) < 0.999);
    cr_assert_lt(mean(&v, 0, GEODEC_VARADHAN_WRONG_LOG), 0.1);
    for (int f = 0; f < FORMS; f++) {
        /* a conformal metric is isotropic: chord in g and Euclidean chord are one */
        cr_assert_float_eq(mean(&v, f, GEODEC_VARADHAN_CHORD), mean(&v, f, GEODEC_VARADHAN_EUCLID), 1e-12);
        cr_assert_eq(v.counted[f][GEODEC_VARADHAN_STREAM], 0); /* not given */
        for (int c = 0; c < COLUMNS - 1; c++)
            cr_assert_float_eq(v.head[(c * FORMS + f) * GEODEC_VARADHAN_DIRECTIONS], mean(&v, f, GEODEC_VARADHAN_LOG),
                               1e-12);
    }
    cr_assert(v.planted == 8 && v.planted_cosine.value > 1 - 1e-5, "planted %g", v.planted_cosine.value);
    geodec_varadhan_clear(&v);
    geodec_mem_free(w);
}

/* Attention by plain products q . k with q = x: the score rises along the key itself, the pair along the chord. */
Test(varadhan, dot_product_attention_follows_the_euclidean_chord)
{
    geodec_err err = {0};
    world *w = begin();
    geodec_varadhan v, again;
    geodec_pool *pool;
    for (int i = 0; i < QUERIES; i++)
        for (int c = 0; c < COLUMNS; c++)
            for (int f = 0; f < FORMS; f++)
                for (int a = 0; a < N; a++) {
                    const double *key = w->state + (i * POINTS + 1) * N;
                    w->gradient[((i * COLUMNS + c) * FORMS + f) * N + a] = f == 2 ? key[a] - key[N + a] : key[a];
                }
    test_ok(geodec_varadhan_run(&w->q, &w->f, &w->split, &w->o, NULL, NULL, &v, &err), &err);
    cr_assert_float_eq(mean(&v, 2, GEODEC_VARADHAN_EUCLID), 1, 1e-12);
    cr_assert_lt(v.excess[0][2][GEODEC_VARADHAN_EUCLID].high, 0);
    cr_assert_lt(mean(&v, 1, GEODEC_VARADHAN_EUCLID), 0.95); /* the key is no direction from x */
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_varadhan_run(&w->q, &w->f, &w->split, &w->o, pool, NULL, &again, &err), &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(memcmp(v.cosine, again.cosine, sizeof v.cosine), 0);
    cr_assert_eq(memcmp(v.excess, again.excess, sizeof v.excess), 0);
    geodec_varadhan_clear(&v);
    geodec_varadhan_clear(&again);
    w->gradient[5] = NAN;
    cr_assert_eq(geodec_varadhan_run(&w->q, &w->f, &w->split, &w->o, NULL, NULL, &v, NULL), GEODEC_NUMERIC);
    w->gradient[5] = 0;
    w->q.columns = 1;
    cr_assert_eq(geodec_varadhan_run(&w->q, &w->f, &w->split, &w->o, NULL, NULL, &v, NULL), GEODEC_RANGE);
    geodec_mem_free(w);
}

/* The positive control replaces gradients that know nothing of the metric. At share s the covector is s u + (1 - s) r
 * with u and r of length 1, so that its cosine with the logarithm is about s / sqrt(s^2 + (1 - s)^2). */
Test(varadhan, planted_shares_of_a_heat_kernel_are_found_in_proportion)
{
    static const double share[] = {0, 0.5, 1};
    geodec_err err = {0};
    world *w = begin();
    for (int i = 0; i < QUERIES * COLUMNS * FORMS * N; i++) w->gradient[i] = 1;
    for (int k = 0; k < 3; k++) {
        geodec_varadhan v;
        w->o.kernel = share[k];
        test_ok(geodec_varadhan_run(&w->q, &w->f, &w->split, &w->o, NULL, NULL, &v, &err), &err);
        const double want = share[k] / hypot(share[k], 1 - share[k]);
        for (int form = 0; form < FORMS; form++) {
            const double got = mean(&v, form, GEODEC_VARADHAN_LOG);
            cr_assert_float_eq(got, want, k == 2 ? 1e-9 : 0.2, "share %g, form %d: %g, not %g", share[k], form, got,
                               want);
        }
        geodec_varadhan_clear(&v);
    }
    w->o.kernel = 1.5;
    geodec_varadhan v;
    cr_assert_eq(geodec_varadhan_run(&w->q, &w->f, &w->split, &w->o, NULL, NULL, &v, NULL), GEODEC_RANGE);
    geodec_mem_free(w);
}
