/* Fits the recurrent net: back-propagation through four steps, Adam (Kingma and Ba 2015). A batch is divided into
 * slices of fixed size. Each slice has its own gradient, and the gradients are summed in order, so the result is the
 * same for any number of threads. */
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "drafters/recurrent.h"
#include "drafters/step.h"
#include "linalg/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEPS = GEODEC_RECURRENT_STEPS,
    BACK = GEODEC_RECURRENT_BACK,
    PARTS = GEODEC_RECURRENT_PARTS,
    SLICES = 4,
    ROWS = 64, /* rows of a slice */
    SLAB = 2048,
    CHUNK = 16384, /* weights per task of the Adam step */
    FIGURES = 4000,
};
/* Weights of the losses of the steps: about the share of drafts that reach each step. */
static const float STEP_WEIGHT[STEPS] = {1, 0.7F, 0.5F, 0.35F};
static const float BETA1 = 0.9F, BETA2 = 0.99F;

geodec_recurrent_options geodec_recurrent_defaults(void)
{
    return (geodec_recurrent_options){.width = 256, .classes = 2048, .epochs = 5, .rate = 0.004, .sampled = 0.2};
}

typedef struct slice {
    float *block;                                           /* storage of the arrays below */
    float *f;                                               /* [ROWS][3 d] */
    float *a[STEPS], *z[STEPS], *h[STEPS], *dh, *dc[STEPS]; /* [ROWS][width] */
    float *p[STEPS];                                        /* [ROWS][classes] */
    geodec_recurrent gradient;                              /* the net of this slice's gradient; only its weights are
                                                               set */
} slice;

typedef struct fitting {
    geodec_recurrent *net;
    const geodec_recurrent_options *o;
    int64_t rows, best; /* best: exported logits per row, 0 = none */
    int32_t *token, *position, *sequence, *top;
    float *logit;   /* [rows][best] */
    float *feature; /* [rows][3 d] standardised */
    float *mean, *factor;
    int64_t *place, places; /* rows of the fit that serve as newest token */
    int64_t *test, tests;
    const int64_t *batch; /* [SLICES ROWS] */
    slice slice[SLICES];
    float *first, *second; /* Adam's moments [weights] */
    float rate, correct1, correct2;
} fitting;

static geodec_status check(const geodec_recurrent_options *o, geodec_err *err)
{
    if (o->width < 16 || o->width > GEODEC_RECURRENT_WIDTH_MAX || o->width % 16 != 0)
        GEODEC_FAIL(GEODEC_RANGE, "a net of width %lld (a multiple of 16 up to %d)", (long long)o->width,
                    GEODEC_RECURRENT_WIDTH_MAX);
    if (o->classes < 1 || o->classes > GEODEC_RECURRENT_CLASSES_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "%lld classes (1..%d)", (long long)o->classes, GEODEC_RECURRENT_CLASSES_MAX);
    if (!(o->epochs > 0 && o->epochs <= 1000) || !(o->rate > 0 && o->rate <= 1) ||
        !(o->sampled >= 0 && o->sampled <= 1))
        GEODEC_FAIL(GEODEC_RANGE, "%g epochs at rate %g, share %g of the sampled token", o->epochs, o->rate,
                    o->sampled);
    return GEODEC_OK;
}

/* ---- input of the fit ------------------------------------------------------------------------------------------- */

static bool begins(const fitting *t, int64_t i) { return i == 0 || t->sequence[i] != t->sequence[i - 1]; }

static geodec_status read_texts(fitting *t, const geodec_activations *a, geodec_err *err)
{
    const char *name = geodec_artifact_path(a->file);
    GEODEC_PASS(geodec_step_texts(a, &t->net->vocab, &t->token, &t->sequence, &t->position, err));
    t->rows = a->rows;
    if (!geodec_artifact_has(a->file, "/top_index") || !geodec_artifact_has(a->file, "/top_logit")) return GEODEC_OK;
    GEODEC_PASS(geodec_artifact_dim(a->file, "M", &t->best, err));
    GEODEC_PASS(geodec_artifact_read(a->file, "/top_index", &t->top, err));
    GEODEC_PASS(geodec_artifact_read(a->file, "/top_logit", &t->logit, err));
    for (int64_t i = 0; i < t->rows * t->best; i++)
        if (t->top[i] < 0 || t->top[i] >= t->net->vocab || !isfinite(t->logit[i]))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: row %lld has a best logit outside the vocabulary, or not finite", name,
                        (long long)(i / t->best));
    return GEODEC_OK;
}

typedef struct frequency {
    int64_t count;
    int32_t token;
} frequency;

static int more_often(const void *x, const void *y)
{
    const frequency *a = x, *b = y;
    return a->count != b->count ? (a->count < b->count ? 1 : -1) : (a->token > b->token) - (a->token < b->token);
}

/* Takes the most frequent tokens of the texts (ties: the lower id) as classes. */
static geodec_status choose_classes(fitting *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_recurrent *r = t->net;
    frequency *f = NULL;
    int64_t kept = 0;
    GEODEC_NEW_EACH(r->vocab, f, r->class_of);
    for (int64_t v = 0; v < r->vocab; v++) f[v].token = (int32_t)v;
    for (int64_t i = 0; i < t->rows; i++) f[t->token[i]].count++;
    qsort(f, (size_t)r->vocab, sizeof *f, more_often);
    while (r->classes < r->vocab && r->classes < t->o->classes && f[r->classes].count > 0) {
        r->class_of[f[r->classes].token] = 1;
        kept += f[r->classes++].count;
    }
    r->cover = (double)kept / (double)t->rows;
    GEODEC_NEW(r->token_of, r->classes);
    for (int32_t v = 0, c = 0; v < r->vocab; v++) {
        const bool in = r->class_of[v] > 0;
        if (in) r->token_of[c] = v;
        r->class_of[v] = in ? c++ : (int32_t)r->classes;
    }
done:
    geodec_mem_free(f);
    return st;
}

static geodec_status make_features(fitting *t, const geodec_activations *a, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t d = a->d, n_features = PARTS * d;
    int64_t n_layer, layer;
    float *h = NULL, *running = NULL;
    double *sum = NULL, *square = NULL;
    char *scratch = NULL;
    t->net->d = d;
    GEODEC_TRY(geodec_artifact_get_i64(a->file, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_activations_find_layer(a, n_layer, &layer, err));
    GEODEC_NEW(h, SLAB * d);
    GEODEC_NEW_EACH(n_features, running, sum, square);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(a, SLAB));
    GEODEC_NEW(t->feature, t->rows * n_features);
    GEODEC_NEW_EACH(n_features, t->mean, t->factor);
    for (int64_t r = 0; r < t->rows; r += SLAB) {
        const int64_t n = t->rows - r < SLAB ? t->rows - r : SLAB;
        GEODEC_TRY(geodec_activations_read(a, layer, r, n, h, scratch, err));
        for (int64_t i = 0; i < n; i++) {
            geodec_recurrent_advance(d, h + i * d, begins(t, r + i), running);
            for (int64_t c = 0; c < n_features; c++) {
                if (!isfinite(running[c]))
                    GEODEC_THROW(GEODEC_NUMERIC, "the state of row %lld is not finite", (long long)(r + i));
                sum[c] += (double)running[c];
                square[c] += (double)running[c] * (double)running[c];
            }
            memcpy(t->feature + (r + i) * n_features, running, (size_t)n_features * sizeof *running);
        }
        GEODEC_TRY(geodec_hooks_progress(hooks, "states", r + n, t->rows, err));
    }
    for (int64_t c = 0; c < n_features; c++) {
        const double mean = sum[c] / (double)t->rows, variance = square[c] / (double)t->rows - mean * mean;
        t->mean[c] = (float)mean;
        t->factor[c] = (float)(1 / sqrt(fmax(variance, 1e-8)));
    }
    for (int64_t i = 0; i < t->rows * n_features; i++)
        t->feature[i] = (t->feature[i] - t->mean[i % n_features]) * t->factor[i % n_features];
done:
    GEODEC_FREE(h, running, sum, square, scratch);
    return st;
}

/* Rows with a previous state and enough following tokens for all steps. */
static geodec_status find_places(fitting *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW_EACH(t->rows, t->place, t->test);
    for (int64_t i = 0; i + STEPS < t->rows; i++) {
        if (begins(t, i) || t->sequence[i + STEPS] != t->sequence[i]) continue;
        if (geodec_step_part_of(t->o->seed, t->sequence[i]) == GEODEC_STEP_TEST)
            t->test[t->tests++] = i;
        else
            t->place[t->places++] = i;
    }
    if (t->places < ROWS || t->tests < 1)
        GEODEC_THROW(GEODEC_SCARCE, "%lld positions and %lld held out; the fit needs at least %d and 1",
                     (long long)t->places, (long long)t->tests, (int)ROWS);
done:
    return st;
}

/* ---- one batch -------------------------------------------------------------------------------------------------- */

/* Class of the token `back` places before row i of its text. */
static int64_t class_at(const fitting *t, int64_t i, int64_t back)
{
    return t->position[i] < back ? t->net->classes : t->net->class_of[t->token[i - back]];
}

/* out [ROWS][n] += x [ROWS][k] w [k][n]. */
static void multiply(const float *x, int64_t k, const float *w, int64_t n, float *out)
{
    geodec_blas_gemm_f32(false, false, ROWS, n, k, 1, x, k, w, n, 1, out, n);
}

/* Gradients of this product from dy [ROWS][n]: dw [k][n] += x^T dy; dx [ROWS][k] = keep dx + dy w^T, or dx NULL = not
 * computed. */
static void multiply_back(const float *x, int64_t k, const float *w, int64_t n, const float *dy, float *dw, float keep,
                          float *dx)
{
    geodec_blas_gemm_f32(true, false, k, n, ROWS, 1, x, k, dy, n, 1, dw, n);
    if (dx) geodec_blas_gemm_f32(false, true, ROWS, k, n, 1, dy, n, w, n, keep, dx, k);
}

static void forward(const fitting *t, slice *s, const int64_t *place)
{
    const geodec_recurrent *r = t->net;
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    const int64_t width = r->width, classes = r->classes, n_features = PARTS * r->d;
    for (int64_t i = 0; i < ROWS; i++)
        memcpy(s->f + i * n_features, t->feature + (place[i] - 1) * n_features, (size_t)n_features * sizeof *s->f);
    for (int k = 0; k < STEPS; k++) {
        for (int64_t i = 0; i < ROWS; i++) {
            float *a = s->a[k] + i * width;
            if (k == 0)
                memcpy(a, w.start, (size_t)width * sizeof *a);
            else
                memset(a, 0, (size_t)width * sizeof *a);
            for (int64_t b = 0; b < BACK; b++) {
                const float *e = w.token + (b * (classes + 1) + class_at(t, place[i] + k, b)) * width;
                for (int64_t c = 0; c < width; c++) a[c] += e[c];
            }
            memcpy(s->z[k] + i * width, w.bias, (size_t)width * sizeof *a);
            memcpy(s->p[k] + i * classes, w.prior, (size_t)classes * sizeof *a);
        }
        if (k == 0)
            multiply(s->f, n_features, w.input, width, s->a[k]);
        else
            multiply(s->h[k - 1], width, w.carry, width, s->a[k]);
        for (int64_t i = 0; i < ROWS * width; i++) s->a[k][i] = s->a[k][i] > 0 ? s->a[k][i] : 0;
        multiply(s->a[k], width, w.hidden, width, s->z[k]);
        for (int64_t i = 0; i < ROWS * width; i++) s->h[k][i] = s->a[k][i] + (s->z[k][i] > 0 ? s->z[k][i] : 0);
        multiply(s->h[k], width, w.head, classes, s->p[k]);
        for (int64_t i = 0; i < ROWS; i++) geodec_recurrent_softmax(classes, s->p[k] + i * classes);
    }
}

/* p <- weight (sum(q) p - q): the gradient with respect to the logits; q is the target distribution after row i. */
static void toward(const fitting *t, int64_t i, float weight, float *p)
{
    const geodec_recurrent *r = t->net;
    const float sampled = t->best > 0 ? (float)t->o->sampled : 1;
    const int32_t *top = t->top + i * t->best, next = r->class_of[t->token[i + 1]];
    const float *l = t->logit + i * t->best;
    float total = 0, kept = 0;
    for (int64_t b = 0; b < t->best; b++) {
        total += expf(l[b] - l[0]);
        if (r->class_of[top[b]] < r->classes) kept += expf(l[b] - l[0]);
    }
    const float mass = (next < r->classes ? sampled : 0) + (t->best > 0 ? (1 - sampled) * kept / total : 0);
    for (int64_t c = 0; c < r->classes; c++) p[c] *= weight * mass;
    if (next < r->classes) p[next] -= weight * sampled;
    for (int64_t b = 0; b < t->best; b++) {
        const int32_t class = r->class_of[top[b]];
        if (class < r->classes) p[class] -= weight * (1 - sampled) * expf(l[b] - l[0]) / total;
    }
}

static void add_rows(const float *x, int64_t n, float *sum)
{
    for (int64_t i = 0; i < ROWS; i++)
        for (int64_t c = 0; c < n; c++) sum[c] += x[i * n + c];
}

static void backward(const fitting *t, slice *s, const int64_t *place)
{
    const geodec_recurrent *r = t->net;
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r), g = geodec_recurrent_parts(&s->gradient);
    const int64_t width = r->width, classes = r->classes, n_features = PARTS * r->d;
    for (int k = STEPS - 1; k >= 0; k--) {
        for (int64_t i = 0; i < ROWS; i++)
            toward(t, place[i] + k, STEP_WEIGHT[k] / (SLICES * ROWS), s->p[k] + i * classes);
        multiply_back(s->h[k], width, w.head, classes, s->p[k], g.head, 0, s->dh);
        add_rows(s->p[k], classes, g.prior);
        if (k + 1 < STEPS) multiply_back(s->h[k], width, w.carry, width, s->dc[k + 1], g.carry, 1, s->dh);
        for (int64_t i = 0; i < ROWS * width; i++) s->z[k][i] = s->z[k][i] > 0 ? s->dh[i] : 0;
        add_rows(s->z[k], width, g.bias);
        memcpy(s->dc[k], s->dh, (size_t)(ROWS * width) * sizeof *s->dh);
        multiply_back(s->a[k], width, w.hidden, width, s->z[k], g.hidden, 1, s->dc[k]);
        for (int64_t i = 0; i < ROWS * width; i++) s->dc[k][i] = s->a[k][i] > 0 ? s->dc[k][i] : 0;
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t b = 0; b < BACK; b++) {
                float *e = g.token + (b * (classes + 1) + class_at(t, place[i] + k, b)) * width;
                for (int64_t c = 0; c < width; c++) e[c] += s->dc[k][i * width + c];
            }
    }
    multiply_back(s->f, n_features, w.input, width, s->dc[0], g.input, 0, NULL);
    add_rows(s->dc[0], width, g.start);
}

static void slice_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    fitting *t = ctx;
    forward(t, &t->slice[task], t->batch + task * ROWS);
    backward(t, &t->slice[task], t->batch + task * ROWS);
}

static void adam_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    fitting *t = ctx;
    const int64_t from = task * CHUNK, to = from + CHUNK < t->net->weights ? from + CHUNK : t->net->weights;
    float *w = t->net->weight, *m = t->first, *v = t->second;
    float *g[SLICES];
    for (int s = 0; s < SLICES; s++) g[s] = t->slice[s].gradient.weight;
    for (int64_t i = from; i < to; i++) {
        const float x = (g[0][i] + g[1][i]) + (g[2][i] + g[3][i]);
        m[i] = BETA1 * m[i] + (1 - BETA1) * x;
        v[i] = BETA2 * v[i] + (1 - BETA2) * x * x;
        w[i] -= t->rate * m[i] * t->correct1 / (sqrtf(v[i] * t->correct2) + 1e-8F);
    }
    for (int s = 0; s < SLICES; s++) memset(g[s] + from, 0, (size_t)(to - from) * sizeof(float));
}

/* ---- the fit ---------------------------------------------------------------------------------------------------- */

static geodec_status make_room(fitting *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_recurrent *r = t->net;
    const int64_t n = ROWS * r->width;
    r->weights = geodec_recurrent_count(r);
    GEODEC_NEW_EACH(r->weights, r->weight, t->first, t->second);
    for (int i = 0; i < SLICES; i++) {
        slice *s = &t->slice[i];
        GEODEC_NEW(s->block, ROWS * (PARTS * r->d + r->width + STEPS * (4 * r->width + r->classes)));
        float *at = s->block;
        s->f = at;
        s->dh = s->f + ROWS * PARTS * r->d;
        at = s->dh + n;
        for (int k = 0; k < STEPS; k++, at += 4 * n + ROWS * r->classes) {
            s->a[k] = at;
            s->z[k] = at + n;
            s->h[k] = at + 2 * n;
            s->dc[k] = at + 3 * n;
            s->p[k] = at + 4 * n;
        }
        s->gradient = *r;
        GEODEC_NEW(s->gradient.weight, r->weights);
    }
done:
    return st;
}

static void fill_normal(uint64_t seed, uint64_t what, double deviation, int64_t n, float *x)
{
    geodec_rng rng = geodec_rng_stream(seed, geodec_rng_id("recurrent-start", what));
    for (int64_t i = 0; i < n; i++) x[i] = (float)(deviation * geodec_rng_normal(&rng));
}

static void begin(const fitting *t)
{
    const geodec_recurrent *r = t->net;
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    const int64_t h = r->width, features = PARTS * r->d, table = (r->classes + 1) * h;
    const double narrow = 1 / sqrt((double)h);
    fill_normal(t->o->seed, 0, 1 / sqrt((double)features), features * h, w.input);
    for (int64_t b = 0; b < BACK; b++)
        fill_normal(t->o->seed, (uint64_t)(1 + b), b ? 0.2 : 0.3, table, w.token + b * table);
    fill_normal(t->o->seed, 10, narrow, h * h, w.hidden);
    fill_normal(t->o->seed, 11, narrow, h * h, w.carry);
    fill_normal(t->o->seed, 12, 0.5 * narrow, h * r->classes, w.head);
}

static geodec_status learn(fitting *t, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { BATCH = SLICES * ROWS, REPORT = 16 };
    int64_t batch[BATCH], at = t->places;
    geodec_rng rng = geodec_rng_stream(t->o->seed, geodec_rng_id("recurrent-order", 0));
    const int64_t steps = 1 + (int64_t)(t->o->epochs * (double)t->places / BATCH);
    double power1 = 1, power2 = 1;
    t->batch = batch;
    for (int64_t step = 1; step <= steps; step++) {
        for (int i = 0; i < BATCH; i++) {
            if (at == t->places) {
                for (int64_t j = t->places - 1; j > 0; j--) {
                    const int64_t k = (int64_t)geodec_rng_below(&rng, (uint64_t)j + 1), x = t->place[j];
                    t->place[j] = t->place[k];
                    t->place[k] = x;
                }
                at = 0;
            }
            batch[i] = t->place[at++];
        }
        const double done = (double)step / (double)steps;
        power1 *= (double)BETA1;
        power2 *= (double)BETA2;
        t->rate = (float)(t->o->rate * (done < 0.03 ? done / 0.03 : 0.5 * (1 + cos(acos(-1) * done)) + 0.005));
        t->correct1 = (float)(1 / (1 - power1));
        t->correct2 = (float)(1 / (1 - power2));
        geodec_pool_run(pool, SLICES, slice_task, t);
        geodec_pool_run(pool, (t->net->weights + CHUNK - 1) / CHUNK, adam_task, t);
        if (step % REPORT == 0 || step == steps) GEODEC_TRY(geodec_hooks_progress(hooks, "net", step, steps, err));
    }
done:
    t->batch = NULL;
    return st;
}

/* The standardisation is folded into W and b. */
static void fold(const fitting *t)
{
    const geodec_recurrent *r = t->net;
    const geodec_recurrent_arrays w = geodec_recurrent_parts(r);
    for (int64_t i = 0; i < PARTS * r->d; i++)
        for (int64_t c = 0; c < r->width; c++) {
            float *x = &w.input[i * r->width + c];
            *x *= t->factor[i];
            w.start[c] -= t->mean[i] * *x;
        }
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static geodec_status measure(const fitting *t, geodec_recurrent_summary *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_recurrent *r = t->net;
    const int64_t n_features = PARTS * r->d, stride = 1 + t->tests / FIGURES;
    uint32_t *pair = NULL, *newest = NULL, *one = NULL;
    float *f = NULL, *c = NULL, *h = NULL, *p = NULL;
    int64_t scored[STEPS] = {0}, all = 0;
    const int64_t n = r->classes + 1;
    GEODEC_NEW(pair, n * n);
    GEODEC_NEW_EACH(n, newest, one);
    GEODEC_NEW(f, n_features);
    GEODEC_NEW_EACH(r->width, c, h);
    GEODEC_NEW(p, r->classes);
    for (int64_t i = 0; i < t->places; i++) {
        const int32_t a = r->class_of[t->token[t->place[i]]], b = r->class_of[t->token[t->place[i] + 1]];
        if (b == r->classes) continue;
        pair[a * n + b]++;
        newest[a]++;
        one[b]++;
        all++;
    }
    *s = (geodec_recurrent_summary){.fitted = t->places};
    for (int64_t i = 0; i < t->tests; i += stride) {
        const int64_t at = t->test[i];
        for (int64_t k = 0; k < n_features; k++)
            f[k] = t->feature[(at - 1) * n_features + k] / t->factor[k] + t->mean[k];
        geodec_recurrent_start(r, f, c);
        s->places++;
        for (int k = 0; k < STEPS; k++) {
            int32_t x[BACK];
            for (int b = 0; b < BACK; b++) x[b] = t->position[at + k] < b ? -1 : t->token[at + k - b];
            geodec_recurrent_step(r, c, x, h);
            geodec_recurrent_probabilities(r, h, p);
            geodec_recurrent_carry(r, h, c);
            const int32_t next = r->class_of[t->token[at + k + 1]], a = r->class_of[x[0]];
            if (next == r->classes) continue;
            scored[k]++;
            s->loss[k] -= log((double)p[next] + 1e-30);
            if (k > 0) continue;
            int32_t best = 0;
            for (int32_t q = 1; q < r->classes; q++)
                if (p[q] > p[best]) best = q;
            s->first += best == next;
            s->bigram -= log(((double)pair[a * n + next] + 1) / ((double)newest[a] + (double)r->classes));
            s->unigram -= log(((double)one[next] + 1) / ((double)all + (double)r->classes));
        }
    }
    for (int k = 0; k < STEPS; k++) s->loss[k] /= (double)scored[k];
    s->first /= (double)scored[0];
    s->bigram /= (double)scored[0];
    s->unigram /= (double)scored[0];
done:
    GEODEC_FREE(pair, newest, one, f, c, h, p);
    return st;
}

static void clear(fitting *t)
{
    GEODEC_FREE(t->token, t->position, t->sequence, t->top, t->logit, t->feature, t->mean, t->factor, t->place, t->test,
                t->first, t->second);
    for (int i = 0; i < SLICES; i++) GEODEC_FREE(t->slice[i].block, t->slice[i].gradient.weight);
}

geodec_status geodec_recurrent_fit(const geodec_activations *a, const geodec_recurrent_options *o,
                                   geodec_recurrent *out, geodec_recurrent_summary *summary, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_recurrent net = {.width = o->width};
    fitting t = {.net = &net, .o = o};
    GEODEC_TRY(check(o, err));
    GEODEC_TRY(read_texts(&t, a, err));
    GEODEC_TRY(choose_classes(&t, err));
    GEODEC_TRY(make_features(&t, a, hooks, err));
    GEODEC_TRY(find_places(&t, err));
    GEODEC_TRY(make_room(&t, err));
    begin(&t);
    GEODEC_TRY(learn(&t, pool, hooks, err));
    fold(&t);
    for (int64_t i = 0; i < net.weights; i++)
        if (!(fabsf(net.weight[i]) <= 1e4F)) GEODEC_THROW(GEODEC_NUMERIC, "the fit diverged: a smaller rate may help");
    GEODEC_TRY(measure(&t, summary, err));
    GEODEC_MOVE(*out, net);
done:
    clear(&t);
    geodec_recurrent_clear(&net);
    return st;
}
