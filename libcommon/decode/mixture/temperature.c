#include "mixture/temperature.h"

#include "base/finite.h"
#include "base/mem.h"

#include <math.h>

/* Figures of a row at b = 1 / T: the loss, its slope E[l] - l_target and its curvature Var[l]. */
typedef struct row {
    double loss, slope, curve;
} row;

typedef struct fit {
    int64_t v;
    const float *logits;
    const int32_t *target;
    double b;
    row *out; /* [n] */
} fit;

static void one_row(void *ctx, int64_t i, int worker)
{
    const fit *const f = ctx;
    const float *const l = f->logits + i * f->v;
    double most = -INFINITY, sum = 0, mean = 0, square = 0;
    (void)worker;
    for (int64_t k = 0; k < f->v; k++) most = fmax(most, (double)l[k]);
    for (int64_t k = 0; k < f->v; k++) {
        const double x = (double)l[k] - most, e = exp(f->b * x);
        sum += e;
        mean += e * x;
        square += e * x * x;
    }
    mean /= sum;
    const double own = (double)l[f->target[i]] - most;
    f->out[i] = (row){.loss = log(sum) - f->b * own, .slope = mean - own, .curve = square / sum - mean * mean};
}

static row at(fit *f, int64_t n, double b, geodec_pool *pool)
{
    row all = {0};
    f->b = b;
    geodec_pool_run(pool, n, one_row, f);
    for (int64_t i = 0; i < n; i++) {
        all.loss += f->out[i].loss / (double)n;
        all.slope += f->out[i].slope / (double)n;
        all.curve += f->out[i].curve / (double)n;
    }
    return all;
}

/* The zero of the slope in [low, high], where it is negative and positive. */
static double newton(fit *f, int64_t n, double low, double high, int32_t *steps, geodec_pool *pool)
{
    double b = 1;
    for (*steps = 0; *steps < 200; (*steps)++) {
        const row r = at(f, n, b, pool);
        *(r.slope < 0 ? &low : &high) = b;
        double to = b - r.slope / r.curve;
        if (!(to > low && to < high)) to = sqrt(low * high);
        const double by = fabs(to - b);
        b = to;
        if (by <= 1e-10 * b) break;
    }
    return b;
}

geodec_status geodec_temperature_fit(int64_t n, int64_t v, const float *logits, const int32_t *target,
                                     geodec_temperature *out, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_temperature t = {0};
    fit f = {.v = v, .logits = logits, .target = target};
    int64_t values;
    if (n < 1 || v < 1 || geodec_mem_mul(n, v, &values) != 0)
        GEODEC_THROW(GEODEC_RANGE, "%lld rows of %lld logits", (long long)n, (long long)v);
    if (geodec_finite_first_not_f32(logits, values) >= 0) GEODEC_THROW(GEODEC_NUMERIC, "a logit is not finite");
    for (int64_t i = 0; i < n; i++)
        if (target[i] < 0 || target[i] >= v)
            GEODEC_THROW(GEODEC_RANGE, "target %d of row %lld", (int)target[i], (long long)i);
    GEODEC_NEW(f.out, n);
    const double low = 1 / GEODEC_TEMPERATURE_MAX, high = GEODEC_TEMPERATURE_MAX;
    double b = 1;
    if (at(&f, n, high, pool).slope <= 0)
        b = high;
    else if (at(&f, n, low, pool).slope >= 0)
        b = low;
    else
        b = newton(&f, n, low, high, &t.steps, pool);
    t.bounded = b >= high || b <= low;
    t.temperature = 1 / b;
    t.before = at(&f, n, 1, pool).loss;
    t.after = at(&f, n, b, pool).loss;
    *out = t;
done:
    geodec_mem_free(f.out);
    return st;
}

void geodec_temperature_apply(int64_t n, int64_t v, const float *logits, const int32_t *target, double temperature,
                              double *confidence, uint8_t *right)
{
    for (int64_t i = 0; i < n; i++) {
        const float *const l = logits + i * v;
        int64_t top = 0;
        double sum = 0;
        for (int64_t k = 1; k < v; k++)
            if (l[k] > l[top]) top = k;
        for (int64_t k = 0; confidence && k < v; k++) sum += exp(((double)l[k] - (double)l[top]) / temperature);
        if (confidence) confidence[i] = 1 / sum;
        if (right) right[i] = target[i] == top;
    }
}
