#include "lab/harness/split.h"

#include "base/rng.h"
#include "base/split.h"

geodec_harness_split geodec_harness_split_defaults(void)
{
    return (geodec_harness_split){.sites = 300, .held_out = 0.5};
}

bool geodec_harness_split_held_out(const geodec_harness_split *s, int32_t text)
{
    /* One of each pair of texts falls into each half of the interval, so that a share of a half divides even two. */
    const uint64_t stream = geodec_rng_id("held-out text", 0), t = (uint32_t)text;
    const uint64_t side = (geodec_rng_at(s->seed, stream, t / 2) >> 63) ^ (t & 1);
    const double inside = geodec_rng_uniform_at(s->seed, geodec_rng_id("held-out text", 1), t);
    return 0.5 * ((double)side + inside) < s->held_out;
}

bool geodec_harness_split_on(const geodec_harness_split *s, int32_t text, bool held_out)
{
    return text != GEODEC_SPLIT_NONE && geodec_harness_split_held_out(s, text) == held_out;
}
