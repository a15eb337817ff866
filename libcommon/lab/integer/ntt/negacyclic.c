#include "lab/integer/ntt/negacyclic.h"

#include "base/mem.h"
#include "integer/fixed/mulmod.h"

enum { MOST_MODULI = 3 };

struct geodec_negacyclic {
    geodec_negacyclic_by by;
    int64_t n;
    int moduli; /* of a pair: a, b; of WIDE: a, b, p60 */
    geodec_ntt *ntt[MOST_MODULI];
    void *a[MOST_MODULI], *b[MOST_MODULI];
    uint64_t most, sum; /* |a|_max, |a|_1 */
    int64_t *star;
    geodec_crt pair;
    geodec_crt_triple triple;
};

geodec_status geodec_negacyclic_create(int64_t n, geodec_negacyclic_by by, geodec_ntt_path path,
                                       geodec_negacyclic **out, geodec_err *err)
{
    static const struct {
        int count;
        geodec_modulus_id id[MOST_MODULI];
    } sets[] = {[GEODEC_NEGACYCLIC_P60] = {1, {GEODEC_MODULUS_P60}},
                [GEODEC_NEGACYCLIC_Q1Q2] = {2, {GEODEC_MODULUS_Q1, GEODEC_MODULUS_Q2}},
                [GEODEC_NEGACYCLIC_W1W2] = {2, {GEODEC_MODULUS_W1, GEODEC_MODULUS_W2}},
                [GEODEC_NEGACYCLIC_WIDE] = {3, {GEODEC_MODULUS_W1, GEODEC_MODULUS_W2, GEODEC_MODULUS_P60}}};
    geodec_status st = GEODEC_OK;
    geodec_negacyclic *p = NULL;
    if (n < 1 || n > GEODEC_NEGACYCLIC_MOST)
        GEODEC_THROW(GEODEC_INVAL, "N = %lld is not between 1 and %d", (long long)n, GEODEC_NEGACYCLIC_MOST);
    GEODEC_NEW(p, 1);
    p->n = n;
    p->by = by != GEODEC_NEGACYCLIC_AUTO ? by : n <= 512 ? GEODEC_NEGACYCLIC_Q1Q2 : GEODEC_NEGACYCLIC_W1W2;
    p->moduli = sets[p->by].count;
    for (int i = 0; i < p->moduli; i++) {
        GEODEC_TRY(geodec_ntt_create(geodec_modulus_of(sets[p->by].id[i]), n, path, &p->ntt[i], err));
        char *words;
        GEODEC_NEW(words, n * (int64_t)geodec_ntt_word(p->ntt[i]));
        p->a[i] = words;
        GEODEC_NEW(words, n * (int64_t)geodec_ntt_word(p->ntt[i]));
        p->b[i] = words;
    }
    GEODEC_NEW(p->star, n);
    if (p->moduli > 1) p->pair = geodec_crt_of(geodec_ntt_modulus(p->ntt[0]), geodec_ntt_modulus(p->ntt[1]));
    if (p->moduli > 2) p->triple = geodec_crt_triple_of(p->pair.a, p->pair.b);
    GEODEC_MOVE(*out, p);
done:
    geodec_negacyclic_destroy(p);
    return st;
}

void geodec_negacyclic_destroy(geodec_negacyclic *p)
{
    if (!p) return;
    for (int i = 0; i < MOST_MODULI; i++) {
        geodec_ntt_destroy(p->ntt[i]);
        GEODEC_FREE(p->a[i], p->b[i]);
    }
    GEODEC_FREE(p->star, p);
}

static uint64_t size_of(int64_t x) { return x < 0 ? 0 - (uint64_t)x : (uint64_t)x; }

/* |x|_max and |x|_1, at most UINT64_MAX. */
static void sizes(const int64_t *x, int64_t n, uint64_t *most, uint64_t *sum)
{
    *most = *sum = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t s = size_of(x[i]);
        if (s > *most) *most = s;
        *sum = *sum + s < s ? UINT64_MAX : *sum + s;
    }
}

void geodec_negacyclic_load(geodec_negacyclic *p, const int64_t *a)
{
    sizes(a, p->n, &p->most, &p->sum);
    for (int i = 0; i < p->moduli; i++) {
        geodec_ntt_words(p->ntt[i], a, p->n, p->a[i]);
        geodec_ntt_forward(p->ntt[i], p->a[i], p->a[i]);
    }
}

static bool at_most(geodec_mulmod_wide x, uint64_t high, uint64_t low)
{
    return x.high < high || (x.high == high && x.low <= low);
}

/* Saturated sums make the products larger than the range of every set but WIDE's, where they are exact enough: a sum
 * beyond 2^64 with a factor that is not 0 may be below the range, and counts as out of it. */
static bool bounded(const geodec_negacyclic *p, const int64_t *b)
{
    uint64_t most, sum;
    sizes(b, p->n, &most, &sum);
    const geodec_mulmod_wide x = geodec_mulmod_product(p->sum, most), y = geodec_mulmod_product(p->most, sum);
    const bool first = p->sum < UINT64_MAX || most == 0, second = sum < UINT64_MAX || p->most == 0;
    uint64_t high = 0, low = (uint64_t)geodec_negacyclic_range(p);
    if (p->by == GEODEC_NEGACYCLIC_WIDE) {
        high = (uint64_t)p->triple.half.high;
        low = p->triple.half.low;
    }
    return (first && at_most(x, high, low)) || (second && at_most(y, high, low));
}

static geodec_status product(geodec_negacyclic *p, const int64_t *b, bool *exact, geodec_err *err)
{
    const bool fits = bounded(p, b);
    if (!exact && !fits)
        GEODEC_FAIL(GEODEC_LIMIT, "coefficients of the product may exceed the range of its %d moduli", p->moduli);
    if (exact) *exact = fits;
    for (int i = 0; i < p->moduli; i++) {
        geodec_ntt_words(p->ntt[i], b, p->n, p->b[i]);
        geodec_ntt_forward(p->ntt[i], p->b[i], p->b[i]);
        geodec_ntt_multiply(p->ntt[i], p->a[i], p->b[i], p->b[i]);
        geodec_ntt_inverse(p->ntt[i], p->b[i], p->b[i]);
    }
    return GEODEC_OK;
}

geodec_status geodec_negacyclic_multiply(geodec_negacyclic *p, const int64_t *b, int64_t *c, bool *exact,
                                         geodec_err *err)
{
    if (p->by == GEODEC_NEGACYCLIC_WIDE) GEODEC_FAIL(GEODEC_INVAL, "a product of three moduli has 128 bits");
    GEODEC_PASS(product(p, b, exact, err));
    if (p->moduli == 1) {
        geodec_ntt_centred(p->ntt[0], p->b[0], p->n, c);
        return GEODEC_OK;
    }
    const uint32_t *x = p->b[0], *y = p->b[1];
    for (int64_t i = 0; i < p->n; i++) c[i] = geodec_crt_centred(&p->pair, x[i], y[i]);
    return GEODEC_OK;
}

geodec_status geodec_negacyclic_multiply_wide(geodec_negacyclic *p, const int64_t *b, geodec_crt_wide *c, bool *exact,
                                              geodec_err *err)
{
    if (p->by != GEODEC_NEGACYCLIC_WIDE) GEODEC_FAIL(GEODEC_INVAL, "a product of 128 bits needs three moduli");
    GEODEC_PASS(product(p, b, exact, err));
    const uint32_t *x = p->b[0], *y = p->b[1];
    const uint64_t *z = p->b[2];
    for (int64_t i = 0; i < p->n; i++) c[i] = geodec_crt_triple_centred(&p->triple, x[i], y[i], z[i]);
    return GEODEC_OK;
}

int64_t geodec_negacyclic_score(geodec_negacyclic *p, const int64_t *k)
{
    uint64_t r[MOST_MODULI] = {0};
    p->star[0] = k[0];
    for (int64_t j = 1; j < p->n; j++) p->star[j] = (int64_t)(0 - (uint64_t)k[p->n - j]);
    const int used = p->by == GEODEC_NEGACYCLIC_WIDE ? 2 : p->moduli;
    for (int i = 0; i < used; i++) {
        geodec_ntt_words(p->ntt[i], p->star, p->n, p->b[i]);
        geodec_ntt_forward(p->ntt[i], p->b[i], p->b[i]);
        r[i] = geodec_ntt_dot(p->ntt[i], p->a[i], p->b[i]);
    }
    if (used == 1) return geodec_modulus_centred(geodec_ntt_modulus(p->ntt[0]), r[0]);
    return geodec_crt_centred(&p->pair, r[0], r[1]);
}

int64_t geodec_negacyclic_range(const geodec_negacyclic *p)
{
    if (p->by == GEODEC_NEGACYCLIC_WIDE) return INT64_MAX;
    return p->moduli == 1 ? (int64_t)((geodec_ntt_modulus(p->ntt[0])->q - 1) / 2) : (int64_t)p->pair.half;
}
