/* Final norm, output matrix and its bias, scale of the logits, final soft-cap. */
#include "base/mem.h"
#include "reference/reference_internal.h"

static void scale(const geodec_model_config *c, int64_t n, double *x)
{
    for (int64_t i = 0; c->logit_scale != 0 && i < n; i++) x[i] /= (double)c->logit_scale;
}

geodec_status geodec__reference_head(const geodec_reference *r, int64_t m, const double *x, double *logits,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    double *z = NULL;
    GEODEC_NEW(z, m * c->d_model);
    geodec__reference_norm(m, &r->model->output_norm, x, z);
    GEODEC_TRY(geodec__reference_product(r->pool, &r->model->head, m, z, logits, err));
    geodec__reference_bias(m, c->n_vocab, r->model->head_bias, logits);
    scale(c, m * c->n_vocab, logits);
    if (c->final_softcap != 0) geodec__reference_softcap((double)c->final_softcap, m * c->n_vocab, logits, logits);
done:
    geodec_mem_free(z);
    return st;
}

geodec_status geodec__reference_head_jvp(const geodec_reference *r, int64_t m, const double *x, const double *logits,
                                         int64_t k, const double *dx, double *dlogits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    double *dz = NULL;
    GEODEC_NEW(dz, k * m * c->d_model);
    geodec__reference_norm_jvp(m, &r->model->output_norm, x, k, dx, dz);
    GEODEC_TRY(geodec__reference_product(r->pool, &r->model->head, k * m, dz, dlogits, err));
    scale(c, k * m * c->n_vocab, dlogits);
    if (c->final_softcap != 0)
        geodec__reference_softcap_derivative((double)c->final_softcap, m * c->n_vocab, logits, k, dlogits, dlogits);
done:
    geodec_mem_free(dz);
    return st;
}

geodec_status geodec__reference_head_vjp(const geodec_reference *r, int64_t m, const double *x, const double *logits,
                                         int64_t k, const double *glogits, double *gx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &r->model->config;
    double *capped = NULL;
    if (c->final_softcap != 0) {
        GEODEC_NEW(capped, k * m * c->n_vocab);
        geodec__reference_softcap_derivative((double)c->final_softcap, m * c->n_vocab, logits, k, glogits, capped);
        glogits = capped;
    }
    GEODEC_TRY(geodec__reference_product_vjp(r->pool, &r->model->head, k * m, glogits, gx, err));
    scale(c, k * m * c->d_model, gx); /* linear: before or after the matrix */
    geodec__reference_norm_vjp(m, &r->model->output_norm, x, k, gx, gx);
done:
    geodec_mem_free(capped);
    return st;
}
