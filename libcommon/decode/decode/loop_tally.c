#include "base/names_internal.h"
#include "decode/loop_internal.h"
#include "decode/tree.h"

static void add(geodec_tally *t, bool reached, bool accepted)
{
    t->proposed++;
    t->reached += reached;
    t->accepted += reached && accepted;
    t->rejected += reached && !accepted;
}

static void tally_draft(geodec_decode_counters *c, const geodec_draft *d, bool reached, bool accepted)
{
    int bin = (int)(d->confidence * GEODEC_CONFIDENCE_BINS);
    if (bin == GEODEC_CONFIDENCE_BINS) bin--;
    add(&c->total, reached, accepted);
    add(&c->source[d->source], reached, accepted);
    add(&c->confidence[bin], reached, accepted);
    if (reached) c->confidence_sum[bin] += d->confidence;
}

/* Compares all drafts, sent or not, with the text. */
static void learn_from_text(loop_request *r, const loop_round *x)
{
    bool reached[GEODEC_DRAFT_MAX], right[GEODEC_DRAFT_MAX];
    geodec_tree_compare(x->draft, x->proposed, x->out, geodec__loop_examined(x), reached, right);
    for (int32_t i = 0; i < x->proposed; i++)
        if (reached[i]) geodec_adapt_learn(&r->adapt, &x->draft[i], right[i]);
}

/* A draft is accepted when it is on the path of the walk and not deeper than the accepted drafts. Sampled drafts are
 * counted by this rule, others by comparison with the text, which may agree with drafts that were not sent. */
void geodec__loop_tally(loop_request *r, const loop_round *x)
{
    int32_t depth[GEODEC_DRAFT_MAX];
    const int32_t examined = geodec__loop_examined(x), accepted = x->verdict.accepted;
    bool kept[GEODEC_DRAFT_MAX], at[GEODEC_DRAFT_MAX] = {false}, reached_at[GEODEC_DRAFT_MAX] = {false};
    const bool learns = r->opt->adaptive && r->adapt.suspended == 0;
    geodec_tree_depths(x->draft, x->n, depth);
    for (int32_t i = 0; i < x->n; i++) {
        const int32_t parent = x->draft[i].parent;
        const bool reached = depth[i] < examined && (parent < 0 || kept[parent]);
        kept[i] = reached && depth[i] < accepted && x->path[depth[i] + 1] == (x->row[i] > 0 ? x->row[i] : -1 - i);
        tally_draft(&r->count, &x->draft[i], reached, kept[i]);
        if (learns && reached && r->sampled_drafts) geodec_adapt_learn(&r->adapt, &x->draft[i], kept[i]);
        at[depth[i]] = true;
        reached_at[depth[i]] |= reached;
    }
    for (int32_t k = 0; k < GEODEC_DRAFT_MAX && at[k]; k++) add(&r->count.position[k], reached_at[k], k < accepted);
    if (learns && !r->sampled_drafts) learn_from_text(r, x);
}

/* ---- sums over requests ------------------------------------------------------------------------------------------ */

static void tally_add(geodec_tally *sum, const geodec_tally *t)
{
    sum->proposed += t->proposed;
    sum->reached += t->reached;
    sum->accepted += t->accepted;
    sum->rejected += t->rejected;
}

void geodec_decode_counters_add(geodec_decode_counters *sum, const geodec_decode_counters *c)
{
    sum->emitted += c->emitted;
    sum->decided += c->decided;
    sum->rounds += c->rounds;
    sum->asks += c->asks;
    sum->target_passes += c->target_passes;
    sum->target_rows += c->target_rows;
    sum->prompt_passes += c->prompt_passes;
    sum->prompt_rows += c->prompt_rows;
    for (int i = 0; i <= GEODEC_DRAFT_MAX; i++) {
        sum->length[i] += c->length[i];
        sum->pass_seconds[i] += c->pass_seconds[i];
    }
    tally_add(&sum->total, &c->total);
    for (int i = 0; i < GEODEC_DRAFT_MAX; i++) tally_add(&sum->position[i], &c->position[i]);
    for (int i = 0; i < GEODEC_DRAFT_SOURCES_MAX; i++) tally_add(&sum->source[i], &c->source[i]);
    for (int i = 0; i < GEODEC_CONFIDENCE_BINS; i++) {
        tally_add(&sum->confidence[i], &c->confidence[i]);
        sum->confidence_sum[i] += c->confidence_sum[i];
    }
    sum->reads.experts += c->reads.experts;
    sum->reads.visits += c->reads.visits;
    sum->reads.bytes += c->reads.bytes;
    sum->reads.useful += c->reads.useful;
    sum->reads.wasted += c->reads.wasted;
    sum->reads.read += c->reads.read;
    sum->reads.plain += c->reads.plain;
    sum->prompt_seconds += c->prompt_seconds;
    sum->draft_seconds += c->draft_seconds;
    sum->verify_seconds += c->verify_seconds;
    sum->total_seconds += c->total_seconds;
}

double geodec_decode_tokens_per_pass(const geodec_decode_counters *c)
{
    return c->target_passes > 0 ? (double)c->decided / (double)c->target_passes : 0;
}

double geodec_decode_mean_accepted(const geodec_decode_counters *c)
{
    return c->rounds > 0 ? (double)c->total.accepted / (double)c->rounds : 0;
}

double geodec_decode_acceptance(const geodec_tally *t)
{
    return t->reached > 0 ? (double)t->accepted / (double)t->reached : 0;
}

GEODEC__NAME(geodec_decode_end_name, geodec_end, "length", "stop", "context", "caller")
