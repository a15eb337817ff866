#include "measure/draft_alone.h"

#include "base/clock.h"
#include "base/mem.h"

geodec_status geodec_draft_alone(const geodec_target *target, const int32_t *prompt, int64_t n, geodec_drafter *drafter,
                                 const geodec_decode_options *options, geodec_decoded *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_decoded d = {.end = GEODEC_END_LENGTH, .stop = -1};
    geodec_decode_options o = *options;
    geodec_draft draft[GEODEC_DRAFT_MAX];
    double (*clock)(void) = options->clock ? options->clock : geodec_clock_seconds;
    int32_t k = 0;
    if (!drafter) GEODEC_THROW(GEODEC_INVAL, "a drafter is needed");
    /* No output tokens: the prompt is processed and shown to the drafter. */
    o.max_tokens = 0;
    o.emit = NULL;
    o.sampling = geodec_sampler_default();
    GEODEC_TRY(geodec_decode(target, prompt, n, drafter, &o, &d, err));
    const geodec_counters before = target->counters(target->self);
    const double start = clock();
    const geodec_guard guard = {options->min_tokens, options->stop, options->n_stop};
    const geodec_draft_request q = {
        .context = prompt,
        .n_context = n,
        .gamma = (int32_t)(options->max_tokens < GEODEC_DRAFT_MAX ? options->max_tokens : GEODEC_DRAFT_MAX),
        .guard = &guard};
    if (q.gamma > 0) GEODEC_TRY(geodec_drafter_propose(drafter, &q, draft, &k, err));
    geodec_mem_free(d.token);
    d.token = NULL;
    GEODEC_NEW(d.token, k > 0 ? k : 1);
    for (int32_t i = 0; i < k; i++) {
        if (draft[i].token < 0 || draft[i].token >= target->n_vocab) break;
        if (geodec_guard_is_stop(&guard, draft[i].token)) {
            d.end = GEODEC_END_STOP;
            d.stop = draft[i].token;
            break;
        }
        d.token[d.n++] = draft[i].token;
    }
    d.counters.draft_seconds = clock() - start;
    d.counters.total_seconds += d.counters.draft_seconds;
    d.counters.emitted = d.n;
    d.counters.decided = d.n + (d.end == GEODEC_END_STOP);
    d.counters.target_passes = target->counters(target->self).passes - before.passes;
    if (d.counters.target_passes != 0)
        GEODEC_THROW(GEODEC_INTERNAL, "%lld passes of the model in a text of the drafter alone",
                     (long long)d.counters.target_passes);
    GEODEC_MOVE(*out, d);
done:
    geodec_decode_free(&d);
    return st;
}
