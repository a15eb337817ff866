#include "session/lowkv.h"
#include "session/arch_internal.h"

#include "base/mem.h"
#include "session/factors.h"
#include "session/model_internal.h"

#include <math.h>

/* ---- fitting into a model --------------------------------------------------------------------------------------- */

static geodec_status check_side(const geodec_model_config *c, const char *side, int32_t group, int64_t rank,
                                geodec_err *err)
{
    if (group == 0) return GEODEC_OK;
    if (group < 0 || group > c->n_kv_head || c->n_kv_head % group != 0)
        GEODEC_FAIL(GEODEC_RANGE, "%s: groups of %d heads; the model has %d", side, group, c->n_kv_head);
    if (rank < 1 || rank > (int64_t)group * c->head_dim)
        GEODEC_FAIL(GEODEC_RANGE, "%s: rank %lld is outside 1 to %lld", side, (long long)rank,
                    (long long)group * c->head_dim);
    return GEODEC_OK;
}

static geodec_status check(const geodec_model *m, const geodec_kv_factors *f, geodec_err *err)
{
    if (m->low) GEODEC_FAIL(GEODEC_INVAL, "this model's cache is already of low rank");
    if (f->k_group == 0 && f->v_group == 0) GEODEC_FAIL(GEODEC_RANGE, "neither keys nor values of low rank");
    GEODEC_PASS(check_side(&m->config, "keys", f->k_group, f->k_rank, err));
    GEODEC_PASS(check_side(&m->config, "values", f->v_group, f->v_rank, err));
    if (geodec__model_recurs(m)) GEODEC_FAIL(GEODEC_UNSUPPORTED, "a recurrent model has no cache of low rank");
    const char *part = geodec__model_part_beyond(m);
    if (part) GEODEC_FAIL(GEODEC_UNSUPPORTED, "a cache of low rank does not support %s", part);
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        if (f->k_group && (l->k_bias || l->k_norm.weight))
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "layer %d: keys with a bias or a norm are not supported", i);
        if (f->v_group && l->v_bias)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "layer %d: values with a bias are not supported", i);
        if (l->basis[GEODEC_SLOT_K].data || l->basis[GEODEC_SLOT_V].data || l->basis[GEODEC_SLOT_O].data)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "layer %d: keys, values or output are factored", i);
    }
    return GEODEC_OK;
}

/* out [d][n_head rank]: the output matrix o [d][n_head head_dim] for values b [n_kv_head head_dim][rank] c. */
static void fold(const geodec_model_config *c, const float *o, const float *b, int64_t rank, float *out)
{
    const int64_t dim = c->head_dim, share = c->n_head / c->n_kv_head;
    for (int64_t r = 0; r < c->d_model; r++)
        for (int64_t h = 0; h < c->n_head; h++)
            for (int64_t j = 0; j < rank; j++) {
                double sum = 0;
                for (int64_t i = 0; i < dim; i++)
                    sum += (double)o[(r * c->n_head + h) * dim + i] * (double)b[(h / share * dim + i) * rank + j];
                out[(r * c->n_head + h) * rank + j] = (float)sum;
            }
}

void geodec__lowkv_free(geodec__low *low)
{
    if (!low) return;
    GEODEC_FREE(low->k_out, low->data, low);
}

/* The matrices of each layer: keys, values, output. */
typedef struct replaced {
    geodec__matrix k, v, o;
} replaced;

static geodec_status build(const geodec_model *m, const geodec_kv_factors *f, bool half, geodec__low *low,
                           replaced *made, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &m->config;
    const int64_t d = c->d_model, n_kv = c->n_kv_head, width = n_kv * c->head_dim;
    const int64_t k_rows = f->k_group ? n_kv / f->k_group * f->k_rank : 0,
                  v_rows = f->v_group ? n_kv / f->v_group * f->v_rank : 0, o_cols = c->n_head * f->v_rank;
    float *o = NULL, *folded = NULL;
    GEODEC_NEW(low->data, c->n_layer * (geodec__factors_room(k_rows, d, half) + geodec__factors_room(v_rows, d, half) +
                                        (f->v_group ? geodec__factors_room(d, o_cols, half) : 0)));
    uint8_t *at = low->data;
    if (f->k_group) {
        GEODEC_NEW(low->k_out, c->n_layer * width * f->k_rank);
        for (int64_t i = 0; i < c->n_layer * width * f->k_rank; i++) {
            low->k_out[i] = f->k_out[i];
            if (!isfinite(f->k_out[i])) GEODEC_THROW(GEODEC_NUMERIC, "a factor of the keys is not finite");
        }
    }
    if (f->v_group) {
        GEODEC_NEW(o, d * c->n_head * c->head_dim);
        GEODEC_NEW(folded, d * o_cols);
    }
    for (int32_t l = 0; l < c->n_layer; l++) {
        if (f->k_group)
            GEODEC_TRY_MSG(geodec__factors_put(f->k_in + l * k_rows * d, k_rows, d, half, &at, &made[l].k, err),
                           "cache");
        if (!f->v_group) continue;
        GEODEC_TRY_MSG(geodec__factors_put(f->v_in + l * v_rows * d, v_rows, d, half, &at, &made[l].v, err), "cache");
        GEODEC_TRY(geodec_model_weights(m, l, GEODEC_SLOT_O, o, err));
        fold(c, o, f->v_out + l * width * f->v_rank, f->v_rank, folded);
        GEODEC_TRY_MSG(geodec__factors_put(folded, d, o_cols, half, &at, &made[l].o, err), "cache");
    }
done:
    GEODEC_FREE(o, folded);
    return st;
}

geodec_status geodec_model_kv_factor(geodec_model *m, const geodec_kv_factors *f, bool half, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__low *low = NULL;
    replaced *made = NULL;
    GEODEC_TRY(check(m, f, err));
    GEODEC_NEW(made, m->config.n_layer);
    GEODEC_NEW(low, 1);
    *low = (geodec__low){.k_group = f->k_group, .v_group = f->v_group, .k_rank = f->k_rank, .v_rank = f->v_rank};
    GEODEC_TRY(build(m, f, half, low, made, err));
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        geodec__layer *l = &m->layer[i];
        if (f->k_group) l->k = made[i].k;
        if (f->v_group) {
            l->v = made[i].v;
            l->o = made[i].o;
        }
    }
    m->low = low;
    low = NULL;
done:
    geodec__lowkv_free(low);
    geodec_mem_free(made);
    return st;
}

/* ---- in a session ----------------------------------------------------------------------------------------------- */

void geodec__lowkv_shape(const geodec_model *m, int32_t layer, geodec__cache_shape *a)
{
    const geodec__layer *l = &m->layer[layer];
    const geodec__low *low = m->low;
    a->k_heads = a->v_heads = l->n_kv_head;
    a->k_dim = l->head_dim;
    a->v_dim = l->v_dim;
    if (l->latent.kv_a.data) a->v_heads = 0;
    if (low && low->k_group) {
        a->k_heads = l->n_kv_head / low->k_group;
        a->k_dim = low->k_rank;
    }
    if (low && low->v_group) {
        a->v_heads = l->n_kv_head / low->v_group;
        a->v_dim = low->v_rank;
    }
}

/* Adds in ascending order of the coefficients, for a whole block (step GEODEC__KEYS) as for one lane. */
void geodec__lowkv_keys(const geodec_session *s, int32_t layer, int64_t head, int64_t position, int64_t n,
                        const float *coefficient, int64_t step, float *k)
{
    const geodec_model_config *c = &s->model->config;
    const geodec__low *low = s->model->low;
    const int64_t dim = c->head_dim, rank = low->k_rank, pairs = c->rope_dim / 2;
    const float *b = low->k_out + (layer * (int64_t)c->n_kv_head + head) * dim * rank;
    if (step == GEODEC__KEYS)
        s->kernels->low_block(b, dim, rank, coefficient, k); /* lanes beyond n may hold anything */
    for (int64_t d = 0; step != GEODEC__KEYS && d < dim; d++)
        for (int64_t i = 0; i < n; i++) {
            float sum = 0;
            for (int64_t j = 0; j < rank; j++) sum += b[d * rank + j] * coefficient[j * step + i];
            k[d * GEODEC__KEYS + i] = sum;
        }
    const int64_t at = ((int64_t)s->model->layer[layer].rope * s->n_ctx + position) * pairs;
    const bool halves = c->rope_pairs == GEODEC_ROPE_HALVES;
    const int64_t next = halves ? 1 : 2, partner = halves ? pairs : 1;
    for (int64_t p = 0; p < pairs; p++) {
        float *x = k + next * p * GEODEC__KEYS, *y = x + partner * GEODEC__KEYS;
        const float *cosine = s->cosine + at + p, *sine = s->sine + at + p;
        for (int64_t i = 0; i < n; i++) {
            const float a = x[i], e = y[i];
            x[i] = a * cosine[i * pairs] - e * sine[i * pairs];
            y[i] = a * sine[i * pairs] + e * cosine[i * pairs];
        }
    }
}
