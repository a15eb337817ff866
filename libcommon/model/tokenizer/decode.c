#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

/* Text of one token: marks become spaces, letters of the byte alphabet become bytes. Returns the number of bytes, at
 * most the piece's. */
static size_t token_text(const geodec_tokenizer *t, int32_t id, bool show_control, char *out)
{
    if (id < 0 || id >= t->n) return 0;
    const char *s = t->bytes + t->at[id];
    const size_t n = (size_t)t->length[id];
    size_t written = 0;
    switch (t->type[id]) {
    case GEODEC_TOKEN_NORMAL:
        if (t->byte_letters) return geodec__bpe_piece_text(s, n, out);
        if (!t->unigram) return geodec__vocabulary_unmark(s, n, out);
        if (n) memcpy(out, s, n);
        return n;
    case GEODEC_TOKEN_USER:
        if (n) memcpy(out, s, n);
        return n;
    case GEODEC_TOKEN_BYTE:
        for (int b = 0; b < 256; b++)
            if (t->byte_id[b] == id) out[written++] = (char)(unsigned char)b;
        return written;
    case GEODEC_TOKEN_CONTROL:
    case GEODEC_TOKEN_UNKNOWN:
        if (!show_control) return 0;
        if (n) memcpy(out, s, n);
        return n;
    default:
        return 0; /* unused tokens have no text */
    }
}

geodec_status geodec_tokenizer_decode(const geodec_tokenizer *t, const int32_t *ids, int64_t n, char **text,
                                      size_t *length, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *out = NULL;
    int64_t room = 1;
    size_t written = 0;
    if (n < 0) GEODEC_THROW(GEODEC_INVAL, "%lld tokens", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (ids[i] < 0 || ids[i] >= t->n)
            GEODEC_THROW(GEODEC_RANGE, "token %lld is %d; the vocabulary has %d", (long long)i, ids[i], t->n);
        room += t->length[ids[i]];
    }
    GEODEC_NEW(out, room);
    bool started = false;
    for (int64_t i = 0; i < n; i++) {
        size_t k = token_text(t, ids[i], false, out + written);
        if (k == 0) continue;
        if (!started && t->add_space_prefix && out[written] == ' ') {
            k--;
            memmove(out + written, out + written + 1, k);
        }
        started = true;
        written += k;
    }
    out[written] = '\0';
    *text = out;
    *length = written;
done:
    return st;
}

/* ---- streaming -------------------------------------------------------------------------------------------------- */

/* Bytes at the end of s that may be completed to one valid character: 0 to 3. */
static size_t open_end(const unsigned char *s, size_t n)
{
    for (size_t k = 1; k <= 3 && k <= n; k++) {
        const unsigned char *p = s + n - k;
        if ((*p & 0xc0) == 0x80) continue;
        const size_t need = *p >= 0xc2 && *p < 0xe0 ? 2 : *p >= 0xe0 && *p < 0xf0 ? 3 : *p >= 0xf0 && *p < 0xf5 ? 4 : 1;
        if (need <= k) return 0;
        /* the second byte decides on overlong forms, surrogates and the end of Unicode */
        if (k >= 2 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
                       (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)))
            return 0;
        return k;
    }
    return 0;
}

void geodec_decode_init(geodec_detok *d, const geodec_tokenizer *t) { *d = (geodec_detok){.t = t}; }

size_t geodec_decode_room(const geodec_tokenizer *t) { return t->longest + 8; }

size_t geodec_decode_feed(geodec_detok *d, int32_t id, char *out)
{
    const size_t held = (size_t)d->n_pending;
    memcpy(out, d->pending, held);
    size_t n = token_text(d->t, id, d->show_control, out + held);
    if (n > 0 && !d->started) {
        d->started = true;
        if (d->t->add_space_prefix && d->t->type[id] != GEODEC_TOKEN_CONTROL && out[0] == ' ')
            memmove(out, out + 1, --n);
    }
    n += held;
    const size_t keep = open_end((const unsigned char *)out, n);
    memcpy(d->pending, out + n - keep, keep);
    d->n_pending = (int)keep;
    return n - keep;
}

size_t geodec_decode_flush(geodec_detok *d, char *out)
{
    const size_t n = (size_t)d->n_pending;
    memcpy(out, d->pending, n);
    d->n_pending = 0;
    return n;
}
