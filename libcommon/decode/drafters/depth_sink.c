#include "drafters/depth_sink.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "decode/sample.h"
#include "linalg/blas.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

static const double KEPT = 0.95, WITHIN = 1e-3;

static geodec_status keep_text(void *ctx, int64_t text, const int32_t *token, int32_t n, geodec_err *err)
{
    geodec_depth *c = ctx;
    (void)err;
    memcpy(c->token[text], token, (size_t)n * sizeof *token);
    c->n[text] = n;
    return GEODEC_OK;
}

static int64_t rows_of(const geodec_depth *c)
{
    int64_t rows = 0;
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) rows += c->n[t] > 0 ? c->n[t] - 1 : 0;
    return rows;
}

/* state [count][rows][d] after blocks from .. from + count - 1 (1 = the first), at every position except the first of
 * each text. */
static geodec_status collect(const geodec_model *m, const geodec_depth *c, int32_t from, int32_t count, int64_t rows,
                             float *state, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *k = geodec_model_configuration(m);
    const geodec_session_options how = {
        .n_ctx = GEODEC_DEPTH_LENGTH, .max_batch = GEODEC_DEPTH_LENGTH, .n_blocks = from + count - 1};
    geodec_session *s = NULL;
    float *got = NULL;
    int32_t *layer = NULL;
    int64_t at = 0;
    GEODEC_NEW(layer, count);
    for (int32_t i = 0; i < count; i++) layer[i] = from + i;
    GEODEC_NEW(got, (int64_t)count * GEODEC_DEPTH_LENGTH * k->d_model);
    GEODEC_TRY(geodec_session_create(m, &how, &s, err));
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) {
        if (c->n[t] < 2) continue;
        const geodec_batch b = {.n = c->n[t], .token = c->token[t]};
        const geodec_capture capture = {count, layer, got};
        geodec_session_truncate(s, 0);
        GEODEC_TRY(geodec_forward(s, &b, NULL, &capture, err));
        const int64_t n = c->n[t] - 1, d = k->d_model;
        for (int32_t i = 0; i < count; i++)
            memcpy(state + (i * rows + at) * d, got + ((int64_t)i * c->n[t] + 1) * d, (size_t)(n * d) * sizeof *got);
        at += n;
    }
done:
    geodec_session_destroy(s);
    GEODEC_FREE(got, layer);
    return st;
}

/* Spectrum of the covariance of x [rows][d] in falling order, as shares of its sum: w [min(rows, d)]. */
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
    /* The smaller of the two Gram matrices, which have the same nonzero spectrum. */
    geodec_blas_gemm(d <= rows, d > rows, n, n, d <= rows ? rows : d, 1, centred, d, centred, d, 0, gram, n);
    GEODEC_TRY(geodec_eig_values(n, gram, w, err));
    for (int64_t i = 0; i < n; i++) sum += w[i];
    if (!(sum > 0)) GEODEC_THROW(GEODEC_SCARCE, "all states of a layer are equal; a spectrum needs different ones");
    for (int64_t i = 0; i < n; i++) w[i] /= sum;
    for (int64_t i = 0; i < n / 2; i++) {
        const double low = w[i];
        w[i] = w[n - 1 - i];
        w[n - 1 - i] = low;
    }
done:
    GEODEC_FREE(centred, gram);
    return st;
}

geodec_status geodec_depth_measure(const geodec_model *m, geodec_depth *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const geodec_sample_options how = {
        .texts = GEODEC_DEPTH_TEXTS, .length = GEODEC_DEPTH_LENGTH, .temperature = 1, .top_p = 1, .seed = 1};
    geodec_depth r = {.n_layer = c->n_layer};
    float *state = NULL;
    double plateau = 0, sum = 0;
    GEODEC_TRY(geodec_sample_run(m, &how, keep_text, &r, NULL, NULL, err));
    const int64_t rows = rows_of(&r), d = c->d_model, n = rows < d ? rows : d;
    if (rows < 2)
        GEODEC_THROW(GEODEC_SCARCE, "the texts this model writes have %lld states; a spectrum needs at least 2",
                     (long long)rows);
    r.width = n;
    r.sink.states = rows;
    GEODEC_NEW(state, c->n_layer * rows * d);
    GEODEC_NEW(r.spectrum, c->n_layer * n);
    GEODEC_NEW(r.explained, c->n_layer);
    GEODEC_TRY(collect(m, &r, 1, c->n_layer, rows, state, err));
    for (int32_t l = 0; l < c->n_layer; l++)
        GEODEC_TRY(spectrum(state + l * rows * d, rows, d, r.spectrum + l * n, err));
    const double *last = r.spectrum + (c->n_layer - 1) * n;
    while (r.sink.components < n && sum < KEPT) sum += last[r.sink.components++];
    for (int32_t l = 0; l < c->n_layer; l++) {
        for (int32_t i = 0; i < r.sink.components; i++) r.explained[l] += r.spectrum[l * n + i];
        if (r.explained[l] > plateau) plateau = r.explained[l];
    }
    while (r.explained[r.sink.layer++] < plateau - WITHIN) continue;
    GEODEC_MOVE(*out, r);
done:
    geodec_depth_clear(&r);
    geodec_mem_free(state);
    return st;
}

geodec_status geodec_depth_sink_measure(const geodec_model *m, geodec_depth_sink *out, double *explained,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_depth d = {0};
    GEODEC_TRY(geodec_depth_measure(m, &d, err));
    if (explained) memcpy(explained, d.explained, (size_t)d.n_layer * sizeof *explained);
    *out = d.sink;
done:
    geodec_depth_clear(&d);
    return st;
}

geodec_status geodec_depth_probe(const geodec_model *m, const geodec_depth *stored, double *difference, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int64_t rows = rows_of(stored), d = c->d_model, n = rows < d ? rows : d;
    float *state = NULL;
    double *w = NULL, worst = 0;
    if (stored->n_layer != c->n_layer || stored->width != n)
        GEODEC_THROW(GEODEC_FORMAT, "measured on a model of %d layers and spectra of %lld values, not %d and %lld",
                     stored->n_layer, (long long)stored->width, c->n_layer, (long long)n);
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++)
        for (int32_t i = 0; i < stored->n[t]; i++)
            if (stored->token[t][i] < 0 || stored->token[t][i] >= c->n_vocab)
                GEODEC_THROW(GEODEC_FORMAT, "token %d of text %d is outside the vocabulary", stored->token[t][i], t);
    GEODEC_NEW(state, rows * d);
    GEODEC_NEW(w, n);
    GEODEC_TRY(collect(m, stored, stored->sink.layer, 1, rows, state, err));
    GEODEC_TRY(spectrum(state, rows, d, w, err));
    const double *want = stored->spectrum + (stored->sink.layer - 1) * n;
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(w[i] - want[i]));
    *difference = worst;
done:
    GEODEC_FREE(state, w);
    return st;
}

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

#define AT(m) GEODEC_AT(geodec_depth, m)
#define IN(m) GEODEC_IN(geodec_depth, m)

static const geodec_field fields[] = {
    {"/explained", GEODEC_F64, "L", 0, "1", "E_l after l = 1, 2, .. blocks: variance in the k leading components", 0,
     AT(explained)},
    {"/spectrum", GEODEC_F64, "L,w", 0, "1", "shares of the variance after l blocks, falling", 0, AT(spectrum)},
    {"/token", GEODEC_I32, "T,n", 0, "1", "the texts, written by the model itself; 0 after their end", 0,
     GEODEC_ARRAY(geodec_depth, token, [0][0])},
    {"/length", GEODEC_I32, "T", 0, "1", "tokens of each", 0, GEODEC_ARRAY(geodec_depth, n, [0])},
};
static const geodec_attr attrs[] = {
    {"sink", GEODEC_ATTR_I64, 0, "l*: the first l with E_l within 1e-3 of the largest", IN(sink.layer)},
    {"ratio", GEODEC_ATTR_F64, 0, "l* over the number of layers (published: about 2/3)"},
    {"components", GEODEC_ATTR_I64, 0, "k: components that explain 95 % after the last block", IN(sink.components)},
    {"states", GEODEC_ATTR_I64, 0, "states of a layer", IN(sink.states)},
};
static const geodec_extent extents[] = {
    {"L", IN(n_layer)}, {"w", IN(width)}, {"T", .plus = GEODEC_DEPTH_TEXTS}, {"n", .plus = GEODEC_DEPTH_LENGTH}};

static geodec_status put_ratio(const void *object, geodec_artifact *a, const char *name, geodec_err *err)
{
    const geodec_depth *d = object;
    return geodec_artifact_put_f64(a, name, (double)d->sink.layer / d->n_layer, err);
}

const geodec_kind geodec_depth_kind = {
    .name = "depth",
    .major = 1,
    .tool = "geodec-depth",
    .purpose = "the depth sink of a model: explained variance of the residual stream by depth, and what a probe needs",
    GEODEC_TABLES(fields, attrs, extents),
    .put = put_ratio,
};

void geodec_depth_clear(geodec_depth *d)
{
    geodec_artifact_clear(&geodec_depth_kind, d);
    *d = (geodec_depth){0};
}

geodec_status geodec_depth_write(const geodec_depth *d, geodec_artifact *out, geodec_err *err)
{
    return geodec_artifact_save(out, d, err);
}

geodec_status geodec_depth_read(const geodec_artifact *in, geodec_depth *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_depth d = {0};
    int64_t rows = 0;
    const char *name = geodec_artifact_path(in);
    GEODEC_TRY(geodec_artifact_load(in, &d, err));
    if (d.n_layer < 1 || d.width < 1 || d.sink.layer < 1 || d.sink.layer > d.n_layer || d.sink.components < 1 ||
        d.sink.components > d.width)
        GEODEC_THROW(GEODEC_FORMAT, "%s: sizes that do not belong together", name);
    for (int t = 0; t < GEODEC_DEPTH_TEXTS; t++) {
        if (d.n[t] < 0 || d.n[t] > GEODEC_DEPTH_LENGTH)
            GEODEC_THROW(GEODEC_FORMAT, "%s: a text of %d tokens", name, d.n[t]);
        rows += d.n[t] > 0 ? d.n[t] - 1 : 0;
    }
    if (rows < 2) GEODEC_THROW(GEODEC_FORMAT, "%s: no texts", name);
    d.sink.states = rows;
    GEODEC_MOVE(*out, d);
done:
    geodec_depth_clear(&d);
    return st;
}
