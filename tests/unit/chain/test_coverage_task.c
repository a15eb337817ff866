/* Coverage by the task where the next state is known: a rotation, whose step at a neighbour is nearly the own one. */
#include "base/mem.h"
#include "base/rng.h"
#include "chain/coverage_task.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { N = 400 };
static double x[N * 2], after[N * 2];
static uint8_t has[N];
static int32_t says[N];

static geodec_successors rotation(double angle)
{
    geodec_rng r = geodec_rng_stream(2, geodec_rng_id("task", 0));
    double sum = 0;
    for (int i = 0; i < N; i++) {
        x[2 * i] = geodec_rng_normal(&r);
        x[2 * i + 1] = geodec_rng_normal(&r);
        after[2 * i] = cos(angle) * x[2 * i] - sin(angle) * x[2 * i + 1];
        after[2 * i + 1] = sin(angle) * x[2 * i] + cos(angle) * x[2 * i + 1];
        for (int a = 0; a < 2; a++) sum += pow(after[2 * i + a] - x[2 * i + a], 2) / N;
        has[i] = 1;
        says[i] = x[2 * i] > 0 ? 7 : 9;
    }
    return (geodec_successors){
        .points = N, .k = 2, .known = N, .has = has, .coordinate = after, .rms_step = sqrt(sum), .argmax = says};
}

Test(coverage_task, neighbours_predict_a_rotation_and_controls_do_not)
{
    geodec_coverage_task t, again;
    geodec_err err = {0};
    geodec_pool *pool;
    const geodec_successors next = rotation(1);
    geodec_coverage_options o = geodec_coverage_defaults();
    o.repeats = 4;
    o.queries = 100;
    test_ok(geodec_coverage_task_run(N, 2, x, x, &next, &o, NULL, NULL, &t, &err), &err);
    for (int64_t s = 0; s < t.shares; s++) {
        const double *e = t.error + s * 5, *hit = t.hit + s * 5 * 7, *token = t.token + s * 3;
        cr_assert_lt(e[0], e[2]); /* the neighbour's step beats no step, */
        cr_assert_lt(e[0], e[3]); /* a random step */
        cr_assert_lt(e[1], e[4]); /* and a random successor */
        cr_assert(token[0] > 0.85 && token[1] < 0.65 && token[2] < 0.65);
        for (int p = 0; p < 5; p++)
            for (int k = 1; k < 7; k++) cr_assert_geq(hit[p * 7 + k], hit[p * 7 + k - 1]);
        if (s) cr_assert_lt(e[0], e[-5]); /* a larger cache is nearer */
    }
    cr_assert_float_eq(t.error[2], 0.88, 0.1); /* mean over rms of a Rayleigh length: sqrt(pi) / 2 */
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_coverage_task_run(N, 2, x, x, &next, &o, pool, NULL, &again, &err), &err);
    geodec_pool_destroy(pool);
    cr_assert_eq(memcmp(t.error, again.error, (size_t)(t.shares * 5) * sizeof(double)), 0);
    cr_assert_eq(memcmp(t.token, again.token, (size_t)(t.shares * 3) * sizeof(double)), 0);
    geodec_coverage_task_clear(&t);
    geodec_coverage_task_clear(&again);
}

Test(coverage_task, refusals)
{
    geodec_coverage_task t;
    geodec_err err = {0};
    geodec_successors next = rotation(1);
    geodec_coverage_options o = geodec_coverage_defaults();
    next.known = 5;
    cr_assert_eq(geodec_coverage_task_run(N, 2, x, x, &next, &o, NULL, NULL, &t, &err), GEODEC_SCARCE);
    next = rotation(1);
    memset(has, 0, sizeof has);
    memset(has, 1, 20);
    next.known = 20; /* two cached */
    cr_assert_eq(geodec_coverage_task_run(N, 2, x, x, &next, &o, NULL, NULL, &t, &err), GEODEC_SCARCE);
}

/* Two tokens, of which a state is for one by 2 nats, by the side it lies on: q at the nearest cached state is p but
 * near the border; the mean of the cache is even, so its divergence is ln 2 - H(p); that of a random state is 0 or 2
 * tanh(1), each with probability 1/2. */
Test(coverage_task, divergence_of_next_token_distributions)
{
    static const geodec_field fields[] = {{"/logits", GEODEC_F32, "R,V", 0, "nat", "logits", 0}};
    static const geodec_kind kind = {
        .name = "saying", .major = 1, .tool = "test", .purpose = "test", .fields = fields, .n_fields = 1};
    const geodec_provenance provenance = {.tool = "test", .command_line = "test"};
    const char *path = test_tmp("logits.h5");
    geodec_artifact *a;
    geodec_coverage_task t;
    geodec_err err = {0};
    geodec_successors next = rotation(1);
    geodec_coverage_options o = geodec_coverage_defaults();
    static float logits[N][2];
    static int32_t row[N];
    for (int i = 0; i < N; i++) {
        row[i] = N - 1 - i;
        logits[row[i]][0] = x[2 * i] > 0 ? 101 : 99;
        logits[row[i]][1] = x[2 * i] > 0 ? 99 : 101;
    }
    geodec_io_init();
    test_ok(geodec_artifact_create(&kind, path, &provenance, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "R", N, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "V", 2, &err), &err);
    test_ok(geodec_artifact_write(a, "/logits", logits, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&kind, path, &a, &err), &err);
    next.logits = a;
    next.vocabulary = 2;
    next.row = row;
    o.queries = 100;
    test_ok(geodec_coverage_task_run(N, 2, x, x, &next, &o, NULL, NULL, &t, &err), &err);
    const double wrong = 2 * tanh(1), p = 1 / (1 + exp(-2)), even = log(2) + p * log(p) + (1 - p) * log(1 - p);
    cr_assert(t.has_kl);
    for (int64_t s = 0; s < t.shares; s++) {
        const double *kl = t.kl + s * 3, *hit = t.kl_hit + s * 3 * GEODEC_TASK_NATS, *token = t.token + s * 3;
        for (int q = 0; q < 2; q++) { /* a token that is another costs `wrong`, the same one nothing */
            cr_assert_float_eq(kl[q], (1 - token[q]) * wrong, 1e-9);
            for (int e = 0; e < 5; e++) cr_assert_float_eq(hit[q * GEODEC_TASK_NATS + e], token[q], 1e-9);
            cr_assert_float_eq(hit[q * GEODEC_TASK_NATS + 5], 1, 1e-9); /* `wrong` is 1.52 nats */
        }
        cr_assert_float_eq(kl[2], even, 0.05);
        cr_assert_lt(kl[0], 0.5 * kl[1]);
    }
    geodec_coverage_task_clear(&t);
    geodec_artifact_close(a);
}
