#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

typedef struct symbol {
    int32_t prev, next; /* -1 = none */
    int32_t at, n;      /* bytes of the word; n = 0: merged into its left neighbour */
} symbol;

typedef struct merger {
    const geodec_tokenizer *t;
    const char *text; /* of one word */
    symbol *symbol;
    geodec__pair_heap heap;
} merger;

static void try_pair(merger *m, int32_t left, int32_t right)
{
    if (left < 0 || right < 0) return;
    const int32_t n = m->symbol[left].n + m->symbol[right].n;
    const int32_t id = geodec__tokenizer_find(m->t, m->text + m->symbol[left].at, (size_t)n);
    if (id >= 0) geodec__encode_push(&m->heap, (geodec__pair){-(double)m->t->score[id], left, right, n});
}

/* ---- one word ---------------------------------------------------------------------------------------------------- */

/* Bytes of the UTF-8 character at p, 1 where there is no valid one. */
static int32_t character(const unsigned char *p, int32_t room)
{
    const int32_t n = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : p[0] < 0xf5 ? 4 : 1;
    if (n > room) return 1;
    for (int32_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 1;
    return n;
}

/* A symbol that is not a piece: byte by byte. A mark becomes a space, so that decoding restores the text. */
static geodec_status put_bytes(const geodec_tokenizer *t, const char *text, int32_t n, int32_t *ids, int64_t *count,
                               geodec_err *err)
{
    if (n == GEODEC__MARK_BYTES && memcmp(text, GEODEC__MARK, GEODEC__MARK_BYTES) == 0) {
        text = " ";
        n = 1;
    }
    for (int32_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)text[i];
        const int32_t id = t->byte_id[byte] >= 0 ? t->byte_id[byte] : t->unk;
        if (id < 0)
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "the vocabulary has no token for byte 0x%02x and no unknown token", byte);
        ids[(*count)++] = id;
    }
    return GEODEC_OK;
}

static geodec_status encode_word(merger *m, int32_t n_bytes, int32_t *ids, int64_t *count, geodec_err *err)
{
    int32_t n = 0;
    for (int32_t at = 0; at < n_bytes; n++) {
        const int32_t length = character((const unsigned char *)m->text + at, n_bytes - at);
        m->symbol[n] = (symbol){.prev = n - 1, .next = n + 1, .at = at, .n = length};
        at += length;
    }
    m->symbol[n - 1].next = -1;
    m->heap.n = 0;
    for (int32_t i = 1; i < n; i++) try_pair(m, i - 1, i);
    while (m->heap.n > 0) {
        const geodec__pair p = geodec__encode_pop(&m->heap);
        symbol *left = &m->symbol[p.left], *right = &m->symbol[p.right];
        if (left->n == 0 || right->n == 0 || left->n + right->n != p.tag) continue; /* stale */
        left->n = p.tag;
        right->n = 0;
        left->next = right->next;
        if (right->next >= 0) m->symbol[right->next].prev = p.left;
        try_pair(m, left->prev, p.left);
        try_pair(m, p.left, left->next);
    }
    for (int32_t i = 0; i >= 0; i = m->symbol[i].next) {
        const char *text = m->text + m->symbol[i].at;
        const int32_t id = geodec__tokenizer_find(m->t, text, (size_t)m->symbol[i].n);
        if (id >= 0)
            ids[(*count)++] = id;
        else
            GEODEC_PASS(put_bytes(m->t, text, m->symbol[i].n, ids, count, err));
    }
    return GEODEC_OK;
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* End of the word that starts at `at`, where no piece can cross. */
static int64_t word_end(const geodec_tokenizer *t, const char *text, int64_t at, int64_t n)
{
    return t->words_apart ? (int64_t)geodec__vocabulary_word_end(text, (size_t)at, (size_t)n) : n;
}

geodec_status geodec__spm_encode(const geodec_tokenizer *t, const char *text, size_t n, bool first, int32_t *ids,
                                 int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *marked = NULL;
    merger m = {.t = t};
    int64_t n_marked = 0, longest = 0;
    GEODEC_NEW(marked, 3 * (int64_t)n + GEODEC__MARK_BYTES);
    if (n > 0 && first && t->add_space_prefix) {
        memcpy(marked, GEODEC__MARK, GEODEC__MARK_BYTES);
        n_marked = GEODEC__MARK_BYTES;
    }
    for (size_t i = 0; i < n; i++) {
        if (text[i] == ' ') {
            memcpy(marked + n_marked, GEODEC__MARK, GEODEC__MARK_BYTES);
            n_marked += GEODEC__MARK_BYTES;
        } else {
            marked[n_marked++] = text[i];
        }
    }
    for (int64_t at = 0, end; at < n_marked; at = end) {
        end = word_end(t, marked, at, n_marked);
        if (end - at > longest) longest = end - at;
    }
    GEODEC_NEW(m.symbol, longest);
    GEODEC_NEW(m.heap.pair, 3 * longest); /* one pair a boundary at first, two more per merge */
    for (int64_t at = 0, end; at < n_marked; at = end) {
        end = word_end(t, marked, at, n_marked);
        m.text = marked + at;
        GEODEC_TRY(encode_word(&m, (int32_t)(end - at), ids, count, err));
    }
done:
    GEODEC_FREE(marked, m.symbol, m.heap.pair);
    return st;
}
