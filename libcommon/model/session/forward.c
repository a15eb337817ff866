#include "session/integer_session_internal.h"
#include "session/layer_pass_internal.h"
#include "session/recurrence_states_internal.h"
#include "session/streamed_internal.h"
#include "session/team_internal.h"

#include <math.h>
#include <string.h>

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static geodec_status check_batch(const geodec_session *s, const geodec_batch *b, const geodec_capture *capture,
                                 geodec_err *err)
{
    const geodec_model_config *c = &s->model->config;
    const int32_t most = b->parent ? s->max_batch : geodec__layer_pass_most(s, b->n, capture);
    if (b->n < 1 || b->n > most)
        GEODEC_FAIL(GEODEC_LIMIT, "a batch of %d rows; this session takes 1 to %d", b->n, most);
    if (b->begin) GEODEC_PASS(geodec__layer_pass_check(s, b, err));
    if (!b->begin && b->n > s->n_ctx - s->length)
        GEODEC_FAIL(GEODEC_LIMIT, "context full: %d tokens and %d more do not fit in %d", s->length, b->n, s->n_ctx);
    for (int32_t i = 0; i < b->n; i++) {
        if (b->token[i] < 0 || b->token[i] >= c->n_vocab)
            GEODEC_FAIL(GEODEC_RANGE, "token %d of the batch is %d; the vocabulary has %d", i, b->token[i], c->n_vocab);
        if (b->parent && (b->parent[i] < -1 || b->parent[i] >= i))
            GEODEC_FAIL(GEODEC_RANGE, "row %d has parent %d; -1 to %d are valid", i, b->parent[i], i - 1);
    }
    for (int32_t i = 0; capture && i < capture->n_layers; i++)
        if (capture->layer[i] < 0 || capture->layer[i] > s->n_blocks)
            GEODEC_FAIL(GEODEC_RANGE, "layer %d cannot be captured, only 0 to %d", capture->layer[i], s->n_blocks);
    return GEODEC_OK;
}

/* ---- pieces of a layer ------------------------------------------------------------------------------------------ */

enum {
    ROWS = 4,             /* rows of a task */
    MANY_ROWS = 64,       /* of a prompt */
    FEW_NUMBERS = 1 << 14 /* below it, dispatch to the pool costs more than it saves */
};

/* The work on each row between two matrix products. */
typedef struct row_work {
    geodec_session *s;
    void (*fn)(const struct row_work *w, int64_t row);
    int64_t n;
    const geodec__layer *layer;
    const geodec__norm *post_norm, *next_norm; /* of finish_row */
    bool experts;                              /* the output is in the rows of its experts */
    bool feed;                                 /* the output is the feed-forward's */
    int32_t index;                             /* of the layer */
} row_work;

static void row_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const row_work *w = ctx;
    for (int64_t r = task * ROWS; r < w->n && r < (task + 1) * ROWS; r++) w->fn(w, r);
}

/* width: numbers touched in a row. */
static void run_rows(row_work *w, int64_t width)
{
    const int64_t tasks = (w->n + ROWS - 1) / ROWS;
    if (tasks == 1 || w->n * width < FEW_NUMBERS)
        for (int64_t i = 0; i < tasks; i++) row_task(w, i, 0);
    else
        geodec_pool_run_dynamic(w->s->pool, tasks, row_task, w);
}

/* The residual stream, normalised, becomes the next product's input. Without a norm it does so as it is, or with both
 * halves in parallel attention's input does. */
static void norm_row(const row_work *w, int64_t r)
{
    geodec_session *s = w->s;
    const geodec_model_config *c = &s->model->config;
    geodec__norm_row(s->kernels, w->next_norm, s->x_row[r], s->norm_row[r]);
    if (!w->next_norm->weight && !(w->layer && c->parallel))
        memcpy(s->norm_row[r], s->x_row[r], (size_t)c->d_model * sizeof(float));
    s->input[r] = s->norm_row[r];
}

/* Adds a block's output to the residual stream (with factors and norm before, if the architecture has them), and
 * normalises the sum, or the stream before it, for the next product, if there is one. */
static void finish_row(const row_work *w, int64_t r)
{
    geodec_session *s = w->s;
    const geodec_model_config *c = &s->model->config;
    float *y = w->experts ? geodec__experts_sum(s, w->index, r) : s->down_row[r], *x = s->x_row[r];
    const bool early = w->next_norm && c->parallel;
    for (int64_t i = 0; !w->feed && c->value_scale > 0 && i < c->d_model; i++) y[i] *= c->value_scale;
    for (int64_t i = 0; c->residual_scale > 0 && i < c->d_model; i++) y[i] *= c->residual_scale;
    geodec__norm_row(s->kernels, w->post_norm, y, y);
    if (s->watch_update) memcpy(s->update_row[r], y, (size_t)c->d_model * sizeof *y);
    if (early) norm_row(w, r);
    if (s->attnres)
        geodec__attnres_add(s, r, w->index, w->feed, y);
    else
        for (int64_t i = 0; i < c->d_model; i++) x[i] += y[i];
    const float scale = w->layer->stream_scale;
    if (!w->feed) geodec__streams_add_laurel(s, w->layer, r);
    for (int64_t i = 0; w->feed && c->embed_added && i < c->d_model; i++) x[i] += scale * s->entry_row[r][i];
    const bool last = w->feed && !w->layer->input_gate.data; /* otherwise the layer's own input is added before */
    for (int64_t i = 0; last && scale > 0 && !c->embed_added && i < c->d_model; i++) x[i] *= scale;
    if (w->next_norm && !early) norm_row(w, r);
}

/* Limits and norm (if before the rotation) of a row of queries, keys or values. */
static void adjust(const geodec_session *s, float *y, const geodec__norm *norm, bool rotated, int64_t width)
{
    const float most = s->model->config.qkv_clamp;
    for (int64_t i = 0; most > 0 && i < width; i++) y[i] = y[i] > most ? most : y[i] < -most ? -most : y[i];
    if (!rotated) geodec__norm_row(s->kernels, norm, y, y);
}

static void adjust_row(const row_work *w, int64_t r)
{
    const geodec__layer *l = w->layer;
    const int64_t dim = w->s->model->config.head_dim;
    for (int64_t i = 0; l->gated_query && i < l->o.cols; i += dim) {
        memcpy(w->s->query_row[r] + i, w->s->both_row[r] + 2 * i, (size_t)dim * sizeof(float));
        memcpy(w->s->gating_row[r] + i, w->s->both_row[r] + 2 * i + dim, (size_t)dim * sizeof(float));
    }
    const bool rotated = w->s->model->config.qk_norm_rotated;
    adjust(w->s, w->s->query_row[r], &l->q_norm, rotated, l->o.cols);
    adjust(w->s, w->s->key_row[r], &l->k_norm, rotated, l->k.rows);
    adjust(w->s, w->s->value_row[r], &l->v_norm, false, l->v.rows);
}

/* In double: the same bits on every instruction set. */
static float gate_of(const geodec_model_config *c, float x)
{
    const double v = (double)x;
    return (float)(!c->gate_softplus ? 1 / (1 + exp(-v)) : v > 20 ? v : log1p(exp(v)));
}

/* Attention's result, times its gate, normed before the output matrix. */
static void gate_row(const row_work *w, int64_t r)
{
    const geodec_session *s = w->s;
    const geodec_model_config *c = &s->model->config;
    const geodec__layer *l = w->layer;
    const int64_t width = l->o.cols, part = l->gated_query ? 1 : l->attn_gate.data ? width / l->attn_gate.rows : 0;
    float *y = s->mixed_row[r];
    for (int64_t i = 0; part > 0 && i < width; i += part) {
        const float factor = gate_of(c, s->gating_row[r][i / part]);
        for (int64_t k = i; k < i + part; k++) y[k] *= factor;
    }
    geodec__norm_row(s->kernels, &l->mixed_norm, y, y);
}

/* The gated hidden vector, normed before the last matrix. */
static void hidden_row(const row_work *w, int64_t r)
{
    float *y = (float *)(uintptr_t)w->s->input[r];
    geodec__norm_row(w->s->kernels, &w->layer->hidden_norm, y, y);
}

/* The gate of job 0, cut to its largest numbers (Gaussian top-k), through the activation, times up of job 1. Sums in
 * double, all else in float32: the same bits on every instruction set. */
static void cut_row(const row_work *w, int64_t r)
{
    const geodec_session *s = w->s;
    const geodec_model_config *c = &s->model->config;
    const int64_t n = w->layer->gate.rows;
    float *g = s->job[0].main.y[r];
    double sum = 0, square = 0;
    for (int64_t i = 0; i < n; i++) sum += (double)g[i];
    const float mean = (float)sum / (float)n;
    for (int64_t i = 0; i < n; i++) square += (double)((g[i] - mean) * (g[i] - mean));
    const float from = mean + sqrtf((float)square * (1 / (float)(n - 1))) * w->layer->cut_at;
    for (int64_t i = 0; i < n; i++) g[i] = g[i] > from ? g[i] - from : 0;
    s->kernels->activate(c->activation, w->layer->xielu, g, w->layer->up.data ? s->job[1].main.y[r] : NULL, n);
}

/* Shows the rows of s->input to the observer. */
static void show(const geodec_session *s, int32_t layer, geodec_side side, int64_t n, int64_t width)
{
    if (s->watch) s->watch(s->watch_ctx, layer, side, n, width, s->input);
}

/* Inputs of slots first .. first + count - 1: the rows of s->input, or for factored slots those rows in their basis,
 * computed once if shared. */
static void project(geodec_session *s, const geodec__layer *l, int first, int count, int64_t n, const float *const **x)
{
    int64_t jobs = 0;
    for (int i = 0; i < count; i++) {
        const geodec__matrix *b = &l->basis[first + i];
        x[i] = s->input;
        if (!b->data) continue;
        if (i > 0 && b->data == b[-1].data) {
            x[i] = x[i - 1];
            continue;
        }
        float **row = s->low_row + (int64_t)i * s->max_batch;
        x[i] = (const float *const *)row;
        /* rows of a product are padded with zeros; an earlier layer's may have been longer */
        geodec__rows_end(row, n, b->rows);
        s->job[jobs++] = geodec__job_of(*b, s->input, row, n);
    }
    if (jobs > 0) geodec__jobs_run(s, jobs);
}

static void show_update(const geodec_session *s, int32_t layer, bool feed, int64_t n)
{
    if (s->watch_update) s->watch_update(s->watch_update_ctx, layer, feed, n, (const float *const *)s->update_row);
}

void geodec__forward_feed(geodec_session *s, int32_t index, int64_t n)
{
    const geodec__layer *l = &s->model->layer[index];
    const float *const *x[2];
    show(s, index, GEODEC_SIDE_FEED, n, s->model->config.d_model);
    if (l->router.data) {
        geodec__experts_run(s, l, index, n);
        if (l->shared_gate.data) geodec__experts_shared(s, l, n);
        if (l->adjugate_gate.data) geodec__experts_adjugate(s, l, index, n);
        return;
    }
    const bool mixture = s->model->config.n_expert > 0;
    float **gate = mixture ? s->dense_gate_row : s->gate_row, **up = mixture ? s->dense_up_row : s->up_row;
    project(s, l, GEODEC_SLOT_GATE, 2, n, x);
    s->job[0] = geodec__job_of(l->gate, x[0], gate, n);
    s->job[0].main.bias = l->gate_bias;
    s->job[0].plain = s->model->config.plain;
    s->job[0].layer = l;
    if (l->up.data) s->job[0].up = (geodec__side){.w = l->up, .x = x[1], .y = up, .bias = l->up_bias};
    row_work w = {.s = s, .fn = cut_row, .n = n, .layer = l};
    if (l->cut) {
        s->job[0].plain = false;
        s->job[1] = (geodec__job){.main = s->job[0].up, .n = n};
        s->job[0].up = (geodec__side){0};
        geodec__jobs_run(s, l->up.data ? 2 : 1);
        run_rows(&w, 2 * l->gate.rows);
    } else {
        geodec__jobs_run(s, 1);
    }
    if (mixture) geodec__rows_end(gate, n, l->gate.rows);
    for (int64_t r = 0; r < n; r++) s->input[r] = gate[r];
    w.fn = hidden_row;
    if (l->hidden_norm.weight) run_rows(&w, l->hidden_norm.width);
    if (!mixture) show(s, index, GEODEC_SIDE_HIDDEN, n, s->model->config.d_ff);
    project(s, l, GEODEC_SLOT_DOWN, 1, n, x);
    s->job[0] = geodec__job_of(l->down, x[0], s->down_row, n);
    s->job[0].main.bias = l->down_bias;
    geodec__jobs_run(s, 1);
}

/* The first half of a layer, from the normalised stream in s->input to mixed_row. */
static void mix(geodec_session *s, const geodec__layer *l, int32_t index, int64_t n, bool chain)
{
    row_work w = {.s = s, .fn = adjust_row, .n = n, .layer = l, .index = index};
    const float *const *x[3];
    if (!geodec__layer_attends(l) && l->recurrent.how != GEODEC__MIXER_DECAY) {
        geodec__recurrent_run(s, index, n, chain);
        return;
    }
    project(s, l, GEODEC_SLOT_Q, 3, n, x);
    s->job[0] = geodec__job_of(l->q, x[0], l->gated_query ? s->both_row : s->query_row, n);
    s->job[1] = geodec__job_of(l->k, x[1], s->key_row, n);
    s->job[2] = geodec__job_of(l->v, x[2], s->value_row, n);
    if (l->decay.data) {
        s->job[3] = geodec__job_of(l->decay, s->input, s->decay_row, n);
        geodec__jobs_run(s, 4);
        geodec__recurrence_run(s, index, n, chain);
        return;
    }
    s->job[0].main.bias = l->q_bias;
    s->job[1].main.bias = l->k_bias;
    s->job[2].main.bias = l->v_bias;
    int64_t jobs = l->kv_layer == index ? 3 : 1; /* keys and values of an earlier layer */
    if (l->attn_gate.data) s->job[jobs++] = geodec__job_of(l->attn_gate, s->input, s->gating_row, n);
    geodec__jobs_run(s, jobs);
    if (l->gated_query || l->q_norm.weight || l->k_norm.weight || l->v_norm.weight || s->model->config.qkv_clamp > 0)
        run_rows(&w, l->q.rows + l->k.rows);
    geodec__attention_run(s, index, n, chain);
    w.fn = gate_row;
    if (l->gated_query || l->attn_gate.data || l->mixed_norm.weight) run_rows(&w, l->o.cols);
    if (s->recur) geodec__rows_end(s->mixed_row, n, l->n_head * s->cache.shape[index].v_dim);
}

void geodec__forward_norm(geodec_session *s, const geodec__norm *norm, int64_t n)
{
    row_work w = {.s = s, .fn = norm_row, .n = n, .next_norm = norm};
    run_rows(&w, s->model->config.d_model);
}

void geodec__forward_attend(geodec_session *s, int32_t index, int64_t n, bool chain)
{
    const geodec__layer *l = &s->model->layer[index];
    const int64_t d = s->model->config.d_model;
    const float *const *x[1];
    if (!geodec__layer_attends(l) && !geodec__layer_recurs(l)) {
        geodec__forward_norm(s, &l->ffn_norm, n);
        return;
    }
    if (s->model->config.n_streams > 0) geodec__streams_predict(s, l, n);
    if (l->router.data && s->model->config.route_raw) {
        for (int64_t r = 0; r < n; r++) s->input[r] = s->x_row[r];
        geodec__experts_route(s, l, index, n);
    }
    for (int64_t r = 0; l->expert_norm.weight && !l->router_norm.weight && r < n; r++)
        geodec__norm_row(s->kernels, &l->expert_norm, s->x_row[r], s->own_row[r]);
    geodec__forward_norm(s, &l->attn_norm, n);
    show(s, index, GEODEC_SIDE_STREAM, n, d);
    geodec__streams_laurel(s, l, n);
    if (l->router.data && s->model->config.route_before) geodec__experts_route(s, l, index, n);
    mix(s, l, index, n, chain);
    for (int64_t r = 0; r < n; r++) s->input[r] = s->mixed_row[r];
    show(s, index, GEODEC_SIDE_HEADS, n, l->o.cols);
    project(s, l, GEODEC_SLOT_O, 1, n, x);
    s->job[0] = geodec__job_of(l->o, x[0], s->down_row, n);
    s->job[0].main.bias = l->o_bias;
    geodec__jobs_run(s, 1);
    if (l->recurrent.beside) geodec__recurrent_beside(s, index, n, chain);
    row_work w = {.s = s,
                  .fn = finish_row,
                  .n = n,
                  .layer = l,
                  .index = index,
                  .post_norm = &l->attn_post_norm,
                  .next_norm = &l->ffn_norm};
    run_rows(&w, 2 * d);
    show_update(s, index, false, n);
}

void geodec__forward_finish(geodec_session *s, int32_t index, int64_t n, bool experts)
{
    const geodec__layer *l = &s->model->layer[index];
    row_work w = {.s = s,
                  .fn = finish_row,
                  .n = n,
                  .layer = l,
                  .index = index,
                  .post_norm = &l->ffn_post_norm,
                  .experts = experts,
                  .feed = true};
    run_rows(&w, s->model->config.d_model);
    show_update(s, index, true, n);
    if (s->model->config.n_streams > 0) geodec__streams_correct(s, l, n);
    geodec__layer_inputs_run(s, l, index, n);
    if (s->model->config.n_streams > 0 && index == s->model->config.n_layer - 1) geodec__streams_leave(s, n);
    for (int64_t r = 0; l->input_gate.data && l->stream_scale > 0 && r < n; r++)
        for (int64_t i = 0; i < s->model->config.d_model; i++) s->x_row[r][i] *= l->stream_scale;
}

void geodec__forward_layer(geodec_session *s, int32_t index, int64_t n, bool chain)
{
    if (s->model->streamed) geodec__streamed_ahead(s, index, n);
    geodec__forward_attend(s, index, n, chain);
    if (!geodec__layer_feeds(&s->model->layer[index])) return;
    geodec__forward_feed(s, index, n);
    geodec__forward_finish(s, index, n, s->model->layer[index].router.data != NULL);
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

void geodec__forward_capture(const geodec_session *s, const geodec_capture *capture, int32_t layer, int64_t first,
                             int64_t n, int64_t all)
{
    const int64_t d = s->model->config.d_model;
    for (int32_t i = 0; capture && i < capture->n_layers; i++)
        if (capture->layer[i] == layer)
            for (int64_t r = 0; r < n; r++)
                memcpy(capture->state + ((int64_t)i * all + first + r) * d, s->x_row[r], (size_t)d * sizeof(float));
}

/* packed: selected rows are contiguous in logits; otherwise each is at its own index. */
void geodec__forward_head(geodec_session *s, const geodec_batch *b, float *logits, bool packed)
{
    const geodec_model_config *c = &s->model->config;
    int64_t wanted = 0;
    for (int32_t r = 0; r < b->n; r++) {
        if (b->want && !b->want[r]) continue;
        geodec__norm_row(s->kernels, &s->model->output_norm, s->x_row[r], s->norm_row[r]);
        s->input[wanted] = s->norm_row[r];
        s->output[wanted] = logits + (packed ? wanted : r) * c->n_vocab;
        wanted++;
    }
    if (wanted == 0) return;
    s->job[0] = geodec__job_of(s->model->head, s->input, s->output, wanted);
    s->job[0].main.bias = s->model->head_bias;
    geodec__jobs_run(s, 1);
    const float scale = c->logit_scale > 0 ? 1 / c->logit_scale : 1;
    for (int64_t r = 0; c->logit_scale > 0 && r < wanted; r++)
        for (int64_t i = 0; i < c->n_vocab; i++) s->output[r][i] *= scale;
    for (int64_t r = 0; c->final_softcap > 0 && r < wanted; r++)
        s->kernels->softcap(s->output[r], c->n_vocab, c->final_softcap);
}

/* The learned vector of a position. */
static void add_position(geodec_session *s, int64_t row, int64_t position)
{
    const geodec__matrix *p = &s->model->positions;
    geodec_ggml_traits_of(p->type)->decode(p->data + position * p->row_bytes, s->norm_row[row], p->cols);
    for (int64_t k = 0; k < p->cols; k++) s->x_row[row][k] += s->norm_row[row][k];
}

/* A tied head that was moved is read from its new place, so that the file's copy stays out of memory. */
void geodec__forward_embed(geodec_session *s, const geodec_batch *b)
{
    const geodec__matrix *e = &s->model->embedding;
    const geodec__panels panels = geodec__prepare_find(s->prepared, e);
    const uint8_t *data = geodec__prepare_data(s->copies, e);
    const geodec_ggml_traits *t = geodec_ggml_traits_of(e->type);
    for (int32_t i = 0; i < b->n; i++) {
        if (panels.data)
            geodec__panel_decode_row(&panels, b->token[i], s->x_row[i]);
        else
            t->decode(data + b->token[i] * e->row_bytes, s->x_row[i], e->cols);
        const float scale = s->model->config.embed_scale;
        for (int64_t k = 0; scale > 0 && k < e->cols; k++) s->x_row[i][k] *= scale;
        geodec__norm_row(s->kernels, &s->model->embed_norm, s->x_row[i], s->x_row[i]);
        if (s->entry_row) memcpy(s->entry_row[i], s->x_row[i], (size_t)e->cols * sizeof(float));
        if (s->model->positions.data) add_position(s, i, s->length + s->depth[i]);
    }
    geodec__layer_inputs_embed(s, b->token, b->n);
    geodec__streams_enter(s, b->n);
}

typedef struct pass {
    geodec_session *s;
    const geodec_batch *b;
    float *logits;
    const geodec_capture *capture;
    bool packed, chain;
    geodec__team *team;
    int wanted;
    bool done; /* made by the team */
} pass;

/* Rows first .. of the batch, which are rows 0 .. n-1 of s. */
static void run_part(const pass *p, geodec_session *s, int64_t first, int64_t n)
{
    const geodec_batch part = {
        .n = (int32_t)n, .token = p->b->token + first, .want = p->b->want ? p->b->want + first : NULL};
    geodec__forward_embed(s, &part);
    for (int64_t r = 0; s->attnres && r < n; r++) geodec__attnres_begin(s, r);
    geodec__forward_capture(s, p->capture, 0, s->first, n, p->b->n);
    for (int32_t layer = 0; layer < s->n_blocks && s->status == GEODEC_OK; layer++) {
        geodec__forward_layer(s, layer, n, p->chain);
        geodec__forward_capture(s, p->capture, layer + 1, s->first, n, p->b->n);
    }
    if (p->logits && !p->packed) geodec__forward_head(s, &part, p->logits + first * s->model->config.n_vocab, false);
}

static void member_task(void *ctx, int64_t task, int worker)
{
    pass *p = ctx;
    (void)task;
    const int member = geodec__team_join(p->team, worker, p->wanted), members = atomic_load(&p->team->members);
    if (member < 0 || members == 1) return;
    const int64_t first = (int64_t)p->b->n * member / members, end = (int64_t)p->b->n * (member + 1) / members;
    geodec_session view = geodec__team_view(p->s, p->team, worker, first, end - first);
    run_part(p, &view, first, end - first);
    if (worker == 0) p->done = true;
}

static void copy_experts(const geodec_session *s, const geodec_capture *capture, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    if (!capture || !capture->expert || c->n_expert == 0) return;
    memcpy(capture->expert, geodec_session_expert_ids(s),
           (size_t)(n * c->n_layer * c->n_expert_used) * sizeof *capture->expert);
}

static geodec_status forward_rows(geodec_session *s, const geodec_batch *b, float *logits, bool packed,
                                  const geodec_capture *capture, geodec_err *err)
{
    const geodec_model *m = s->model;
    const int32_t n = b->n;
    if (s->engine) {
        if (b->begin) GEODEC_FAIL(GEODEC_UNSUPPORTED, "several texts in one pass of integers");
        GEODEC_PASS(geodec__integer_session_forward(s, b, logits, packed, capture, err));
        copy_experts(s, capture, n);
        return GEODEC_OK;
    }
    GEODEC_PASS(check_batch(s, b, capture, err));
    if (b->begin || n > s->max_batch) return geodec__layer_pass(s, b, logits, packed, capture, err);
    for (int32_t i = 0; s->rewrite && b->parent && i < n; i++)
        if (b->parent[i] != i - 1) GEODEC_FAIL(GEODEC_UNSUPPORTED, "trees of tokens that are rewritten in the cache");
    GEODEC_PASS(geodec__recurrence_read_again(s, s->length, err));
    if (s->resident_price) geodec__resident_price_begin(s);
    if (s->recur) geodec__recurrence_begin(s, b->token, n);
    s->counters.passes++;
    s->counters.rows += n;
    bool chain = true;
    for (int32_t i = 0; i < n; i++) {
        s->parent[i] = b->parent ? b->parent[i] : i - 1;
        s->depth[i] = s->parent[i] < 0 ? 0 : s->depth[s->parent[i]] + 1;
        chain = chain && s->parent[i] == i - 1;
    }
    geodec__prepare_pass(m, s->copies, s->pool, false);
    /* a prompt of a model whose experts stream may be one pass, and has few weights to pack beside them */
    geodec__prepare_pass(m, s->prepared, s->pool, m->streamed && n >= MANY_ROWS);
    geodec__rope_reach(s, s->length, s->length + n);
    geodec__team team = {0};
    pass p = {s, b, logits, capture, packed, chain, &team, (int)geodec__team_members(s, n), false};
    /* a task for every worker, so that none takes a second one before worker 0 has taken its own */
    if (p.wanted > 1) geodec_pool_run_dynamic(s->pool, geodec_pool_threads(s->pool), member_task, &p);
    if (m->streamed) geodec__streamed_begin(s, b);
    if (!p.done) run_part(&p, s, 0, n);
    if (m->streamed) {
        geodec__streamed_end(s);
        if (s->status != GEODEC_OK) {
            if (err) *err = s->failure;
            return s->status;
        }
    }
    if (logits && packed) geodec__forward_head(s, b, logits, true);
    if (s->foreseen) geodec__streamed_appended(s, b);
    if (s->recur) geodec__recurrence_end(s, n, chain);
    s->length += n;
    if (s->priced) geodec__streamed_price_end(s, n);
    if (s->resident_price) geodec__resident_price_end(s, b);
    copy_experts(s, capture, n);
    return GEODEC_OK;
}

geodec_status geodec_forward(geodec_session *s, const geodec_batch *b, float *logits, const geodec_capture *capture,
                             geodec_err *err)
{
    return forward_rows(s, b, logits, false, capture, err);
}

geodec_status geodec_forward_prefill(geodec_session *s, const int32_t *token, int64_t n, float *last_logits,
                                     geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t before = s->length;
    if (n < 1) GEODEC_THROW(GEODEC_INVAL, "prefill of %lld tokens", (long long)n);
    if (n > s->n_ctx - s->length)
        GEODEC_THROW(GEODEC_LIMIT, "context full: %d tokens and %lld more do not fit in %d", s->length, (long long)n,
                     s->n_ctx);
    /* a prompt of several passes would pack in the first and again in the second */
    if (n > s->max_batch && !s->engine) geodec__prepare_pass(s->model, s->prepared, s->pool, true);
    for (int64_t at = 0; at < n;) {
        const int32_t count = geodec_session_pass_rows(s, n - at, 0);
        geodec_batch b = {.n = count, .token = token + at};
        if (at + count == n && last_logits && count > s->max_batch) {
            st = forward_rows(s, &b, last_logits, true, NULL, err);
        } else if (at + count == n && last_logits) {
            s->want[count - 1] = true;
            b.want = s->want;
            st = forward_rows(s, &b, last_logits, true, NULL, err);
            s->want[count - 1] = false;
        } else {
            st = geodec_forward(s, &b, NULL, NULL, err);
        }
        if (st != GEODEC_OK) {
            geodec_session_truncate(s, before);
            (void)geodec_err_add(err, st, __func__, __LINE__, "prefill at token %lld", (long long)at);
            goto done;
        }
        at += count;
    }
done:
    return st;
}
