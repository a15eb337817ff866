/* Inputs of each layer beside the stream (gemma3n, gemma4), P numbers for a token and a layer:
 *     e = table[token] sqrt(P),  p = N(W x0 / sqrt(d)),  input = (e + p) / sqrt(2)      x0 the embedding, N of each P
 * and at the end of a layer, behind its feed-forward:
 *     x += N(W2 (GELU(W1 (x * scale)) * input))
 * or, with several streams (streams.c), from the first one to all others. */
#include "session/model_internal.h"

#include <math.h>
#include <string.h>

geodec_status geodec__layer_inputs_create(geodec_session *s, geodec_err *err)
{
    const geodec_model *m = s->model;
    if (!m->inputs.project.data) return GEODEC_OK;
    GEODEC_PASS(geodec__session_rows(&s->inputs_row, s->max_batch, m->inputs.project.rows, err));
    return geodec__session_rows(&s->inner_row, s->max_batch, m->config.d_inputs, err);
}

void geodec__layer_inputs_embed(geodec_session *s, const int32_t *token, int64_t n)
{
    const geodec_model *m = s->model;
    const int64_t width = m->inputs.project.rows, part = m->config.d_inputs;
    const geodec__matrix *table = &m->inputs.table;
    const float scale = (float)sqrt((double)part), half = (float)sqrt(0.5);
    const float inverse = (float)(1 / sqrt((double)m->config.d_model));
    if (!m->inputs.project.data) return;
    for (int64_t r = 0; r < n; r++) s->input[r] = s->x_row[r];
    s->job[0] = geodec__job_of(m->inputs.project, s->input, s->inputs_row, n);
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; r < n; r++) {
        float *y = s->inputs_row[r];
        const uint8_t *row = table->data + token[r] * table->row_bytes;
        const geodec_ggml_traits *t = geodec_ggml_traits_of(table->type);
        for (int64_t i = 0; i < width; i++) y[i] *= inverse;
        geodec__norm_row(s->kernels, &m->inputs.norm, y, y);
        for (int64_t i = 0; i < width; i += GEODEC__INPUTS_AT_ONCE) {
            float e[GEODEC__INPUTS_AT_ONCE];
            const int64_t some = width - i < GEODEC__INPUTS_AT_ONCE ? width - i : GEODEC__INPUTS_AT_ONCE;
            t->decode(row + (int64_t)geodec_ggml_bytes(t, i), e, some);
            for (int64_t k = 0; k < some; k++) y[i + k] = (e[k] * scale + y[i + k]) * half;
        }
    }
}

void geodec__layer_inputs_run(geodec_session *s, const geodec__layer *l, int32_t index, int64_t n)
{
    const int64_t part = s->model->config.d_inputs, d = s->model->config.d_model;
    const int64_t streams = s->model->config.n_streams, first = streams > 0, end = streams > 0 ? streams : 1;
    if (!l->input_gate.data) return;
    for (int64_t r = 0; r < n; r++) {
        s->input[r] = s->x_row[r];
        if (!l->input_scale) continue;
        for (int64_t i = 0; i < d; i++) s->norm_row[r][i] = s->x_row[r][i] * l->input_scale[i];
        s->input[r] = s->norm_row[r];
    }
    s->job[0] = geodec__job_of(l->input_gate, s->input, s->inner_row, n);
    s->job[0].plain = true;
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; r < n; r++) {
        const float *input = s->inputs_row[r] + index * part;
        for (int64_t i = 0; i < part; i++) s->inner_row[r][i] *= input[i];
        s->input[r] = s->inner_row[r];
    }
    s->job[0] = geodec__job_of(l->input_out, s->input, s->down_row, n);
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; r < n; r++) {
        float *y = s->down_row[r];
        geodec__norm_row(s->kernels, &l->input_norm, y, y);
        for (int64_t k = first; k < end; k++) {
            float *x = geodec__streams_of(s, r, k);
            for (int64_t i = 0; i < d; i++) x[i] += y[i];
        }
    }
}
