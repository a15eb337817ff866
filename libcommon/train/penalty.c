#include "base/mem.h"
#include "train/trainer_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

geodec_status geodec_trainer_set_penalty(geodec_trainer *t, const geodec_train_penalty *penalty, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!(penalty->weight > 0) || !isfinite(penalty->weight) || penalty->refresh < 1 || penalty->probe < 1)
        GEODEC_THROW(GEODEC_RANGE, "penalty of weight %g, refreshed every %lld steps from %lld windows",
                     penalty->weight, (long long)penalty->refresh, (long long)penalty->probe);
    if (t->done > 0) GEODEC_THROW(GEODEC_INVAL, "a penalty is set before the first step");
    const size_t used = strlen(t->recipe);
    const int n = snprintf(t->recipe + used, sizeof t->recipe - used, " penalty=%.17g/%lld/%lld %s", penalty->weight,
                           (long long)penalty->refresh, (long long)penalty->probe, penalty->recipe);
    if (n < 0 || (size_t)n >= sizeof t->recipe - used) {
        t->recipe[used] = 0;
        GEODEC_THROW(GEODEC_LIMIT, "the penalty's recipe is too long");
    }
    t->penalty = *penalty;
done:
    return st;
}

geodec_status geodec__penalty_prepare(geodec_trainer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *state = NULL;
    if (!(t->penalty.weight > 0) || (t->prepared >= 0 && t->done % t->penalty.refresh != 0) || t->prepared == t->done)
        goto done;
    const int64_t len = t->o.length, d = t->layout->config.d_model;
    const int64_t windows = t->penalty.probe < t->n_windows ? t->penalty.probe : t->n_windows, rows = windows * len;
    const int32_t boundaries = t->layout->config.n_layer + 1;
    GEODEC_NEW(state, boundaries * rows * d);
    GEODEC_TRY(geodec__trainer_work(t, 0, err));
    for (int64_t w = 0; w < windows; w += t->group) {
        const int64_t n = windows - w < t->group ? windows - w : t->group;
        GEODEC_TRY(geodec_net_f32_forward(t->net, t->params, n, len, t->window_token + w * len, t->work[0], err));
        for (int32_t l = 0; l < boundaries; l++)
            memcpy(state + (l * rows + w * len) * d, geodec_net_f32_state(t->net, t->work[0], l),
                   (size_t)(n * len * d) * sizeof *state);
    }
    GEODEC_TRY(t->penalty.prepare(t->penalty.ctx, t->done, boundaries, rows, d, state, err));
    t->prepared = t->done;
done:
    geodec_mem_free(state);
    return st;
}

geodec_status geodec__penalty_apply(geodec_trainer *t, int worker, int64_t n, float *cotangent, double *sum,
                                    geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t len = t->o.length, d = t->layout->config.d_model;
    const int32_t boundaries = t->layout->config.n_layer + 1;
    const float **state = NULL;
    double value = 0;
    GEODEC_NEW(state, boundaries);
    for (int32_t l = 0; l < boundaries; l++) state[l] = geodec_net_f32_state(t->net, t->work[worker], l);
    memset(cotangent, 0, (size_t)(boundaries * n * len * d) * sizeof *cotangent);
    GEODEC_TRY(t->penalty.apply(t->penalty.ctx, boundaries, n, len, d, state,
                                t->penalty.weight / (double)(t->o.batch * len), cotangent, &value, err));
    *sum += value;
done:
    geodec_mem_free(state);
    return st;
}
