#include "measure/compat_counters.h"

#include "base/mem.h"
#include "session/model.h"

enum { WARM_UP = 4 };
static const float MARGIN = 2.8F;

geodec_status geodec_compat_replay(const geodec_target *t, const int32_t *prompt, int64_t n, int64_t n_tokens,
                                   geodec_compat_counters *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *row = NULL;
    geodec_compat_counters c = {0};
    if (n < 1 || n_tokens < 1)
        GEODEC_THROW(GEODEC_INVAL, "%lld tokens after a prompt of %lld", (long long)n_tokens, (long long)n);
    if (n + n_tokens > t->n_ctx)
        GEODEC_THROW(GEODEC_SCARCE, "a context of %d tokens; the replay needs at least %lld", t->n_ctx,
                     (long long)(n + n_tokens));
    for (int64_t i = 0; i < n; i++)
        if (prompt[i] < 0 || prompt[i] >= t->n_vocab)
            GEODEC_THROW(GEODEC_RANGE, "prompt token %lld is %d, the vocabulary has %d", (long long)i, prompt[i],
                         t->n_vocab);
    GEODEC_NEW(row, t->n_vocab);
    t->truncate(t->self, 0);
    for (int64_t i = 0; i < n; i++) GEODEC_TRY(t->forward(t->self, prompt + i, NULL, 1, row, NULL, err));
    const geodec_counters start = t->counters(t->self);
    bool drafted = false; /* the token before this one was a draft of the same round */
    while (c.tokens < n_tokens) {
        const int32_t top = geodec_argmax(row, t->n_vocab), draft = top;
        /* Slot 0 is checked against the row from which it was taken. */
        drafted = c.tokens >= WARM_UP && !drafted && row[draft] >= row[top] - MARGIN;
        if (drafted)
            c.geo_accepted++;
        else
            c.xfmr++;
        c.tokens++;
        GEODEC_TRY(t->forward(t->self, &draft, NULL, 1, row, NULL, err));
    }
    c.target_passes = t->counters(t->self).passes - start.passes;
    c.acceptance = (double)c.geo_accepted / (double)c.tokens;
    *out = c;
done:
    t->truncate(t->self, 0);
    geodec_mem_free(row);
    return st;
}
