#include "linalg/surrogate.h"

#include "base/choose.h"
#include "base/mem.h"
#include "base/names_internal.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "linalg/chol.h"
#include "linalg/fft.h"

#include <math.h>
#include <string.h>

enum { KINDS = GEODEC_SURROGATE_SHUFFLE + 1 };
const char *const geodec_surrogate_names[] = {"gaussian", "phase", "shuffle", NULL};

const char *geodec_surrogate_name(geodec_surrogate kind)
{
    return geodec__names_at(geodec_surrogate_names, KINDS, (int)kind);
}

geodec_status geodec_surrogate_find(const char *name, geodec_surrogate *kind, geodec_err *err)
{
    const int i = geodec__names_find(geodec_surrogate_names, KINDS, name);
    if (i == KINDS) GEODEC_FAIL(GEODEC_INVAL, "'%s' is not a surrogate: gaussian, phase or shuffle", name);
    *kind = (geodec_surrogate)i;
    return GEODEC_OK;
}

geodec_surrogate geodec_surrogate_for(int64_t points, const int32_t *sequence)
{
    int64_t together = 0;
    for (int64_t i = 0; i < points; i++)
        together += (i > 0 && sequence[i - 1] == sequence[i]) || (i + 1 < points && sequence[i + 1] == sequence[i]);
    return 2 * together >= points ? GEODEC_SURROGATE_PHASE : GEODEC_SURROGATE_SHUFFLE;
}

static geodec_status gaussian(int64_t points, int64_t n, const double *x, uint64_t seed, uint64_t stream, double *y,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *block = NULL, trace = 0;
    GEODEC_NEW(block, n * (n + 2));
    double *l = block, *mean = l + n * n, *z = mean + n;
    for (int64_t a = 0; a < n; a++)
        for (int64_t i = 0; i < points; i++) mean[a] += x[i * n + a] / (double)points;
    for (int64_t a = 0; a < n; a++) {
        for (int64_t b = 0; b <= a; b++) {
            double sum = 0;
            for (int64_t i = 0; i < points; i++) sum += (x[i * n + a] - mean[a]) * (x[i * n + b] - mean[b]);
            l[a * n + b] = l[b * n + a] = sum / (double)(points - 1);
        }
        trace += l[a * n + a];
    }
    if (!(trace > 0)) GEODEC_THROW(GEODEC_SCARCE, "all points are equal; a surrogate needs different ones");
    for (int64_t a = 0; a < n; a++)
        l[a * n + a] += 1e-12 * trace / (double)n; /* almost flat directions stay almost flat */
    GEODEC_TRY_MSG(geodec_chol_factor(n, l, err), "covariance of the points");
    geodec_rng r = geodec_rng_stream(seed, stream);
    for (int64_t i = 0; i < points; i++) {
        for (int64_t a = 0; a < n; a++) z[a] = geodec_rng_normal(&r);
        for (int64_t a = 0; a < n; a++) y[i * n + a] = mean[a] + geodec__dot(a + 1, l + a * n, z);
    }
done:
    geodec_mem_free(block);
    return st;
}

/* Frequencies f and points - f get opposite phases, 0 and (even counts) points/2 the phase 0, so that the result is
 * real. */
static geodec_status phase(int64_t points, int64_t n, const double *x, uint64_t seed, uint64_t stream, double *y,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const double tau = 6.283185307179586476925286766559;
    geodec_fft *plan = NULL;
    double *block = NULL;
    GEODEC_TRY(geodec_fft_create(points, &plan, err));
    GEODEC_NEW(block, 4 * points);
    double *re = block, *im = re + points, *c = im + points, *s = c + points;
    geodec_rng r = geodec_rng_stream(seed, stream);
    for (int64_t f = 0; f < points; f++) c[f] = 1, s[f] = 0;
    for (int64_t f = 1; 2 * f < points; f++) {
        const double angle = tau * geodec_rng_uniform(&r);
        c[f] = c[points - f] = cos(angle);
        s[f] = sin(angle);
        s[points - f] = -s[f];
    }
    for (int64_t a = 0; a < n; a++) {
        for (int64_t i = 0; i < points; i++) re[i] = x[i * n + a], im[i] = 0;
        geodec_fft_run(plan, re, im);
        for (int64_t f = 0; f < points; f++) { /* the conjugate: the forward transform then inverts */
            const double u = re[f], v = im[f];
            re[f] = u * c[f] - v * s[f];
            im[f] = -(u * s[f] + v * c[f]);
        }
        geodec_fft_run(plan, re, im);
        for (int64_t i = 0; i < points; i++) y[i * n + a] = re[i] / (double)points;
    }
done:
    geodec_fft_destroy(plan);
    geodec_mem_free(block);
    return st;
}

static geodec_status shuffle(int64_t points, int64_t n, const double *x, uint64_t seed, uint64_t stream, double *y,
                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *order = NULL;
    GEODEC_NEW(order, points);
    for (int64_t a = 0; a < n; a++) {
        geodec__choose_order(seed, geodec_rng_id("surrogate column", stream + (uint64_t)a), points, order);
        for (int64_t i = 0; i < points; i++) y[i * n + a] = x[order[i] * n + a];
    }
done:
    geodec_mem_free(order);
    return st;
}

geodec_status geodec_surrogate_draw(geodec_surrogate kind, int64_t points, int64_t n, const double *x, uint64_t seed,
                                    uint64_t stream, double *y, geodec_err *err)
{
    static geodec_status (*const draw[])(int64_t points, int64_t n, const double *x, uint64_t seed, uint64_t stream,
                                         double *y, geodec_err *err) = {gaussian, phase, shuffle};
    if (points < 0 || n < 1)
        GEODEC_FAIL(GEODEC_RANGE, "a surrogate of %lld points of dimension %lld", (long long)points, (long long)n);
    if (points < 2) GEODEC_FAIL(GEODEC_SCARCE, "%lld points; a surrogate needs at least 2", (long long)points);
    if (!geodec__finite(points * n, x)) GEODEC_FAIL(GEODEC_NUMERIC, "points that are not finite");
    GEODEC_PASS(draw[kind](points, n, x, seed, stream, y, err));
    return GEODEC_OK;
}
