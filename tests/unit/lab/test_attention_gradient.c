/* Gradients of attention weights in a chart, for a model of every architecture: with the whole space as chart they are
 * those of reference/attended.h; in a part of it they are projections; all heads together against differences. */
#include "../reference/check.h"
#include "../reference/models.h"
#include "lab/varadhan/attention_gradient.h"
#include "linalg/lapack.h"
#include "support/support.h"

#include <string.h>

enum { LENGTH = 9, N = 3, QUERIES = 2, FORMS = GEODEC_ATTENTION_FORMS };
static const geodec_attention_query queries[QUERIES] = {{7, {6, 4, 5, 3}}, {8, {7, 6, 4, 5}}};

/* log of the mean weight of row t on row j over heads, with row t moved. */
static double mean_log_weight(const geodec_reference *r, int32_t layer, const double *x, int32_t t, int32_t j)
{
    geodec_err err = {0};
    const int64_t H = geodec_model_configuration(geodec_reference_model(r))->n_head;
    const geodec_reference_pair pair = {t, j};
    double *p = geodec_mem_new(H, sizeof *p), sum = 0;
    test_ok(geodec_reference_attended(r, layer, LENGTH, x, 1, &pair, NULL, p, NULL, NULL, &err), &err);
    for (int64_t h = 0; h < H; h++) sum += p[h];
    geodec_mem_free(p);
    return log(sum / (double)H);
}

Test(attention_gradient, of_every_architecture, .timeout = 120)
{
    geodec_linalg_init();
    for (int kind = 0; kind < MODEL_STREAMS; kind++) {
        geodec_err err = {0};
        geodec_model *m = models_create(kind);
        int32_t token[LENGTH];
        models_tokens(m, token, LENGTH);
        geodec_reference *r = models_reference(m, token, LENGTH);
        const int64_t d = geodec_model_configuration(m)->d_model, H = geodec_model_configuration(m)->n_head;
        const int32_t layer = geodec_model_configuration(m)->n_layer - 1;
        const int64_t columns = QUERIES * (H + 1) * FORMS;
        double *basis = geodec_mem_new(d * d, sizeof *basis), *whole = geodec_mem_new(columns * d, sizeof *whole),
               *part = geodec_mem_new(columns * N, sizeof *part), *inside = geodec_mem_new(columns, sizeof *inside),
               *along = geodec_mem_new(columns * 2, sizeof *along), *x = geodec_mem_new(LENGTH * d, sizeof *x),
               *y = geodec_mem_new(LENGTH * d, sizeof *y), *weight = geodec_mem_new(QUERIES * (H + 1), sizeof *weight);
        for (int64_t i = 0; i < d; i++) basis[i * d + i] = 1;
        test_ok(geodec_attention_gradient(r, layer, token, LENGTH, QUERIES, queries, d, basis,
                                          &(geodec_attention_gradients){whole, inside, along, weight}, &err),
                &err);
        for (int64_t i = 0; i < columns; i++) cr_assert_float_eq(inside[i], 1, 1e-12);
        test_ok(geodec_attention_gradient(r, layer, token, LENGTH, QUERIES, queries, N, basis + d,
                                          &(geodec_attention_gradients){part, inside, along, NULL}, &err),
                &err);
        test_ok(geodec_reference_embed(r, token, LENGTH, y, &err), &err);
        test_ok(geodec_reference_run(r, 0, layer, LENGTH, y, NULL, x, &err), &err);
        for (int q = 0; q < QUERIES; q++) {
            const int32_t t = queries[q].row, a = queries[q].key[0], b = queries[q].key[1], c = queries[q].key[2];
            const double *all = whole + (q * (H + 1) + H) * FORMS * d;
            cr_assert_float_eq(log(weight[q * (H + 1) + H]), mean_log_weight(r, layer, x, t, a), 1e-12);
            /* all heads together: weight and pair against differences along a direction */
            double *u = check_random(d, 17 + (uint64_t)q), ends[2][2];
            for (int side = 0; side < 2; side++) {
                memcpy(y, x, (size_t)(LENGTH * d) * sizeof *x);
                for (int64_t i = 0; i < d; i++) y[t * d + i] += (side ? 1e-5 : -1e-5) * u[i];
                ends[side][0] = mean_log_weight(r, layer, y, t, a);
                ends[side][1] = ends[side][0] - mean_log_weight(r, layer, y, t, b);
            }
            for (int f = 0; f < 2; f++) {
                const double *g = all + (f ? 2 : 0) * d, want = (ends[1][f] - ends[0][f]) / 2e-5;
                const double scale = sqrt(check_dot(d, g, g) * check_dot(d, u, u));
                cr_assert_lt(fabs(check_dot(d, g, u) - want), 1e-6 * scale + 1e-9, "%s", models_name(kind));
            }
            for (int64_t e = q * (H + 1) * FORMS; e < (q + 1) * (H + 1) * FORMS; e++) {
                const double *g = whole + e * d, length = check_dot(d, g, g);
                const int32_t from = e % FORMS == 2 ? b : t, wrong = e % FORMS == 2 ? queries[q].key[3] : t;
                for (int i = 0; i < N; i++) cr_assert_float_eq(part[e * N + i], g[i + 1], 1e-12);
                cr_assert_float_eq(inside[e], check_dot(N, g + 1, g + 1) / length, 1e-12);
                for (int k = 0; k < 2; k++) {
                    double dot = 0, square = 0;
                    for (int64_t i = 0; i < d; i++) {
                        const double v = x[(k ? c : a) * d + i] - x[(k ? wrong : from) * d + i];
                        dot += g[i] * v;
                        square += v * v;
                    }
                    cr_assert_float_eq(along[e * 2 + k], dot / sqrt(square * length), 1e-9);
                }
            }
            geodec_mem_free(u);
        }
        double *const buffers[] = {basis, whole, part, inside, along, x, y, weight};
        for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) geodec_mem_free(buffers[i]);
        geodec_reference_destroy(r);
        models_destroy(m);
    }
}
