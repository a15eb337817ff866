/* Inputs of each layer beside the stream (session/layer_inputs.c): P numbers for a token and a layer,
 *     input = (sqrt(P) table[token] + N(W x0 / sqrt(d))) / sqrt(2)      x0 the stream at boundary 0, N of each P
 * and at the end of a block
 *     x += N(W2 (A(W1 (x * scale)) * input))
 * or, with several streams, from the first one to all others. */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <math.h>
#include <string.h>

/* W x0 / sqrt(d), or of tangents, of `rows` rows. */
static geodec_status project(const geodec_reference *r, int64_t rows, const double *x, double *y, geodec_err *err)
{
    const geodec__matrix *w = &r->model->inputs.project;
    const double factor = 1 / sqrt((double)r->model->config.d_model);
    GEODEC_PASS(geodec__reference_product(r->pool, w, rows, x, y, err));
    for (int64_t i = 0; i < rows * w->rows; i++) y[i] *= factor;
    return GEODEC_OK;
}

geodec_status geodec__reference_inputs(const geodec_reference *r, const int32_t *token, int64_t n, const double *x,
                                       double *input, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = r->model;
    const int64_t width = m->inputs.project.rows;
    const double scale = sqrt((double)m->config.d_inputs), half = sqrt(0.5);
    double *row = NULL;
    float *buffer = NULL;
    GEODEC_NEW_EACH(width, row, buffer);
    GEODEC_TRY(project(r, n, x, input, err));
    geodec__reference_norm(n, &m->inputs.norm, input, input);
    for (int64_t t = 0; t < n; t++) {
        geodec__reference_decode_row(&m->inputs.table, token[t], buffer, row);
        for (int64_t i = 0; i < width; i++) input[t * width + i] = half * (scale * row[i] + input[t * width + i]);
    }
done:
    GEODEC_FREE(row, buffer);
    return st;
}

geodec_status geodec__reference_inputs_jvp(const geodec_reference *r, int64_t n, const double *x, int64_t k,
                                           const double *dx, double *dinput, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = r->model;
    const int64_t size = n * m->inputs.project.rows;
    double *raw = NULL;
    GEODEC_NEW(raw, size);
    GEODEC_TRY(project(r, n, x, raw, err));
    GEODEC_TRY(project(r, k * n, dx, dinput, err));
    geodec__reference_norm_jvp(n, &m->inputs.norm, raw, k, dinput, dinput);
    for (int64_t i = 0; i < k * size; i++) dinput[i] *= sqrt(0.5);
done:
    geodec_mem_free(raw);
    return st;
}

geodec_status geodec__reference_inputs_vjp(const geodec_reference *r, int64_t n, const double *x, int64_t k,
                                           double *ginput, double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = r->model;
    const int64_t d = m->config.d_model, size = n * m->inputs.project.rows;
    const double factor = sqrt(0.5) / sqrt((double)d);
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){size, k * n * d}, buffer, err));
    double *raw = buffer[0], *part = buffer[1];
    GEODEC_TRY(project(r, n, x, raw, err));
    geodec__reference_norm_vjp(n, &m->inputs.norm, raw, k, ginput, ginput);
    for (int64_t i = 0; i < k * size; i++) ginput[i] *= factor;
    GEODEC_TRY(geodec__reference_product_vjp(r->pool, &m->inputs.project, k * n, ginput, part, err));
    geodec__reference_add(k * n * d, part, gx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* ---- the end of a block ------------------------------------------------------------------------------------------ */

/* Block l's part of the rows of `all` [rows][n_layer P], or with `add` the other way, added. */
static void slice(const geodec_reference *r, int32_t l, int64_t rows, double *all, double *one, bool add)
{
    const int64_t part = r->model->config.d_inputs, width = r->model->inputs.project.rows;
    for (int64_t t = 0; t < rows; t++) {
        double *at = all + t * width + l * part;
        if (add)
            geodec__reference_add(part, one + t * part, at);
        else
            memcpy(one + t * part, at, (size_t)part * sizeof *at);
    }
}

/* x, or a tangent or cotangent of it, of rows [d_model] times the layer's factors, if there are any; room has its size.
 */
static const double *scaled(const geodec__layer *l, int64_t d, int64_t rows, const double *x, double *room)
{
    if (!l->input_scale) return x;
    for (int64_t i = 0; i < rows * d; i++) room[i] = x[i] * (double)l->input_scale[i % d];
    return room;
}

/* Where the streams begin and end that the input is added to: all, but with several not the first; of `size` each. */
static int64_t begin_of(const geodec__ref_tape *t, int64_t size)
{
    return geodec__reference_streams(t->r) > 1 ? size : 0;
}
static int64_t end_of(const geodec__ref_tape *t, int64_t size) { return geodec__reference_streams(t->r) * size; }

geodec_status geodec__reference_input(geodec__ref_tape *t, const geodec__layer *l, int32_t index, double *x,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__ref_activation a = geodec__reference_activation(t, l);
    const int64_t size = t->n * l->input_gate.rows, d = t->r->model->config.d_model, wide = t->n * d;
    double *buffer[2] = {NULL};
    if (!l->input_gate.data) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){size, wide}, buffer, err));
    slice(t->r, index, t->n, t->value->input, t->input, false);
    const double *in = scaled(l, d, t->n, x, buffer[1]);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->input_gate, t->n, in, t->input_gate, err));
    geodec__reference_gated(&a, size, t->input_gate, t->input, buffer[0]);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->input_out, t->n, buffer[0], t->input_out, err));
    geodec__reference_norm(t->n, &l->input_norm, t->input_out, buffer[1]);
    for (int64_t at = begin_of(t, wide); at < end_of(t, wide); at += wide)
        geodec__reference_add(wide, buffer[1], x + at);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_input_jvp(const geodec__ref_tape *t, const geodec__layer *l, int32_t index, int64_t k,
                                          double *dx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__ref_activation a = geodec__reference_activation(t, l);
    const int64_t n = t->n - t->first, part = l->input_gate.rows, d = t->r->model->config.d_model, wide = k * n * d;
    double *buffer[3] = {NULL};
    if (!l->input_gate.data) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){k * n * part, k * n * part, wide}, buffer, err));
    double *dgate = buffer[0], *dinput = buffer[1], *dy = buffer[2];
    slice(t->r, index, k * n, t->change->input, dinput, false);
    const double *din = scaled(l, d, k * n, dx, dy);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->input_gate, k * n, din, dgate, err));
    geodec__reference_gated_jvp(&a, n * part, t->input_gate + t->first * part, t->input + t->first * part, k, dgate,
                                dinput, dgate);
    GEODEC_TRY(geodec__reference_product(t->r->pool, &l->input_out, k * n, dgate, dy, err));
    geodec__reference_norm_jvp(n, &l->input_norm, t->input_out + t->first * d, k, dy, dy);
    for (int64_t at = begin_of(t, wide); at < end_of(t, wide); at += wide) geodec__reference_add(wide, dy, dx + at);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_input_vjp(const geodec__ref_tape *t, const geodec__layer *l, int32_t index, int64_t k,
                                          double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__ref_activation a = geodec__reference_activation(t, l);
    const int64_t n = t->n - t->first, part = l->input_gate.rows, d = t->r->model->config.d_model, wide = k * n * d;
    double *buffer[3] = {NULL};
    if (!l->input_gate.data) return GEODEC_OK;
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){k * n * part, k * n * part, wide}, buffer, err));
    double *ggate = buffer[0], *ginput = buffer[1], *gy = buffer[2];
    for (int64_t at = begin_of(t, wide); at < end_of(t, wide); at += wide) geodec__reference_add(wide, gx + at, gy);
    geodec__reference_norm_vjp(n, &l->input_norm, t->input_out + t->first * d, k, gy, gy);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->input_out, k * n, gy, ginput, err));
    geodec__reference_gated_vjp(&a, n * part, t->input_gate + t->first * part, t->input + t->first * part, k, ginput,
                                ggate, ginput);
    slice(t->r, index, k * n, t->change->input, ginput, true);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, &l->input_gate, k * n, ggate, gy, err));
    geodec__reference_add(wide, scaled(l, d, k * n, gy, gy), gx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}
