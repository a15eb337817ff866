/* Mixtures of experts in integers: gating by softmax or sigmoids in Q30, ties to the lowest id. */
#include "integer/engine/engine_internal.h"

#include <string.h>

/* Sum of the two largest of n >= 2 values. */
static int64_t two_largest(const int32_t *x, int32_t n)
{
    int64_t first = INT32_MIN, second = INT32_MIN;
    for (int32_t i = 0; i < n; i++) {
        if (x[i] > first) {
            second = first;
            first = x[i];
        } else if (x[i] > second) {
            second = x[i];
        }
    }
    return first + second;
}

/* Closes all groups but those with the largest sums; of equals the first stay open. */
static void close_groups(const geodec_network_config *c, int32_t *score)
{
    const int32_t groups = c->n_expert_group, each = c->n_expert / groups;
    for (int32_t closed = groups - c->n_expert_group_used; closed > 0; closed--) {
        int32_t worst = -1;
        int64_t least = 0;
        for (int32_t g = 0; g < groups; g++) {
            if (score[g * each] == INT32_MIN) continue; /* closed */
            const int64_t sum = two_largest(score + g * each, each);
            if (worst < 0 || sum <= least) {
                worst = g;
                least = sum;
            }
        }
        if (worst < 0) return;
        for (int32_t i = worst * each; i < (worst + 1) * each; i++) score[i] = INT32_MIN;
    }
}

/* Gates in Q30 of logits in Q24. */
static void gates_of(const geodec_network_config *c, const int64_t *logit, int32_t *p)
{
    const int32_t n = c->n_expert;
    uint32_t *u = (uint32_t *)p;
    for (int32_t i = 0; i < n; i++) {
        const int64_t z = geodec_wide_shift(logit[i], 8), most = (int64_t)1 << 29;
        p[i] = (int32_t)(z > most ? most : z < -most ? -most : z);
    }
    if (!c->expert_sigmoid) {
        (void)geodec_fixed_softmax(p, n, u); /* in place: each z is read before its p is written */
        return;
    }
    for (int32_t i = 0; i < n; i++) p[i] = (int32_t)geodec_fixed_sigmoid(p[i]);
}

static void choose(const geodec_engine *e, const geodec_network_layer *l, const int64_t *logit, int32_t *p,
                   int32_t *score, int32_t *id, int32_t *weight)
{
    const geodec_network_config *c = e->c;
    const int32_t n = c->n_expert, k = c->n_expert_used;
    int64_t chosen = 0;
    gates_of(c, logit, p);
    for (int32_t i = 0; i < n; i++) {
        int64_t s = p[i];
        if (l->expert_bias.v)
            s += geodec_wide_limit(geodec_wide_shift(l->expert_bias.v[i], l->expert_bias.exponent - 30));
        score[i] = (int32_t)(s > INT32_MAX ? INT32_MAX : s < -INT32_MAX ? -INT32_MAX : s);
    }
    if (c->n_expert_group > 0) close_groups(c, score);
    for (int32_t j = 0; j < k; j++) {
        int32_t best = -1;
        for (int32_t i = 0; i < n; i++)
            if (score[i] != INT32_MIN && (best < 0 || score[i] > score[best])) best = i;
        if (best < 0) best = 0;
        id[j] = best;
        weight[j] = p[best];
        chosen += p[best];
        score[best] = INT32_MIN; /* taken */
    }
    for (int32_t j = 0; j < k; j++) {
        int64_t w = weight[j];
        if (!c->expert_keep_weights && chosen > 0) w = (w * GEODEC_FIXED_ONE + chosen / 2) / chosen;
        if (c->expert_scale.multiplier) w = geodec__engine_times(w, c->expert_scale);
        weight[j] = (int32_t)(w > INT32_MAX ? INT32_MAX : w);
    }
}

/* Gathers the choices by expert. */
static void group(geodec_engine *e, int32_t layer, int64_t n)
{
    const geodec_network_config *c = e->c;
    const int32_t k = c->n_expert_used;
    int32_t *end = e->expert_end, before = 0;
    memset(end, 0, (size_t)c->n_expert * sizeof *end);
    for (int64_t r = 0; r < n; r++)
        for (int32_t j = 0; j < k; j++) end[e->expert_id[(r * c->n_layer + layer) * k + j]]++;
    for (int32_t i = 0; i < c->n_expert; i++) {
        const int32_t count = end[i];
        end[i] = before;
        before += count;
    }
    for (int64_t r = 0; r < n; r++)
        for (int32_t j = 0; j < k; j++) {
            const int32_t place = end[e->expert_id[(r * c->n_layer + layer) * k + j]]++;
            e->place[r * k + j] = place;
            e->origin[place] = (int32_t)r;
            e->list[place] = &e->in[r];
        }
}

/* One product for each expert that has rows; part: 0 gate, 1 up, 2 down. */
static int64_t jobs_of(geodec_engine *e, const geodec_network_layer *l, int part, const geodec_rounded *const *x,
                       int64_t *const *y, int64_t jobs)
{
    for (int32_t i = 0, begin = 0; i < e->c->n_expert; begin = e->expert_end[i++]) {
        const int32_t n = e->expert_end[i] - begin;
        if (n > 0)
            e->job[jobs++] = (geodec__engine_job){l->expert[3 * i + part], x + begin, y + begin, n, e->origin + begin};
    }
    return jobs;
}

static void shared(geodec_engine *e, const geodec_network_layer *l, int64_t n)
{
    for (int64_t r = 0; r < n; r++) e->list[r] = &e->in[r];
    e->job[0] = (geodec__engine_job){l->shared_gate, e->list, e->dense_gate, n};
    e->job[1] = (geodec__engine_job){l->shared_up, e->list, e->dense_up, n};
    geodec__engine_products(e, 2);
    geodec__engine_gate(e, e->dense_gate, e->dense_up, n, e->c->d_ff_shared, e->dense_hidden);
    if (l->shared_factor) { /* up is free */
        e->job[0] = (geodec__engine_job){l->shared_factor, e->list, e->dense_up, n};
        geodec__engine_products(e, 1);
    }
    for (int64_t r = 0; r < n; r++) e->list[r] = &e->dense_hidden[r];
    e->job[0] = (geodec__engine_job){l->shared_down, e->list, e->shared, n};
    geodec__engine_products(e, 1);
}

void geodec__engine_mixture(geodec_engine *e, const geodec_network_layer *l, int32_t layer, int64_t n)
{
    const geodec_network_config *c = e->c;
    const int32_t k = c->n_expert_used;
    for (int64_t r = 0; r < n; r++) e->list[r] = &e->in[r];
    e->job[0] = (geodec__engine_job){l->router, e->list, e->router, n};
    geodec__engine_products(e, 1);
    for (int64_t r = 0; r < n; r++) {
        const int64_t at = (r * c->n_layer + layer) * k;
        choose(e, l, e->router[r], e->worker[0].part, e->worker[0].part + c->n_expert, e->expert_id + at,
               e->expert_weight + at);
    }
    group(e, layer, n);
    const int64_t jobs = jobs_of(e, l, 0, e->list, e->gate, 0);
    geodec__engine_products(e, jobs_of(e, l, 1, e->list, e->up, jobs));
    geodec__engine_gate(e, e->gate, e->up, n * k, c->d_ff, e->hidden);
    for (int64_t i = 0; i < n * k; i++) e->list[i] = &e->hidden[i];
    geodec__engine_products(e, jobs_of(e, l, 2, e->list, e->down, 0));
    if (l->shared_gate) shared(e, l, n);
}

void geodec__engine_mixture_sum(geodec_engine *e, const geodec_network_layer *l, int32_t layer, int64_t row, int64_t *y)
{
    const geodec_network_config *c = e->c;
    const int32_t k = c->n_expert_used;
    const int32_t *weight = e->expert_weight + (row * c->n_layer + layer) * k;
    memset(y, 0, (size_t)c->d_model * sizeof *y);
    for (int32_t j = 0; j < k; j++) {
        const int64_t *x = e->down[e->place[row * k + j]];
        for (int64_t i = 0; i < c->d_model; i++)
            y[i] = geodec_wide_limit(y[i]) + geodec_wide_limit(geodec_wide_round(geodec_wide_mul(x[i], weight[j]), 30));
    }
    if (!l->shared_gate) return;
    const int64_t f =
        l->shared_factor ? geodec_fixed_sigmoid(geodec_wide_shift(e->dense_up[row][0], 8)) : GEODEC_FIXED_ONE;
    for (int64_t i = 0; i < c->d_model; i++)
        y[i] =
            geodec_wide_limit(y[i]) + geodec_wide_limit(geodec_wide_round(geodec_wide_mul(e->shared[row][i], f), 30));
}
