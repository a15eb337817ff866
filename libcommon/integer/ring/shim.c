#include "integer/ring/shim.h"

#include "base/mem.h"

#include <math.h>

static const geodec_ring_shim shims[GEODEC_RING_SHIM_CONFIGS] = {
    {"none", 1, 0, {1, 0}, {1, 0}, 1},
    {"B", 41, 8, {0, 1}, {2420599, -259119}, 2825761},
    {"E", 2, 2, {2, 0}, {4, 0}, 4},
};

const geodec_ring_shim *geodec_ring_shim_of(geodec_ring_shim_config config)
{
    return (unsigned)config < GEODEC_RING_SHIM_CONFIGS ? &shims[config] : NULL;
}

/* ---- reading 1 -------------------------------------------------------------------------------------------------- */

typedef struct residue {
    uint64_t a, b; /* below p */
} residue;

static uint64_t least(int64_t v, int64_t p) { return (uint64_t)(v % p < 0 ? v % p + p : v % p); }

/* p < 2^31, so each product fits. */
static residue times(residue x, residue y, uint64_t p)
{
    const uint64_t ac = x.a * y.a % p, bd = x.b * y.b % p, cross = (x.a * y.b % p + x.b * y.a % p) % p;
    return (residue){(ac + (p - 41 % p) * bd) % p, (cross + bd) % p};
}

static residue power(residue x, uint64_t e, uint64_t p)
{
    residue r = {1 % p, 0};
    for (; e > 0; e >>= 1, x = times(x, x, p))
        if (e & 1) r = times(r, x, p);
    return r;
}

geodec_status geodec_ring_shim_frobenius(geodec_ring_element x, int64_t p, int64_t k, geodec_ring_element *out,
                                         geodec_err *err)
{
    if (p < 2 || p > GEODEC_RING_PRIME_MAX) GEODEC_FAIL(GEODEC_RANGE, "a modulus of %lld", (long long)p);
    if (k < 0) GEODEC_FAIL(GEODEC_RANGE, "an exponent of %lld is negative", (long long)k);
    residue r = {least(x.a, p), least(x.b, p)};
    for (int64_t i = 0; i < k; i++) {
        const residue next = power(r, (uint64_t)p, (uint64_t)p);
        if (next.a == r.a && next.b == r.b) break;
        r = next;
    }
    *out = (geodec_ring_element){(int64_t)r.a, (int64_t)r.b};
    return GEODEC_OK;
}

static geodec_status map_residues(const geodec_ring_shim *shim, geodec_ring_element *x, int64_t n, geodec_err *err)
{
    if (shim->k == 0) return GEODEC_OK;
    for (int64_t i = 0; i < n; i++) {
        const geodec_ring_element r = {(int64_t)least(x[i].a, shim->p), (int64_t)least(x[i].b, shim->p)};
        geodec_ring_element image;
        GEODEC_PASS(geodec_ring_shim_frobenius(r, shim->p, shim->k, &image, err));
        x[i].a += image.a - r.a;
        x[i].b += image.b - r.b;
    }
    return GEODEC_OK;
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

static geodec_status decoded(const geodec_ring_shim *shim, int reading, int q_max, const float *w, int64_t n,
                             geodec_ring_element *x, float *out, int *exponent, geodec_err *err)
{
    geodec_ring_scale s = {1, 1, 0};
    if (reading == 2) GEODEC_PASS(geodec_ring_encode_factor(&s, shim->modulus, 1, err));
    GEODEC_PASS(geodec_ring_encode(w, n, q_max, &s, x, err));
    if (reading == 1) GEODEC_PASS(map_residues(shim, x, n, err));
    *exponent = s.exponent;
    return geodec_ring_encode_back(x, n, s, out, err);
}

static double distance(const float *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)x[i] - (double)y[i];
        sum += d * d;
    }
    return n ? sqrt(sum / (double)n) : 0;
}

geodec_status geodec_ring_shim_apply(geodec_ring_shim_config config, int reading, int q_max, float *w, int64_t n,
                                     geodec_ring_shim_report *report, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ring_element *x = NULL;
    float *out = NULL, *plain = NULL;
    int exponent, unused;
    const geodec_ring_shim *const shim = geodec_ring_shim_of(config);
    if (!shim || reading < 1 || reading > GEODEC_RING_SHIM_READINGS)
        GEODEC_THROW(GEODEC_RANGE, "configuration %d, reading %d", (int)config, reading);
    GEODEC_NEW(x, n);
    GEODEC_NEW(out, n);
    GEODEC_TRY(decoded(shim, reading, q_max, w, n, x, out, &exponent, err));
    if (report) {
        GEODEC_NEW(plain, n);
        GEODEC_TRY(decoded(&shims[GEODEC_RING_SHIM_NONE], reading, q_max, w, n, x, plain, &unused, err));
        *report = (geodec_ring_shim_report){exponent, 0, distance(out, w, n), distance(plain, w, n)};
        for (int64_t i = 0; i < n; i++) report->changed += out[i] != plain[i];
    }
    memcpy(w, out, (size_t)n * sizeof *w);
done:
    GEODEC_FREE(x, out, plain);
    return st;
}
