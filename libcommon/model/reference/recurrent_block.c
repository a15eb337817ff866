/* The first half of a block: attention, a recurrent part, both beside each other, or neither; and the second, if the
 * layer has one. */
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "reference/recurrent_internal.h"

#include <string.h>

static bool recurs(const geodec__layer *l) { return l->recurrent.how > GEODEC__MIXER_DECAY; }

static const geodec__matrix *output_of(const geodec__layer *l)
{
    return l->recurrent.beside ? &l->recurrent.out : &l->o;
}

/* What the output matrix gave, before its norm; beside attention there is no norm. */
static geodec_status run(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n, d = t->r->model->config.d_model;
    const geodec__matrix *w = output_of(l);
    double *buffer[3] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){n * d, n * w->cols, n * d}, buffer, err));
    double *z = buffer[0], *mixed = buffer[1], *y = l->recurrent.beside ? buffer[2] : t->attn_out;
    if (!l->recurrent.beside) memcpy(t->x, x, (size_t)(n * d) * sizeof *x);
    geodec__reference_norm(n, &l->attn_norm, t->x, z);
    GEODEC_TRY(geodec__reference_recurrent_run(t->r, &l->recurrent, n, z, t->recurrent, mixed, err));
    GEODEC_TRY(geodec__reference_product(t->r->pool, w, n, mixed, y, err));
    geodec__reference_scale(t, n * d, y);
    if (l->attn_post_norm.weight) geodec__reference_norm(n, &l->attn_post_norm, y, buffer[2]);
    geodec__reference_add(n * d, l->attn_post_norm.weight ? buffer[2] : y, x);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* from [k][n - first][d_model] the tangents of the block's input; what the part adds is added to dx. */
static geodec_status run_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *from,
                             double *dx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    const geodec__matrix *w = output_of(l);
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * d, k * n * w->cols}, buffer, err));
    double *dz = buffer[0], *mixed = buffer[1];
    geodec__reference_norm_jvp(n, &l->attn_norm, t->x + t->first * d, k, from, dz);
    GEODEC_TRY(geodec__reference_recurrent_jvp(t->r, &l->recurrent, t->n, t->first, t->recurrent, k, dz, mixed, err));
    GEODEC_TRY(geodec__reference_product(t->r->pool, w, k * n, mixed, dz, err));
    geodec__reference_scale(t, k * n * d, dz);
    if (l->attn_post_norm.weight)
        geodec__reference_norm_jvp(n, &l->attn_post_norm, t->attn_out + t->first * d, k, dz, dz);
    geodec__reference_add(k * n * d, dz, dx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

static geodec_status run_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *from,
                             double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = t->n - t->first, d = t->r->model->config.d_model;
    const geodec__matrix *w = output_of(l);
    double *buffer[2] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(2, (const int64_t[]){k * n * d, k * n * w->cols}, buffer, err));
    double *gz = buffer[0], *mixed = buffer[1];
    memcpy(gz, from, (size_t)(k * n * d) * sizeof *gz);
    if (l->attn_post_norm.weight)
        geodec__reference_norm_vjp(n, &l->attn_post_norm, t->attn_out + t->first * d, k, from, gz);
    geodec__reference_scale(t, k * n * d, gz);
    GEODEC_TRY(geodec__reference_product_vjp(t->r->pool, w, k * n, gz, mixed, err));
    GEODEC_TRY(geodec__reference_recurrent_vjp(t->r, &l->recurrent, t->n, t->first, t->recurrent, k, mixed, gz, err));
    geodec__reference_norm_vjp(n, &l->attn_norm, t->x + t->first * d, k, gz, gz);
    geodec__reference_add(k * n * d, gz, gx);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

geodec_status geodec__reference_first(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    if (geodec__layer_attends(l)) GEODEC_PASS(geodec__reference_mix(t, l, x, err));
    return recurs(l) ? run(t, l, x, err) : GEODEC_OK;
}

/* Both parts of a layer have the same tangents; those of the input are changed by the first. */
typedef geodec_status (*derivative)(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                    geodec_err *err);
typedef geodec_status (*recurrent_derivative)(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                              const double *from, double *dx, geodec_err *err);

static geodec_status derive(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                            derivative attention, recurrent_derivative recurrent, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t size = k * (t->n - t->first) * t->r->model->config.d_model;
    double *from = NULL;
    if (!recurs(l)) return geodec__layer_attends(l) ? attention(t, l, k, dx, err) : GEODEC_OK;
    GEODEC_NEW(from, size);
    memcpy(from, dx, (size_t)size * sizeof *dx);
    if (geodec__layer_attends(l)) GEODEC_TRY(attention(t, l, k, dx, err));
    GEODEC_TRY(recurrent(t, l, k, from, dx, err));
done:
    geodec_mem_free(from);
    return st;
}

geodec_status geodec__reference_first_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                          geodec_err *err)
{
    return derive(t, l, k, dx, geodec__reference_mix_jvp, run_jvp, err);
}

geodec_status geodec__reference_first_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                          geodec_err *err)
{
    return derive(t, l, k, gx, geodec__reference_mix_vjp, run_vjp, err);
}

/* ---- the tape -----------------------------------------------------------------------------------------------------
 */

geodec_status geodec__reference_recurrent_tape(geodec__ref_tape *t, geodec_err *err)
{
    const geodec_model *m = t->r->model;
    for (int32_t i = 0; i < m->config.n_layer; i++)
        if (recurs(&m->layer[i]))
            return geodec__reference_recurrent_create(&m->layer[i].recurrent, t->n, &t->recurrent, err);
    return GEODEC_OK;
}
