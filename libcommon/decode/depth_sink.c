#include "decode/depth_sink.h"

#include "base/mem.h"
#include "decode/sample.h"
#include "linalg/blas.h"
#include "linalg/eig.h"

#include <string.h>

static const double KEPT = 0.95, WITHIN = 1e-3;

typedef struct corpus {
    int32_t token[GEODEC_DEPTH_TEXTS][GEODEC_DEPTH_LENGTH], n[GEODEC_DEPTH_TEXTS];
} corpus;

static geodec_status keep_text(void *ctx, int64_t text, const int32_t *token, int32_t n, geodec_err *err)
{
    corpus *c = ctx;
    (void)err;
    memcpy(c->token[text], token, (size_t)n * sizeof *token);
    c->n[text] = n;
    return GEODEC_OK;
}

/* state [n_layer][rows][d] of every position but the first of each text. */
static geodec_status collect(const geodec_model *m, const corpus *c, int64_t rows, float *state, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *k = geodec_model_configuration(m);
    const geodec_session_options how = {.n_ctx = GEODEC_DEPTH_LENGTH, .max_batch = GEODEC_DEPTH_LENGTH};
    geodec_session *s = NULL;
    float *got = NULL;
    int32_t *layer = NULL;
    int64_t at = 0;
    GEODEC_NEW(layer, k->n_layer);
    for (int32_t i = 0; i < k->n_layer; i++) layer[i] = i + 1;
    GEODEC_NEW(got, (int64_t)k->n_layer * GEODEC_DEPTH_LENGTH * k->d_model);
    GEODEC_TRY(geodec_session_create(m, &how, &s, err));
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) {
        const geodec_batch b = {.n = c->n[t], .token = c->token[t]};
        const geodec_capture capture = {k->n_layer, layer, got};
        geodec_session_truncate(s, 0);
        GEODEC_TRY(geodec_forward(s, &b, NULL, &capture, err));
        const int64_t n = c->n[t] - 1, d = k->d_model;
        for (int32_t i = 0; i < k->n_layer; i++)
            memcpy(state + (i * rows + at) * d, got + ((int64_t)i * c->n[t] + 1) * d, (size_t)(n * d) * sizeof *got);
        at += n;
    }
done:
    geodec_session_destroy(s);
    geodec_mem_free(got);
    geodec_mem_free(layer);
    return st;
}

/* Spectrum of the covariance of x [rows][d], as shares of its sum, rising: w [min(rows, d)]. */
static geodec_status spectrum(const float *x, int64_t rows, int64_t d, double *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = rows < d ? rows : d;
    double *centred = NULL, *gram = NULL, sum = 0;
    GEODEC_NEW(centred, rows * d);
    GEODEC_NEW(gram, n * n);
    for (int64_t k = 0; k < d; k++) {
        double mean = 0;
        for (int64_t r = 0; r < rows; r++) mean += (double)x[r * d + k];
        mean /= (double)rows;
        for (int64_t r = 0; r < rows; r++) centred[r * d + k] = (double)x[r * d + k] - mean;
    }
    /* Of the two Gram matrices the smaller: they share their spectrum. */
    geodec_blas_gemm(d <= rows, d > rows, n, n, d <= rows ? rows : d, 1, centred, d, centred, d, 0, gram, n);
    GEODEC_TRY(geodec_eig_values(n, gram, w, err));
    for (int64_t i = 0; i < n; i++) sum += w[i];
    if (!(sum > 0)) GEODEC_THROW(GEODEC_NUMERIC, "the states of a layer do not vary");
    for (int64_t i = 0; i < n; i++) w[i] /= sum;
done:
    geodec_mem_free(centred);
    geodec_mem_free(gram);
    return st;
}

geodec_status geodec_depth_sink_measure(const geodec_model *m, geodec_depth_sink *out, double *explained,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const geodec_sample_options how = {
        .texts = GEODEC_DEPTH_TEXTS, .length = GEODEC_DEPTH_LENGTH, .temperature = 1, .top_p = 1, .seed = 1};
    corpus *texts = NULL;
    float *state = NULL;
    double *w = NULL, *share = NULL, plateau = 0;
    int64_t rows = 0;
    geodec_depth_sink r = {0};
    GEODEC_NEW(texts, 1);
    GEODEC_TRY(geodec_sample_run(m, &how, keep_text, texts, NULL, NULL, err));
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) rows += texts->n[t] - 1;
    if (rows < 2) GEODEC_THROW(GEODEC_UNSUPPORTED, "the texts this model writes are too short to measure its layers");
    const int64_t d = c->d_model, n = rows < d ? rows : d;
    GEODEC_NEW(state, c->n_layer * rows * d);
    GEODEC_NEW(w, c->n_layer * n);
    GEODEC_NEW(share, c->n_layer);
    GEODEC_TRY(collect(m, texts, rows, state, err));
    for (int32_t l = 0; l < c->n_layer; l++) GEODEC_TRY(spectrum(state + l * rows * d, rows, d, w + l * n, err));
    double sum = 0;
    const double *last = w + (c->n_layer - 1) * n;
    while (r.components < n && sum < KEPT) sum += last[n - 1 - r.components++];
    for (int32_t l = 0; l < c->n_layer; l++) {
        for (int32_t i = 0; i < r.components; i++) share[l] += w[l * n + n - 1 - i];
        if (share[l] > plateau) plateau = share[l];
        if (explained) explained[l] = share[l];
    }
    while (share[r.layer++] < plateau - WITHIN) continue;
    r.states = rows;
    *out = r;
done:
    geodec_mem_free(texts);
    geodec_mem_free(state);
    geodec_mem_free(w);
    geodec_mem_free(share);
    return st;
}
