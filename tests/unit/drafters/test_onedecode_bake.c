/* Counts, the first-order step and OneDecode's cells. */
#include "base/mem.h"
#include "base/rng.h"
#include "drafters/onedecode.h"
#include "flowmap/flow_world.h"
#include "io/file.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { TEXTS = 120, LENGTH = 60 };

Test(counts, equal_brute_force)
{
    enum { N = 500, CELLS = 7, VOCAB = 11 };
    geodec_err err = {0};
    geodec_counts c;
    int32_t cell[N], label[N];
    for (int i = 0; i < N; i++) {
        cell[i] = (int32_t)(geodec_rng_at(1, 1, (uint64_t)i) % (CELLS + 1)) - 1;
        label[i] = (int32_t)(geodec_rng_at(1, 2, (uint64_t)i) % (VOCAB + 1)) - 1;
        if (cell[i] == 3) cell[i] = 4; /* an empty one */
    }
    test_ok(geodec_counts_make(CELLS, N, cell, label, &c, &err), &err);
    test_ok(geodec_counts_check(&c, VOCAB, "c", &err), &err);
    for (int32_t k = 0; k < CELLS; k++) {
        uint32_t total = 0, before = UINT32_MAX;
        for (int32_t v = 0; v < VOCAB; v++) {
            uint32_t want = 0;
            for (int i = 0; i < N; i++) want += cell[i] == k && label[i] == v;
            const int64_t rank = geodec_counts_rank(&c, k, v);
            cr_assert_eq(rank < 0, want == 0);
            if (rank >= 0) cr_assert_eq(c.count[c.start[k] + rank], want);
            total += want;
        }
        cr_assert_eq(c.total[k], total);
        for (int64_t i = c.start[k]; i < c.start[k + 1]; before = c.count[i++]) {
            cr_assert_leq(c.count[i], before);
            if (i > c.start[k] && c.count[i] == before) cr_assert_gt(c.token[i], c.token[i - 1]);
        }
    }
    cell[0] = CELLS;
    geodec_counts none;
    cr_assert_eq(geodec_counts_make(CELLS, N, cell, label, &none, &err), GEODEC_RANGE);
    /* Possible contents of a file. */
    c.token[0] = VOCAB;
    cr_assert_eq(geodec_counts_check(&c, VOCAB, "c", &err), GEODEC_FORMAT);
    c.token[0] = 0;
    c.total[0]++;
    cr_assert_eq(geodec_counts_check(&c, VOCAB, "c", &err), GEODEC_FORMAT);
    c.total[0]--;
    c.start[1] = c.entries + 1;
    cr_assert_eq(geodec_counts_check(&c, VOCAB, "c", &err), GEODEC_FORMAT);
    geodec_counts_clear(&c);
}

static geodec_artifact *world(geodec_activations *v)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    geodec_io_init();
    test_ok(
        geodec_artifact_open(&geodec_activations_kind, world_file("onedecode-world.h5", 5, TEXTS, LENGTH), &a, &err),
        &err);
    test_ok(geodec_activations_view(a, v, &err), &err);
    return a;
}

/* On unseen texts the step is better than no movement, and better with the newest token than without it. */
Test(step, predicts_states_of_new_texts)
{
    geodec_err err = {0};
    geodec_activations v;
    geodec_artifact *a = world(&v);
    geodec_step_options o = geodec_step_defaults();
    geodec_step s, blind;
    geodec_step_rows r;
    double stay = 0, error = 0, unseeing = 0;
    int64_t n = 0;
    o.k = 8;
    test_ok(geodec_step_fit(&v, &o, NULL, &s, &r, &err), &err);
    o.blind = true;
    test_ok(geodec_step_refit(&s, &r, &o, &blind, &err), &err);
    for (int64_t i = 1; i < r.rows; i++) {
        if (r.sequence[i] != r.sequence[i - 1] || geodec_step_part_of(0, r.sequence[i]) != GEODEC_STEP_TEST) continue;
        float x[8], y[8];
        if (!geodec_step_advance(&s, r.z + (i - 1) * 8, r.token[i], x)) continue;
        cr_assert(geodec_step_advance(&blind, r.z + (i - 1) * 8, r.token[i], y));
        n++;
        for (int c = 0; c < 8; c++) {
            const double z = (double)r.z[i * 8 + c];
            stay += pow(z - (double)r.z[(i - 1) * 8 + c], 2);
            error += pow(z - (double)x[c], 2);
            unseeing += pow(z - (double)y[c], 2);
        }
    }
    cr_assert_gt(n, 100);
    cr_assert_lt(error, 0.5 * stay, "%g against %g", error, stay);
    cr_assert_lt(error, 0.9 * unseeing, "%g against %g", error, unseeing);
    float z[8] = {0};
    cr_assert(!geodec_step_advance(&s, z, -1, z) && !geodec_step_advance(&s, z, WORLD_VOCAB, z));
    geodec_step_clear(&s);
    geodec_step_clear(&blind);
    geodec_step_rows_clear(&r);
    geodec_artifact_close(a);
}

/* The fit's own equation: residuals within a token are orthogonal to the states before, as far as the ridge goes. */
Test(step, is_the_stated_regression)
{
    geodec_err err = {0};
    geodec_activations v;
    geodec_artifact *a = world(&v);
    geodec_step_options o = geodec_step_defaults();
    geodec_step s;
    geodec_step_rows r;
    double residual[WORLD_VOCAB][6] = {{0}}, cross[6][6] = {{0}}, scale = 0;
    o.k = 6;
    o.ridge = 1e-6;
    test_ok(geodec_step_fit(&v, &o, NULL, &s, &r, &err), &err);
    for (int64_t i = 1; i < r.rows; i++) {
        if (r.sequence[i] != r.sequence[i - 1] || geodec_step_part_of(0, r.sequence[i]) != GEODEC_STEP_FIT) continue;
        float x[6];
        cr_assert(geodec_step_advance(&s, r.z + (i - 1) * 6, r.token[i], x));
        for (int c = 0; c < 6; c++) {
            const double e = (double)r.z[i * 6 + c] - (double)x[c];
            residual[r.token[i]][c] += e;
            for (int q = 0; q < 6; q++) {
                cross[c][q] += e * (double)r.z[(i - 1) * 6 + q];
                scale += fabs(e * (double)r.z[(i - 1) * 6 + q]);
            }
        }
    }
    for (int t = 0; t < WORLD_VOCAB; t++)
        for (int c = 0; c < 6; c++) cr_assert_lt(fabs(residual[t][c]), 1e-4 * scale);
    for (int c = 0; c < 6; c++)
        for (int q = 0; q < 6; q++) cr_assert_lt(fabs(cross[c][q]), 1e-4 * scale);
    geodec_step_clear(&s);
    geodec_step_rows_clear(&r);
    geodec_artifact_close(a);
}

static void bake_to(const char *path, int threads, geodec_onedecode_summary *s)
{
    geodec_err err = {0};
    geodec_activations v;
    geodec_artifact *a = world(&v), *out = NULL;
    geodec_pool *pool = NULL;
    geodec_onedecode t;
    geodec_onedecode_options o = geodec_onedecode_defaults();
    const geodec_provenance p = {
        .tool = "t", .command_line = "t", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    o.cells = 200;
    test_ok(geodec_pool_create(threads, &pool, &err), &err);
    test_ok(geodec_onedecode_bake(&v, &o, &t, s, pool, NULL, &err), &err);
    test_ok(geodec_artifact_create(&geodec_onedecode_kind, path, &p, &out, &err), &err);
    test_ok(geodec_onedecode_write(&t, s, out, &err), &err);
    test_ok(geodec_artifact_commit(out, &err), &err);
    geodec_onedecode_clear(&t);
    geodec_pool_destroy(pool);
    geodec_artifact_close(a);
}

Test(onedecode, knows_more_than_a_bigram_and_how_much)
{
    geodec_err err = {0};
    geodec_onedecode_summary s, again;
    geodec_onedecode t;
    geodec_artifact *in = NULL;
    char *one = geodec_mem_strdup(test_tmp("onedecode-1.h5")), *two = geodec_mem_strdup(test_tmp("onedecode-2.h5"));
    bake_to(one, 1, &s);
    bake_to(two, 2, &again);
    cr_assert_gt(s.places, 300);
    cr_assert_gt(s.cells_figures.top1, s.bigram.top1 + 0.05, "%g, bigram %g", s.cells_figures.top1, s.bigram.top1);
    cr_assert_gt(s.bigram.top1, s.unigram.top1);
    cr_assert_float_eq(s.claimed, s.right, 0.1);
    char *x = NULL, *y = NULL;
    size_t nx, ny;
    test_ok(geodec_file_read(one, 1 << 28, &x, &nx, &err), &err);
    test_ok(geodec_file_read(two, 1 << 28, &y, &ny, &err), &err);
    cr_assert(nx == ny && memcmp(x, y, nx) == 0, "the bytes depend on the threads");
    test_ok(geodec_artifact_open(&geodec_onedecode_kind, one, &in, &err), &err);
    test_ok(geodec_onedecode_read(in, &t, &err), &err);
    for (int64_t c = 0; c < t.counts.cells; c++) /* every centre is its own nearest, or equals another */
        cr_assert_leq(geodec_onedecode_cell(&t, t.centroid + c * t.step.k), c);
    geodec_onedecode_clear(&t);
    geodec_artifact_close(in);
    geodec_mem_free(x);
    geodec_mem_free(y);
    geodec_mem_free(one);
    geodec_mem_free(two);
}
