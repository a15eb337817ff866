#include "drafters/ngram_drafter.h"

#include "base/mem.h"
#include "decode/tree.h"

#include <math.h>
#include <string.h>

enum { BINS = 10 };
/* Weight of the shorter contexts against a longer one, in observations. It is larger than the best value for a single
 * draft: among siblings of a tree, one observation of a longer context is no more certain than many of shorter ones.
 * For trees of 8 to 32 drafts, values between 4 and 12 were best on two models. */
static const double ESCAPE = 6;
static const double LEAST = 0.005; /* shorter contexts are not used when less probability than this is left to them */
static const double PRIOR = 4.0;   /* weight of the raw confidence in a cell, in predictions */

struct geodec_ngram {
    geodec_ngram_table *table;
    geodec_ngram_table *text; /* the same with the next tokens of the texts */
    bool probabilities;       /* `text` includes the model's probabilities */
    int64_t positions;
    double agreement[GEODEC_NGRAM_ORDER + 1];
    int64_t predictions[GEODEC_NGRAM_ORDER + 1][BINS], hits[GEODEC_NGRAM_ORDER + 1][BINS];
};

static double claim(const geodec_ngram *g, int32_t m, int64_t count, int64_t total)
{
    return ((double)count + (g ? g->agreement[m] : 0.5)) / ((double)total + 1);
}

static int bin_of(double r)
{
    const int b = (int)(r * BINS);
    return b < BINS ? b : BINS - 1;
}

static double calibrated(const geodec_ngram *g, int32_t m, double r)
{
    if (!g) return r;
    const int b = bin_of(r);
    return ((double)g->hits[m][b] + PRIOR * r) / ((double)g->predictions[m][b] + PRIOR);
}

/* The continuation of position i, -1 = unknown. */
static int32_t label_of(const int32_t *token, const int32_t *sequence, const int32_t *argmax, int64_t n, int64_t i)
{
    if (argmax && argmax[i] >= 0) return argmax[i];
    return i + 1 < n && sequence[i + 1] == sequence[i] ? token[i + 1] : -1;
}

/* Predicts one position from the rest of the store: the position's own count is subtracted. */
static void leave_one_out(geodec_ngram *g, const int32_t *context, int64_t n, int32_t order, int32_t label)
{
    uint64_t hash[GEODEC_NGRAM_ORDER + 1];
    for (int32_t m = geodec_ngram_hashes(context, n, order, hash); m >= 1; m--) {
        const geodec_ngram_hit h = geodec_ngram_find(g->table, hash[m]);
        if (h.total < 2) continue;
        int64_t best = 0;
        int32_t token = -1;
        for (int64_t at = h.first; at >= 0;) {
            int32_t id;
            int64_t c;
            at = geodec_ngram_next(g->table, at, &id, &c);
            c -= id == label;
            if (c > best || (c == best && c > 0 && id < token)) {
                best = c;
                token = id;
            }
        }
        const int b = bin_of(claim(g, m, best, h.total - 1));
        g->predictions[m][b]++;
        g->hits[m][b] += token == label;
        return;
    }
}

geodec_status geodec_ngram_create(const int32_t *token, const int32_t *sequence, const int32_t *argmax, int64_t n,
                                  int32_t order, geodec_ngram **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ngram *g = NULL;
    int64_t start = 0;
    if (n < 0) GEODEC_THROW(GEODEC_INVAL, "a store of %lld positions", (long long)n);
    GEODEC_NEW(g, 1);
    GEODEC_TRY(geodec_ngram_table_create(order, &g->table, err));
    GEODEC_TRY(geodec_ngram_table_create(order, &g->text, err));
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && sequence[i] != sequence[i - 1]) start = i;
        const int32_t next = label_of(token, sequence, argmax, n, i);
        if (next < 0) continue;
        GEODEC_TRY(geodec_ngram_table_add(g->table, token + start, i + 1 - start, next, err));
        g->positions++;
        if (i + 1 < n && sequence[i + 1] == sequence[i])
            GEODEC_TRY(geodec_ngram_table_add(g->text, token + start, i + 1 - start, token[i + 1], err));
    }
    for (int32_t m = 1; m <= GEODEC_NGRAM_ORDER; m++)
        g->agreement[m] = m <= order ? geodec_ngram_agreement(g->table, m) : 0.5;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || sequence[i] != sequence[i - 1]) start = i;
        const int32_t next = label_of(token, sequence, argmax, n, i);
        if (next >= 0) leave_one_out(g, token + start, i + 1 - start, order, next);
    }
    GEODEC_MOVE(*out, g);
done:
    geodec_ngram_destroy(g);
    return st;
}

void geodec_ngram_destroy(geodec_ngram *store)
{
    if (!store) return;
    geodec_ngram_table_destroy(store->table);
    geodec_ngram_table_destroy(store->text);
    geodec_mem_free(store);
}

/* Weight of a position in the table of sampled texts. A stored probability counts its value in 1/255; the sampled token
 * counts 109, three tenths of the total, to cover tokens whose probabilities are not stored. */
enum { SAMPLED_WEIGHT = 109, PROBABILITIES_MAX = 8 };

geodec_status geodec_ngram_learn_probabilities(geodec_ngram *g, const int32_t *token, const int32_t *sequence,
                                               int64_t n, int32_t k, const int32_t *choice, const uint8_t *probability,
                                               int32_t order, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_ngram_table *t = NULL;
    int64_t start = 0;
    if (k < 0 || k > PROBABILITIES_MAX) GEODEC_THROW(GEODEC_INVAL, "%d probabilities a position", k);
    if (n > (int64_t)UINT32_MAX / (255 * k + SAMPLED_WEIGHT))
        GEODEC_THROW(GEODEC_LIMIT, "a store of %lld positions", (long long)n);
    GEODEC_TRY(geodec_ngram_table_create(order, &t, err));
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && sequence[i] != sequence[i - 1]) start = i;
        int32_t next[PROBABILITIES_MAX + 1], weight[PROBABILITIES_MAX + 1], known = 0;
        for (int32_t c = 0; c < k; c++) {
            if (choice[i * k + c] < 0 || probability[i * k + c] == 0) continue;
            next[known] = choice[i * k + c];
            weight[known++] = probability[i * k + c];
        }
        if (i + 1 < n && sequence[i + 1] == sequence[i]) {
            next[known] = token[i + 1];
            weight[known++] = SAMPLED_WEIGHT;
        }
        GEODEC_TRY(geodec_ngram_table_weigh(t, token + start, i + 1 - start, known, next, weight, err));
    }
    geodec_ngram_table_sort(t);
    geodec_ngram_table_destroy(g->text);
    g->text = t;
    g->probabilities = true;
    t = NULL;
done:
    geodec_ngram_table_destroy(t);
    return st;
}

typedef struct ngram_drafter {
    geodec_drafter base;
    const geodec_ngram *store;
    int32_t order;
    geodec_ngram_table *local; /* of the text */
    int32_t *text;             /* [n] observed */
    int64_t n, room;
    bool pending; /* the token after the last observed row is not yet counted */
} ngram_drafter;

static geodec_status ngram_begin(geodec_drafter *base, geodec_err *err)
{
    (void)err;
    ngram_drafter *d = (ngram_drafter *)base;
    geodec_ngram_table_clear(d->local);
    d->n = 0;
    d->pending = false;
    return GEODEC_OK;
}

static geodec_status ngram_observe(geodec_drafter *base, const geodec_draft_rows *rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    ngram_drafter *d = (ngram_drafter *)base;
    GEODEC_GROW(d->text, d->n, d->room, rows->n);
    for (int64_t i = 0; i < rows->n; i++) {
        if (d->pending) GEODEC_TRY(geodec_ngram_table_add(d->local, d->text, d->n, rows->token[i], err));
        d->text[d->n++] = rows->token[i];
        d->pending = rows->argmax[i] < 0;
        if (!d->pending) GEODEC_TRY(geodec_ngram_table_add(d->local, d->text, d->n, rows->argmax[i], err));
    }
done:
    return st;
}

/* Most frequent continuation in store and text together. */
static bool best_at(const ngram_drafter *d, int32_t m, uint64_t hash, geodec_draft *out)
{
    const geodec_ngram_hit none = {.top = -1, .first = -1};
    const geodec_ngram_hit s = d->store ? geodec_ngram_find(d->store->table, hash) : none;
    const geodec_ngram_hit t = geodec_ngram_find(d->local, hash);
    const int64_t total = s.total + t.total;
    if (total == 0) return false;
    /* Among tokens without a count in the text, the first of the store is best. Those with a count are few, so each is
     * examined. */
    int64_t best = s.top_count;
    int32_t token = s.top;
    for (int64_t at = t.first; at >= 0;) {
        int32_t id;
        int64_t c;
        at = geodec_ngram_next(d->local, at, &id, &c);
        if (s.total > 0) c += geodec_ngram_count(d->store->table, &s, id);
        if (c > best || (c == best && id < token)) {
            best = c;
            token = id;
        }
    }
    out->token = token;
    out->source = s.total > 0 ? m - 1 : GEODEC_NGRAM_ORDER + m - 1;
    out->confidence = calibrated(d->store, m, claim(d->store, m, best, total));
    return true;
}

/* Prefetch all orders at once: a large store is not in the cache. */
static void fetch(const ngram_drafter *d, const uint64_t *hash, int32_t top)
{
    for (int32_t m = top; d->store && m >= 1; m--) geodec_ngram_fetch(d->store->table, hash[m]);
}

static geodec_status ngram_propose(geodec_drafter *base, const geodec_draft_request *q, geodec_draft *out, int32_t *n,
                                   geodec_err *err)
{
    (void)err;
    const ngram_drafter *d = (const ngram_drafter *)base;
    /* A sliding window: the end of the context, then the drafts. */
    int32_t window[GEODEC_NGRAM_ORDER + GEODEC_DRAFT_MAX];
    int64_t length = q->n_context < d->order ? q->n_context : d->order;
    memcpy(window, q->context + q->n_context - length, (size_t)length * sizeof *window);
    int32_t k = 0;
    double probability = 1;
    for (; k < q->gamma; k++) {
        uint64_t hash[GEODEC_NGRAM_ORDER + 1];
        bool found = false;
        const int32_t top = geodec_ngram_hashes(window, length, d->order, hash);
        fetch(d, hash, top);
        for (int32_t m = top; m >= 1 && !found; m--) found = best_at(d, m, hash[m], &out[k]);
        if (!found || geodec_tree_enough(q, k, probability *= out[k].confidence)) break;
        window[length++] = out[k].token;
    }
    *n = k;
    return GEODEC_OK;
}

/* ---- trees: all continuations, shorter contexts after longer ones ---------------------------------------------- */

enum { POOL = 64, WALK = 256 };

typedef struct shares {
    int32_t n, token[POOL];
    double share[POOL];
} shares;

static void add_share(shares *s, int32_t token, double x)
{
    int32_t at = 0;
    while (at < s->n && s->token[at] != token) at++;
    if (at == POOL) return;
    if (at == s->n) {
        s->token[s->n] = token;
        s->share[s->n++] = 0;
    }
    s->share[at] += x;
}

static void add_counts(shares *s, const geodec_ngram_table *t, const geodec_ngram_hit *h, double weight)
{
    int32_t walked = 0;
    for (int64_t at = h->first; at >= 0 && walked < WALK; walked++) {
        int32_t id;
        int64_t c;
        at = geodec_ngram_next(t, at, &id, &c);
        add_share(s, id, weight * (double)c);
    }
}

/* P_m(x) = (c_m(x) + k P_{m-1}(x)) / (n_m + k). When tokens are sampled, the c of a store are the model's probabilities
 * where they are known. Otherwise half of the weight is counts of the texts' next tokens, which were sampled too, while
 * the argmax is only the most probable token. Returns the source of the longest match, -1 when there is none. */
static int32_t distribution(const ngram_drafter *d, const int32_t *context, int64_t length, shares *s)
{
    uint64_t hash[GEODEC_NGRAM_ORDER + 1];
    const geodec_ngram_hit none = {.top = -1, .first = -1};
    double rest = 1;
    int32_t source = -1;
    s->n = 0;
    const int32_t top = geodec_ngram_hashes(context, length, d->order, hash);
    fetch(d, hash, top);
    for (int32_t m = top; m >= 1 && rest > LEAST; m--) {
        const geodec_ngram_hit stored = d->store ? geodec_ngram_find(d->store->table, hash[m]) : none;
        const geodec_ngram_hit local = geodec_ngram_find(d->local, hash[m]);
        const double total = (double)(stored.total + local.total);
        if (!(total > 0)) continue;
        if (source < 0) source = stored.total > 0 ? m - 1 : GEODEC_NGRAM_ORDER + m - 1;
        const double k = ESCAPE;
        const geodec_ngram_hit sampled =
            stored.total > 0 && d->base.request.sampled ? geodec_ngram_find(d->store->text, hash[m]) : none;
        const double half = sampled.total == 0 ? 0 : d->store->probabilities ? 1 : 0.5;
        if (stored.total > 0 && half < 1) add_counts(s, d->store->table, &stored, (1 - half) * rest / (total + k));
        if (sampled.total > 0)
            add_counts(s, d->store->text, &sampled,
                       half * rest * (double)stored.total / (double)sampled.total / (total + k));
        if (local.total > 0) add_counts(s, d->local, &local, rest / (total + k));
        rest *= k / (total + k);
    }
    return source;
}

static geodec_status ngram_children(geodec_drafter *base, int32_t node, int32_t most, geodec_draft *out, int32_t *n,
                                    geodec_err *err)
{
    (void)err;
    const ngram_drafter *d = (const ngram_drafter *)base;
    int32_t back[GEODEC_NGRAM_ORDER], window[GEODEC_NGRAM_ORDER], taken = 0;
    shares s;
    const int32_t length = geodec_drafter_context(base, node, d->order, back);
    for (int32_t k = 0; k < length; k++) window[k] = back[length - 1 - k];
    const int32_t source = distribution(d, window, length, &s);
    for (int32_t i = 0; i < s.n; i++) {
        if (geodec_drafter_forbids(base, node, s.token[i])) continue;
        const geodec_draft x = {.token = s.token[i], .source = source, .confidence = fmin(s.share[i], 1)};
        taken = geodec_tree_insert(out, taken, most, &x);
    }
    *n = taken;
    return GEODEC_OK;
}

static void ngram_destroy(geodec_drafter *base)
{
    ngram_drafter *d = (ngram_drafter *)base;
    geodec_ngram_table_destroy(d->local);
    GEODEC_FREE(d->text, d);
}

geodec_status geodec_ngram_drafter_create(const geodec_ngram *store, int32_t order, geodec_drafter **out,
                                          geodec_err *err)
{
    static const char *const sources[] = {"store-1", "store-2", "store-3", "store-4", "store-5", "store-6",
                                          "store-7", "store-8", "text-1",  "text-2",  "text-3",  "text-4",
                                          "text-5",  "text-6",  "text-7",  "text-8"};
    static const geodec_drafter_ops ops = {.name = "ngram",
                                           .n_sources = 2 * GEODEC_NGRAM_ORDER,
                                           .source_name = sources,
                                           .begin = ngram_begin,
                                           .observe = ngram_observe,
                                           .propose = ngram_propose,
                                           .destroy = ngram_destroy,
                                           .children = ngram_children};
    geodec_status st = GEODEC_OK;
    ngram_drafter *d = NULL;
    GEODEC_NEW(d, 1);
    d->base.ops = &ops;
    d->store = store;
    d->order = order;
    GEODEC_TRY(geodec_ngram_table_create(order, &d->local, err));
    *out = &d->base;
    d = NULL;
done:
    if (d) ngram_destroy(&d->base);
    return st;
}
