/* The feed-forward half of a block: x += [N] FFN(z), FFN one network or experts, and z = N(x) of the stream before it,
 * or with parallel halves of the block's input. Experts and their router may read the block's input otherwise normed.
 */
#include "base/mem.h"
#include "reference/reference_internal.h"

#include <string.h>

/* The network on rows first .. n-1. */
static geodec__ref_ffn dense(const geodec__ref_tape *t, const geodec__layer *l, int64_t first)
{
    const int64_t before = first * l->gate.rows;
    return (geodec__ref_ffn){.gate = l->gate,
                             .up = l->up,
                             .down = l->down,
                             .gate_bias = l->gate_bias,
                             .up_bias = l->up_bias,
                             .down_bias = l->down_bias,
                             .activation = geodec__reference_activation(t, l),
                             .cut = l->cut,
                             .cut_at = (double)l->cut_at,
                             .scale = l->hidden_scale,
                             .norm = &l->hidden_norm,
                             .m = t->n - first,
                             .g = t->gate + before,
                             .u = t->up + before,
                             .h = t->hidden_raw ? t->hidden_raw + before : NULL};
}

/* The norm that gives z, whose weight is NULL if z is the stream itself. */
static const geodec__norm *norm_of(const geodec__ref_tape *t, const geodec__layer *l)
{
    return t->r->model->config.parallel && !l->ffn_norm.weight ? &l->attn_norm : &l->ffn_norm;
}

/* The stream that is normed to z, at row `row`. */
static const double *stream_of(const geodec__ref_tape *t, int64_t row)
{
    const geodec_model_config *c = &t->r->model->config;
    return (c->parallel ? t->x : t->middle) + row * c->d_model;
}

bool geodec__reference_reads_input(const geodec__ref_tape *t, const geodec__layer *l)
{
    const geodec_model_config *c = &t->r->model->config;
    return c->parallel || (l->router.data && (c->route_raw || (l->expert_norm.weight && !l->router_norm.weight)));
}

/* What the experts' own norm reads, at row `row`. */
static const double *own_of(const geodec__ref_tape *t, const geodec__layer *l, int64_t row)
{
    return (l->router_norm.weight ? t->middle : t->x) + row * t->r->model->config.d_model;
}

/* Experts, the network beside them, and the factor of both, from t->z to t->ffn_out. */
static geodec_status mixture(geodec__ref_tape *t, const geodec__layer *l, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t size = t->n * c->d_model;
    const double *in = t->z, *routed;
    if (l->expert_norm.weight) {
        geodec__reference_norm(t->n, &l->expert_norm, own_of(t, l, 0), t->experts.in);
        in = t->experts.in;
    } else if (c->weighed_input) {
        memcpy(t->experts.in, t->z, (size_t)size * sizeof *t->z);
    }
    routed = c->route_raw ? t->x : in;
    if (l->router_norm.weight) {
        geodec__reference_norm(t->n, &l->router_norm, t->middle, t->routed);
        routed = t->routed;
    }
    GEODEC_PASS(geodec__reference_experts(t, l, routed, in, err));
    if (l->expert_post_norm.weight) {
        memcpy(t->chosen_out, t->ffn_out, (size_t)size * sizeof *t->z);
        geodec__reference_norm(t->n, &l->expert_post_norm, t->chosen_out, t->ffn_out);
    }
    GEODEC_PASS(geodec__reference_shared(t, l, err));
    geodec__reference_scale_mixture(t, l, size, t->ffn_out);
    return geodec__reference_adjugate(t, l, err);
}

geodec_status geodec__reference_feed(geodec__ref_tape *t, const geodec__layer *l, double *x, geodec_err *err)
{
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n, d = c->d_model;
    memcpy(t->middle, x, (size_t)(n * d) * sizeof *x);
    geodec__reference_enter(n, d, norm_of(t, l), stream_of(t, 0), t->z);
    if (l->router.data) {
        GEODEC_PASS(mixture(t, l, err));
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

/* dmiddle: tangents of the stream between the halves. */
static geodec_status mixture_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, const double *dinput,
                                 const double *dmiddle, const double *dz, double *dy, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first, d = c->d_model;
    const double *din = dz;
    double *own = NULL, *routed = NULL;
    if (l->expert_norm.weight) {
        GEODEC_NEW(own, k * n * d);
        geodec__reference_norm_jvp(n, &l->expert_norm, own_of(t, l, t->first), k,
                                   l->router_norm.weight ? dmiddle : dinput, own);
        din = own;
    }
    if (l->router_norm.weight) {
        GEODEC_NEW(routed, k * n * d);
        geodec__reference_norm_jvp(n, &l->router_norm, t->middle + t->first * d, k, dmiddle, routed);
    }
    const double *drouted = routed ? routed : c->route_raw ? dinput : din;
    GEODEC_TRY(geodec__reference_experts_jvp(t, l, k, drouted, din, dy, err));
    if (l->expert_post_norm.weight)
        geodec__reference_norm_jvp(n, &l->expert_post_norm, t->chosen_out + t->first * d, k, dy, dy);
    GEODEC_TRY(geodec__reference_shared_jvp(t, l, k, dz, dy, err));
    geodec__reference_scale_mixture(t, l, k * n * d, dy);
    GEODEC_TRY(geodec__reference_adjugate_jvp(t, l, k, drouted, dy, err));
done:
    GEODEC_FREE(own, routed);
    return st;
}

geodec_status geodec__reference_feed_jvp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k,
                                         const double *dinput, double *dx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first, d = c->d_model;
    double *dz = NULL;
    GEODEC_NEW(dz, 2 * k * n * d);
    double *dy = dz + k * n * d;
    geodec__reference_enter_jvp(n, d, norm_of(t, l), stream_of(t, t->first), k, c->parallel ? dinput : dx, dz);
    if (l->router.data) {
        GEODEC_TRY(mixture_jvp(t, l, k, dinput, dx, dz, dy, err));
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

/* gy, which is overwritten, becomes gz; what comes from the block's input, and from the stream between the halves, is
 * added to ginput and gmiddle. */
static geodec_status mixture_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *gy, double *gz,
                                 double *ginput, double *gmiddle, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->r->model->config;
    const int64_t n = t->n - t->first, d = c->d_model, size = k * n * d;
    double *own = NULL, *raw = NULL;
    if (l->expert_norm.weight) GEODEC_NEW(own, size);
    if (c->route_raw || l->router_norm.weight) GEODEC_NEW(raw, size);
    double *gin = own ? own : gz;
    GEODEC_TRY(geodec__reference_adjugate_vjp(t, l, k, gy, raw ? raw : gin, err));
    geodec__reference_scale_mixture(t, l, size, gy);
    GEODEC_TRY(geodec__reference_shared_vjp(t, l, k, gy, gz, err));
    if (l->expert_post_norm.weight)
        geodec__reference_norm_vjp(n, &l->expert_post_norm, t->chosen_out + t->first * d, k, gy, gy);
    GEODEC_TRY(geodec__reference_experts_vjp(t, l, k, gy, raw ? raw : gin, gin, err));
    if (l->router_norm.weight) geodec__reference_norm_vjp(n, &l->router_norm, t->middle + t->first * d, k, raw, raw);
    if (raw) geodec__reference_add(size, raw, l->router_norm.weight ? gmiddle : ginput);
    if (own) {
        geodec__reference_norm_vjp(n, &l->expert_norm, own_of(t, l, t->first), k, own, own);
        geodec__reference_add(size, own, l->router_norm.weight ? gmiddle : ginput);
    }
done:
    GEODEC_FREE(own, raw);
    return st;
}

geodec_status geodec__reference_feed_vjp(const geodec__ref_tape *t, const geodec__layer *l, int64_t k, double *ginput,
                                         double *gx, geodec_err *err)
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
        GEODEC_TRY(mixture_vjp(t, l, k, gy, gz, ginput, gx, err));
    } else {
        const geodec__ref_ffn f = dense(t, l, t->first);
        GEODEC_TRY(geodec__reference_ffn_vjp(t->r, &f, k, gy, gz, err));
    }
    geodec__reference_enter_vjp(n, d, norm_of(t, l), stream_of(t, t->first), k, gz, gz);
    geodec__reference_add(k * n * d, gz, c->parallel ? ginput : gx);
done:
    geodec_mem_free(gz);
    return st;
}
