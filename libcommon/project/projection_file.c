/* The projection artifact. */
#include "base/finite.h"
#include "base/mem.h"
#include "project/projection.h"

#include <string.h>

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "S", 0, "1", "layer of a projected slot", 0},
    {"/slot", GEODEC_I32, "S", 0, "1", "0 q, 1 k, 2 v, 3 o, 4 gate, 5 up, 6 down", 0},
    {"/slot_group", GEODEC_I64, "S", 0, "1", "its group: slots that share a basis", 0},
    {"/slot_rank", GEODEC_I64, "S", 0, "1", "k", 0},
    {"/in", GEODEC_I64, "S", 0, "1",
     "where its input factor [k][cols] begins in /factors (the basis P^T, or V_k C^-1/2); equal where it is shared", 0},
    {"/out", GEODEC_I64, "S", 0, "1", "where its output factor [rows][k] begins in /factors (W P, or W C^1/2 V_k^T)",
     0},
    {"/error", GEODEC_F64, "S", 0, "1", "|W - W~|^2 / |W|^2, Frobenius, of the factors as stored", 0},
    {"/best", GEODEC_F64, "S", 0, "1", "control: the same of the slot's own truncated SVD at this rank (Eckart-Young)",
     0},
    {"/output_error", GEODEC_F64, "S", GEODEC_FIELD_NONFINITE, "1",
     "|(W - W~) C^1/2|^2 / |W C^1/2|^2: of the outputs over the activations; NaN without", 0},
    {"/rank", GEODEC_I64, "G", 0, "1", "rank of a group", 0},
    {"/spectrum_at", GEODEC_I64, "G", 0, "1", "where its spectrum begins", 0},
    {"/trace", GEODEC_F64, "G", 0, "1", "of its Gram matrix G (whitened: C^1/2 G C^1/2)", 0},
    {"/energy", GEODEC_F64, "G", 0, "1", "share of the trace in the k directions kept", 0},
    {"/effective_rank", GEODEC_F64, "G", 0, "1", "(tr G)^2 / tr G^2", 0},
    {"/spectrum", GEODEC_F64, "V", GEODEC_FIELD_COMPRESS, "1",
     "eigenvalues of G, falling; of controls v G v for each direction v", 0},
    {"/factors", GEODEC_F32, "F", GEODEC_FIELD_COMPRESS, "1", "all factors, rounded to their storage type", 0},
};

static const geodec_attr attrs[] = {
    {"basis", GEODEC_ATTR_STR, 0, "weights, whitened, random (control) or coordinates (control)"},
    {"shared", GEODEC_ATTR_I64, 0, "1: slots of one input share a basis"},
    {"storage", GEODEC_ATTR_STR, 0, "of the factors at run time: f32 or f16"},
    {"tokens", GEODEC_ATTR_I64, 0, "tokens that C is from; 0 = no activations"},
    {"bytes_full", GEODEC_ATTR_I64, 0, "bytes of weights that a pass of one token reads, without projection"},
    {"bytes_projected", GEODEC_ATTR_I64, 0, "the same with it"},
    {"slots_full", GEODEC_ATTR_I64, 0, "of these in the projected slots, without"},
    {"slots_projected", GEODEC_ATTR_I64, 0, "and with it"},
    {"rho", GEODEC_ATTR_F64, 0, "1 - bytes_projected / bytes_full"},
    {"break_even", GEODEC_ATTR_F64, 0, "k / d at which the slots take as many bytes as without projection"},
    {"mean_error", GEODEC_ATTR_F64, 0, "mean of /error"},
    {"mean_best", GEODEC_ATTR_F64, 0, "mean of /best"},
    {"mean_energy", GEODEC_ATTR_F64, 0, "mean of /energy"},
};

const geodec_kind geodec_kind_projection = {
    .name = "projection",
    .major = 1,
    .minor = 0,
    .tool = "geodec-project",
    .purpose = "weights of a model in two factors of low rank",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

/* ---- writing ---------------------------------------------------------------------------------------------------- */

/* One column of the parts or groups at a time. */
typedef struct columns {
    int32_t *small;
    int64_t *whole;
    double *real;
} columns;

static geodec_status write_parts(const geodec_projection *p, const columns *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_projection_part *t = p->part;
    const int64_t n = p->parts;
    for (int64_t i = 0; i < n; i++) c->small[i] = t[i].layer;
    GEODEC_TRY(geodec_artifact_write(a, "/layer", c->small, err));
    for (int64_t i = 0; i < n; i++) c->small[i] = (int32_t)t[i].slot;
    GEODEC_TRY(geodec_artifact_write(a, "/slot", c->small, err));
    for (int64_t i = 0; i < n; i++) c->whole[i] = t[i].group;
    GEODEC_TRY(geodec_artifact_write(a, "/slot_group", c->whole, err));
    for (int64_t i = 0; i < n; i++) c->whole[i] = t[i].k;
    GEODEC_TRY(geodec_artifact_write(a, "/slot_rank", c->whole, err));
    for (int64_t i = 0; i < n; i++) c->whole[i] = t[i].in;
    GEODEC_TRY(geodec_artifact_write(a, "/in", c->whole, err));
    for (int64_t i = 0; i < n; i++) c->whole[i] = t[i].out;
    GEODEC_TRY(geodec_artifact_write(a, "/out", c->whole, err));
    for (int64_t i = 0; i < n; i++) c->real[i] = t[i].error;
    GEODEC_TRY(geodec_artifact_write(a, "/error", c->real, err));
    for (int64_t i = 0; i < n; i++) c->real[i] = t[i].best;
    GEODEC_TRY(geodec_artifact_write(a, "/best", c->real, err));
    for (int64_t i = 0; i < n; i++) c->real[i] = t[i].output_error;
    GEODEC_TRY(geodec_artifact_write(a, "/output_error", c->real, err));
done:
    return st;
}

static double energy(const geodec_projection_group *g) { return g->trace > 0 ? g->captured / g->trace : 1; }

static geodec_status write_groups(const geodec_projection *p, const columns *c, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_projection_group *g = p->group;
    const int64_t n = p->groups;
    for (int64_t i = 0; i < n; i++) c->whole[i] = g[i].k;
    GEODEC_TRY(geodec_artifact_write(a, "/rank", c->whole, err));
    for (int64_t i = 0; i < n; i++) c->whole[i] = g[i].spectrum;
    GEODEC_TRY(geodec_artifact_write(a, "/spectrum_at", c->whole, err));
    for (int64_t i = 0; i < n; i++) c->real[i] = g[i].trace;
    GEODEC_TRY(geodec_artifact_write(a, "/trace", c->real, err));
    for (int64_t i = 0; i < n; i++) c->real[i] = energy(&g[i]);
    GEODEC_TRY(geodec_artifact_write(a, "/energy", c->real, err));
    for (int64_t i = 0; i < n; i++) c->real[i] = g[i].effective_rank;
    GEODEC_TRY(geodec_artifact_write(a, "/effective_rank", c->real, err));
done:
    return st;
}

static geodec_status write_attributes(const geodec_projection *p, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double error = 0, best = 0, kept = 0;
    for (int64_t i = 0; i < p->parts; i++) {
        error += p->part[i].error / (double)p->parts;
        best += p->part[i].best / (double)p->parts;
    }
    for (int64_t i = 0; i < p->groups; i++) kept += energy(&p->group[i]) / (double)p->groups;
    GEODEC_TRY(geodec_artifact_put_str(a, "basis", geodec_projection_basis_name(p->basis), err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "shared", p->shared, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "storage", p->half ? "f16" : "f32", err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "tokens", p->tokens, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "bytes_full", p->bytes_full, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "bytes_projected", p->bytes_projected, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "slots_full", p->slots_full, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "slots_projected", p->slots_projected, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "rho", p->rho, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "break_even", p->break_even, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "mean_error", error, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "mean_best", best, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "mean_energy", kept, err));
done:
    return st;
}

geodec_status geodec_projection_write(const geodec_projection *p, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    columns c = {0};
    GEODEC_NEW(c.small, p->parts);
    GEODEC_NEW(c.whole, p->parts); /* a group has a part at least */
    GEODEC_NEW(c.real, p->parts);
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", p->parts, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "G", p->groups, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "V", p->spectra, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "F", p->values, err));
    GEODEC_TRY(write_parts(p, &c, a, err));
    GEODEC_TRY(write_groups(p, &c, a, err));
    GEODEC_TRY(geodec_artifact_write(a, "/spectrum", p->spectrum, err));
    GEODEC_TRY(geodec_artifact_write(a, "/factors", p->data, err));
    GEODEC_TRY(write_attributes(p, a, err));
done:
    geodec_mem_free(c.small);
    geodec_mem_free(c.whole);
    geodec_mem_free(c.real);
    return st;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status check_part(const geodec_projection *p, int64_t i, const geodec_model_config *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_projection_part *t = &p->part[i];
    if (t->layer < 0 || t->layer >= c->n_layer || (int)t->slot < 0 || (int)t->slot >= GEODEC_SLOTS)
        GEODEC_THROW(GEODEC_FORMAT, "entry %lld: the model has no layer %d, slot %d", (long long)i, t->layer,
                     (int)t->slot);
    for (int64_t j = 0; j < i; j++)
        if (p->part[j].layer == t->layer && p->part[j].slot == t->slot)
            GEODEC_THROW(GEODEC_FORMAT, "entries %lld and %lld are both layer %d, slot '%s'", (long long)j,
                         (long long)i, t->layer, geodec_slot_name(t->slot));
    geodec_slot_shape(c, t->slot, &t->rows, &t->cols);
    if (t->k < 1 || t->k > t->cols)
        GEODEC_THROW(GEODEC_FORMAT, "entry %lld: rank %lld is outside 1 to %lld", (long long)i, (long long)t->k,
                     (long long)t->cols);
    if (t->in < 0 || t->out < 0 || t->in > p->values - t->k * t->cols || t->out > p->values - t->k * t->rows)
        GEODEC_THROW(GEODEC_FORMAT, "entry %lld: its factors lie outside /factors", (long long)i);
done:
    return st;
}

geodec_status geodec_projection_read(const geodec_artifact *a, const geodec_model *m, geodec_projection *out,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_projection p = {0};
    int32_t *layer = NULL, *slot = NULL;
    int64_t *rank = NULL, *in = NULL, *at = NULL;
    const char *fingerprint, *storage;
    GEODEC_TRY(geodec_artifact_get_str(a, "model_fingerprint", &fingerprint, err));
    if (strcmp(fingerprint, geodec_model_fingerprint(m)) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: made for another model (%.16s...), not for %s (%.16s...)",
                     geodec_artifact_path(a), fingerprint, geodec_model_name(m), geodec_model_fingerprint(m));
    GEODEC_TRY(geodec_artifact_get_str(a, "storage", &storage, err));
    if (strcmp(storage, "f32") != 0 && strcmp(storage, "f16") != 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: factors of type '%.20s'", geodec_artifact_path(a), storage);
    p.half = strcmp(storage, "f16") == 0;
    GEODEC_TRY(geodec_artifact_dim(a, "S", &p.parts, err));
    GEODEC_TRY(geodec_artifact_dim(a, "F", &p.values, err));
    GEODEC_NEW(p.part, p.parts);
    GEODEC_TRY(geodec_artifact_read(a, "/layer", &layer, err));
    GEODEC_TRY(geodec_artifact_read(a, "/slot", &slot, err));
    GEODEC_TRY(geodec_artifact_read(a, "/slot_rank", &rank, err));
    GEODEC_TRY(geodec_artifact_read(a, "/in", &in, err));
    GEODEC_TRY(geodec_artifact_read(a, "/out", &at, err));
    for (int64_t i = 0; i < p.parts; i++) {
        p.part[i] = (geodec_projection_part){
            .layer = layer[i], .slot = (geodec_slot)slot[i], .k = rank[i], .in = in[i], .out = at[i]};
        GEODEC_TRY_MSG(check_part(&p, i, geodec_model_configuration(m), err), "%s", geodec_artifact_path(a));
    }
    GEODEC_TRY(geodec_artifact_read(a, "/factors", &p.data, err));
    const int64_t bad = geodec_nonfinite_f32(p.data, p.values);
    if (bad >= 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: /factors: element %lld is %g", geodec_artifact_path(a), (long long)bad,
                     (double)p.data[bad]);
    *out = p;
    p = (geodec_projection){0};
done:
    geodec_mem_free(layer);
    geodec_mem_free(slot);
    geodec_mem_free(rank);
    geodec_mem_free(in);
    geodec_mem_free(at);
    geodec_projection_clear(&p);
    return st;
}
