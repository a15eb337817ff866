#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* Bytes outside the shortest form of a character up to U+10FFFF without surrogates are not UTF-8. */
int geodec__encode_utf8(const unsigned char *p, size_t room)
{
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
    const int n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if ((size_t)n > room) return 0;
    for (int i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

/* ---- pairs that may merge, best first --------------------------------------------------------------------------- */

static bool before(const geodec__pair *a, const geodec__pair *b)
{
    return a->order < b->order || (!(b->order < a->order) && a->left < b->left);
}

void geodec__encode_push(geodec__pair_heap *h, geodec__pair p)
{
    int64_t i = h->n++;
    for (; i > 0 && before(&p, &h->pair[(i - 1) / 2]); i = (i - 1) / 2) h->pair[i] = h->pair[(i - 1) / 2];
    h->pair[i] = p;
}

geodec__pair geodec__encode_pop(geodec__pair_heap *h)
{
    const geodec__pair top = h->pair[0], last = h->pair[--h->n];
    int64_t i = 0;
    for (;;) {
        int64_t child = 2 * i + 1;
        if (child >= h->n) break;
        if (child + 1 < h->n && before(&h->pair[child + 1], &h->pair[child])) child++;
        if (!before(&h->pair[child], &last)) break;
        h->pair[i] = h->pair[child];
        i = child;
    }
    h->pair[i] = last;
    return top;
}

/* ---- texts ------------------------------------------------------------------------------------------------------ */

static geodec_status check_spans(const geodec_encode_options *o, size_t n, geodec_err *err)
{
    for (int64_t i = 0, end = 0; i < o->n_plain; end = o->plain[i++].end)
        if (o->plain[i].begin < end || o->plain[i].end < o->plain[i].begin || o->plain[i].end > (int64_t)n)
            GEODEC_FAIL(GEODEC_INVAL, "plain span %lld is out of order or outside the text", (long long)i);
    return GEODEC_OK;
}

geodec_status geodec_tokenizer_encode_with(const geodec_tokenizer *t, const char *text, size_t n,
                                           const geodec_encode_options *options, int32_t *ids, int64_t *count,
                                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__part *part = NULL;
    int64_t n_parts = 0, written = 0;
    if (n > (size_t)INT32_MAX / 4) GEODEC_THROW(GEODEC_LIMIT, "a text of %zu bytes is too long to encode at once", n);
    GEODEC_TRY(check_spans(options, n, err));
    if (options->bos && t->add_bos) {
        if (t->bos < 0) GEODEC_THROW(GEODEC_UNSUPPORTED, "the vocabulary has no begin-of-sequence token");
        ids[written++] = t->bos;
    }
    GEODEC_TRY(geodec__special_cut(t, text, n, options, &part, &n_parts, err));
    for (int64_t i = 0; i < n_parts; i++) {
        const geodec__part *p = &part[i];
        if (p->id >= 0) {
            ids[written++] = p->id;
        } else if (t->bpe) {
            GEODEC_TRY(geodec__bpe_encode(t, text + p->at, (size_t)p->n, ids, &written, err));
        } else if (t->unigram) {
            GEODEC_TRY(geodec__unigram_encode(t, text + p->at, (size_t)p->n, ids, &written, err));
        } else {
            /* a prefix after a token of one byte could give more ids than fit the caller's memory */
            const bool first = i == 0 ? !options->goes_on : part[i - 1].n > 1;
            GEODEC_TRY(geodec__spm_encode(t, text + p->at, (size_t)p->n, first, ids, &written, err));
        }
    }
    if (options->eos && t->add_eos) {
        if (t->eos < 0) GEODEC_THROW(GEODEC_UNSUPPORTED, "the vocabulary has no end-of-sequence token");
        ids[written++] = t->eos;
    }
    *count = written;
done:
    geodec_mem_free(part);
    return st;
}

geodec_status geodec_tokenizer_encode(const geodec_tokenizer *t, const char *text, size_t n, bool add_bos, int32_t *ids,
                                      int64_t *count, geodec_err *err)
{
    return geodec_tokenizer_encode_with(t, text, n, &(geodec_encode_options){.bos = add_bos}, ids, count, err);
}
