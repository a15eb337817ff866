#include "lab/corpus/control.h"

#include "base/mem.h"
#include "lab/corpus/corpus.h"
#include "lab/corpus/corpus_internal.h"

#include <math.h>

enum { END = 256, SYMBOLS = 257 };

static uint64_t mix(uint64_t h)
{
    h ^= h >> 31;
    h *= 0x7fb5d329728ea185u;
    h ^= h >> 27;
    h *= 0x81dadef4bc2dd44du;
    h ^= h >> 33;
    return h ? h : 1;
}

/* The entry of a nonzero key; it is empty if the table does not have the key. The table must not be full. */
static geodec__count *find(const geodec__counts *t, uint64_t key)
{
    int64_t k = (int64_t)(key & (uint64_t)(t->room - 1));
    while (t->e[k].key && t->e[k].key != key) k = (k + 1) & (t->room - 1);
    return &t->e[k];
}

geodec__count *geodec__control_add(geodec__counts *t, uint64_t key)
{
    geodec__count *e = find(t, key);
    t->used += e->key == 0;
    e->key = key;
    return e;
}

geodec_status geodec__control_reserve(geodec__counts *t, int64_t more, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    while (2 * (t->used + more) > t->room) {
        geodec__counts bigger = {.room = t->room ? 2 * t->room : 1 << 12, .used = t->used};
        GEODEC_NEW(bigger.e, bigger.room);
        for (int64_t i = 0; i < t->room; i++)
            if (t->e[i].key) *find(&bigger, t->e[i].key) = t->e[i];
        geodec_mem_free(t->e);
        *t = bigger;
    }
done:
    return st;
}

/* Keys of the contexts of 0..order symbols that end before position i, newest symbol first: key[m] covers the last
 * m. */
static int context_keys(const uint16_t *s, int64_t i, int order, uint64_t key[GEODEC_CONTROL_ORDER_MAX + 1])
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    int m = 0;
    key[0] = mix(h);
    while (m < order && m < i) {
        m++;
        h = mix(h + s[i - m] + 1) + (uint64_t)m;
        key[m] = mix(h);
    }
    return m;
}

static uint64_t pair_key(uint64_t context, int symbol)
{
    return mix(context ^ ((uint64_t)(symbol + 1) * 0xd6e8feb86659fd93u));
}

/* Contexts and (context, symbol) pairs are counted in one table under separate keys. */
static geodec_status learn(geodec__counts *t, const uint16_t *s, int64_t n, int order, geodec_err *err)
{
    uint64_t key[GEODEC_CONTROL_ORDER_MAX + 1];
    for (int64_t i = 0; i < n; i++) {
        int m = context_keys(s, i, order, key);
        GEODEC_PASS(geodec__control_reserve(t, 2 * (m + 1), err));
        for (int k = 0; k <= m; k++) {
            const bool fresh = geodec__control_add(t, pair_key(key[k], s[i]))->count++ == 0;
            geodec__count *c = geodec__control_add(t, key[k]);
            c->count++;
            c->distinct += fresh;
        }
    }
    return GEODEC_OK;
}

/* bits[k] += -log2 p of the symbols by the model of k symbols of context. */
static void add_bits(const geodec__counts *t, const uint16_t *s, int64_t n, int order, double *bits)
{
    uint64_t key[GEODEC_CONTROL_ORDER_MAX + 1] = {0};
    for (int64_t i = 0; i < n; i++) {
        int m = context_keys(s, i, order, key);
        double p = 1.0 / SYMBOLS;
        for (int k = 0; k <= order; k++) {
            const geodec__count *c = k <= m ? find(t, key[k]) : NULL;
            if (c && c->key)
                p = (find(t, pair_key(key[k], s[i]))->count + c->distinct * p) / ((double)c->count + c->distinct);
            else
                m = -1; /* a longer context has not occurred either */
            bits[k] -= log2(p);
        }
    }
}

struct geodec_control {
    geodec__counts counts;
    int order;
};

geodec_status geodec_control_create(int order, geodec_control **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *out = NULL;
    if (order < 1 || order > GEODEC_CONTROL_ORDER_MAX) GEODEC_THROW(GEODEC_RANGE, "order %d", order);
    GEODEC_NEW(*out, 1);
    (*out)->order = order;
done:
    return st;
}

void geodec_control_destroy(geodec_control *c)
{
    if (c) geodec_mem_free(c->counts.e);
    geodec_mem_free(c);
}

static geodec_status symbols_of(const char *text, size_t n, uint16_t **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint16_t *s = NULL;
    GEODEC_NEW(s, n + 1);
    for (size_t k = 0; k < n; k++) s[k] = (unsigned char)text[k];
    s[n] = END;
    *out = s;
done:
    return st;
}

geodec_status geodec_control_learn(geodec_control *c, const char *text, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint16_t *s = NULL;
    GEODEC_TRY(symbols_of(text, n, &s, err));
    GEODEC_TRY(learn(&c->counts, s, (int64_t)n + 1, c->order, err));
done:
    geodec_mem_free(s);
    return st;
}

geodec_status geodec_control_score(const geodec_control *c, const char *text, size_t n, double *bits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint16_t *s = NULL;
    if (!c->counts.used) GEODEC_THROW(GEODEC_INVAL, "the n-gram model has read no text");
    GEODEC_TRY(symbols_of(text, n, &s, err));
    add_bits(&c->counts, s, (int64_t)n + 1, c->order, bits);
done:
    geodec_mem_free(s);
    return st;
}

geodec_status geodec_corpus_control(uint64_t seed, uint64_t first, int64_t n_train, int64_t n_test, int order,
                                    const geodec_hooks *hooks, double *bits_per_byte, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_control *c = NULL;
    char *text = NULL;
    double bits = 0, bytes = 0;
    if (order < 1 || order > GEODEC_CONTROL_ORDER_MAX || n_train < 1 || n_test < 1)
        GEODEC_THROW(GEODEC_RANGE, "order %d, %lld and %lld stories", order, (long long)n_train, (long long)n_test);
    GEODEC_TRY(geodec_control_create(order, &c, err));
    for (int64_t i = 0; i < n_train + n_test; i++) {
        size_t n = 0;
        double exact = 0;
        GEODEC_TRY(geodec_corpus_story(seed, first + (uint64_t)i, &text, &n, &exact, err));
        if (i < n_train) {
            GEODEC_TRY(geodec_control_learn(c, text, n, err));
        } else {
            double story[GEODEC_CONTROL_ORDER_MAX + 1] = {0};
            GEODEC_TRY(geodec_control_score(c, text, n, story, err));
            bits += story[order];
            bytes += (double)n;
        }
        geodec_mem_free(text);
        text = NULL;
        if (i % 256 == 0) GEODEC_TRY(geodec_hooks_progress(hooks, "n-gram control", i, n_train + n_test, err));
    }
    *bits_per_byte = bits / bytes;
done:
    geodec_control_destroy(c);
    geodec_mem_free(text);
    return st;
}
