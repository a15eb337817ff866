#include "drafters/ablation.h"

#include "base/mem.h"

#include <string.h>

enum { TOP = GEODEC_ABLATION_TOP, FIGURES = 3 /* first, among eight, claimed */ };

/* ---- counts as a drafter ---------------------------------------------------------------------------------------- */

typedef struct counts_drafter {
    geodec_drafter base;
    geodec_drafter_ops ops;
    const geodec_counts *counts;
    bool by_token;
} counts_drafter;

static geodec_status counts_children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                     geodec_err *err)
{
    (void)err;
    const counts_drafter *d = (const counts_drafter *)base;
    const int64_t cell = d->by_token ? base->token[node] : 0;
    *n = cell < 0 || cell >= d->counts->cells ? 0 : geodec_step_children(base, node, d->counts, cell, 0, 1, most, out);
    return GEODEC_OK;
}

geodec_status geodec_ablation_counts_drafter(const geodec_counts *counts, const char *name, bool by_token,
                                             geodec_drafter **out, geodec_err *err)
{
    static const char *const sources[] = {"table"};
    geodec_status st = GEODEC_OK;
    counts_drafter *d = NULL;
    GEODEC_NEW(d, 1);
    d->ops = (geodec_drafter_ops){.name = name, .n_sources = 1, .source_name = sources, .children = counts_children};
    d->base.ops = &d->ops;
    d->counts = counts;
    d->by_token = by_token;
    *out = &d->base;
done:
    return st;
}

/* ---- the ablation ----------------------------------------------------------------------------------------------- */

/* Evaluates all variants at the places of one text; adds to sum [n][FIGURES]. */
static geodec_status one_text(const geodec_step_rows *r, int64_t first, int64_t end, const float *state,
                              const geodec_ablation_variant *variant, int32_t n, double *sum, geodec_err *err)
{
    for (int32_t k = 0; k < n; k++) {
        geodec_drafter *d = variant[k].drafter;
        GEODEC_PASS_MSG(geodec_drafter_begin(d, err), "%s", variant[k].name);
        for (int64_t i = first + 1; i < end; i++) {
            const geodec_draft_rows before = {.n = 1,
                                              .token = r->token + i - 1,
                                              .argmax = r->argmax + i - 1,
                                              .state = state + (i - 1 - first) * r->d};
            const geodec_draft_request q = {
                .context = r->token + first, .n_context = i + 1 - first, .gamma = 1, .budget = TOP};
            geodec_draft child[TOP];
            int32_t found = 0;
            GEODEC_PASS_MSG(geodec_drafter_observe(d, &before, err), "%s", variant[k].name);
            GEODEC_PASS_MSG(geodec_drafter_root(d, &q, err), "%s", variant[k].name);
            GEODEC_PASS_MSG(d->ops->children(d, 0, TOP, child, &found, err), "%s", variant[k].name);
            for (int32_t c = 0; c < found; c++) {
                sum[k * FIGURES] += c == 0 && child[c].token == r->argmax[i];
                sum[k * FIGURES + 1] += child[c].token == r->argmax[i];
            }
            if (found > 0) sum[k * FIGURES + 2] += child[0].confidence;
        }
    }
    return GEODEC_OK;
}

/* Finds the test texts with at least two rows: first [2 texts]. Returns their number. */
static int64_t test_texts(const geodec_step_rows *r, uint64_t seed, int64_t *first)
{
    int64_t n = 0;
    for (int64_t from = 0, end; from < r->rows; from = end) {
        for (end = from + 1; end < r->rows && r->sequence[end] == r->sequence[from];) end++;
        if (end - from < 2 || geodec_step_part_of(seed, r->sequence[from]) != GEODEC_STEP_TEST) continue;
        first[2 * n] = from;
        first[2 * n++ + 1] = end;
    }
    return n;
}

/* Figure f of variant k over texts, minus that of variant `base` unless base is -1. */
static geodec_status estimate(int64_t texts, int32_t n, const double *sum, const double *size, int32_t k, int32_t base,
                              int f, int64_t replicates, uint64_t seed, double *work, geodec_estimate *out,
                              geodec_err *err)
{
    for (int64_t t = 0; t < texts; t++) {
        const double *of = sum + t * n * FIGURES;
        work[t] = of[k * FIGURES + f] - (base >= 0 ? of[base * FIGURES + f] : 0);
    }
    return geodec_stats_ratio(texts, work, size, replicates, seed, (uint64_t)f, out, err);
}

geodec_status geodec_ablation_run(const geodec_activations *a, const geodec_step_rows *rows, uint64_t seed,
                                  int64_t places, int64_t replicates, const geodec_ablation_variant *variant, int32_t n,
                                  const geodec_hooks *hooks, geodec_ablation_figures *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t all = 0, texts = 0, longest = 0, counted = 0, n_layer, index;
    double *sum = NULL, *size = NULL, *work = NULL;
    int64_t *first = NULL; /* [2 texts] row of each test text, and one after its last */
    float *state = NULL;
    uint8_t *scratch = NULL;
    if (n < 1 || n > GEODEC_ABLATION_MAX || places < 1)
        GEODEC_THROW(GEODEC_INVAL, "%d variants, %lld places", n, (long long)places);
    for (int32_t k = 0; k < n; k++)
        if (!variant[k].drafter || !variant[k].drafter->ops->children || variant[k].drafter->ops->wants_top ||
            variant[k].base >= n)
            GEODEC_THROW(GEODEC_INVAL, "%s cannot be a variant of an ablation", variant[k].name);
    GEODEC_TRY(geodec_artifact_get_i64(a->file, "n_layer", &n_layer, err));
    GEODEC_TRY(geodec_activations_find_layer(a, n_layer, &index, err));
    GEODEC_NEW(first, rows->rows + 1);
    texts = test_texts(rows, seed, first);
    for (int64_t t = 0; t < texts; t++) {
        const int64_t length = first[2 * t + 1] - first[2 * t];
        all += length - 1;
        longest = length > longest ? length : longest;
    }
    if (texts == 0) GEODEC_THROW(GEODEC_SCARCE, "the test split has no texts; more texts are needed");
    const int64_t every = (all + places - 1) / places; /* every `every`-th text is used */
    GEODEC_NEW(sum, texts * n * FIGURES);
    GEODEC_NEW_EACH(texts, size, work);
    GEODEC_NEW(state, longest * a->d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(a, longest) + 1);
    for (int64_t t = 0; t < texts; t += every) {
        const int64_t from = first[2 * t], end = first[2 * t + 1];
        GEODEC_TRY(geodec_hooks_progress(hooks, "ablation", t + 1, texts, err));
        GEODEC_TRY(geodec_activations_read(a, index, from, end - from, state, scratch, err));
        GEODEC_TRY(one_text(rows, from, end, state, variant, n, sum + counted * n * FIGURES, err));
        size[counted++] = (double)(end - from - 1);
    }
    for (int32_t k = 0; k < n; k++) {
        geodec_ablation_figures f = {0};
        geodec_estimate *const to[] = {&f.top1, &f.top8, &f.claimed, &f.gain1, &f.gain8};
        for (int64_t t = 0; t < counted; t++) f.places += (int64_t)size[t];
        for (int e = 0; e < (variant[k].base >= 0 ? 5 : 3); e++)
            GEODEC_TRY(estimate(counted, n, sum, size, k, e < 3 ? -1 : variant[k].base, e < 3 ? e : e - 3, replicates,
                                seed, work, to[e], err));
        out[k] = f;
    }
done:
    GEODEC_FREE(first, sum, size, work, state, scratch);
    return st;
}
