/* Checkpoints and the loss curve as artifacts. */
#include "artifact/binding.h"
#include "base/mem.h"
#include "train/trainer_internal.h"

#include <math.h>
#include <string.h>

enum { COLUMNS = 7 };

/* penalty_sum and curve_penalty: NULL without a penalty. */
typedef struct checkpoint {
    int64_t total, rows, step, loss_steps;
    float *params, *m, *v;
    double *curve; /* [rows][COLUMNS] */
    double *curve_penalty, loss_sum;
    const double *penalty_sum;
    const char *recipe;
} checkpoint;
#define AT(m) GEODEC_AT(checkpoint, m)
#define IN(m) GEODEC_IN(checkpoint, m)

static const geodec_field checkpoint_fields[] = {
    {"/params", GEODEC_F32, "P", 0, "1", "parameters, in the order of the model file", 0, AT(params)},
    {"/adam_m", GEODEC_F32, "P", 0, "1", "running mean of the gradient (Loshchilov and Hutter 2019)", 0, AT(m)},
    {"/adam_v", GEODEC_F32, "P", 0, "1", "running mean of its square", 0, AT(v)},
    {"/curve", GEODEC_F64, "C,7", 0, "1", "loss curve so far: step, tokens, train, held-out, bits a byte, rate, norm",
     0, AT(curve)},
    {"/curve_penalty", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "1", "further term of the loss in those rows", 1,
     AT(curve_penalty)},
};
static const geodec_attr checkpoint_attrs[] = {
    {"penalty_sum", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "sum of the further term since the last row of the curve",
     AT(penalty_sum)},
    {"step", GEODEC_ATTR_I64, 0, "optimiser steps done", IN(step)},
    {"loss_sum", GEODEC_ATTR_F64, 0, "sum of training losses since the last row of the curve", IN(loss_sum)},
    {"loss_steps", GEODEC_ATTR_I64, 0, "steps in that sum", IN(loss_steps)},
    {"recipe", GEODEC_ATTR_STR, 0, "everything that decides the result; a resume must match it", IN(recipe)},
};
static const geodec_extent checkpoint_extents[] = {{"P", IN(total)}, {"C", IN(rows)}};
const geodec_kind geodec_checkpoint_kind = {
    .name = "checkpoint",
    .major = 1,
    .minor = 1,
    .tool = "geodec-train",
    .purpose = "state of a training run, to resume it",
    GEODEC_TABLES(checkpoint_fields, checkpoint_attrs, checkpoint_extents),
};

/* The penalty of every row of the curve; NULL without a penalty. */
static geodec_status penalties(const geodec_trainer *t, double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *out = NULL;
    if (!(t->penalty.weight > 0)) goto done;
    GEODEC_NEW(*out, t->n_rows);
    for (int64_t i = 0; i < t->n_rows; i++) (*out)[i] = t->row[i].penalty;
done:
    return st;
}

geodec_status geodec_trainer_save(const geodec_trainer *t, const char *path, const geodec_provenance *p,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    checkpoint c = {.total = t->layout->total,
                    .rows = t->n_rows,
                    .step = t->done,
                    .loss_steps = t->loss_steps,
                    .params = t->params,
                    .m = t->m,
                    .v = t->v,
                    .loss_sum = t->loss_sum,
                    .penalty_sum = t->penalty.weight > 0 ? &t->penalty_sum : NULL,
                    .recipe = t->recipe};
    GEODEC_NEW(c.curve, COLUMNS * t->n_rows);
    for (int64_t i = 0; i < t->n_rows; i++) {
        const geodec_curve_row *r = &t->row[i];
        const double v[COLUMNS] = {(double)r->step, (double)r->tokens, r->train, r->held_out, r->held_out_bytes,
                                   r->lr,           r->grad_norm};
        memcpy(c.curve + COLUMNS * i, v, sizeof v);
    }
    GEODEC_TRY(penalties(t, &c.curve_penalty, err));
    GEODEC_TRY(geodec_artifact_save_as(&geodec_checkpoint_kind, path, p, &c, err));
done:
    GEODEC_FREE(c.curve, c.curve_penalty);
    return st;
}

geodec_status geodec_trainer_load(geodec_trainer *t, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    checkpoint c = {0};
    const char *recipe;
    double penalty_sum = 0;
    GEODEC_TRY(geodec_artifact_open(&geodec_checkpoint_kind, path, &a, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "recipe", &recipe, err));
    if (strcmp(recipe, t->recipe) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM,
                     "%s belongs to a run with other texts, shape or options; remove it or name another file", path);
    GEODEC_TRY(geodec_artifact_load(a, &c, err));
    if (geodec_artifact_has_attr(a, "penalty_sum"))
        GEODEC_TRY(geodec_artifact_get_f64(a, "penalty_sum", &penalty_sum, err));
    if (c.total != t->layout->total) GEODEC_THROW(GEODEC_FORMAT, "%s: %lld parameters", path, (long long)c.total);
    if (c.step < 0 || c.step > t->o.steps)
        GEODEC_THROW(GEODEC_FORMAT, "%s: step %lld is outside 0 to %lld", path, (long long)c.step,
                     (long long)t->o.steps);
    /* Replaces the state; from here on only the allocation for the curve can fail. */
    t->n_rows = 0;
    for (int64_t i = 0; i < c.rows; i++) {
        const double *v = c.curve + COLUMNS * i;
        const geodec_curve_row r = {(int64_t)v[0], (int64_t)v[1], v[2], v[3],
                                    v[4],          v[5],          v[6], c.curve_penalty ? c.curve_penalty[i] : 0};
        GEODEC_TRY(geodec__trainer_add_row(t, &r, err));
    }
    const size_t bytes = (size_t)c.total * sizeof(float);
    memcpy(t->params, c.params, bytes);
    memcpy(t->m, c.m, bytes);
    memcpy(t->v, c.v, bytes);
    t->done = c.step;
    t->loss_steps = c.loss_steps;
    t->loss_sum = c.loss_sum;
    t->penalty_sum = penalty_sum;
done:
    geodec_artifact_clear(&geodec_checkpoint_kind, &c);
    geodec_artifact_close(a);
    return st;
}

/* ---- loss curve -------------------------------------------------------------------------------------------------- */

/* penalty, penalty_weight and penalty_recipe are NULL without a penalty; floor is NULL if it is unknown. */
typedef struct curve {
    const geodec_curve_row *row; /* [n] */
    int64_t n, n_params, tokens, bytes;
    double held_out, held_out_bytes, *penalty;
    const double *penalty_weight, *floor;
    const char *penalty_recipe;
} curve;
#undef AT
#undef IN
#define AT(m) GEODEC_AT(curve, m)
#define IN(m) GEODEC_IN(curve, m)
#define OF(m) GEODEC_OF_ROW(geodec_curve_row, m)

static const geodec_field curve_fields[] = {
    {"/step", GEODEC_I64, "C", 0, "1", "optimiser steps done", 0, OF(step)},
    {"/tokens", GEODEC_I64, "C", 0, "1", "training tokens seen", 0, OF(tokens)},
    {"/train_loss", GEODEC_F64, "C", 0, "nat", "training loss a token, mean over the steps since the last row", 0,
     OF(train)},
    {"/held_out_loss", GEODEC_F64, "C", 0, "nat", "held-out loss a token", 0, OF(held_out)},
    {"/held_out_bits_per_byte", GEODEC_F64, "C", 0, "bit", "held-out loss a byte of text", 0, OF(held_out_bytes)},
    {"/learning_rate", GEODEC_F64, "C", 0, "1", "learning rate of the last step", 0, OF(lr)},
    {"/grad_norm", GEODEC_F64, "C", 0, "1", "norm of the gradient before clipping", 0, OF(grad_norm)},
    {"/penalty", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "1",
     "further term of the loss a token without its weight, mean over the steps since the last row", 1, AT(penalty)},
};
static const geodec_attr curve_attrs[] = {
    {"penalty_weight", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "weight of the further term of the loss",
     AT(penalty_weight)},
    {"penalty_recipe", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "what that term is", IN(penalty_recipe)},
    {"final_held_out_loss", GEODEC_ATTR_F64, 0, "loss of the finished model on all held-out text, nats a token",
     IN(held_out)},
    {"final_held_out_bits_per_byte", GEODEC_ATTR_F64, 0, "the same in bits a byte", IN(held_out_bytes)},
    {"floor_bits_per_byte", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "exact entropy of the text's source: no model is below", AT(floor)},
    {"n_params", GEODEC_ATTR_I64, 0, "parameters of the model", IN(n_params)},
    {"held_out_tokens", GEODEC_ATTR_I64, 0,
     "targets in the held-out text; a row scores the first of them (--eval-tokens)", IN(tokens)},
    {"held_out_bytes", GEODEC_ATTR_I64, 0, "bytes of held-out text", IN(bytes)},
};
static const geodec_extent curve_extents[] = {{"C", IN(n)}};
const geodec_kind geodec_checkpoint_losscurve_kind = {
    .name = "losscurve",
    .major = 1,
    .minor = 1,
    .tool = "geodec-train",
    .purpose = "training and held-out loss by step",
    GEODEC_TABLES(curve_fields, curve_attrs, curve_extents),
    .rows = {"C", sizeof(geodec_curve_row), offsetof(curve, row), false},
};

geodec_status geodec_trainer_write_curve(const geodec_trainer *t, const char *path, const geodec_train_summary *s,
                                         const geodec_provenance *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool penalised = t->penalty.weight > 0;
    curve c = {.row = t->row,
               .n = t->n_rows,
               .n_params = t->layout->total,
               .tokens = t->n_targets,
               .bytes = t->held_out->n_bytes,
               .held_out = s->held_out,
               .held_out_bytes = s->held_out_bytes,
               .floor = isfinite(s->floor_bytes) ? &s->floor_bytes : NULL,
               .penalty_weight = penalised ? &t->penalty.weight : NULL,
               .penalty_recipe = penalised ? t->penalty.recipe : NULL};
    GEODEC_TRY(penalties(t, &c.penalty, err));
    GEODEC_TRY(geodec_artifact_save_as(&geodec_checkpoint_losscurve_kind, path, p, &c, err));
done:
    geodec_mem_free(c.penalty);
    return st;
}
