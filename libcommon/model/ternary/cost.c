#include "ternary/cost.h"

#include "base/clock.h"
#include "base/mem.h"
#include "ternary/change.h"

#include <math.h>
#include <string.h>

double geodec_ternary_cost_bandwidth(const geodec_ternary_cost *c, const geodec_ternary_load *l)
{
    const double saved = (double)(l->whole_bytes - l->difference_bytes);
    const double seconds =
        c->apply * (double)l->changes + (c->keep_base ? (double)l->whole_bytes / c->copy_bandwidth : 0);
    return saved > 0 ? saved / seconds : 0;
}

geodec_status geodec_ternary_cost_measure(int encoding, int64_t rows, int64_t cols, geodec_ternary_cost *c,
                                          geodec_err *err)
{
    enum { GAP = 50, ROUNDS = 3 };
    geodec_status st = GEODEC_OK;
    const int64_t bytes = rows * geodec_ternary_row_bytes(encoding, cols), changes = rows * cols / (GAP + 1);
    uint8_t *data = NULL, *copy = NULL, *stream = NULL;
    double apply = INFINITY, copying = INFINITY;
    GEODEC_TRY(geodec_ternary_shape(encoding, rows, cols, err));
    GEODEC_NEW_EACH(bytes, data, copy);
    GEODEC_NEW(stream, changes + 1);
    memset(stream, 2 * GAP, (size_t)changes);
    const geodec_change_stream s = {.data = stream, .bytes = changes, .changes = changes};
    for (int i = 0; i < 2 * ROUNDS; i++) {
        int64_t used;
        const double begin = geodec_clock_seconds();
        memcpy(copy, data, (size_t)bytes);
        const double middle = geodec_clock_seconds();
        GEODEC_TRY(geodec_change_apply(encoding, rows, cols, &s, i % 2 == 0, data, &used, err));
        copying = fmin(copying, middle - begin);
        apply = fmin(apply, geodec_clock_seconds() - middle);
    }
    c->apply = apply / (double)(changes > 0 ? changes : 1);
    c->copy_bandwidth = (double)bytes / fmax(copying, 1e-9);
done:
    GEODEC_FREE(data, copy, stream);
    return st;
}
