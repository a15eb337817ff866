#include "base/mem.h"
#include "tokenizer/tokenizer_internal.h"

#include <math.h>
#include <string.h>

/* The tokens of a text are those whose scores have the largest sum. Scores count in units of 1e-4; a piece at or below
 * LEAST is never used, and a character of no piece costs UNKNOWN and is written in bytes. */
enum { UNKNOWN = 10000000, LEAST = -20000000 };
static const int64_t UNREACHED = (int64_t)1 << 60;
static const char byte_order_mark[] = "\xef\xbb\xbf";

struct geodec__unigram {
    geodec__order pieces;
    int64_t *cost; /* [pieces.n] */
};

static int64_t units(float score)
{
    const double x = round((double)score * 1e4);
    return x > INT32_MAX ? INT32_MAX : x < INT32_MIN ? INT32_MIN : (int64_t)x;
}

/* Whether text gives this token: of equal pieces the last does. */
static bool usable(const geodec_tokenizer *t, int32_t id)
{
    return geodec__tokenizer_find(t, t->bytes + t->at[id], (size_t)t->length[id]) == id && units(t->score[id]) > LEAST;
}

geodec_status geodec__unigram_create(const geodec_tokenizer *t, geodec__unigram **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__unigram *u = NULL;
    int32_t *id = NULL, n = 0;
    for (int byte = 0; byte < 256; byte++)
        if (t->byte_id[byte] < 0)
            GEODEC_THROW(GEODEC_FORMAT, "tokenizer.ggml.tokens: the byte token <0x%02X> is missing", (unsigned)byte);
    GEODEC_NEW(u, 1);
    GEODEC_NEW(id, t->n);
    for (int32_t i = 0; i < t->n; i++)
        if (usable(t, i)) id[n++] = i;
    GEODEC_TRY(geodec__order_create(t, id, n, &u->pieces, err));
    GEODEC_NEW(u->cost, n);
    for (int32_t i = 0; i < n; i++) u->cost[i] = -units(t->score[u->pieces.id[i]]);
    *out = u;
    u = NULL;
done:
    geodec__unigram_destroy(u);
    geodec_mem_free(id);
    return st;
}

void geodec__unigram_destroy(geodec__unigram *u)
{
    if (!u) return;
    geodec__order_free(&u->pieces);
    GEODEC_FREE(u->cost, u);
}

/* The best first token of the text from one character on. */
typedef struct step {
    int64_t cost;  /* of the rest; UNREACHED inside a character */
    int32_t id, n; /* id -1: the n bytes of the character */
} step;

static void choose(const geodec_tokenizer *t, const unsigned char *text, size_t at, size_t end, int32_t size, step *s)
{
    const geodec__unigram *u = t->unigram;
    geodec__prefix prefix = {0};
    s[at] = (step){s[at + (size_t)size].cost + UNKNOWN, -1, size};
    /* of equal sums the longest piece, and any piece before bytes */
    for (int32_t k; (k = geodec__order_next(t, &u->pieces, text + at, end - at, &prefix)) >= 0;) {
        const int32_t id = u->pieces.id[k];
        const int64_t rest = s[at + (size_t)t->length[id]].cost;
        if (rest < UNREACHED && rest + u->cost[k] <= s[at].cost) s[at] = (step){rest + u->cost[k], id, t->length[id]};
    }
}

geodec_status geodec__unigram_encode(const geodec_tokenizer *t, const char *text, size_t n, int32_t *ids,
                                     int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const unsigned char *p = (const unsigned char *)text;
    const size_t first = n >= 3 && memcmp(text, byte_order_mark, 3) == 0 ? 3 : 0; /* no text, as llama.cpp has it */
    step *s = NULL;
    GEODEC_NEW(s, n + 1);
    for (size_t i = first; i < n;) {
        const int size = geodec__encode_utf8(p + i, n - i);
        s[i].n = size ? size : 1;
        for (int32_t k = 1; k < s[i].n; k++) s[i + (size_t)k].cost = UNREACHED;
        i += (size_t)s[i].n;
    }
    for (size_t i = n; i-- > first;)
        if (s[i].n > 0) choose(t, p, i, n, s[i].n, s);
    for (size_t i = first; i < n; i += (size_t)s[i].n) {
        if (s[i].id >= 0) ids[(*count)++] = s[i].id;
        for (int32_t k = 0; s[i].id < 0 && k < s[i].n; k++) ids[(*count)++] = t->byte_id[p[i + (size_t)k]];
    }
done:
    geodec_mem_free(s);
    return st;
}
