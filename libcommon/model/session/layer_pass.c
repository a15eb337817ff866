/* A pass over more rows than a batch, while experts stream: layer by layer, in parts of max_batch rows, so that each
 * expert is read once for all rows. Between the halves of a layer only the residual stream, the chosen experts and
 * the sums of their outputs are kept. Every row goes through the operations of a batch in their order: the experts of a
 * row are added in ascending id. */
#include "base/extremes_internal.h"
#include "session/layer_pass_internal.h"

#include "base/mem.h"
#include "session/recurrence_states_internal.h"
#include "session/streamed_internal.h"

#include <string.h>

/* ---- how many rows ----------------------------------------------------------------------------------------------- */

/* Numbers of a row of the stream, and of the sums. */
static int64_t stride_of(const geodec_session *s) { return geodec__apart(s->model->config.d_model); }

/* Bytes that a row takes between the halves of a layer. */
static int64_t row_bytes(const geodec_session *s)
{
    const geodec_model_config *c = &s->model->config;
    const int64_t pointers = 2 * (int64_t)sizeof(float *), choices = (int64_t)c->n_expert_used;
    const int64_t routes = (2 * choices * c->n_layer + choices) * (int64_t)sizeof(int32_t);
    return 2 * stride_of(s) * (int64_t)sizeof(float) + pointers + routes;
}

int64_t geodec__layer_pass_least_bytes(const geodec_session *s)
{
    enum { LEAST = 960 /* rows; with one captured state of each */ };
    const int64_t rows = geodec__min(geodec__min(s->max_pass, s->n_ctx), LEAST),
                  state = 4 * (int64_t)s->model->config.d_model;
    return rows > s->max_batch ? rows * (row_bytes(s) + state + 8) : 0;
}

/* Whether experts read the layer's input, of which nothing is left behind attention. */
static bool reads_input(const geodec_model *m)
{
    for (int32_t i = 0; i < m->config.n_layer; i++)
        if (m->layer[i].expert_norm.weight && !m->layer[i].router_norm.weight) return true;
    return false;
}

/* Observers see whole batches, and some forms of the stream and the cache belong to the rows of a session. */
static bool possible(const geodec_session *s)
{
    return s->model->streamed && !s->engine && !s->attnres && !s->rewrite && !s->watch && !s->watch_update &&
           !s->tail && !(s->recur && geodec__session_forgets(s)) && !s->model->config.parallel &&
           !reads_input(s->model) && !s->place_weight && !s->adjugate_id && s->model->config.n_streams == 0;
}

/* Expected reads, in sets of experts, of n rows in passes of so many, while `left` slots are left of those for all
 * experts. */
static double reads_of(int64_t n, int64_t rows, double left, double experts)
{
    return (double)((n + rows - 1) / rows) * (1 - left / experts);
}

/* Rows of a pass whatever the memory: choices are counted in 32 bits. */
static int64_t most_of(const geodec_session *s, int64_t wanted)
{
    const int32_t k = s->model->config.n_expert_used;
    return geodec__min(geodec__min(wanted, s->max_pass), INT32_MAX / (k > 0 ? k : 1));
}

int32_t geodec_session_pass_rows(const geodec_session *s, int64_t wanted, int64_t beside)
{
    const int64_t batch = geodec__min(wanted, s->max_batch), all = most_of(s, wanted);
    if (all <= batch || !possible(s)) return (int32_t)batch;
    const geodec__streamed *t = s->model->streamed;
    if (!t->stream) return (int32_t)all; /* read through a map */
    const geodec_stream_room room = geodec_stream_room_of(t->stream);
    const int64_t row = row_bytes(s) + beside;
    const int64_t own = geodec__min(all, room.free / row), rows = geodec__min(all, (room.free + room.lendable) / row);
    const int64_t lent = rows * row > room.free ? (rows * row - room.free + t->slot_bytes - 1) / t->slot_bytes : 0;
    const double experts = (double)t->plan.experts, left = (double)room.left;
    int64_t best = batch;
    double least = reads_of(wanted, s->max_batch, left, experts);
    const double with_lent = rows > batch ? reads_of(wanted, rows, left - (double)lent, experts) : least;
    if (with_lent < least) {
        least = with_lent;
        best = rows;
    }
    if (own > batch && reads_of(wanted, own, left, experts) <= least) best = own;
    return (int32_t)best;
}

/* Bytes of a row that the caller has for it. */
static int64_t captured_bytes(const geodec_session *s, const geodec_capture *c)
{
    const geodec_model_config *k = &s->model->config;
    if (!c) return 0;
    return 4 * ((int64_t)c->n_layers * k->d_model + (c->expert ? (int64_t)k->n_layer * k->n_expert_used : 0));
}

int32_t geodec__layer_pass_most(const geodec_session *s, int64_t wanted, const geodec_capture *c)
{
    const int64_t all = most_of(s, wanted);
    if (all <= s->max_batch || !possible(s)) return s->max_batch;
    if (!s->model->streamed->stream) return (int32_t)all;
    const geodec_stream_room room = geodec_stream_room_of(s->model->streamed->stream);
    const int64_t row = row_bytes(s) + captured_bytes(s, c);
    const int64_t rows = geodec__min(all, (room.free + room.lendable) / row);
    return rows > s->max_batch ? (int32_t)rows : s->max_batch;
}

bool geodec_session_takes_texts(const geodec_session *s)
{
    return s->max_pass > s->max_batch && possible(s) && !s->recur;
}

geodec_status geodec__layer_pass_check(const geodec_session *s, const geodec_batch *b, geodec_err *err)
{
    int64_t length = s->length;
    if (!geodec_session_takes_texts(s) || b->parent)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "several texts in one pass: only while experts stream, and neither with a tree "
                                        "nor with recurrent layers");
    for (int32_t i = 0; i < b->n; i++) {
        length = b->begin[i] ? 1 : length + 1;
        if (length > s->n_ctx)
            GEODEC_FAIL(GEODEC_LIMIT, "context full: row %d of the batch does not fit in %d tokens", i, s->n_ctx);
    }
    return GEODEC_OK;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------ */

/* Rows of one text that run together. */
typedef struct part {
    int32_t first, n, length; /* row of the pass; rows; of the text before them */
} part;

typedef struct pass {
    geodec_session *s;
    const geodec_batch *b;
    float **x, **sum; /* [n][d_model] residual stream; outputs of the experts */
    int32_t *id;      /* [n][n_layer][n_expert_used] */
    float *weight;
    /* choices (row n_expert_used + rank) of a layer, ascending experts and rows, and where those of an expert end */
    int32_t *by_expert, *end; /* [n n_expert_used], [n_expert] */
    part *parts;
    int32_t n_parts;
    uint8_t *memory;
    int64_t bytes;
} pass;

static geodec_status set_parts(pass *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_session *s = p->s;
    const geodec_batch *b = p->b;
    int32_t texts = 1, length = s->length;
    for (int32_t i = 1; b->begin && i < b->n; i++) texts += b->begin[i];
    GEODEC_NEW(p->parts, texts + b->n / s->max_batch + 1);
    for (int32_t i = 0; i < b->n;) {
        int32_t n = 1;
        if (b->begin && b->begin[i]) length = 0;
        while (n < s->max_batch && i + n < b->n && !(b->begin && b->begin[i + n])) n++;
        p->parts[p->n_parts++] = (part){.first = i, .n = n, .length = length};
        length += n;
        i += n;
    }
done:
    return st;
}

/* The streams are spread as those of a batch. */
static geodec_status reserve(pass *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_session *s = p->s;
    const geodec_model_config *c = &s->model->config;
    const int64_t n = p->b->n, stride = stride_of(s), choices = n * c->n_expert_used;
    p->bytes = n * row_bytes(s);
    p->memory = geodec_mem_map(p->bytes);
    if (!p->memory) GEODEC_THROW(GEODEC_NOMEM, "no memory for a pass of %lld rows", (long long)n);
    float *rows = (float *)(void *)p->memory;
    p->x = (float **)(void *)(rows + 2 * n * stride);
    p->sum = p->x + n;
    p->id = (int32_t *)(void *)(p->sum + n);
    p->weight = (float *)(void *)(p->id + choices * c->n_layer);
    p->by_expert = (int32_t *)(void *)(p->weight + choices * c->n_layer);
    for (int64_t r = 0; r < n; r++) {
        p->x[r] = rows + r * stride;
        p->sum[r] = rows + (n + r) * stride;
    }
    for (int64_t i = 0; i < choices * c->n_layer; i++) p->id[i] = -1; /* stays so in dense layers */
    GEODEC_NEW(p->end, c->n_expert);
    GEODEC_TRY(set_parts(p, err));
done:
    return st;
}

static void release(pass *p)
{
    geodec_mem_unmap(p->memory, p->bytes);
    GEODEC_FREE(p->end, p->parts);
}

/* The session as if the part were a batch of its own. */
static geodec_session view_of(const pass *p, const part *a)
{
    const geodec_model_config *c = &p->s->model->config;
    const int64_t choices = (int64_t)a->first * c->n_layer * c->n_expert_used;
    geodec_session v = *p->s;
    v.length = a->length;
    v.x_row = p->x + a->first;
    v.expert_id = p->id + choices;
    v.expert_weight = p->weight + choices;
    v.continued = a->first > 0;
    return v;
}

/* ---- experts ----------------------------------------------------------------------------------------------------- */

/* Lists the choices of a layer by expert. */
static void list_choices(pass *p, int32_t index)
{
    const geodec_model_config *c = &p->s->model->config;
    const int64_t k = c->n_expert_used, n = p->b->n;
    int32_t before = 0;
    memset(p->end, 0, (size_t)c->n_expert * sizeof *p->end);
#define CHOICE(row, rank) p->id[((row)*c->n_layer + index) * k + (rank)]
    for (int64_t i = 0; i < n * k; i++) p->end[CHOICE(i / k, i % k)]++;
    for (int32_t e = 0; e < c->n_expert; e++) {
        const int32_t count = p->end[e];
        p->end[e] = before;
        before += count;
    }
    for (int64_t i = 0; i < n * k; i++) p->by_expert[p->end[CHOICE(i / k, i % k)]++] = (int32_t)i;
#undef CHOICE
}

typedef struct visit {
    pass *p;
    int32_t index; /* of the layer */
} visit;

/* One expert of all its rows, a batch of them at a time, added to their sums. Ranks of one row that name the same
 * expert (numbers that are none) count once. */
static void run_expert(void *ctx, const geodec_stream_blob *blob)
{
    const visit *v = ctx;
    const pass *p = v->p;
    geodec_session *s = p->s;
    const geodec_model_config *c = &s->model->config;
    const geodec__layer *l = &s->model->layer[v->index];
    const int64_t k = c->n_expert_used;
    const int32_t e = blob->expert, end = p->end[e];
    for (int32_t at = e ? p->end[e - 1] : 0, last = -1; at < end;) {
        int32_t n = 0, choice[GEODEC__LAYER_PASS_ROWS];
        const int32_t most = (int32_t)geodec__min(s->max_batch, GEODEC__LAYER_PASS_ROWS);
        for (; n < most && at < end; at++) {
            const int32_t row = (int32_t)(p->by_expert[at] / k);
            if (row == last) continue;
            last = row;
            geodec__norm_row(s->kernels, l->expert_norm.weight ? &l->expert_norm : &l->ffn_norm, p->x[row],
                             s->norm_row[n]);
            s->input[n] = s->norm_row[n];
            choice[n++] = p->by_expert[at];
        }
        if (n == 0) break;
        geodec__streamed_compute(s, v->index, blob, n);
        for (int32_t i = 0; i < n; i++) {
            const int64_t row = choice[i] / k, weight = (row * c->n_layer + v->index) * k + choice[i] % k;
            geodec__experts_add(s, p->weight[weight], s->down_row[i], p->sum[row]);
        }
    }
}

static void run_experts(pass *p, int32_t index)
{
    geodec_session *s = p->s;
    const geodec_model_config *c = &s->model->config;
    int32_t count = 0;
    list_choices(p, index);
    for (int32_t e = 0; e < c->n_expert; e++)
        if (p->end[e] > (e ? p->end[e - 1] : 0)) s->needed[count++] = e;
    for (int64_t r = 0; r < p->b->n; r++) memset(p->sum[r], 0, (size_t)c->d_model * sizeof(float));
    geodec__streamed_each(s, index, count, run_expert, &(visit){p, index});
}

/* ---- a layer ----------------------------------------------------------------------------------------------------- */

static void attend(const pass *p, const part *a, int32_t index, bool routed)
{
    geodec_session v = view_of(p, a);
    geodec__forward_attend(&v, index, a->n, true);
    if (routed && !v.model->config.route_before && !v.model->config.route_raw) {
        for (int64_t r = 0; r < a->n; r++) {
            geodec__norm_row(v.kernels, &v.model->layer[index].router_norm, v.x_row[r], v.norm_row[r]);
            v.input[r] = v.norm_row[r];
        }
        geodec__experts_route(&v, &v.model->layer[index], index, a->n);
    }
    if (routed || !geodec__layer_feeds(&v.model->layer[index])) return;
    geodec__forward_feed(&v, index, a->n);
    geodec__forward_finish(&v, index, a->n, false);
}

static void finish(const pass *p, const part *a, int32_t index)
{
    geodec_session v = view_of(p, a);
    const geodec__layer *l = &v.model->layer[index];
    if (l->shared_gate.data) {
        geodec__forward_norm(&v, &l->ffn_norm, a->n);
        geodec__experts_shared(&v, l, a->n);
        for (int64_t r = 0; r < a->n; r++) geodec__experts_add_shared(&v, l, r, p->sum[a->first + r]);
    }
    v.down_row = p->sum + a->first;
    geodec__forward_finish(&v, index, a->n, false);
}

static void capture(const pass *p, const geodec_capture *c, int32_t layer)
{
    geodec_session v = *p->s;
    v.x_row = p->x;
    geodec__forward_capture(&v, c, layer, 0, p->b->n, p->b->n);
}

static geodec_status run_layers(pass *p, const geodec_capture *c, geodec_err *err)
{
    geodec_session *s = p->s;
    const geodec_hooks *hooks = s->model->streamed->options.hooks;
    for (int32_t i = 0; i < p->n_parts; i++) {
        geodec_session v = view_of(p, &p->parts[i]);
        geodec__forward_embed(&v, &(geodec_batch){.n = p->parts[i].n, .token = p->b->token + p->parts[i].first});
    }
    capture(p, c, 0);
    for (int32_t index = 0; index < s->n_blocks; index++) {
        const bool routed = s->model->layer[index].router.data != NULL;
        GEODEC_PASS(geodec_hooks_progress(hooks, "layers of a prompt", index, s->n_blocks, err));
        for (int32_t i = 0; i < p->n_parts; i++) attend(p, &p->parts[i], index, routed);
        if (routed) run_experts(p, index);
        if (s->status != GEODEC_OK) {
            if (err) *err = s->failure;
            return s->status;
        }
        for (int32_t i = 0; routed && i < p->n_parts; i++) finish(p, &p->parts[i], index);
        capture(p, c, index + 1);
    }
    return GEODEC_OK;
}

/* last: only the last row's. */
static void run_head(const pass *p, float *logits, bool last)
{
    const geodec_batch *b = p->b;
    for (int32_t i = last ? p->n_parts - 1 : 0; logits && i < p->n_parts; i++) {
        const part *a = &p->parts[i];
        geodec_session v = view_of(p, a);
        const int32_t first = last ? a->n - 1 : 0, at = a->first + first;
        v.x_row += first;
        const geodec_batch some = {.n = a->n - first, .token = b->token + at, .want = b->want ? b->want + at : NULL};
        geodec__forward_head(&v, &some, last ? logits : logits + (int64_t)at * v.model->config.n_vocab, false);
    }
}

/* What the session knows of its last pass: experts and streams of the last rows, and what follows all rows. */
static void settle(const pass *p, const geodec_capture *c)
{
    geodec_session *s = p->s;
    const geodec_model_config *k = &s->model->config;
    const int64_t n = p->b->n, kept = geodec__min(n, s->max_batch), each = (int64_t)k->n_layer * k->n_expert_used;
    if (c && c->expert) memcpy(c->expert, p->id, (size_t)(n * each) * sizeof *p->id);
    memcpy(s->expert_id, p->id + (n - kept) * each, (size_t)(kept * each) * sizeof *p->id);
    memcpy(s->expert_weight, p->weight + (n - kept) * each, (size_t)(kept * each) * sizeof *p->weight);
    for (int64_t r = 0; r < kept; r++) memcpy(s->x_row[r], p->x[n - kept + r], (size_t)k->d_model * sizeof(float));
    if (s->foreseen) geodec__streamed_passed(s, p->b, (const float *const *)p->x, p->id);
    if (s->priced) geodec__streamed_price_passed(s, p->b->n, p->id);
}

geodec_status geodec__layer_pass(geodec_session *s, const geodec_batch *b, float *logits, bool last,
                                 const geodec_capture *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = s->model;
    geodec_stream *stream = m->streamed->stream;
    pass p = {.s = s, .b = b};
    bool lent = false;
    GEODEC_TRY(geodec__recurrence_read_again(s, s->length, err));
    const int64_t bytes = b->n * (row_bytes(s) + captured_bytes(s, c));
    if (stream && !(lent = geodec_stream_lend(stream, bytes)))
        GEODEC_THROW(GEODEC_LIMIT, "a budget without room for a pass of %d rows", b->n);
    GEODEC_TRY(reserve(&p, err));
    if (s->recur) geodec__recurrence_begin(s, b->token, b->n);
    s->counters.passes++;
    s->counters.rows += b->n;
    for (int32_t i = 0; i < s->max_batch; i++) {
        s->parent[i] = i - 1;
        s->depth[i] = i;
    }
    geodec__prepare_pass(m, s->copies, s->pool, false);
    geodec__prepare_pass(m, s->prepared, s->pool, true);
    const part *newest = &p.parts[p.n_parts - 1];
    geodec__rope_reach(s, 0, (int32_t)geodec__min(s->n_ctx, (int64_t)s->length + b->n));
    geodec__streamed_begin(s, b);
    st = run_layers(&p, c, err);
    geodec__streamed_end(s);
    if (st != GEODEC_OK) goto done;
    run_head(&p, logits, last);
    s->length = newest->length + newest->n;
    settle(&p, c);
    if (s->recur) geodec__recurrence_end(s, 0, true);
done:
    release(&p);
    if (lent) geodec_stream_restore(stream);
    return st;
}

/* ---- the head alone ---------------------------------------------------------------------------------------------- */

geodec_status geodec_session_head(geodec_session *s, const float *state, int32_t n, const bool *want, float *logits,
                                  geodec_err *err)
{
    const int64_t d = s->model->config.d_model;
    if (s->engine) GEODEC_FAIL(GEODEC_UNSUPPORTED, "the head alone in integers");
    if (n < 1 || n > s->max_batch)
        GEODEC_FAIL(GEODEC_LIMIT, "a batch of %d rows; this session takes 1 to %d", n, s->max_batch);
    for (int32_t r = 0; r < n; r++) memcpy(s->x_row[r], state + r * d, (size_t)d * sizeof *state);
    if (s->foreseen) geodec__streamed_forgotten(s);
    geodec__prepare_pass(s->model, s->copies, s->pool, false);
    geodec__prepare_pass(s->model, s->prepared, s->pool, true);
    geodec__forward_head(s, &(geodec_batch){.n = n, .want = want}, logits, false);
    return GEODEC_OK;
}
