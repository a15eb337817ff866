#include "decode/stoptext.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

struct geodec_stoptext {
    int n;
    char **needle;  /* [n] */
    size_t *length; /* [n] */
    size_t longest;
    char *held;  /* [longest] bytes at the end of the stream that may begin a match */
    size_t size; /* of held */
    bool done;
};

geodec_status geodec_stoptext_create(const char *const *needle, int n, geodec_stoptext **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_stoptext *s = NULL;
    GEODEC_NEW(s, 1);
    GEODEC_NEW_EACH(n, s->needle, s->length);
    for (s->n = 0; s->n < n; s->n++) {
        if (needle[s->n][0] == '\0') GEODEC_THROW(GEODEC_INVAL, "the stop text is empty");
        s->needle[s->n] = geodec_mem_strdup(needle[s->n]);
        if (!s->needle[s->n]) GEODEC_THROW(GEODEC_NOMEM, "no memory for the stop text");
        s->length[s->n] = strlen(needle[s->n]);
        if (s->length[s->n] > s->longest) s->longest = s->length[s->n];
    }
    GEODEC_NEW(s->held, (int64_t)s->longest + 1);
    GEODEC_MOVE(*out, s);
done:
    geodec_stoptext_destroy(s);
    return st;
}

void geodec_stoptext_destroy(geodec_stoptext *s)
{
    if (!s) return;
    for (int i = 0; s->needle && i < s->n; i++) geodec_mem_free(s->needle[i]);
    GEODEC_FREE(s->needle, s->length, s->held, s);
}

size_t geodec_stoptext_room(const geodec_stoptext *s) { return s->longest; }

/* Length of the longest needle that the held bytes end with, 0: none. */
static size_t complete(const geodec_stoptext *s)
{
    size_t longest = 0;
    for (int i = 0; i < s->n; i++) {
        const size_t m = s->length[i];
        if (m > longest && m <= s->size && memcmp(s->held + s->size - m, s->needle[i], m) == 0) longest = m;
    }
    return longest;
}

/* How many of the held bytes, from the end, begin a needle. */
static size_t begun(const geodec_stoptext *s)
{
    for (size_t k = s->size; k > 0; k--)
        for (int i = 0; i < s->n; i++)
            if (k < s->length[i] && memcmp(s->held + s->size - k, s->needle[i], k) == 0) return k;
    return 0;
}

bool geodec_stoptext_feed(geodec_stoptext *s, const char *bytes, size_t n, char *out, size_t *n_out)
{
    size_t k = 0;
    for (size_t i = 0; i < n && !s->done; i++) {
        s->held[s->size++] = bytes[i];
        const size_t match = complete(s);
        s->done = match > 0;
        const size_t keep = s->done ? match : begun(s), pass = s->size - keep;
        memcpy(out + k, s->held, pass);
        k += pass;
        s->size = s->done ? 0 : keep;
        if (s->size > 0) memmove(s->held, s->held + pass, s->size);
    }
    *n_out = k;
    return s->done;
}

size_t geodec_stoptext_flush(geodec_stoptext *s, char *out)
{
    if (s->done) return 0;
    memcpy(out, s->held, s->size);
    const size_t n = s->size;
    s->size = 0;
    return n;
}
