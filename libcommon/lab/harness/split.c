#include "lab/harness/split.h"

#include "base/mem.h"
#include "base/split.h"

#include <stdlib.h>

geodec_harness_split geodec_harness_split_defaults(void)
{
    return (geodec_harness_split){.sites = 300, .held_out = 0.5};
}

bool geodec_harness_split_held_out(const geodec_harness_split *s, int32_t text)
{
    /* One text of each pair falls into each half of the interval, so that a share of one half divides even two texts.
     * */
    const uint64_t stream = geodec_rng_id("held-out text", 0), t = (uint32_t)text;
    const uint64_t side = (geodec_rng_at(s->seed, stream, t / 2) >> 63) ^ (t & 1);
    const double inside = geodec_rng_uniform_at(s->seed, geodec_rng_id("held-out text", 1), t);
    return 0.5 * ((double)side + inside) < s->held_out;
}

bool geodec_harness_split_on(const geodec_harness_split *s, int32_t text, bool held_out)
{
    return text != GEODEC_SPLIT_NONE && geodec_harness_split_held_out(s, text) == held_out;
}

void geodec_harness_thin(int64_t *list, int64_t *count, int64_t keep, geodec_rng r)
{
    if (keep <= 0 || keep >= *count) return;
    int64_t out = 0; /* selection sampling: each of the rest is taken with the remaining probability */
    for (int64_t i = 0; i < *count && out < keep; i++)
        if (geodec_rng_uniform(&r) * (double)(*count - i) < (double)(keep - out)) list[out++] = list[i];
    *count = out;
}

geodec_status geodec__harness_starts_gather(const geodec_trajectories *t, const geodec_harness_split *o, int64_t place,
                                            bool held_out, int64_t *count, geodec__harness_starts_row **out,
                                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *count = 0;
    for (int pass = 0; pass < 2; pass++) { /* counts, then fills */
        if (pass) GEODEC_NEW(*out, *count);
        *count = 0;
        for (int64_t p = 0; p < t->paths; p++) {
            if (!geodec_harness_split_on(o, t->text[p], held_out)) continue;
            for (int64_t k = 1; t->offset[p] + k + 1 < t->offset[p + 1]; k++) {
                if (place >= 0 && k != place) continue;
                if (pass) (*out)[*count] = (geodec__harness_starts_row){t->offset[p] + k, t->offset[p + 1], t->text[p]};
                ++*count;
            }
        }
    }
done:
    return st;
}

static int by_row(const void *a, const void *b)
{
    const geodec__harness_starts_row *x = a, *y = b;
    return (x->row > y->row) - (x->row < y->row);
}

void geodec__harness_starts_choose(geodec__harness_starts_row *s, int64_t *count, int64_t keep, uint64_t seed,
                                   int64_t number)
{
    if (keep <= 0 || keep >= *count) return;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("geodesicity starts", (uint64_t)(number + 1)));
    for (int64_t i = 0; i < keep; i++) {
        const int64_t j = i + (int64_t)geodec_rng_below(&r, (uint64_t)(*count - i));
        const geodec__harness_starts_row t = s[i];
        s[i] = s[j];
        s[j] = t;
    }
    qsort(s, (size_t)keep, sizeof *s, by_row);
    *count = keep;
}

geodec_status geodec_harness_text_sums_reserve(geodec_harness_text_sums *s, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW_EACH(items, s->a, s->b);
done:
    return st;
}

void geodec_harness_text_sums_add(geodec_harness_text_sums *s, int32_t text, double a, double b)
{
    if (s->texts == 0 || s->text != text) {
        s->a[s->texts] = 0;
        s->b[s->texts++] = 0;
    }
    s->a[s->texts - 1] += a;
    s->b[s->texts - 1] += b;
    s->text = text;
    s->counted++;
}

geodec_status geodec_harness_text_sums_ratio(geodec_harness_text_sums *s, int64_t replicates, uint64_t seed,
                                             uint64_t stream, geodec_estimate *out, int64_t *counted, geodec_err *err)
{
    const int64_t texts = s->texts;
    if (counted) *counted = s->counted;
    s->texts = s->counted = 0;
    *out = (geodec_estimate){0};
    return texts > 0 ? geodec_stats_ratio(texts, s->a, s->b, replicates, seed, stream, out, err) : GEODEC_OK;
}

void geodec_harness_text_sums_clear(geodec_harness_text_sums *s) { GEODEC_FREE(s->a, s->b); }
