#include "lowrank/projection.h"

#include "base/f16.h"
#include "base/mem.h"
#include "base/names_internal.h"
#include "base/rng.h"
#include "linalg/blas.h"
#include "linalg/eig.h"
#include "linalg/svd.h"
#include "lowrank/projection_internal.h"

#include <math.h>
#include <string.h>

const char *const geodec_projection_basis_names[] = {"weights", "whitened", "random", "coordinates", NULL};

const char *geodec_projection_basis_name(geodec_projection_basis b)
{
    return geodec__names_at(geodec_projection_basis_names, GEODEC_BASIS_COORDINATES + 1, (int)b);
}

geodec_projection_options geodec_projection_defaults(void)
{
    return (geodec_projection_options){.slots = 1u << GEODEC_SLOT_Q | 1u << GEODEC_SLOT_K | 1u << GEODEC_SLOT_V,
                                       .shared = true,
                                       .share = 0.5,
                                       .floor = 0,
                                       .ridge = 1e-6};
}

/* ---- work space ------------------------------------------------------------------------------------------------- */

/* State of one group at a time; d = its width. */
typedef struct work {
    const geodec_model *m;
    const geodec_projection_options *o;
    geodec_projection *p;
    float *raw;     /* [rows][d] of a slot */
    double *w;      /* [slots of the group][rows][d] */
    double *gram;   /* [d][d] */
    double *basis;  /* [d][d] rows: directions, best first */
    double *root;   /* [d][d] C^(1/2), with moments */
    double *unroot; /* [d][d] C^(-1/2) */
    double *a, *b;  /* [max(rows, d)][d] scratch */
    double *in, *out;
    double *value; /* [d] */
} work;

static geodec_status new_work(work *k, int64_t rows, int64_t d, int64_t group_rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t tall = rows > d ? rows : d;
    GEODEC_NEW(k->raw, rows * d);
    GEODEC_NEW(k->w, group_rows * d);
    GEODEC_NEW_EACH(d * d, k->gram, k->basis, k->root, k->unroot);
    GEODEC_NEW_EACH(tall * d, k->a, k->b);
    GEODEC_NEW(k->in, d * d);
    GEODEC_NEW(k->out, tall * d);
    GEODEC_NEW(k->value, d);
done:
    return st;
}

static void free_work(work *k)
{
    GEODEC_FREE(k->raw, k->w, k->gram, k->basis, k->root, k->unroot, k->a, k->b, k->in, k->out, k->value);
}

double geodec__projection_squares(int64_t n, const double *x) { return geodec_blas_dot(n, x, x); }

void geodec__projection_product(int64_t m, int64_t n, int64_t k, const double *a, const double *b, double *c)
{
    geodec_blas_gemm(false, false, m, n, k, 1, a, k, b, n, 0, c, n);
}

double geodec__projection_sign(int64_t n, const double *v)
{
    int64_t top = 0;
    for (int64_t i = 1; i < n; i++)
        if (fabs(v[i]) > fabs(v[top])) top = i;
    return v[top] < 0 ? -1 : 1;
}

void geodec__projection_store(int64_t n, double *x, bool half, float *to)
{
    for (int64_t i = 0; i < n; i++) {
        to[i] = (float)x[i];
        if (half) to[i] = geodec_f16_to_f32(geodec_f32_to_f16(to[i]));
        x[i] = to[i];
    }
}

/* ---- a group's basis -------------------------------------------------------------------------------------------- */

/* Parts first .. last - 1 are the group. */
static geodec_status gather(work *k, int64_t first, int64_t last, geodec_err *err)
{
    const int64_t d = k->p->part[first].cols;
    double *at = k->w;
    memset(k->gram, 0, (size_t)(d * d) * sizeof *k->gram);
    for (int64_t i = first; i < last; i++) {
        const geodec_projection_part *t = &k->p->part[i];
        GEODEC_PASS(geodec_model_weights(k->m, t->layer, t->slot, k->raw, err));
        for (int64_t j = 0; j < t->rows * d; j++) {
            at[j] = k->raw[j];
            if (!isfinite(at[j]))
                GEODEC_FAIL(GEODEC_NUMERIC, "layer %d, slot '%s' holds a weight that is not finite", t->layer,
                            geodec_factors_slot_name(t->slot));
        }
        geodec_blas_syrk(t->rows, d, 1, at, d, 1, k->gram, d);
        at += t->rows * d;
    }
    return GEODEC_OK;
}

/* C^(1/2) and C^(-1/2); NULL without moments. */
static geodec_status whiten(work *k, const geodec_projection_part *t, geodec_err *err)
{
    if (!k->o->moments) return GEODEC_OK;
    return geodec__input_moments_roots(k->o->moments, geodec_factors_side_of(t->slot), t->layer, k->o->ridge, k->root,
                                       k->unroot, err);
}

/* Rows of basis: eigenvectors of `gram`, largest first, the largest entry of each positive. */
static geodec_status eigenbasis(work *k, int64_t d, double *spectrum, geodec_err *err)
{
    GEODEC_PASS(geodec_eig_sym(d, k->gram, k->value, k->b, err));
    for (int64_t j = 0; j < d; j++) {
        const double *v = k->b + (d - 1 - j) * d;
        const double sign = geodec__projection_sign(d, v);
        for (int64_t i = 0; i < d; i++) k->basis[j * d + i] = sign * v[i];
        spectrum[j] = k->value[d - 1 - j] > 0 ? k->value[d - 1 - j] : 0; /* a Gram matrix: negative values are rounding
                                                                          * errors */
    }
    return GEODEC_OK;
}

static geodec_status control_basis(work *k, int64_t group, int64_t d, double *spectrum, geodec_err *err)
{
    if (k->o->basis == GEODEC_BASIS_COORDINATES) {
        memset(k->basis, 0, (size_t)(d * d) * sizeof *k->basis);
        for (int64_t i = 0; i < d; i++) k->basis[i * d + i] = 1;
    } else {
        geodec_rng r = geodec_rng_stream(k->o->seed, geodec_rng_id("projection/random", (uint64_t)group));
        for (int64_t i = 0; i < d * d; i++) k->a[i] = geodec_rng_normal(&r);
        GEODEC_PASS(geodec_svd_thin(d, d, k->a, k->basis, k->value, k->b, err));
    }
    geodec__projection_product(d, d, d, k->basis, k->gram, k->a);
    for (int64_t j = 0; j < d; j++) spectrum[j] = geodec_blas_dot(d, k->a + j * d, k->basis + j * d);
    return GEODEC_OK;
}

static geodec_status fit_basis(work *k, int64_t index, int64_t first, int64_t last, geodec_err *err)
{
    geodec_projection_group *g = &k->p->group[index];
    const int64_t d = k->p->part[first].cols;
    double *spectrum = k->p->spectrum + g->spectrum, sum2 = 0;
    GEODEC_PASS(gather(k, first, last, err));
    GEODEC_PASS(whiten(k, &k->p->part[first], err));
    if (k->o->basis == GEODEC_BASIS_WHITENED) {
        geodec__projection_product(d, d, d, k->root, k->gram, k->a);
        geodec__projection_product(d, d, d, k->a, k->root, k->gram);
    }
    if (k->o->basis == GEODEC_BASIS_WEIGHTS || k->o->basis == GEODEC_BASIS_WHITENED)
        GEODEC_PASS(eigenbasis(k, d, spectrum, err));
    else
        GEODEC_PASS(control_basis(k, index, d, spectrum, err));
    g->trace = 0;
    for (int64_t i = 0; i < d; i++) g->trace += k->gram[i * d + i];
    sum2 = geodec__projection_squares(d * d, k->gram);
    g->effective_rank = sum2 > 0 ? g->trace * g->trace / sum2 : 0;
    return GEODEC_OK;
}

/* ---- factors ---------------------------------------------------------------------------------------------------- */

/* |x R|^2 */
static double through(const work *k, int64_t rows, int64_t d, const double *x, double *scratch)
{
    geodec__projection_product(rows, d, d, x, k->root, scratch);
    return geodec__projection_squares(rows * d, scratch);
}

static geodec_status fit_slot(work *k, geodec_projection_part *t, const double *w, geodec_err *err)
{
    const int64_t d = t->cols, rows = t->rows, rank = t->k, least = rows < d ? rows : d;
    const double whole = geodec__projection_squares(rows * d, w);
    const double *x = w;
    double sum = 0;
    if (k->o->basis == GEODEC_BASIS_WHITENED) {
        geodec__projection_product(rows, d, d, w, k->root, k->a);
        x = k->a;
    }
    geodec_blas_gemm(false, true, rows, rank, d, 1, x, d, k->basis, d, 0, k->out, rank);
    geodec__projection_store(rows * rank, k->out, k->o->half, k->p->data + t->out);
    GEODEC_PASS(geodec_svd_values(rows, d, w, k->value, err));
    for (int64_t i = rank; i < least; i++) sum += k->value[i] * k->value[i];
    t->best = whole > 0 ? sum / whole : 0;
    memcpy(k->a, w, (size_t)(rows * d) * sizeof *w);
    geodec_blas_gemm(false, false, rows, d, rank, -1, k->out, rank, k->in, d, 1, k->a, d);
    t->error = whole > 0 ? geodec__projection_squares(rows * d, k->a) / whole : 0;
    t->output_error = NAN;
    if (k->o->moments) {
        const double lost = through(k, rows, d, k->a, k->b), all = through(k, rows, d, w, k->b);
        t->output_error = all > 0 ? lost / all : 0;
    }
    return GEODEC_OK;
}

static geodec_status fit_group(work *k, int64_t index, int64_t first, int64_t last, geodec_err *err)
{
    geodec_projection *p = k->p;
    geodec_projection_group *g = &p->group[index];
    const int64_t d = p->part[first].cols;
    GEODEC_PASS(fit_basis(k, index, first, last, err));
    g->captured = 0;
    for (int64_t j = 0; j < g->k; j++) g->captured += p->spectrum[g->spectrum + j];
    g->energy = g->trace > 0 ? g->captured / g->trace : 1;
    if (k->o->basis == GEODEC_BASIS_WHITENED)
        geodec__projection_product(g->k, d, d, k->basis, k->unroot, k->in);
    else
        memcpy(k->in, k->basis, (size_t)(g->k * d) * sizeof *k->in);
    geodec__projection_store(g->k * d, k->in, k->o->half, p->data + p->part[first].in);
    const double *w = k->w;
    for (int64_t i = first; i < last; i++) {
        GEODEC_PASS_MSG(fit_slot(k, &p->part[i], w, err), "layer %d, slot '%s'", p->part[i].layer,
                        geodec_factors_slot_name(p->part[i].slot));
        w += p->part[i].rows * d;
    }
    return GEODEC_OK;
}

/* ---- the plan --------------------------------------------------------------------------------------------------- */

int64_t geodec_projection_rank(const geodec_projection_options *o, int64_t width, int64_t most, const double *spectrum,
                               double trace, double effective_rank, double mean_rank)
{
    const double d = (double)width, target = o->k > 0 ? (double)o->k : o->share * d;
    double k = round(target);
    if (o->rule == GEODEC_RANK_ENERGY) {
        double sum = 0;
        int64_t n = 0;
        while (n < most && sum < o->share * trace) sum += spectrum[n++];
        k = (double)n;
    } else if (o->rule == GEODEC_RANK_LAYERS) {
        k = round(target * (mean_rank > 0 ? effective_rank / mean_rank : 1));
        if (k < ceil(o->floor * d)) k = ceil(o->floor * d);
    }
    return k < 1 ? 1 : k > (double)most ? most : (int64_t)k;
}

static geodec_status check_options(const geodec_model *m, const geodec_projection_options *o, geodec_err *err)
{
    const geodec_model_config *c = geodec_model_configuration(m);
    if (o->slots == 0 || o->slots >> GEODEC_SLOTS) GEODEC_FAIL(GEODEC_RANGE, "the set of slots is not valid");
    if (!(o->share >= 0 && o->share <= 1) || !(o->floor >= 0 && o->floor <= 1) || !(o->ridge >= 0) || o->k < 0)
        GEODEC_FAIL(GEODEC_RANGE, "a share is outside 0 to 1, or a rank or the ridge is negative");
    if (o->basis == GEODEC_BASIS_WHITENED && !o->moments)
        GEODEC_FAIL(GEODEC_INVAL, "whitening needs activations: a text to run the model on");
    for (int k = 0; k < GEODEC_SLOTS; k++) {
        int64_t rows, cols;
        const geodec_side side = geodec_factors_side_of((geodec_slot)k);
        if (!(o->slots >> k & 1)) continue;
        if (!geodec_factors_slot_single(c, (geodec_slot)k))
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "slot '%s' holds a matrix of each expert, which is not projected",
                        geodec_factors_slot_name((geodec_slot)k));
        geodec_factors_slot_shape(c, (geodec_slot)k, &rows, &cols);
        if (o->moments && (o->moments->n_layer != c->n_layer || o->moments->width[side] != cols))
            GEODEC_FAIL(GEODEC_INVAL, "there are no activations for slot '%s'",
                        geodec_factors_slot_name((geodec_slot)k));
    }
    return GEODEC_OK;
}

/* Lists the parts and groups. */
static geodec_status list(const geodec_model *m, const geodec_projection_options *o, geodec_projection *p,
                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    GEODEC_NEW_EACH((int64_t)c->n_layer * GEODEC_SLOTS, p->part, p->group);
    for (int32_t layer = 0; layer < c->n_layer; layer++)
        for (int k = 0; k < GEODEC_SLOTS; k++) {
            geodec_projection_part *t = &p->part[p->parts];
            if (!(o->slots >> k & 1)) continue;
            *t = (geodec_projection_part){.layer = layer, .slot = (geodec_slot)k};
            geodec_factors_slot_shape(c, t->slot, &t->rows, &t->cols);
            const bool joins = o->shared && p->parts > 0 && t[-1].layer == layer &&
                               geodec_factors_side_of(t[-1].slot) == geodec_factors_side_of(t->slot);
            if (!joins) {
                p->group[p->groups] = (geodec_projection_group){.spectrum = p->spectra, .width = t->cols};
                p->spectra += t->cols;
                p->groups++;
            }
            t->group = p->groups - 1;
            p->parts++;
        }
    GEODEC_NEW(p->spectrum, p->spectra);
done:
    return st;
}

static int64_t group_end(const geodec_projection *p, int64_t first)
{
    int64_t last = first;
    while (last < p->parts && p->part[last].group == p->part[first].group) last++;
    return last;
}

/* First pass: chooses the ranks, computing spectra only for the rules that need them; then allocates the factors. */
static geodec_status choose_ranks(work *k, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_projection *p = k->p;
    const bool look = k->o->rule != GEODEC_RANK_SHARE;
    for (int64_t first = 0, last; look && first < p->parts; first = last) {
        last = group_end(p, first);
        GEODEC_TRY(fit_basis(k, p->part[first].group, first, last, err));
    }
    for (int64_t first = 0, last; first < p->parts; first = last) {
        last = group_end(p, first);
        geodec_projection_group *g = &p->group[p->part[first].group];
        double sum = 0;
        int64_t rows = 0, alike = 0;
        for (int64_t i = first; i < last; i++) rows += p->part[i].rows;
        for (int64_t i = 0; i < p->parts; i++) /* the same group of the other layers */
            if (p->part[i].slot == p->part[first].slot) {
                sum += p->group[p->part[i].group].effective_rank;
                alike++;
            }
        /* the directions of controls are not ordered: only all of them together span the rows of the slots */
        const bool ordered = k->o->basis == GEODEC_BASIS_WEIGHTS || k->o->basis == GEODEC_BASIS_WHITENED;
        const int64_t most = ordered && rows < g->width ? rows : g->width;
        g->k = geodec_projection_rank(k->o, g->width, most, p->spectrum + g->spectrum, g->trace, g->effective_rank,
                                      sum / (double)alike);
        const int64_t in = p->values;
        p->values += g->k * g->width;
        for (int64_t i = first; i < last; i++) {
            p->part[i].k = g->k;
            p->part[i].in = in;
            p->part[i].out = p->values;
            p->values += g->k * p->part[i].rows;
        }
    }
    GEODEC_NEW(p->data, p->values);
done:
    return st;
}

/* Bytes of storage of the weights in the file and of the factors. */
static void count_bytes(const geodec_model *m, geodec_projection *p)
{
    const int64_t size = p->half ? 2 : 4;
    double even = 0;
    for (int64_t i = 0; i < p->parts; i++) {
        const geodec_projection_part *t = &p->part[i];
        const bool first = i == 0 || t->in != t[-1].in;
        p->slots_full += geodec_model_slot_bytes(m, t->layer, t->slot);
        p->slots_projected += size * t->k * (t->rows + (first ? t->cols : 0));
        even += (double)(size * t->cols * (t->rows + (first ? t->cols : 0)));
    }
    p->bytes_full = geodec_model_pass_bytes(m);
    p->bytes_projected = p->bytes_full - p->slots_full + p->slots_projected;
    p->rho = 1 - (double)p->bytes_projected / (double)p->bytes_full;
    p->break_even = (double)p->slots_full / even;
}

geodec_status geodec_projection_fit(const geodec_model *m, const geodec_projection_options *o, geodec_projection *out,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_projection p = {.basis = o->basis, .shared = o->shared, .half = o->half};
    work k = {.m = m, .o = o, .p = &p};
    int64_t rows = 1, cols = 1, together = 1;
    GEODEC_TRY(check_options(m, o, err));
    GEODEC_TRY(list(m, o, &p, err));
    for (int64_t first = 0, last; first < p.parts; first = last) {
        int64_t sum = 0;
        last = group_end(&p, first);
        for (int64_t i = first; i < last; i++) {
            if (p.part[i].rows > rows) rows = p.part[i].rows;
            if (p.part[i].cols > cols) cols = p.part[i].cols;
            sum += p.part[i].rows;
        }
        if (sum > together) together = sum;
    }
    GEODEC_TRY(new_work(&k, rows, cols, together, err));
    GEODEC_TRY(choose_ranks(&k, err));
    for (int64_t first = 0, last; first < p.parts; first = last) {
        last = group_end(&p, first);
        GEODEC_TRY(fit_group(&k, p.part[first].group, first, last, err));
        GEODEC_TRY(geodec_hooks_progress(o->hooks, "projecting", last, p.parts, err));
    }
    p.tokens = o->moments ? o->moments->tokens : 0;
    count_bytes(m, &p);
    GEODEC_MOVE(*out, p);
done:
    free_work(&k);
    geodec_projection_clear(&p);
    return st;
}

geodec_status geodec_projection_apply(const geodec_projection *p, geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_factor *f = NULL;
    GEODEC_NEW(f, p->parts);
    for (int64_t i = 0; i < p->parts; i++)
        f[i] = (geodec_factor){.layer = p->part[i].layer,
                               .slot = p->part[i].slot,
                               .k = p->part[i].k,
                               .in = p->data + p->part[i].in,
                               .out = p->data + p->part[i].out};
    GEODEC_TRY(geodec_model_factor(m, p->parts, f, p->half, err));
done:
    geodec_mem_free(f);
    return st;
}

/* Means over the layers of each slot. */
void geodec_projection_say(const geodec_hooks *hooks, const geodec_projection *p)
{
    for (int k = 0; k < GEODEC_SLOTS; k++) {
        double error = 0, best = 0, output_error = 0, n = 0, kept = 0, width = 0;
        for (int64_t i = 0; i < p->parts; i++) {
            const geodec_projection_part *t = &p->part[i];
            if ((int)t->slot != k) continue;
            error += t->error;
            best += t->best;
            output_error += t->output_error;
            kept += (double)t->k;
            width = (double)t->cols;
            n++;
        }
        if (n > 0)
            geodec_hooks_log(
                hooks, GEODEC_LOG_INFO,
                "%-4s mean rank %.1f of %.0f: relative squared error %.4f (best possible %.4f), of outputs %.4f",
                geodec_factors_slot_name((geodec_slot)k), kept / n, width, error / n, best / n, output_error / n);
    }
}
