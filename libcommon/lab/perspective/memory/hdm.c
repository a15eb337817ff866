#include "lab/perspective/memory/hdm_internal.h"

#include "base/finite.h"
#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

geodec_status geodec_hdm_create(const geodec_hdm_options *o, geodec_hdm **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hdm *m = NULL;
    if (o->bank_bits < 0 || o->bank_bits > GEODEC_HDM_BANK_BITS_MAX)
        GEODEC_THROW(GEODEC_RANGE, "a bank of %d bits of the key; 0 to %d", (int)o->bank_bits,
                     GEODEC_HDM_BANK_BITS_MAX);
    if (o->width < 0 || o->width > GEODEC_HV_WIDTH_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "states of width %lld", (long long)o->width);
    if ((unsigned)o->project >= GEODEC_HV_PROJECTIONS) GEODEC_THROW(GEODEC_RANGE, "projection %d", (int)o->project);
    if (o->width && geodec_finite_first_not_f32(o->mean, o->width) >= 0)
        GEODEC_THROW(GEODEC_NUMERIC, "the mean state is not finite");
    GEODEC_NEW(m, 1);
    m->seed = o->seed;
    m->bank_bits = o->bank_bits;
    m->project = o->project;
    m->width = o->width;
    for (int i = 0; o->fingerprint && i < GEODEC_HDM_FINGERPRINT && o->fingerprint[i]; i++)
        m->fingerprint[i] = o->fingerprint[i];
    if (o->width) GEODEC_NEW_COPY(m->mean, o->mean, o->width);
    GEODEC_NEW(m->bank, (int64_t)1 << m->bank_bits);
    for (int32_t b = 0; b < 1 << m->bank_bits; b++) m->bank[b].first = m->bank[b].last = -1;
    GEODEC_MOVE(*out, m);
done:
    geodec_hdm_destroy(m);
    return st;
}

void geodec_hdm_destroy(geodec_hdm *m)
{
    if (!m) return;
    for (int32_t b = 0; m->bank && b < 1 << m->bank_bits; b++) geodec_mem_free(m->bank[b].count);
    GEODEC_FREE(m->mean, m->low, m->high, m->bank, m->entry, m->text, m);
}

geodec_hdm_options geodec_hdm_settings(const geodec_hdm *m)
{
    return (geodec_hdm_options){.seed = m->seed,
                                .bank_bits = m->bank_bits,
                                .project = m->project,
                                .width = m->width,
                                .mean = m->mean,
                                .fingerprint = m->fingerprint};
}

int64_t geodec_hdm_entries(const geodec_hdm *m) { return m->entries; }

int64_t geodec_hdm_bytes(const geodec_hdm *m)
{
    int64_t counters = 0;
    for (int32_t b = 0; b < 1 << m->bank_bits; b++) counters += m->bank[b].count != NULL;
    return counters * GEODEC_HV_COUNTS * (int64_t)sizeof(int16_t) +
           (m->low_room + m->high_room) * (int64_t)sizeof *m->low +
           ((int64_t)1 << m->bank_bits) * (int64_t)sizeof *m->bank + m->room * (int64_t)sizeof *m->entry +
           m->text_room + m->width * (int64_t)sizeof *m->mean;
}

const uint8_t *geodec_hdm_text(const geodec_hdm *m, int64_t entry, int64_t *n)
{
    *n = m->entry[entry].n;
    return m->text ? m->text + m->entry[entry].at : NULL;
}

int32_t geodec_hdm_bank(const geodec_hdm *m, int64_t entry) { return m->entry[entry].bank; }
int64_t geodec_hdm_bank_pairs(const geodec_hdm *m, int32_t bank) { return m->bank[bank].pairs; }

int32_t geodec_hdm_bank_of(const geodec_hdm *m, const geodec_hv *key)
{
    return (int32_t)(key->word[0] & ((UINT64_C(1) << m->bank_bits) - 1));
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static uint64_t low_values(void) { return geodec_rng_id("hdm value", 0); }
static uint64_t high_values(void) { return geodec_rng_id("hdm value", 1); }

geodec_status geodec__hdm_values(geodec_hdm *m, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (; m->lows < n && m->lows < GEODEC__HDM_LOW; m->lows++) {
        GEODEC_GROW(m->low, m->lows, m->low_room, 1);
        geodec_hv_code(m->seed, low_values(), (uint64_t)m->lows, &m->low[m->lows]);
    }
    for (; m->highs * GEODEC__HDM_LOW < n; m->highs++) {
        GEODEC_GROW(m->high, m->highs, m->high_room, 1);
        geodec_hv_code(m->seed, high_values(), (uint64_t)m->highs, &m->high[m->highs]);
    }
done:
    return st;
}

geodec_status geodec__hdm_open_bank(geodec_hdm *m, int32_t bank, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (!m->bank[bank].count) GEODEC_NEW(m->bank[bank].count, GEODEC_HV_COUNTS);
done:
    return st;
}

void geodec__hdm_settle(geodec_hdm *m, int32_t bank, geodec_isa isa)
{
    geodec_hv tie;
    geodec_hv_code(m->seed, geodec_rng_id("hdm tie", 0), (uint64_t)bank, &tie);
    geodec_hv_majority(m->bank[bank].count, &tie, &m->bank[bank].sign, isa);
}

void geodec__hdm_link(geodec_hdm *m, int32_t bank, int32_t n)
{
    geodec__hdm_bank *const b = &m->bank[bank];
    m->entry[m->entries] = (geodec__hdm_entry){.next = -1, .at = m->bytes, .n = n, .bank = bank};
    if (b->last >= 0)
        m->entry[b->last].next = m->entries;
    else
        b->first = m->entries;
    b->last = m->entries++;
    b->pairs++;
    m->bytes += n;
}

geodec_status geodec_hdm_add(geodec_hdm *m, const geodec_hv *key, const void *text, int64_t n, int64_t *entry,
                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hv pair;
    const int32_t bank = geodec_hdm_bank_of(m, key);
    if (n < 0 || n > GEODEC_HDM_TEXT_MAX) GEODEC_THROW(GEODEC_LIMIT, "a text of %lld bytes", (long long)n);
    if (m->entries >= GEODEC_HDM_ENTRIES_MAX || m->bytes + n > GEODEC_HDM_TEXTS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "the memory is full: %lld entries, %lld bytes of text", (long long)m->entries,
                     (long long)m->bytes);
    GEODEC_GROW(m->entry, m->entries, m->room, 1);
    GEODEC_GROW(m->text, m->bytes, m->text_room, n);
    GEODEC_TRY(geodec__hdm_values(m, m->entries + 1, err));
    GEODEC_TRY(geodec__hdm_open_bank(m, bank, err));
    geodec_hv_bind(&m->low[m->entries % GEODEC__HDM_LOW], &m->high[m->entries / GEODEC__HDM_LOW], &pair);
    geodec_hv_bind(&pair, key, &pair);
    geodec_hv_add(m->bank[bank].count, &pair, GEODEC_ISA_AUTO);
    geodec__hdm_settle(m, bank, GEODEC_ISA_AUTO);
    if (n) memcpy(m->text + m->bytes, text, (size_t)n);
    if (entry) *entry = m->entries;
    geodec__hdm_link(m, bank, (int32_t)n);
done:
    return st;
}

/* ---- looking up -------------------------------------------------------------------------------------------------- */

typedef struct search {
    const geodec_hdm *m;
    const geodec_hv *key;
    const geodec__hv_ops *ops;
    int32_t distance; /* of the best */
    geodec_hdm_hit hit;
} search;

static void ask(search *s, int32_t bank)
{
    const geodec__hdm_bank *const b = &s->m->bank[bank];
    geodec_hv probe, rest;
    if (b->first < 0) return;
    geodec_hv_bind(&b->sign, s->key, &probe);
    s->hit.banks++;
    s->hit.values += b->pairs;
    for (int64_t i = b->first; i >= 0; i = s->m->entry[i].next) {
        geodec_hv_bind(&probe, &s->m->low[i % GEODEC__HDM_LOW], &rest);
        const int32_t d = s->ops->distance(rest.word, s->m->high[i / GEODEC__HDM_LOW].word);
        if (s->hit.entry >= 0 && (d > s->distance || (d == s->distance && i > s->hit.entry))) continue;
        s->distance = d;
        s->hit.entry = i;
        s->hit.bank = bank;
    }
}

geodec_hdm_hit geodec_hdm_find(const geodec_hdm *m, const geodec_hv *key, int32_t radius, geodec_isa isa)
{
    search s = {.m = m, .key = key, .ops = geodec__hv_for(isa), .hit = {.entry = -1, .bank = -1}};
    const uint32_t own = (uint32_t)geodec_hdm_bank_of(m, key);
    for (uint32_t flips = 0; flips < 1u << m->bank_bits; flips++)
        if (__builtin_popcount(flips) <= radius) ask(&s, (int32_t)(own ^ flips));
    if (s.hit.entry >= 0) {
        s.hit.similarity = geodec_hv_similarity(s.distance);
        s.hit.z = s.hit.similarity * 100; /* the standard deviation is 1 / sqrt(10,000) */
        s.hit.accepted = s.hit.z > GEODEC_HDM_ACCEPT;
    }
    return s.hit;
}
