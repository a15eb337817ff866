/* The successor of each point of a cloud in its text. */
#include "base/mem.h"
#include "base/rng.h"
#include "chain/successors.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 60, D = 5 };

static void states(double *x)
{
    geodec_rng r = geodec_rng_stream(4, geodec_rng_id("successors", 0));
    for (int i = 0; i < ROWS * D; i++) x[i] = (float)(geodec_rng_normal(&r) * (1 + i % D));
}

/* An activations file of the states, open for reading. */
static geodec_artifact *write_states(const char *name, const double *x, bool consecutive)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {0};
    test_ok(geodec_artifact_create(&geodec_activations_kind, test_tmp(name), &p, &a, &err), &err);
    bool shifted;
    int64_t merged;
    test_ok(geodec_activations_write_states(ROWS, D, x, consecutive, a, &shifted, &merged, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_activations_kind, test_tmp(name), &a, &err), &err);
    return a;
}

static void make_cloud(const geodec_activations *v, geodec_cloud *c)
{
    geodec_err err = {0};
    geodec_artifact *a = NULL;
    const geodec_provenance p = {0};
    geodec_cloud_options o = geodec_cloud_defaults();
    o.variance = 1;
    test_ok(geodec_artifact_create(&geodec_cloud_kind, test_tmp("cloud.h5"), &p, &a, &err), &err);
    test_ok(geodec_cloud_build(v, &o, a, NULL, NULL, NULL, &err), &err);
    test_ok(geodec_artifact_commit(a, &err), &err);
    test_ok(geodec_artifact_open(&geodec_cloud_kind, test_tmp("cloud.h5"), &a, &err), &err);
    test_ok(geodec_cloud_read(a, c, &err), &err);
    geodec_artifact_close(a);
}

/* One text of 60 rows, its row 20 a copy of row 10: the cloud drops the copy, and row 19 is still followed by it. */
Test(successors, are_the_next_rows_of_the_text_in_the_clouds_coordinates)
{
    geodec_err err = {0};
    double *x = geodec_mem_new(ROWS * D, sizeof *x), sum = 0;
    geodec_activations v;
    geodec_cloud c;
    geodec_successors s;
    states(x);
    memcpy(x + 20 * D, x + 10 * D, D * sizeof *x);
    geodec_artifact *a = write_states("text.h5", x, true);
    test_ok(geodec_activations_view(a, &v, &err), &err);
    make_cloud(&v, &c);
    cr_assert(c.points == ROWS - 1 && c.k == D);
    test_ok(geodec_successors_read(&c, &v, NULL, &s, &err), &err);
    cr_assert(s.points == c.points && s.k == D && s.argmax == NULL);
    cr_assert_eq(s.known, ROWS - 2); /* the last row has none */
    for (int64_t i = 0; i < c.points; i++) {
        const int64_t next = c.row[i] + 1;
        cr_assert_neq(c.row[i], 20);
        cr_assert_eq(s.has[i], next < ROWS);
        double step = 0;
        for (int k = 0; k < D; k++) {
            double y = 0;
            for (int j = 0; next < ROWS && j < D; j++) y += c.basis[k * D + j] * (x[next * D + j] - c.mean[j]);
            cr_assert_float_eq(s.coordinate[i * D + k], y, 1e-10);
            step += next < ROWS ? pow(y - c.coordinate[i * D + k], 2) : 0;
        }
        sum += step;
    }
    cr_assert_float_eq(s.rms_step, sqrt(sum / (ROWS - 2)), 1e-10);
    geodec_successors_clear(&s);
    cr_assert(s.has == NULL && s.points == 0);
    geodec_cloud_clear(&c);
    geodec_artifact_close(a);
    geodec_mem_free(x);
}

/* Rows that are separate texts have no successors; other activations, and another layer, are refused. */
Test(successors, texts_end_and_strangers_are_refused)
{
    geodec_err err = {0};
    double *x = geodec_mem_new(ROWS * D, sizeof *x);
    geodec_activations v, w;
    geodec_cloud c;
    geodec_successors s;
    states(x);
    geodec_artifact *alone = write_states("alone.h5", x, false), *text = write_states("text2.h5", x, true);
    test_ok(geodec_activations_view(alone, &v, &err), &err);
    test_ok(geodec_activations_view(text, &w, &err), &err);
    make_cloud(&v, &c);
    test_ok(geodec_successors_read(&c, &v, NULL, &s, &err), &err);
    cr_assert(s.known == 0 && s.rms_step == 0);
    cr_assert_eq(test_max_abs(s.coordinate, c.points * D), 0);
    geodec_successors_clear(&s);
    /* the same states at other places of a text */
    cr_assert_eq(geodec_successors_read(&c, &w, NULL, &s, NULL), GEODEC_CHECKSUM);
    c.row[3] = ROWS;
    cr_assert_eq(geodec_successors_read(&c, &v, NULL, &s, NULL), GEODEC_CHECKSUM);
    c.row[3] = 3;
    c.layer = 7;
    cr_assert_eq(geodec_successors_read(&c, &v, NULL, &s, NULL), GEODEC_NOTFOUND);
    c.layer = 0;
    c.d = D + 1;
    cr_assert_eq(geodec_successors_read(&c, &v, NULL, &s, NULL), GEODEC_CHECKSUM);
    c.d = D;
    geodec_cloud_clear(&c);
    geodec_artifact_close(alone);
    geodec_artifact_close(text);
    geodec_mem_free(x);
}
