#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdlib.h>
#include <string.h>

static const unsigned char *piece(const geodec_tokenizer *t, int32_t id)
{
    return (const unsigned char *)t->bytes + t->at[id];
}

static int text_order(const void *a, const void *b, void *ctx)
{
    const geodec_tokenizer *t = ctx;
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    const int32_t n = t->length[x] < t->length[y] ? t->length[x] : t->length[y];
    const int c = memcmp(piece(t, x), piece(t, y), (size_t)n);
    if (c != 0) return c;
    return t->length[x] != t->length[y] ? (t->length[x] > t->length[y]) - (t->length[x] < t->length[y])
                                        : (x > y) - (x < y);
}

geodec_status geodec__order_create(const geodec_tokenizer *t, const int32_t *id, int32_t n, geodec__order *out,
                                   geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW_COPY(out->id, id, n);
    out->n = n;
    qsort_r(out->id, (size_t)n, sizeof *out->id, text_order, (void *)(uintptr_t)t);
    for (int b = 0, i = 0; b <= 256; b++) {
        while (i < n && piece(t, out->id[i])[0] < b) i++;
        out->first[b] = i;
    }
done:
    return st;
}

void geodec__order_free(geodec__order *o)
{
    GEODEC_FREE(o->id);
    *o = (geodec__order){0};
}

/* First of id[lo, hi) - all longer than d and alike up to d - whose byte d is at least c. */
static int32_t lower(const geodec_tokenizer *t, const geodec__order *o, int32_t lo, int32_t hi, int32_t d, int c)
{
    while (lo < hi) {
        const int32_t mid = lo + (hi - lo) / 2;
        if (piece(t, o->id[mid])[d] < c)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

int32_t geodec__order_next(const geodec_tokenizer *t, const geodec__order *o, const unsigned char *p, size_t room,
                           geodec__prefix *at)
{
    if (at->d == 0) *at = (geodec__prefix){.lo = o->first[p[0]], .hi = o->first[p[0] + 1], .d = 1};
    for (; at->lo < at->hi; at->d++) {
        if (t->length[o->id[at->lo]] == at->d) return at->lo++;
        if ((size_t)at->d >= room) break;
        at->lo = lower(t, o, at->lo, at->hi, at->d, p[at->d]);
        at->hi = lower(t, o, at->lo, at->hi, at->d, p[at->d] + 1);
    }
    at->lo = at->hi;
    return -1;
}
