/* Gradients estimated from derivatives in random directions, and the start of an adapter. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/dual/adapt_forward.h"
#include "lab/perspective/dual/dual.h"
#include "lab/perspective/parts_internal.h"

#include <math.h>

/* ---- |A x|^2 / 2 with a diagonal A, whose gradient is known -------------------------------------------------------
 */

enum { N = 64 };

static geodec_status quadratic(void *ctx, int64_t n, const double *x, const double *v, int worker, double *loss,
                               double *derivative, geodec_err *err)
{
    (void)ctx, (void)worker, (void)err;
    *loss = *derivative = 0;
    for (int64_t i = 0; i < n; i++) {
        const double a = 1 + (double)i / (double)n;
        *loss += a * x[i] * x[i] / 2;
        *derivative += a * x[i] * v[i];
    }
    return GEODEC_OK;
}

/* *mean: component of the mean estimate along the gradient; *spread: mean square distance of an estimate; both relative
 * to the gradient. */
static geodec_status estimates(const geodec_parts_options *o, bool published, int64_t directions, int64_t trials,
                               double *mean, double *spread, geodec_err *err)
{
    double x[N], g[N], estimate[N], square = 0;
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("gradient", 0));
    for (int i = 0; i < N; i++) {
        x[i] = geodec_rng_normal(&r);
        g[i] = (1 + (double)i / N) * x[i];
        square += g[i] * g[i];
    }
    *mean = *spread = 0;
    for (int64_t t = 0; t < trials; t++) {
        const geodec_adapt_directions d = {
            .count = directions, .seed = o->seed, .index = (uint64_t)t, .published = published};
        double along = 0, away = 0;
        GEODEC_PASS(geodec_adapt_gradient(quadratic, NULL, N, x, &d, estimate, NULL, NULL, err));
        for (int i = 0; i < N; i++) {
            along += estimate[i] * g[i];
            away += (estimate[i] - g[i]) * (estimate[i] - g[i]);
        }
        *mean += along / square / (double)trials;
        *spread += away / square / (double)trials;
    }
    return GEODEC_OK;
}

geodec_status geodec__parts_gradient(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    enum { K = 8 };
    const int64_t trials = o->quick ? 2000 : 20000;
    double mean, spread, published, other;
    GEODEC_PASS(estimates(o, false, K, trials, &mean, &spread, err));
    GEODEC_PASS(estimates(o, true, K, trials, &published, &other, err));
    GEODEC_PASS(geodec__parts_add(out, "gradient-published", "mean of the published estimate over the gradient, n = 64",
                                  published, "closed form 1 / n", 1.0 / N, err));
    GEODEC_PASS(geodec__parts_add(out, "gradient-mean", "the same with directions N(0, I)", mean, "unbiased", 1, err));
    GEODEC_PASS(geodec__parts_add(out, "gradient-spread", "mean square error of it, 8 directions, relative", spread,
                                  "closed form (n + 1) / K", (double)(N + 1) / K, err));
    return geodec__parts_add(out, "gradient-steps", "directions for a mean square error of 1, two million parameters",
                             2e6 + 1, "published", K, err);
}

/* ---- an adapter W + B A before a softmax ------------------------------------------------------------------------- */

enum { IN = 24, OUT = 16, RANK = 4, ADAPTER = RANK * (IN + OUT) };

typedef struct layer {
    double w[OUT * IN], x[IN];
} layer;

static double derivative_at(const layer *l, const double *ab, const double *v)
{
    double y[OUT], dy[OUT], work[2 * RANK], loss, d;
    const double *a = ab, *b = ab + RANK * IN, *da = v, *db = v + RANK * IN;
    geodec_dual_f64_matvec(OUT, IN, l->w, NULL, l->x, NULL, y, dy);
    geodec_dual_f64_lowrank(OUT, IN, RANK, b, db, a, da, l->x, NULL, y, dy, work);
    geodec_dual_f64_cross_entropy(OUT, 3, y, dy, &loss, &d);
    return d;
}

geodec_status geodec__parts_adapter(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("adapter", 0));
    layer l;
    double zero[ADAPTER] = {0}, start[ADAPTER], at_zero = 0, at_start = 0;
    for (int i = 0; i < OUT * IN; i++) l.w[i] = geodec_rng_normal(&r) / sqrt(IN);
    for (int i = 0; i < IN; i++) l.x[i] = geodec_rng_normal(&r);
    geodec_adapt_lora(OUT, IN, RANK, o->seed, 0, start);
    for (int t = 0; t < 100; t++) {
        double v[ADAPTER];
        for (int i = 0; i < ADAPTER; i++) v[i] = geodec_rng_normal(&r);
        at_zero = fmax(at_zero, fabs(derivative_at(&l, zero, v)));
        at_start = fmax(at_start, fabs(derivative_at(&l, start, v)));
    }
    return geodec__parts_add(out, "adapter-start", "largest derivative of the loss at A = B = 0, 100 directions",
                             at_zero, "A random, B = 0", at_start, err);
}
