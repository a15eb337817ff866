#include "tokenizer/vocab_train.h"

#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Strings are interned: a symbol of a word and the concatenation of two neighbours are both ids into one table. */
enum { PIECE_BYTES_MAX = 48, NONE = -1 };

typedef struct string {
    uint32_t at, n; /* bytes in the pool */
    int64_t count;  /* as concatenation of neighbours, weighted by word counts; characters: as such */
    int32_t rank;   /* as a piece, or NONE */
    int32_t word;   /* index of the word with this text, or NONE */
} string;

typedef struct word {
    int64_t count;
    int32_t text;    /* id of the whole word before it is split */
    int32_t n;       /* symbols left */
    int32_t *symbol; /* [n] */
    int32_t *pair;   /* [n - 1] id of symbol[i] + symbol[i+1], NONE when too long */
} word;

typedef struct trainer {
    char *pool;
    int64_t n_pool, room_pool;
    string *s;
    int64_t n_s, room_s;
    int32_t *slot; /* hash table of ids, room_slot a power of two */
    int64_t room_slot;
    word *w;
    int64_t n_w, room_w;
} trainer;

static int64_t slot_of(const trainer *t, const char *p, size_t n)
{
    int64_t k = (int64_t)(geodec__vocabulary_hash(p, n) & (uint64_t)(t->room_slot - 1));
    while (t->slot[k]) {
        const string *s = &t->s[t->slot[k] - 1];
        if (s->n == n && !memcmp(t->pool + s->at, p, n)) break;
        k = (k + 1) & (t->room_slot - 1);
    }
    return k;
}

static geodec_status more_slots(trainer *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t room = t->room_slot ? 2 * t->room_slot : 1 << 14;
    geodec_mem_free(t->slot);
    t->room_slot = 0;
    GEODEC_NEW(t->slot, room);
    t->room_slot = room;
    for (int64_t i = 0; i < t->n_s; i++) t->slot[slot_of(t, t->pool + t->s[i].at, t->s[i].n)] = (int32_t)(i + 1);
done:
    return st;
}

static geodec_status intern(trainer *t, const char *p, size_t n, int32_t *id, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (2 * (t->n_s + 1) > t->room_slot) GEODEC_TRY(more_slots(t, err));
    int64_t k = slot_of(t, p, n);
    if (!t->slot[k]) {
        if (t->n_s >= INT32_MAX - 1 || t->n_pool + (int64_t)n > UINT32_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "too many distinct strings");
        GEODEC_GROW(t->pool, t->n_pool, t->room_pool, (int64_t)n);
        GEODEC_GROW(t->s, t->n_s, t->room_s, 1);
        memcpy(t->pool + t->n_pool, p, n);
        t->s[t->n_s++] = (string){.at = (uint32_t)t->n_pool, .n = (uint32_t)n, .rank = NONE, .word = NONE};
        t->n_pool += (int64_t)n;
        t->slot[k] = (int32_t)t->n_s;
    }
    *id = t->slot[k] - 1;
done:
    return st;
}

/* Id of the concatenation of two neighbours, NONE when it is longer than the limit of a piece. */
static geodec_status join(trainer *t, int32_t a, int32_t b, int32_t *id, geodec_err *err)
{
    char both[PIECE_BYTES_MAX];
    size_t n = t->s[a].n, m = t->s[b].n;
    *id = NONE;
    if (n + m > PIECE_BYTES_MAX) return GEODEC_OK;
    memcpy(both, t->pool + t->s[a].at, n);
    memcpy(both + n, t->pool + t->s[b].at, m);
    return intern(t, both, n + m, id, err);
}

/* ---- cutting the text ------------------------------------------------------------------------------------------- */

/* Length of the UTF-8 character at p, 0 when there is none or for a control character. */
static size_t character(const char *p, size_t n)
{
    const unsigned char *c = (const unsigned char *)p;
    return *c < 0x20 || *c == 0x7f ? 0 : (size_t)geodec__encode_utf8(c, n);
}

static geodec_status add_word(trainer *t, const char *p, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t id = NONE;
    if (n == 0) return GEODEC_OK;
    GEODEC_TRY(intern(t, p, n, &id, err));
    if (t->s[id].word == NONE) {
        GEODEC_GROW(t->w, t->n_w, t->room_w, 1);
        t->w[t->n_w] = (word){.text = id};
        t->s[id].word = (int32_t)t->n_w++;
    }
    t->w[t->s[id].word].count++;
done:
    return st;
}

/* Words of one part: a mark in front, blanks as marks, split before each mark. */
static geodec_status add_part(trainer *t, const char *p, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *buffer = NULL;
    size_t m = GEODEC__MARK_BYTES;
    GEODEC_NEW(buffer, 3 * n + 3);
    memcpy(buffer, GEODEC__MARK, GEODEC__MARK_BYTES);
    for (size_t i = 0; i < n;) {
        if (p[i] == ' ') {
            GEODEC_TRY(add_word(t, buffer, m, err));
            memcpy(buffer, GEODEC__MARK, GEODEC__MARK_BYTES);
            m = GEODEC__MARK_BYTES;
            i++;
            continue;
        }
        size_t c = character(p + i, n - i);
        if (c == 0) {
            GEODEC_TRY(add_word(t, buffer, m, err));
            m = 0;
            i++;
            continue;
        }
        memcpy(buffer + m, p + i, c);
        m += c;
        i += c;
    }
    GEODEC_TRY(add_word(t, buffer, m, err));
done:
    geodec_mem_free(buffer);
    return st;
}

/* ---- characters ------------------------------------------------------------------------------------------------- */

static int by_bytes(const trainer *t, int32_t a, int32_t b)
{
    const string *x = &t->s[a], *y = &t->s[b];
    int d = memcmp(t->pool + x->at, t->pool + y->at, x->n < y->n ? x->n : y->n);
    return d ? d : (x->n > y->n) - (x->n < y->n);
}

static int by_count(const void *a, const void *b, void *ctx)
{
    const trainer *t = ctx;
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    const int64_t c = t->s[x].count, d = t->s[y].count;
    return c != d ? (c < d ? 1 : -1) : by_bytes(t, x, y);
}

/* Splits every word into characters, counts them, and keeps the `limit` most frequent as pieces: chars[0..*n_chars). */
static geodec_status cut_words(trainer *t, int64_t limit, int32_t **chars, int64_t *n_chars, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *list = NULL;
    int64_t n = 0, room = 0;
    for (int64_t i = 0; i < t->n_w; i++) {
        word *w = &t->w[i];
        uint32_t length = t->s[w->text].n;
        GEODEC_NEW_EACH(length, w->symbol, w->pair);
        for (uint32_t at = 0; at < length;) {
            char c[4];
            int32_t id = NONE;
            const char *p = t->pool + t->s[w->text].at + at;
            size_t m = character(p, length - at);
            memcpy(c, p, m); /* the pool may move */
            GEODEC_TRY(intern(t, c, m, &id, err));
            if (t->s[id].count == 0) {
                GEODEC_GROW(list, n, room, 1);
                list[n++] = id;
            }
            t->s[id].count += w->count;
            w->symbol[w->n++] = id;
            at += (uint32_t)m;
        }
    }
    if (n) qsort_r(list, (size_t)n, sizeof *list, by_count, t);
    for (int64_t i = 0; i < n; i++) {
        t->s[list[i]].rank = i < limit ? INT32_MAX : NONE; /* a single character is not a merge */
        t->s[list[i]].count = 0;
    }
    *n_chars = n < limit ? n : limit;
    *chars = list;
    list = NULL;
done:
    geodec_mem_free(list);
    return st;
}

/* ---- merging ---------------------------------------------------------------------------------------------------- */

static geodec_status set_pairs(trainer *t, word *w, geodec_err *err)
{
    for (int32_t k = 0; k + 1 < w->n; k++) {
        w->pair[k] = NONE;
        /* a character without a piece becomes bytes, and nothing merges with it */
        if (t->s[w->symbol[k]].rank == NONE || t->s[w->symbol[k + 1]].rank == NONE) continue;
        GEODEC_PASS(join(t, w->symbol[k], w->symbol[k + 1], &w->pair[k], err));
    }
    return GEODEC_OK;
}

static void count_pairs(trainer *t, const word *w, int64_t sign)
{
    for (int32_t k = 0; k + 1 < w->n; k++)
        if (w->pair[k] != NONE) t->s[w->pair[k]].count += sign * w->count;
}

/* The tokenizer's rule: merges the neighbours that form the piece of best rank, leftmost first, until none do. */
static geodec_status merge_word(trainer *t, word *w, geodec_err *err)
{
    for (;;) {
        int32_t best = NONE;
        for (int32_t k = 0; k + 1 < w->n; k++) {
            if (w->pair[k] == NONE || t->s[w->pair[k]].rank == NONE) continue;
            if (best == NONE || t->s[w->pair[k]].rank < t->s[w->pair[best]].rank) best = k;
        }
        if (best == NONE) break;
        w->symbol[best] = w->pair[best];
        memmove(w->symbol + best + 1, w->symbol + best + 2, sizeof(int32_t) * (size_t)(w->n - best - 2));
        w->n--;
        GEODEC_PASS(set_pairs(t, w, err));
    }
    return GEODEC_OK;
}

/* Learns up to limit merges: merges[0..*n_merges) are string ids in order. */
static geodec_status learn(trainer *t, int64_t limit, int32_t *merges, int64_t *n_merges, const geodec_hooks *hooks,
                           geodec_err *err)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_w; i++) {
        GEODEC_PASS(set_pairs(t, &t->w[i], err));
        count_pairs(t, &t->w[i], 1);
    }
    for (; n < limit; n++) {
        int32_t best = NONE;
        for (int64_t i = 0; i < t->n_s; i++) {
            if (t->s[i].count < 2 || t->s[i].rank != NONE) continue;
            if (best == NONE || t->s[i].count > t->s[best].count ||
                (t->s[i].count == t->s[best].count && by_bytes(t, (int32_t)i, best) < 0))
                best = (int32_t)i;
        }
        if (best == NONE) break;
        t->s[best].rank = (int32_t)n;
        merges[n] = best;
        for (int64_t i = 0; i < t->n_w; i++) {
            word *w = &t->w[i];
            int32_t k = 0;
            while (k + 1 < w->n && w->pair[k] != best) k++;
            if (k + 1 >= w->n) continue;
            count_pairs(t, w, -1);
            GEODEC_PASS(merge_word(t, w, err));
            count_pairs(t, w, 1);
        }
        GEODEC_PASS(geodec_hooks_progress(hooks, "merges", n + 1, limit, err));
    }
    *n_merges = n;
    return GEODEC_OK;
}

/* ---- result ----------------------------------------------------------------------------------------------------- */

geodec_status geodec_vocab_create(int64_t n, const char *const *piece, const size_t *piece_length,
                                  const float *piece_score, geodec_tokenizer **out, geodec_err *err)
{
    static const char *const special[] = {"<unk>", "<s>", "</s>"};
    geodec_status st = GEODEC_OK;
    const int64_t first = GEODEC_VOCAB_FIRST_PIECE, all = first + n;
    char byte[256][8];
    const char **text = NULL;
    size_t *length = NULL;
    float *score = NULL;
    int32_t *type = NULL;
    if (n < 0 || all > INT32_MAX) GEODEC_THROW(GEODEC_RANGE, "a vocabulary of %lld pieces", (long long)n);
    GEODEC_NEW_EACH(all, text, length, score, type);
    for (int64_t i = 0; i < all; i++) {
        const bool is_byte = i >= 3 && i < first;
        if (is_byte) (void)snprintf(byte[i - 3], sizeof byte[0], "<0x%02X>", (unsigned)(i - 3));
        text[i] = i < 3 ? special[i] : is_byte ? byte[i - 3] : piece[i - first];
        length[i] = i < first ? strlen(text[i]) : piece_length[i - first];
        score[i] = i < first ? 0 : piece_score[i - first];
        type[i] = i == 0    ? GEODEC_TOKEN_UNKNOWN
                  : i < 3   ? GEODEC_TOKEN_CONTROL
                  : is_byte ? GEODEC_TOKEN_BYTE
                            : GEODEC_TOKEN_NORMAL;
    }
    GEODEC_TRY(geodec_tokenizer_create((int32_t)all, text, length, score, type, 1, 2, 0, out, err));
done:
    GEODEC_FREE(text, length, score, type);
    return st;
}

static geodec_status make(const trainer *t, const int32_t *merges, int64_t n_merges, const int32_t *chars,
                          int64_t n_chars, geodec_tokenizer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = n_merges + n_chars;
    const char **text = NULL;
    size_t *length = NULL;
    float *score = NULL;
    GEODEC_NEW_EACH(n, text, length, score);
    for (int64_t i = 0; i < n; i++) {
        const string *s = &t->s[i < n_merges ? merges[i] : chars[i - n_merges]];
        text[i] = t->pool + s->at;
        length[i] = s->n;
        score[i] = -(float)i;
    }
    GEODEC_TRY(geodec_vocab_create(n, text, length, score, out, err));
done:
    GEODEC_FREE(text, length, score);
    return st;
}

geodec_status geodec_vocab_train(const char *text, const geodec_span *part, int64_t parts, int32_t size,
                                 const geodec_hooks *hooks, geodec_tokenizer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    trainer t = {0};
    int32_t *chars = NULL;
    int32_t *merges = NULL;
    int64_t n_chars = 0, n_merges = 0, pieces = (int64_t)size - GEODEC_VOCAB_FIRST_PIECE;
    if (size <= GEODEC_VOCAB_FIRST_PIECE || size > GEODEC_VOCAB_MAX)
        GEODEC_THROW(GEODEC_RANGE, "vocabulary size %d is outside %d..%d", (int)size, GEODEC_VOCAB_FIRST_PIECE + 1,
                     GEODEC_VOCAB_MAX);
    for (int64_t i = 0; i < parts; i++)
        GEODEC_TRY(add_part(&t, text + part[i].begin, (size_t)(part[i].end - part[i].begin), err));
    if (t.n_w == 0) GEODEC_THROW(GEODEC_FORMAT, "the text is empty");
    GEODEC_TRY(cut_words(&t, pieces / 2 > 0 ? pieces / 2 : 1, &chars, &n_chars, err));
    GEODEC_NEW(merges, pieces);
    GEODEC_TRY(learn(&t, pieces - n_chars, merges, &n_merges, hooks, err));
    GEODEC_TRY(make(&t, merges, n_merges, chars, n_chars, out, err));
done:
    for (int64_t i = 0; i < t.n_w; i++) GEODEC_FREE(t.w[i].symbol, t.w[i].pair);
    GEODEC_FREE(t.w, t.s, t.slot, t.pool, chars, merges);
    return st;
}

geodec_status geodec_vocab_measure(const geodec_tokenizer *t, const char *text, const geodec_span *part, int64_t parts,
                                   int64_t *tokens, int64_t *bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t n_tokens = 0, n_bytes = 0;
    for (int64_t i = 0; i < parts; i++) {
        const int64_t length = part[i].end - part[i].begin;
        int64_t count = 0;
        GEODEC_NEW(ids, length + 2);
        GEODEC_TRY(geodec_tokenizer_encode(t, text + part[i].begin, (size_t)length, false, ids, &count, err));
        n_tokens += count;
        n_bytes += length;
        geodec_mem_free(ids);
        ids = NULL;
    }
    *tokens = n_tokens;
    *bytes = n_bytes;
done:
    geodec_mem_free(ids);
    return st;
}
