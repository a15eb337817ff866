#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdlib.h>
#include <string.h>

/* Tokens that are found in text before it is split into words: user-defined, control and unknown ones. */
struct geodec__special {
    int32_t n;
    geodec__order by_text;
    int32_t *by_length;  /* [n] ids, the longest first, equal lengths by id: the order of matching */
    int32_t *rank;       /* [n] index in by_length of by_text.id[i] */
    uint64_t pair[1024]; /* bit b0 * 256 + b1: some token begins with these two bytes, or is the single byte b0 */
};

static bool is_special(int32_t type)
{
    return type == GEODEC_TOKEN_USER || type == GEODEC_TOKEN_CONTROL || type == GEODEC_TOKEN_UNKNOWN;
}

static const unsigned char *piece(const geodec_tokenizer *t, int32_t id)
{
    return (const unsigned char *)t->bytes + t->at[id];
}

/* ---- creation --------------------------------------------------------------------------------------------------- */

static int length_order(const void *a, const void *b, void *ctx)
{
    const geodec_tokenizer *t = ctx;
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return t->length[x] != t->length[y] ? (t->length[x] < t->length[y]) - (t->length[x] > t->length[y])
                                        : (x > y) - (x < y);
}

static void set_pairs(geodec__special *s, const unsigned char *p, int32_t n)
{
    const uint32_t from = (uint32_t)p[0] * 256 + (n > 1 ? p[1] : 0), to = n > 1 ? from : from + 255;
    for (uint32_t b = from; b <= to; b++) s->pair[b >> 6] |= (uint64_t)1 << (b & 63);
}

geodec_status geodec__special_create(const geodec_tokenizer *t, geodec__special **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__special *s = NULL;
    int32_t *place = NULL;
    int32_t n = 0;
    for (int32_t id = 0; id < t->n; id++) n += is_special(t->type[id]) && t->length[id] > 0;
    GEODEC_NEW(s, 1);
    GEODEC_NEW_EACH(n, s->by_length, s->rank);
    GEODEC_NEW(place, t->n);
    for (int32_t id = 0; id < t->n; id++) {
        if (!is_special(t->type[id]) || t->length[id] == 0) continue;
        s->by_length[s->n++] = id;
        set_pairs(s, piece(t, id), t->length[id]);
    }
    GEODEC_TRY(geodec__order_create(t, s->by_length, n, &s->by_text, err));
    qsort_r(s->by_length, (size_t)n, sizeof *s->by_length, length_order, (void *)(uintptr_t)t);
    for (int32_t i = 0; i < n; i++) place[s->by_length[i]] = i;
    for (int32_t i = 0; i < n; i++) s->rank[i] = place[s->by_text.id[i]];
    *out = s;
    s = NULL;
done:
    geodec__special_destroy(s);
    geodec_mem_free(place);
    return st;
}

void geodec__special_destroy(geodec__special *s)
{
    if (!s) return;
    geodec__order_free(&s->by_text);
    GEODEC_FREE(s->by_length, s->rank, s);
}

/* ---- tokens that occur ------------------------------------------------------------------------------------------- */

/* Marks every token found in the text at p. */
static bool mark_at(const geodec_tokenizer *t, const unsigned char *p, size_t room, uint8_t *seen)
{
    const geodec__special *s = t->special;
    geodec__prefix at = {0};
    bool any = false;
    for (int32_t k; (k = geodec__order_next(t, &s->by_text, p, room, &at)) >= 0; any = true) seen[s->rank[k]] = 1;
    return any;
}

static bool mark_all(const geodec_tokenizer *t, const unsigned char *text, size_t n, uint8_t *seen)
{
    const geodec__special *s = t->special;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        const uint32_t b = (uint32_t)text[i] * 256 + (i + 1 < n ? text[i + 1] : 0);
        if (i + 1 < n && !(s->pair[b >> 6] >> (b & 63) & 1)) continue;
        any = mark_at(t, text + i, n - i, seen) || any;
    }
    return any;
}

/* ---- matching ---------------------------------------------------------------------------------------------------- */

typedef struct cutter {
    const geodec_tokenizer *t;
    const char *text;
    int64_t n;
    uint8_t *taken; /* [n] */
    const geodec_encode_options *options;
    geodec__part *part; /* the matched tokens, then all parts */
    int64_t n_part, room;
} cutter;

static bool touches_plain(const cutter *c, int64_t at, int64_t end)
{
    const geodec_span *plain = c->options->plain;
    const int64_t n_plain = c->options->n_plain;
    int64_t lo = 0, hi = n_plain; /* the first span that ends after `at` */
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (plain[mid].end <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    while (lo < n_plain && plain[lo].begin == plain[lo].end) lo++;
    return lo < n_plain && plain[lo].begin < end;
}

static geodec_status put(cutter *c, geodec__part p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_GROW(c->part, c->n_part, c->room, 1);
    c->part[c->n_part++] = p;
done:
    return st;
}

/* Whether the token absorbs the blanks after it. */
static bool strips(const geodec_tokenizer *t, int32_t id)
{
    static const char *const not_these[] = {"<unk>", "<s>", "<|endoftext|>"};
    return t->strip_after && !geodec__vocabulary_lists(not_these, 3, t->bytes + t->at[id], (size_t)t->length[id]);
}

/* A user-defined token that counts as a control token: part of the caller's reserved words, and not only blanks. */
static bool reserved(const cutter *c, const char *what, size_t n)
{
    size_t i = 0;
    while (i < n && geodec__is_blank(what[i])) i++;
    return i < n && c->options->reserved && memmem(c->options->reserved, c->options->n_reserved, what, n);
}

/* Matches every occurrence of a token in the remaining text. */
static geodec_status take(cutter *c, int32_t id, geodec_err *err)
{
    const char *what = c->t->bytes + c->t->at[id];
    const int64_t n = c->t->length[id];
    const bool anywhere = c->t->type[id] == GEODEC_TOKEN_USER && !reserved(c, what, (size_t)n),
               strip = strips(c->t, id);
    for (int64_t at = 0; at < c->n;) {
        if (c->taken[at]) {
            const uint8_t *next = memchr(c->taken + at, 0, (size_t)(c->n - at));
            if (!next) break;
            at = next - c->taken;
        }
        const uint8_t *stop = memchr(c->taken + at, 1, (size_t)(c->n - at));
        const int64_t end = stop ? stop - c->taken : c->n;
        while (at < end) {
            const char *hit = memmem(c->text + at, (size_t)(end - at), what, (size_t)n);
            if (!hit) break;
            at = hit - c->text;
            if (!anywhere && touches_plain(c, at, at + n)) {
                at++;
                continue;
            }
            memset(c->taken + at, 1, (size_t)n);
            GEODEC_PASS(put(c, (geodec__part){.at = at, .n = n, .id = id}, err));
            for (at += n; strip && at < end && geodec__is_blank(c->text[at]); at++) {
                c->taken[at] = 1;
                c->part[c->n_part - 1].n++;
            }
        }
        at = end;
    }
    return GEODEC_OK;
}

static int by_place(const void *a, const void *b)
{
    const geodec__part *x = a, *y = b;
    return (x->at > y->at) - (x->at < y->at);
}

/* The tokens in order, with the ordinary text between them. */
static geodec_status fill_gaps(cutter *c, geodec_err *err)
{
    const int64_t n_tokens = c->n_part;
    if (n_tokens) qsort(c->part, (size_t)n_tokens, sizeof *c->part, by_place);
    int64_t at = 0;
    for (int64_t i = 0; i < n_tokens; i++) {
        const geodec__part p = c->part[i];
        if (at < p.at) GEODEC_PASS(put(c, (geodec__part){.at = at, .n = p.at - at, .id = -1}, err));
        at = p.at + p.n;
    }
    if (at < c->n) GEODEC_PASS(put(c, (geodec__part){.at = at, .n = c->n - at, .id = -1}, err));
    if (c->n_part) qsort(c->part, (size_t)c->n_part, sizeof *c->part, by_place);
    return GEODEC_OK;
}

geodec_status geodec__special_cut(const geodec_tokenizer *t, const char *text, size_t n,
                                  const geodec_encode_options *options, geodec__part **parts, int64_t *n_parts,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *seen = NULL;
    cutter c = {.t = t, .text = text, .n = (int64_t)n, .options = options};
    GEODEC_NEW(seen, t->special->n);
    if (t->special->n && mark_all(t, (const unsigned char *)text, n, seen)) {
        GEODEC_NEW(c.taken, c.n);
        for (int32_t i = 0; i < t->special->n; i++) {
            const int32_t id = t->special->by_length[i];
            if (seen[i] && (options->parse_special || t->type[id] == GEODEC_TOKEN_USER)) GEODEC_TRY(take(&c, id, err));
        }
    }
    GEODEC_TRY(fill_gaps(&c, err));
    *parts = c.part;
    *n_parts = c.n_part;
    c.part = NULL;
done:
    GEODEC_FREE(seen, c.taken, c.part);
    return st;
}
