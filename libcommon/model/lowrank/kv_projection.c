#include "lowrank/kv_projection.h"

#include "base/mem.h"
#include "base/rng.h"
#include "linalg/blas.h"
#include "linalg/svd.h"
#include "lowrank/projection_internal.h"

#include <math.h>
#include <string.h>

/* ---- one group -------------------------------------------------------------------------------------------------- */

/* m = rows of a group, d = width of its input. */
typedef struct work {
    const geodec_kv_projection_options *o;
    int64_t m, d, rank;
    float *raw;            /* [n_kv_head head_dim][d] of a layer */
    double *w, *x, *y;     /* [m][d] */
    double *u, *s, *vt;    /* thin singular vectors and values, of the group or of a random matrix */
    double *in, *out;      /* [rank][d], [m][rank] */
    double *root, *unroot; /* [d][d] */
} work;

static geodec_status new_work(work *k, int64_t rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t m = k->m, d = k->d;
    GEODEC_NEW(k->raw, rows * d);
    GEODEC_NEW_EACH(m * d, k->w, k->x, k->y);
    GEODEC_NEW(k->u, m * m);
    GEODEC_NEW(k->s, m);
    GEODEC_NEW(k->vt, m * d);
    GEODEC_NEW(k->in, k->rank * d);
    GEODEC_NEW(k->out, m * k->rank);
    if (k->o->moments) {
        GEODEC_NEW_EACH(d * d, k->root, k->unroot);
    }
done:
    return st;
}

static void free_work(work *k)
{
    GEODEC_FREE(k->raw, k->w, k->x, k->y, k->u, k->s, k->vt, k->in, k->out, k->root, k->unroot);
}

/* The first rank rows of vt become A, with signs that make their largest entry positive, and B = u s. */
static void take(const work *k)
{
    for (int64_t j = 0; j < k->rank; j++) {
        const double *v = k->vt + j * k->d;
        const double sign = geodec__projection_sign(k->d, v);
        for (int64_t i = 0; i < k->d; i++) k->in[j * k->d + i] = sign * v[i];
        for (int64_t i = 0; i < k->m; i++) k->out[i * k->rank + j] = sign * k->u[i * k->m + j] * k->s[j];
    }
}

static geodec_status fit_basis(work *k, uint64_t stream, geodec_err *err)
{
    const int64_t m = k->m, d = k->d;
    if (k->o->basis == GEODEC_BASIS_RANDOM) {
        geodec_rng r = geodec_rng_stream(k->o->seed, geodec_rng_id("kvprojection/random", stream));
        for (int64_t i = 0; i < m * d; i++) k->x[i] = geodec_rng_normal(&r);
        GEODEC_PASS(geodec_svd_thin(m, d, k->x, k->u, k->s, k->vt, err));
        take(k);
        geodec_blas_gemm(false, true, m, k->rank, d, 1, k->w, d, k->in, d, 0, k->out, k->rank);
    } else if (k->o->basis == GEODEC_BASIS_WHITENED) {
        geodec__projection_product(m, d, d, k->w, k->root, k->x);
        GEODEC_PASS(geodec_svd_thin(m, d, k->x, k->u, k->s, k->vt, err));
        take(k);
        geodec__projection_product(k->rank, d, d, k->in, k->unroot, k->y);
        memcpy(k->in, k->y, (size_t)(k->rank * d) * sizeof *k->in);
    } else {
        GEODEC_PASS(geodec_svd_thin(m, d, k->w, k->u, k->s, k->vt, err));
        take(k);
    }
    return GEODEC_OK;
}

/* Adds the errors of the stored factors to the layer's means. */
static void add_errors(const work *k, double groups, double *error, double *output_error)
{
    const int64_t m = k->m, d = k->d;
    geodec__projection_product(m, d, k->rank, k->out, k->in, k->x);
    for (int64_t i = 0; i < m * d; i++) k->x[i] = k->w[i] - k->x[i];
    const double size = geodec__projection_squares(m * d, k->w);
    *error += size > 0 ? geodec__projection_squares(m * d, k->x) / size / groups : 0;
    if (!k->o->moments) {
        *output_error = (double)NAN;
        return;
    }
    geodec__projection_product(m, d, d, k->x, k->root, k->y);
    const double left = geodec__projection_squares(m * d, k->y);
    geodec__projection_product(m, d, d, k->w, k->root, k->y);
    const double whole = geodec__projection_squares(m * d, k->y);
    *output_error += whole > 0 ? left / whole / groups : 0;
}

/* ---- a side ----------------------------------------------------------------------------------------------------- */

static geodec_status fit_side(const geodec_model *m, const geodec_kv_projection_options *o, geodec_slot slot,
                              geodec_kv_side *side, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int64_t d = c->d_model, groups = c->n_kv_head / side->group, rows = (int64_t)c->n_kv_head * c->head_dim;
    work k = {.o = o, .m = side->group * (int64_t)c->head_dim, .d = d, .rank = side->rank};
    GEODEC_TRY(new_work(&k, rows, err));
    GEODEC_NEW(side->in, c->n_layer * groups * k.rank * d);
    GEODEC_NEW(side->out, c->n_layer * rows * k.rank);
    GEODEC_NEW_EACH(c->n_layer, side->error, side->output_error);
    for (int32_t l = 0; l < c->n_layer; l++) {
        GEODEC_TRY(geodec_model_weights(m, l, slot, k.raw, err));
        if (o->moments)
            GEODEC_TRY(geodec__input_moments_roots(o->moments, GEODEC_SIDE_STREAM, l, o->ridge, k.root, k.unroot, err));
        for (int64_t g = 0; g < groups; g++) {
            for (int64_t i = 0; i < k.m * d; i++) {
                k.w[i] = k.raw[g * k.m * d + i];
                if (!isfinite(k.w[i]))
                    GEODEC_THROW(GEODEC_NUMERIC, "layer %d, slot '%s' holds a weight that is not finite", l,
                                 geodec_factors_slot_name(slot));
            }
            GEODEC_TRY(fit_basis(&k, ((uint64_t)slot * (uint64_t)c->n_layer + (uint64_t)l) * 4096 + (uint64_t)g, err));
            geodec__projection_store(k.rank * d, k.in, o->half, side->in + (l * groups + g) * k.rank * d);
            geodec__projection_store(k.m * k.rank, k.out, false, side->out + (l * rows + g * k.m) * k.rank);
            add_errors(&k, (double)groups, &side->error[l], &side->output_error[l]);
        }
    }
done:
    free_work(&k);
    return st;
}

static geodec_status choose_group(const geodec_model_config *c, int32_t asked, int32_t *out, geodec_err *err)
{
    *out = asked;
    if (asked < 0 || asked > c->n_kv_head || (asked > 0 && c->n_kv_head % asked != 0))
        GEODEC_FAIL(GEODEC_RANGE, "groups of %d key heads; the model has %d", asked, c->n_kv_head);
    for (*out = asked ? asked : 4; c->n_kv_head % *out != 0; --*out) {
    }
    return GEODEC_OK;
}

static int64_t rank_of(const geodec_model_config *c, int32_t group, double share)
{
    const int64_t full = (int64_t)group * c->head_dim, r = (int64_t)floor(share * (double)full + 0.5);
    return r < 1 ? 1 : r > full ? full : r;
}

geodec_status geodec_kv_projection_fit(const geodec_model *m, const geodec_kv_projection_options *o,
                                       geodec_kv_projection *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_kv_projection p = {.n_layer = c->n_layer,
                              .n_kv_head = c->n_kv_head,
                              .head_dim = c->head_dim,
                              .d_model = c->d_model,
                              .basis = o->basis,
                              .half = o->half,
                              .tokens = o->moments ? o->moments->tokens : 0};
    int32_t group;
    if (o->basis == GEODEC_BASIS_COORDINATES) GEODEC_THROW(GEODEC_RANGE, "a cache has no basis of coordinates");
    if (o->basis == GEODEC_BASIS_WHITENED && !o->moments) GEODEC_THROW(GEODEC_INVAL, "whitening needs activations");
    if (o->moments && !o->moments->c[GEODEC_SIDE_STREAM])
        GEODEC_THROW(GEODEC_INVAL, "no activations of the residual stream");
    if (!(o->k_share >= 0 && o->k_share <= 1 && o->v_share >= 0 && o->v_share <= 1 && o->ridge >= 0) ||
        o->k_share + o->v_share <= 0)
        GEODEC_THROW(GEODEC_RANGE, "shares of %g of the keys and %g of the values", o->k_share, o->v_share);
    GEODEC_TRY(choose_group(c, o->group, &group, err));
    if ((int64_t)group * c->head_dim > c->d_model)
        GEODEC_THROW(GEODEC_RANGE, "groups of %d heads are wider than the stream", group);
    const struct {
        geodec_slot slot;
        double share;
        geodec_kv_side *side;
    } sides[] = {{GEODEC_SLOT_K, o->k_share, &p.k}, {GEODEC_SLOT_V, o->v_share, &p.v}};
    for (int i = 0; i < 2; i++) {
        if (sides[i].share <= 0) continue;
        sides[i].side->group = group;
        sides[i].side->rank = rank_of(c, group, sides[i].share);
        GEODEC_TRY(fit_side(m, o, sides[i].slot, sides[i].side, err));
    }
    const int64_t whole = (int64_t)c->n_kv_head * c->head_dim, groups = c->n_kv_head / group;
    p.numbers_full = c->n_layer * 2 * whole;
    p.numbers_kept = c->n_layer * ((p.k.group ? groups * p.k.rank : whole) + (p.v.group ? groups * p.v.rank : whole));
    GEODEC_MOVE(*out, p);
done:
    geodec_kv_projection_clear(&p);
    return st;
}

geodec_status geodec_kv_projection_apply(const geodec_kv_projection *p, geodec_model *m, geodec_err *err)
{
    const geodec_kv_factors f = {.k_group = p->k.group,
                                 .v_group = p->v.group,
                                 .k_rank = p->k.rank,
                                 .v_rank = p->v.rank,
                                 .k_in = p->k.in,
                                 .v_in = p->v.in,
                                 .k_out = p->k.out,
                                 .v_out = p->v.out};
    return geodec_model_kv_factor(m, &f, p->half, err);
}
