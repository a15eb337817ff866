#include "tokenizer/vocab_train.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Strings are interned: a symbol of a word and the concatenation of two neighbours are both ids into one table. */
enum { PIECE_BYTES_MAX = 48, NONE = -1 };
static const char mark[] = "\xe2\x96\x81";

typedef struct string {
    uint32_t at, n; /* bytes in the pool */
    int64_t count;  /* as concatenation of neighbours, weighted by word counts; characters: as such */
    int32_t rank;   /* as a piece, or NONE */
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
    int32_t *word_of; /* by string id: index into w, or NONE; [room_s] */
} trainer;

static uint64_t hash(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return h ^ (h >> 29);
}

#define GROW(p, n, room, more)                                                                                         \
    do {                                                                                                               \
        if ((n) + (more) > (room)) {                                                                                   \
            int64_t new_room_ = 2 * (room) + (more) + 64;                                                              \
            void *new_p_ = geodec_mem_grow((p), (room), new_room_, sizeof *(p));                                       \
            if (!new_p_) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld items", (long long)new_room_);                 \
            (p) = new_p_;                                                                                              \
            (room) = new_room_;                                                                                        \
        }                                                                                                              \
    } while (0)

static int64_t slot_of(const trainer *t, const char *p, size_t n)
{
    int64_t k = (int64_t)(hash(p, n) & (uint64_t)(t->room_slot - 1));
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
        int64_t room_word = t->room_s;
        if (t->n_s >= INT32_MAX - 1 || t->n_pool + (int64_t)n > UINT32_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "too many distinct strings");
        GROW(t->pool, t->n_pool, t->room_pool, (int64_t)n);
        GROW(t->s, t->n_s, t->room_s, 1);
        if (room_word != t->room_s) {
            int32_t *grown = geodec_mem_grow(t->word_of, room_word, t->room_s, sizeof *grown);
            if (!grown) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld items", (long long)t->room_s);
            t->word_of = grown;
        }
        memcpy(t->pool + t->n_pool, p, n);
        t->s[t->n_s] = (string){.at = (uint32_t)t->n_pool, .n = (uint32_t)n, .rank = NONE};
        t->word_of[t->n_s] = NONE;
        t->n_pool += (int64_t)n;
        t->n_s++;
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
    unsigned char c = (unsigned char)p[0];
    if (c < 0x20 || c == 0x7f) return 0;
    if (c < 0x80) return 1;
    size_t m = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
    uint32_t u = c & (0xffu >> (m + 1)), least = m == 2 ? 0x80u : m == 3 ? 0x800u : 0x10000u;
    if (c < 0xc2 || c > 0xf4 || m > n) return 0;
    for (size_t i = 1; i < m; i++) {
        unsigned char d = (unsigned char)p[i];
        if ((d & 0xc0u) != 0x80u) return 0;
        u = (u << 6) | (d & 0x3fu);
    }
    return u < least || u > 0x10ffff || (u >= 0xd800 && u < 0xe000) ? 0 : m;
}

static geodec_status add_word(trainer *t, const char *p, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t id = NONE;
    if (n == 0) return GEODEC_OK;
    GEODEC_TRY(intern(t, p, n, &id, err));
    if (t->word_of[id] == NONE) {
        GROW(t->w, t->n_w, t->room_w, 1);
        t->w[t->n_w] = (word){.text = id};
        t->word_of[id] = (int32_t)t->n_w++;
    }
    t->w[t->word_of[id]].count++;
done:
    return st;
}

/* Words of one part: a mark in front, blanks as marks, split before each mark. */
static geodec_status add_part(trainer *t, const char *p, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *buffer = NULL;
    size_t m = 3;
    GEODEC_NEW(buffer, 3 * n + 3);
    memcpy(buffer, mark, 3);
    for (size_t i = 0; i < n;) {
        if (p[i] == ' ') {
            GEODEC_TRY(add_word(t, buffer, m, err));
            memcpy(buffer, mark, 3);
            m = 3;
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

typedef struct ranked {
    const trainer *t;
    int32_t id;
} ranked;

static int by_bytes(const trainer *t, int32_t a, int32_t b)
{
    const string *x = &t->s[a], *y = &t->s[b];
    int d = memcmp(t->pool + x->at, t->pool + y->at, x->n < y->n ? x->n : y->n);
    return d ? d : (x->n > y->n) - (x->n < y->n);
}

static int by_count(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    int64_t c = x->t->s[x->id].count, d = x->t->s[y->id].count;
    return c != d ? (c < d ? 1 : -1) : by_bytes(x->t, x->id, y->id);
}

/* Splits every word into characters, counts them, and keeps the `limit` most frequent as pieces: chars[0..*n_chars). */
static geodec_status cut_words(trainer *t, int64_t limit, ranked **chars, int64_t *n_chars, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    ranked *list = NULL;
    int64_t n = 0, room = 0;
    for (int64_t i = 0; i < t->n_w; i++) {
        word *w = &t->w[i];
        uint32_t length = t->s[w->text].n;
        GEODEC_NEW(w->symbol, length);
        GEODEC_NEW(w->pair, length);
        for (uint32_t at = 0; at < length;) {
            char c[4];
            int32_t id = NONE;
            const char *p = t->pool + t->s[w->text].at + at;
            size_t m = character(p, length - at);
            memcpy(c, p, m); /* the pool may move */
            GEODEC_TRY(intern(t, c, m, &id, err));
            if (t->s[id].count == 0) {
                GROW(list, n, room, 1);
                list[n++] = (ranked){t, id};
            }
            t->s[id].count += w->count;
            w->symbol[w->n++] = id;
            at += (uint32_t)m;
        }
    }
    qsort(list, (size_t)n, sizeof *list, by_count);
    for (int64_t i = 0; i < n; i++) {
        t->s[list[i].id].rank = i < limit ? INT32_MAX : NONE; /* a single character is not a merge */
        t->s[list[i].id].count = 0;
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
    geodec_status st = GEODEC_OK;
    for (int32_t k = 0; k + 1 < w->n; k++) {
        w->pair[k] = NONE;
        /* a character without a piece becomes bytes, and nothing merges with it */
        if (t->s[w->symbol[k]].rank == NONE || t->s[w->symbol[k + 1]].rank == NONE) continue;
        GEODEC_TRY(join(t, w->symbol[k], w->symbol[k + 1], &w->pair[k], err));
    }
done:
    return st;
}

static void count_pairs(trainer *t, const word *w, int64_t sign)
{
    for (int32_t k = 0; k + 1 < w->n; k++)
        if (w->pair[k] != NONE) t->s[w->pair[k]].count += sign * w->count;
}

/* The tokenizer's rule: merges the neighbours that form the piece of best rank, leftmost first, until none do. */
static geodec_status merge_word(trainer *t, word *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
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
        GEODEC_TRY(set_pairs(t, w, err));
    }
done:
    return st;
}

/* Learns up to limit merges: merges[0..*n_merges) are string ids in order. */
static geodec_status learn(trainer *t, int64_t limit, int32_t *merges, int64_t *n_merges, const geodec_hooks *hooks,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t n = 0;
    for (int64_t i = 0; i < t->n_w; i++) {
        GEODEC_TRY(set_pairs(t, &t->w[i], err));
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
            GEODEC_TRY(merge_word(t, w, err));
            count_pairs(t, w, 1);
        }
        GEODEC_TRY(geodec_hooks_progress(hooks, "merges", n + 1, limit, err));
    }
    *n_merges = n;
done:
    return st;
}

/* ---- result ----------------------------------------------------------------------------------------------------- */

static geodec_status make(const trainer *t, const int32_t *merges, int64_t n_merges, const ranked *chars,
                          int64_t n_chars, geodec_tokenizer **out, geodec_err *err)
{
    static const char *const special[3] = {"<unk>", "<s>", "</s>"};
    geodec_status st = GEODEC_OK;
    int64_t n = GEODEC_VOCAB_FIRST_PIECE + n_merges + n_chars;
    char(*byte)[8] = NULL;
    const char **text = NULL;
    size_t *length = NULL;
    float *score = NULL;
    int32_t *type = NULL;
    GEODEC_NEW(byte, 256);
    GEODEC_NEW(text, n);
    GEODEC_NEW(length, n);
    GEODEC_NEW(score, n);
    GEODEC_NEW(type, n);
    for (int64_t i = 0; i < n; i++) {
        if (i < 3) {
            text[i] = special[i];
            length[i] = strlen(special[i]);
            type[i] = i == 0 ? GEODEC_TOKEN_UNKNOWN : GEODEC_TOKEN_CONTROL;
        } else if (i < GEODEC_VOCAB_FIRST_PIECE) {
            length[i] = (size_t)snprintf(byte[i - 3], sizeof byte[0], "<0x%02X>", (unsigned)(i - 3));
            text[i] = byte[i - 3];
            type[i] = GEODEC_TOKEN_BYTE;
        } else {
            int64_t k = i - GEODEC_VOCAB_FIRST_PIECE;
            const string *s = &t->s[k < n_merges ? merges[k] : chars[k - n_merges].id];
            text[i] = t->pool + s->at;
            length[i] = s->n;
            score[i] = -(float)k;
            type[i] = GEODEC_TOKEN_NORMAL;
        }
    }
    GEODEC_TRY(geodec_tokenizer_create((int32_t)n, text, length, score, type, 1, 2, 0, out, err));
done:
    geodec_mem_free(byte);
    geodec_mem_free(text);
    geodec_mem_free(length);
    geodec_mem_free(score);
    geodec_mem_free(type);
    return st;
}

geodec_status geodec_vocab_train(const char *text, const geodec_span *part, int64_t parts, int32_t size,
                                 const geodec_hooks *hooks, geodec_tokenizer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    trainer t = {0};
    ranked *chars = NULL;
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
    for (int64_t i = 0; i < t.n_w; i++) {
        geodec_mem_free(t.w[i].symbol);
        geodec_mem_free(t.w[i].pair);
    }
    geodec_mem_free(t.w);
    geodec_mem_free(t.s);
    geodec_mem_free(t.slot);
    geodec_mem_free(t.word_of);
    geodec_mem_free(t.pool);
    geodec_mem_free(chars);
    geodec_mem_free(merges);
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
