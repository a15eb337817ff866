#include "measure/drafts.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "measure/bench_internal.h"

#include <math.h>

enum { GATE_CELLS = GEODEC_GATES * GEODEC_BENCH_GAMMAS, MARGIN_CELLS = GEODEC_BENCH_DRAFTERS * GEODEC_MARGINS };

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* Of one drafter; a gate's row has the draft lengths of the plan. */
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
                                        .rows = {"D", sizeof(drafter), offsetof(drafts_file, row), true},
                                        .attrs_first = true};

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
    f->threshold = geodec_drafts_gates;
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

/* ---- times ------------------------------------------------------------------------------------------------------- */

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
                                                 GEODEC_TABLES(time_fields, time_attrs, time_extents),
                                                 .attrs_first = true};

geodec_status geodec_drafts_write_times(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                        const geodec_three_way *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    times_file f = {.verifier = &t->verifier.value,
                    .alone = &t->alone[0].value,
                    .both = &t->both[0].value,
                    .predicted = t->predicted,
                    .n = plan->n_drafters,
                    .repeats = t->repeats};
    GEODEC_TRY(geodec__bench_about_plan(plan, t->prompts, &f.about, err));
    GEODEC_TRY(geodec_artifact_save_as(&geodec_drafts_threeway_kind, path, p, &f, err));
done:
    return st;
}
