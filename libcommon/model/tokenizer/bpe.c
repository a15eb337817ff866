#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdio.h>
#include <string.h>

/* ---- the byte alphabet ------------------------------------------------------------------------------------------ */

/* GPT-2 writes each byte as a printable character: '!'..'~', U+00A1..U+00AC and U+00AE..U+00FF as themselves, the
 * other 68 as U+0100, U+0101, ... in the order of their values. */
static int letter_of(int byte)
{
    return byte < 0x21                    ? 0x100 + byte
           : byte >= 0x7f && byte <= 0xa0 ? 0x121 + byte - 0x7f
           : byte == 0xad                 ? 0x143
                                          : byte;
}

static size_t put_letter(int c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    out[0] = (char)(unsigned char)(0xc0 | c >> 6);
    out[1] = (char)(unsigned char)(0x80 | (c & 63));
    return 2;
}

/* Byte of a letter, -1 for another character. */
static int byte_of(int c)
{
    if (c < 0x100) return letter_of(c) == c ? c : -1;
    for (int b = 0; b < 256; b++)
        if (letter_of(b) == c) return b;
    return -1;
}

size_t geodec__bpe_piece_text(const char *piece, size_t n, char *out)
{
    const unsigned char *p = (const unsigned char *)piece;
    size_t written = 0;
    for (size_t i = 0; i < n;) {
        const int k = geodec__encode_utf8(p + i, n - i);
        const int c = k == 1 ? p[i] : k == 2 ? (p[i] & 31) << 6 | (p[i + 1] & 63) : -1;
        const int byte = c >= 0 ? byte_of(c) : -1;
        if (byte >= 0)
            out[written++] = (char)(unsigned char)byte;
        else
            for (int j = 0; j < (k ? k : 1); j++) out[written++] = piece[i + (size_t)j];
        i += k ? (size_t)k : 1;
    }
    return written;
}

/* ---- merges ----------------------------------------------------------------------------------------------------- */

/* Strings are numbered: the pieces that text can match by their ids, then further strings of merges ("extra"). */
typedef struct merge {
    int32_t left, right, result;
} merge;

typedef struct pair_slot {
    int32_t left, right, rank; /* rank -1: free slot */
} pair_slot;

typedef struct string {
    char *text;
    int32_t length;
} string;

struct geodec__bpe {
    merge *merge; /* [n_merges] in order of rank */
    int32_t n_merges;
    pair_slot *slot;
    uint64_t slot_mask;
    string *extra; /* [n_extra] */
    int32_t n_extra;
    int64_t extra_room;
    int32_t *extra_slot; /* used while merges are read, and to find the characters of words */
    uint64_t extra_mask;
    int32_t byte[256]; /* string of each byte; of marked pieces the token of each byte, -1 = none */
    int32_t mark;      /* string of the mark, -1 = none */
    char letter[256][2];
    uint8_t letter_bytes[256];
};

static uint64_t pair_hash(int32_t left, int32_t right)
{
    uint64_t h = ((uint64_t)(uint32_t)left << 32 | (uint32_t)right) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static int32_t rank_of(const geodec__bpe *b, int32_t left, int32_t right)
{
    for (uint64_t i = pair_hash(left, right);; i++) {
        const pair_slot *s = &b->slot[i & b->slot_mask];
        if (s->rank < 0 || (s->left == left && s->right == right)) return s->rank;
    }
}

static const char *text_of(const geodec_tokenizer *t, const geodec__bpe *b, int32_t id, size_t *n)
{
    *n = (size_t)(id < t->n ? t->length[id] : b->extra[id - t->n].length);
    return id < t->n ? t->bytes + t->at[id] : b->extra[id - t->n].text;
}

/* Room for another string; its slot table is made again, four slots a string. */
static geodec_status grow_extra(geodec__bpe *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t slots = 256;
    GEODEC_GROW(b->extra, b->n_extra, b->extra_room, 1);
    while (slots < 4 * b->extra_room) slots *= 2;
    geodec_mem_free(b->extra_slot);
    GEODEC_NEW(b->extra_slot, slots);
    memset(b->extra_slot, 0xff, (size_t)slots * sizeof *b->extra_slot);
    b->extra_mask = (uint64_t)slots - 1;
    for (int32_t i = 0; i < b->n_extra; i++) {
        uint64_t h = geodec__vocabulary_hash(b->extra[i].text, (size_t)b->extra[i].length);
        while (b->extra_slot[h & b->extra_mask] >= 0) h++;
        b->extra_slot[h & b->extra_mask] = i;
    }
done:
    return st;
}

/* Number of a string, -1 = unknown; *h is then its free slot. */
static int32_t known(const geodec_tokenizer *t, const geodec__bpe *b, const char *text, size_t n, uint64_t *h)
{
    const int32_t id = geodec__tokenizer_find(t, text, n);
    if (id >= 0 || !b->extra_slot) return id;
    for (*h = geodec__vocabulary_hash(text, n);; ++*h) {
        const int32_t i = b->extra_slot[*h & b->extra_mask];
        if (i < 0) return -1;
        if ((size_t)b->extra[i].length == n && memcmp(b->extra[i].text, text, n) == 0) return t->n + i;
    }
}

/* Number of a string; a new one unless it is known. */
static geodec_status number(const geodec_tokenizer *t, geodec__bpe *b, const char *text, size_t n, int32_t *id,
                            geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint64_t h = 0;
    if (b->n_extra == b->extra_room) GEODEC_TRY(grow_extra(b, err));
    *id = known(t, b, text, n, &h);
    if (*id >= 0) goto done;
    if (n > GEODEC__MAX_PIECE) GEODEC_THROW(GEODEC_LIMIT, "tokenizer.ggml.merges: a string of %zu bytes", n);
    if (b->n_extra > INT32_MAX / 2 - t->n) GEODEC_THROW(GEODEC_LIMIT, "tokenizer.ggml.merges: too many strings");
    string *const made = &b->extra[b->n_extra];
    GEODEC_NEW(made->text, n + 1);
    memcpy(made->text, text, n);
    made->length = (int32_t)n;
    b->extra_slot[h & b->extra_mask] = b->n_extra;
    *id = t->n + b->n_extra++;
done:
    return st;
}

/* "left right": the blank is the first one after at least one byte. A repeated pair keeps its first rank. */
static geodec_status add_merge(const geodec_tokenizer *t, geodec__bpe *b, int64_t index, const char *text, size_t n,
                               geodec_err *err)
{
    char joined[GEODEC__MAX_PIECE];
    const char *blank = n > 2 ? memchr(text + 1, ' ', n - 2) : NULL;
    if (!blank) GEODEC_FAIL(GEODEC_FORMAT, "tokenizer.ggml.merges: merge %lld is not a pair", (long long)index);
    if (n - 1 > sizeof joined)
        GEODEC_FAIL(GEODEC_LIMIT, "tokenizer.ggml.merges: merge %lld has %zu bytes; the limit is %d", (long long)index,
                    n, GEODEC__MAX_PIECE);
    const size_t left = (size_t)(blank - text), right = n - left - 1;
    merge m;
    GEODEC_PASS(number(t, b, text, left, &m.left, err));
    GEODEC_PASS(number(t, b, blank + 1, right, &m.right, err));
    if (rank_of(b, m.left, m.right) >= 0) return GEODEC_OK;
    memcpy(joined, text, left);
    memcpy(joined + left, blank + 1, right);
    GEODEC_PASS(number(t, b, joined, n - 1, &m.result, err));
    uint64_t h = pair_hash(m.left, m.right);
    while (b->slot[h & b->slot_mask].rank >= 0) h++;
    b->slot[h & b->slot_mask] = (pair_slot){m.left, m.right, b->n_merges};
    b->merge[b->n_merges++] = m;
    return GEODEC_OK;
}

/* Strings of the bytes, and of marked pieces their tokens: those of the type, or those that are written so. */
static geodec_status number_bytes(const geodec_tokenizer *t, geodec__bpe *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        if (t->byte_letters) {
            b->letter_bytes[byte] = (uint8_t)put_letter(letter_of(byte), b->letter[byte]);
            GEODEC_TRY(number(t, b, b->letter[byte], b->letter_bytes[byte], &b->byte[byte], err));
            continue;
        }
        (void)snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
        b->byte[byte] = t->byte_id[byte] >= 0 ? t->byte_id[byte] : geodec__tokenizer_find(t, text, strlen(text));
    }
done:
    return st;
}

geodec_status geodec__bpe_create(const geodec_tokenizer *t, const geodec__vocabulary *v, geodec__bpe **out,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__bpe *b = NULL;
    int64_t room = 16;
    uint64_t h;
    if (v->n_merges < 0 || v->n_merges > INT32_MAX / 4)
        GEODEC_THROW(GEODEC_LIMIT, "tokenizer.ggml.merges: %lld merges", (long long)v->n_merges);
    GEODEC_NEW(b, 1);
    GEODEC_NEW(b->merge, v->n_merges);
    while (2 * room < 3 * v->n_merges) room *= 2;
    GEODEC_NEW(b->slot, room);
    memset(b->slot, 0xff, (size_t)room * sizeof *b->slot);
    b->slot_mask = (uint64_t)room - 1;
    GEODEC_TRY(number_bytes(t, b, err));
    for (int64_t i = 0; i < v->n_merges; i++) GEODEC_TRY(add_merge(t, b, i, v->merge[i], v->merge_len[i], err));
    b->mark = known(t, b, GEODEC__MARK, GEODEC__MARK_BYTES, &h);
    if (t->byte_letters) {
        geodec_mem_free(b->extra_slot);
        b->extra_slot = NULL;
    }
    *out = b;
    b = NULL;
done:
    geodec__bpe_destroy(b);
    return st;
}

void geodec__bpe_destroy(geodec__bpe *b)
{
    if (!b) return;
    for (int32_t i = 0; i < b->n_extra; i++) geodec_mem_free(b->extra[i].text);
    GEODEC_FREE(b->extra, b->extra_slot, b->merge, b->slot, b);
}

void geodec__bpe_digest(const geodec__bpe *b, geodec_sha256 *h)
{
    geodec_sha256_update(h, &b->n_merges, sizeof b->n_merges);
    geodec_sha256_update(h, b->merge, (size_t)b->n_merges * sizeof *b->merge);
    for (int32_t i = 0; i < b->n_extra; i++) geodec_sha256_update(h, &b->extra[i].length, sizeof b->extra[i].length);
    for (int32_t i = 0; i < b->n_extra; i++) geodec_sha256_update(h, b->extra[i].text, (size_t)b->extra[i].length);
}

int64_t geodec__bpe_merges(const geodec__bpe *b) { return b->n_merges; }

size_t geodec__bpe_merge_text(const geodec_tokenizer *t, int64_t i, char *out)
{
    size_t left, right;
    const char *l = text_of(t, t->bpe, t->bpe->merge[i].left, &left);
    const char *r = text_of(t, t->bpe, t->bpe->merge[i].right, &right);
    memcpy(out, l, left);
    out[left] = ' ';
    memcpy(out + left + 1, r, right);
    return left + 1 + right;
}

/* ---- one word --------------------------------------------------------------------------------------------------- */

enum { SHORT_WORD = 32, CACHED_BYTES = 30, CACHED_IDS = 8 };

/* A symbol is a string, or a byte that is none: then its id is LONE_BYTE less the byte. */
enum { MERGED = -1, LONE_BYTE = -2 };
typedef struct symbol {
    int32_t id, prev, next; /* next -1: the last; id MERGED: into its left neighbour */
} symbol;

typedef struct cached {
    uint8_t n_bytes, n_ids; /* n_bytes 0: empty */
    char bytes[CACHED_BYTES];
    int32_t id[CACHED_IDS];
} cached;

typedef struct encoder {
    const geodec_tokenizer *t;
    const geodec__bpe *b;
    symbol *symbol;
    int32_t *first;
    geodec__pair_heap heap;
    int64_t room; /* symbols */
    cached *cache;
    uint64_t cache_mask;
    int32_t *ids;
    int64_t n;
} encoder;

/* The symbols of a word before any merge, at most its bytes: its bytes, or its characters with marks for spaces. */
static size_t first_symbols(const encoder *e, const char *text, size_t n, int32_t *id)
{
    size_t k = 0;
    for (size_t i = 0; i < n;) {
        uint64_t h;
        if (e->t->byte_letters) {
            id[k++] = e->b->byte[(unsigned char)text[i++]];
            continue;
        }
        const int valid = geodec__encode_utf8((const unsigned char *)text + i, n - i);
        const size_t end = i + (size_t)(valid ? valid : 1);
        id[k] = !valid ? -1 : text[i] == ' ' ? e->b->mark : known(e->t, e->b, text + i, (size_t)valid, &h);
        if (id[k] >= 0)
            k++;
        else
            for (; i < end; i++) id[k++] = LONE_BYTE - (int32_t)(unsigned char)text[i];
        i = end;
    }
    return k;
}

/* A byte without a token is left out. */
static void put_byte(encoder *e, unsigned char byte)
{
    const int32_t one = e->b->byte[byte] < e->t->n ? e->b->byte[byte] : e->t->byte_id[byte];
    if (one >= 0) e->ids[e->n++] = one;
}

static void put_string(encoder *e, int32_t id)
{
    if (id <= LONE_BYTE) {
        put_byte(e, (unsigned char)(LONE_BYTE - id));
        return;
    }
    if (id < e->t->n) {
        e->ids[e->n++] = id;
        return;
    }
    /* not a piece: byte by byte; a mark is the byte of a space, so that decoding restores the text */
    size_t n;
    const char *s = text_of(e->t, e->b, id, &n);
    char text[GEODEC__MAX_PIECE];
    n = e->t->byte_letters ? geodec__bpe_piece_text(s, n, text) : geodec__vocabulary_unmark(s, n, text);
    for (size_t i = 0; i < n; i++) put_byte(e, (unsigned char)text[i]);
}

/* Few symbols: search for the lowest rank again after each merge. */
static void merge_short(encoder *e, int32_t *id, size_t n)
{
    int32_t rank[SHORT_WORD];
    for (size_t i = 0; i + 1 < n; i++) rank[i] = rank_of(e->b, id[i], id[i + 1]);
    for (;;) {
        size_t best = n;
        for (size_t i = 0; i + 1 < n; i++)
            if (rank[i] >= 0 && (best == n || rank[i] < rank[best])) best = i;
        if (best == n) break;
        id[best] = e->b->merge[rank[best]].result;
        memmove(id + best + 1, id + best + 2, (n - best - 2) * sizeof *id);
        n--;
        if (best + 1 < n) memmove(rank + best + 1, rank + best + 2, (n - best - 2) * sizeof *rank);
        if (best > 0) rank[best - 1] = rank_of(e->b, id[best - 1], id[best]);
        if (best + 1 < n) rank[best] = rank_of(e->b, id[best], id[best + 1]);
    }
    for (size_t i = 0; i < n; i++) put_string(e, id[i]);
}

static void push(encoder *e, int32_t left, int32_t right)
{
    if (left < 0 || right < 0) return;
    const int32_t rank = rank_of(e->b, e->symbol[left].id, e->symbol[right].id);
    if (rank >= 0) geodec__encode_push(&e->heap, (geodec__pair){(double)rank, left, right, rank});
}

static geodec_status merge_long(encoder *e, const char *text, int32_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (n > e->room) {
        GEODEC_FREE(e->symbol, e->first, e->heap.pair);
        e->symbol = NULL;
        e->first = NULL;
        e->heap.pair = NULL;
        e->room = 0;
        GEODEC_NEW(e->symbol, n);
        GEODEC_NEW(e->first, n);
        GEODEC_NEW(e->heap.pair, 3 * (int64_t)n); /* one pair a boundary at first, two more per merge */
        e->room = n;
    }
    n = (int32_t)first_symbols(e, text, (size_t)n, e->first);
    for (int32_t i = 0; i < n; i++) e->symbol[i] = (symbol){e->first[i], i - 1, i + 1 < n ? i + 1 : -1};
    e->heap.n = 0;
    for (int32_t i = 0; i + 1 < n; i++) push(e, i, i + 1);
    while (e->heap.n > 0) {
        const geodec__pair c = geodec__encode_pop(&e->heap);
        const merge *m = &e->b->merge[c.tag];
        symbol *left = &e->symbol[c.left], *right = &e->symbol[c.right];
        if (left->id != m->left || right->id != m->right || left->next != c.right) continue; /* stale */
        left->id = m->result;
        right->id = MERGED;
        left->next = right->next;
        if (right->next >= 0) e->symbol[right->next].prev = c.left;
        push(e, left->prev, c.left);
        push(e, c.left, left->next);
    }
    for (int32_t i = 0; i >= 0; i = e->symbol[i].next) put_string(e, e->symbol[i].id);
done:
    return st;
}

/* Id of the piece that this word is without a merge, or -1. */
static int32_t whole_word(const encoder *e, const char *text, size_t n)
{
    char letters[2 * GEODEC__MAX_PIECE];
    size_t k = 0;
    const geodec__pretoken *pre = e->t->pre;
    if (geodec__pretoken_line_ends(pre) && text[0] == '\n') return geodec__tokenizer_find(e->t, text, n);
    if (!geodec__pretoken_whole_words(pre) || n > e->t->longest_match) return -1;
    for (size_t i = 0; i < n; i++) {
        const unsigned char byte = (unsigned char)text[i];
        memcpy(letters + k, e->b->letter[byte], e->b->letter_bytes[byte]);
        k += e->b->letter_bytes[byte];
    }
    return geodec__tokenizer_find(e->t, letters, k);
}

static geodec_status encode_word(void *ctx, const char *text, size_t n, geodec_err *err)
{
    encoder *e = ctx;
    cached *c = NULL;
    if (n == 0) return GEODEC_OK;
    if (n <= CACHED_BYTES) {
        c = &e->cache[geodec__vocabulary_hash(text, n) & e->cache_mask];
        if (c->n_bytes == n && memcmp(c->bytes, text, n) == 0) {
            memcpy(e->ids + e->n, c->id, c->n_ids * sizeof *c->id);
            e->n += c->n_ids;
            return GEODEC_OK;
        }
    }
    const int64_t first = e->n;
    const int32_t whole = whole_word(e, text, n);
    int32_t id[SHORT_WORD];
    if (whole >= 0)
        e->ids[e->n++] = whole;
    else if (n <= SHORT_WORD)
        merge_short(e, id, first_symbols(e, text, n, id));
    else
        GEODEC_PASS(merge_long(e, text, (int32_t)n, err));
    if (c && e->n - first <= CACHED_IDS) {
        c->n_bytes = (uint8_t)n;
        c->n_ids = (uint8_t)(e->n - first);
        memcpy(c->bytes, text, n);
        memcpy(c->id, e->ids + first, c->n_ids * sizeof *c->id);
    }
    return GEODEC_OK;
}

geodec_status geodec__bpe_encode(const geodec_tokenizer *t, const char *text, size_t n, int32_t *ids, int64_t *count,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    encoder e = {.t = t, .b = t->bpe, .ids = ids, .n = *count};
    int64_t slots = 16;
    while (slots < 8192 && slots < (int64_t)n / 16) slots *= 2;
    GEODEC_NEW(e.cache, slots);
    e.cache_mask = (uint64_t)slots - 1;
    GEODEC_TRY(geodec__pretoken_split(t->pre, text, n, (geodec__word_sink){encode_word, &e}, err));
    *count = e.n;
done:
    GEODEC_FREE(e.symbol, e.first, e.heap.pair, e.cache);
    return st;
}
