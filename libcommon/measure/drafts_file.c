#include "measure/drafts.h"

#include "base/mem.h"
#include "measure/bench_internal.h"

#include <math.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof(a)[0]))

/* D drafters, T thresholds, G draft lengths, P places of the longest draft, S sources. */
static const geodec_field fields[] = {
    {"/rejected", GEODEC_I64, "D", 0, "1", "first rejections", 0},
    {"/reached", GEODEC_I64, "D", 0, "1", "drafts examined", 0},
    {"/rank", GEODEC_F64, "D,3", 0, "1",
     "share of the rejected drafts that are second in p, third to tenth, further down", 0},
    {"/rank_uniform", GEODEC_F64, "3", 0, "1", "the same for a wrong token drawn uniformly: the control", 0},
    {"/probability", GEODEC_F64, "D,5", 0, "1", "share of the rejected drafts of p below 1e-4, 1e-3, 1e-2, 0.1, above",
     0},
    {"/stop", GEODEC_F64, "D,3", 0, "1",
     "share of rejections without a stop token, of a drafted stop, where the model stopped", 0},
    {"/class", GEODEC_F64, "D,2,5", 0, "1",
     "share of punctuation, blanks, starts and insides of words, others: of the rejected drafts, of all reached", 0},
    {"/rejection_by_class", GEODEC_F64, "D,5", 0, "1", "rejected / reached within each class; 0 for none", 0},
    {"/rejection_by_position", GEODEC_F64, "D,P", 0, "1", "rejected / reached by place in the draft; 0 for none", 0},
    {"/rejection_by_source", GEODEC_F64, "D,S", 0, "1", "rejected / reached by part of the drafter; 0 for none", 0},
    {"/rejection_warm_up", GEODEC_F64, "D,2", 0, "1",
     "rejected / reached behind the first four output tokens, and within them", 0},
    {"/threshold", GEODEC_F64, "T", 0, "1", "confidence below which a draft ends", 0},
    {"/gamma", GEODEC_I64, "G", 0, "1", "draft length", 0},
    {"/gate_acceptance", GEODEC_F64, "D,T,G", 0, "1", "accepted / proposed; 0 where nothing was proposed", 0},
    {"/gate_tokens_per_pass", GEODEC_F64, "D,T,G", 0, "1", "decided / target passes", 0},
    {"/gate_drafts_per_round", GEODEC_F64, "D,T,G", 0, "1", "proposed / rounds", 0},
    {"/gate_different", GEODEC_I64, "D,T,G", 0, "1", "output tokens that differ from plain decoding (exact: 0)", 0},
    {"/alone_tokens", GEODEC_I64, "D", 0, "1", "tokens the drafter wrote alone", 0},
    {"/alone_passes", GEODEC_I64, "D", 0, "1", "passes of the model for them, counted by the model: 0", 0},
    {"/alone_agree", GEODEC_F64, "D", 0, "1", "share of them equal to plain decoding's at the same place", 0},
    {"/alone_first", GEODEC_F64, "D", 0, "1", "mean tokens of a prompt before the first difference", 0},
    {"/margin", GEODEC_F64, "M", GEODEC_FIELD_OPTIONAL, "nat",
     "EXPERIMENT, the papers' lossy rule: a draft is kept down to so much below the largest logit; 0 = greedy", 1},
    {"/margin_perplexity", GEODEC_F64, "D,M,3", GEODEC_FIELD_OPTIONAL, "1",
     "of what the rule wrote, under the model: value, 2.5 %, 97.5 %", 1},
    {"/margin_different", GEODEC_F64, "D,M", GEODEC_FIELD_OPTIONAL, "1", "share of its tokens that are not greedy's",
     1},
    {"/margin_departed", GEODEC_F64, "D,M", GEODEC_FIELD_OPTIONAL, "1",
     "share of its tokens that are not the model's argmax behind what was written", 1},
    {"/margin_tokens_per_pass", GEODEC_F64, "D,M", GEODEC_FIELD_OPTIONAL, "1", "decided / target passes", 1},
};
static const geodec_attr attrs[] = {
    {"drafters", GEODEC_ATTR_STR, 0, "names, joined by commas"},
    {"prompts", GEODEC_ATTR_I64, 0, "prompts used"},
    {"separator", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "rule that divided the text of the prompts into documents"},
    {"documents", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "documents of that text"},
    {"max_tokens", GEODEC_ATTR_I64, 0, "output tokens of a prompt"},
    {"first_stop", GEODEC_ATTR_F64, 0, "share of prompts whose first plain greedy token is a stop token"},
    {"first_stop_chat", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "the same for the prompts in a chat format"},
    {"chat", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "name of the format"},
    {"chat_own", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "1: it is the model's own; 0: the model knows none"},
    {"attnres", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "recombination of residuals in the model that decided, or off"},
};
const geodec_kind geodec_kind_drafts = {.name = "drafts",
                                        .major = 1,
                                        .minor = 3,
                                        .tool = "geodec-drafts",
                                        .purpose = "rejected drafts by kind, confidence gates, the drafter alone",
                                        .fields = fields,
                                        .n_fields = COUNT(fields),
                                        .attrs = attrs,
                                        .n_attrs = COUNT(attrs)};

static const geodec_field time_fields[] = {
    {"/verifier", GEODEC_F64, "3", 0, "s-1", "timing: tokens per second of plain decoding: value, 2.5 %, 97.5 %", 0},
    {"/alone", GEODEC_F64, "D,3", 0, "s-1", "timing: of the drafter alone, unchecked", 0},
    {"/both", GEODEC_F64, "D,3", 0, "s-1", "timing: of speculative decoding with an adaptive length", 0},
    {"/predicted", GEODEC_F64, "D", 0, "s-1", "timing: the last by the closed form with measured v(b), c and o", 0},
};
static const geodec_attr time_attrs[] = {
    {"drafters", GEODEC_ATTR_STR, 0, "names, joined by commas"},
    {"prompts", GEODEC_ATTR_I64, 0, "prompts timed"},
    {"separator", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "rule that divided the text of the prompts into documents"},
    {"documents", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL, "documents of that text"},
    {"repeats", GEODEC_ATTR_I64, 0, "of each prompt, in turn"},
    {"max_tokens", GEODEC_ATTR_I64, 0, "output tokens of a prompt"},
};
const geodec_kind geodec_kind_threeway = {.name = "threeway",
                                          .major = 1,
                                          .minor = 1,
                                          .tool = "geodec-drafts",
                                          .purpose = "verifier alone, drafter alone, both (timings)",
                                          .fields = time_fields,
                                          .n_fields = COUNT(time_fields),
                                          .attrs = time_attrs,
                                          .n_attrs = COUNT(time_attrs)};

static double share(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

static void shares(const int64_t *count, int n, double *to)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++) total += count[i];
    for (int i = 0; i < n; i++) to[i] = share(count[i], total);
}

typedef struct columns {
    int64_t rejected[GEODEC_BENCH_DRAFTERS], reached[GEODEC_BENCH_DRAFTERS];
    double rank[GEODEC_BENCH_DRAFTERS][GEODEC_REJECT_RANKS], uniform[GEODEC_REJECT_RANKS],
        probability[GEODEC_BENCH_DRAFTERS][GEODEC_REJECT_PROBABILITIES],
        stop[GEODEC_BENCH_DRAFTERS][GEODEC_REJECT_STOPS], class[GEODEC_BENCH_DRAFTERS][2][GEODEC_TOKEN_CLASSES],
        by_class[GEODEC_BENCH_DRAFTERS][GEODEC_TOKEN_CLASSES], position[GEODEC_BENCH_DRAFTERS * GEODEC_BENCH_GAMMA],
        source[GEODEC_BENCH_DRAFTERS][GEODEC_DRAFT_SOURCES_MAX], warm_up[GEODEC_BENCH_DRAFTERS][2];
    double gate[3][GEODEC_BENCH_DRAFTERS * GEODEC_GATES * GEODEC_BENCH_GAMMAS];
    int64_t different[GEODEC_BENCH_DRAFTERS * GEODEC_GATES * GEODEC_BENCH_GAMMAS];
    int64_t gamma[GEODEC_BENCH_GAMMAS], tokens[GEODEC_BENCH_DRAFTERS], passes[GEODEC_BENCH_DRAFTERS];
    double agree[GEODEC_BENCH_DRAFTERS], first[GEODEC_BENCH_DRAFTERS];
} columns;

static void fill(const geodec_bench_plan *plan, const geodec_drafts *s, int32_t n_vocab, columns *c)
{
    const int32_t longest = plan->gamma[plan->n_gammas - 1];
    const double others = n_vocab - 1, to_ten = n_vocab > 10 ? 8 : fmax(0, others - 1);
    c->uniform[0] = 1 / others;
    c->uniform[1] = to_ten / others;
    c->uniform[2] = 1 - c->uniform[0] - c->uniform[1];
    for (int32_t k = 0; k < plan->n_gammas; k++) c->gamma[k] = plan->gamma[k];
    for (int32_t d = 0; d < plan->n_drafters; d++) {
        const geodec_rejections *r = &s->rejections[d];
        c->rejected[d] = r->rejected;
        c->reached[d] = r->reached;
        shares(r->rank, GEODEC_REJECT_RANKS, c->rank[d]);
        shares(r->probability, GEODEC_REJECT_PROBABILITIES, c->probability[d]);
        shares(r->stop, GEODEC_REJECT_STOPS, c->stop[d]);
        for (int k = 0; k < 2; k++) shares(r->class[k], GEODEC_TOKEN_CLASSES, c -> class[d][k]);
        for (int k = 0; k < GEODEC_TOKEN_CLASSES; k++) c->by_class[d][k] = share(r->class[0][k], r -> class[1][k]);
        for (int32_t k = 0; k < longest; k++)
            c->position[d * longest + k] = share(r->position[0][k], r->position[1][k]);
        for (int k = 0; k < GEODEC_DRAFT_SOURCES_MAX; k++) c->source[d][k] = share(r->source[0][k], r->source[1][k]);
        for (int k = 0; k < 2; k++) c->warm_up[d][k] = share(r->warm_up[0][k], r->warm_up[1][k]);
        for (int t = 0; t < GEODEC_GATES; t++)
            for (int32_t k = 0; k < plan->n_gammas; k++) {
                const geodec_gate_row *g = &s->gate[d][t][k];
                const int32_t at = (d * GEODEC_GATES + t) * plan->n_gammas + k;
                c->gate[0][at] = share(g->accepted, g->proposed);
                c->gate[1][at] = share(g->decided, g->passes);
                c->gate[2][at] = share(g->proposed, g->rounds);
                c->different[at] = g->different;
            }
        c->tokens[d] = s->alone[d].tokens;
        c->passes[d] = s->alone[d].passes;
        c->agree[d] = share(s->alone[d].agree, s->alone[d].tokens);
        c->first[d] = share(s->alone[d].first, plan->prompts->n);
    }
}

static void put_estimate(const geodec_estimate *e, double *to)
{
    to[0] = isfinite(e->value) ? e->value : 0; /* a drafter that said nothing */
    to[1] = isfinite(e->low) ? e->low : 0;
    to[2] = isfinite(e->high) ? e->high : 0;
}

static geodec_status write_margins(geodec_artifact *a, int32_t drafters, const geodec_margin_row *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { CELLS = GEODEC_BENCH_DRAFTERS * GEODEC_MARGINS };
    double perplexity[3 * CELLS], different[CELLS], departed[CELLS], rate[CELLS];
    for (int32_t i = 0; i < drafters * GEODEC_MARGINS; i++) {
        put_estimate(&row[i].perplexity, perplexity + 3 * (size_t)i);
        different[i] = share(row[i].different, row[i].written);
        departed[i] = share(row[i].departed, row[i].decided);
        rate[i] = share(row[i].decided, row[i].passes);
    }
    GEODEC_TRY(geodec_artifact_set_dim(a, "M", GEODEC_MARGINS, err));
    GEODEC_TRY(geodec_artifact_write(a, "/margin", geodec_margins, err));
    GEODEC_TRY(geodec_artifact_write(a, "/margin_perplexity", perplexity, err));
    GEODEC_TRY(geodec_artifact_write(a, "/margin_different", different, err));
    GEODEC_TRY(geodec_artifact_write(a, "/margin_departed", departed, err));
    GEODEC_TRY(geodec_artifact_write(a, "/margin_tokens_per_pass", rate, err));
done:
    return st;
}

geodec_status geodec_drafts_write(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                  const geodec_drafts *s, const geodec_margin_row *margins, int32_t n_vocab,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    columns *c = NULL;
    GEODEC_NEW(c, 1);
    fill(plan, s, n_vocab, c);
    const struct {
        const char *path;
        const void *data;
    } column[] = {
        {"/rejected", c->rejected},
        {"/reached", c->reached},
        {"/rank", c->rank},
        {"/rank_uniform", c->uniform},
        {"/probability", c->probability},
        {"/stop", c->stop},
        {"/class", c->class},
        {"/rejection_by_class", c->by_class},
        {"/rejection_by_position", c->position},
        {"/rejection_by_source", c->source},
        {"/rejection_warm_up", c->warm_up},
        {"/threshold", geodec_gates},
        {"/gamma", c->gamma},
        {"/gate_acceptance", c->gate[0]},
        {"/gate_tokens_per_pass", c->gate[1]},
        {"/gate_drafts_per_round", c->gate[2]},
        {"/gate_different", c->different},
        {"/alone_tokens", c->tokens},
        {"/alone_passes", c->passes},
        {"/alone_agree", c->agree},
        {"/alone_first", c->first},
    };
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_drafts, path, p, &a, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "D", plan->n_drafters, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "T", GEODEC_GATES, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "G", plan->n_gammas, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "P", plan->gamma[plan->n_gammas - 1], err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "S", GEODEC_DRAFT_SOURCES_MAX, err));
    GEODEC_TRY(geodec__bench_put_common(a, plan, plan->prompts->n, err));
    GEODEC_TRY(geodec_artifact_put_f64(a, "first_stop", share(s->first_stop, plan->prompts->n), err));
    if (s->chat[0]) {
        GEODEC_TRY(geodec_artifact_put_f64(a, "first_stop_chat", share(s->first_stop_chat, plan->prompts->n), err));
        GEODEC_TRY(geodec_artifact_put_str(a, "chat", s->chat, err));
        GEODEC_TRY(geodec_artifact_put_i64(a, "chat_own", s->chat_own, err));
    }
    if (s->attnres[0]) GEODEC_TRY(geodec_artifact_put_str(a, "attnres", s->attnres, err));
    for (int i = 0; i < COUNT(column); i++) GEODEC_TRY(geodec_artifact_write(a, column[i].path, column[i].data, err));
    if (margins) GEODEC_TRY(write_margins(a, plan->n_drafters, margins, err));
    geodec_artifact *whole = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(whole, err));
done:
    geodec_artifact_close(a);
    geodec_mem_free(c);
    return st;
}

geodec_status geodec_drafts_write_times(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                        const geodec_three_way *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *a = NULL;
    double verifier[3], alone[3 * GEODEC_BENCH_DRAFTERS], both[3 * GEODEC_BENCH_DRAFTERS];
    put_estimate(&t->verifier, verifier);
    for (int32_t d = 0; d < plan->n_drafters; d++) {
        put_estimate(&t->alone[d], alone + 3 * (size_t)d);
        put_estimate(&t->both[d], both + 3 * (size_t)d);
    }
    GEODEC_TRY(geodec_artifact_create(&geodec_kind_threeway, path, p, &a, err));
    GEODEC_TRY(geodec_artifact_set_dim(a, "D", plan->n_drafters, err));
    GEODEC_TRY(geodec__bench_put_common(a, plan, t->prompts, err));
    GEODEC_TRY(geodec_artifact_put_i64(a, "repeats", t->repeats, err));
    GEODEC_TRY(geodec_artifact_write(a, "/verifier", verifier, err));
    GEODEC_TRY(geodec_artifact_write(a, "/alone", alone, err));
    GEODEC_TRY(geodec_artifact_write(a, "/both", both, err));
    GEODEC_TRY(geodec_artifact_write(a, "/predicted", t->predicted, err));
    geodec_artifact *whole = a;
    a = NULL;
    GEODEC_TRY(geodec_artifact_commit(whole, err));
done:
    geodec_artifact_close(a);
    return st;
}
