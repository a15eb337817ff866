#include "decode/verify.h"

#include "decode/drafter.h"
#include "session/model.h"

/* The child of draft `at` (-1 = the newest token) whose token is `y`, -1 = none. */
static int32_t child_with(const int32_t *token, const int32_t *parent, int32_t n, int32_t at, int32_t y)
{
    if (!parent) return at + 1 < n && token[at + 1] == y ? at + 1 : -1;
    for (int32_t i = at + 1; i < n; i++)
        if (parent[i] == at && token[i] == y) return i;
    return -1;
}

geodec_status geodec_verify_tree(geodec_sampler *s, const geodec_guard *guard, int64_t index, float *logits,
                                 int32_t n_vocab, const int32_t *token, const int32_t *parent, int32_t n,
                                 int32_t *argmax, int32_t *path, geodec_verdict *out, geodec_err *err)
{
    const bool greedy = geodec_sampler_options(s)->temperature <= 0;
    geodec_verdict v = {0};
    int32_t at = -1, said[GEODEC_DRAFT_MAX + 1];
    path[0] = 0;
    for (;;) {
        float *row = logits + (int64_t)(at + 1) * n_vocab;
        const int64_t output = index + v.tokens;
        geodec_guard_mask(guard, output, said, v.tokens, row, n_vocab);
        GEODEC_PASS_MSG(geodec_sampler_next(s, output, row, &v.next, err), "output token %lld", (long long)output);
        if (argmax) argmax[at + 1] = greedy ? v.next : geodec_argmax(row, n_vocab);
        said[v.tokens++] = v.next;
        at = child_with(token, parent, n, at, v.next);
        if (at >= 0) path[++v.accepted] = at + 1;
        v.stopped = geodec_guard_is_stop(guard, v.next);
        if (at < 0 || v.stopped) break;
    }
    *out = v;
    return GEODEC_OK;
}
