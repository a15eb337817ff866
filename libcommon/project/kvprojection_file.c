/* The kvprojection artifact. */
#include "base/finite.h"
#include "base/mem.h"
#include "project/kvprojection.h"

#include <string.h>

#define SIDE GEODEC_FIELD_OPTIONAL
static const geodec_field fields[] = {
    {"/k_in", GEODEC_F32, "L,KC,d", SIDE | GEODEC_FIELD_COMPRESS, "1",
     "A_K by group: coefficients of the keys = A_K x; KC = groups times k_rank", 0},
    {"/k_out", GEODEC_F32, "L,W,KR", SIDE | GEODEC_FIELD_COMPRESS, "1",
     "B_K by key head and dimension: key before the rotation = B_K c", 0},
    {"/k_error", GEODEC_F64, "L", SIDE, "1", "|W_K - B_K A_K|^2 / |W_K|^2, Frobenius, mean over groups", 0},
    {"/k_output_error", GEODEC_F64, "L", SIDE | GEODEC_FIELD_NONFINITE, "1",
     "the same of the keys over the activations; NaN without", 0},
    {"/v_in", GEODEC_F32, "L,VC,d", SIDE | GEODEC_FIELD_COMPRESS, "1", "A_V, as A_K", 0},
    {"/v_out", GEODEC_F32, "L,W,VR", SIDE | GEODEC_FIELD_COMPRESS, "1", "B_V, folded into the output matrix", 0},
    {"/v_error", GEODEC_F64, "L", SIDE, "1", "of the values", 0},
    {"/v_output_error", GEODEC_F64, "L", SIDE | GEODEC_FIELD_NONFINITE, "1", "of the values", 0},
};

static const geodec_attr attrs[] = {
    {"basis", GEODEC_ATTR_STR, 0, "weights, whitened or random (control)"},
    {"storage", GEODEC_ATTR_STR, 0, "of the matrices at run time: f32 or f16"},
    {"k_group", GEODEC_ATTR_I64, 0, "key heads that share coefficients of keys; 0 = keys stay whole"},
    {"v_group", GEODEC_ATTR_I64, 0, "the same of values"},
    {"k_rank", GEODEC_ATTR_I64, 0, "coefficients of a group's keys"},
    {"v_rank", GEODEC_ATTR_I64, 0, "of a group's values"},
    {"tokens", GEODEC_ATTR_I64, 0, "tokens that the activations are from; 0 = none"},
    {"numbers_full", GEODEC_ATTR_I64, 0, "numbers a token takes in a whole cache"},
    {"numbers_kept", GEODEC_ATTR_I64, 0, "and in this one"},
};

const geodec_kind geodec_kind_kvprojection = {
    .name = "kvprojection",
    .major = 1,
    .minor = 0,
    .tool = "geodec-project-kv",
    .purpose = "bases for a key and value cache of low rank",
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};

/* Names of a side's members. */
typedef struct names {
    const char *in, *out, *error, *output_error, *group, *rank, *coefficients, *width;
} names;
static const names key_names = {"/k_in", "/k_out", "/k_error", "/k_output_error", "k_group", "k_rank", "KC", "KR"};
static const names value_names = {"/v_in", "/v_out", "/v_error", "/v_output_error", "v_group", "v_rank", "VC", "VR"};

static geodec_status write_side(const geodec_kv_projection *p, const geodec_kv_side *s, const names *n,
                                geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_put_i64(a, n->group, s->group, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, n->rank, s->rank, err));
    if (s->group == 0) goto done;
    GEODEC_TRY(geodec_artifact_set_dim(a, n->coefficients, p->n_kv_head / s->group * s->rank, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, n->width, s->rank, err));
    GEODEC_TRY(geodec_artifact_write(a, n->in, s->in, err));
    GEODEC_TRY(geodec_artifact_write(a, n->out, s->out, err));
    GEODEC_TRY(geodec_artifact_write(a, n->error, s->error, err));
    GEODEC_TRY(geodec_artifact_write(a, n->output_error, s->output_error, err));
done:
    return st;
}

geodec_status geodec_kv_projection_write(const geodec_kv_projection *p, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_set_dim(a, "L", p->n_layer, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "W", (int64_t)p->n_kv_head * p->head_dim, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "d", p->d_model, err));
    GEODEC_TRY(write_side(p, &p->k, &key_names, a, err));
    GEODEC_TRY(write_side(p, &p->v, &value_names, a, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "basis", geodec_projection_basis_name(p->basis), err));
    GEODEC_TRY(geodec_artifact_put_str(a, "storage", p->half ? "f16" : "f32", err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "tokens", p->tokens, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "numbers_full", p->numbers_full, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "numbers_kept", p->numbers_kept, err));
done:
    return st;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status check_shape(const geodec_artifact *a, const char *field, int64_t l, int64_t rows, int64_t cols,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[6];
    int rank;
    if (!geodec_artifact_has(a, field))
        GEODEC_THROW(GEODEC_FORMAT, "%s: %s is missing", geodec_artifact_path(a), field);
    GEODEC_TRY(geodec_artifact_shape(a, field, shape, &rank, err));
    if (rank != 3 || shape[0] != l || shape[1] != rows || shape[2] != cols)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %s does not fit this model", geodec_artifact_path(a), field);
done:
    return st;
}

/* n numbers, or GEODEC_FORMAT. */
static geodec_status read_finite(const geodec_artifact *a, const char *field, int64_t n, float **x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_artifact_read(a, field, x, err));
    const int64_t bad = geodec_nonfinite_f32(*x, n);
    if (bad >= 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: %s: element %lld is %g", geodec_artifact_path(a), field, (long long)bad,
                     (double)(*x)[bad]);
done:
    return st;
}

static geodec_status read_side(const geodec_artifact *a, const geodec_model_config *c, const names *n,
                               geodec_kv_side *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t width = (int64_t)c->n_kv_head * c->head_dim;
    int64_t group, rank;
    GEODEC_TRY(geodec_artifact_get_i64(a, n->group, &group, err));
    GEODEC_TRY(geodec_artifact_get_i64(a, n->rank, &rank, err));
    if (group == 0) goto done;
    if (group < 0 || group > c->n_kv_head || c->n_kv_head % group != 0 || rank < 1 || rank > group * c->head_dim)
        GEODEC_THROW(GEODEC_FORMAT, "%s: groups of %lld heads with %lld coefficients do not fit this model",
                     geodec_artifact_path(a), (long long)group, (long long)rank);
    GEODEC_TRY(check_shape(a, n->in, c->n_layer, c->n_kv_head / group * rank, c->d_model, err));
    GEODEC_TRY(check_shape(a, n->out, c->n_layer, width, rank, err));
    s->group = (int32_t)group;
    s->rank = rank;
    GEODEC_TRY(read_finite(a, n->in, c->n_layer * (c->n_kv_head / group * rank) * c->d_model, &s->in, err));
    GEODEC_TRY(read_finite(a, n->out, c->n_layer * width * rank, &s->out, err));
done:
    return st;
}

geodec_status geodec_kv_projection_read(const geodec_artifact *a, const geodec_model *m, geodec_kv_projection *out,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_kv_projection p = {
        .n_layer = c->n_layer, .n_kv_head = c->n_kv_head, .head_dim = c->head_dim, .d_model = c->d_model};
    const char *fingerprint, *storage;
    GEODEC_TRY(geodec_artifact_get_str(a, "model_fingerprint", &fingerprint, err));
    if (strcmp(fingerprint, geodec_model_fingerprint(m)) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: made for another model (%.16s...), not for %s (%.16s...)",
                     geodec_artifact_path(a), fingerprint, geodec_model_name(m), geodec_model_fingerprint(m));
    GEODEC_TRY(geodec_artifact_get_str(a, "storage", &storage, err));
    if (strcmp(storage, "f32") != 0 && strcmp(storage, "f16") != 0)
        GEODEC_THROW(GEODEC_FORMAT, "%s: factors of type '%.20s'", geodec_artifact_path(a), storage);
    p.half = strcmp(storage, "f16") == 0;
    GEODEC_TRY(read_side(a, c, &key_names, &p.k, err));
    GEODEC_TRY(read_side(a, c, &value_names, &p.v, err));
    *out = p;
    p = (geodec_kv_projection){0};
done:
    geodec_kv_projection_clear(&p);
    return st;
}

geodec_status geodec_kv_projection_load(const char *path, geodec_model *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    geodec_kv_projection p = {0};
    GEODEC_TRY(geodec_artifact_open(&geodec_kind_kvprojection, path, &a, err));
    GEODEC_TRY(geodec_kv_projection_read(a, m, &p, err));
    GEODEC_TRY_MSG(geodec_kv_projection_apply(&p, m, err), "%s", path);
done:
    geodec_kv_projection_clear(&p);
    geodec_artifact_close(a);
    return st;
}
