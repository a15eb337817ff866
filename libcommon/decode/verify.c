#include "decode/verify.h"

#include "model/model.h"

geodec_status geodec_verify_chain(geodec_sampler *s, const geodec_guard *guard, int64_t index, float *logits,
                                  int32_t n_vocab, const int32_t *draft, int32_t n, int32_t *argmax,
                                  geodec_verdict *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool greedy = geodec_sampler_options(s)->temperature <= 0;
    geodec_verdict v = {0};
    for (int32_t i = 0;; i++) {
        float *row = logits + (int64_t)i * n_vocab;
        geodec_guard_mask(guard, index + i, row, n_vocab);
        GEODEC_TRY_MSG(geodec_sampler_draw(s, index + i, row, &v.next, err), "output token %lld",
                       (long long)(index + i));
        if (argmax) argmax[i] = greedy ? v.next : geodec_argmax(row, n_vocab);
        v.draws = i + 1;
        const bool agrees = i < n && v.next == draft[i];
        v.accepted += agrees;
        v.stopped = geodec_guard_is_stop(guard, v.next);
        if (!agrees || v.stopped) break;
    }
    *out = v;
done:
    return st;
}
