#include "lab/integer/scores/scores.h"

#include "base/mem.h"
#include "base/names_internal.h"
#include "integer/engine/rows_internal.h"
#include "lab/integer/ntt/crt.h"
#include "lab/integer/ntt/ntt.h"
#include "lab/integer/scores/dots_internal.h"

enum { MODULI = 2 };

/* A modulus and its constants. Of 30 bits: mu = floor(2^64 / q), N^-1 and 2^32 N^-1. Of p60: N^-1 times the weights of
 * the parts. */
typedef struct modulus {
    geodec_ntt *ntt;
    uint64_t q, mu, factor[GEODEC__DOTS_WIDE];
    geodec_mulmod_barrett barrett;
} modulus;

struct geodec_scores {
    const geodec__dots_ops *dots;
    int64_t dim, n, block;
    int moduli;
    modulus modulus[MODULI];
    geodec_crt pair;
};

struct geodec_scores_query {
    int64_t *star;      /* [n] coefficients */
    uint64_t *words;    /* [n] of one modulus, before they are put in order */
    uint8_t *transform; /* [block] of the query */
};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

GEODEC__NAME(geodec_scores_name, geodec_scores_by, "direct", "ntt-p60", "ntt-crt")

int64_t geodec_scores_length(int64_t dim)
{
    int64_t n = GEODEC_SCORES_LEAST;
    while (n < dim) n *= 2;
    return n;
}

int geodec_scores_moduli(geodec_scores_by by, int64_t dim, geodec_modulus_id id[2])
{
    if (by == GEODEC_SCORES_NTT_P60) {
        id[0] = GEODEC_MODULUS_P60;
        return 1;
    }
    const bool small = geodec_scores_length(dim) <= geodec_modulus_of(GEODEC_MODULUS_Q1)->most;
    id[0] = small ? GEODEC_MODULUS_Q1 : GEODEC_MODULUS_W1;
    id[1] = small ? GEODEC_MODULUS_Q2 : GEODEC_MODULUS_W2;
    return 2;
}

int64_t geodec_scores_block(int64_t dim) { return geodec_scores_length(dim) * (int64_t)sizeof(uint64_t); }

int64_t geodec_scores_range(geodec_scores_by by, int64_t dim)
{
    geodec_modulus_id id[2];
    if (by == GEODEC_SCORES_DIRECT) return INT64_MAX;
    if (geodec_scores_moduli(by, dim, id) == 1) return (int64_t)((geodec_modulus_of(id[0])->q - 1) / 2);
    return (int64_t)geodec_crt_of(geodec_modulus_of(id[0]), geodec_modulus_of(id[1])).half;
}

/* |x|^2, at most UINT64_MAX. */
static uint64_t squares(const int32_t *x, int64_t dim)
{
    uint64_t sum = 0;
    for (int64_t i = 0; i < dim; i++) {
        const uint64_t v = (uint64_t)((int64_t)x[i] * x[i]);
        sum = sum + v < v ? UINT64_MAX : sum + v;
    }
    return sum;
}

bool geodec_scores_exact(geodec_scores_by by, const int32_t *q, const int32_t *k, int64_t dim)
{
    const uint64_t range = (uint64_t)geodec_scores_range(by, dim);
    const geodec_mulmod_wide most = geodec_mulmod_product(range, range),
                             x = geodec_mulmod_product(squares(q, dim), squares(k, dim));
    return x.high < most.high || (x.high == most.high && x.low <= most.low);
}

/* ---- plans ------------------------------------------------------------------------------------------------------- */

static uint64_t times(const modulus *m, uint64_t a, uint64_t b)
{
    return geodec_mulmod_reduce(&m->barrett, geodec_mulmod_product(a, b), NULL);
}

static geodec_status new_modulus(modulus *m, geodec_modulus_id id, int64_t n, geodec_isa isa, geodec_err *err)
{
    static const int weight[GEODEC__DOTS_WIDE] = {0, 32, 30, 62, 60, 92}; /* dots_internal.h */
    GEODEC_PASS(geodec_ntt_create(geodec_modulus_of(id), n, geodec_ntt_path_of(isa), &m->ntt, err));
    m->q = geodec_modulus_of(id)->q;
    m->mu = geodec_mulmod_quotient(1, 64, m->q, NULL);
    m->barrett = geodec_mulmod_tight(m->q);
    const uint64_t inverse = geodec_modulus_inverse(m->q, (uint64_t)n);
    for (int i = 0; i < GEODEC__DOTS_WIDE; i++)
        m->factor[i] = times(m, inverse, geodec_modulus_power(m->q, 2, (uint64_t)weight[i]));
    return GEODEC_OK;
}

geodec_status geodec_scores_create(geodec_scores_by by, int64_t dim, geodec_isa isa, geodec_scores **out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_scores *s = NULL;
    geodec_modulus_id id[MODULI];
    if (by != GEODEC_SCORES_NTT_P60 && by != GEODEC_SCORES_NTT_CRT)
        GEODEC_THROW(GEODEC_INVAL, "scores by %s need no transforms", geodec_scores_name(by));
    if (dim < 1 || dim > GEODEC_SCORES_MOST)
        GEODEC_THROW(GEODEC_INVAL, "vectors of %lld numbers; scores by transforms take 1 to %d", (long long)dim,
                     GEODEC_SCORES_MOST);
    GEODEC_NEW(s, 1);
    s->dots = geodec__dots_for(isa);
    if (!s->dots)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "this processor has no %s instructions", geodec_kernels_isa_name(isa));
    s->dim = dim;
    s->n = geodec_scores_length(dim);
    s->block = geodec_scores_block(dim);
    s->moduli = geodec_scores_moduli(by, dim, id);
    for (int i = 0; i < s->moduli; i++) GEODEC_TRY(new_modulus(&s->modulus[i], id[i], s->n, isa, err));
    if (s->moduli > 1) s->pair = geodec_crt_of(geodec_modulus_of(id[0]), geodec_modulus_of(id[1]));
    GEODEC_MOVE(*out, s);
done:
    geodec_scores_destroy(s);
    return st;
}

void geodec_scores_destroy(geodec_scores *s)
{
    for (int i = 0; s && i < MODULI; i++) geodec_ntt_destroy(s->modulus[i].ntt);
    geodec_mem_free(s);
}

geodec_status geodec_scores_query_create(const geodec_scores *s, geodec_scores_query **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_scores_query *w = NULL;
    GEODEC_NEW(w, 1);
    GEODEC_NEW_EACH(s->n, w->star, w->words);
    GEODEC_NEW(w->transform, s->block);
    GEODEC_MOVE(*out, w);
done:
    geodec_scores_query_destroy(w);
    return st;
}

void geodec_scores_query_destroy(geodec_scores_query *w)
{
    if (w) GEODEC_FREE(w->star, w->words, w->transform, w);
}

/* ---- transforms -------------------------------------------------------------------------------------------------- */

/* The residues of one modulus after those of the other. */
static void transform(const geodec_scores *s, geodec_scores_query *w, uint8_t *block)
{
    for (int i = 0; i < s->moduli; i++) {
        const geodec_ntt *t = s->modulus[i].ntt;
        geodec_ntt_words(t, w->star, s->n, w->words);
        geodec_ntt_forward(t, w->words, w->words);
        geodec_ntt_to_reversed(t, w->words, block + (size_t)i * (size_t)s->n * geodec_ntt_word(t));
    }
}

void geodec_scores_key(const geodec_scores *s, geodec_scores_query *w, const int32_t *k, void *block)
{
    memset(w->star, 0, (size_t)s->n * sizeof *w->star);
    w->star[0] = k[0];
    for (int64_t j = 1; j < s->dim; j++) w->star[s->n - j] = -(int64_t)k[j];
    transform(s, w, block);
}

void geodec_scores_load(const geodec_scores *s, geodec_scores_query *w, const int32_t *q)
{
    for (int64_t j = 0; j < s->n; j++) w->star[j] = j < s->dim ? q[j] : 0;
    transform(s, w, w->transform);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/* x mod q, or that and q: floor(x mu / 2^64) is the quotient or one less. */
static inline uint64_t reduce_lazy(const modulus *m, uint64_t x)
{
    return x - geodec_mulmod_product(x, m->mu).high * m->q;
}

static uint64_t narrow(const geodec__dots_ops *d, const modulus *m, const uint32_t *a, const uint32_t *b, int64_t n)
{
    uint64_t part[GEODEC__DOTS_NARROW];
    d->narrow(a, b, n, part);
    /* below 2q q each, so the sum is below 2^62 */
    const uint64_t x = reduce_lazy(m, part[0]) * m->factor[0] + reduce_lazy(m, part[1]) * m->factor[1];
    return geodec_mulmod_once(reduce_lazy(m, x), m->q);
}

static uint64_t wide(const geodec__dots_ops *d, const modulus *m, const uint64_t *a, const uint64_t *b, int64_t n)
{
    uint64_t part[GEODEC__DOTS_WIDE];
    d->wide(a, b, n, part);
    geodec_mulmod_wide x = {0, 0}; /* six products below 2^104 */
    for (int i = 0; i < GEODEC__DOTS_WIDE; i++) {
        const geodec_mulmod_wide p = geodec_mulmod_product(part[i], m->factor[i]);
        x.low += p.low;
        x.high += p.high + (x.low < p.low);
    }
    return geodec_mulmod_reduce(&m->barrett, x, NULL);
}

void geodec_scores_sums(const geodec_scores *s, const geodec_scores_query *w, const void *block, int64_t n, int64_t *c)
{
    const uint8_t *at = block;
    for (int64_t i = 0; i < n; i++, at += s->block) {
        if (s->moduli == 1) {
            const uint64_t r = wide(s->dots, &s->modulus[0], (const uint64_t *)(const void *)w->transform,
                                    (const uint64_t *)(const void *)at, s->n);
            c[i] = geodec_modulus_centred(geodec_ntt_modulus(s->modulus[0].ntt), r);
        } else {
            /* the next block; measured: without this, streams of 30-bit words take up to four times as long */
            for (int64_t j = 0; i + 1 < n && j < s->block; j += 64) __builtin_prefetch(at + s->block + j);
            const uint32_t *q = (const uint32_t *)(const void *)w->transform, *k = (const uint32_t *)(const void *)at;
            c[i] = geodec_crt_centred(&s->pair, narrow(s->dots, &s->modulus[0], q, k, s->n),
                                      narrow(s->dots, &s->modulus[1], q + s->n, k + s->n, s->n));
        }
    }
}

geodec_scores_of16 geodec_scores_direct16(geodec_isa isa)
{
    const geodec__dots_ops *d = geodec__dots_for(isa);
    return d ? geodec__rows_for(d->isa)->dots : NULL;
}

geodec_scores_of32 geodec_scores_direct32(geodec_isa isa)
{
    const geodec__dots_ops *d = geodec__dots_for(isa);
    return d ? d->plain : NULL;
}
