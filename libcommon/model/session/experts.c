/* Mixture of experts: softmax over all experts or a sigmoid of each, the best k (ties to the lowest id), their weights
 * renormalised to 1 unless the architecture keeps them, and scaled if it has a scale. Beside the experts a network of
 * every row, if it has one. */
#include "base/rng.h"
#include "session/streamed_internal.h"
#include "session/tail.h"

#include <math.h>
#include <string.h>

/* In double: the same bits on every instruction set. */
static float sigmoid(float x) { return (float)(1 / (1 + exp(-(double)x))); }

/* Sum of the two largest of n values; n >= 2. */
static float two_largest(const float *x, int32_t n)
{
    float first = -INFINITY, second = -INFINITY;
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

/* Closes all groups of experts but the best. */
static void close_groups(const geodec_model_config *c, float *score)
{
    float sum[GEODEC__EXPERT_GROUPS];
    const int32_t groups = c->n_expert_group, each = c->n_expert / groups;
    for (int32_t g = 0; g < groups; g++) sum[g] = two_largest(score + g * each, each);
    for (int32_t closed = groups - c->n_expert_group_used; closed > 0; closed--) {
        int32_t worst = -1; /* the last of equals, or any that is not a number */
        for (int32_t g = 0; g < groups; g++)
            if (sum[g] < INFINITY && (worst < 0 || sum[g] <= sum[worst])) worst = g;
        for (int32_t g = 0; worst < 0 && g < groups; g++)
            if (!(sum[g] == INFINITY)) worst = g;
        if (worst < 0) return;
        sum[worst] = INFINITY;
        for (int32_t e = worst * each; e < (worst + 1) * each; e++) score[e] = -INFINITY;
    }
}

/* Probabilities of a row from its logits, times *all, in p, and what they are chosen by: p, or behind it. */
static float *score_of(const geodec_session *s, const geodec__layer *layer, float *p, float *all)
{
    const geodec_model_config *c = &s->model->config;
    const int32_t n = c->n_expert;
    const float *bias = layer->expert_bias;
    *all = 1;
    if (c->route != GEODEC_ROUTE_SCORES) return p;
    const bool each = c->gating == GEODEC_GATING_SIGMOID;
    if (!each) *all = s->kernels->softmax(p, n);
    for (int32_t e = 0; each && e < n; e++) p[e] = sigmoid(p[e]);
    if (!bias && c->n_expert_group == 0 && c->d_ff_adjugate == 0) return p; /* what is taken loses its value */
    float *score = p + geodec__pad(n);
    for (int32_t e = 0; e < n; e++) score[e] = p[e] / *all + (bias ? bias[e] : 0);
    if (c->n_expert_group > 0) close_groups(c, score);
    return score;
}

/* Numbers of the projection become the negative squared distances of all experts, from the point or its antipode. */
static void distances(const geodec_session *s, const geodec__layer *layer, bool opposite, float *p)
{
    const geodec_torus_projection by =
        s->model->config.route == GEODEC_ROUTE_ANGLE ? GEODEC_TORUS_ANGLE : GEODEC_TORUS_MOD;
    float u[2 * GEODEC_TORUS_AXES], z[GEODEC_TORUS_AXES];
    for (int64_t i = 0; i < layer->router.rows; i++) u[i] = p[i] + layer->router_bias[i];
    geodec_torus_project(by, u, z);
    for (int a = 0; opposite && a < GEODEC_TORUS_AXES; a++) z[a] += z[a] < 0.5f ? 0.5f : -0.5f;
    for (int32_t e = 0; e < s->model->config.n_expert; e++)
        p[e] = -geodec_torus_distance2(z, layer->expert_place + (int64_t)GEODEC_TORUS_AXES * e);
}

void geodec__router_scores(geodec_session *s, const geodec__layer *layer, const float *const *in, float *const *out,
                           int64_t n)
{
    s->job[0] = geodec__job_of(layer->router, in, out, n);
    if (!layer->expert_place) s->job[0].main.bias = layer->router_bias;
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; layer->expert_place && r < n; r++)
        distances(s, layer, s->tail && s->tail->route[r] == GEODEC_TAIL_ROUTE_ANTIPODE, out[r]);
}

const float *geodec__experts_order(const geodec_session *s, const geodec__layer *layer, float *p)
{
    float all;
    const bool plain = !layer->expert_bias && s->model->config.n_expert_group == 0;
    return plain ? p : score_of(s, layer, p, &all); /* logits have the order of their probabilities */
}

/* Takes expert e; it is not taken twice. */
static void take(float *score, const float *p, float all, int32_t e, int32_t *id, float *weight)
{
    *id = e;
    *weight = p[e] / all;
    score[e] = -INFINITY;
}

/* The k largest of score after the first `skip`. */
static void take_largest(const geodec_model_config *c, float *score, const float *p, float all, int32_t skip,
                         int32_t *id, float *weight)
{
    const int32_t n = c->n_expert, k = c->n_expert_used;
    for (int32_t j = -skip; j < k; j++) {
        int32_t best = -1;
        for (int32_t e = 0; e < n; e++)
            if (score[e] > -INFINITY && (best < 0 || score[e] > score[best])) best = e;
        if (best < 0) best = 0; /* only when all values are NaN */
        take(score, p, all, best, &id[j < 0 ? 0 : j], &weight[j < 0 ? 0 : j]);
    }
}

/* The k smallest. */
static void take_smallest(const geodec_model_config *c, float *score, const float *p, float all, int32_t *id,
                          float *weight)
{
    for (int32_t j = 0; j < c->n_expert_used; j++) {
        int32_t best = -1;
        for (int32_t e = 0; e < c->n_expert; e++)
            if (score[e] > -INFINITY && (best < 0 || score[e] < score[best])) best = e;
        take(score, p, all, best < 0 ? 0 : best, &id[j], &weight[j]);
    }
}

/* k different ones. */
static void take_random(const geodec_model_config *c, float *score, const float *p, float all, geodec_rng r,
                        int32_t *id, float *weight)
{
    for (int32_t j = 0; j < c->n_expert_used; j++) {
        int32_t e;
        bool taken;
        do {
            e = (int32_t)geodec_rng_below(&r, (uint64_t)c->n_expert);
            taken = false;
            for (int32_t i = 0; i < j; i++) taken = taken || id[i] == e;
        } while (taken);
        take(score, p, all, e, &id[j], &weight[j]);
    }
}

/* The weights of the chosen ones, from their probabilities. */
static void weigh(const geodec_model_config *c, const geodec__layer *layer, const int32_t *id, float *weight)
{
    const int32_t k = c->n_expert_used;
    float chosen = 0;
    for (int32_t j = 0; j < k; j++) chosen += weight[j];
    for (int32_t j = 0; j < k && c->route != GEODEC_ROUTE_SCORES; j++) weight[j] = chosen = 1;
    /* all sigmoids may be 0 */
    for (int32_t j = 0; j < k && (!c->expert_keep_weights || c->gating == GEODEC_GATING_CHOSEN) && !(chosen == 0); j++)
        weight[j] /= chosen;
    for (int32_t j = 0; j < k && c->expert_scale > 0; j++) weight[j] *= c->expert_scale;
    for (int32_t j = 0; j < k && layer->expert_factor; j++) weight[j] *= layer->expert_factor[id[j]];
}

/* The adjugate experts of row r, of the groups of those chosen: an adjugate expert's weight is the probability of the
 * expert that has its number, over their sum. One that is chosen twice is computed once. */
static void choose_adjugate(const geodec_session *s, int64_t r, const float *p, float all, const int32_t *chosen)
{
    static const float least = 6.103515625e-5f; /* the sum counts as this at least */
    const geodec_model_config *c = &s->model->config;
    const int32_t k = c->n_expert_used, n = c->n_expert / c->adjugate_group;
    int32_t *const id = s->adjugate_id + r * k;
    float *const weight = s->adjugate_weight + r * k, sum = 0;
    for (int32_t j = 0; j < k; j++) {
        id[j] = j < n ? chosen[j] / c->adjugate_group : -1;
        weight[j] = j < n ? p[id[j]] / all : 0;
        sum += weight[j];
    }
    for (int32_t j = 0; j < k; j++) {
        weight[j] /= sum > least ? sum : least;
        for (int32_t i = 0; i < j && id[j] >= 0; i++)
            if (id[i] == id[j]) {
                weight[i] += weight[j];
                id[j] = -1;
            }
    }
}

void geodec__experts_choose(const geodec_session *s, const geodec__layer *layer, int64_t r, float *p, int32_t *id,
                            float *weight)
{
    const geodec_model_config *c = &s->model->config;
    float all;
    float *const score = score_of(s, layer, p, &all);
    take_largest(c, score, p, all, 0, id, weight);
    weigh(c, layer, id, weight);
    if (s->adjugate_id) choose_adjugate(s, r, p, all, id);
    memset(p, 0, (size_t)geodec__pad(c->n_expert) * sizeof *p);
}

/* The experts of row r of a pass, whose route may be another one than the rule's (tail.h). */
static void choose_row(const geodec_session *s, const geodec__layer *layer, int32_t index, int64_t r, float *p,
                       int32_t *id, float *weight)
{
    const geodec_model_config *c = &s->model->config;
    const geodec_tail_route route = s->tail->route[r];
    float all;
    float *const score = score_of(s, layer, p, &all);
    if (route == GEODEC_TAIL_ROUTE_RANDOM) {
        const uint64_t stream = geodec_rng_id("random experts", (uint64_t)s->length * 4096 + (uint64_t)index);
        take_random(c, score, p, all, geodec_rng_stream(s->tail->seed, stream), id, weight);
    } else if (route == GEODEC_TAIL_ROUTE_ANTIPODE && !layer->expert_place) {
        take_smallest(c, score, p, all, id, weight);
    } else {
        const bool second = route == GEODEC_TAIL_ROUTE_SECOND && c->n_expert > c->n_expert_used;
        take_largest(c, score, p, all, second, id, weight);
    }
    weigh(c, layer, id, weight);
    if (s->adjugate_id) choose_adjugate(s, r, p, all, id);
    memset(p, 0, (size_t)geodec__pad(c->n_expert) * sizeof *p);
}

void geodec__experts_shared(geodec_session *s, const geodec__layer *layer, int64_t n)
{
    for (int64_t r = 0; r < n; r++) s->input[r] = s->norm_row[r];
    s->job[0] = geodec__job_of(layer->shared_gate, s->input, s->dense_gate_row, n);
    s->job[0].up = (geodec__side){.w = layer->shared_up, .x = s->input, .y = s->dense_up_row};
    s->job[0].layer = layer;
    geodec__jobs_run(s, 1);
    if (layer->shared_factor.data) { /* up is free */
        s->job[0] = geodec__job_of(layer->shared_factor, s->input, s->dense_up_row, n);
        geodec__jobs_run(s, 1);
    }
    geodec__rows_end(s->dense_gate_row, n, layer->shared_gate.rows);
    for (int64_t r = 0; r < n; r++) s->input[r] = s->dense_gate_row[r];
    s->job[0] = geodec__job_of(layer->shared_down, s->input, s->shared_row, n);
    geodec__jobs_run(s, 1);
}

void geodec__experts_add(const geodec_session *s, float weight, const float *y, float *sum)
{
    const int64_t d = s->model->config.d_model;
    if (s->place_weight) weight = 1; /* it multiplied the input */
    for (int64_t i = 0; i < d; i++) sum[i] += weight * y[i];
}

void geodec__experts_add_shared(const geodec_session *s, const geodec__layer *l, int64_t row, float *sum)
{
    const int64_t d = s->model->config.d_model;
    const float factor = l->shared_factor.data ? sigmoid(s->dense_up_row[row][0]) : 1;
    geodec__norm_row(s->kernels, &l->expert_post_norm, sum, sum);
    if (l->shared_gate.data) geodec__norm_row(s->kernels, &l->shared_post_norm, s->shared_row[row], s->shared_row[row]);
    for (int64_t i = 0; l->shared_gate.data && i < d; i++) sum[i] += factor * s->shared_row[row][i];
    const float scale = s->model->config.feed_scale;
    for (int64_t i = 0; l->shared_gate.data && scale > 0 && i < d; i++) sum[i] *= scale;
}

/* In ascending id, so that the order does not depend on the batch. The input is still needed for other rows' experts,
 * so the sum goes into norm, which is no longer read. */
static float *sum_chosen(geodec_session *s, int32_t index, int64_t row)
{
    const geodec_model_config *c = &s->model->config;
    const int32_t k = c->n_expert_used;
    const int64_t d = c->d_model, at = (row * c->n_layer + index) * k;
    const int32_t *id = s->expert_id + at;
    const float *weight = s->expert_weight + at;
    float *sum = s->norm_row[row];
    memset(sum, 0, (size_t)d * sizeof *sum);
    for (int32_t last = -1, done = 0; done < k; done++) {
        int32_t next = -1;
        for (int32_t j = 0; j < k; j++)
            if (id[j] > last && (next < 0 || id[j] < id[next])) next = j;
        if (next < 0) break;
        geodec__experts_add(s, weight[next], s->down_row[s->assigned[row * k + next]], sum);
        last = id[next];
    }
    geodec__experts_add_shared(s, &s->model->layer[index], row, sum);
    return sum;
}

float *geodec__experts_sum(geodec_session *s, int32_t index, int64_t row)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t k = c->n_expert_used;
    if (!s->model->layer[index].adjugate_gate.data) return sum_chosen(s, index, row);
    float *sum = s->norm_row[row]; /* of the experts: geodec__experts_adjugate */
    for (int64_t j = row * k; j < (row + 1) * k; j++) {
        if (s->adjugate_id[j] < 0) continue;
        const float *y = s->down_row[s->assigned[j]], w = c->adjugate_scale * s->adjugate_weight[j];
        for (int32_t i = 0; i < c->d_model; i++) sum[i] += w * y[i];
    }
    return sum;
}

/* Gathers the rows by expert, ascending rows within one: s->assigned[row k + rank] is the gathered row of that choice;
 * the rows of expert e end before s->expert_end[e]. Returns the number of gathered rows; an id below 0 has none. */
static int32_t group(geodec_session *s, float *const *row, const int32_t *id, int64_t per_row, int64_t n,
                     int32_t experts)
{
    const int32_t k = s->model->config.n_expert_used;
    int32_t *end = s->expert_end, before = 0;
    memset(end, 0, (size_t)experts * sizeof *end);
    for (int64_t i = 0; i < n * k; i++)
        if (id[i / k * per_row + i % k] >= 0) end[id[i / k * per_row + i % k]]++;
    for (int32_t e = 0; e < experts; e++) {
        const int32_t count = end[e];
        end[e] = before;
        before += count;
    }
    for (int64_t i = 0; i < n * k; i++) {
        if (id[i / k * per_row + i % k] < 0) continue;
        const int32_t place = end[id[i / k * per_row + i % k]]++;
        s->assigned[i] = place;
        s->input[place] = row[i / k];
        if (s->place_weight) s->place_weight[place] = s->expert_weight[id - s->expert_id + i / k * per_row + i % k];
    }
    return before;
}

/* The first expert that has rows. */
static int32_t first_expert(const geodec_session *s)
{
    int32_t e = 0;
    while (s->expert_end[e] == 0) e++;
    return e;
}

void geodec__experts_adjust(const geodec_session *s, const geodec__layer *l, int32_t e, int32_t first, bool gated,
                            geodec__job *j)
{
    const int64_t hidden = geodec__pad(s->model->config.d_ff), out = geodec__pad(s->model->config.d_model);
    j->layer = l;
    if (gated && s->place_weight) j->scale = s->place_weight + first;
    if (gated && l->gate_bias) j->main.bias = l->gate_bias + e * hidden;
    if (gated && l->up_bias) j->up.bias = l->up_bias + e * hidden;
    if (!gated && l->down_bias) j->main.bias = l->down_bias + e * out;
}

/* Experts whose products are computed together: those of the router, or the adjugate ones. */
typedef struct bank {
    const geodec__matrix *gate, *up, *down; /* of expert 0 */
    int32_t n;
    float **gate_row, **up_row; /* of the gathered rows */
    bool adjugate;
} bank;

/* The products of every expert that has rows: of gate and up, fused, or of down. */
static void run_experts(geodec_session *s, const geodec__layer *layer, const bank *b, bool gated)
{
    const geodec__matrix *all = gated ? b->gate : b->down;
    float **y = gated ? b->gate_row : s->down_row;
    int64_t n_jobs = 0;
    for (int32_t e = 0, first = 0; e < b->n; first = s->expert_end[e++]) {
        if (s->expert_end[e] == first) continue;
        geodec__job *j = &s->job[n_jobs++];
        *j = geodec__job_of(geodec__expert(all, e), s->input + first, y + first, s->expert_end[e] - first);
        if (gated) j->up = (geodec__side){.w = geodec__expert(b->up, e), .x = s->input + first, .y = b->up_row + first};
        j->layer = layer;
        if (!b->adjugate) geodec__experts_adjust(s, layer, e, first, gated, j);
    }
    geodec__jobs_run(s, n_jobs);
}

void geodec__experts_route(geodec_session *s, const geodec__layer *layer, int32_t index, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t per_row = (int64_t)c->n_layer * c->n_expert_used, at = (int64_t)index * c->n_expert_used;
    geodec__router_scores(s, layer, s->input, s->router_row, n);
    for (int64_t r = 0; r < n; r++) {
        int32_t *id = s->expert_id + at + r * per_row;
        float *weight = s->expert_weight + at + r * per_row;
        if (s->tail)
            choose_row(s, layer, index, r, s->router_row[r], id, weight);
        else
            geodec__experts_choose(s, layer, r, s->router_row[r], id, weight);
    }
}

void geodec__experts_run(geodec_session *s, const geodec__layer *layer, int32_t index, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    const int32_t k = c->n_expert_used;
    const int64_t per_row = (int64_t)c->n_layer * k;
    int32_t *const id = s->expert_id + (int64_t)index * k;
    for (int64_t r = 0; r < n; r++) s->input[r] = layer->expert_norm.weight ? s->own_row[r] : s->norm_row[r];
    for (int64_t r = 0; layer->router_norm.weight && r < n; r++)
        geodec__norm_row(s->kernels, &layer->router_norm, s->x_row[r], s->own_row[r]);
    if (!c->route_before && !c->route_raw) geodec__experts_route(s, layer, index, n);
    for (int64_t r = 0; layer->router_norm.weight && r < n; r++) /* no longer the router's input */
        geodec__norm_row(s->kernels, &layer->expert_norm, s->x_row[r], s->own_row[r]);
    (void)group(s, layer->expert_norm.weight ? s->own_row : s->norm_row, id, per_row, n, c->n_expert);
    if (s->model->streamed) {
        if (n == 1) geodec__streamed_learn(s, index, id);
        geodec__streamed_run(s, index, n);
        return;
    }
    const bank b = {&layer->gate, &layer->up, &layer->down, c->n_expert, s->gate_row, s->up_row, false};
    geodec__jobs_then(s, geodec__expert(b.down, first_expert(s)));
    run_experts(s, layer, &b, true);
    for (int64_t i = 0; i < n * k; i++) s->input[i] = s->gate_row[i];
    geodec__jobs_then(s, index + 1 < s->n_blocks ? layer[1].q : s->model->head);
    run_experts(s, layer, &b, false);
}

void geodec__experts_adjugate(geodec_session *s, const geodec__layer *layer, int32_t index, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    const bank b = {.gate = &layer->adjugate_gate,
                    .up = &layer->adjugate_up,
                    .down = &layer->adjugate_down,
                    .n = c->n_expert / c->adjugate_group,
                    .gate_row = s->adjugate_gate_row,
                    .up_row = s->adjugate_up_row,
                    .adjugate = true};
    for (int64_t r = 0; r < n; r++) (void)sum_chosen(s, index, r);
    const int32_t places = group(s, s->norm_row, s->adjugate_id, c->n_expert_used, n, b.n);
    run_experts(s, layer, &b, true);
    for (int32_t i = 0; i < places; i++) s->input[i] = b.gate_row[i];
    run_experts(s, layer, &b, false);
}
