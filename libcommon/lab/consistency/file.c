#include "artifact/binding.h"
#include "base/mem.h"
#include "lab/consistency/correct.h"

typedef struct report {
    geodec_consistency c;
    int32_t *row; /* [held_out] of the cloud's file */
    int64_t layer, k_int;
    const char *split;
} report;
#define AT(m) GEODEC_AT(report, m)
#define IN(m) GEODEC_IN(report, m)
#define BY_METRIC(m) GEODEC_ARRAY(report, c.m, [0].value)

static const geodec_field fields[] = {
    {"/cloud_row", GEODEC_I32, "H", 0, "1", "row of the cloud of each held-out state", 0, AT(row)},
    {"/discordance", GEODEC_F64, "K,H", 0, "1",
     "share of the pairs of its neighbours whose order of length differs from that by its own neighbours' metric", 0,
     AT(c.discordance)},
    {"/step_ratio", GEODEC_F64, "K,H", 0, "1",
     "length of the step to the next state over that by its own neighbours' metric; 0 = there is no next state", 0,
     AT(c.step_ratio)},
    {"/order", GEODEC_F64, "K,3", 0, "1", "share of states with a discordance of at most tau, 95 % interval over texts",
     0, BY_METRIC(order)},
    {"/step", GEODEC_F64, "K,3", 0, "1", "share of steps with |ratio - 1| <= tau, 95 % interval", 0, BY_METRIC(step)},
    {"/score", GEODEC_F64, "K,3", 0, "1", "consistency: share of states for which both hold, 95 % interval", 0,
     BY_METRIC(score)},
    {"/gain", GEODEC_F64, "K,3", 0, "1",
     "consistency of the fitted metric less that of each, paired by text, 95 % interval", 0, BY_METRIC(gain)},
};

static const geodec_attr attrs[] = {
    {"metrics", GEODEC_ATTR_STR, 0, "names along K: the fitted metric and its controls",
     GEODEC_LIST(geodec_consistency_names)},
    {"tau", GEODEC_ATTR_F64, 0, "tolerance of order and step", IN(c.tau)},
    {"consistency", GEODEC_ATTR_F64, 0, "of the fitted metric", IN(c.score[GEODEC_CONSISTENT_FITTED].value)},
    {"consistency_shuffled", GEODEC_ATTR_F64, 0, "control: with its matrices permuted",
     IN(c.score[GEODEC_CONSISTENT_SHUFFLED].value)},
    {"layer", GEODEC_ATTR_I64, 0, "of the states", IN(layer)},
    {"n", GEODEC_ATTR_I64, 0, "dimension of the chart", IN(c.n)},
    {"k_int", GEODEC_ATTR_I64, 0, "integer intrinsic dimension of the cloud", IN(k_int)},
    {"k", GEODEC_ATTR_I64, 0, "neighbours of a state", IN(c.k)},
    {"fitted", GEODEC_ATTR_I64, 0, "states of the first half of the texts", IN(c.fitted)},
    {"held_out", GEODEC_ATTR_I64, 0, "states of the second half", IN(c.held_out)},
    {"steps", GEODEC_ATTR_I64, 0, "of these, with a next state", IN(c.steps)},
    {"units", GEODEC_ATTR_I64, 0, "texts or blocks of the second half", IN(c.units)},
    {"split", GEODEC_ATTR_STR, 0, "units of the halves: document or block", IN(split)},
};

static const geodec_extent extents[] = {{"H", IN(c.held_out)}, {"K", .plus = GEODEC_CONSISTENT_METRICS}};

const geodec_kind geodec_consistency_kind = {
    .name = "consistency",
    .major = 1,
    .minor = 0,
    .tool = "geodec-consistency",
    .purpose = "how far the metric of one half of the texts holds for the states of the other half",
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_consistency_write(const geodec_consistency *c, const geodec_cloud *source,
                                       const geodec_split *split, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    report r = {*c, NULL, source->layer, source->k_int, geodec_split_name(split->by_document)};
    GEODEC_NEW(r.row, c->held_out);
    for (int64_t i = 0; i < c->held_out; i++) r.row[i] = source->cloud_row[c->row[i]];
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    geodec_mem_free(r.row);
    return st;
}

void geodec_consistency_say(const geodec_hooks *hooks, const geodec_consistency *r)
{
    for (int m = 0; m < GEODEC_CONSISTENT_METRICS; m++) {
        const geodec_estimate *s = &r->score[m], *g = &r->gain[m];
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%-8s consistency %.3f [%.3f, %.3f]: order %.3f, step %.3f; fitted less this %.3f [%.3f, %.3f]",
            geodec_consistency_name((geodec_consistency_metric)m), s->value, s->low, s->high, r->order[m].value,
            r->step[m].value, g->value, g->low, g->high);
    }
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "%lld held-out states, %lld steps, %lld neighbours in %lld dimensions; the field from %lld states",
                     (long long)r->held_out, (long long)r->steps, (long long)r->k, (long long)r->n,
                     (long long)r->fitted);
}
