/* Parallel scans of the recurrence, and the recurrence after many steps. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/parts_internal.h"
#include "recurrence/recurrence.h"

#include <math.h>

/* x -> g x + v */
typedef struct map {
    double g, v;
} map;

static map after(map first, map second) { return (map){first.g * second.g, second.g * first.v + second.v}; }

/* Hillis and Steele: log2 n rounds, in each of which all elements but the first 2^k combine. */
static void scan_doubling(int64_t n, map *x, map *next, geodec_parts_scan *out)
{
    for (int64_t step = 1; step < n; step *= 2) {
        for (int64_t i = 0; i < n; i++) next[i] = i < step ? x[i] : after(x[i - step], x[i]);
        for (int64_t i = 0; i < n; i++) x[i] = next[i];
        out->work += n - step;
        out->depth++;
    }
}

/* Blelloch: sums up a tree, then the sums of what is before down the tree. */
static void scan_tree(int64_t n, map *x, geodec_parts_scan *out)
{
    for (int64_t step = 1; step < n; step *= 2, out->depth++)
        for (int64_t i = 2 * step - 1; i < n; i += 2 * step, out->work++) x[i] = after(x[i - step], x[i]);
    for (int64_t step = n / 4; step >= 1; step /= 2, out->depth++)
        for (int64_t i = 3 * step - 1; i < n; i += 2 * step, out->work++) x[i] = after(x[i - step], x[i]);
}

geodec_status geodec_parts_scan_run(int64_t n, bool doubling, uint64_t seed, geodec_parts_scan *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("scan", 0));
    map *x = NULL, *next = NULL;
    double *state = NULL, s = 0, most = 0, worst = 0;
    *out = (geodec_parts_scan){0};
    if (n < 2 || (n & (n - 1))) GEODEC_THROW(GEODEC_RANGE, "%lld elements; a power of 2 is needed", (long long)n);
    GEODEC_NEW_EACH(n, x, next, state);
    for (int64_t i = 0; i < n; i++) {
        x[i] = (map){0.9 + 0.1 * geodec_rng_uniform(&r), geodec_rng_normal(&r)};
        state[i] = s = x[i].g * s + x[i].v;
        most = fmax(most, fabs(s));
    }
    if (doubling)
        scan_doubling(n, x, next, out);
    else
        scan_tree(n, x, out);
    for (int64_t i = 0; i < n; i++) worst = fmax(worst, fabs(x[i].v - state[i]));
    out->error = worst / most;
done:
    GEODEC_FREE(x, next, state);
    return st;
}

geodec_status geodec__parts_scan(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    enum { N = 4096 };
    geodec_parts_scan tree, doubling;
    GEODEC_PASS(geodec_parts_scan_run(N, false, o->seed, &tree, err));
    GEODEC_PASS(geodec_parts_scan_run(N, true, o->seed, &doubling, err));
    GEODEC_PASS(geodec__parts_add(out, "scan-work", "combinations an element, a scan up and down a tree",
                                  (double)tree.work / N, "a scan by doubling", (double)doubling.work / N, err));
    GEODEC_PASS(geodec__parts_add(out, "scan-depth", "combinations one after another, 4,096 elements",
                                  (double)tree.depth, "steps", N - 1, err));
    return geodec__parts_add(out, "scan-error", "largest difference of the scan from the steps, relative", tree.error,
                             "the scan by doubling", doubling.error, err);
}

/* Constant input: S_t = v k^T (1 - g^t) / (1 - g). */
geodec_status geodec__parts_state(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    enum { D = 64, R = 16, STEPS = 10000 };
    geodec_status st = GEODEC_OK;
    geodec_rng r = geodec_rng_stream(o->seed, geodec_rng_id("state", 0));
    double g[D], v[D], k[R], q[R], y[D], *s = NULL, worst = 0, norm = 0, most = 0;
    GEODEC_NEW(s, D * R);
    for (int i = 0; i < D; i++) g[i] = 1 / (1 + exp(-2.944 - geodec_rng_normal(&r)));
    for (int i = 0; i < D; i++) v[i] = geodec_rng_normal(&r);
    for (int i = 0; i < R; i++) k[i] = geodec_rng_normal(&r);
    for (int i = 0; i < R; i++) q[i] = geodec_rng_normal(&r);
    for (int64_t t = 0; t < STEPS; t++) geodec_recurrence_steps_f64(1, D, R, g, v, k, q, s, y);
    for (int i = 0; i < D; i++)
        for (int j = 0; j < R; j++) {
            const double limit = v[i] * k[j] / (1 - g[i]);
            worst = fmax(worst, fabs(s[i * R + j] - limit));
            most = fmax(most, fabs(limit));
            norm += s[i * R + j] * s[i * R + j];
        }
    GEODEC_TRY(geodec__parts_add(out, "state-limit", "state after 10,000 equal inputs, largest relative difference",
                                 worst / most, "closed form v k / (1 - g)", 0, err));
    /* the published bound does not scale with the state; the same inputs at the published size */
    GEODEC_TRY(geodec__parts_add(out, "state-norm", "norm of that state at width 4096 and rank 256",
                                 sqrt(norm * (4096.0 / D) * (256.0 / R)), "published bound", 1000, err));
done:
    geodec_mem_free(s);
    return st;
}
