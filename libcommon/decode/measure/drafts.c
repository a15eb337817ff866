#include "measure/drafts.h"

#include "artifact/binding.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "decode/predict.h"
#include "measure/bench_internal.h"
#include "measure/draft_alone.h"

#include <math.h>
#include <string.h>

static const double gates[GEODEC_GATES] = {0, 0.1, 0.25, 0.45, 0.65, 0.85};

static geodec_status check(const geodec_bench_plan *plan, geodec_err *err)
{
    GEODEC_PASS(geodec__bench_check(plan, err));
    if (plan->max_tokens > GEODEC_DRAFT_MAX)
        GEODEC_FAIL(GEODEC_INVAL, "%lld tokens a prompt: a drafter alone writes at most %d",
                    (long long)plan->max_tokens, GEODEC_DRAFT_MAX);
    for (int32_t d = 0; d < plan->n_drafters; d++)
        if (geodec_bench_knows(&plan->drafter[d]))
            GEODEC_FAIL(GEODEC_INVAL, "drafter %s cannot run alone", plan->drafter[d].name);
    return GEODEC_OK;
}

static void add_alone(geodec_alone_row *row, const geodec_decoded *alone, const geodec_decoded *plain)
{
    int64_t first;
    const int64_t longer = alone->n > plain->n ? alone->n : plain->n;
    row->agree += longer - geodec__bench_differences(alone, plain, &first);
    row->first += first;
    row->tokens += alone->n;
    row->passes += alone->counters.target_passes;
    row->plain += plain->n;
}

static void add_gate(geodec_gate_row *row, const geodec_decoded *got, const geodec_decoded *plain)
{
    const geodec_decode_counters *c = &got->counters;
    row->proposed += c->total.proposed;
    row->reached += c->total.reached;
    row->accepted += c->total.accepted;
    row->rounds += c->rounds;
    row->drafted += c->rounds - c->length[0];
    row->passes += c->target_passes;
    row->decided += c->decided;
    row->different += geodec__bench_differences(got, plain, NULL);
}

geodec_status geodec_drafts_first_stops(const geodec_target *target, const geodec_prompts *prompts, const int32_t *stop,
                                        int32_t n_stop, int64_t *count, geodec_err *err)
{
    geodec_decoded got = {0};
    geodec_decode_options o = geodec_decode_options_default();
    int64_t stops = 0;
    o.max_tokens = 1;
    o.stop = stop;
    o.n_stop = n_stop;
    for (int64_t i = 0; i < prompts->n; i++) {
        const int64_t first = prompts->offset[i];
        GEODEC_PASS(geodec_decode(target, prompts->token + first, prompts->offset[i + 1] - first, NULL, &o, &got, err));
        stops += got.end == GEODEC_END_STOP;
        geodec_decode_free(&got);
    }
    *count = stops;
    return GEODEC_OK;
}

geodec_status geodec_drafts_count(const geodec_bench_plan *plan, const geodec_target *target, const uint8_t *class,
                                  geodec_drafts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bench_drafters drafters = {{NULL}};
    geodec_decoded plain = {0}, got = {0};
    memset(out, 0, sizeof *out);
    GEODEC_TRY(check(plan, err));
    GEODEC_TRY(geodec__bench_drafters_open(plan, &drafters, err));
    for (int64_t i = 0; i < plan->prompts->n; i++) {
        const int32_t *ids = plan->prompts->token + plan->prompts->offset[i];
        const int64_t n = plan->prompts->offset[i + 1] - plan->prompts->offset[i];
        GEODEC_TRY(geodec_hooks_progress(plan->hooks, "prompts", i, plan->prompts->n, err));
        geodec_decode_free(&plain);
        const geodec_decode_options o_plain = geodec__bench_options(plan, false, i, 0, 0);
        GEODEC_TRY(geodec_decode(target, ids, n, NULL, &o_plain, &plain, err));
        out->first_stop += plain.n == 0 && plain.end == GEODEC_END_STOP;
        for (int32_t d = 0; d < plan->n_drafters; d++) {
            geodec_decode_options o = geodec__bench_options(plan, false, i, 0, plan->gamma[plan->n_gammas - 1]);
            GEODEC_TRY(
                geodec_rejections_decode(target, ids, n, drafters.d[d], &o, class, &out->rejections[d], &got, err));
            geodec_decode_free(&got);
            GEODEC_TRY(geodec_draft_alone(target, ids, n, drafters.d[d], &o, &got, err));
            add_alone(&out->alone[d], &got, &plain);
            geodec_decode_free(&got);
            for (int g = 0; g < GEODEC_GATES; g++)
                for (int32_t k = 0; k < plan->n_gammas; k++) {
                    o.gate = gates[g];
                    o.gamma = plan->gamma[k];
                    GEODEC_TRY(geodec_decode(target, ids, n, drafters.d[d], &o, &got, err));
                    add_gate(&out->gate[d][g][k], &got, &plain);
                    geodec_decode_free(&got);
                }
        }
    }
done:
    geodec_decode_free(&plain);
    geodec_decode_free(&got);
    geodec__bench_drafters_close(&drafters);
    return st;
}

/* ---- speed ------------------------------------------------------------------------------------------------------- */

enum { COST_REPEATS = 3, RUNS = 1 + 2 * GEODEC_BENCH_DRAFTERS };

/* One run of a prompt: 0 = verifier, then for each drafter alone, both. */
static geodec_status time_run(const geodec_bench_plan *plan, const geodec_target *target, int64_t prompt, int32_t run,
                              geodec_drafter *drafter, const geodec_cost *cost, double *tokens, double *seconds,
                              geodec_decode_counters *sum, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_decoded got = {0};
    const int32_t *ids = plan->prompts->token + plan->prompts->offset[prompt];
    const int64_t n = plan->prompts->offset[prompt + 1] - plan->prompts->offset[prompt];
    geodec_decode_options o =
        geodec__bench_options(plan, false, prompt, 0, run == 0 ? 0 : plan->gamma[plan->n_gammas - 1]);
    o.clock = geodec_clock_thread_seconds;
    o.adaptive = run > 0 && run % 2 == 0;
    o.cost = *cost;
    if (run % 2 == 1)
        GEODEC_TRY(geodec_draft_alone(target, ids, n, drafter, &o, &got, err));
    else
        GEODEC_TRY(geodec_decode(target, ids, n, drafter, &o, &got, err));
    *tokens += (double)got.counters.decided;
    /* For the drafter alone, the drafting time; the model has only processed the prompt. */
    *seconds += run % 2 == 1 ? got.counters.draft_seconds : got.counters.total_seconds - got.counters.prompt_seconds;
    geodec_decode_counters_add(sum, &got.counters);
done:
    geodec_decode_free(&got);
    return st;
}

/* Speed of both by the closed form, in tokens per second. */
static double predict(const geodec_decode_counters *c, const geodec_decode_counters *plain, geodec_cost cost,
                      int32_t gamma)
{
    const double unit = plain->verify_seconds / (double)plain->target_passes;
    const double other = c->total_seconds - c->prompt_seconds - c->draft_seconds - c->verify_seconds;
    cost.c = c->total.proposed > 0 ? c->draft_seconds / (double)c->total.proposed / unit : 0;
    cost.o = other / (double)c->rounds / unit;
    return geodec__bench_tokens(c, gamma) / (geodec_predict_round(&cost, c->length, gamma) * unit);
}

geodec_status geodec_drafts_time(const geodec_bench_plan *plan, int64_t n_prompts, int32_t repeats,
                                 const geodec_target *target, geodec_three_way *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bench_drafters drafters = {{NULL}};
    double *tokens = NULL, *seconds = NULL; /* [runs][prompts] */
    geodec_decode_counters *sum = NULL;     /* [runs] */
    geodec_three_way t = {.repeats = repeats};
    geodec_cost cost, total = {0};
    GEODEC_TRY(check(plan, err));
    t.prompts = n_prompts < plan->prompts->n ? n_prompts : plan->prompts->n;
    if (t.prompts < 1 || repeats < 1)
        GEODEC_THROW(GEODEC_INVAL, "cannot time %lld prompts %d times", (long long)n_prompts, repeats);
    const int32_t runs = 1 + 2 * plan->n_drafters, longest = plan->gamma[plan->n_gammas - 1];
    GEODEC_NEW_EACH((int64_t)RUNS * t.prompts, tokens, seconds);
    GEODEC_NEW(sum, RUNS);
    GEODEC_TRY(geodec__bench_drafters_open(plan, &drafters, err));
    for (int64_t i = 0; i < t.prompts; i++) {
        GEODEC_TRY(geodec_hooks_progress(plan->hooks, "timing", i, t.prompts, err));
        GEODEC_TRY(geodec_cost_measure(target, (int32_t)(plan->max_tokens / 2), longest + 1, COST_REPEATS,
                                       geodec_clock_thread_seconds, &cost, err));
        for (int32_t b = 1; b <= cost.n; b++) total.v[b] += cost.v[b] / (double)t.prompts;
        total.n = cost.n;
        for (int32_t k = 0; k < repeats; k++)
            for (int32_t r = 0; r < runs; r++)
                GEODEC_TRY(time_run(plan, target, i, r, r > 0 ? drafters.d[(r - 1) / 2] : NULL, &cost,
                                    &tokens[r * t.prompts + i], &seconds[r * t.prompts + i], &sum[r], err));
    }
    for (int32_t r = 0; r < runs; r++) {
        geodec_estimate e;
        GEODEC_TRY(geodec_stats_ratio(t.prompts, tokens + r * t.prompts, seconds + r * t.prompts, plan->resamples,
                                      plan->seed, geodec_rng_id("three-way", (uint64_t)r), &e, err));
        if (r == 0)
            t.verifier = e;
        else if (r % 2 == 1)
            t.alone[(r - 1) / 2] = e;
        else {
            t.both[(r - 1) / 2] = e;
            t.predicted[(r - 1) / 2] = predict(&sum[r], &sum[0], total, longest);
        }
    }
    *out = t;
done:
    geodec__bench_drafters_close(&drafters);
    GEODEC_FREE(tokens, seconds, sum);
    return st;
}

enum { GATE_CELLS = GEODEC_GATES * GEODEC_BENCH_GAMMAS, MARGIN_CELLS = GEODEC_BENCH_DRAFTERS * GEODEC_MARGINS };

/* ---- the artifact of counts -------------------------------------------------------------------------------------- */

/* Figures of one drafter; the row of a gate has the draft lengths of the plan. */
typedef struct drafter {
    int64_t rejected, reached;
    double rank[GEODEC_REJECT_RANKS], probability[GEODEC_REJECT_PROBABILITIES], stop[GEODEC_REJECT_STOPS],
        class[2][GEODEC_TOKEN_CLASSES], by_class[GEODEC_TOKEN_CLASSES], position[GEODEC_BENCH_GAMMA],
        source[GEODEC_DRAFT_SOURCES_MAX], warm_up[2], gate[3][GATE_CELLS];
    int64_t different[GATE_CELLS], tokens, passes;
    double agree, first;
} drafter;

/* The margins' members and those of optional attributes: NULL where there is none. */
typedef struct drafts_file {
    drafter row[GEODEC_BENCH_DRAFTERS];
    geodec__about about;
    int32_t n, gammas, longest; /* D, G, P */
    double uniform[GEODEC_REJECT_RANKS], first_stop, chat_stop;
    int64_t lengths[GEODEC_BENCH_GAMMAS], chat_own;
    const int64_t *gamma, *own; /* lengths, chat_own */
    const double *threshold, *first_stop_chat, *margin, *perplexity, *different, *departed, *rate;
    const char *chat, *attnres;
    geodec_estimate each_perplexity[MARGIN_CELLS];
    double each_different[MARGIN_CELLS], each_departed[MARGIN_CELLS], each_rate[MARGIN_CELLS];
} drafts_file;
#define AT(m) GEODEC_AT(drafts_file, m)
#define IN(m) GEODEC_IN(drafts_file, m)
#define OF(m) GEODEC_OF_ROW(drafter, m)

/* D drafters, T thresholds, G draft lengths, P places of the longest draft, S sources. */
static const geodec_field fields[] = {
    {"/rejected", GEODEC_I64, "D", 0, "1", "first rejections", 0, OF(rejected)},
    {"/reached", GEODEC_I64, "D", 0, "1", "drafts examined", 0, OF(reached)},
    {"/rank", GEODEC_F64, "D,3", 0, "1",
     "share of the rejected drafts that are second in p, third to tenth, further down", 0, OF(rank[0])},
    {"/rank_uniform", GEODEC_F64, "3", 0, "1", "the same for a wrong token sampled uniformly: the control", 0,
     GEODEC_ARRAY(drafts_file, uniform, [0])},
    {"/probability", GEODEC_F64, "D,5", 0, "1", "share of the rejected drafts of p below 1e-4, 1e-3, 1e-2, 0.1, above",
     0, OF(probability[0])},
    {"/stop", GEODEC_F64, "D,3", 0, "1",
     "share of rejections without a stop token, of a drafted stop, where the model stopped", 0, OF(stop[0])},
    {"/class", GEODEC_F64, "D,2,5", 0, "1",
     "share of punctuation, blanks, starts and insides of words, others: of the rejected drafts, of all reached", 0,
     OF(class[0][0])},
    {"/rejection_by_class", GEODEC_F64, "D,5", 0, "1", "rejected / reached within each class; 0 for none", 0,
     OF(by_class[0])},
    {"/rejection_by_position", GEODEC_F64, "D,P", 0, "1", "rejected / reached by place in the draft; 0 for none", 0,
     OF(position[0])},
    {"/rejection_by_source", GEODEC_F64, "D,S", 0, "1", "rejected / reached by part of the drafter; 0 for none", 0,
     OF(source[0])},
    {"/rejection_warm_up", GEODEC_F64, "D,2", 0, "1",
     "rejected / reached after the first four output tokens, and within them", 0, OF(warm_up[0])},
    {"/threshold", GEODEC_F64, "T", 0, "1", "confidence below which a draft ends", 0, AT(threshold)},
    {"/gamma", GEODEC_I64, "G", 0, "1", "draft length", 0, AT(gamma)},
    {"/gate_acceptance", GEODEC_F64, "D,T,G", 0, "1", "accepted / proposed; 0 where nothing was proposed", 0,
     OF(gate[0][0])},
    {"/gate_tokens_per_pass", GEODEC_F64, "D,T,G", 0, "1", "decided / target passes", 0, OF(gate[1][0])},
    {"/gate_drafts_per_round", GEODEC_F64, "D,T,G", 0, "1", "proposed / rounds", 0, OF(gate[2][0])},
    {"/gate_different", GEODEC_I64, "D,T,G", 0, "1", "output tokens that differ from plain decoding (exact: 0)", 0,
     OF(different[0])},
    {"/alone_tokens", GEODEC_I64, "D", 0, "1", "tokens the drafter wrote alone", 0, OF(tokens)},
    {"/alone_passes", GEODEC_I64, "D", 0, "1", "passes of the model for them, counted by the model: 0", 0, OF(passes)},
    {"/alone_agree", GEODEC_F64, "D", 0, "1", "share of them equal to plain decoding's at the same place", 0,
     OF(agree)},
    {"/alone_first", GEODEC_F64, "D", 0, "1", "mean tokens of a prompt before the first difference", 0, OF(first)},
    {"/margin", GEODEC_F64, "M", GEODEC_FIELD_OPTIONAL, "nat",
     "EXPERIMENT, the published lossy rule: a draft is kept down to so much below the largest logit; 0 = greedy", 1,
     AT(margin)},
    {"/margin_perplexity", GEODEC_F64, "D,M,3", GEODEC_FIELD_OPTIONAL | GEODEC_FIELD_ZERO, "1",
     "of what the rule wrote, under the model: value, 2.5 %, 97.5 %", 1, AT(perplexity)},
    {"/margin_different", GEODEC_F64, "D,M", GEODEC_FIELD_OPTIONAL, "1", "share of its tokens that are not greedy's", 1,
     AT(different)},
    {"/margin_departed", GEODEC_F64, "D,M", GEODEC_FIELD_OPTIONAL, "1",
     "share of its tokens that are not the model's argmax after what was written", 1, AT(departed)},
    {"/margin_tokens_per_pass", GEODEC_F64, "D,M", GEODEC_FIELD_OPTIONAL, "1", "decided / target passes", 1, AT(rate)},
};
static const geodec_attr attrs[] = {
    GEODEC__ABOUT(drafts_file, "names, joined by commas", "prompts used"),
    {"first_stop", GEODEC_ATTR_F64, 0, "share of prompts whose first plain greedy token is a stop token",
     IN(first_stop)},
    {"first_stop_chat", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "the same for the prompts in a chat format",
     AT(first_stop_chat)},
    {"chat", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "name of the format", IN(chat)},
    {"chat_own", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "1: it is the model's own; 0: the model knows none", AT(own)},
    {"attnres", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "recombination of residuals in the model that decided, or off",
     IN(attnres)},
};
static const geodec_extent extents[] = {{"D", IN(n)},
                                        {"T", .plus = GEODEC_GATES},
                                        {"G", IN(gammas)},
                                        {"P", IN(longest)},
                                        {"S", .plus = GEODEC_DRAFT_SOURCES_MAX},
                                        {"M", .plus = GEODEC_MARGINS}};
const geodec_kind geodec_drafts_kind = {.name = "drafts",
                                        .major = 1,
                                        .minor = 3,
                                        .tool = "geodec-drafts",
                                        .purpose = "rejected drafts by kind, confidence gates, the drafter alone",
                                        GEODEC_TABLES(fields, attrs, extents),
                                        .rows = {"D", sizeof(drafter), offsetof(drafts_file, row), true}};

static double share(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

static void shares(const int64_t *count, int n, double *to)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) total += count[i];
    for (int i = 0; i < n; i++) to[i] = share(count[i], total);
}

static void fill_drafter(const geodec_bench_plan *plan, const geodec_drafts *s, int32_t d, drafter *to)
{
    const geodec_rejections *r = &s->rejections[d];
    const geodec_alone_row *alone = &s->alone[d];
    to->rejected = r->rejected;
    to->reached = r->reached;
    shares(r->rank, GEODEC_REJECT_RANKS, to->rank);
    shares(r->probability, GEODEC_REJECT_PROBABILITIES, to->probability);
    shares(r->stop, GEODEC_REJECT_STOPS, to->stop);
    for (int k = 0; k < 2; k++) shares(r->class[k], GEODEC_TOKEN_CLASSES, to -> class[k]);
    for (int k = 0; k < GEODEC_TOKEN_CLASSES; k++) to->by_class[k] = share(r->class[0][k], r -> class[1][k]);
    for (int k = 0; k < GEODEC_BENCH_GAMMA; k++) to->position[k] = share(r->position[0][k], r->position[1][k]);
    for (int k = 0; k < GEODEC_DRAFT_SOURCES_MAX; k++) to->source[k] = share(r->source[0][k], r->source[1][k]);
    for (int k = 0; k < 2; k++) to->warm_up[k] = share(r->warm_up[0][k], r->warm_up[1][k]);
    for (int32_t at = 0; at < GEODEC_GATES * plan->n_gammas; at++) {
        const geodec_gate_row *g = &s->gate[d][at / plan->n_gammas][at % plan->n_gammas];
        to->gate[0][at] = share(g->accepted, g->proposed);
        to->gate[1][at] = share(g->decided, g->passes);
        to->gate[2][at] = share(g->proposed, g->rounds);
        to->different[at] = g->different;
    }
    to->tokens = alone->tokens;
    to->passes = alone->passes;
    to->agree = share(alone->agree, alone->tokens);
    to->first = share(alone->first, plan->prompts->n);
}

/* A wrong token sampled uniformly. */
static void fill_uniform(int32_t n_vocab, double *uniform)
{
    const double others = n_vocab - 1, to_ten = n_vocab > 10 ? 8 : fmax(0, others - 1);
    uniform[0] = 1 / others;
    uniform[1] = to_ten / others;
    uniform[2] = 1 - uniform[0] - uniform[1];
}

static void fill_margins(const geodec_margin_row *row, drafts_file *f)
{
    for (int32_t i = 0; i < f->n * GEODEC_MARGINS; i++) {
        f->each_perplexity[i] = row[i].perplexity;
        f->each_different[i] = share(row[i].different, row[i].written);
        f->each_departed[i] = share(row[i].departed, row[i].decided);
        f->each_rate[i] = share(row[i].decided, row[i].passes);
    }
    f->margin = geodec_margin_all;
    f->perplexity = &f->each_perplexity[0].value;
    f->different = f->each_different;
    f->departed = f->each_departed;
    f->rate = f->each_rate;
}

geodec_status geodec_drafts_write(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                  const geodec_drafts *s, const geodec_margin_row *margins, int32_t n_vocab,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t prompts = plan->prompts->n;
    drafts_file *f = NULL;
    GEODEC_NEW(f, 1);
    GEODEC_TRY(geodec__bench_about_plan(plan, prompts, &f->about, err));
    f->n = plan->n_drafters;
    f->gammas = plan->n_gammas;
    f->longest = plan->gamma[plan->n_gammas - 1];
    f->threshold = gates;
    f->gamma = f->lengths;
    f->first_stop = share(s->first_stop, prompts);
    f->chat_stop = share(s->first_stop_chat, prompts);
    f->chat_own = s->chat_own;
    if (s->chat[0]) {
        f->chat = s->chat;
        f->first_stop_chat = &f->chat_stop;
        f->own = &f->chat_own;
    }
    if (s->attnres[0]) f->attnres = s->attnres;
    for (int32_t k = 0; k < plan->n_gammas; k++) f->lengths[k] = plan->gamma[k];
    for (int32_t d = 0; d < plan->n_drafters; d++) fill_drafter(plan, s, d, &f->row[d]);
    fill_uniform(n_vocab, f->uniform);
    if (margins) fill_margins(margins, f);
    GEODEC_TRY(geodec_artifact_save_as(&geodec_drafts_kind, path, p, f, err));
done:
    geodec_mem_free(f);
    return st;
}

/* ---- the artifact of times --------------------------------------------------------------------------------------- */

typedef struct times_file {
    const double *verifier, *alone, *both, *predicted;
    geodec__about about;
    int32_t n;
    int64_t repeats;
} times_file;
#undef AT
#undef IN
#define AT(m) GEODEC_AT(times_file, m)
#define IN(m) GEODEC_IN(times_file, m)

static const geodec_field time_fields[] = {
    {"/verifier", GEODEC_F64, "3", GEODEC_FIELD_ZERO, "s-1",
     "timing: tokens per second of plain decoding: value, 2.5 %, 97.5 %", 0, AT(verifier)},
    {"/alone", GEODEC_F64, "D,3", GEODEC_FIELD_ZERO, "s-1", "timing: of the drafter alone, unchecked", 0, AT(alone)},
    {"/both", GEODEC_F64, "D,3", GEODEC_FIELD_ZERO, "s-1", "timing: of speculative decoding with an adaptive length", 0,
     AT(both)},
    {"/predicted", GEODEC_F64, "D", 0, "s-1", "timing: the last by the closed form with measured v(b), c and o", 0,
     AT(predicted)},
};
static const geodec_attr time_attrs[] = {
    GEODEC__ABOUT(times_file, "names, joined by commas", "prompts timed"),
    {"repeats", GEODEC_ATTR_I64, 0, "of each prompt, in turn", IN(repeats)},
};
static const geodec_extent time_extents[] = {{"D", IN(n)}};
const geodec_kind geodec_drafts_threeway_kind = {.name = "threeway",
                                                 .major = 1,
                                                 .minor = 1,
                                                 .tool = "geodec-drafts",
                                                 .purpose = "verifier alone, drafter alone, both (timings)",
                                                 GEODEC_TABLES(time_fields, time_attrs, time_extents)};

geodec_status geodec_drafts_write_times(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                        const geodec_three_way *t, geodec_err *err)
{
    times_file f = {.verifier = &t->verifier.value,
                    .alone = &t->alone[0].value,
                    .both = &t->both[0].value,
                    .predicted = t->predicted,
                    .n = plan->n_drafters,
                    .repeats = t->repeats};
    GEODEC_PASS(geodec__bench_about_plan(plan, t->prompts, &f.about, err));
    GEODEC_PASS(geodec_artifact_save_as(&geodec_drafts_threeway_kind, path, p, &f, err));
    return GEODEC_OK;
}
