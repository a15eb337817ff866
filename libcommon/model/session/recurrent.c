/* Recurrent layers of a pass: products, convolution, steps, norms and gates (recurrent_internal.h). Gates are computed
 * in double: the same bits on every instruction set. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "session/recurrence_states_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS = 4 /* rows of a task */, FEW_NUMBERS = 1 << 14 /* below it, dispatch costs more than it saves */ };

/* Rows of a pass, [max_batch] each; NULL where the layers have no such part. */
struct geodec__recurrent_rows {
    float **in;   /* products of Win */
    float **gate; /* z, where it is not a part of `in` */
    float **alpha, **beta;
    float **conv;           /* [width] */
    float **x, **low, **dt; /* products of Wx; dt before and after Wdt */
    float **q;              /* [keys][stride], zero behind the rank */
    float **beside;         /* [d_model] product of the output matrix beside attention */
    float **z, **step;      /* pointers alone: z and dt of the rows of a run */
    int64_t numbers;        /* of a row, in all */
};

/* ---- creation ---------------------------------------------------------------------------------------------------- */

int64_t geodec__recurrent_widest(const geodec_model *m)
{
    int64_t widest = 0;
    for (int32_t i = 0; m->layer && i < m->config.n_layer; i++) {
        const geodec__recurrent *l = &m->layer[i].recurrent;
        if (l->how > GEODEC__MIXER_DECAY) widest = geodec__max(widest, geodec__max(l->shape.d, l->shape.width));
    }
    return widest;
}

/* The first layer with a mixer other than the decay recurrence; all have the same shapes. */
static const geodec__recurrent *any_of(const geodec_model *m)
{
    for (int32_t i = 0; i < m->config.n_layer; i++)
        if (m->layer[i].recurrent.how > GEODEC__MIXER_DECAY) return &m->layer[i].recurrent;
    return NULL;
}

geodec_status geodec__recurrent_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__recurrent *l = any_of(s->model);
    if (!l) return GEODEC_OK;
    const int64_t n = s->max_batch, heads = geodec_recurrence_heads(&l->shape),
                  keys = l->shape.keys * geodec_recurrence_stride(l->shape.r);
    struct geodec__recurrent_rows *r = NULL;
    GEODEC_NEW(r, 1);
    s->recurrent = r; /* geodec__recurrent_destroy frees it */
    const struct {
        float ***row;
        int64_t width; /* 0: none */
    } all[] = {{&r->in, l->in.rows},
               {&r->gate, l->gate.data || l->grouped ? l->shape.d : 0},
               {&r->alpha, l->how == GEODEC__MIXER_DELTA ? heads : 0},
               {&r->beta, l->beta.rows},
               {&r->conv, l->shape.width},
               {&r->x, l->x.rows},
               {&r->low, l->dt.cols},
               {&r->dt, l->dt.rows},
               {&r->q, keys},
               {&r->beside, l->beside ? s->model->config.d_model : 0}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].width > 0) {
            GEODEC_TRY(geodec__session_rows(all[i].row, n, all[i].width, err));
            r->numbers += all[i].width;
        }
    GEODEC_NEW_EACH(n, r->z, r->step);
done:
    return st;
}

void geodec__recurrent_destroy(geodec_session *s)
{
    struct geodec__recurrent_rows *r = s->recurrent;
    if (!r) return;
    GEODEC_FREE(r->in, r->gate, r->alpha, r->beta, r->conv, r->x, r->low, r->dt, r->q, r->beside, r->z, r->step, r);
}

int64_t geodec__recurrent_bytes(const geodec_session *s)
{
    return s->recurrent ? s->max_batch * s->recurrent->numbers * (int64_t)sizeof(float) : 0;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

typedef struct row_work {
    geodec_session *s;
    const geodec__recurrent *l;
    struct geodec__recurrent_rows *r;
    geodec__recur *a;
    int64_t n;
    void (*fn)(const struct row_work *w, int64_t row);
} row_work;

static void row_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const row_work *w = ctx;
    for (int64_t t = task * ROWS; t < geodec__min(w->n, (task + 1) * ROWS); t++) w->fn(w, t);
}

/* width: numbers touched in a row. */
static void each_row(row_work *w, void (*fn)(const row_work *w, int64_t row), int64_t width)
{
    w->fn = fn;
    geodec_pool_run_dynamic(w->n * width < FEW_NUMBERS ? NULL : w->s->pool, (w->n + ROWS - 1) / ROWS, row_task, w);
}

static void copy(float *to, const float *from, int64_t n) { memcpy(to, from, (size_t)n * sizeof *to); }

static void multiply(geodec_session *s, const geodec__matrix *w, float *const *x, float *const *y, int64_t n)
{
    s->job[0] = geodec__job_of(*w, (const float *const *)x, y, n);
    geodec__jobs_run(s, 1);
}

/* ---- short convolution (lfm2) ------------------------------------------------------------------------------------ */

static void short_begin(const row_work *w, int64_t t)
{
    const int64_t width = w->l->shape.width;
    const float *b = w->r->in[t], *u = b + 2 * width;
    for (int64_t i = 0; i < width; i++) w->a->in[t][i] = b[i] * u[i];
}

static void short_end(const row_work *w, int64_t t)
{
    const int64_t width = w->l->shape.width;
    const float *c = w->r->in[t] + width;
    for (int64_t i = 0; i < width; i++) w->a->y[t][i] = c[i] * w->r->conv[t][i];
}

static void run_short(row_work *w, int32_t index, bool chain)
{
    geodec_session *s = w->s;
    s->job[0] = geodec__job_of(w->l->in, s->input, w->r->in, w->n);
    geodec__jobs_run(s, 1);
    each_row(w, short_begin, 3 * w->l->shape.width);
    geodec__recurrence_convolve(s, index, w->n, chain, false, w->r->conv);
    each_row(w, short_end, 3 * w->l->shape.width);
    geodec__rows_end(s->mixed_row, w->n, w->l->shape.width);
}

/* ---- selective state space (mamba, mamba2) ----------------------------------------------------------------------- */

/* log(1 + exp x), within 1e-8 of it: log1p takes twice as long as log. */
static double softplus(double x) { return x > 30 ? x : x < -18 ? exp(x) : log(1 + exp(x)); }

/* z and u of each head in turn, or z, u, .. as they are (mamba has u first). */
static void selective_begin(const row_work *w, int64_t t)
{
    const geodec_recurrence_shape *p = &w->l->shape;
    float *in = w->r->in[t];
    w->r->z[t] = w->l->x.data ? in + p->d : in;
    w->r->step[t] = w->l->x.data ? w->r->dt[t] : in + p->d + p->width;
    if (!w->l->grouped) {
        copy(w->a->in[t], w->l->x.data ? in : in + p->d, p->width);
        return;
    }
    w->r->z[t] = w->r->gate[t];
    for (int64_t h = 0; h < p->d / p->share; h++) {
        copy(w->r->gate[t] + h * p->share, in + 2 * h * p->share, p->share);
        copy(w->a->in[t] + h * p->share, in + (2 * h + 1) * p->share, p->share);
    }
}

/* Key and query of every group; the rest of their rows is zero. */
static void selective_keys(const row_work *w, int64_t t)
{
    const geodec_recurrence_shape *p = &w->l->shape;
    const int64_t stride = w->a->stride;
    const float *b = w->r->conv[t] + p->d, *c = b + p->keys * p->r;
    for (int64_t k = 0; k < p->keys; k++) {
        copy(w->a->k[t] + k * stride, b + k * p->r, p->r);
        copy(w->r->q[t] + k * stride, c + k * p->r, p->r);
    }
    w->a->q[t] = w->r->q[t];
}

/* [N] x */
static void norm(const row_work *w, float *y, const float *x, const geodec__norm *norm, int64_t n)
{
    if (norm->weight)
        geodec__norm_row(w->s->kernels, norm, x, y);
    else
        copy(y, x, n);
}

/* The same from the product of Wx, with the norms; and the input of Wdt. */
static void selective_parts(const row_work *w, int64_t t)
{
    const geodec__recurrent *l = w->l;
    const int64_t r = l->shape.r, rank = l->dt.cols;
    const float *dt = w->r->x[t] + (l->dt_last ? 2 * r : 0), *b = w->r->x[t] + (l->dt_last ? 0 : rank);
    norm(w, w->r->low[t], dt, &l->dt_norm, rank);
    norm(w, w->a->k[t], b, &l->b_norm, r);
    norm(w, w->r->q[t], b + r, &l->c_norm, r);
    w->a->q[t] = w->r->q[t];
}

static void selective_before(const geodec__recur_run *w, int64_t first, int64_t end)
{
    const geodec__recurrent *l = &w->layer->recurrent;
    const geodec__recur *a = w->s->recur;
    const int64_t share = l->shape.share;
    const struct geodec__recurrent_rows *r = w->s->recurrent;
    for (int64_t t = 0; t < w->n; t++)
        for (int64_t h = first / share; h < end / share; h++) {
            const double dt = softplus((double)w->dt[t][h] + (double)l->dt_bias[h]);
            const float factor = (float)dt;
            a->g[t][h] = l->shape.kind == GEODEC_RECURRENCE_SCAN ? factor : (float)exp(dt * (double)l->a[h]);
            for (int64_t i = h * share; i < (h + 1) * share; i++) a->v[t][i] = factor * r->conv[t][i];
        }
}

static void selective_after(const geodec__recur_run *w, int64_t first, int64_t end)
{
    const geodec__recurrent *l = &w->layer->recurrent;
    const geodec__recur *a = w->s->recur;
    const struct geodec__recurrent_rows *r = w->s->recurrent;
    for (int64_t t = 0; t < w->n; t++) {
        float *y = a->y[t], *z = w->z[t];
        for (int64_t i = first; i < end; i++) y[i] += l->skip[i / l->shape.share] * r->conv[t][i];
        w->s->kernels->activate(GEODEC_SILU, NULL, z + first, y + first, end - first);
        copy(y + first, z + first, end - first);
    }
}

static void selective_norm(const row_work *w, int64_t t)
{
    geodec__norm_row(w->s->kernels, &w->l->norm, w->a->y[t], w->a->y[t]);
}

static void run_selective(row_work *w, int32_t index, bool chain)
{
    geodec_session *s = w->s;
    const geodec__recurrent *l = w->l;
    s->job[0] = geodec__job_of(l->in, s->input, w->r->in, w->n);
    geodec__jobs_run(s, 1);
    each_row(w, selective_begin, l->in.rows);
    geodec__recurrence_convolve(s, index, w->n, chain, true, w->r->conv);
    if (l->x.data) {
        multiply(s, &l->x, w->r->conv, w->r->x, w->n);
        each_row(w, selective_parts, l->x.rows);
        geodec__rows_end(w->r->low, w->n, l->dt.cols);
        multiply(s, &l->dt, w->r->low, w->r->dt, w->n);
    } else {
        each_row(w, selective_keys, 2 * l->shape.keys * l->shape.r);
    }
    geodec__recur_run run = {.s = s,
                             .layer = &s->model->layer[index],
                             .n = w->n,
                             .before = selective_before,
                             .after = selective_after,
                             .z = w->r->z,
                             .dt = w->r->step};
    geodec__recurrence_step(&run, index, chain);
    if (l->norm.weight) each_row(w, selective_norm, 2 * l->shape.d);
    geodec__rows_end(s->mixed_row, w->n, l->shape.d);
}

/* ---- gated delta rule (qwen3next, qwen35) ------------------------------------------------------------------------ */

static void delta_begin(const row_work *w, int64_t t)
{
    const geodec__recurrent *l = w->l;
    const geodec_recurrence_shape *p = &l->shape;
    const int64_t values = p->d / p->keys, heads = w->a->heads / p->keys;
    const float *from = w->r->in[t], *gates = w->r->beta[t];
    float *in = w->a->in[t];
    w->r->z[t] = w->r->gate[t];
    if (!l->grouped) copy(in, from, p->width);
    for (int64_t k = 0; l->grouped && k < p->keys; k++, from += 2 * (p->r + values)) {
        copy(in + k * p->r, from, p->r);
        copy(in + (p->keys + k) * p->r, from + p->r, p->r);
        copy(in + 2 * p->keys * p->r + k * values, from + 2 * p->r, values);
        copy(w->r->gate[t] + k * values, from + 2 * p->r + values, values);
    }
    for (int64_t k = 0; l->grouped_beta && k < p->keys; k++, gates += 2 * heads) {
        memmove(w->r->beta[t] + k * heads, gates, (size_t)heads * sizeof(float)); /* to the front: never past `gates` */
        copy(w->r->alpha[t] + k * heads, gates + heads, heads);
    }
}

/* y = scale x / max(|x|, eps) */
static void unit(const row_work *w, float *y, const float *x, double scale)
{
    const int64_t n = w->l->shape.r;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)x[i] * (double)x[i];
    const double size = sqrt(sum), eps = (double)w->s->model->config.rms_eps;
    const float factor = (float)(scale / (size > eps ? size : eps));
    for (int64_t i = 0; i < n; i++) y[i] = factor * x[i];
}

static void delta_keys(const row_work *w, int64_t t)
{
    const geodec_recurrence_shape *p = &w->l->shape;
    const double scale = 1 / sqrt((double)p->r);
    for (int64_t k = 0; k < p->keys; k++) {
        unit(w, w->r->q[t] + k * w->a->stride, w->r->conv[t] + k * p->r, scale);
        unit(w, w->a->k[t] + k * w->a->stride, w->r->conv[t] + (p->keys + k) * p->r, 1);
    }
    w->a->q[t] = w->r->q[t];
}

static void delta_before(const geodec__recur_run *w, int64_t first, int64_t end)
{
    const geodec__recurrent *l = &w->layer->recurrent;
    const geodec_recurrence_shape *p = &l->shape;
    const geodec__recur *a = w->s->recur;
    const struct geodec__recurrent_rows *r = w->s->recurrent;
    for (int64_t t = 0; t < w->n; t++) {
        for (int64_t h = first / p->share; h < end / p->share; h++) {
            const double step = softplus((double)r->alpha[t][h] + (double)l->dt_bias[h]);
            a->g[t][h] = (float)exp(step * (double)l->a[h]);
            a->b[t][h] = (float)(1 / (1 + exp(-(double)r->beta[t][h])));
        }
        copy(a->v[t] + first, r->conv[t] + 2 * p->keys * p->r + first, end - first);
    }
}

static void delta_after(const geodec__recur_run *w, int64_t first, int64_t end)
{
    const geodec__recurrent *l = &w->layer->recurrent;
    const int64_t share = l->shape.share;
    for (int64_t t = 0; t < w->n; t++) {
        float *y = w->s->recur->y[t], *z = w->z[t];
        for (int64_t i = first; i < end; i += share)
            geodec__norm_part(w->s->kernels, &l->norm, i / share, y + i, y + i);
        w->s->kernels->activate(GEODEC_SILU, NULL, z + first, y + first, end - first);
        copy(y + first, z + first, end - first);
    }
}

static void run_delta(row_work *w, int32_t index, bool chain)
{
    geodec_session *s = w->s;
    const geodec__recurrent *l = w->l;
    const struct {
        const geodec__matrix *w;
        float **y;
    } products[] = {{&l->in, w->r->in}, {&l->gate, w->r->gate}, {&l->alpha, w->r->alpha}, {&l->beta, w->r->beta}};
    int64_t jobs = 0;
    for (int i = 0; i < 4; i++)
        if (products[i].w->data) s->job[jobs++] = geodec__job_of(*products[i].w, s->input, products[i].y, w->n);
    geodec__jobs_run(s, jobs);
    each_row(w, delta_begin, l->in.rows);
    geodec__recurrence_convolve(s, index, w->n, chain, true, w->r->conv);
    each_row(w, delta_keys, 2 * l->shape.keys * l->shape.r);
    geodec__recur_run run = {.s = s,
                             .layer = &s->model->layer[index],
                             .n = w->n,
                             .before = delta_before,
                             .after = delta_after,
                             .z = w->r->z};
    geodec__recurrence_step(&run, index, chain);
    geodec__rows_end(s->mixed_row, w->n, l->shape.d);
}

void geodec__recurrent_run(geodec_session *s, int32_t index, int64_t n, bool chain)
{
    row_work w = {.s = s, .l = &s->model->layer[index].recurrent, .r = s->recurrent, .a = s->recur, .n = n};
    geodec__recurrence_rows(s, index, n);
    if (w.l->how == GEODEC__MIXER_SHORT)
        run_short(&w, index, chain);
    else if (w.l->how == GEODEC__MIXER_SELECTIVE)
        run_selective(&w, index, chain);
    else
        run_delta(&w, index, chain);
}

void geodec__recurrent_beside(geodec_session *s, int32_t index, int64_t n, bool chain)
{
    const int64_t d = s->model->config.d_model;
    const geodec__recurrent *l = &s->model->layer[index].recurrent;
    float **y = s->recurrent->beside;
    for (int64_t t = 0; t < n; t++) s->input[t] = s->norm_row[t];
    geodec__recurrent_run(s, index, n, chain);
    multiply(s, &l->out, s->mixed_row, y, n);
    for (int64_t t = 0; t < n; t++)
        for (int64_t i = 0; i < d; i++) s->down_row[t][i] += y[t][i];
}
