/* A residual of several streams (AltUp: Baykal et al. 2023), of which the halves of a layer read and change the first
 * one, the active one. With K streams X, x0 the embedding, N a norm:
 *     entry   X_0 = x0,  X_k = E_k x0 |x0| / |E_k x0|
 *     layer   r(z) = tanh(R N(z) / d),  C = P r(X_0)  [K][K]
 *             p_i = X_i + sum_j C_ij X_j,  z = the layer of p_0,  X_i = p_i + (1 + (Q r(z))_i) (z - p_0)
 *     exit    (X_0 + sum_k U_k X_k |X_0| / |U_k X_k|) / K, the stream that the last norm reads
 * and beside attention, from its normed input h, a path of low rank (LAuReL: Menghani et al. 2024):
 *     z = (p_0 + attention + h + N(B A h)) / sqrt(2)
 *
 * A row of x_row has X_0 .. X_{K-1}, p_0, the output of that path and the numbers between its matrices, each padded. */
#include "session/model_internal.h"

#include <math.h>
#include <string.h>

static float *part_of(const geodec_session *s, int64_t row, int64_t part)
{
    return s->x_row[row] + part * geodec__pad(s->model->config.d_model);
}
static float *predicted(const geodec_session *s, int64_t row) { return part_of(s, row, s->model->config.n_streams); }
static float *beside(const geodec_session *s, int64_t row) { return part_of(s, row, s->model->config.n_streams + 1); }

int64_t geodec__streams_width(const geodec_model *m)
{
    const geodec_model_config *c = &m->config;
    return c->n_streams == 0 ? c->d_model : (c->n_streams + 2) * geodec__pad(c->d_model) + c->laurel_rank;
}

float *geodec__streams_of(const geodec_session *s, int64_t row, int64_t stream) { return part_of(s, row, stream); }

/* Squares in float32, their sum in double: the same bits on every instruction set. */
static float length_of(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)(x[i] * x[i]);
    return sqrtf((float)sum);
}

/* A vector of zeros has no direction, and stays. */
static void lengthen(float *x, int64_t n, float length)
{
    const float own = length_of(x, n);
    for (int64_t i = 0; own > 0 && i < n; i++) x[i] = x[i] * length / own;
}

void geodec__streams_enter(geodec_session *s, int64_t n)
{
    const geodec_model *m = s->model;
    const int64_t d = m->config.d_model;
    for (int64_t r = 0; r < n; r++) s->input[r] = s->x_row[r];
    for (int64_t k = 1; k < m->config.n_streams; k++) {
        for (int64_t r = 0; r < n; r++) s->output[r] = part_of(s, r, k);
        s->job[0] = geodec__job_of(geodec__expert(&m->streams_enter, k - 1), s->input, s->output, n);
        geodec__jobs_run(s, 1);
        for (int64_t r = 0; r < n; r++) lengthen(s->output[r], d, length_of(s->x_row[r], d));
    }
}

/* r of the first stream, in down_row. */
static void modes(geodec_session *s, const geodec__layer *l, int64_t n)
{
    const int64_t d = s->model->config.d_model;
    const float inverse = 1 / (float)d;
    for (int64_t r = 0; r < n; r++) {
        geodec__norm_row(s->kernels, &l->streams_norm, s->x_row[r], s->norm_row[r]);
        for (int64_t i = 0; i < d; i++) s->norm_row[r][i] *= inverse;
        s->input[r] = s->norm_row[r];
    }
    s->job[0] = geodec__job_of(l->streams_router, s->input, s->down_row, n);
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < l->streams_router.rows; i++) s->down_row[r][i] = (float)tanh((double)s->down_row[r][i]);
}

/* Row `row` of a matrix of [K] columns times x. */
static float coefficient(const float *w, int64_t row, const float *x, int64_t streams)
{
    float sum = 0;
    for (int64_t i = 0; i < streams; i++) sum += w[row * geodec__pad(streams) + i] * x[i];
    return sum;
}

void geodec__streams_predict(geodec_session *s, const geodec__layer *l, int64_t n)
{
    enum { K = GEODEC__STREAMS };
    const int64_t d = s->model->config.d_model, step = geodec__pad(d), streams = s->model->config.n_streams;
    modes(s, l, n);
    for (int64_t r = 0; r < n; r++) {
        float c[K * K], *x = s->x_row[r];
        for (int64_t i = 0; i < streams * streams; i++)
            c[i] = coefficient(l->streams_predict, i, s->down_row[r], streams);
        for (int64_t at = 0; at < d; at++) {
            float sum[K] = {0};
            for (int64_t i = 0; i < streams; i++)
                for (int64_t j = 0; j < streams; j++) sum[i] += c[i * streams + j] * x[j * step + at];
            for (int64_t i = 0; i < streams; i++) x[i * step + at] += sum[i];
        }
        memcpy(predicted(s, r), x, (size_t)d * sizeof *x);
    }
}

void geodec__streams_correct(geodec_session *s, const geodec__layer *l, int64_t n)
{
    const int64_t d = s->model->config.d_model, streams = s->model->config.n_streams;
    modes(s, l, n);
    for (int64_t r = 0; r < n; r++) {
        float *p = predicted(s, r), *z = s->x_row[r];
        for (int64_t i = 0; i < d; i++) {
            const float before = p[i];
            p[i] = z[i] - before; /* the innovation */
            z[i] = before;
        }
        for (int64_t k = 0; k < streams; k++) {
            const float c = coefficient(l->streams_correct, k, s->down_row[r], streams) + 1;
            float *x = part_of(s, r, k);
            for (int64_t i = 0; i < d; i++) x[i] += p[i] * c;
        }
    }
}

void geodec__streams_leave(geodec_session *s, int64_t n)
{
    const geodec_model *m = s->model;
    const int64_t d = m->config.d_model, streams = m->config.n_streams;
    for (int64_t r = 0; r < n; r++) predicted(s, r)[0] = length_of(s->x_row[r], d);
    for (int64_t k = 1; k < streams; k++) {
        for (int64_t r = 0; r < n; r++) s->input[r] = part_of(s, r, k);
        s->job[0] = geodec__job_of(geodec__expert(&m->streams_leave, k - 1), s->input, s->down_row, n);
        geodec__jobs_run(s, 1);
        for (int64_t r = 0; r < n; r++) {
            lengthen(s->down_row[r], d, predicted(s, r)[0]);
            for (int64_t i = 0; i < d; i++) s->x_row[r][i] += s->down_row[r][i];
        }
    }
    const float share = 1 / (float)streams;
    for (int64_t r = 0; r < n; r++)
        for (int64_t i = 0; i < d; i++) s->x_row[r][i] *= share;
}

void geodec__streams_laurel(geodec_session *s, const geodec__layer *l, int64_t n)
{
    const int64_t d = s->model->config.d_model;
    if (!l->laurel_in.data) return;
    for (int64_t r = 0; r < n; r++) s->output[r] = part_of(s, r, s->model->config.n_streams + 2);
    s->job[0] = geodec__job_of(l->laurel_in, s->input, s->output, n);
    geodec__jobs_run(s, 1);
    s->job[0] = geodec__job_of(l->laurel_out, (const float *const *)s->output, s->down_row, n);
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; r < n; r++) {
        float *y = beside(s, r);
        geodec__norm_row(s->kernels, &l->laurel_norm, s->down_row[r], y);
        for (int64_t i = 0; i < d; i++) y[i] += s->input[r][i];
    }
}

void geodec__streams_add_laurel(const geodec_session *s, const geodec__layer *l, int64_t row)
{
    const float half = (float)sqrt(0.5), *y = beside(s, row);
    float *x = s->x_row[row];
    for (int64_t i = 0; l->laurel_in.data && i < s->model->config.d_model; i++) x[i] = (x[i] + y[i]) * half;
}
