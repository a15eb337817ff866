#include "train/trainer.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/tasks.h"
#include "train/ternary.h"
#include "train/trainer_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GROUP_TOKENS = 512, PIECE = 32768 };

double geodec_train_rate(const geodec_train_options *o, int64_t step)
{
    if (step < o->warmup) return o->lr * (double)(step + 1) / (double)o->warmup;
    const int64_t span = o->steps - 1 - o->warmup;
    const double x = span > 0 ? (double)(step - o->warmup) / (double)span : 0;
    switch (o->schedule) {
    case GEODEC_SCHEDULE_COSINE:
        return o->lr * (o->lr_final + (1 - o->lr_final) * 0.5 * (1 + cos(3.14159265358979323846 * x)));
    case GEODEC_SCHEDULE_LINEAR:
        return o->lr * (1 - (1 - o->lr_final) * x);
    case GEODEC_SCHEDULE_CONSTANT:
        break;
    }
    return o->lr;
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

static geodec_status check(const geodec_layout *l, const geodec_train_options *o, const geodec_text *train,
                           const geodec_text *held_out, geodec_err *err)
{
    if (o->length < 1 || o->length > l->config.n_ctx)
        GEODEC_FAIL(GEODEC_RANGE, "sequences of %lld tokens; the context has %d", (long long)o->length,
                    l->config.n_ctx);
    if (o->steps < 1 || o->batch < 1 || o->batch > 65536 || o->eval_every < 1 || o->warmup < 0 || o->eval_tokens < 0)
        GEODEC_FAIL(GEODEC_RANGE, "steps, batch, eval_every, warmup or eval_tokens is out of range");
    if (!(o->lr > 0) || !(o->clip >= 0) || !(o->decay >= 0) || !(o->lr_final >= 0) || !(o->lr_final <= 1) ||
        !(o->balance >= 0) || !(o->router_clip >= 0) || !(o->neighbours >= 0) || !(o->beta1 >= 0 && o->beta1 < 1) ||
        !(o->beta2 >= 0 && o->beta2 < 1))
        GEODEC_FAIL(GEODEC_RANGE, "a rate of the optimiser is out of range");
    for (int which = 0; which < 2; which++) {
        const geodec_text *x = which ? held_out : train;
        for (int64_t i = 0; i < x->n_tokens; i++)
            if (x->token[i] < 0 || x->token[i] >= l->config.n_vocab)
                GEODEC_FAIL(GEODEC_RANGE, "token id %d does not fit a vocabulary of %d", x->token[i],
                            l->config.n_vocab);
    }
    return GEODEC_OK;
}

static geodec_status cut_pieces(geodec_trainer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t n = 0;
    for (int64_t i = 0; i < t->layout->n_params; i++) n += (t->layout->param[i].size + PIECE - 1) / PIECE;
    GEODEC_NEW_EACH(n, t->piece, t->piece_squares);
    for (int64_t i = 0; i < t->layout->n_params; i++) {
        const geodec_param *p = &t->layout->param[i];
        const bool decays =
            p->role != GEODEC_PARAM_NORM && p->role != GEODEC_PARAM_BIAS && p->role != GEODEC_PARAM_FIXED;
        const bool router = t->layout->config.recur_period > 0 && strstr(p->name, "ffn_gate_inp") != NULL;
        for (int64_t at = 0; at < p->size; at += PIECE)
            t->piece[t->n_pieces++] = (geodec__piece){
                p->offset + at, p->offset + (at + PIECE < p->size ? at + PIECE : p->size), decays, router};
    }
done:
    return st;
}

static geodec_status cut_windows(geodec_trainer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t len = t->o.length;
    int64_t cursor = 0;
    int32_t *unused = NULL; /* tokens of a window that is only counted */
    GEODEC_NEW(unused, 2 * len);
    while (geodec_text_next_window(t->held_out, &cursor, len, unused, unused + len) > 0) t->n_windows++;
    if (t->n_windows == 0) GEODEC_THROW(GEODEC_FORMAT, "the held-out text has nothing to predict");
    GEODEC_NEW_EACH(t->n_windows * len, t->window_token, t->window_target);
    GEODEC_NEW_EACH(t->n_windows, t->window_count, t->window_loss);
    cursor = 0;
    for (int64_t w = 0; w < t->n_windows; w++) {
        t->window_count[w] =
            geodec_text_next_window(t->held_out, &cursor, len, t->window_token + w * len, t->window_target + w * len);
        t->n_targets += t->window_count[w];
    }
done:
    geodec_mem_free(unused);
    return st;
}

/* All values that determine the result, as text. */
static void write_recipe(geodec_trainer *t)
{
    const geodec_model_config *c = &t->layout->config;
    const geodec_train_options *o = &t->o;
    char train[GEODEC_SHA256_HEX], held_out[GEODEC_SHA256_HEX], first[GEODEC_SHA256_HEX];
    geodec_sha256_of(t->train->token, (size_t)t->train->n_tokens * sizeof(int32_t), train);
    geodec_sha256_of(t->held_out->token, (size_t)t->held_out->n_tokens * sizeof(int32_t), held_out);
    geodec_sha256_of(t->params, (size_t)t->layout->total * sizeof(float), first);
    (void)snprintf(
        t->recipe, sizeof t->recipe,
        "layers=%d d_model=%d heads=%d kv_heads=%d head_dim=%d rope_dim=%d ff=%d vocab=%d ctx=%d experts=%d/%d "
        "eps=%.9g base=%.17g tied=%d steps=%lld batch=%lld length=%lld lr=%.17g final=%.17g warmup=%lld schedule=%d "
        "clip=%.17g decay=%.17g beta1=%.17g beta2=%.17g balance=%.17g seed=%llu eval_every=%lld eval_tokens=%lld "
        "train=%s held_out=%s first=%s",
        c->n_layer, c->d_model, c->n_head, c->n_kv_head, c->head_dim, c->rope_dim, c->d_ff, c->n_vocab, c->n_ctx,
        c->n_expert_used, c->n_expert, (double)c->rms_eps, c->rope_base, c->tied, (long long)o->steps,
        (long long)o->batch, (long long)o->length, o->lr, o->lr_final, (long long)o->warmup, (int)o->schedule, o->clip,
        o->decay, o->beta1, o->beta2, o->balance, (unsigned long long)o->seed, (long long)o->eval_every,
        (long long)o->eval_tokens, train, held_out, first);
    if (c->recur_period == 0) return;
    const size_t used = strlen(t->recipe);
    (void)snprintf(
        t->recipe + used, sizeof t->recipe - used,
        " rank=%d period=%d least=%.9g window=%d dense=%d scale=%.9g route=%d/%d router_clip=%.17g ternary=%d "
        "neighbours=%.17g",
        c->recur_rank, c->recur_period, (double)c->recur_log_decay_min, c->window, c->d_ff_dense,
        (double)c->embed_scale, (int)c->route, c->route_before, o->router_clip, o->ternary, o->neighbours);
}

static geodec_status prepare_experts(geodec_trainer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &t->layout->config;
    if ((t->o.ternary || t->o.neighbours > 0) && (c->recur_period == 0 || c->n_expert == 0))
        GEODEC_THROW(GEODEC_INVAL, "ternary experts and their differences need a PERSPECTIVE model with experts");
    if (t->o.ternary) GEODEC_NEW(t->effective, t->layout->total);
    if (t->o.neighbours > 0) {
        if (c->expert_lattice[0] == 0) GEODEC_THROW(GEODEC_INVAL, "experts without a lattice have no neighbours");
        t->n_edges = geodec_torus_edges(c->expert_lattice, NULL);
        GEODEC_NEW(t->edge, t->n_edges);
        (void)geodec_torus_edges(c->expert_lattice, t->edge);
    }
done:
    return st;
}

geodec_status geodec_trainer_create(const geodec_layout *layout, const geodec_train_options *o, const float *params,
                                    const geodec_text *train, const geodec_text *held_out, geodec_pool *pool,
                                    geodec_trainer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trainer *t = NULL;
    GEODEC_TRY(check(layout, o, train, held_out, err));
    GEODEC_NEW(t, 1);
    t->layout = layout;
    t->o = *o;
    t->train = train;
    t->held_out = held_out;
    t->pool = pool;
    t->prepared = -1;
    t->threads = geodec_pool_threads(pool);
    t->ops = geodec__ops_f32(o->isa);
    GEODEC_TRY(geodec_net_f32_create(layout, o->balance, o->isa, &t->net, err));
    GEODEC_NEW(t->work, t->threads);
    GEODEC_NEW(t->params, layout->total);
    memcpy(t->params, params, (size_t)layout->total * sizeof *params);
    GEODEC_NEW_EACH(layout->total, t->m, t->v);
    t->lanes = o->batch < GEODEC_TRAIN_LANES ? o->batch : GEODEC_TRAIN_LANES;
    t->group = o->length < GROUP_TOKENS ? GROUP_TOKENS / o->length : 1;
    for (int64_t i = 0; i < t->lanes; i++) GEODEC_NEW(t->grad[i], layout->total);
    GEODEC_TRY(prepare_experts(t, err));
    GEODEC_TRY(cut_pieces(t, err));
    GEODEC_TRY(cut_windows(t, err));
    write_recipe(t);
    GEODEC_MOVE(*out, t);
done:
    geodec_trainer_destroy(t);
    return st;
}

void geodec_trainer_destroy(geodec_trainer *t)
{
    if (!t) return;
    for (int i = 0; t->work && i < t->threads; i++) geodec_net_f32_work_destroy(t->work[i]);
    for (int i = 0; i < GEODEC_TRAIN_LANES; i++) geodec_mem_free(t->grad[i]);
    geodec_net_f32_destroy(t->net);
    void *owned[] = {
        t->work,          t->params,       t->m,           t->v,   t->piece,     t->piece_squares, t->window_token,
        t->window_target, t->window_count, t->window_loss, t->row, t->effective, t->edge};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) geodec_mem_free(owned[i]);
    geodec_mem_free(t);
}

int64_t geodec_trainer_done(const geodec_trainer *t) { return t->done; }
const float *geodec_trainer_params(const geodec_trainer *t) { return t->params; }
const float *geodec_trainer_effective(geodec_trainer *t)
{
    if (!t->effective) return t->params;
    memcpy(t->effective, t->params, (size_t)t->layout->total * sizeof *t->params);
    geodec_ternary_experts(t->layout, t->params, t->effective, t->pool);
    return t->effective;
}
static const float *in_use(const geodec_trainer *t) { return t->effective ? t->effective : t->params; }
const geodec_curve_row *geodec_trainer_curve(const geodec_trainer *t, int64_t *n)
{
    *n = t->n_rows;
    return t->row;
}

/* ---- the penalty ------------------------------------------------------------------------------------------------ */

geodec_status geodec_trainer_set_penalty(geodec_trainer *t, const geodec_train_penalty *penalty, geodec_err *err)
{
    if (!(penalty->weight > 0) || !isfinite(penalty->weight) || penalty->refresh < 1 || penalty->probe < 1)
        GEODEC_FAIL(GEODEC_RANGE, "penalty of weight %g, refreshed every %lld steps from %lld windows", penalty->weight,
                    (long long)penalty->refresh, (long long)penalty->probe);
    if (t->done > 0) GEODEC_FAIL(GEODEC_INVAL, "a penalty is set before the first step");
    const size_t used = strlen(t->recipe);
    const int n = snprintf(t->recipe + used, sizeof t->recipe - used, " penalty=%.17g/%lld/%lld %s", penalty->weight,
                           (long long)penalty->refresh, (long long)penalty->probe, penalty->recipe);
    if (n < 0 || (size_t)n >= sizeof t->recipe - used) {
        t->recipe[used] = 0;
        GEODEC_FAIL(GEODEC_LIMIT, "the penalty's recipe is too long");
    }
    t->penalty = *penalty;
    return GEODEC_OK;
}

static geodec_status work_of(geodec_trainer *t, int worker, geodec_err *err)
{
    if (t->work[worker]) return GEODEC_OK;
    return geodec_net_f32_work_create(t->net, t->group, t->o.length, &t->work[worker], err);
}

/* Before a step: computes the probe's states for the penalty if its refresh is due. */
static geodec_status penalty_prepare(geodec_trainer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *state = NULL;
    if (!(t->penalty.weight > 0) || (t->prepared >= 0 && t->done % t->penalty.refresh != 0) || t->prepared == t->done)
        goto done;
    const int64_t len = t->o.length, d = t->layout->config.d_model;
    const int64_t windows = t->penalty.probe < t->n_windows ? t->penalty.probe : t->n_windows, rows = windows * len;
    const int32_t boundaries = t->layout->config.n_layer + 1;
    GEODEC_NEW(state, boundaries * rows * d);
    GEODEC_TRY(work_of(t, 0, err));
    for (int64_t w = 0; w < windows; w += t->group) {
        const int64_t n = windows - w < t->group ? windows - w : t->group;
        GEODEC_TRY(geodec_net_f32_forward(t->net, in_use(t), n, len, t->window_token + w * len, t->work[0], err));
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

/* The penalty on the last forward pass of a worker: writes its derivative to cotangent [n_layer + 1][n len][d_model]
 * and adds its value to *sum. */
static geodec_status penalty_apply(geodec_trainer *t, int worker, int64_t n, float *cotangent, double *sum,
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

/* ---- one step ---------------------------------------------------------------------------------------------------- */

static geodec_status run_lane(void *ctx, int64_t lane, int worker, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trainer *t = ctx;
    const int64_t len = t->o.length, first = t->o.batch * lane / t->lanes, last = t->o.batch * (lane + 1) / t->lanes;
    const float scale = 1.0f / (float)(t->o.batch * len);
    int32_t *token = NULL, *target;
    float *loss = NULL, *cotangent = NULL;
    double total = 0;
    t->lane_penalty[lane] = 0;
    if (t->penalty.weight > 0)
        GEODEC_NEW(cotangent, (t->layout->config.n_layer + 1) * t->group * len * t->layout->config.d_model);
    GEODEC_NEW(token, 2 * t->group * len);
    target = token + t->group * len;
    GEODEC_NEW(loss, t->group * len);
    GEODEC_TRY(work_of(t, worker, err));
    memset(t->grad[lane], 0, (size_t)t->layout->total * sizeof(float));
    for (int64_t s = first; s < last; s += t->group) {
        const int64_t n = last - s < t->group ? last - s : t->group;
        for (int64_t i = 0; i < n; i++)
            geodec_text_sample(t->train, t->o.seed, t->done, s + i, len, token + i * len, target + i * len);
        GEODEC_TRY(geodec_net_f32_forward(t->net, in_use(t), n, len, token, t->work[worker], err));
        geodec_net_f32_loss(t->net, in_use(t), t->work[worker], target, scale, t->grad[lane], loss, NULL);
        if (cotangent) GEODEC_TRY(penalty_apply(t, worker, n, cotangent, &t->lane_penalty[lane], err));
        (void)geodec_net_f32_backward(t->net, in_use(t), t->work[worker], 0, t->grad[lane], cotangent, NULL);
        for (int64_t i = 0; i < n * len; i++) total += (double)loss[i];
    }
    t->lane_loss[lane] = total;
done:
    GEODEC_FREE(token, loss, cotangent);
    return st;
}

/* Adds the lanes in order and computes the norm of the sum. */
static void sum_task(void *ctx, int64_t i, int worker)
{
    (void)worker;
    geodec_trainer *t = ctx;
    const int64_t begin = t->piece[i].begin, n = t->piece[i].end - begin;
    for (int64_t lane = 1; lane < t->lanes; lane++) t->ops->axpy(n, 1, t->grad[lane] + begin, t->grad[0] + begin);
    t->piece_squares[i] = t->ops->sum_squares(n, t->grad[0] + begin);
}

static void adam_task(void *ctx, int64_t i, int worker)
{
    (void)worker;
    geodec_trainer *t = ctx;
    const int64_t begin = t->piece[i].begin, n = t->piece[i].end - begin;
    geodec_adamw a = t->adam;
    if (!t->piece[i].decays) a.decay = 0;
    if (t->piece[i].router) a.grad_scale = t->router_scale;
    t->ops->adamw(n, &a, t->grad[0] + begin, t->m + begin, t->v + begin, t->params + begin);
}

geodec_status geodec_trainer_step(geodec_trainer *t, geodec_err *err)
{
    double loss = 0, squares = 0, router = 0, penalty = 0;
    (void)geodec_trainer_effective(t);
    GEODEC_PASS(penalty_prepare(t, err));
    GEODEC_PASS(geodec__tasks_run_workers(t->pool, NULL, "lane", t->lanes, run_lane, t, err));
    for (int64_t i = 0; i < t->lanes; i++) {
        loss += t->lane_loss[i];
        penalty += t->lane_penalty[i];
    }
    loss /= (double)(t->o.batch * t->o.length);
    penalty /= (double)(t->o.batch * t->o.length);
    if (t->o.neighbours > 0)
        penalty += geodec_ternary_neighbours(t->layout, t->params, t->n_edges, (const int32_t(*)[2])t->edge,
                                             t->o.neighbours, t->grad[0]) /
                   t->o.neighbours;
    geodec_pool_run(t->pool, t->n_pieces, sum_task, t);
    for (int64_t i = 0; i < t->n_pieces; i++) *(t->piece[i].router ? &router : &squares) += t->piece_squares[i];
    if (!isfinite(loss) || !isfinite(squares) || !isfinite(router))
        GEODEC_FAIL(GEODEC_NUMERIC, "the loss is no longer finite at step %lld; a lower learning rate may help",
                    (long long)t->done);
    t->grad_norm = sqrt(squares);
    const double k = (double)(t->done + 1);
    t->adam = (geodec_adamw){.lr = geodec_train_rate(&t->o, t->done),
                             .decay = t->o.decay,
                             .beta1 = t->o.beta1,
                             .beta2 = t->o.beta2,
                             .eps = 1e-8,
                             .correct1 = 1 / (1 - pow(t->o.beta1, k)),
                             .correct2 = 1 / (1 - pow(t->o.beta2, k)),
                             .grad_scale = t->o.clip > 0 && t->grad_norm > t->o.clip ? t->o.clip / t->grad_norm : 1};
    t->router_scale = t->o.router_clip > 0 && sqrt(router) > t->o.router_clip ? t->o.router_clip / sqrt(router) : 1;
    geodec_pool_run(t->pool, t->n_pieces, adam_task, t);
    t->done++;
    t->last_loss = loss;
    t->loss_sum += loss;
    t->penalty_sum += penalty;
    t->loss_steps++;
    return GEODEC_OK;
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

typedef struct eval_job {
    geodec_trainer *t;
    int64_t n_windows;
    int64_t tasks; /* <= GEODEC_TRAIN_LANES */
} eval_job;

static geodec_status eval_task(void *ctx, int64_t task, int worker, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const eval_job *j = ctx;
    geodec_trainer *t = j->t;
    const int64_t first = j->n_windows * task / j->tasks, last = j->n_windows * (task + 1) / j->tasks;
    const int64_t len = t->o.length;
    float *loss = NULL;
    GEODEC_NEW(loss, t->group * len);
    GEODEC_TRY(work_of(t, worker, err));
    for (int64_t w = first; w < last; w += t->group) {
        const int64_t n = last - w < t->group ? last - w : t->group;
        GEODEC_TRY(geodec_net_f32_forward(t->net, in_use(t), n, len, t->window_token + w * len, t->work[worker], err));
        geodec_net_f32_loss(t->net, in_use(t), t->work[worker], t->window_target + w * len, 1, NULL, loss, NULL);
        for (int64_t i = 0; i < n; i++) {
            double s = 0;
            for (int64_t k = 0; k < len; k++) s += (double)loss[i * len + k];
            t->window_loss[w + i] = s;
        }
    }
done:
    geodec_mem_free(loss);
    return st;
}

geodec_status geodec_trainer_evaluate(geodec_trainer *t, int64_t n_tokens, double *nats_per_token,
                                      double *bits_per_byte, geodec_err *err)
{
    int64_t n = 0, targets = 0;
    double total = 0;
    (void)geodec_trainer_effective(t);
    while (n < t->n_windows && (n_tokens == 0 || targets < n_tokens)) targets += t->window_count[n++];
    eval_job j = {t, n, n < GEODEC_TRAIN_LANES ? n : GEODEC_TRAIN_LANES};
    GEODEC_PASS(geodec__tasks_run_workers(t->pool, NULL, "part of the held-out text", j.tasks, eval_task, &j, err));
    for (int64_t w = 0; w < n; w++) total += t->window_loss[w];
    const double bytes = (double)t->held_out->n_bytes * (double)targets / (double)t->n_targets;
    *nats_per_token = total / (double)targets;
    *bits_per_byte = total / 0.69314718055994530942 / bytes;
    return GEODEC_OK;
}

/* ---- the whole run ----------------------------------------------------------------------------------------------- */

geodec_status geodec__trainer_add_row(geodec_trainer *t, const geodec_curve_row *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_GROW(t->row, t->n_rows, t->room_rows, 1);
    t->row[t->n_rows++] = *row;
done:
    return st;
}

static geodec_status measure(geodec_trainer *t, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_curve_row r = {.step = t->done,
                          .tokens = t->done * t->o.batch * t->o.length,
                          .train = t->loss_sum / (double)t->loss_steps,
                          .lr = t->adam.lr,
                          .grad_norm = t->grad_norm,
                          .penalty = t->penalty_sum / (double)t->loss_steps};
    GEODEC_PASS(geodec_trainer_evaluate(t, t->o.eval_tokens, &r.held_out, &r.held_out_bytes, err));
    GEODEC_PASS(geodec__trainer_add_row(t, &r, err));
    t->loss_sum = 0;
    t->penalty_sum = 0;
    t->loss_steps = 0;
    geodec_hooks_log(hooks, GEODEC_LOG_INFO, "step %lld  train %.4f  held-out %.4f nats/token  %.4f bits/byte  lr %.2e",
                     (long long)t->done, r.train, r.held_out, r.held_out_bytes, r.lr);
    return GEODEC_OK;
}

/* A checkpoint does not hold the result of a penalty's last refresh, so it is written only at refreshes. */
static bool may_save(const geodec_trainer *t)
{
    return !(t->penalty.weight > 0) || t->done == t->o.steps || t->done % t->penalty.refresh == 0;
}

geodec_status geodec_trainer_run(geodec_trainer *t, const char *checkpoint, int64_t checkpoint_every,
                                 const geodec_provenance *p, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const double begin = geodec_clock_seconds();
    const int64_t first = t->done;
    int64_t saved = first - first % (checkpoint_every > 0 ? checkpoint_every : 1);
    while (t->done < t->o.steps) {
        char what[160];
        const double seconds = geodec_clock_seconds() - begin;
        const double rate = t->done > first && seconds > 0 ? (double)(t->done - first) / seconds : 0;
        (void)snprintf(what, sizeof what, "training: loss %.3f, %.0f tokens/s, %.0f s left; step", t->last_loss,
                       rate * (double)(t->o.batch * t->o.length), rate > 0 ? (double)(t->o.steps - t->done) / rate : 0);
        st = geodec_hooks_progress(hooks, what, t->done, t->o.steps, err);
        if (st != GEODEC_OK) {
            if (checkpoint && may_save(t)) GEODEC_TRY(geodec_trainer_save(t, checkpoint, p, err));
            GEODEC_THROW(GEODEC_INTERRUPTED, "stopped at step %lld of %lld%s%s", (long long)t->done,
                         (long long)t->o.steps, checkpoint ? "; --resume continues from " : "",
                         checkpoint ? checkpoint : "");
        }
        GEODEC_TRY(geodec_trainer_step(t, err));
        if (t->done % t->o.eval_every == 0 || t->done == t->o.steps) GEODEC_TRY(measure(t, hooks, err));
        if (checkpoint && (t->done == t->o.steps || (checkpoint_every > 0 && t->done - saved >= checkpoint_every)) &&
            may_save(t)) {
            saved = t->done;
            GEODEC_TRY(geodec_trainer_save(t, checkpoint, p, err));
        }
    }
done:
    return st;
}
