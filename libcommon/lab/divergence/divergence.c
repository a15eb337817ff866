#include "lab/divergence/divergence.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/harness/names.h"

typedef struct report {
    geodec_divergence d;
    int64_t layer, n;
    double explained;
    const char *names, *control;
} report;
#define IN(m) GEODEC_IN(report, m)

static const geodec_field fields[] = {
    {"/kl", GEODEC_F64, "2,Q", 0, "nat",
     "KL(p || q) of the next token when a state moves to its neighbour: within the chart, whole state", 0,
     GEODEC_AT(report, d.kl)},
    {"/predicted", GEODEC_F64, "K,2,Q", 0, "nat", "d^T g d / 2 by each kind of metric (attribute kinds)", 0,
     GEODEC_AT(report, d.predicted)},
    {"/rank", GEODEC_F64, "K,2,3", 0, "1",
     "Spearman's rank correlation of the two, with its 95 % bootstrap interval over texts", 0,
     GEODEC_ARRAY(report, d.rank, [0][0].value)},
    {"/difference", GEODEC_F64, "K,2,3", 0, "1", "the same minus the control kind's (attribute control)", 0,
     GEODEC_ARRAY(report, d.difference, [0][0].value)},
    {"/ratio", GEODEC_F64, "K,2", 0, "1", "median of kl / predicted (0 where predicted is 0)", 0,
     GEODEC_ARRAY(report, d.ratio, [0][0])},
};

static const geodec_attr attrs[] = {
    {"kinds", GEODEC_ATTR_STR, 0, "names along K, separated by commas", IN(names)},
    {"control", GEODEC_ATTR_STR, 0, "kind the differences are to", IN(control)},
    {"layer", GEODEC_ATTR_I64, 0, "of the states", IN(layer)},
    {"n", GEODEC_ATTR_I64, 0, "dimension of the chart", IN(n)},
    {"explained", GEODEC_ATTR_F64, 0, "share of the squared step to the neighbour that lies in the chart, mean",
     IN(explained)},
};

static const geodec_extent extents[] = {{"K", IN(d.kinds)}, {"Q", IN(d.pairs)}};

const geodec_kind geodec_divergence_kind = {
    GEODEC_ABOUT("divergence", 1, 0, "geodec-divergence",
                 "how well metrics order the divergences of next-token distributions between neighbouring states"),
    GEODEC_TABLES(fields, attrs, extents),
};

typedef struct draws {
    int64_t pairs, groups;
    int64_t *first; /* [groups + 1] of the pairs */
    int64_t *group; /* [groups] sampled */
    int64_t *index; /* [capacity] pairs sampled */
    double *a, *b;  /* [capacity] */
    int64_t capacity;
} draws;

static geodec_status redraw(draws *d, uint64_t seed, int64_t replicate, int64_t *count, geodec_err *err)
{
    *count = 0;
    geodec_stats_resample(seed, geodec_rng_id("divergence", 0), (uint64_t)replicate, d->groups, d->group);
    for (int64_t g = 0; g < d->groups; g++)
        for (int64_t i = d->first[d->group[g]]; i < d->first[d->group[g] + 1]; i++) {
            if (*count == d->capacity)
                GEODEC_FAIL(GEODEC_INTERNAL, "a sample of more than %lld pairs", (long long)*count);
            d->index[(*count)++] = i;
        }
    return GEODEC_OK;
}

static void interval(int64_t n, double *x, geodec_estimate *e)
{
    e->low = e->high = e->value;
    if (n == 0) return;
    geodec_stats_sort(n, x);
    e->low = geodec_stats_percentile(n, x, 0.025);
    e->high = geodec_stats_percentile(n, x, 0.975);
}

static geodec_status start(const geodec_divergence *d, const int32_t *group, draws *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t largest = 0;
    w->pairs = d->pairs;
    GEODEC_NEW(w->first, d->pairs + 1);
    for (int64_t i = 0; i < d->pairs; i++)
        if (i == 0 || group[i] != group[i - 1]) w->first[w->groups++] = i;
    w->first[w->groups] = d->pairs;
    for (int64_t g = 0; g < w->groups; g++)
        if (w->first[g + 1] - w->first[g] > largest) largest = w->first[g + 1] - w->first[g];
    w->capacity = largest * w->groups;
    GEODEC_NEW(w->group, w->groups);
    GEODEC_NEW_EACH(w->capacity, w->index, w->a, w->b);
done:
    return st;
}

geodec_status geodec_divergence_compute(geodec_divergence *d, const int32_t *group, int64_t replicates, uint64_t seed,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    draws w = {0};
    double *found = NULL, *gap = NULL;
    const int64_t Q = d->pairs;
    if (Q < 3) GEODEC_THROW(GEODEC_SCARCE, "%lld pairs of states; a rank correlation needs at least 3", (long long)Q);
    if (d->kinds < 1 || d->kinds > GEODEC_DIVERGENCE_KINDS || d->control < 0 || d->control >= d->kinds)
        GEODEC_THROW(GEODEC_RANGE, "%lld pairs, %lld kinds", (long long)Q, (long long)d->kinds);
    GEODEC_TRY(start(d, group, &w, err));
    GEODEC_NEW(found, d->kinds * 2 * (replicates + 1));
    GEODEC_NEW(gap, replicates + 1);
    for (int64_t r = 0; r <= replicates; r++) {
        int64_t count = Q;
        if (r > 0) GEODEC_TRY(redraw(&w, seed, r - 1, &count, err));
        for (int64_t k = 0; k < d->kinds; k++)
            for (int which = 0; which < 2; which++) {
                const double *p = d->predicted + (k * 2 + which) * Q, *t = d->kl + which * Q;
                for (int64_t i = 0; i < count; i++) {
                    const int64_t at = r > 0 ? w.index[i] : i;
                    w.a[i] = p[at];
                    w.b[i] = t[at];
                }
                GEODEC_TRY_MSG(
                    geodec_stats_rank_correlation(count, w.a, w.b, &found[(k * 2 + which) * (replicates + 1) + r], err),
                    "%s", d->name[k]);
            }
    }
    for (int64_t k = 0; k < d->kinds; k++)
        for (int which = 0; which < 2; which++) {
            double *own = found + (k * 2 + which) * (replicates + 1);
            const double *other = found + (d->control * 2 + which) * (replicates + 1);
            d->difference[k][which].value = own[0] - other[0];
            d->rank[k][which].value = own[0];
            for (int64_t r = 0; r < replicates; r++) gap[r] = own[r + 1] - other[r + 1];
            interval(replicates, gap, &d->difference[k][which]);
            for (int64_t r = 0; r < replicates; r++) gap[r] = own[r + 1];
            interval(replicates, gap, &d->rank[k][which]);
            const double *kl = d->kl + which * Q, *predicted = d->predicted + (k * 2 + which) * Q;
            int64_t count = 0;
            for (int64_t q = 0; q < Q; q++)
                if (predicted[q] > 0) w.a[count++] = kl[q] / predicted[q];
            d->ratio[k][which] = 0;
            if (count > 0) GEODEC_TRY(geodec_stats_median(count, w.a, &d->ratio[k][which], err));
        }
done:
    GEODEC_FREE(w.first, w.group, w.index, w.a, w.b, found, gap);
    return st;
}

geodec_status geodec_divergence_write(const geodec_divergence *d, int64_t layer, int64_t n, double explained,
                                      geodec_artifact *a, geodec_err *err)
{
    char names[GEODEC_ATTR_TEXT_MAX] = "";
    const report r = {*d, layer, n, explained, names, d->name[d->control]};
    for (int64_t k = 0; k < d->kinds; k++) GEODEC_PASS(geodec_names_add(names, err, "%s", d->name[k]));
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}
