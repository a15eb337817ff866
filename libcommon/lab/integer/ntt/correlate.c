#include "lab/integer/ntt/correlate.h"

#include "base/cpu_internal.h"
#include "base/mem.h"
#include "base/names_internal.h"
#include "integer/fixed/mulmod.h"
#include "lab/integer/ntt/correlate_internal.h"

#include <limits.h>

/* Measured costs in nanoseconds of AVX-512 with IFMA (geodec-integer-correlate --crossover): of a shift and of a
 * multiplication of a direct sum, of a word of a product modulo p60 for each level and for the rest, and of a word of
 * the tables. Other processors differ, but scale both. */
static const double SHIFT = 1.5, NARROW = 0.034, WORD = 0.057, LEVEL = 0.16, REST = 5, PLAN = 61;

GEODEC__NAME(geodec_correlate_name, geodec_correlate_by, "auto", "direct", "p60", "pair")

static int64_t parts_of(int64_t d, int64_t n, int64_t length)
{
    const int64_t each = length - d + 1;
    return (n - d + each) / each;
}

/* The cheapest length of transforms; 0 in `length` if the query is too long. */
static geodec_correlate_report transforms(int64_t d, int64_t n, double *cost)
{
    geodec_correlate_report best = {.by = GEODEC_CORRELATE_P60};
    int levels = 0;
    for (int64_t length = 1; length <= GEODEC_NEGACYCLIC_MOST; length *= 2, levels++) {
        if (length < d) continue;
        const int64_t parts = parts_of(d, n, length);
        const double c = (double)length * ((double)parts * (LEVEL * levels + REST) + PLAN);
        if (best.length && c >= *cost) continue;
        *cost = c;
        best.length = length;
        best.parts = parts;
    }
    return best;
}

geodec_correlate_report geodec_correlate_choose(int64_t d, int64_t n, bool narrow)
{
    double cost = 0;
    const geodec_correlate_report r = transforms(d, n, &cost);
    const double direct = (double)(n - d + 1) * (SHIFT + (double)d * (narrow ? NARROW : WORD));
    return r.length && cost < direct ? r : (geodec_correlate_report){.by = GEODEC_CORRELATE_DIRECT};
}

void geodec__correlate_scalar(const int32_t *q, int64_t d, const int32_t *s, int64_t shifts, int64_t *out)
{
    for (int64_t t = 0; t < shifts; t++) {
        int64_t sum = 0;
        for (int64_t i = 0; i < d; i++) sum += (int64_t)q[i] * s[t + i];
        out[t] = sum;
    }
}

typedef struct sizes {
    uint64_t most, sum;
} sizes;

static geodec_status measure(const int64_t *x, int64_t n, const char *what, sizes *out, geodec_err *err)
{
    sizes r = {0};
    for (int64_t i = 0; i < n; i++) {
        if (x[i] < INT32_MIN || x[i] > INT32_MAX)
            GEODEC_FAIL(GEODEC_LIMIT, "%s: value %lld, %lld, is beyond 32 bits", what, (long long)i, (long long)x[i]);
        const uint64_t v = (uint64_t)(x[i] < 0 ? -x[i] : x[i]);
        if (v > r.most) r.most = v;
        r.sum += v; /* n < 2^32 values of 32 bits */
    }
    *out = r;
    return GEODEC_OK;
}

/* Words with a value and the next one, of 16 bits each. */
static int32_t pair(int64_t a, int64_t b) { return (int32_t)((uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16); }

static geodec_status direct(const int64_t *q, int64_t d, const int64_t *s, int64_t n, uint64_t block, geodec_isa isa,
                            int64_t *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *a = NULL, *b = NULL;
    GEODEC_NEW(a, d + 1);
    GEODEC_NEW(b, n + 1);
#if defined(__x86_64__)
    if (isa == GEODEC_ISA_AVX512 && block) {
        for (int64_t i = 0; i < d; i += 2) a[i / 2] = pair(q[i], i + 1 < d ? q[i + 1] : 0);
        for (int64_t i = 0; i < n; i++) b[i] = pair(s[i], i + 1 < n ? s[i + 1] : 0);
        geodec__correlate_avx512_pairs(a, (d + 1) / 2, b, n - d + 1, (int64_t)block, out);
        goto done;
    }
#endif
    for (int64_t i = 0; i < d; i++) a[i] = (int32_t)q[i];
    for (int64_t i = 0; i < n; i++) b[i] = (int32_t)s[i];
#if defined(__x86_64__)
    if (isa == GEODEC_ISA_AVX512) {
        geodec__correlate_avx512(a, d, b, n - d + 1, out);
        goto done;
    }
    if (isa == GEODEC_ISA_AVX2) {
        geodec__correlate_avx2(a, d, b, n - d + 1, out);
        goto done;
    }
#endif
    (void)block;
    (void)isa;
    geodec__correlate_scalar(a, d, b, n - d + 1, out);
done:
    GEODEC_FREE(a, b);
    return st;
}

/* Each part of the sequence times the reversed query: coefficient d - 1 + t is shift t. The parts overlap by d - 1. */
static geodec_status by_products(const int64_t *q, int64_t d, const int64_t *s, int64_t n, geodec_negacyclic_by by,
                                 int64_t length, geodec_ntt_path path, int64_t *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_negacyclic *p = NULL;
    int64_t *x = NULL, *y = NULL;
    GEODEC_NEW_EACH(length, x, y);
    GEODEC_TRY(geodec_negacyclic_create(length, by, path, &p, err));
    for (int64_t i = 0; i < d; i++) x[d - 1 - i] = q[i];
    geodec_negacyclic_load(p, x);
    const int64_t each = length - d + 1, shifts = n - d + 1;
    for (int64_t t = 0; t < shifts; t += each) {
        const int64_t have = n - t < length ? n - t : length, wanted = shifts - t < each ? shifts - t : each;
        memcpy(x, s + t, (size_t)have * sizeof *x);
        memset(x + have, 0, (size_t)(length - have) * sizeof *x);
        GEODEC_TRY(geodec_negacyclic_multiply(p, x, y, NULL, err));
        memcpy(out + t, y + d - 1, (size_t)wanted * sizeof *out);
    }
done:
    geodec_negacyclic_destroy(p);
    GEODEC_FREE(x, y);
    return st;
}

static geodec_isa isa_of(geodec_ntt_path path)
{
    const bool wide = path == GEODEC_NTT_AUTO || path >= GEODEC_NTT_AVX512;
    if (wide && geodec__cpu() & GEODEC__CPU_AVX512) return GEODEC_ISA_AVX512;
    if ((wide || path == GEODEC_NTT_AVX2) && geodec__cpu() & GEODEC__CPU_AVX2) return GEODEC_ISA_AVX2;
    return GEODEC_ISA_SCALAR;
}

/* Whether |q|_1 |s|_max is at most `range`. */
static bool within(const sizes *q, const sizes *s, uint64_t range) { return s->most == 0 || q->sum <= range / s->most; }

static uint64_t range_of(geodec_correlate_by by, int64_t length)
{
    if (by == GEODEC_CORRELATE_DIRECT) return INT64_MAX;
    if (by == GEODEC_CORRELATE_P60) return (geodec_modulus_of(GEODEC_MODULUS_P60)->q - 1) / 2;
    const bool small = length <= geodec_modulus_of(GEODEC_MODULUS_Q1)->most;
    return geodec_crt_of(geodec_modulus_of(small ? GEODEC_MODULUS_Q1 : GEODEC_MODULUS_W1),
                         geodec_modulus_of(small ? GEODEC_MODULUS_Q2 : GEODEC_MODULUS_W2))
        .half;
}

geodec_status geodec_correlate_run(const int64_t *q, int64_t d, const int64_t *s, int64_t n, geodec_correlate_by by,
                                   geodec_ntt_path path, int64_t *out, geodec_correlate_report *report, geodec_err *err)
{
    sizes a, b;
    if (d < 1 || d > n)
        GEODEC_FAIL(GEODEC_INVAL, "a query of %lld values does not fit in a sequence of %lld", (long long)d,
                    (long long)n);
    if (n > UINT32_MAX) GEODEC_FAIL(GEODEC_LIMIT, "the sequence has %lld values, more than 2^32 - 1", (long long)n);
    GEODEC_PASS(measure(q, d, "query", &a, err));
    GEODEC_PASS(measure(s, n, "sequence", &b, err));
    const bool narrow = a.most <= INT16_MAX && b.most <= INT16_MAX;
    double cost = 0;
    geodec_correlate_report r = {.by = GEODEC_CORRELATE_DIRECT};
    if (by == GEODEC_CORRELATE_AUTO) {
        r = geodec_correlate_choose(d, n, narrow);
        if (!within(&a, &b, range_of(r.by, r.length)) && r.by == GEODEC_CORRELATE_P60) r.by = GEODEC_CORRELATE_PAIR;
        if (!within(&a, &b, range_of(r.by, r.length))) r = (geodec_correlate_report){.by = GEODEC_CORRELATE_DIRECT};
    } else if (by != GEODEC_CORRELATE_DIRECT) {
        r = transforms(d, n, &cost);
        r.by = by;
        if (!r.length)
            GEODEC_FAIL(GEODEC_LIMIT, "the query has %lld values, more than %d", (long long)d, GEODEC_NEGACYCLIC_MOST);
    }
    if (!within(&a, &b, range_of(r.by, r.length)))
        GEODEC_FAIL(GEODEC_LIMIT, "sums of up to %llu x %llu may leave the range of method %s",
                    (unsigned long long)a.sum, (unsigned long long)b.most, geodec_correlate_name(r.by));
    if (report) *report = r;
    if (r.by == GEODEC_CORRELATE_DIRECT) {
        const uint64_t top = 2 * a.most * b.most;
        const uint64_t block = !narrow ? 0 : top ? INT32_MAX / top : INT32_MAX; /* at least 1: 2 (2^15 - 1)^2 < 2^31 */
        return direct(q, d, s, n, block, isa_of(path), out, err);
    }
    return by_products(q, d, s, n, r.by == GEODEC_CORRELATE_P60 ? GEODEC_NEGACYCLIC_P60 : GEODEC_NEGACYCLIC_AUTO,
                       r.length, path, out, err);
}
