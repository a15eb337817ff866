#include "decode/stoptext.h"

#include "base/mem.h"

#include <stdint.h>
#include <string.h>

struct geodec_stoptext {
    char *needle;
    size_t length;
    size_t matched; /* bytes of the needle at the end of the stream so far: these are held back */
    size_t *border; /* [length+1] Knuth-Morris-Pratt: longest proper border of each prefix */
    bool done;
};

geodec_status geodec_stoptext_create(const char *needle, geodec_stoptext **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_stoptext *s = NULL;
    if (needle[0] == '\0') GEODEC_THROW(GEODEC_INVAL, "the stop text is empty");
    GEODEC_NEW(s, 1);
    s->length = strlen(needle);
    s->needle = geodec_mem_strdup(needle);
    if (!s->needle) GEODEC_THROW(GEODEC_NOMEM, "no memory for the stop text");
    GEODEC_NEW(s->border, (int64_t)s->length + 1);
    for (size_t i = 1, k = 0; i < s->length; i++) {
        while (k > 0 && needle[i] != needle[k]) k = s->border[k];
        if (needle[i] == needle[k]) k++;
        s->border[i + 1] = k;
    }
    GEODEC_MOVE(*out, s);
done:
    geodec_stoptext_destroy(s);
    return st;
}

void geodec_stoptext_destroy(geodec_stoptext *s)
{
    if (!s) return;
    GEODEC_FREE(s->needle, s->border, s);
}

bool geodec_stoptext_feed(geodec_stoptext *s, const char *bytes, size_t n, char *out, size_t *n_out)
{
    size_t k = 0;
    for (size_t i = 0; i < n && !s->done; i++) {
        while (s->matched > 0 && bytes[i] != s->needle[s->matched]) {
            /* The first of the held-back bytes can no longer start a match. */
            const size_t keep = s->border[s->matched];
            memcpy(out + k, s->needle, s->matched - keep);
            k += s->matched - keep;
            s->matched = keep;
        }
        if (bytes[i] == s->needle[s->matched]) {
            s->done = ++s->matched == s->length;
        } else {
            out[k++] = bytes[i];
        }
    }
    *n_out = k;
    return s->done;
}

size_t geodec_stoptext_flush(geodec_stoptext *s, char *out)
{
    if (s->done) return 0;
    memcpy(out, s->needle, s->matched);
    const size_t n = s->matched;
    s->matched = 0;
    return n;
}
