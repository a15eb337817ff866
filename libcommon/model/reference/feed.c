/* The feed-forward half of a block: x += [N] FFN(N(x)), FFN one gated network or experts. */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <string.h>

static geodec__ref_activation activation_of(const geodec_reference *r)
{
    return (geodec__ref_activation){.kind = r->model->config.activation};
}

geodec_status geodec__reference_ffn_run(const geodec_reference *r, const geodec__ref_ffn *f, const double *z,
                                        double *hidden, double *y, geodec_err *err)
{
    GEODEC_PASS(geodec__reference_product(r->pool, &f->gate, f->m, z, f->g, err));
    GEODEC_PASS(geodec__reference_product(r->pool, &f->up, f->m, z, f->u, err));
    const geodec__ref_activation a = activation_of(r);
    geodec__reference_gated(&a, f->m * f->gate.rows, f->g, f->u, hidden);
    GEODEC_PASS(geodec__reference_product(r->pool, &f->down, f->m, hidden, y, err));
    return GEODEC_OK;
}

geodec_status geodec__reference_ffn_jvp(const geodec_reference *r, const geodec__ref_ffn *f, int64_t k,
                                        const double *dz, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t wide = k * f->m * f->gate.rows;
    double *dg = NULL;
    GEODEC_NEW(dg, 2 * wide);
    double *du = dg + wide;
    GEODEC_TRY(geodec__reference_product(r->pool, &f->gate, k * f->m, dz, dg, err));
    GEODEC_TRY(geodec__reference_product(r->pool, &f->up, k * f->m, dz, du, err));
    const geodec__ref_activation a = activation_of(r);
    geodec__reference_gated_jvp(&a, f->m * f->gate.rows, f->g, f->u, k, dg, du, dg);
    GEODEC_TRY(geodec__reference_product(r->pool, &f->down, k * f->m, dg, dy, err));
done:
    geodec_mem_free(dg);
    return st;
}

geodec_status geodec__reference_ffn_vjp(const geodec_reference *r, const geodec__ref_ffn *f, int64_t k,
                                        const double *gy, double *gz, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t wide = k * f->m * f->gate.rows, narrow = k * f->m * f->gate.cols;
    double *buffer[3] = {NULL};
    GEODEC_TRY(geodec__reference_scratch(3, (const int64_t[]){wide, wide, narrow}, buffer, err));
    double *gg = buffer[0], *gu = buffer[1], *part = buffer[2];
    GEODEC_TRY(geodec__reference_product_vjp(r->pool, &f->down, k * f->m, gy, gu, err));
    const geodec__ref_activation a = activation_of(r);
    geodec__reference_gated_vjp(&a, f->m * f->gate.rows, f->g, f->u, k, gu, gg, gu);
    GEODEC_TRY(geodec__reference_product_vjp(r->pool, &f->gate, k * f->m, gg, gz, err));
    GEODEC_TRY(geodec__reference_product_vjp(r->pool, &f->up, k * f->m, gu, part, err));
    geodec__reference_add(narrow, part, gz);
done:
    geodec_mem_free(buffer[0]);
    return st;
}

/* The network on rows first .. n-1. */
static geodec__ref_ffn dense(const geodec__ref_tape *t, const geodec__layer *l, int64_t first)
{
    const int64_t before = first * l->gate.rows;
    return (geodec__ref_ffn){
        .gate = l->gate, .up = l->up, .down = l->down, .m = t->n - first, .g = t->gate + before, .u = t->up + before};
}

geodec_status geodec__reference_feed(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n, d = c->d_model;
    memcpy(t->middle, x, (size_t)(n * d) * sizeof *x);
    geodec__reference_norm(n, &l->ffn_norm, x, t->z);
    if (l->router.data) {
        GEODEC_PASS(geodec__reference_experts(t, l, err));
        GEODEC_PASS(geodec__reference_shared(t, l, err));
    } else {
        const geodec__ref_ffn f = dense(t, l, 0);
        GEODEC_PASS(geodec__reference_ffn_run(t->r, &f, t->z, t->hidden, t->ffn_out, err));
    }
    geodec__reference_scale(t, n * d, t->ffn_out);
    if (l->ffn_post_norm.weight) { /* z is no longer needed */
        geodec__reference_norm(n, &l->ffn_post_norm, t->ffn_out, t->z);
        geodec__reference_add(n * d, t->z, x);
    } else {
        geodec__reference_add(n * d, t->ffn_out, x);
    }
    return GEODEC_OK;
}

geodec_status geodec__reference_feed_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *dx,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first, d = c->d_model;
    double *dz = NULL;
    GEODEC_NEW(dz, 2 * k * n * d);
    double *dy = dz + k * n * d;
    geodec__reference_norm_jvp(n, &l->ffn_norm, t->middle + t->first * d, k, dx, dz);
    if (l->router.data) {
        GEODEC_TRY(geodec__reference_experts_jvp(t, l, k, dz, dy, err));
        GEODEC_TRY(geodec__reference_shared_jvp(t, l, k, dz, dy, err));
    } else {
        const geodec__ref_ffn f = dense(t, l, t->first);
        GEODEC_TRY(geodec__reference_ffn_jvp(t->r, &f, k, dz, dy, err));
    }
    geodec__reference_scale(t, k * n * d, dy);
    if (l->ffn_post_norm.weight) geodec__reference_norm_jvp(n, &l->ffn_post_norm, t->ffn_out + t->first * d, k, dy, dy);
    geodec__reference_add(k * n * d, dy, dx);
done:
    geodec_mem_free(dz);
    return st;
}

geodec_status geodec__reference_feed_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gx,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first, d = c->d_model;
    double *gz = NULL;
    GEODEC_NEW(gz, 2 * k * n * d);
    double *gy = gz + k * n * d;
    memcpy(gy, gx, (size_t)(k * n * d) * sizeof *gy);
    if (l->ffn_post_norm.weight) geodec__reference_norm_vjp(n, &l->ffn_post_norm, t->ffn_out + t->first * d, k, gx, gy);
    geodec__reference_scale(t, k * n * d, gy);
    if (l->router.data) {
        GEODEC_TRY(geodec__reference_experts_vjp(t, l, k, gy, gz, err));
        GEODEC_TRY(geodec__reference_shared_vjp(t, l, k, gy, gz, err));
    } else {
        const geodec__ref_ffn f = dense(t, l, t->first);
        GEODEC_TRY(geodec__reference_ffn_vjp(t->r, &f, k, gy, gz, err));
    }
    geodec__reference_norm_vjp(n, &l->ffn_norm, t->middle + t->first * d, k, gz, gz);
    geodec__reference_add(k * n * d, gz, gx);
done:
    geodec_mem_free(gz);
    return st;
}
