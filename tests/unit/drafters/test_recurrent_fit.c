/* The recurrent net: its equations, its fit on a world with a known flow, and files with mutations. */
#include "base/mem.h"
#include "base/rng.h"
#include "drafters/recurrent.h"
#include "flowmap/flow_world.h"
#include "io/file.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TEXTS = 160, LENGTH = 60, D = 3, WIDTH = 16, CLASSES = 5, VOCAB = 9 };

static geodec_recurrent nonsense(void)
{
    geodec_recurrent r = {.d = D, .vocab = VOCAB, .width = WIDTH, .classes = CLASSES, .cover = 1};
    r.weights = geodec_recurrent_count(&r);
    r.weight = geodec_mem_new(r.weights, sizeof *r.weight);
    r.token_of = geodec_mem_new(CLASSES, sizeof *r.token_of);
    r.class_of = geodec_mem_new(VOCAB, sizeof *r.class_of);
    cr_assert(r.weight && r.token_of && r.class_of);
    for (int64_t i = 0; i < r.weights; i++) r.weight[i] = (float)(geodec_rng_uniform_at(3, 3, (uint64_t)i) - 0.5);
    for (int v = 0; v < VOCAB; v++) r.class_of[v] = v % 2 ? CLASSES : v / 2;
    for (int c = 0; c < CLASSES; c++) r.token_of[c] = 2 * c;
    return r;
}

Test(recurrent, arrays_fill_the_weights)
{
    geodec_recurrent r = nonsense();
    const geodec_recurrent_arrays w = geodec_recurrent_parts(&r);
    cr_assert_eq(w.start, r.weight);
    cr_assert_eq(w.prior + CLASSES, r.weight + r.weights);
    geodec_recurrent_clear(&r);
}

/* Two steps, written out in double. */
Test(recurrent, is_the_net_of_its_header)
{
    geodec_recurrent r = nonsense();
    const geodec_recurrent_arrays w = geodec_recurrent_parts(&r);
    const int32_t x[2][3] = {{4, 3, -1}, {8, 4, 3}};
    float f[3 * D], c[WIDTH], h[WIDTH], p[CLASSES];
    double at[WIDTH], a[WIDTH], up[WIDTH], logit[CLASSES], sum;
    const float state[2][D] = {{1, -2, 0.5F}, {3, 1, -1}};
    double run[3][D];
    for (int t = 0; t < 2; t++) { /* the features */
        geodec_recurrent_advance(D, state[t], t == 0, f);
        double square = 0;
        for (int i = 0; i < D; i++) square += pow((double)state[t][i], 2);
        for (int i = 0; i < D; i++) {
            const double s = (double)state[t][i] / sqrt(square / D + 1e-5);
            run[0][i] = s;
            run[1][i] = t == 0 ? s : 0.5 * run[1][i] + 0.5 * s;
            run[2][i] = t == 0 ? s : 0.9 * run[2][i] + 0.1 * s;
        }
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < D; i++) cr_assert_float_eq((double)f[k * D + i], run[k][i], 1e-5);
    for (int i = 0; i < WIDTH; i++) {
        at[i] = (double)w.start[i];
        for (int q = 0; q < 3 * D; q++) at[i] += (double)f[q] * (double)w.input[q * WIDTH + i];
    }
    geodec_recurrent_start(&r, f, c);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < WIDTH; i++) {
            cr_assert_float_eq((double)c[i], at[i], 1e-4);
            a[i] = at[i];
            for (int b = 0; b < 3; b++) {
                const int class = x[k][b] < 0 ? CLASSES : r.class_of[x[k][b]];
                a[i] += (double)w.token[(b * (CLASSES + 1) + class) * WIDTH + i];
            }
            a[i] = fmax(a[i], 0);
        }
        for (int i = 0; i < WIDTH; i++) {
            double z = (double)w.bias[i];
            for (int q = 0; q < WIDTH; q++) z += a[q] * (double)w.hidden[q * WIDTH + i];
            up[i] = a[i] + fmax(z, 0);
        }
        sum = 0;
        for (int v = 0; v < CLASSES; v++) {
            logit[v] = (double)w.prior[v];
            for (int q = 0; q < WIDTH; q++) logit[v] += up[q] * (double)w.head[q * CLASSES + v];
            sum += exp(logit[v]);
        }
        for (int i = 0; i < WIDTH; i++) {
            at[i] = 0;
            for (int q = 0; q < WIDTH; q++) at[i] += up[q] * (double)w.carry[q * WIDTH + i];
        }
        geodec_recurrent_step(&r, c, x[k], h);
        geodec_recurrent_probabilities(&r, h, p);
        for (int v = 0; v < CLASSES; v++) cr_assert_float_eq((double)p[v], exp(logit[v]) / sum, 1e-4);
        geodec_recurrent_carry(&r, h, c);
    }
    geodec_recurrent_clear(&r);
}

Test(recurrent, softmax_is_one_whatever_comes)
{
    for (int n = 1; n < 40; n++) {
        float x[40];
        double sum = 0, want = 0;
        for (int i = 0; i < n; i++) {
            x[i] = 30 * (float)(geodec_rng_uniform_at(5, (uint64_t)n, (uint64_t)i) - 0.5);
            want += exp((double)x[i]);
        }
        const double first = exp((double)x[0]) / want;
        geodec_recurrent_softmax(n, x);
        cr_assert_float_eq((double)x[0], first, 1e-5 * first + 1e-12);
        for (int i = 0; i < n; i++) sum += (double)x[i];
        cr_assert_float_eq(sum, 1, 1e-5);
    }
    float bad[3] = {NAN, INFINITY, -INFINITY};
    geodec_recurrent_softmax(3, bad);
    for (int i = 0; i < 3; i++) cr_assert(bad[i] >= 0 && bad[i] <= 1, "%g", (double)bad[i]);
}

static void fit_to(const char *path, int threads, geodec_recurrent_summary *s)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL, *out = NULL;
    geodec_activations v;
    geodec_pool *pool = NULL;
    geodec_recurrent r;
    geodec_recurrent_options o = geodec_recurrent_defaults();
    const geodec_provenance p = {
        .tool = "t", .command_line = "t", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    geodec_io_init();
    o.width = 32;
    o.epochs = 6;
    o.sampled = 1; /* the world's logits are not those that its texts are sampled from */
    test_ok(
        geodec_artifact_open(&geodec_activations_kind, world_file("recurrent-world.h5", 5, TEXTS, LENGTH), &a, &err),
        &err);
    test_ok(geodec_activations_view(a, &v, &err), &err);
    test_ok(geodec_pool_create(threads, &pool, &err), &err);
    test_ok(geodec_recurrent_fit(&v, &o, &r, s, pool, NULL, &err), &err);
    test_ok(geodec_artifact_create(&geodec_recurrent_kind, path, &p, &out, &err), &err);
    test_ok(geodec_recurrent_write(&r, s, out, &err), &err);
    test_ok(geodec_artifact_commit(out, &err), &err);
    geodec_recurrent_clear(&r);
    geodec_pool_destroy(pool);
    geodec_artifact_close(a);
}

Test(recurrent, knows_more_than_a_bigram)
{
    geodec_err err = {0};
    geodec_recurrent_summary s, again;
    geodec_recurrent r;
    geodec_artifact *in = NULL;
    char *one = geodec_mem_strdup(test_tmp("recurrent-1.h5")), *three = geodec_mem_strdup(test_tmp("recurrent-3.h5"));
    char a[GEODEC_SHA256_HEX], b[GEODEC_SHA256_HEX];
    fit_to(one, 1, &s);
    fit_to(three, 3, &again);
    test_ok(geodec_file_sha256(one, a, &err), &err);
    test_ok(geodec_file_sha256(three, b, &err), &err);
    cr_assert_str_eq(a, b, "the bytes depend on the threads");
    cr_assert_gt(s.places, 300);
    cr_assert_lt(s.loss[0], s.bigram - 0.1, "%g, bigram %g", s.loss[0], s.bigram);
    cr_assert_lt(s.bigram, s.unigram);
    cr_assert_lt(s.loss[3], s.unigram, "four drafts on it still knows something: %g", s.loss[3]);
    test_ok(geodec_artifact_open(&geodec_recurrent_kind, one, &in, &err), &err);
    test_ok(geodec_recurrent_read(in, &r, &err), &err);
    cr_assert_eq(r.d, WORLD_D);
    cr_assert_eq(r.vocab, WORLD_VOCAB);
    cr_assert_float_eq(r.cover, 1, 1e-12);
    for (int64_t c = 0; c < r.classes; c++) cr_assert_eq(r.class_of[r.token_of[c]], c);
    geodec_recurrent_clear(&r);
    geodec_artifact_close(in);
    geodec_mem_free(one);
    geodec_mem_free(three);
}

Test(recurrent, refuses_what_it_cannot_fit)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    geodec_activations v;
    geodec_recurrent r;
    geodec_recurrent_summary s;
    geodec_io_init();
    test_ok(geodec_artifact_open(&geodec_activations_kind, world_file("recurrent-small.h5", 5, 2, 4), &a, &err), &err);
    test_ok(geodec_activations_view(a, &v, &err), &err);
    geodec_recurrent_options o = geodec_recurrent_defaults();
    cr_assert_eq(geodec_recurrent_fit(&v, &o, &r, &s, NULL, NULL, &err), GEODEC_SCARCE);
    o.width = 20;
    cr_assert_eq(geodec_recurrent_fit(&v, &o, &r, &s, NULL, NULL, &err), GEODEC_RANGE);
    o = geodec_recurrent_defaults();
    o.epochs = NAN;
    cr_assert_eq(geodec_recurrent_fit(&v, &o, &r, &s, NULL, NULL, &err), GEODEC_RANGE);
    geodec_artifact_close(a);
}

/* Files with other contents. */
static void mutations(int how, geodec_status want)
{
    geodec_err err = {0};
    geodec_artifact *out = NULL, *in = NULL;
    geodec_recurrent r = nonsense(), got;
    const geodec_recurrent_summary s = {0};
    const char *path = test_tmp("recurrent-lies.h5");
    const geodec_provenance p = {
        .tool = "t", .command_line = "t", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    geodec_io_init();
    if (how == 1) r.weight[r.weights - 2] = 2e4F;
    if (how == 2) r.weight[WIDTH + 1] = -1e30F;
    if (how == 3) r.token_of[2] = r.token_of[1];
    if (how == 4) r.token_of[CLASSES - 1] = VOCAB;
    if (how == 5) r.vocab = 3;
    if (how == 6) r.cover = 2;
    test_ok(geodec_artifact_create(&geodec_recurrent_kind, path, &p, &out, &err), &err);
    test_ok(geodec_recurrent_write(&r, &s, out, &err), &err);
    test_ok(geodec_artifact_commit(out, &err), &err);
    test_ok(geodec_artifact_open(&geodec_recurrent_kind, path, &in, &err), &err);
    cr_assert_eq(geodec_recurrent_read(in, &got, &err), want, "lie %d", how);
    if (want == GEODEC_OK) {
        cr_assert_eq(memcmp(got.weight, r.weight, (size_t)r.weights * sizeof *r.weight), 0);
        cr_assert_eq(memcmp(got.class_of, r.class_of, VOCAB * sizeof *r.class_of), 0);
        geodec_recurrent_clear(&got);
    }
    geodec_artifact_close(in);
    geodec_recurrent_clear(&r);
}

Test(recurrent, inconsistent_files_are_refused)
{
    mutations(0, GEODEC_OK);
    for (int how = 1; how <= 6; how++) mutations(how, GEODEC_FORMAT);
}
