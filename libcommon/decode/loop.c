#include "decode/loop.h"

#include "base/clock.h"
#include "base/mem.h"
#include "decode/tree.h"
#include "decode/verify_stochastic.h"

#include <string.h>

geodec_decode_options geodec_decode_options_default(void)
{
    return (geodec_decode_options){
        .sampling = geodec_sampling_default(), .max_tokens = 128, .gamma = 4, .cost = geodec_cost_linear(0.3)};
}

void geodec_decoded_free(geodec_decoded *d)
{
    if (!d) return;
    geodec_mem_free(d->token);
    *d = (geodec_decoded){.stop = -1};
}

/* Rows that an adaptive request keeps from a drafter that sleeps. */
enum {
    KEEP = 2 * (GEODEC_DRAFT_MAX + 1), /* and no more: */
    RESTART = 12,                      /* a drafter that slept longer than twice that starts again with the last rows */
};
typedef struct waiting {
    int64_t n;    /* rows since the drafter was last shown any */
    int64_t kept; /* the last of them, which are here, at most KEEP: row i at i % KEEP */
    int32_t token[KEEP], argmax[KEEP];
    float *state; /* [KEEP][d_state], NULL unless wanted */
} waiting;

/* What one request carries. */
typedef struct request {
    const geodec_target *target;
    geodec_drafter *drafter;
    const geodec_decode_options *opt;
    geodec_guard guard;
    geodec_sampler *sampler;
    geodec_gamma gamma;
    geodec_papers_gamma papers;
    bool wants_state, wants_top;
    bool drawn;    /* drafts are drawn from the drafter's distribution */
    double *work;  /* [2][n_vocab] when they are */
    int32_t *text; /* [n_text] prompt and output; room for `limit` */
    int64_t n_text, n_prompt, limit;
    float *logits;   /* [max rows][n_vocab] */
    float *state;    /* [max rows][d_state], NULL unless wanted */
    int32_t *argmax; /* [max rows] */
    int32_t *top;    /* [max rows][GEODEC_DRAFT_TOP], NULL unless wanted */
    int32_t rows;    /* widest pass of a round */
    waiting waiting;
    int64_t nap;   /* rounds to come in which the drafter is not asked for certain, and no row is kept from it */
    int64_t slept; /* such rounds that the choice of lengths has not been told of */
    /* Clock readings of the round under way and the one before it. */
    double asking, asked_before; /* time of asking */
    double start;                /* of the pass; < 0: not read yet */
    double end, pass;            /* of the last pass: its end, its time */
    int32_t before;              /* drafts it was of; -1 = there was none */
    geodec_decode_counters count;
} request;

static double now(const request *r) { return r->opt->clock ? r->opt->clock() : geodec_clock_seconds(); }

static geodec_status check(const geodec_target *t, const int32_t *prompt, int64_t n, const geodec_drafter *drafter,
                           const geodec_decode_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (n < 1) GEODEC_THROW(GEODEC_INVAL, "an empty prompt: a model starts from at least one token");
    if (n > t->n_ctx) GEODEC_THROW(GEODEC_LIMIT, "the prompt has %lld tokens, the context %d", (long long)n, t->n_ctx);
    for (int64_t i = 0; i < n; i++)
        if (prompt[i] < 0 || prompt[i] >= t->n_vocab)
            GEODEC_THROW(GEODEC_RANGE, "prompt token %lld is %d, the vocabulary has %d", (long long)i, prompt[i],
                         t->n_vocab);
    if (o->cached < 0 || o->cached >= n || o->cached > t->length(t->self))
        GEODEC_THROW(GEODEC_INVAL, "%lld cached tokens of a prompt of %lld, with %d in the cache", (long long)o->cached,
                     (long long)n, t->length(t->self));
    if (o->max_tokens < 0) GEODEC_THROW(GEODEC_INVAL, "max-tokens %lld is negative", (long long)o->max_tokens);
    if (o->gamma < 0 || o->gamma > GEODEC_DRAFT_MAX)
        GEODEC_THROW(GEODEC_INVAL, "draft length %d is outside 0..%d", o->gamma, GEODEC_DRAFT_MAX);
    if (o->budget < 0 || o->budget > GEODEC_DRAFT_MAX)
        GEODEC_THROW(GEODEC_INVAL, "a tree of %d drafts is outside 0..%d", o->budget, GEODEC_DRAFT_MAX);
    if (o->papers_rule && (o->adaptive || o->budget > 0))
        GEODEC_THROW(GEODEC_INVAL, "the papers' rule is for chains, in the place of the adaptive length");
    if (t->max_batch < 1) GEODEC_THROW(GEODEC_INVAL, "a target that takes %d rows a pass", t->max_batch);
    if (drafter && drafter->ops->wants_state && t->d_state < 1)
        GEODEC_THROW(GEODEC_INVAL, "drafter %s needs hidden states, the target has none to give", drafter->ops->name);
done:
    return st;
}

static geodec_status set_up(request *r, const int32_t *prompt, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_target *t = r->target;
    r->guard = (geodec_guard){r->opt->min_tokens, r->opt->stop, r->opt->n_stop};
    r->wants_state = r->drafter && r->drafter->ops->wants_state;
    r->drawn = r->drafter && r->drafter->ops->distribution && r->opt->sampling.temperature > 0;
    if (r->drawn) GEODEC_NEW(r->work, 2 * (int64_t)t->n_vocab);
    const int32_t gamma = r->drafter ? r->opt->gamma : 0,
                  nodes = gamma > 0 && r->opt->budget > 0 ? r->opt->budget : gamma;
    r->rows = nodes + 1 < t->max_batch ? nodes + 1 : t->max_batch;
    /* Every output token but the last needs a cache row, so a request cannot outgrow the context by more than one. */
    const int64_t room = (int64_t)t->n_ctx + 1 - n;
    r->limit = n + (r->opt->max_tokens < room ? r->opt->max_tokens : room);
    GEODEC_NEW(r->text, r->limit);
    memcpy(r->text, prompt, (size_t)n * sizeof *prompt);
    r->n_text = r->n_prompt = n;
    GEODEC_NEW(r->logits, (int64_t)r->rows * t->n_vocab);
    GEODEC_NEW(r->argmax, t->max_batch);
    r->wants_top = r->drafter && r->drafter->ops->wants_top;
    if (r->wants_top) GEODEC_NEW(r->top, (int64_t)t->max_batch * GEODEC_DRAFT_TOP);
    if (r->wants_state) GEODEC_NEW(r->state, (int64_t)t->max_batch * t->d_state);
    GEODEC_TRY(geodec_sampler_create(&r->opt->sampling, t->n_vocab, &r->sampler, err));
    /* Which tokens are drawn depends on the lengths chosen: by a clock, the same seed would not give the same text. */
    const geodec_cost cost = r->drawn ? geodec_cost_linear(0.3) : r->opt->cost;
    r->before = -1;
    r->papers = geodec_papers_gamma_start(gamma);
    if (r->opt->adaptive) {
        if (r->opt->memory && nodes > 0 && r->opt->memory->max == nodes && !r->drawn)
            r->gamma = *r->opt->memory;
        else
            geodec_gamma_init(&r->gamma, nodes > 0 ? nodes : 1, &cost);
        if (r->wants_state) GEODEC_NEW(r->waiting.state, (int64_t)KEEP * t->d_state);
    }
done:
    return st;
}

/* Most probable tokens behind row `row` of the pass, into place `at`. */
static void find_top(request *r, int32_t row, int32_t at)
{
    float value[GEODEC_DRAFT_TOP];
    int32_t *top = r->top + (int64_t)at * GEODEC_DRAFT_TOP;
    const float *x = r->logits + (int64_t)row * r->target->n_vocab;
    for (int32_t n = geodec_largest(x, r->target->n_vocab, GEODEC_DRAFT_TOP, top, value); n < GEODEC_DRAFT_TOP; n++)
        top[n] = -1;
}

/* Shows the drafter what it missed; after a long sleep the end of it, as a text of its own. */
static geodec_status catch_up(request *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    waiting *w = &r->waiting;
    int64_t i = w->n - w->kept;
    if (i > 0 || (w->n > 2 * RESTART && !r->drafter->ops->learns)) {
        GEODEC_TRY(geodec_drafter_begin(r->drafter, err));
        if (w->kept > RESTART) i = w->n - RESTART;
    }
    while (i < w->n) { /* in runs that do not wrap */
        const int64_t at = i % KEEP, run = w->n - i < KEEP - at ? w->n - i : KEEP - at;
        const geodec_draft_rows rows = {.n = run,
                                        .token = w->token + at,
                                        .argmax = w->argmax + at,
                                        .state = w->state ? w->state + at * r->target->d_state : NULL};
        GEODEC_TRY(geodec_drafter_observe(r->drafter, &rows, err));
        i += run;
    }
    w->n = w->kept = 0;
done:
    return st;
}

/* Puts rows by until the drafter is asked; the most probable tokens behind them are not looked for. */
static geodec_status put_by(request *r, const int32_t *token, const float *state, int32_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    waiting *w = &r->waiting;
    const int64_t d = r->target->d_state;
    for (int32_t k = 0; k < n; k++) {
        if (w->kept == KEEP && r->drafter->ops->learns) GEODEC_TRY(catch_up(r, err));
        const int64_t at = w->n++ % KEEP;
        if (w->kept < KEEP) w->kept++;
        w->token[at] = token[k];
        w->argmax[at] = r->argmax[k];
        if (w->state) memcpy(w->state + at * d, state + k * d, (size_t)d * sizeof *w->state);
    }
done:
    return st;
}

/* Rows go by that the drafter will not be shown. */
static void pass_by(request *r, int64_t n)
{
    r->waiting.n += n;
    r->waiting.kept = 0;
}

/* How long may the drafter be left alone? The last rows before it is asked are kept for it. */
static void fall_asleep(request *r)
{
    const int64_t nap = geodec_gamma_nap(&r->gamma) - RESTART;
    r->nap = nap > 0 && !r->drafter->ops->learns ? nap : 0;
}

static void tell_slept(request *r)
{
    if (r->slept > 0) geodec_gamma_slept(&r->gamma, r->slept);
    r->slept = 0;
}

/* All of the prompt but its last token, which the first round forwards. */
static geodec_status prefill(request *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_target *t = r->target;
    const geodec_counters start = t->counters(t->self);
    const double clock = now(r);
    t->truncate(t->self, (int32_t)r->opt->cached);
    if (r->opt->cached == 0) GEODEC_TRY(geodec_drafter_begin(r->drafter, err));
    for (int32_t i = 0; i < t->max_batch; i++) r->argmax[i] = -1;
    for (int32_t i = 0; r->top && i < t->max_batch * GEODEC_DRAFT_TOP; i++) r->top[i] = -1;
    const int64_t n = r->n_prompt - 1;
    const bool asleep = r->drafter && r->opt->adaptive && r->gamma.asleep && !r->drafter->ops->learns;
    for (int64_t at = r->opt->cached; at < n; at += t->max_batch) {
        const int32_t chunk = (int32_t)(n - at < t->max_batch ? n - at : t->max_batch);
        GEODEC_TRY(geodec_hooks_progress(r->opt->hooks, "prompt", at, n, err));
        /* Where it was left asleep, the end of the prompt is kept for it. */
        const int32_t skipped = !asleep ? 0 : (int32_t)(n - at - RESTART < chunk ? n - at - RESTART : chunk);
        GEODEC_TRY_MSG(t->forward(t->self, r->text + at, NULL, chunk, NULL, skipped == chunk ? NULL : r->state, err),
                       "prompt");
        const geodec_draft_rows rows = {
            .n = chunk, .token = r->text + at, .argmax = r->argmax, .state = r->state, .top = r->top};
        if (!asleep) {
            GEODEC_TRY(geodec_drafter_observe(r->drafter, &rows, err));
            continue;
        }
        const int32_t first = skipped > 0 ? skipped : 0;
        pass_by(r, first);
        GEODEC_TRY(put_by(r, rows.token + first, r->state ? r->state + (int64_t)first * t->d_state : NULL,
                          chunk - first, err));
    }
    const geodec_counters end = t->counters(t->self);
    r->count.prompt_passes = end.passes - start.passes;
    r->count.prompt_rows = end.rows - start.rows;
    r->count.prompt_seconds = now(r) - clock;
done:
    return st;
}

/* What a round drafted, and what of it went into the pass. */
typedef struct drafted {
    geodec_draft draft[GEODEC_DRAFT_MAX];
    int32_t n;                           /* proposed, and worth sending */
    int32_t proposed;                    /* in all: those behind n are judged by the text alone */
    int32_t row[GEODEC_DRAFT_MAX];       /* of each draft in the pass; 0 = it was not sent */
    int32_t token[GEODEC_DRAFT_MAX + 1]; /* of the pass: the newest token, then the drafts sent */
    int32_t parent[GEODEC_DRAFT_MAX + 1];
    int32_t sent;
    bool chain; /* each row of the pass follows the one before it */
} drafted;

/* Drops drafts of too low a confidence and all that follow them. */
static void apply_gate(drafted *d, double gate)
{
    int32_t place[GEODEC_DRAFT_MAX], kept = 0;
    for (int32_t i = 0; i < d->n; i++) {
        geodec_draft x = d->draft[i];
        place[i] = -1;
        if (x.confidence < gate || (x.parent >= 0 && place[x.parent] < 0)) continue;
        if (x.parent >= 0) x.parent = place[x.parent];
        place[i] = kept;
        d->draft[kept++] = x;
    }
    d->n = kept;
}

/* Ids that cannot be output are not sent, nor what follows them; they stay proposed, and wrong. Of drafts that were
 * drawn, the same holds for those behind `most` and below the gate, but they may prove right (verify_stochastic.h). */
static void choose_rows(const request *r, drafted *d, int32_t most)
{
    int32_t depth[GEODEC_DRAFT_MAX];
    const int64_t index = r->n_text - r->n_prompt;
    geodec_tree_depths(d->draft, d->n, depth);
    d->token[0] = r->text[r->n_text - 1];
    d->parent[0] = -1;
    d->sent = 0;
    for (int32_t i = 0; i < d->n; i++) {
        const geodec_draft *x = &d->draft[i];
        d->row[i] = 0;
        if (r->drawn && (i >= most || x->confidence < r->opt->gate)) continue;
        if (x->token < 0 || x->token >= r->target->n_vocab ||
            geodec_guard_forbids(&r->guard, index + depth[i], x->token))
            continue;
        if (x->parent >= 0 && d->row[x->parent] == 0) continue;
        d->row[i] = ++d->sent;
        d->token[d->sent] = x->token;
        d->parent[d->sent] = x->parent < 0 ? 0 : d->row[x->parent];
    }
    d->chain = true;
    for (int32_t k = 1; k <= d->sent; k++) d->chain = d->chain && d->parent[k] == k - 1;
}

/* The round before this one ends here: what its parts took, for the next choices. */
static void end_round(request *r, double clock)
{
    const double unit = r->gamma.cost.seconds;
    if (r->opt->adaptive && unit > 0 && r->before >= 0)
        geodec_gamma_times(&r->gamma, r->before, r->asked_before / unit, r->pass / unit, (clock - r->end) / unit);
    r->before = -1;
}

/* Asks the drafter, and fills in the pass. */
static geodec_status draft(request *r, drafted *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_target *t = r->target;
    d->n = d->proposed = 0;
    /* A round emits one token more than it accepts: the last of the allowance needs no draft. */
    const int64_t left = r->limit - r->n_text - 1, cache = (int64_t)t->n_ctx - r->n_text;
    int64_t room = r->rows - 1;
    if (cache < room) room = cache;
    if (r->opt->budget == 0 && left < room) room = left;
    int32_t most = (int32_t)(room > 0 && left > 0 ? room : 0), send = GEODEC_DRAFT_MAX; /* drafts */
    r->start = -1;
    r->asked_before = r->asking;
    r->asking = 0;
    if (r->opt->adaptive) r->gamma.asked = 0;
    if (r->drafter && r->opt->papers_rule && most > 0) most = geodec_papers_gamma_ask(&r->papers, most);
    if (r->nap > 0 && --r->nap == 0) tell_slept(r);
    if (r->nap > 0) {
        most = 0;
    } else if (r->drafter && r->opt->adaptive && most > 0) {
        most = geodec_gamma_ask(&r->gamma, most);
        if (r->gamma.asleep) fall_asleep(r);
    }
    r->slept += r->nap > 0;
    if (r->drafter && most > 0) {
        const double begun = now(r);
        double clock = begun, trial = 0;
        end_round(r, clock);
        const bool slept = r->waiting.n > 2;
        const double unit = r->gamma.cost.seconds;
        if (r->waiting.n > 0) GEODEC_TRY(catch_up(r, err));
        if (slept) clock = now(r);
        geodec_draft_request q = {.context = r->text,
                                  .n_context = r->n_text,
                                  .gamma = most,
                                  .sampled = r->opt->sampling.temperature > 0,
                                  .index = r->n_text - r->n_prompt,
                                  .guard = &r->guard,
                                  .sampling = r->drawn ? &r->opt->sampling : NULL,
                                  .least = r->opt->adaptive && !r->drawn ? r->gamma.least : NULL,
                                  .pace = r->opt->adaptive && !r->drawn ? &r->gamma : NULL,
                                  .clock = r->opt->clock ? r->opt->clock : geodec_clock_seconds,
                                  .trial = &trial};
        if (r->opt->budget > 0) {
            q.budget = most;
            if (q.gamma > r->opt->gamma) q.gamma = r->opt->gamma;
            if (q.gamma > left) q.gamma = (int32_t)left;
        }
        GEODEC_TRY(geodec_drafter_propose(r->drafter, &q, d->draft, &d->n, err));
        r->start = now(r);
        r->asking = r->start - clock - trial;
        if (slept && unit > 0) { /* what is caught up in the first ask is not what asking costs from now on, either */
            const double due = r->gamma.asking * r->gamma.slow * unit;
            if (due > 0 && r->asking > due) {
                clock += r->asking - due;
                r->asking = due;
            }
            geodec_gamma_woken(&r->gamma, (clock - begun) / unit);
        }
        r->count.draft_seconds += r->start - begun;
        r->count.asks++;
        d->proposed = d->n;
        if (r->opt->adaptive) send = geodec_gamma_send(&r->gamma, d->draft, d->n);
        if (!r->drawn && send < d->n) d->n = send;
        if (!r->drawn && r->opt->gate > 0) {
            apply_gate(d, r->opt->gate);
            d->proposed = d->n;
        }
    }
    choose_rows(r, d, send);
done:
    return st;
}

static void tally(request *r, const geodec_draft *d, bool reached, bool accepted)
{
    int bin = (int)(d->confidence * GEODEC_CONFIDENCE_BINS);
    if (bin == GEODEC_CONFIDENCE_BINS) bin--;
    geodec_decode_counters *c = &r->count;
    geodec_tally *const t[] = {&c->total, &c->source[d->source], &c->confidence[bin]};
    for (int i = 0; i < 3; i++) {
        t[i]->proposed++;
        t[i]->reached += reached;
        t[i]->accepted += reached && accepted;
        t[i]->rejected += reached && !accepted;
    }
    if (reached) c->confidence_sum[bin] += d->confidence;
    if (reached && r->opt->adaptive && r->drawn) geodec_gamma_learn(&r->gamma, d, accepted);
}

/* The text judges what was drafted, sent or not: token [n] came. */
static void learn(request *r, const drafted *d, const int32_t *token, int32_t n)
{
    int32_t depth[GEODEC_DRAFT_MAX];
    bool right[GEODEC_DRAFT_MAX];
    geodec_tree_depths(d->draft, d->proposed, depth);
    for (int32_t i = 0; i < d->proposed; i++) {
        const geodec_draft *x = &d->draft[i];
        right[i] = false;
        if (depth[i] >= n || (x->parent >= 0 && !right[x->parent])) continue;
        right[i] = x->token == token[depth[i]];
        geodec_gamma_learn(&r->gamma, x, right[i]);
    }
}

/* path: rows of the walk; drafts at depth < accepted were accepted where they are on it; `examined` rows were drawn
 * before the output ended. */
static void tally_round(request *r, const drafted *d, const int32_t *path, int32_t accepted, int32_t examined)
{
    int32_t depth[GEODEC_DRAFT_MAX];
    bool kept[GEODEC_DRAFT_MAX], at[GEODEC_DRAFT_MAX] = {false}, reached_at[GEODEC_DRAFT_MAX] = {false};
    geodec_tree_depths(d->draft, d->n, depth);
    for (int32_t i = 0; i < d->n; i++) {
        const int32_t parent = d->draft[i].parent;
        const bool reached = depth[i] < examined && (parent < 0 || kept[parent]);
        kept[i] = reached && depth[i] < accepted && path[depth[i] + 1] == (d->row[i] > 0 ? d->row[i] : -1 - i);
        tally(r, &d->draft[i], reached, kept[i]);
        at[depth[i]] = true;
        reached_at[depth[i]] |= reached;
    }
    for (int32_t k = 0; k < GEODEC_DRAFT_MAX && at[k]; k++) {
        geodec_tally *t = &r->count.position[k];
        t->proposed++;
        t->reached += reached_at[k];
        t->accepted += reached_at[k] && k < accepted;
        t->rejected += reached_at[k] && k >= accepted;
    }
}

/* Emits token by token, left to right; *kept tokens went out before the output ended. */
static bool emit(request *r, const int32_t *token, int32_t n, int32_t *kept)
{
    bool go_on = true;
    int32_t k = 0;
    while (k < n && go_on) {
        r->text[r->n_text++] = token[k];
        r->count.emitted++;
        if (r->opt->emit && r->opt->emit(r->opt->ctx, token[k]) != 0) go_on = false;
        k++;
    }
    *kept = k;
    return go_on;
}

/* Leaves the first `n` rows of the walk in the cache and shows them to the drafter. */
static geodec_status commit(request *r, const drafted *d, const int32_t *path, int32_t base, int32_t n, geodec_err *err)
{
    const geodec_target *t = r->target;
    int32_t token[GEODEC_DRAFT_MAX + 1], spare[GEODEC_DRAFT_MAX + 1], n_spare = 0;
    if (d->chain)
        t->truncate(t->self, base + n);
    else
        t->compact(t->self, base, path, n);
    for (int32_t k = 0; k < n; k++) { /* path[k] >= k */
        token[k] = d->token[path[k]];
        r->argmax[k] = r->argmax[path[k]];
        if (r->nap == 0 && r->state && path[k] != k)
            memmove(r->state + (int64_t)k * t->d_state, r->state + (int64_t)path[k] * t->d_state,
                    (size_t)t->d_state * sizeof *r->state);
    }
    if (r->nap > 0) {
        pass_by(r, n);
        return GEODEC_OK;
    }
    if (r->drafter && r->opt->adaptive && (r->gamma.asked == 0 || r->waiting.n > 0))
        return put_by(r, token, r->state, n, err);
    if (r->top) {
        for (int32_t k = 0; k < n; k++) find_top(r, path[k], k);
        for (int32_t row = 0, k = 0; row <= d->sent; row++) {
            if (k < n && path[k] == row) {
                k++;
                continue;
            }
            find_top(r, row, n + n_spare);
            spare[n_spare++] = d->token[row];
        }
    }
    const geodec_draft_rows rows = {.n = n,
                                    .token = token,
                                    .argmax = r->argmax,
                                    .state = r->state,
                                    .top = r->top,
                                    .n_spare = n_spare,
                                    .spare_token = spare,
                                    .spare_top = r->top ? r->top + (int64_t)n * GEODEC_DRAFT_TOP : NULL};
    return geodec_drafter_observe(r->drafter, &rows, err);
}

static geodec_status ask_distribution(void *ctx, int32_t node, double *q, geodec_err *err)
{
    geodec_drafter *d = ctx;
    return d->ops->distribution(d, node, q, err);
}

/* Walks the rows of the pass. */
static geodec_status verify(request *r, const drafted *d, int32_t *path, geodec_verdict *v, geodec_err *err)
{
    const geodec_target *t = r->target;
    const int64_t index = r->n_text - r->n_prompt;
    int32_t token[GEODEC_DRAFT_MAX], parent[GEODEC_DRAFT_MAX];
    if (!r->drawn) {
        for (int32_t i = 0; i < d->sent; i++) parent[i] = d->parent[i + 1] - 1;
        return geodec_verify_tree(r->sampler, &r->guard, index, r->logits, t->n_vocab, d->token + 1,
                                  d->chain ? NULL : parent, d->sent, r->argmax, path, v, err);
    }
    for (int32_t i = 0; i < d->n; i++) {
        token[i] = d->draft[i].token;
        parent[i] = d->draft[i].parent;
    }
    const geodec_candidates c = {.n = d->n,
                                 .token = token,
                                 .parent = parent,
                                 .row = d->row,
                                 .distribution = ask_distribution,
                                 .ctx = r->drafter};
    return geodec_verify_stochastic(r->sampler, &r->guard, index, r->logits, t->n_vocab, &c, r->work, r->argmax, path,
                                    v, err);
}

static geodec_status round_once(request *r, bool *go_on, geodec_decoded *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_target *t = r->target;
    drafted d;
    int32_t path[GEODEC_DRAFT_MAX + 1], kept = 0;
    geodec_verdict v;
    const int32_t base = t->length(t->self);
    const int64_t before = r->count.decided;
    if (base != r->n_text - 1)
        GEODEC_THROW(GEODEC_INTERNAL, "the cache holds %d rows for a text of %lld tokens", base, (long long)r->n_text);

    GEODEC_TRY(draft(r, &d, err));
    if (r->start < 0) { /* not asked */
        r->start = now(r);
        end_round(r, r->start);
    }
    const bool nap = r->nap > 0;
    GEODEC_TRY(
        t->forward(t->self, d.token, d.chain ? NULL : d.parent, d.sent + 1, r->logits, nap ? NULL : r->state, err));
    r->end = now(r);
    r->pass = r->end - r->start;
    r->before = nap ? -1 : d.sent;
    r->count.verify_seconds += r->pass;
    r->count.pass_seconds[d.sent] += r->pass;
    GEODEC_TRY(verify(r, &d, path, &v, err));

    /* The tokens of this round: the drafts that were drawn, then the last draw unless it is the end. */
    int32_t token[GEODEC_DRAFT_MAX + 1];
    for (int32_t k = 0; k + 1 < v.draws; k++) token[k] = d.token[path[k + 1]];
    token[v.draws - 1] = v.next;
    const bool more = emit(r, token, v.draws - v.stopped, &kept);
    r->count.decided += kept + (v.stopped && more);
    r->count.rounds++;
    r->count.length[d.sent]++;
    tally_round(r, &d, path, v.accepted, more ? v.draws : kept);
    if (r->opt->adaptive && !nap) {
        if (!r->drawn) learn(r, &d, token, more ? v.draws : kept);
        geodec_gamma_settle(&r->gamma, d.sent, more ? v.draws : kept);
    }
    if (r->opt->papers_rule) geodec_papers_gamma_settle(&r->papers, d.sent, v.accepted);
    if (r->opt->round_end) r->opt->round_end(r->opt->ctx);

    if (r->count.decided == before) GEODEC_THROW(GEODEC_INTERNAL, "a round made no progress");
    if (!more) {
        out->end = GEODEC_END_CALLER;
        *go_on = false;
    } else if (v.stopped) {
        out->end = GEODEC_END_STOP;
        out->stop = v.next;
        *go_on = false;
    }
    /* Rows of the newest token before the round and of what was emitted, except the token that has no row yet. */
    GEODEC_TRY(commit(r, &d, path, base, v.stopped && more ? kept + 1 : kept, err));
done:
    return st;
}

geodec_status geodec_decode(const geodec_target *target, const int32_t *prompt, int64_t n, geodec_drafter *drafter,
                            const geodec_decode_options *options, geodec_decoded *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    request r = {.target = target, .drafter = drafter, .opt = options};
    geodec_decoded result = {.end = GEODEC_END_LENGTH, .stop = -1};
    const double clock = now(&r);
    GEODEC_TRY(check(target, prompt, n, drafter, options, err));
    GEODEC_TRY(set_up(&r, prompt, n, err));
    GEODEC_TRY(prefill(&r, err));

    const geodec_counters start = target->counters(target->self);
    bool go_on = true;
    while (go_on && r.count.emitted < options->max_tokens) {
        if (r.n_text > target->n_ctx) {
            result.end = GEODEC_END_CONTEXT;
            break;
        }
        GEODEC_TRY(geodec_hooks_progress(options->hooks, "decode", r.count.emitted, options->max_tokens, err));
        GEODEC_TRY(round_once(&r, &go_on, &result, err));
    }
    const geodec_counters end = target->counters(target->self);
    r.count.target_passes = end.passes - start.passes;
    r.count.target_rows = end.rows - start.rows;
    r.count.total_seconds = now(&r) - clock;
    tell_slept(&r);
    if (r.waiting.n >
        0) { /* the drafter must know the text that the cache holds; one that backed off needs little of it */
        if (r.gamma.asleep && !drafter->ops->learns) r.waiting.kept = 0;
        GEODEC_TRY(catch_up(&r, err));
    }
    result.counters = r.count;
    result.n = r.n_text - n;
    GEODEC_NEW(result.token, result.n);
    memcpy(result.token, r.text + n, (size_t)result.n * sizeof *result.token);
    *out = result;
    if (options->memory && !r.drawn) *options->memory = r.gamma;
done:
    geodec_sampler_destroy(r.sampler);
    geodec_mem_free(r.text);
    geodec_mem_free(r.logits);
    geodec_mem_free(r.state);
    geodec_mem_free(r.argmax);
    geodec_mem_free(r.top);
    geodec_mem_free(r.work);
    geodec_mem_free(r.waiting.state);
    return st;
}
