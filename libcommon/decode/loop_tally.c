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

/* A draft is accepted when it is on the path of the walk, at most as deep as the walk accepted. Sampled drafts are
 * counted by that; others by the text, which may agree with drafts that were not sent. */
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
