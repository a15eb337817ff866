#include "decode/guard.h"

#include <math.h>
#include <stddef.h>

bool geodec_guard_is_stop(const geodec_guard *guard, int32_t id)
{
    if (!guard) return false;
    for (int32_t i = 0; i < guard->n_stop; i++)
        if (guard->stop[i] == id) return true;
    return false;
}

bool geodec_guard_forbids(const geodec_guard *guard, int64_t index, int32_t id)
{
    return guard && index < guard->min_tokens && geodec_guard_is_stop(guard, id);
}

void geodec_guard_mask(const geodec_guard *guard, int64_t index, const int32_t *more, int64_t n_more, float *row,
                       int32_t n_vocab)
{
    if (!guard) return;
    geodec_penalty_apply(guard->penalty, guard->text, guard->n_text, more, n_more, row);
    if (index >= guard->min_tokens) return;
    for (int32_t i = 0; i < guard->n_stop; i++)
        if (guard->stop[i] >= 0 && guard->stop[i] < n_vocab) row[guard->stop[i]] = -INFINITY;
}
