#include "decode/loop.h"

#include "base/mem.h"
#include "decode/loop_internal.h"
#include "decode/verify_stochastic.h"
#include "session/model.h"

#include <string.h>

/* Slope of v(b) where it is not measured, and for the lengths of sampled drafts: the sampled tokens depend on the
 * lengths, so with measured times the text would not be reproducible from its seed. The value is assumed: the models of
 * docs/results/speed.md have 0.35 to 0.45 between 1 and 9 rows. */
static const double DEFAULT_SLOPE = 0.3;

geodec_decode_options geodec_decode_options_default(void)
{
    return (geodec_decode_options){
        .sampling = geodec_sampler_default(), .max_tokens = 128, .gamma = 4, .cost = geodec_cost_linear(DEFAULT_SLOPE)};
}

void geodec_decode_free(geodec_decoded *d)
{
    if (!d) return;
    geodec_mem_free(d->token);
    *d = (geodec_decoded){.stop = -1};
}

/* ---- before the first round -------------------------------------------------------------------------------------- */

static geodec_status check(const geodec_target *t, const int32_t *prompt, int64_t n, const geodec_drafter *drafter,
                           const geodec_decode_options *o, geodec_err *err)
{
    if (n < 1) GEODEC_FAIL(GEODEC_INVAL, "the prompt is empty; a model needs at least one token");
    if (n > t->n_ctx) GEODEC_FAIL(GEODEC_LIMIT, "the prompt has %lld tokens, the context %d", (long long)n, t->n_ctx);
    for (int64_t i = 0; i < n; i++)
        if (prompt[i] < 0 || prompt[i] >= t->n_vocab)
            GEODEC_FAIL(GEODEC_RANGE, "prompt token %lld is %d, the vocabulary has %d", (long long)i, prompt[i],
                        t->n_vocab);
    if (o->cached < 0 || o->cached >= n || o->cached > t->length(t->self))
        GEODEC_FAIL(GEODEC_INVAL, "%lld cached tokens are not valid: the prompt has %lld, the cache %d",
                    (long long)o->cached, (long long)n, t->length(t->self));
    if (o->before < 0 || o->before >= n)
        GEODEC_FAIL(GEODEC_INVAL, "%lld tokens generated before are not valid: the prompt has %lld",
                    (long long)o->before, (long long)n);
    if (o->max_tokens < 0) GEODEC_FAIL(GEODEC_INVAL, "max-tokens %lld is negative", (long long)o->max_tokens);
    if (o->gamma < 0 || o->gamma > GEODEC_DRAFT_MAX)
        GEODEC_FAIL(GEODEC_INVAL, "draft length %d is outside 0..%d", o->gamma, GEODEC_DRAFT_MAX);
    if (o->budget < 0 || o->budget > GEODEC_DRAFT_MAX)
        GEODEC_FAIL(GEODEC_INVAL, "a tree of %d drafts is outside 0..%d", o->budget, GEODEC_DRAFT_MAX);
    if (t->max_batch < 1) GEODEC_FAIL(GEODEC_INVAL, "the target takes %d rows per pass", t->max_batch);
    if (drafter && drafter->ops->wants_state && t->d_state < 1)
        GEODEC_FAIL(GEODEC_INVAL, "drafter %s needs hidden states, which the target does not provide",
                    drafter->ops->name);
    return GEODEC_OK;
}

/* Room for what is kept of the rows of a pass; nothing of it is known yet. */
static geodec_status make_rows(loop_request *r, int32_t rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_target *t = r->target;
    GEODEC_FREE(r->argmax, r->top, r->state);
    r->argmax = r->top = NULL;
    r->state = NULL;
    GEODEC_NEW(r->argmax, rows);
    if (r->wants_top) GEODEC_NEW(r->top, (int64_t)rows * GEODEC_DRAFT_TOP);
    if (r->wants_state) GEODEC_NEW(r->state, (int64_t)rows * t->d_state);
    for (int32_t i = 0; i < rows; i++) r->argmax[i] = -1;
    for (int32_t i = 0; r->top && i < rows * GEODEC_DRAFT_TOP; i++) r->top[i] = -1;
done:
    return st;
}

static geodec_status allocate(loop_request *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_target *t = r->target;
    GEODEC_NEW(r->text, r->limit);
    GEODEC_NEW(r->logits, (int64_t)r->rows * t->n_vocab);
    GEODEC_TRY(make_rows(r, t->max_batch, err));
    if (r->sampled_drafts) GEODEC_NEW(r->work, 2 * (int64_t)t->n_vocab);
    if (r->opt->adaptive) GEODEC_TRY(geodec_replay_init(&r->replay, r->wants_state ? t->d_state : 0, err));
    GEODEC_TRY(geodec_sampler_create(&r->opt->sampling, t->n_vocab, &r->sampler, err));
    if (r->opt->sampling.integers && geodec_penalty_is(&r->opt->penalty))
        GEODEC_THROW(GEODEC_UNSUPPORTED, "penalties and biases are not computed in integers");
    GEODEC_TRY(geodec_penalty_create(&r->opt->penalty, t->n_vocab, &r->guard.penalty, err));
done:
    return st;
}

static void release(loop_request *r)
{
    geodec_sampler_destroy(r->sampler);
    geodec_penalty_destroy(r->guard.penalty);
    GEODEC_FREE(r->text, r->logits, r->state, r->argmax, r->top, r->work);
    geodec_replay_free(&r->replay);
}

/* nodes: most drafts in a round. */
static void start_adapting(loop_request *r, int32_t nodes)
{
    const geodec_cost cost = r->sampled_drafts ? geodec_cost_linear(DEFAULT_SLOPE) : r->opt->cost;
    if (r->opt->memory && nodes > 0 && r->opt->memory->max == nodes && !r->sampled_drafts)
        r->adapt = *r->opt->memory;
    else
        geodec_adapt_init(&r->adapt, nodes > 0 ? nodes : 1, &cost);
}

static geodec_status set_up(loop_request *r, const int32_t *prompt, int64_t n, geodec_err *err)
{
    const geodec_target *t = r->target;
    const geodec_drafter_ops *ops = r->drafter ? r->drafter->ops : NULL;
    const int32_t gamma = ops ? r->opt->gamma : 0, nodes = gamma > 0 && r->opt->budget > 0 ? r->opt->budget : gamma;
    /* Every output token except the last needs a cache row, so a request exceeds the context by at most one token. */
    const int64_t room = (int64_t)t->n_ctx + 1 - n;
    r->guard = (geodec_guard){.min_tokens = r->opt->min_tokens, .stop = r->opt->stop, .n_stop = r->opt->n_stop};
    r->wants_state = ops && ops->wants_state;
    r->wants_top = ops && ops->wants_top;
    r->sampled_drafts = ops && ops->distribution && r->opt->sampling.temperature > 0;
    r->rows = nodes + 1 < t->max_batch ? nodes + 1 : t->max_batch;
    r->limit = n + (r->opt->max_tokens < room ? r->opt->max_tokens : room);
    GEODEC_PASS(allocate(r, err));
    memcpy(r->text, prompt, (size_t)n * sizeof *prompt);
    r->n_text = r->n_prompt = n;
    r->time.sent_before = -1;
    if (r->opt->adaptive) start_adapting(r, nodes);
    return GEODEC_OK;
}

/* Keeps rows, without their most probable tokens, until the drafter is asked. */
static geodec_status keep_rows(loop_request *r, const int32_t *token, const float *state, int32_t n, geodec_err *err)
{
    for (int32_t k = 0; k < n; k++) {
        if (r->replay.kept == GEODEC_REPLAY_ROWS && r->drafter->ops->learns) GEODEC_PASS(geodec__loop_catch_up(r, err));
        geodec_replay_add(&r->replay, token[k], r->argmax[k], state ? state + (int64_t)k * r->target->d_state : NULL);
    }
    return GEODEC_OK;
}

/* Rows of the prompt from `at`. For a drafter that backed off in an earlier request, only the last rows are kept. */
static geodec_status prefill_rows(loop_request *r, int64_t at, int32_t n, bool backed_off, geodec_err *err)
{
    const geodec_target *t = r->target;
    const int64_t early = r->n_prompt - 1 - at - GEODEC__LOOP_RESTART; /* rows before those kept */
    const int32_t skipped = !backed_off || early < 0 ? 0 : early < n ? (int32_t)early : n;
    float *state = skipped == n ? NULL : r->state;
    GEODEC_PASS_MSG(t->forward(t->self, r->text + at, NULL, n, NULL, state, err), "prompt");
    if (backed_off) {
        geodec_replay_skip(&r->replay, skipped);
        return keep_rows(r, r->text + at + skipped, state ? state + (int64_t)skipped * t->d_state : NULL, n - skipped,
                         err);
    }
    const geodec_draft_rows rows = {
        .n = n, .token = r->text + at, .argmax = r->argmax, .state = r->state, .top = r->top};
    GEODEC_PASS(geodec_drafter_observe(r->drafter, &rows, err));
    return GEODEC_OK;
}

/* Rows of the next pass of a prompt of which n are left. */
static int32_t prompt_rows(const loop_request *r, int64_t n)
{
    const geodec_target *t = r->target;
    const int64_t beside = (1 + (r->wants_top ? GEODEC_DRAFT_TOP : 0) + (r->wants_state ? t->d_state : 0)) * 4;
    const int32_t rows = t->pass_rows ? t->pass_rows(t->self, n, beside) : 0;
    const int32_t most = rows > t->max_batch ? rows : t->max_batch;
    return n < most ? (int32_t)n : most;
}

/* Prefills the prompt except its last token, which the first round forwards. */
static geodec_status prefill(loop_request *r, geodec_err *err)
{
    const geodec_target *t = r->target;
    const geodec_counters start = t->counters(t->self);
    const double clock = geodec__loop_now(r);
    const int64_t n = r->n_prompt - 1;
    const bool backed_off = r->drafter && r->opt->adaptive && r->adapt.backed_off && !r->drafter->ops->learns;
    t->truncate(t->self, (int32_t)r->opt->cached);
    if (r->opt->cached == 0) GEODEC_PASS(geodec_drafter_begin(r->drafter, err));
    const int32_t widest = prompt_rows(r, n - r->opt->cached);
    GEODEC_PASS(make_rows(r, widest > t->max_batch ? widest : t->max_batch, err));
    for (int64_t at = r->opt->cached, rows; at < n; at += rows) {
        rows = prompt_rows(r, n - at);
        if (rows > widest && rows > t->max_batch) rows = widest;
        GEODEC_PASS(geodec_hooks_progress(r->opt->hooks, "prompt", at, n, err));
        GEODEC_PASS(prefill_rows(r, at, (int32_t)rows, backed_off, err));
    }
    if (widest > t->max_batch) GEODEC_PASS(make_rows(r, t->max_batch, err));
    const geodec_counters end = t->counters(t->self);
    r->count.prompt_passes = end.passes - start.passes;
    r->count.prompt_rows = end.rows - start.rows;
    r->count.prompt_seconds = geodec__loop_now(r) - clock;
    return GEODEC_OK;
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

static geodec_status forward(loop_request *r, loop_round *x, geodec_err *err)
{
    const geodec_target *t = r->target;
    const bool suspended = r->adapt.suspended > 0;
    if (r->time.start < 0) { /* the drafter was not asked */
        r->time.start = geodec__loop_now(r);
        geodec__loop_end_round(r, r->time.start);
    }
    GEODEC_PASS(t->forward(t->self, x->token, x->chain ? NULL : x->parent, x->sent + 1, r->logits,
                           suspended ? NULL : r->state, err));
    r->time.end_before = geodec__loop_now(r);
    r->time.pass = r->time.end_before - r->time.start;
    r->time.sent_before = suspended ? -1 : x->sent;
    r->count.verify_seconds += r->time.pass;
    r->count.pass_seconds[x->sent] += r->time.pass;
    return GEODEC_OK;
}

static geodec_status ask_distribution(void *ctx, int32_t node, double *q, geodec_err *err)
{
    geodec_drafter *d = ctx;
    return d->ops->distribution(d, node, q, err);
}

/* Walks the rows of the pass. The decided tokens are the accepted drafts, followed by the last token unless it ends the
 * text. */
static geodec_status verify(loop_request *r, loop_round *x, geodec_err *err)
{
    const int32_t n_vocab = r->target->n_vocab;
    const int64_t index = geodec__loop_index(r);
    geodec_verdict *v = &x->verdict;
    int32_t token[GEODEC_DRAFT_MAX], parent[GEODEC_DRAFT_MAX];
    if (r->sampled_drafts) {
        for (int32_t i = 0; i < x->n; i++) {
            token[i] = x->draft[i].token;
            parent[i] = x->draft[i].parent;
        }
        const geodec_verify_candidates c = {.n = x->n,
                                            .token = token,
                                            .parent = parent,
                                            .row = x->row,
                                            .distribution = ask_distribution,
                                            .ctx = r->drafter};
        GEODEC_PASS(geodec_verify_stochastic(r->sampler, &r->guard, index, r->logits, n_vocab, &c, r->work, r->argmax,
                                             x->path, v, err));
    } else {
        for (int32_t i = 0; i < x->sent; i++) parent[i] = x->parent[i + 1] - 1;
        GEODEC_PASS(geodec_verify_tree(r->sampler, &r->guard, index, r->logits, n_vocab, x->token + 1,
                                       x->chain ? NULL : parent, x->sent, r->argmax, x->path, v, err));
    }
    for (int32_t k = 0; k + 1 < v->tokens; k++) x->out[k] = x->token[x->path[k + 1]];
    x->out[v->tokens - 1] = v->next;
    return GEODEC_OK;
}

/* Emits the tokens in order while the caller wants them. */
static void emit(loop_request *r, loop_round *x)
{
    const int32_t n = x->verdict.tokens - x->verdict.stopped;
    x->wanted = true;
    x->emitted = 0;
    while (x->emitted < n && x->wanted) {
        const int32_t token = x->out[x->emitted++];
        r->text[r->n_text++] = token;
        r->count.emitted++;
        x->wanted = !r->opt->emit || r->opt->emit(r->opt->ctx, token) == 0;
    }
}

/* Counts the round and updates the averages. */
static void account(loop_request *r, const loop_round *x)
{
    r->count.decided += x->emitted + (x->verdict.stopped && x->wanted);
    r->count.rounds++;
    r->count.length[x->sent]++;
    geodec__loop_tally(r, x);
    if (r->opt->adaptive && r->adapt.suspended == 0) geodec_adapt_settle(&r->adapt, x->sent, geodec__loop_examined(x));
}

/* Most probable tokens after row `row` of the pass, into place `at`. */
static void find_top(loop_request *r, int32_t row, int32_t at)
{
    float value[GEODEC_DRAFT_TOP];
    int32_t *top = r->top + (int64_t)at * GEODEC_DRAFT_TOP;
    const float *x = r->logits + (int64_t)row * r->target->n_vocab;
    for (int32_t n = geodec_largest(x, r->target->n_vocab, GEODEC_DRAFT_TOP, top, value); n < GEODEC_DRAFT_TOP; n++)
        top[n] = -1;
}

/* Moves the first `n` rows of the walk to the front, as the drafter observes them: token [n], and argmax and state of
 * the request in place. path[k] >= k. */
static void gather_rows(loop_request *r, const loop_round *x, int32_t n, int32_t *token)
{
    const int64_t d = r->target->d_state;
    for (int32_t k = 0; k < n; k++) {
        const int32_t row = x->path[k];
        token[k] = x->token[row];
        r->argmax[k] = r->argmax[row];
        if (r->adapt.suspended == 0 && r->state && row != k)
            memmove(r->state + k * d, r->state + row * d, (size_t)d * sizeof *r->state);
    }
}

/* Shows the drafter the first `n` rows of the walk and, if it asks for them, the most probable tokens of the rejected
 * rows. */
static geodec_status show_rows(loop_request *r, const loop_round *x, const int32_t *token, int32_t n, geodec_err *err)
{
    int32_t rejected[GEODEC_DRAFT_MAX + 1], n_rejected = 0;
    for (int32_t k = 0; r->top && k < n; k++) find_top(r, x->path[k], k);
    for (int32_t row = 0, k = 0; r->top && row <= x->sent; row++) {
        if (k < n && x->path[k] == row) {
            k++;
            continue;
        }
        find_top(r, row, n + n_rejected);
        rejected[n_rejected++] = x->token[row];
    }
    const geodec_draft_rows rows = {.n = n,
                                    .token = token,
                                    .argmax = r->argmax,
                                    .state = r->state,
                                    .top = r->top,
                                    .n_rejected = n_rejected,
                                    .rejected_token = rejected,
                                    .rejected_top = r->top ? r->top + (int64_t)n * GEODEC_DRAFT_TOP : NULL};
    return geodec_drafter_observe(r->drafter, &rows, err);
}

/* Keeps in the cache the rows of the newest token before the round and of the emitted tokens that have one. Shows these
 * rows to the drafter, or stores them until it is asked. */
static geodec_status commit(loop_request *r, const loop_round *x, geodec_err *err)
{
    const geodec_target *t = r->target;
    const int32_t n = x->verdict.stopped && x->wanted ? x->emitted + 1 : x->emitted;
    int32_t token[GEODEC_DRAFT_MAX + 1];
    if (x->chain)
        t->truncate(t->self, x->base + n);
    else
        t->compact(t->self, x->base, x->path, n);
    gather_rows(r, x, n, token);
    if (r->adapt.suspended > 0) {
        geodec_replay_skip(&r->replay, n);
        return GEODEC_OK;
    }
    if (r->drafter && r->opt->adaptive && (r->adapt.asked == 0 || r->replay.n > 0))
        return keep_rows(r, token, r->state, n, err);
    return show_rows(r, x, token, n, err);
}

static geodec_status round_once(loop_request *r, bool *go_on, geodec_decoded *out, geodec_err *err)
{
    loop_round x;
    const int64_t before = r->count.decided;
    x.base = r->target->length(r->target->self);
    if (x.base != r->n_text - 1)
        GEODEC_FAIL(GEODEC_INTERNAL, "the cache has %d rows for a text of %lld tokens", x.base, (long long)r->n_text);
    r->guard.text = r->text;
    r->guard.n_text = r->n_text;
    GEODEC_PASS(geodec__loop_draft(r, &x, err));
    GEODEC_PASS(forward(r, &x, err));
    GEODEC_PASS(verify(r, &x, err));
    emit(r, &x);
    account(r, &x);
    if (r->opt->round_end) r->opt->round_end(r->opt->ctx);
    if (r->count.decided == before) GEODEC_FAIL(GEODEC_INTERNAL, "a round made no progress");
    if (!x.wanted) {
        out->end = GEODEC_END_CALLER;
    } else if (x.verdict.stopped) {
        out->end = GEODEC_END_STOP;
        out->stop = x.verdict.next;
    }
    *go_on = x.wanted && !x.verdict.stopped;
    GEODEC_PASS(commit(r, &x, err));
    return GEODEC_OK;
}

/* ---- a request --------------------------------------------------------------------------------------------------- */

static geodec_streamed_read reads_since(const geodec_target *t, geodec_streamed_read start)
{
    geodec_streamed_read now;
    if (!t->reads || !t->reads(t->self, &now)) return (geodec_streamed_read){0};
    return (geodec_streamed_read){.experts = now.experts - start.experts,
                                  .visits = now.visits - start.visits,
                                  .bytes = now.bytes - start.bytes,
                                  .useful = now.useful - start.useful,
                                  .wasted = now.wasted - start.wasted,
                                  .read = now.read - start.read,
                                  .plain = now.plain - start.plain};
}

static geodec_status decode_rounds(loop_request *r, geodec_decoded *out, geodec_err *err)
{
    const geodec_target *t = r->target;
    const geodec_counters start = t->counters(t->self);
    r->reads = reads_since(t, (geodec_streamed_read){0});
    const int64_t most = r->opt->max_tokens;
    bool go_on = true;
    while (go_on && r->count.emitted < most) {
        if (r->n_text > t->n_ctx) {
            out->end = GEODEC_END_CONTEXT;
            break;
        }
        GEODEC_PASS(geodec_hooks_progress(r->opt->hooks, "decode", r->count.emitted, most, err));
        GEODEC_PASS(round_once(r, &go_on, out, err));
    }
    const geodec_counters end = t->counters(t->self);
    r->count.target_passes = end.passes - start.passes;
    r->count.reads = reads_since(t, r->reads);
    r->count.target_rows = end.rows - start.rows;
    return GEODEC_OK;
}

/* When a request continues a cached text, the drafter must know that text. A drafter that backed off starts again here,
 * and the rows kept for it are not shown. */
static geodec_status leave_drafter(loop_request *r, geodec_err *err)
{
    geodec_adapt_end_suspension(&r->adapt);
    if (r->adapt.backed_off && r->replay.n > 0 && !r->drafter->ops->learns) geodec_replay_skip(&r->replay, 0);
    return geodec__loop_catch_up(r, err);
}

geodec_status geodec_decode(const geodec_target *target, const int32_t *prompt, int64_t n, geodec_drafter *drafter,
                            const geodec_decode_options *options, geodec_decoded *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    loop_request r = {.target = target, .drafter = drafter, .opt = options};
    geodec_decoded result = {.end = GEODEC_END_LENGTH, .stop = -1};
    const double clock = geodec__loop_now(&r);
    GEODEC_TRY(check(target, prompt, n, drafter, options, err));
    GEODEC_TRY(set_up(&r, prompt, n, err));
    GEODEC_TRY(prefill(&r, err));
    GEODEC_TRY(decode_rounds(&r, &result, err));
    r.count.total_seconds = geodec__loop_now(&r) - clock;
    GEODEC_TRY(leave_drafter(&r, err));
    result.counters = r.count;
    result.n = r.n_text - n;
    GEODEC_NEW_COPY(result.token, r.text + n, result.n);
    *out = result;
    if (options->memory && !r.sampled_drafts) *options->memory = r.adapt;
done:
    release(&r);
    return st;
}
