/* Block summaries where the answer is known: on flat space with straight texts the nearest anchor's shift is exact for
 * parallel texts, a blend is exact for affine ones, and a shuffled anchor is neither. */
#include "geometry/space_closed.h"
#include "lab/blocks/blocks.h"
#include "lab/published/blocks.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>

enum { TEXTS = 40, LENGTH = 33, N = 3 };

static void make(double *x, int64_t *offset, int32_t *text, int affine)
{
    for (int t = 0; t < TEXTS; t++) {
        double start[N];
        for (int i = 0; i < N; i++) start[i] = sin(1.3 * (t * N + i) * (t * N + i) + 0.2);
        text[t] = t;
        offset[t] = (int64_t)t * LENGTH;
        for (int k = 0; k < LENGTH; k++)
            for (int i = 0; i < N; i++)
                x[(t * LENGTH + k) * N + i] =
                    start[i] + 0.02 * k * (affine ? 1 + 0.5 * start[(i + 1) % N] + 0.2 * start[i] : (double)(i + 1));
    }
    offset[TEXTS] = (int64_t)TEXTS * LENGTH;
}

Test(blocks, straight_texts_in_flat_space)
{
    static double x[TEXTS * LENGTH * N];
    int64_t offset[TEXTS + 1];
    int32_t text[TEXTS];
    const double side[N] = {1, 1, 1};
    geodec_err err = {0};
    geodec_space_torus flat;
    geodec_blocks r;
    geodec_blocks_options o = geodec_blocks_defaults();
    const geodec_harness_split split = geodec_harness_split_defaults();
    const geodec_trajectories t = {.paths = TEXTS, .n = N, .offset = offset, .text = text, .x = x};
    test_ok(geodec_space_torus_init(&flat, N, side, &err), &err);
    make(x, offset, text, 0);
    test_ok(geodec_blocks_run(&flat.base, &t, &split, &o, NULL, NULL, &r, &err), &err);
    cr_assert_eq(r.anchors + r.queries, TEXTS);
    cr_assert_eq(r.texts, r.queries);
    for (int b = 0; b < 8; b++) {
        cr_assert_float_eq(r.error[GEODEC_BLOCKS_PERSISTENCE][b].value, 1, 1e-12);
        for (int p = GEODEC_BLOCKS_MEAN; p <= GEODEC_BLOCKS_ORACLE; p++)
            cr_assert_lt(r.error[p][b].value, 1e-9, "%s", geodec_blocks_predictor_names[p]);
    }
    make(x, offset, text, 1);
    test_ok(geodec_blocks_run(&flat.base, &t, &split, &o, NULL, NULL, &r, &err), &err);
    const double blend = r.error[GEODEC_BLOCKS_SIMPLEX][7].value, near = r.error[GEODEC_BLOCKS_NEAREST][7].value;
    cr_assert_lt(blend, near); /* the motion is affine in the start, so weights that fit x_0 fit the motion */
    cr_assert_lt(near, r.error[GEODEC_BLOCKS_SHUFFLED][7].value);
    cr_assert_leq(r.error[GEODEC_BLOCKS_ORACLE][7].value, blend + 1e-12);
    cr_assert_lt(r.kkt, 1e-10);
    cr_assert_eq(r.broken, 0);
    o.stride = 40;
    cr_assert_eq(geodec_blocks_run(&flat.base, &t, &split, &o, NULL, NULL, &r, &err), GEODEC_SCARCE);
}

Test(blocks, published_first_block_is_where_the_query_is)
{
    enum { P = 30 };
    double point[P * N], velocity[6 * N];
    const int64_t anchor[6] = {0, 3, 7, 11, 18, 25}, query[4] = {1, 2, 9, 28};
    geodec_err err = {0};
    geodec_blocks_published r;
    for (int i = 0; i < P * N; i++) point[i] = 3 * sin(1.7 * i * i + 0.3);
    for (int i = 0; i < 6 * N; i++) velocity[i] = cos(2.9 * i * i);
    test_ok(geodec_blocks_published_run(P, N, point, 6, anchor, velocity, 4, query, false, NULL, NULL, &r, &err), &err);
    cr_assert_lt(r.block[0].mean[0], 1e-12);
    cr_assert_lt(r.block[0].mean[1], 1e-12);
    cr_assert_eq(r.distinct[0], 1);
    cr_assert_eq(geodec_blocks_published_run(P, N, point, 3, anchor, velocity, 4, query, false, NULL, NULL, &r, &err),
                 GEODEC_RANGE);
    const int64_t bad[4] = {1, 2, 9, P};
    cr_assert_eq(geodec_blocks_published_run(P, N, point, 6, anchor, velocity, 4, bad, true, NULL, NULL, &r, &err),
                 GEODEC_RANGE);
}
