#include "lab/harness/starts.h"

#include "base/rng.h"

int64_t geodec__starts_gather(const geodec_trajectories *t, const geodec_harness_split *o, int64_t place, bool held_out,
                              geodec__starts_row *out)
{
    int64_t count = 0;
    for (int64_t p = 0; p < t->paths; p++) {
        if (!geodec_harness_split_on(o, t->text[p], held_out)) continue;
        for (int64_t k = 1; t->offset[p] + k + 1 < t->offset[p + 1]; k++) {
            if (place >= 0 && k != place) continue;
            if (out) out[count] = (geodec__starts_row){t->offset[p] + k, t->offset[p + 1], t->text[p]};
            count++;
        }
    }
    return count;
}

static int by_row(const geodec__starts_row *a, const geodec__starts_row *b)
{
    return (a->row > b->row) - (a->row < b->row);
}

void geodec__starts_choose(geodec__starts_row *s, int64_t *count, int64_t keep, uint64_t seed, int64_t number)
{
    if (keep <= 0 || keep >= *count) return;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("geodesicity starts", (uint64_t)(number + 1)));
    for (int64_t i = 0; i < keep; i++) {
        const int64_t j = i + (int64_t)geodec_rng_below(&r, (uint64_t)(*count - i));
        const geodec__starts_row t = s[i];
        s[i] = s[j];
        s[j] = t;
    }
    for (int64_t i = 1; i < keep; i++) { /* few: insertion sort */
        const geodec__starts_row t = s[i];
        int64_t j = i;
        for (; j > 0 && by_row(&s[j - 1], &t) > 0; j--) s[j] = s[j - 1];
        s[j] = t;
    }
    *count = keep;
}
