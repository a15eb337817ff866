/* Checkpoints and the loss curve as artifacts. */
#include "base/mem.h"
#include "train/trainer_internal.h"

#include <math.h>
#include <string.h>

#define COUNT(x) ((int)(sizeof(x) / sizeof *(x)))

static const geodec_field checkpoint_fields[] = {
    {"/params", GEODEC_F32, "P", 0, "1", "parameters, in the order of the model file", 0},
    {"/adam_m", GEODEC_F32, "P", 0, "1", "running mean of the gradient (Loshchilov and Hutter 2019)", 0},
    {"/adam_v", GEODEC_F32, "P", 0, "1", "running mean of its square", 0},
    {"/curve", GEODEC_F64, "C,7", 0, "1", "loss curve so far: step, tokens, train, held-out, bits a byte, rate, norm",
     0},
    {"/curve_penalty", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "1", "further term of the loss in those rows", 1},
};
static const geodec_attr checkpoint_attrs[] = {
    {"step", GEODEC_ATTR_I64, 0, "optimiser steps done"},
    {"loss_sum", GEODEC_ATTR_F64, 0, "sum of training losses since the last row of the curve"},
    {"penalty_sum", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "the same sum of the further term"},
    {"loss_steps", GEODEC_ATTR_I64, 0, "steps in that sum"},
    {"recipe", GEODEC_ATTR_STR, 0, "everything that decides the result; a resume must match it"},
};
const geodec_kind geodec_kind_checkpoint = {
    .name = "checkpoint",
    .major = 1,
    .minor = 1,
    .tool = "geodec-train",
    .purpose = "state of a training run, to resume it",
    .fields = checkpoint_fields,
    .n_fields = COUNT(checkpoint_fields),
    .attrs = checkpoint_attrs,
    .n_attrs = COUNT(checkpoint_attrs),
};

enum { COLUMNS = 7 };

geodec_status geodec_trainer_save(const geodec_trainer *t, const char *path, const geodec_provenance *p,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    double *curve = NULL, *penalty = NULL;
    GEODEC_NEW(curve, COLUMNS * t->n_rows);
    GEODEC_NEW(penalty, t->n_rows);
    for (int64_t i = 0; i < t->n_rows; i++) {
        const geodec_curve_row *r = &t->row[i];
        const double v[COLUMNS] = {(double)r->step, (double)r->tokens, r->train, r->held_out, r->held_out_bytes,
                                   r->lr,           r->grad_norm};
        memcpy(curve + COLUMNS * i, v, sizeof v);
        penalty[i] = r->penalty;
    }
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_checkpoint, path, p, &a, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", t->layout->total, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", t->n_rows, err));
    GEODEC_TRY(geodec_artifact_write(a, "/params", t->params, err));
    GEODEC_TRY(geodec_artifact_write(a, "/adam_m", t->m, err));
    GEODEC_TRY(geodec_artifact_write(a, "/adam_v", t->v, err));
    GEODEC_TRY(geodec_artifact_write(a, "/curve", curve, err));
    if (t->penalty.weight > 0) {
        GEODEC_TRY(geodec_artifact_write(a, "/curve_penalty", penalty, err));
        GEODEC_TRY(geodec_artifact_put_f64(a, "penalty_sum", t->penalty_sum, err));
    }
    GEODEC_TRY(geodec_artifact_put_i64(a, "step", t->done, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "loss_sum", t->loss_sum, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "loss_steps", t->loss_steps, err));
    GEODEC_TRY(geodec_artifact_put_str(a, "recipe", t->recipe, err));
    geodec_artifact *whole = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(whole, err));
done:
    geodec_artifact_close(a);
    geodec_mem_free(curve);
    geodec_mem_free(penalty);
    return st;
}

/* Replaces the state by what was read; nothing can fail from here on but memory for the curve. */
static geodec_status take_state(geodec_trainer *t, const geodec_artifact *a, const float *params, const float *m,
                                const float *v, const double *curve, const double *penalty, int64_t rows,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t step, loss_steps;
    double loss_sum, penalty_sum = 0;
    GEODEC_TRY(geodec_artifact_get_i64(a, "step", &step, err));
    GEODEC_TRY(geodec_artifact_get_i64(a, "loss_steps", &loss_steps, err));
    GEODEC_TRY(geodec_artifact_get_f64(a, "loss_sum", &loss_sum, err));
    if (geodec_artifact_has_attr(a, "penalty_sum"))
        GEODEC_TRY(geodec_artifact_get_f64(a, "penalty_sum", &penalty_sum, err));
    if (step < 0 || step > t->o.steps)
        GEODEC_THROW(GEODEC_FORMAT, "%s: step %lld is outside 0 to %lld", geodec_artifact_path(a), (long long)step,
                     (long long)t->o.steps);
    t->n_rows = 0;
    for (int64_t i = 0; i < rows; i++) {
        const double *c = curve + COLUMNS * i;
        const geodec_curve_row r = {(int64_t)c[0], (int64_t)c[1], c[2], c[3],
                                    c[4],          c[5],          c[6], penalty ? penalty[i] : 0};
        GEODEC_TRY(geodec__trainer_add_row(t, &r, err));
    }
    const size_t bytes = (size_t)t->layout->total * sizeof(float);
    memcpy(t->params, params, bytes);
    memcpy(t->m, m, bytes);
    memcpy(t->v, v, bytes);
    t->done = step;
    t->loss_steps = loss_steps;
    t->loss_sum = loss_sum;
    t->penalty_sum = penalty_sum;
done:
    return st;
}

geodec_status geodec_trainer_load(geodec_trainer *t, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    float *params = NULL, *m = NULL, *v = NULL;
    double *curve = NULL, *penalty = NULL;
    const char *recipe;
    int64_t total, rows;
    GEODEC_TRY(geodec_artifact_open(&geodec_kind_checkpoint, path, &a, err));
    GEODEC_TRY(geodec_artifact_get_str(a, "recipe", &recipe, err));
    if (strcmp(recipe, t->recipe) != 0)
        GEODEC_THROW(GEODEC_CHECKSUM,
                     "%s belongs to a run with other texts, shape or options; remove it or name another", path);
    GEODEC_TRY(geodec_artifact_dim(a, "P", &total, err));
    GEODEC_TRY(geodec_artifact_dim(a, "C", &rows, err));
    if (total != t->layout->total) GEODEC_THROW(GEODEC_FORMAT, "%s: %lld parameters", path, (long long)total);
    GEODEC_TRY(geodec_artifact_read(a, "/params", &params, err));
    GEODEC_TRY(geodec_artifact_read(a, "/adam_m", &m, err));
    GEODEC_TRY(geodec_artifact_read(a, "/adam_v", &v, err));
    GEODEC_TRY(geodec_artifact_read(a, "/curve", &curve, err));
    if (geodec_artifact_has(a, "/curve_penalty")) GEODEC_TRY(geodec_artifact_read(a, "/curve_penalty", &penalty, err));
    GEODEC_TRY(take_state(t, a, params, m, v, curve, penalty, rows, err));
done:
    geodec_artifact_close(a);
    geodec_mem_free(params);
    geodec_mem_free(m);
    geodec_mem_free(v);
    geodec_mem_free(curve);
    geodec_mem_free(penalty);
    return st;
}

/* ---- loss curve -------------------------------------------------------------------------------------------------- */

static const geodec_field curve_fields[] = {
    {"/step", GEODEC_I64, "C", 0, "1", "optimiser steps done", 0},
    {"/tokens", GEODEC_I64, "C", 0, "1", "training tokens seen", 0},
    {"/train_loss", GEODEC_F64, "C", 0, "nat", "training loss a token, mean over the steps since the last row", 0},
    {"/held_out_loss", GEODEC_F64, "C", 0, "nat", "held-out loss a token", 0},
    {"/held_out_bits_per_byte", GEODEC_F64, "C", 0, "bit", "held-out loss a byte of text", 0},
    {"/learning_rate", GEODEC_F64, "C", 0, "1", "learning rate of the last step", 0},
    {"/grad_norm", GEODEC_F64, "C", 0, "1", "norm of the gradient before clipping", 0},
    {"/penalty", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "1",
     "further term of the loss a token without its weight, mean over the steps since the last row", 1},
};
static const geodec_attr curve_attrs[] = {
    {"floor_bits_per_byte", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "exact entropy of the text's source: no model is below"},
    {"final_held_out_loss", GEODEC_ATTR_F64, 0, "loss of the finished model on all held-out text, nats a token"},
    {"final_held_out_bits_per_byte", GEODEC_ATTR_F64, 0, "the same in bits a byte"},
    {"penalty_weight", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "weight of the further term of the loss"},
    {"penalty_recipe", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "what that term is"},
    {"n_params", GEODEC_ATTR_I64, 0, "parameters of the model"},
    {"held_out_tokens", GEODEC_ATTR_I64, 0,
     "targets in the held-out text; a row scores the first of them (--eval-tokens)"},
    {"held_out_bytes", GEODEC_ATTR_I64, 0, "bytes of held-out text"},
};
const geodec_kind geodec_kind_losscurve = {
    .name = "losscurve",
    .major = 1,
    .minor = 1,
    .tool = "geodec-train",
    .purpose = "training and held-out loss by step",
    .fields = curve_fields,
    .n_fields = COUNT(curve_fields),
    .attrs = curve_attrs,
    .n_attrs = COUNT(curve_attrs),
};

geodec_status geodec_trainer_write_curve(const geodec_trainer *t, const char *path, const geodec_train_summary *s,
                                         const geodec_provenance *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    int64_t *whole = NULL;
    double *real = NULL;
    const int64_t n = t->n_rows;
    GEODEC_NEW(whole, 2 * n);
    GEODEC_NEW(real, 6 * n);
    for (int64_t i = 0; i < n; i++) {
        const geodec_curve_row *r = &t->row[i];
        whole[i] = r->step;
        whole[n + i] = r->tokens;
        real[i] = r->train;
        real[n + i] = r->held_out;
        real[2 * n + i] = r->held_out_bytes;
        real[3 * n + i] = r->lr;
        real[4 * n + i] = r->grad_norm;
        real[5 * n + i] = r->penalty;
    }
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_losscurve, path, p, &a, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "C", n, err));
    for (int i = 0; i < 2; i++) GEODEC_TRY(geodec_artifact_write(a, curve_fields[i].path, whole + i * n, err));
    const bool penalised = t->penalty.weight > 0;
    for (int i = 0; i < (penalised ? 6 : 5); i++)
        GEODEC_TRY(geodec_artifact_write(a, curve_fields[2 + i].path, real + i * n, err));
    if (penalised) {
        GEODEC_TRY(geodec_artifact_put_f64(a, "penalty_weight", t->penalty.weight, err));
        GEODEC_TRY(geodec_artifact_put_str(a, "penalty_recipe", t->penalty.recipe, err));
    }
    GEODEC_TRY(geodec_artifact_put_f64(a, "final_held_out_loss", s->held_out, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "final_held_out_bits_per_byte", s->held_out_bytes, err));
    if (isfinite(s->floor_bytes)) GEODEC_TRY(geodec_artifact_put_f64(a, "floor_bits_per_byte", s->floor_bytes, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "n_params", t->layout->total, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "held_out_tokens", t->n_targets, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "held_out_bytes", t->held_out->n_bytes, err));
    geodec_artifact *complete = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(complete, err));
done:
    geodec_artifact_close(a);
    geodec_mem_free(whole);
    geodec_mem_free(real);
    return st;
}
