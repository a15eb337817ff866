/* Internal: the trainer's state, shared by trainer.c and checkpoint.c. */
#ifndef GEODEC_TRAIN_TRAINER_INTERNAL_H
#define GEODEC_TRAIN_TRAINER_INTERNAL_H

#include "train/net.h"
#include "train/ops_internal.h"
#include "train/trainer.h"

enum { GEODEC__RECIPE = 3072 };

/* A piece of one tensor: one task of the optimiser. */
typedef struct geodec__piece {
    int64_t begin, end;
    bool decays, router;
} geodec__piece;

struct geodec_trainer {
    const geodec_layout *layout;
    geodec_train_options o;
    const geodec_text *train, *held_out;
    geodec_pool *pool;
    const geodec_ops_f32 *ops;
    geodec_net_f32 *net;
    int threads;
    geodec_net_f32_work **work; /* [threads], created on first use */

    float *params, *m, *v; /* [total] */
    float *effective;      /* [total] with ternary experts; NULL: params */
    int32_t (*edge)[2];    /* [n_edges] neighbouring experts, with o.neighbours */
    int64_t n_edges;
    float *grad[GEODEC_TRAIN_LANES]; /* [total] each; lane 0 receives the sum */
    int64_t done;

    int64_t lanes, group; /* lanes in use; sequences of one forward call */
    double lane_loss[GEODEC_TRAIN_LANES];

    geodec__piece *piece;
    double *piece_squares;
    int64_t n_pieces;
    geodec_adamw adam;

    int64_t n_windows;                     /* of the held-out text */
    int32_t *window_token, *window_target; /* [n_windows][length] */
    int64_t *window_count;                 /* targets of a window */
    int64_t n_targets;
    double *window_loss;

    geodec_train_penalty penalty; /* weight 0 = none */
    int64_t prepared;             /* step at which it was prepared, -1 = not yet */
    double lane_penalty[GEODEC_TRAIN_LANES];

    double grad_norm, last_loss, router_scale;
    double loss_sum, penalty_sum; /* since the last row of the curve */
    int64_t loss_steps;
    geodec_curve_row *row;
    int64_t n_rows, room_rows;
    char recipe[GEODEC__RECIPE];
};

geodec_status geodec__trainer_add_row(geodec_trainer *t, const geodec_curve_row *row, geodec_err *err);

#endif
