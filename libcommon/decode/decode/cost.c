#include "decode/cost.h"

#include "base/clock.h"
#include "base/mem.h"

geodec_cost geodec_cost_linear(double slope)
{
    geodec_cost cost = {.n = GEODEC_COST_ROWS};
    for (int32_t b = 1; b <= cost.n; b++) cost.v[b] = 1 + slope * (b - 1);
    return cost;
}

double geodec_cost_pass(const geodec_cost *cost, int32_t b)
{
    if (b <= cost->n) return cost->v[b];
    const double slope = cost->n > 1 ? cost->v[cost->n] - cost->v[cost->n - 1] : 0;
    return cost->v[cost->n] + slope * (b - cost->n);
}

geodec_status geodec_cost_measure(const geodec_target *target, int32_t at, int32_t rows, int32_t repeats,
                                  double (*clock)(void), geodec_cost *out, geodec_err *err)
{
    static const int32_t widths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 17, 24, 33, 48, 65};
    enum { WIDTHS = sizeof widths / sizeof widths[0] };
    geodec_status st = GEODEC_OK;
    double seconds[WIDTHS] = {0};
    int32_t *token = NULL;
    float *logits = NULL;
    int32_t top = rows < target->max_batch ? rows : target->max_batch;
    if (!clock) clock = geodec_clock_seconds;
    if (at < 0) at = 0;
    if (top > GEODEC_COST_ROWS) top = GEODEC_COST_ROWS;
    if (top > target->n_ctx) top = target->n_ctx;
    if (at > target->n_ctx - top) at = target->n_ctx - top;
    if (top < 1 || repeats < 1) GEODEC_THROW(GEODEC_INVAL, "cannot time a pass of %d rows %d times", top, repeats);
    GEODEC_NEW(token, target->max_batch);
    GEODEC_NEW(logits, (int64_t)top * target->n_vocab);
    for (int32_t i = 0; i < target->max_batch; i++) token[i] = i % target->n_vocab;
    target->truncate(target->self, 0);
    for (int32_t done = 0; done < at; done += target->max_batch) {
        const int32_t n = at - done < target->max_batch ? at - done : target->max_batch;
        GEODEC_TRY(target->forward(target->self, token, NULL, n, NULL, NULL, err));
    }
    /* One extra repetition: the first warms the caches and is not counted. */
    for (int32_t k = 0; k <= repeats; k++)
        for (int w = 0; w < WIDTHS; w++) {
            const int32_t b = widths[w] < top ? widths[w] : top;
            const double start = clock();
            GEODEC_TRY(target->forward(target->self, token, NULL, b, logits, NULL, err));
            const double t = clock() - start;
            target->truncate(target->self, at);
            if (k == 1 || (k > 1 && t < seconds[w])) seconds[w] = t;
            if (b == top) break;
        }
    const double unit = seconds[0] > 0 ? seconds[0] : 1e-9; /* the clock resolution is too low for the pass */
    geodec_cost cost = {.n = top, .seconds = unit};
    cost.v[1] = 1;
    for (int w = 1; w < WIDTHS && widths[w - 1] < top; w++) {
        const int32_t a = widths[w - 1], b = widths[w] < top ? widths[w] : top;
        for (int32_t i = a + 1; i <= b; i++)
            cost.v[i] = (seconds[w - 1] + (seconds[w] - seconds[w - 1]) * (i - a) / (b - a)) / unit;
    }
    *out = cost;
done:
    target->truncate(target->self, 0);
    GEODEC_FREE(token, logits);
    return st;
}
