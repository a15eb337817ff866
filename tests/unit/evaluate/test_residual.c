/* Lengths of the residual stream, against passes of the same windows. */
#include "base/mem.h"
#include "decode/tiny.h"
#include "evaluate/residual.h"
#include "support/support.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char text[] = "AnceuponatimetherewasalittletreeIthadaredbirdthebirdwassadAndCalledBeatriceBefore";

static geodec_model *open_tiny(uint64_t seed)
{
    geodec_err err = {0};
    geodec_model *m = NULL;
    test_ok(geodec_model_open(tiny_model("residual.gguf", seed), &m, &err), &err);
    return m;
}

static double length(const float *x, const float *less, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += pow((double)x[i] - (less ? (double)less[i] : 0), 2);
    return sqrt(sum);
}

Test(residual, equals_the_states_of_single_windows)
{
    enum { WINDOW = 9, MOST = 128 };
    geodec_err err = {0};
    geodec_model *m = open_tiny(3);
    const geodec_model_config *c = geodec_model_configuration(m);
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    const int32_t bos = geodec_tokenizer_start(t);
    const geodec_residual_options o = {.window = WINDOW, .replicates = 200, .seed = 7};
    geodec_scorer_evaluation e = {.model = m};
    geodec_residual_profile p;
    int32_t ids[MOST], layers[16];
    int64_t n;
    cr_assert(bos >= 0 && c->n_layer < 16);
    for (int32_t l = 0; l <= c->n_layer; l++) layers[l] = l;
    test_ok(geodec_tokenizer_encode(t, text, strlen(text), false, ids, &n, &err), &err);
    test_ok(geodec_residual_run(&e, &o, text, strlen(text), NULL, NULL, &p, &err), &err);
    cr_assert_eq(p.n_layer, c->n_layer);
    cr_assert_eq(p.tokens, n);
    cr_assert_eq(p.windows, (n + WINDOW - 2) / (WINDOW - 1));

    double state[16] = {0}, added[16] = {0};
    geodec_session *s = NULL;
    float *x = geodec_mem_new((int64_t)(c->n_layer + 1) * WINDOW * c->d_model, sizeof *x);
    test_ok(geodec_session_create(m, NULL, &s, &err), &err);
    for (int64_t at = 0; at < n; at += WINDOW - 1) {
        const int32_t count = (int32_t)(n - at < WINDOW - 1 ? n - at : WINDOW - 1);
        int32_t token[WINDOW] = {bos};
        memcpy(token + 1, ids + at, (size_t)count * sizeof *ids);
        const geodec_capture capture = {.n_layers = c->n_layer + 1, .layer = layers, .state = x};
        geodec_session_truncate(s, 0);
        test_ok(geodec_forward(s, &(geodec_batch){.n = count + 1, .token = token}, NULL, &capture, &err), &err);
        for (int32_t l = 0; l <= c->n_layer; l++)
            for (int32_t r = 1; r <= count; r++) {
                const float *row = x + ((int64_t)l * (count + 1) + r) * c->d_model;
                state[l] += length(row, NULL, c->d_model);
                if (l > 0) added[l] += length(row, row - (int64_t)(count + 1) * c->d_model, c->d_model);
            }
    }
    for (int32_t l = 0; l <= c->n_layer; l++) {
        cr_assert_float_eq(p.layer[l].mean[GEODEC_RESIDUAL_STATE], state[l] / (double)n, 1e-9);
        cr_assert(p.layer[l].se[GEODEC_RESIDUAL_STATE] > 0 && p.layer[l].rms >= p.layer[l].mean[0]);
        if (l == 0) {
            cr_assert(isnan(p.layer[0].mean[GEODEC_RESIDUAL_FEED]) && p.layer[0].independent == p.layer[0].rms);
            continue;
        }
        /* the halves of a layer form a triangle with their sum */
        const double a = p.layer[l].mean[GEODEC_RESIDUAL_ATTENTION], f = p.layer[l].mean[GEODEC_RESIDUAL_FEED];
        cr_assert(a > 0 && f > 0 && a + f > added[l] / (double)n - 1e-5);
        cr_assert(fabs(a - f) < added[l] / (double)n + 1e-5);
        cr_assert_gt(p.layer[l].independent, p.layer[l - 1].independent);
    }
    if (c->n_layer >= 3) {
        double lx[16], ly[16];
        geodec_stats_line line;
        for (int32_t l = 1; l <= c->n_layer; l++) {
            lx[l - 1] = log(l);
            ly[l - 1] = log(state[l] / (double)n);
        }
        test_ok(geodec_stats_fit_line(c->n_layer, lx, ly, NULL, &line, &err), &err);
        const geodec_estimate *g = &p.fit[GEODEC_RESIDUAL_STATE].exponent;
        cr_assert_float_eq(g->value, line.slope, 1e-9);
        cr_assert(g->low < g->value && g->value < g->high);
    } else {
        cr_assert(isnan(p.fit[GEODEC_RESIDUAL_STATE].exponent.value));
    }

    geodec_pool *pool = NULL;
    geodec_residual_profile other;
    test_ok(geodec_pool_create(3, &pool, &err), &err);
    test_ok(geodec_residual_run(&e, &o, text, strlen(text), pool, NULL, &other, &err), &err);
    cr_assert_eq(memcmp(other.fit, p.fit, sizeof p.fit), 0);
    for (int32_t l = 0; l <= c->n_layer; l++) cr_assert_eq(memcmp(&other.layer[l], &p.layer[l], sizeof *p.layer), 0);
    geodec_residual_free(&other);

    e.float64 = true;
    cr_assert_eq(geodec_residual_run(&e, &o, text, strlen(text), NULL, NULL, &other, &err), GEODEC_UNSUPPORTED);
    geodec_err_clear(&err);
    e.float64 = false;
    cr_assert_eq(geodec_residual_run(&e, &o, "\xff\xfe", 2, NULL, NULL, &other, &err), GEODEC_FORMAT);
    geodec_err_clear(&err);
    cr_assert_eq(
        geodec_residual_run(&e, &(geodec_residual_options){.window = 1}, text, strlen(text), NULL, NULL, &other, &err),
        GEODEC_RANGE);
    geodec_pool_destroy(pool);
    geodec_session_destroy(s);
    geodec_residual_free(&p);
    geodec_mem_free(x);
    geodec_model_close(m);
}
