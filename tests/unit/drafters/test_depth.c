/* The depth sink in a file, and the probe of a model with it. */
#include "base/mem.h"
#include "decode/tiny.h"
#include "drafters/depth_sink.h"
#include "io/h5.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <string.h>

static geodec_depth kept(const geodec_model *m, const char *name)
{
    geodec_err err = {0};
    geodec_depth d = {0}, back = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {
        .tool = "test", .command_line = "test", .model_fingerprint = "aa", .tokenizer_fingerprint = "bb"};
    test_ok(geodec_depth_measure(m, &d, &err), &err);
    test_ok(geodec_artifact_create(&geodec_depth_kind, test_tmp(name), &p, &a, &err), &err);
    test_ok(geodec_depth_write(&d, a, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_depth_kind, test_tmp(name), &a, &err), &err);
    test_ok(geodec_depth_read(a, &back, &err), &err);
    geodec_artifact_close(a);
    cr_assert_eq(memcmp(&d.sink, &back.sink, sizeof d.sink), 0);
    cr_assert_eq(memcmp(d.token, back.token, sizeof d.token), 0);
    cr_assert_eq(memcmp(d.spectrum, back.spectrum, (size_t)(d.n_layer * d.width) * sizeof *d.spectrum), 0);
    for (int32_t l = 0; l < d.n_layer; l++) { /* E_l is the leading part of a spectrum of sum 1 */
        double sum = 0, leading = 0;
        for (int64_t i = 0; i < d.width; i++) {
            sum += d.spectrum[l * d.width + i];
            if (i < d.sink.components) leading += d.spectrum[l * d.width + i];
            if (i > 0) cr_assert_leq(d.spectrum[l * d.width + i], d.spectrum[l * d.width + i - 1] + 1e-15);
        }
        cr_assert_float_eq(sum, 1, 1e-9);
        cr_assert_float_eq(leading, back.explained[l], 1e-12);
    }
    geodec_depth_clear(&d);
    return back;
}

/* Sum of the squared shares of a spectrum, without one: |C|^2 / (tr C)^2, C the covariance of the states after l blocks
 * of every position but the first of each text, one token a pass. */
static double squared_shares(const geodec_model *m, const geodec_depth *d, int32_t layer)
{
    geodec_err err = {0};
    const int64_t width = geodec_model_configuration(m)->d_model;
    geodec_session *s = NULL;
    double *mean = geodec_mem_new(width, sizeof *mean), *c = geodec_mem_new(width * width, sizeof *c);
    float *x = geodec_mem_new(width, sizeof *x);
    double n = 0, whole = 0, trace = 0;
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) {
        geodec_session_truncate(s, 0);
        for (int32_t at = 0; at < d->n[t]; at++) {
            const geodec_batch one = {.n = 1, .token = &d->token[t][at]};
            const geodec_capture capture = {1, &layer, x};
            test_ok(geodec_forward(s, &one, NULL, &capture, &err), &err);
            if (at == 0) continue;
            n++;
            for (int64_t i = 0; i < width; i++) {
                mean[i] += (double)x[i];
                for (int64_t j = 0; j < width; j++) c[i * width + j] += (double)x[i] * (double)x[j];
            }
        }
    }
    for (int64_t i = 0; i < width; i++)
        for (int64_t j = 0; j < width; j++) {
            const double v = c[i * width + j] / n - mean[i] / n * (mean[j] / n);
            whole += v * v;
            if (i == j) trace += v;
        }
    geodec_session_destroy(s);
    geodec_mem_free(mean);
    geodec_mem_free(c);
    geodec_mem_free(x);
    return whole / (trace * trace);
}

Test(depth, spectra_are_those_of_the_states_in_context_without_the_first_position)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    geodec_depth d = {0};
    geodec_linalg_init();
    test_ok(geodec_model_open(tiny_model("depth.gguf", 3), &m, &err), &err);
    test_ok(geodec_depth_measure(m, &d, &err), &err);
    for (int32_t l = 1; l <= d.n_layer; l++) {
        double sum = 0;
        for (int64_t i = 0; i < d.width; i++)
            sum += d.spectrum[(l - 1) * d.width + i] * d.spectrum[(l - 1) * d.width + i];
        cr_assert_float_eq(sum, squared_shares(m, &d, l), 1e-9, "after %d blocks", l);
    }
    geodec_depth_clear(&d);
    geodec_model_close(m);
}

Test(depth, the_probe_knows_its_model_from_another)
{
    geodec_err err = {0};
    geodec_model *m = NULL, *other = NULL;
    double difference = -1;
    geodec_io_init();
    geodec_linalg_init();
    test_ok(geodec_model_open(tiny_model("depth.gguf", 3), &m, &err), &err);
    test_ok(geodec_model_open(tiny_model("depth-other.gguf", 4), &other, &err), &err);
    geodec_depth d = kept(m, "depth.h5");
    for (int32_t layer = 1; layer <= d.n_layer; layer++) { /* for any position of the sink */
        d.sink.layer = layer;
        test_ok(geodec_depth_probe(m, &d, &difference, &err), &err);
        cr_assert_eq(difference, 0, "layer %d: %g", layer, difference);
        test_ok(geodec_depth_probe(other, &d, &difference, &err), &err);
        cr_assert_gt(difference, 100 * GEODEC_DEPTH_PROBE);
    }
    d.spectrum[(d.sink.layer - 1) * d.width] += 2e-6;
    test_ok(geodec_depth_probe(m, &d, &difference, &err), &err);
    cr_assert_gt(difference, GEODEC_DEPTH_PROBE);
    d.token[0][1] = 1 << 20;
    cr_assert_eq(geodec_depth_probe(m, &d, &difference, &err), GEODEC_FORMAT);
    d.width++;
    cr_assert_eq(geodec_depth_probe(m, &d, &difference, &err), GEODEC_FORMAT);
    geodec_depth_clear(&d);
    geodec_model_close(m);
    geodec_model_close(other);
}
