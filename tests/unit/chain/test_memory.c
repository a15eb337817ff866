/* Every allocation of the geometry calls fails once: the call must return an error, leak nothing and write nothing. */
#include "base/mem.h"
#include "chain/christoffel.h"
#include "chain/cloud.h"
#include "chain/metric.h"
#include "io/h5.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <unistd.h>

enum { POINTS = 60, DIM = 3, WIDTH = 10 };

static double point[POINTS * DIM];

static geodec_status fit(geodec_err *err)
{
    geodec_metric m;
    const geodec_metric_options o = geodec_metric_defaults();
    const geodec_status st = geodec_metric_fit(POINTS, DIM, point, &o, NULL, NULL, &m, err);
    if (st == GEODEC_OK) geodec_metric_clear(&m);
    return st;
}

static geodec_status evaluate(geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric m = {0};
    geodec_metric_medians control;
    geodec_rbf *f = NULL;
    geodec_christoffel c = {0};
    double d[DIM * DIM * DIM * DIM];
    const geodec_metric_options o = geodec_metric_defaults();
    const geodec_christoffel_options co = geodec_christoffel_defaults();
    GEODEC_TRY(geodec_metric_fit(POINTS, DIM, point, &o, NULL, NULL, &m, err));
    GEODEC_TRY(geodec_metric_control(&m, 1, NULL, NULL, &control, err));
    GEODEC_TRY(geodec_metric_field(&m, &f, err));
    GEODEC_TRY(geodec_christoffel_compute(geodec_rbf_space(f), 4, point, &co, NULL, NULL, &c, err));
    GEODEC_TRY(geodec_space_dgamma(geodec_rbf_space(f), point, d, err));
done:
    geodec_christoffel_clear(&c);
    geodec_rbf_destroy(f);
    geodec_metric_clear(&m);
    return st;
}

static const char *input, *output;

static geodec_status cloud(geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL, *out = NULL;
    geodec_activations v;
    geodec_cloud c = {0};
    geodec_cloud_options o = geodec_cloud_defaults();
    const geodec_provenance p = {
        .tool = "test", .command_line = "", .model_fingerprint = "", .tokenizer_fingerprint = ""};
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, input, &a, err));
    GEODEC_TRY(geodec_activations_view(a, &v, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_cloud_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_cloud_build(&v, &o, out, NULL, NULL, NULL, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    geodec_artifact_close(a);
    a = NULL;
    if (st != GEODEC_OK) goto done;
    GEODEC_TRY(geodec_artifact_open(&geodec_cloud_kind, output, &a, err));
    GEODEC_TRY(geodec_cloud_read(a, &c, err));
done:
    geodec_cloud_clear(&c);
    geodec_artifact_close(out);
    geodec_artifact_close(a);
    return st;
}

static void fail_each(const char *what, geodec_status (*fn)(geodec_err *), const char *file)
{
    geodec_err err = {0};
    int64_t k = 1;
    for (;; k++) {
        if (file) (void)unlink(file);
        geodec_mem_fail_after(k);
        const geodec_status st = fn(&err);
        geodec_mem_fail_after(0);
        if (st == GEODEC_OK) break;
        cr_assert_eq(st, GEODEC_NOMEM, "%s, allocation %d: %s", what, (int)k, geodec_status_name(st));
        cr_assert_lt(k, 5000);
    }
    cr_assert_gt(k, 5, "%s", what);
}

Test(geometry, out_of_memory_is_an_error_everywhere)
{
    geodec_io_init();
    for (int i = 0; i < POINTS * DIM; i++) point[i] = sin(i * 1.7) + 0.1 * cos(i * i);
    fail_each("metric", fit, NULL);
    fail_each("field", evaluate, NULL);
}

Test(geometry, out_of_memory_leaves_no_cloud)
{
    geodec_io_init();
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    float state[POINTS * WIDTH];
    int32_t id[POINTS] = {0};
    const int32_t layer = 0;
    const geodec_provenance p = {
        .tool = "test", .command_line = "", .model_fingerprint = "", .tokenizer_fingerprint = ""};
    for (int i = 0; i < POINTS * WIDTH; i++) state[i] = sinf((float)i * 1.7f) + 0.1f * cosf((float)(i * i));
    input = test_tmp("in.h5");
    output = test_tmp("out.h5");
    test_ok(geodec_artifact_create(&geodec_activations_kind, input, &p, &a, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "L", 1, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "d", WIDTH, &err), &err);
    test_ok(geodec_artifact_set_dim(a, "M", 1, &err), &err);
    test_ok(geodec_artifact_write(a, "/layer", &layer, &err), &err);
    test_ok(geodec_artifact_append(a, "/state", POINTS, state, &err), &err);
    static const char *const ids[] = {"/token", "/position", "/sequence", "/next_token", "/argmax", "/top_index"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        test_ok(geodec_artifact_append(a, ids[i], POINTS, id, &err), &err);
    test_ok(geodec_artifact_append(a, "/top_logit", POINTS, state, &err), &err);
    static const char *const attrs[] = {"n_layer", "d_model", "n_vocab", "n_ctx"};
    for (size_t i = 0; i < sizeof attrs / sizeof *attrs; i++)
        test_ok(geodec_artifact_put_i64(a, attrs[i], 1, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    fail_each("cloud", cloud, output);
}
