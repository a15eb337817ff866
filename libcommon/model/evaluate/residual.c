#include "evaluate/residual.h"

#include "base/mem.h"
#include "base/names_internal.h"
#include "base/rng.h"
#include "evaluate/perplexity.h"
#include "io/tsv.h"

#include <math.h>
#include <string.h>

enum { ROWS = 64 /* rows of a pass */ };

GEODEC__NAME(geodec_residual_name, geodec_residual_what, "state", "attention", "feed")

void geodec_residual_free(geodec_residual_profile *p)
{
    geodec_mem_free(p->layer);
    *p = (geodec_residual_profile){0};
}

/* Sums of one window over its tokens, [3][L + 1] each: lengths, and their squares. */
typedef struct work {
    geodec_session *session;
    int32_t n_layer, d;
    int64_t windows;
    double *sum, *square; /* [windows][3][L + 1] */
    double *count;        /* [windows] tokens */
    float *state;         /* [L + 1][ROWS][d] */
    int32_t *layers;      /* [L + 1] 0 .. L */
    int64_t window;       /* being read */
    int32_t skip;         /* rows of this pass that are not counted */
} work;

static int64_t place(const work *k, int64_t window, int what, int32_t layer)
{
    return (window * GEODEC_RESIDUALS + what) * (k->n_layer + 1) + layer;
}

static void add_length(work *k, int what, int32_t layer, const float *x)
{
    double square = 0;
    for (int32_t i = 0; i < k->d; i++) square += (double)x[i] * (double)x[i];
    const int64_t at = place(k, k->window, what, layer);
    k->sum[at] += sqrt(square);
    k->square[at] += square;
}

static void see_update(void *ctx, int32_t layer, bool feed, int64_t n, const float *const *row)
{
    work *k = ctx;
    for (int64_t r = k->skip; r < n; r++)
        add_length(k, feed ? GEODEC_RESIDUAL_FEED : GEODEC_RESIDUAL_ATTENTION, layer + 1, row[r]);
}

static geodec_status read_window(work *k, const int32_t *token, int32_t n, geodec_err *err)
{
    geodec_session_truncate(k->session, 0);
    for (int32_t at = 0; at < n; at += ROWS) {
        const int32_t rows = n - at < ROWS ? n - at : ROWS;
        const geodec_capture capture = {.n_layers = k->n_layer + 1, .layer = k->layers, .state = k->state};
        k->skip = at == 0;
        GEODEC_PASS(geodec_forward(k->session, &(geodec_batch){.n = rows, .token = token + at}, NULL, &capture, err));
        for (int32_t l = 0; l <= k->n_layer; l++)
            for (int32_t r = k->skip; r < rows; r++)
                add_length(k, GEODEC_RESIDUAL_STATE, l, k->state + ((int64_t)l * rows + r) * k->d);
        k->count[k->window] += rows - k->skip;
    }
    return GEODEC_OK;
}

static geodec_status new_work(work *k, const geodec_scorer_evaluation *e, const geodec_residual_options *o,
                              geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_session_options so = {.n_ctx = o->window,
                                       .max_batch = ROWS,
                                       .isa = e->isa,
                                       .pool = pool,
                                       .arithmetic = e->arithmetic,
                                       .kv = e->kv,
                                       .attnres = e->attnres};
    const int64_t places = k->windows * GEODEC_RESIDUALS * (k->n_layer + 1);
    GEODEC_TRY(geodec_session_create(e->model, &so, &k->session, err));
    GEODEC_TRY(geodec_session_watch_updates(k->session, see_update, k, err));
    GEODEC_NEW_EACH(places, k->sum, k->square);
    GEODEC_NEW(k->count, k->windows);
    GEODEC_NEW(k->state, (int64_t)(k->n_layer + 1) * ROWS * k->d);
    GEODEC_NEW(k->layers, k->n_layer + 1);
    for (int32_t l = 0; l <= k->n_layer; l++) k->layers[l] = l;
done:
    return st;
}

static void free_work(work *k)
{
    geodec_session_destroy(k->session);
    GEODEC_FREE(k->sum, k->square, k->count, k->state, k->layers);
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

/* Sum over windows; index NULL: each once. */
static double total(const work *k, const double *x, int what, int32_t layer, const int64_t *index)
{
    double sum = 0;
    for (int64_t w = 0; w < k->windows; w++) sum += x[place(k, index ? index[w] : w, what, layer)];
    return sum;
}

static double tokens_of(const work *k, const int64_t *index)
{
    double sum = 0;
    for (int64_t w = 0; w < k->windows; w++) sum += k->count[index ? index[w] : w];
    return sum;
}

/* Standard error of the ratio of sums over windows. */
static double standard_error(const work *k, int what, int32_t layer, double mean, double tokens)
{
    double square = 0;
    const double n = (double)k->windows;
    for (int64_t w = 0; w < k->windows; w++) square += pow(k->sum[place(k, w, what, layer)] - k->count[w] * mean, 2);
    return n > 1 ? sqrt(n / (n - 1) * square) / tokens : (double)NAN;
}

/* Layers of some models have one half alone: the other adds nothing, and is no point of the line. */
static bool has_half(const work *k, int what, int32_t layer) { return total(k, k->sum, what, layer, NULL) > 0; }

static geodec_status fit_line(const work *k, int what, const int64_t *index, geodec_stats_line *line, double *x,
                              double *y, geodec_err *err)
{
    const double tokens = tokens_of(k, index);
    int32_t n = 0;
    for (int32_t l = 1; l <= k->n_layer; l++) {
        if (!has_half(k, what, l)) continue;
        x[n] = log(l);
        y[n++] = log(total(k, k->sum, what, l, index) / tokens);
    }
    return geodec_stats_fit_line(n, x, y, NULL, line, err);
}

static geodec_status fit(const work *k, int what, const geodec_residual_options *o, geodec_residual_fit *out,
                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *y = NULL, *slope = NULL;
    int64_t *index = NULL;
    geodec_stats_line line;
    const double none = (double)NAN;
    *out = (geodec_residual_fit){{none, none, none}, none, none};
    int32_t points = 0;
    for (int32_t l = 1; l <= k->n_layer; l++) points += has_half(k, what, l);
    if (points < 3) goto done;
    GEODEC_NEW_EACH(k->n_layer, x, y);
    GEODEC_NEW(slope, o->replicates + 1);
    GEODEC_NEW(index, k->windows);
    GEODEC_TRY(fit_line(k, what, NULL, &line, x, y, err));
    out->exponent = (geodec_estimate){line.slope, line.slope, line.slope};
    out->scatter_se = line.slope_se;
    out->r2 = line.r2;
    for (int64_t r = 0; r < o->replicates; r++) {
        geodec_stats_resample(o->seed, geodec_rng_id("residual-bootstrap", (uint64_t)what), (uint64_t)r, k->windows,
                              index);
        GEODEC_TRY(fit_line(k, what, index, &line, x, y, err));
        slope[r] = line.slope;
    }
    if (o->replicates > 0 && k->windows > 1) {
        geodec_stats_sort(o->replicates, slope);
        out->exponent.low = geodec_stats_percentile(o->replicates, slope, 0.025);
        out->exponent.high = geodec_stats_percentile(o->replicates, slope, 0.975);
    }
done:
    GEODEC_FREE(x, y, slope, index);
    return st;
}

static geodec_status summarise(const work *k, const geodec_residual_options *o, geodec_residual_profile *p,
                               geodec_err *err)
{
    const double tokens = tokens_of(k, NULL);
    double squares = total(k, k->square, GEODEC_RESIDUAL_STATE, 0, NULL) / tokens;
    p->tokens = (int64_t)tokens;
    for (int32_t l = 0; l <= k->n_layer; l++) {
        geodec_residual_layer *y = &p->layer[l];
        for (int w = 0; w < GEODEC_RESIDUALS; w++) {
            y->mean[w] = y->se[w] = (double)NAN;
            if (l == 0 && w != GEODEC_RESIDUAL_STATE) continue;
            y->mean[w] = total(k, k->sum, w, l, NULL) / tokens;
            y->se[w] = standard_error(k, w, l, y->mean[w], tokens);
            if (!isfinite(y->mean[w])) GEODEC_FAIL(GEODEC_NUMERIC, "the model's states are not finite");
            if (w != GEODEC_RESIDUAL_STATE) squares += total(k, k->square, w, l, NULL) / tokens;
        }
        y->rms = sqrt(total(k, k->square, GEODEC_RESIDUAL_STATE, l, NULL) / tokens);
        y->independent = sqrt(squares);
    }
    for (int w = 0; w < GEODEC_RESIDUALS; w++) GEODEC_PASS(fit(k, w, o, &p->fit[w], err));
    return GEODEC_OK;
}

/* ---- the profile ------------------------------------------------------------------------------------------------ */

geodec_status geodec_residual_run(const geodec_scorer_evaluation *e, const geodec_residual_options *o, const char *text,
                                  size_t n, geodec_pool *pool, const geodec_hooks *hooks, geodec_residual_profile *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(e->model);
    const geodec_tokenizer *t = geodec_model_tokenizer(e->model);
    const int32_t bos = geodec_tokenizer_start(t);
    const geodec_perplexity_options cut = {.window = o->window, .max_windows = o->max_windows};
    geodec_residual_profile p = {.n_layer = c->n_layer};
    work k = {.n_layer = c->n_layer, .d = c->d_model};
    int32_t *ids = NULL, *token = NULL;
    int64_t count = 0;
    if (e->float64) GEODEC_THROW(GEODEC_UNSUPPORTED, "a profile in float64");
    if (o->window < 2 || o->max_windows < 0 || o->replicates < 0)
        GEODEC_THROW(GEODEC_RANGE, "windows of %d tokens, at most %lld of them, %lld replicates", o->window,
                     (long long)o->max_windows, (long long)o->replicates);
    GEODEC_TRY(geodec_scorer_tokens(t, text, n, false, &ids, &count, err));
    p.windows = k.windows = geodec_perplexity_count(&cut, bos >= 0, count);
    if (p.windows < 1)
        GEODEC_THROW(count == 0 ? GEODEC_FORMAT : GEODEC_SCARCE, "%lld tokens; a profile needs at least %d",
                     (long long)count, bos >= 0 ? 1 : 2);
    GEODEC_TRY(new_work(&k, e, o, pool, err));
    GEODEC_NEW(p.layer, p.n_layer + 1);
    GEODEC_NEW(token, o->window);
    for (k.window = 0; k.window < k.windows; k.window++) {
        const geodec_perplexity_span s = geodec_perplexity_span_at(&cut, bos >= 0, count, k.window);
        if (s.bos) token[0] = bos;
        memcpy(token + s.bos, ids + s.first, (size_t)s.count * sizeof *token);
        GEODEC_TRY(geodec_hooks_progress(hooks, "reading windows", k.window, k.windows, err));
        GEODEC_TRY(read_window(&k, token, (int32_t)s.count + s.bos, err));
    }
    GEODEC_TRY(summarise(&k, o, &p, err));
    GEODEC_MOVE(*out, p);
done:
    geodec_residual_free(&p);
    free_work(&k);
    GEODEC_FREE(ids, token);
    return st;
}

geodec_status geodec_residual_layers_table(FILE *out, const geodec_model *m, const geodec_residual_profile *p,
                                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(
        geodec_tsv_names(t, "model layer state state_se attention attention_se feed feed_se rms independent", err));
    for (int32_t l = 0; l <= p->n_layer; l++) {
        const geodec_residual_layer *y = &p->layer[l];
        geodec_tsv_str(t, geodec_model_name(m));
        geodec_tsv_i64(t, l);
        for (int w = 0; w < GEODEC_RESIDUALS; w++) {
            geodec_tsv_f64(t, y->mean[w]);
            geodec_tsv_f64(t, y->se[w]);
        }
        geodec_tsv_f64(t, y->rms);
        geodec_tsv_f64(t, y->independent);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_residual_fits_table(const char *path, const geodec_model *m, const geodec_residual_profile *p,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_create(path, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "model what exponent low high scatter_se r2", err));
    for (int w = 0; w < GEODEC_RESIDUALS; w++) {
        const geodec_residual_fit *f = &p->fit[w];
        geodec_tsv_str(t, geodec_model_name(m));
        geodec_tsv_str(t, geodec_residual_name((geodec_residual_what)w));
        geodec_tsv_f64s(t, 3, &f->exponent.value);
        geodec_tsv_f64(t, f->scatter_se);
        geodec_tsv_f64(t, f->r2);
        GEODEC_TRY(geodec_tsv_end_row(t, err));
    }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
