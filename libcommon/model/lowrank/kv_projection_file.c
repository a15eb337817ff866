/* The kvprojection artifact. */
#include "artifact/binding.h"
#include "base/finite.h"
#include "base/mem.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection_internal.h"

/* The projection and the axes that are products of its members. */
typedef struct kv_file {
    geodec_kv_projection p;
    int64_t width, k_cols, k_rows, v_cols, v_rows; /* W, KC, KR, VC, VR */
} kv_file;
#define AT(m) GEODEC_AT(kv_file, m)
#define IN(m) GEODEC_IN(kv_file, m)

#define SIDE GEODEC_FIELD_OPTIONAL
static const geodec_field fields[] = {
    {"/k_in", GEODEC_F32, "L,KC,d", SIDE | GEODEC_FIELD_COMPRESS, "1",
     "A_K by group: coefficients of the keys = A_K x; KC = groups times k_rank", 0, AT(p.k.in)},
    {"/k_out", GEODEC_F32, "L,W,KR", SIDE | GEODEC_FIELD_COMPRESS, "1",
     "B_K by key head and dimension: key before the rotation = B_K c", 0, AT(p.k.out)},
    {"/k_error", GEODEC_F64, "L", SIDE, "1", "|W_K - B_K A_K|^2 / |W_K|^2, Frobenius, mean over groups", 0,
     AT(p.k.error)},
    {"/k_output_error", GEODEC_F64, "L", SIDE | GEODEC_FIELD_NONFINITE, "1",
     "the same of the keys over the activations; NaN without", 0, AT(p.k.output_error)},
    {"/v_in", GEODEC_F32, "L,VC,d", SIDE | GEODEC_FIELD_COMPRESS, "1", "A_V, as A_K", 0, AT(p.v.in)},
    {"/v_out", GEODEC_F32, "L,W,VR", SIDE | GEODEC_FIELD_COMPRESS, "1", "B_V, folded into the output matrix", 0,
     AT(p.v.out)},
    {"/v_error", GEODEC_F64, "L", SIDE, "1", "of the values", 0, AT(p.v.error)},
    {"/v_output_error", GEODEC_F64, "L", SIDE | GEODEC_FIELD_NONFINITE, "1", "of the values", 0, AT(p.v.output_error)},
};

static const geodec_attr attrs[] = {
    {"basis", GEODEC_ATTR_STR, 0, "weights, whitened or random (control)",
     GEODEC_NAMED(kv_file, p.basis, geodec_projection_basis_names)},
    {"storage", GEODEC_ATTR_STR, 0, "of the matrices at run time: f32 or f16",
     GEODEC_NAMED(kv_file, p.half, geodec__projection_factor_types)},
    {"k_group", GEODEC_ATTR_I64, 0, "key heads that share coefficients of keys; 0 = keys stay whole", IN(p.k.group)},
    {"v_group", GEODEC_ATTR_I64, 0, "the same of values", IN(p.v.group)},
    {"k_rank", GEODEC_ATTR_I64, 0, "coefficients of a group's keys", IN(p.k.rank)},
    {"v_rank", GEODEC_ATTR_I64, 0, "of a group's values", IN(p.v.rank)},
    {"tokens", GEODEC_ATTR_I64, 0, "tokens that the activations are from; 0 = none", IN(p.tokens)},
    {"numbers_full", GEODEC_ATTR_I64, 0, "numbers a token takes in a whole cache", IN(p.numbers_full)},
    {"numbers_kept", GEODEC_ATTR_I64, 0, "and in this one", IN(p.numbers_kept)},
};

static const geodec_extent extents[] = {{"L", IN(p.n_layer)}, {"W", IN(width)},   {"d", IN(p.d_model)},
                                        {"KC", IN(k_cols)},   {"KR", IN(k_rows)}, {"VC", IN(v_cols)},
                                        {"VR", IN(v_rows)}};

const geodec_kind geodec_kv_projection_kind = {
    .name = "kvprojection",
    .major = 1,
    .minor = 0,
    .tool = "geodec-project-kv",
    .purpose = "bases for a key and value cache of low rank",
    GEODEC_TABLES(fields, attrs, extents),
};

void geodec_kv_projection_clear(geodec_kv_projection *p)
{
    geodec_artifact_clear(&geodec_kv_projection_kind, p); /* p owns all members */
    *p = (geodec_kv_projection){0};
}

geodec_status geodec_kv_projection_write(const geodec_kv_projection *p, geodec_artifact *a, geodec_err *err)
{
    const kv_file f = {.p = *p,
                       .width = (int64_t)p->n_kv_head * p->head_dim,
                       .k_cols = p->k.group > 0 ? p->n_kv_head / p->k.group * p->k.rank : 0,
                       .v_cols = p->v.group > 0 ? p->n_kv_head / p->v.group * p->v.rank : 0,
                       .k_rows = p->k.rank,
                       .v_rows = p->v.rank};
    return geodec_artifact_save(a, &f, err);
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status check_side(const geodec_artifact *a, const geodec_kv_projection *p, const geodec_kv_side *s,
                                const char *in, int64_t cols, const char *out, int64_t rows, geodec_err *err)
{
    if (s->group == 0) return GEODEC_OK;
    if (s->group < 0 || s->group > p->n_kv_head || p->n_kv_head % s->group != 0 || s->rank < 1 ||
        s->rank > (int64_t)s->group * p->head_dim || cols != p->n_kv_head / s->group * s->rank || rows != s->rank)
        GEODEC_FAIL(GEODEC_FORMAT,
                    "%s: groups of %d heads with %lld coefficients do not fit this model or their "
                    "fields",
                    geodec_artifact_path(a), s->group, (long long)s->rank);
    if (!s->in || !s->out) GEODEC_FAIL(GEODEC_FORMAT, "%s: %s is missing", geodec_artifact_path(a), s->in ? out : in);
    GEODEC_PASS(geodec__projection_finite(a, in, s->in, p->n_layer * cols * p->d_model, err));
    GEODEC_PASS(
        geodec__projection_finite(a, out, s->out, (int64_t)p->n_layer * p->n_kv_head * p->head_dim * rows, err));
    return GEODEC_OK;
}

/* The members that apply uses, checked against the model. GEODEC_CHECKSUM: made for another model. */
static geodec_status read_factors(const geodec_artifact *a, const geodec_model *m, geodec_kv_projection *out,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    kv_file f = {.p = {.n_kv_head = c->n_kv_head, .head_dim = c->head_dim}};
    GEODEC_TRY(geodec__projection_owner(a, m, err));
    GEODEC_TRY(geodec_artifact_load(a, &f, err));
    if (f.p.n_layer != c->n_layer || f.p.d_model != c->d_model || f.width != (int64_t)c->n_kv_head * c->head_dim)
        GEODEC_THROW(GEODEC_FORMAT, "%s: its sizes do not fit this model", geodec_artifact_path(a));
    GEODEC_TRY(check_side(a, &f.p, &f.p.k, "/k_in", f.k_cols, "/k_out", f.k_rows, err));
    GEODEC_TRY(check_side(a, &f.p, &f.p.v, "/v_in", f.v_cols, "/v_out", f.v_rows, err));
    GEODEC_MOVE(*out, f.p);
done:
    geodec_kv_projection_clear(&f.p);
    return st;
}

geodec_status geodec_kv_projection_load(const char *path, geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_kv_projection p = {0};
    GEODEC_TRY(geodec_artifact_open(&geodec_kv_projection_kind, path, &a, err));
    GEODEC_TRY(read_factors(a, m, &p, err));
    GEODEC_TRY_MSG(geodec_kv_projection_apply(&p, m, err), "%s", path);
done:
    geodec_kv_projection_clear(&p);
    geodec_artifact_close(a);
    return st;
}
