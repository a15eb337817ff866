#include "lab/integer/ring/shim.h"

#include <math.h>
#include <string.h>

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

/* ---- both ------------------------------------------------------------------------------------------------------- */

enum { PART = 1024, LARGEST_P = 41 };

/* How one configuration encodes and decodes a tensor. */
typedef struct coder {
    geodec_ring_scale scale;
    int64_t p, change[LARGEST_P]; /* reading 1: what a code with residue r modulo p gains; p = 1: nothing */
} coder;

static geodec_status prepare(const geodec_ring_shim *shim, int reading, int q_max, const float *w, int64_t n, coder *c,
                             geodec_err *err)
{
    *c = (coder){.scale = {1, 1, 0}, .p = 1};
    if (reading == 2) GEODEC_PASS(geodec_ring_encode_factor(&c->scale, shim->modulus, 1, err));
    for (int64_t r = 0; reading == 1 && shim->k > 0 && r < shim->p; r++) {
        geodec_ring_element image; /* of a rational integer, so b = 0 */
        GEODEC_PASS(geodec_ring_shim_frobenius((geodec_ring_element){r, 0}, shim->p, shim->k, &image, err));
        c->p = shim->p;
        c->change[r] = image.a - r;
    }
    return geodec_ring_encode_step(w, n, q_max, &c->scale, err);
}

static geodec_status decode(const coder *c, const float *w, int64_t n, float *out, geodec_err *err)
{
    geodec_ring_element x[PART];
    geodec_ring_encode_part(w, n, &c->scale, x);
    for (int64_t i = 0; i < n && c->p > 1; i++) x[i].a += c->change[least(x[i].a, c->p)];
    return geodec_ring_encode_back(x, n, c->scale, out, err);
}

static double distance2(const float *x, const float *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += ((double)x[i] - (double)y[i]) * ((double)x[i] - (double)y[i]);
    return sum;
}

geodec_status geodec_ring_shim_apply(geodec_ring_shim_config config, int reading, int q_max, float *w, int64_t n,
                                     geodec_ring_shim_report *report, geodec_err *err)
{
    const geodec_ring_shim *const shim = geodec_ring_shim_of(config);
    coder own, plain;
    if (!shim || reading < 1 || reading > GEODEC_RING_SHIM_READINGS)
        GEODEC_FAIL(GEODEC_RANGE, "configuration %d, reading %d", (int)config, reading);
    GEODEC_PASS(prepare(shim, reading, q_max, w, n, &own, err));
    GEODEC_PASS(prepare(&shims[GEODEC_RING_SHIM_NONE], reading, q_max, w, n, &plain, err));
    geodec_ring_shim_report r = {.exponent = own.scale.exponent};
    for (int64_t at = 0; at < n; at += PART) {
        const int64_t count = n - at < PART ? n - at : PART;
        float out[PART], control[PART];
        GEODEC_PASS(decode(&own, w + at, count, out, err));
        if (report) {
            GEODEC_PASS(decode(&plain, w + at, count, control, err));
            r.error += distance2(out, w + at, count);
            r.plain += distance2(control, w + at, count);
            for (int64_t i = 0; i < count; i++) r.changed += out[i] != control[i];
        }
        memcpy(w + at, out, (size_t)count * sizeof *w);
    }
    r.error = n > 0 ? sqrt(r.error / (double)n) : 0;
    r.plain = n > 0 ? sqrt(r.plain / (double)n) : 0;
    if (report) *report = r;
    return GEODEC_OK;
}
