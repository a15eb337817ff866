/* Training: AdamW on next-token cross-entropy, with a learning-rate schedule, gradient clipping, held-out evaluation,
 * checkpoints and a loss curve.
 *
 * Determinism. A batch is divided into GEODEC_TRAIN_LANES lanes, for any number of threads. A lane runs its sequences
 * in order and adds them to its own gradient, and the gradients are added in the order of the lanes. The result
 * therefore depends on the recipe alone (and in the last bits on the instruction set). A run that is stopped and
 * resumed passes through the same states. */
#ifndef GEODEC_TRAIN_TRAINER_H
#define GEODEC_TRAIN_TRAINER_H

#include "artifact/artifact.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "train/layout.h"
#include "train/text.h"

#include <stdint.h>

enum { GEODEC_TRAIN_LANES = 8 };

typedef enum geodec_schedule {
    GEODEC_SCHEDULE_COSINE,
    GEODEC_SCHEDULE_LINEAR,
    GEODEC_SCHEDULE_CONSTANT
} geodec_schedule;

typedef struct geodec_train_options {
    int64_t steps;   /* optimiser steps */
    int64_t batch;   /* sequences a step */
    int64_t length;  /* tokens of a sequence, 1 .. n_ctx */
    double lr;       /* highest learning rate */
    double lr_final; /* rate at the last step, as a fraction of lr */
    int64_t warmup;  /* steps from 0 to lr, linear */
    geodec_schedule schedule;
    double clip;         /* largest gradient norm; 0 = none */
    double decay;        /* weight decay of matrices (norms have none) */
    double beta1, beta2; /* decay rates of Adam's averages */
    double balance;      /* weight of the load-balance term of experts */
    double router_clip;  /* largest gradient norm of the routers of a torus, apart from `clip`; 0 = none */
    bool ternary;        /* experts are ternary in every pass (ternary.h) */
    double neighbours;   /* weight of the difference of neighbouring experts (ternary.h) */
    uint64_t seed;
    int64_t eval_every;  /* steps between rows of the curve */
    int64_t eval_tokens; /* held-out tokens scored for each row; 0 = all */
    geodec_isa isa;
} geodec_train_options;

/* A further term of the loss: weight times the mean over the batch's tokens of a function of a token's residual stream.
 *
 * prepare receives the states of the first `probe` held-out windows, [boundaries][rows][d_model] with boundaries =
 * n_layer + 1, before step 0 and every `refresh` steps; its result holds until the next call. apply adds scale d value
 * / d state to cotangent [boundaries][rows][d_model] for rows = n_seq len states in order of sequence, and returns the
 * sum of the values. Several threads call it at the same time; its result may depend only on its arguments. */
typedef struct geodec_train_penalty {
    double weight;
    int64_t refresh, probe; /* >= 1 */
    const char *recipe;     /* identifies the penalty in the checkpoint's recipe */
    void *ctx;
    geodec_status (*prepare)(void *ctx, int64_t step, int32_t boundaries, int64_t rows, int64_t d, const float *state,
                             geodec_err *err);
    geodec_status (*apply)(void *ctx, int32_t boundaries, int64_t n_seq, int64_t len, int64_t d,
                           const float *const *state, double scale, float *cotangent, double *value, geodec_err *err);
} geodec_train_penalty;

/* One row of the loss curve. */
typedef struct geodec_curve_row {
    int64_t step, tokens;  /* done */
    double train;          /* nats a token, mean over the steps since the last row */
    double held_out;       /* nats a token */
    double held_out_bytes; /* bits a byte of held-out text */
    double lr, grad_norm;  /* of the last step; norm before clipping */
    double penalty;        /* mean of the penalty per token since the last row, without its weight */
} geodec_curve_row;

typedef struct geodec_trainer geodec_trainer;

/* Learning rate of step 0 .. steps-1. */
double geodec_train_rate(const geodec_train_options *o, int64_t step);

/* Borrows layout, texts and pool (NULL = one thread); copies params [layout->total] (first values). GEODEC_INVAL,
 * GEODEC_RANGE. */
geodec_status geodec_trainer_create(const geodec_layout *layout, const geodec_train_options *o, const float *params,
                                    const geodec_text *train, const geodec_text *held_out, geodec_pool *pool,
                                    geodec_trainer **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_trainer_destroy(geodec_trainer *t); /* NULL ok */

/* Before the first step or geodec_trainer_load. The penalty is copied, except recipe and ctx, which must outlive the
 * trainer. Such a run writes checkpoints only at multiples of refresh, so that a resumed run uses the same states.
 * GEODEC_RANGE. */
geodec_status geodec_trainer_set_penalty(geodec_trainer *t, const geodec_train_penalty *penalty,
                                         geodec_err *err) GEODEC_MUST_USE;

/* One optimiser step. GEODEC_NUMERIC when the loss is no longer finite. */
geodec_status geodec_trainer_step(geodec_trainer *t, geodec_err *err) GEODEC_MUST_USE;
/* Mean held-out loss over the first n_tokens targets (0 = all), and bits a byte (tokens scored / all tokens as the
 * share of bytes). */
geodec_status geodec_trainer_evaluate(geodec_trainer *t, int64_t n_tokens, double *nats_per_token,
                                      double *bits_per_byte, geodec_err *err) GEODEC_MUST_USE;

int64_t geodec_trainer_done(const geodec_trainer *t); /* steps done */
const float *geodec_trainer_params(const geodec_trainer *t);
/* What the passes use: the same, or with ternary experts. Valid until the next step. */
const float *geodec_trainer_effective(geodec_trainer *t);
const geodec_curve_row *geodec_trainer_curve(const geodec_trainer *t, int64_t *n);

/* Checkpoint artifact: parameters, Adam's averages, steps done, curve, and the recipe (shape, options, token digests,
 * first values). Load compares the recipe: GEODEC_CHECKSUM if it differs. */
extern const geodec_kind geodec_checkpoint_kind;
geodec_status geodec_trainer_save(const geodec_trainer *t, const char *path, const geodec_provenance *p,
                                  geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_trainer_load(geodec_trainer *t, const char *path, geodec_err *err) GEODEC_MUST_USE;

/* Runs to the last step; adds a row to the curve every eval_every steps and at the end. A checkpoint is written every
 * `checkpoint_every` steps, at the last step, and when the hooks ask to stop (GEODEC_INTERRUPTED follows). checkpoint
 * NULL = none. */
geodec_status geodec_trainer_run(geodec_trainer *t, const char *checkpoint, int64_t checkpoint_every,
                                 const geodec_provenance *p, const geodec_hooks *hooks,
                                 geodec_err *err) GEODEC_MUST_USE;

/* Results at the end of a run. */
typedef struct geodec_train_summary {
    double held_out, held_out_bytes; /* nats a token, bits a byte, over all of the held-out text */
    double floor_bytes;              /* entropy of the held-out text in bits a byte, NaN = unknown */
} geodec_train_summary;

/* Loss curve artifact. */
extern const geodec_kind geodec_checkpoint_losscurve_kind;
geodec_status geodec_trainer_write_curve(const geodec_trainer *t, const char *path, const geodec_train_summary *s,
                                         const geodec_provenance *p, geodec_err *err) GEODEC_MUST_USE;

#endif
