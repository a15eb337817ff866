/* Cuts a text's tokens into windows. */
#include "evaluate/perplexity.h"

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t geodec_perplexity_count(const geodec_perplexity_options *o, bool bos, int64_t n)
{
    const int64_t lead = bos ? 1 : 0, length = n + lead;
    int64_t count;
    if (length < 2) return 0;
    if (o->stride) {
        count = length <= o->window ? 1 : 1 + (length - o->window + o->stride - 1) / o->stride;
    } else {
        const int64_t each = o->window - lead;
        count = n / each;
        if (n - count * each >= 2 - lead) count++; /* the rest, if a token of it can be scored */
    }
    return o->max_windows > 0 ? smaller(count, o->max_windows) : count;
}

geodec_perplexity_span geodec_perplexity_span_at(const geodec_perplexity_options *o, bool bos, int64_t n, int64_t i)
{
    const int64_t lead = bos ? 1 : 0, length = n + lead;
    geodec_perplexity_span s = {.scored = 1};
    if (o->stride) { /* positions in BOS, token 0, token 1, ... */
        const int64_t begin = i * o->stride, end = smaller(begin + o->window, length);
        s.bos = bos && begin == 0;
        s.first = s.bos ? 0 : begin - lead;
        s.count = end - lead - s.first;
        if (i > 0) s.scored = o->window - o->stride;
    } else {
        s.bos = bos;
        s.first = i * (o->window - lead);
        s.count = smaller(o->window - lead, n - s.first);
    }
    return s;
}
