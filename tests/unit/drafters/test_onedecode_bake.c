/* Counts, the first-order step, OneDecode's cells and the published table. */
#include "base/mem.h"
#include "base/rng.h"
#include "drafters/onedecode.h"
#include "drafters/onedecode_ref.h"
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

/* ---- as published ----------------------------------------------------------------------------------------------- */

Test(onedecode_ref, equals_the_formula)
{
    enum { V = 300, D = 9 };
    geodec_err err = {0};
    static float e[V * D];
    geodec_onedecode_ref t, flat;
    int64_t same = 0;
    for (int i = 0; i < V * D; i++) e[i] = (float)(geodec_rng_uniform_at(2, 2, (uint64_t)i) - 0.5);
    test_ok(geodec_onedecode_ref_bake(V, D, e, false, NULL, &t, &err), &err);
    test_ok(geodec_onedecode_ref_bake(V, D, e, true, NULL, &flat, &err), &err);
    cr_assert_eq(t.n, V);
    cr_assert_eq(t.k, D);
    for (int64_t i = 0; i < V; i++) {
        cr_assert_eq(t.id[i], i);
        double best = -INFINITY, p2 = 0, q2 = 0, dot = 0;
        int64_t token = -1;
        for (int64_t c = 0; c < D; c++) { /* the flat endpoint lies radially outward */
            const double p = (double)flat.source[i * D + c], q = (double)flat.endpoint[i * D + c];
            p2 += p * p;
            q2 += q * q;
            dot += p * q;
        }
        cr_assert_gt(q2, p2);
        cr_assert_float_eq(dot, sqrt(p2 * q2), 1e-5);
        for (int64_t u = 0; u < V; u++) {
            double x = 0;
            for (int64_t c = 0; c < D; c++) x += (double)t.endpoint[i * D + c] * (double)t.source[u * D + c];
            if (x > best) {
                best = x;
                token = u;
            }
        }
        cr_assert_eq(t.token[i], token);
        same += t.token[i] == flat.token[i];
        /* A lookup of a token after itself uses its own direction. */
        const int32_t said = geodec_onedecode_ref_after(&flat, (int32_t)i, (int32_t)i);
        cr_assert_eq(said, flat.token[i]);
    }
    cr_assert_gt(same, V / 2, "curvature is a correction");
    cr_assert_eq(geodec_onedecode_ref_after(&t, 0, V), -1);
    cr_assert_eq(geodec_onedecode_ref_after(&t, -1, 0), -1);
    geodec_onedecode_ref_clear(&t);
    geodec_onedecode_ref_clear(&flat);
    cr_assert_eq(geodec_onedecode_ref_bake(20, D, e, false, NULL, &t, &err), GEODEC_SCARCE);
}
