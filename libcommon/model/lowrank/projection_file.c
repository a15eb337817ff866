/* The projection artifact. */
#include "artifact/binding.h"
#include "base/finite.h"
#include "base/mem.h"
#include "lowrank/projection_internal.h"

#include <string.h>

#define AT(m) GEODEC_AT(geodec_projection, m)
#define IN(m) GEODEC_IN(geodec_projection, m)
#define PART(m) GEODEC_OF_ROW(geodec_projection_part, m)
static const geodec_rows groups = {"G", sizeof(geodec_projection_group), offsetof(geodec_projection, group), false};
#define GROUP(m) GEODEC_OF_ROWS(&groups, geodec_projection_group, m, 0, 0)

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "S", 0, "1", "layer of a projected slot", 0, PART(layer)},
    {"/slot", GEODEC_I32, "S", 0, "1", "0 q, 1 k, 2 v, 3 o, 4 gate, 5 up, 6 down", 0, PART(slot)},
    {"/slot_group", GEODEC_I64, "S", 0, "1", "its group: slots that share a basis", 0, PART(group)},
    {"/slot_rank", GEODEC_I64, "S", 0, "1", "k", 0, PART(k)},
    {"/in", GEODEC_I64, "S", 0, "1",
     "where its input factor [k][cols] begins in /factors (the basis P^T, or V_k C^-1/2); equal where it is shared", 0,
     PART(in)},
    {"/out", GEODEC_I64, "S", 0, "1", "where its output factor [rows][k] begins in /factors (W P, or W C^1/2 V_k^T)", 0,
     PART(out)},
    {"/error", GEODEC_F64, "S", 0, "1", "|W - W~|^2 / |W|^2, Frobenius, of the factors as stored", 0, PART(error)},
    {"/best", GEODEC_F64, "S", 0, "1", "control: the same of the slot's own truncated SVD at this rank (Eckart-Young)",
     0, PART(best)},
    {"/output_error", GEODEC_F64, "S", GEODEC_FIELD_NONFINITE, "1",
     "|(W - W~) C^1/2|^2 / |W C^1/2|^2: of the outputs over the activations; NaN without", 0, PART(output_error)},
    {"/rank", GEODEC_I64, "G", 0, "1", "rank of a group", 0, GROUP(k)},
    {"/spectrum_at", GEODEC_I64, "G", 0, "1", "where its spectrum begins", 0, GROUP(spectrum)},
    {"/trace", GEODEC_F64, "G", 0, "1", "of its Gram matrix G (whitened: C^1/2 G C^1/2)", 0, GROUP(trace)},
    {"/energy", GEODEC_F64, "G", 0, "1", "share of the trace in the k directions kept", 0, GROUP(energy)},
    {"/effective_rank", GEODEC_F64, "G", 0, "1", "(tr G)^2 / tr G^2", 0, GROUP(effective_rank)},
    {"/spectrum", GEODEC_F64, "V", GEODEC_FIELD_COMPRESS, "1",
     "eigenvalues of G, falling; of controls v G v for each direction v", 0, AT(spectrum)},
    {"/factors", GEODEC_F32, "F", GEODEC_FIELD_COMPRESS, "1", "all factors, rounded to their storage type", 0,
     AT(data)},
};

static const geodec_attr attrs[] = {
    {"basis", GEODEC_ATTR_STR, 0, "weights, whitened, random (control) or coordinates (control)",
     GEODEC_NAMED(geodec_projection, basis, geodec_projection_basis_names)},
    {"shared", GEODEC_ATTR_I64, 0, "1: slots of one input share a basis", IN(shared)},
    {"storage", GEODEC_ATTR_STR, 0, "of the factors at run time: f32 or f16",
     GEODEC_NAMED(geodec_projection, half, geodec__projection_factor_types)},
    {"tokens", GEODEC_ATTR_I64, 0, "tokens that C is from; 0 = no activations", IN(tokens)},
    {"bytes_full", GEODEC_ATTR_I64, 0, "bytes of weights that a pass of one token reads, without projection",
     IN(bytes_full)},
    {"bytes_projected", GEODEC_ATTR_I64, 0, "the same with it", IN(bytes_projected)},
    {"slots_full", GEODEC_ATTR_I64, 0, "of these in the projected slots, without", IN(slots_full)},
    {"slots_projected", GEODEC_ATTR_I64, 0, "and with it", IN(slots_projected)},
    {"rho", GEODEC_ATTR_F64, 0, "1 - bytes_projected / bytes_full", IN(rho)},
    {"break_even", GEODEC_ATTR_F64, 0, "k / d at which the slots take as many bytes as without projection",
     IN(break_even)},
    {"mean_error", GEODEC_ATTR_F64, 0, "mean of /error"},
    {"mean_best", GEODEC_ATTR_F64, 0, "mean of /best"},
    {"mean_energy", GEODEC_ATTR_F64, 0, "mean of /energy"},
};

const char *const geodec__projection_factor_types[] = {"f32", "f16", NULL};

static const geodec_extent extents[] = {{"S", IN(parts)}, {"G", IN(groups)}, {"V", IN(spectra)}, {"F", IN(values)}};

/* Means over parts or groups. */
static geodec_status put_mean(const void *object, geodec_artifact *a, const char *name, geodec_err *err)
{
    const geodec_projection *p = object;
    double sum = 0;
    if (strcmp(name, "mean_energy") == 0)
        for (int64_t i = 0; i < p->groups; i++) sum += p->group[i].energy / (double)p->groups;
    else
        for (int64_t i = 0; i < p->parts; i++)
            sum += (strcmp(name, "mean_best") == 0 ? p->part[i].best : p->part[i].error) / (double)p->parts;
    return geodec_artifact_put_f64(a, name, sum, err);
}

const geodec_kind geodec_projection_kind = {
    .name = "projection",
    .major = 1,
    .minor = 0,
    .tool = "geodec-project",
    .purpose = "weights of a model in two factors of low rank",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"S", sizeof(geodec_projection_part), offsetof(geodec_projection, part), false},
    .put = put_mean,
};

void geodec_projection_clear(geodec_projection *p)
{
    geodec_artifact_clear(&geodec_projection_kind, p);
    *p = (geodec_projection){0};
}

geodec_status geodec_projection_write(const geodec_projection *p, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, p, err);
}

static geodec_status check_part(const geodec_projection *p, int64_t i, const geodec_model_config *c, geodec_err *err)
{
    geodec_projection_part *t = &p->part[i];
    if (t->layer < 0 || t->layer >= c->n_layer || (int)t->slot < 0 || (int)t->slot >= GEODEC_SLOTS)
        GEODEC_FAIL(GEODEC_FORMAT, "entry %lld: the model has no layer %d, slot %d", (long long)i, t->layer,
                    (int)t->slot);
    for (int64_t j = 0; j < i; j++)
        if (p->part[j].layer == t->layer && p->part[j].slot == t->slot)
            GEODEC_FAIL(GEODEC_FORMAT, "entries %lld and %lld are both layer %d, slot '%s'", (long long)j, (long long)i,
                        t->layer, geodec_factors_slot_name(t->slot));
    geodec_factors_slot_shape(c, t->slot, &t->rows, &t->cols);
    if (t->k < 1 || t->k > t->cols)
        GEODEC_FAIL(GEODEC_FORMAT, "entry %lld: rank %lld is outside 1 to %lld", (long long)i, (long long)t->k,
                    (long long)t->cols);
    if (t->in < 0 || t->out < 0 || t->in > p->values - t->k * t->cols || t->out > p->values - t->k * t->rows)
        GEODEC_FAIL(GEODEC_FORMAT, "entry %lld: its factors lie outside /factors", (long long)i);
    return GEODEC_OK;
}

geodec_status geodec__projection_owner(const geodec_artifact *a, const geodec_model *m, geodec_err *err)
{
    const char *fingerprint;
    GEODEC_PASS(geodec_artifact_get_str(a, "model_fingerprint", &fingerprint, err));
    if (strcmp(fingerprint, geodec_model_fingerprint(m)) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: made for another model (%.16s...), not for %s (%.16s...)",
                    geodec_artifact_path(a), fingerprint, geodec_model_name(m), geodec_model_fingerprint(m));
    return GEODEC_OK;
}

geodec_status geodec__projection_finite(const geodec_artifact *a, const char *field, const float *x, int64_t n,
                                        geodec_err *err)
{
    const int64_t bad = geodec_finite_first_not_f32(x, n);
    if (bad >= 0)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: %s: element %lld is %g", geodec_artifact_path(a), field, (long long)bad,
                    (double)x[bad]);
    return GEODEC_OK;
}

/* The members that apply uses, with every index checked against the model. GEODEC_CHECKSUM: made for another model. */
static geodec_status read_factors(const geodec_artifact *a, const geodec_model *m, geodec_projection *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_projection p = {0};
    GEODEC_TRY(geodec__projection_owner(a, m, err));
    GEODEC_TRY(geodec_artifact_load(a, &p, err));
    for (int64_t i = 0; i < p.parts; i++)
        GEODEC_TRY_MSG(check_part(&p, i, geodec_model_configuration(m), err), "%s", geodec_artifact_path(a));
    GEODEC_TRY(geodec__projection_finite(a, "/factors", p.data, p.values, err));
    GEODEC_MOVE(*out, p);
done:
    geodec_projection_clear(&p);
    return st;
}

geodec_status geodec_projection_load(const char *path, geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_projection p = {0};
    GEODEC_TRY(geodec_artifact_open(&geodec_projection_kind, path, &a, err));
    GEODEC_TRY(read_factors(a, m, &p, err));
    GEODEC_TRY_MSG(geodec_projection_apply(&p, m, err), "%s", path);
done:
    geodec_projection_clear(&p);
    geodec_artifact_close(a);
    return st;
}
