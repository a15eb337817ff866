#include "lab/perspective/memory/capacity.h"

#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/memory/hv_internal.h"

#include <math.h>
#include <string.h>

/* Streams of the seed. */
static uint64_t keys(void) { return geodec_rng_id("capacity key", 0); }
static uint64_t values(void) { return geodec_rng_id("capacity value", 0); }
static uint64_t others(void) { return geodec_rng_id("capacity other", 0); }

/* ---- one bank ---------------------------------------------------------------------------------------------------- */

typedef struct bank {
    int64_t pairs, candidates;
    uint64_t seed;
    const geodec__hv_ops *ops;
    const geodec_hv *value; /* [candidates] */
    geodec_hv bits;         /* the majority */
    uint8_t *right;         /* [pairs] */
} bank;

static void one_of_bank(void *ctx, int64_t i, int worker)
{
    bank *const b = ctx;
    geodec_hv probe;
    (void)worker;
    geodec_hv_code(b->seed, keys(), (uint64_t)i, &probe);
    geodec_hv_bind(&probe, &b->bits, &probe);
    const int32_t own = b->ops->distance(probe.word, b->value[i].word);
    b->right[i] = 1;
    for (int64_t j = 0; j < b->candidates; j++)
        if (j != i && b->ops->distance(probe.word, b->value[j].word) <= own) b->right[i] = 0;
}

/* A majority of two: equal bits stay, the others are decided by `tie`, or stay (the first operand). */
static void merge_bits(geodec_capacity_rule rule, const geodec_hv *pair, const geodec_hv *tie, geodec_hv *bits)
{
    if (rule == GEODEC_CAPACITY_BIT_FIRST) return;
    for (int w = 0; w < GEODEC_HV_WORDS; w++) {
        const uint64_t differ = bits->word[w] ^ pair->word[w];
        bits->word[w] = (bits->word[w] & ~differ) | (tie->word[w] & differ);
    }
}

static void fill_bank(geodec_capacity_rule rule, bank *b, int16_t *count)
{
    geodec_hv pair, tie;
    for (int64_t i = 0; i < b->pairs; i++) {
        geodec_hv_code(b->seed, keys(), (uint64_t)i, &pair);
        geodec_hv_bind(&pair, &b->value[i], &pair);
        geodec_hv_code(b->seed, geodec_rng_id("capacity tie", 0), (uint64_t)i, &tie);
        if (rule == GEODEC_CAPACITY_COUNTERS)
            b->ops->add(count, pair.word);
        else if (i == 0)
            b->bits = pair;
        else
            merge_bits(rule, &pair, &tie, &b->bits);
    }
    if (rule == GEODEC_CAPACITY_COUNTERS) b->ops->majority(count, tie.word, b->bits.word);
}

geodec_status geodec_capacity_bank(geodec_capacity_rule rule, int64_t pairs, int64_t candidates, uint64_t seed,
                                   double *share, geodec_pool *pool, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bank b = {.pairs = pairs, .candidates = candidates, .seed = seed, .ops = geodec__hv_for(GEODEC_ISA_AUTO)};
    geodec_hv *value = NULL;
    int16_t *count = NULL;
    int64_t right = 0;
    if ((unsigned)rule >= GEODEC_CAPACITY_RULES || pairs < 1 || candidates < pairs)
        GEODEC_THROW(GEODEC_RANGE, "%lld pairs, %lld candidates, rule %d", (long long)pairs, (long long)candidates,
                     (int)rule);
    GEODEC_NEW(value, candidates);
    GEODEC_NEW(count, GEODEC_HV_COUNTS);
    GEODEC_NEW(b.right, pairs);
    for (int64_t i = 0; i < candidates; i++) geodec_hv_code(seed, values(), (uint64_t)i, &value[i]);
    b.value = value;
    fill_bank(rule, &b, count);
    geodec_pool_run(pool, pairs, one_of_bank, &b);
    for (int64_t i = 0; i < pairs; i++) right += b.right[i];
    *share = (double)right / (double)pairs;
done:
    GEODEC_FREE(value, count, b.right);
    return st;
}

/* ---- a memory ---------------------------------------------------------------------------------------------------- */

typedef struct outcome {
    geodec_hdm_hit hit, foreign;
    bool reached, exact;
} outcome;

typedef struct trial {
    const geodec_capacity_options *o;
    const geodec_hdm *m;
    const geodec__hv_ops *ops;
    const geodec_hv *key; /* [pairs], of the control */
    outcome *result;      /* [queries] */
} trial;

static int64_t entry_of(const geodec_capacity_options *o, int64_t query) { return query * o->pairs / o->queries; }

static bool nearest_is(const trial *t, const geodec_hv *key, int64_t entry)
{
    const int32_t own = t->ops->distance(key->word, t->key[entry].word);
    for (int64_t i = 0; i < t->o->pairs; i++)
        if (i != entry && t->ops->distance(key->word, t->key[i].word) <= own) return false;
    return true;
}

static void one_query(void *ctx, int64_t q, int worker)
{
    trial *const t = ctx;
    const geodec_capacity_options *const o = t->o;
    outcome *const r = &t->result[q];
    const int64_t entry = entry_of(o, q);
    geodec_hv key;
    (void)worker;
    geodec_hv_code(o->seed, keys(), (uint64_t)entry, &key);
    if (o->noise > 0) geodec_hv_noise(o->noise, o->seed, geodec_rng_id("capacity noise", 0), (uint64_t)q, &key);
    r->hit = geodec_hdm_find(t->m, &key, o->radius, GEODEC_ISA_AUTO);
    const int32_t apart = geodec_hdm_bank_of(t->m, &key) ^ geodec_hdm_bank(t->m, entry);
    r->reached = __builtin_popcount((unsigned)apart) <= o->radius;
    if (t->key) r->exact = nearest_is(t, &key, entry);
    geodec_hv_code(o->seed, others(), (uint64_t)q, &key);
    r->foreign = geodec_hdm_find(t->m, &key, o->radius, GEODEC_ISA_AUTO);
}

static geodec_capacity summed(const trial *t)
{
    const geodec_capacity_options *const o = t->o;
    int64_t right = 0, accepted = 0, wrong = 0, reached = 0, foreign = 0, exact = 0, banks = 0;
    double z = 0;
    for (int64_t q = 0; q < o->queries; q++) {
        const outcome *const r = &t->result[q];
        const bool own = r->hit.entry == entry_of(o, q);
        right += own;
        accepted += own && r->hit.accepted;
        wrong += !own && r->hit.accepted;
        reached += r->reached;
        foreign += r->foreign.accepted;
        exact += r->exact;
        if (own) z += r->hit.z;
    }
    for (int32_t b = 0; b < 1 << o->bank_bits; b++) banks += geodec_hdm_bank_pairs(t->m, b) > 0;
    const double n = (double)o->queries;
    return (geodec_capacity){.right = (double)right / n,
                             .accepted = (double)accepted / n,
                             .wrong = (double)wrong / n,
                             .reached = (double)reached / n,
                             .foreign = (double)foreign / n,
                             .z = right ? z / (double)right : NAN,
                             .exact = t->key ? (double)exact / n : NAN,
                             .pairs_a_bank = (double)o->pairs / (double)banks,
                             .bytes = geodec_hdm_bytes(t->m)};
}

geodec_status geodec_capacity_measure(const geodec_capacity_options *o, geodec_capacity *out, geodec_pool *pool,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_hdm_options settings = {.seed = o->seed, .bank_bits = o->bank_bits};
    trial t = {.o = o, .ops = geodec__hv_for(GEODEC_ISA_AUTO)};
    geodec_hdm *m = NULL;
    geodec_hv *key = NULL;
    if (o->pairs < 1 || o->queries < 1 || o->queries > o->pairs || o->radius < 0 || !(o->noise >= 0 && o->noise <= 1))
        GEODEC_THROW(GEODEC_RANGE, "%lld pairs, %lld queries, radius %d, noise %g", (long long)o->pairs,
                     (long long)o->queries, (int)o->radius, o->noise);
    GEODEC_TRY(geodec_hdm_create(&settings, &m, err));
    GEODEC_NEW(t.result, o->queries);
    GEODEC_NEW(key, o->exact ? o->pairs : 1);
    for (int64_t i = 0; i < o->pairs; i++) {
        geodec_hv *const k = &key[o->exact ? i : 0];
        geodec_hv_code(o->seed, keys(), (uint64_t)i, k);
        GEODEC_TRY(geodec_hdm_add(m, k, NULL, 0, NULL, err));
    }
    t.m = m;
    t.key = o->exact ? key : NULL;
    geodec_pool_run_dynamic(pool, o->queries, one_query, &t);
    *out = summed(&t);
done:
    geodec_hdm_destroy(m);
    GEODEC_FREE(key, t.result);
    return st;
}
