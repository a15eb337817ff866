#include "base/mem.h"
#include "export/export.h"
#include "io/file.h"

#include <string.h>

/* ---- text ------------------------------------------------------------------------------------------------------- */

static const char separator[] = "<|endoftext|>";

struct geodec_text_source {
    const char *text;
    size_t n, at;
    const geodec_tokenizer *t;
    int32_t *token;
    int64_t capacity;
};

static bool blank(char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

geodec_status geodec_text_source_create(const char *name, const char *text, size_t n, const geodec_tokenizer *t,
                                        geodec_text_source **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_text_source *s = NULL;
    const int64_t bad = geodec_utf8_check(text, n);
    size_t i = 0;
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "%s: not UTF-8 text: invalid byte at offset %lld", name, (long long)bad);
    const char *nul = n ? memchr(text, 0, n) : NULL;
    if (nul) GEODEC_THROW(GEODEC_FORMAT, "%s: not text: a NUL byte at offset %lld", name, (long long)(nul - text));
    while (i < n && blank(text[i])) i++;
    if (i == n) GEODEC_THROW(GEODEC_FORMAT, "%s: the text is empty", name);
    GEODEC_NEW(s, 1);
    s->text = text;
    s->n = n;
    s->t = t;
    *out = s;
done:
    return st;
}

void geodec_text_source_destroy(geodec_text_source *s)
{
    if (!s) return;
    geodec_mem_free(s->token);
    geodec_mem_free(s);
}

/* End of the document that begins at `at`, and where the next one begins: after a line that is the separator. */
static size_t document_end(const geodec_text_source *s, size_t at, size_t *next)
{
    const size_t length = sizeof separator - 1;
    for (size_t line = at; line < s->n;) {
        const char *newline = memchr(s->text + line, '\n', s->n - line);
        const size_t end = newline ? (size_t)(newline - s->text) : s->n;
        if (end - line == length && memcmp(s->text + line, separator, length) == 0) {
            *next = newline ? end + 1 : s->n;
            return line;
        }
        line = newline ? end + 1 : s->n;
    }
    *next = s->n;
    return s->n;
}

static geodec_status next_document(void *ctx, const int32_t **token, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_text_source *s = ctx;
    while (s->at < s->n) {
        size_t begin = s->at, next, end = document_end(s, begin, &next);
        s->at = next;
        while (begin < end && blank(s->text[begin])) begin++;
        while (end > begin && blank(s->text[end - 1])) end--;
        if (begin == end) continue;
        const int64_t room = (int64_t)(end - begin) + 2;
        if (room > s->capacity) {
            geodec_mem_free(s->token);
            s->token = NULL;
            s->capacity = 0;
            GEODEC_NEW(s->token, room);
            s->capacity = room;
        }
        GEODEC_TRY(geodec_tokenizer_encode(s->t, s->text + begin, end - begin, true, s->token, n, err));
        *token = s->token;
        goto done;
    }
    *n = -1;
done:
    return st;
}

geodec_export_source geodec_text_source_get(geodec_text_source *s) { return (geodec_export_source){s, next_document}; }

/* ---- token ids -------------------------------------------------------------------------------------------------- */

struct geodec_token_source {
    char *name;
    const char *text;
    size_t n, at;
    int64_t line;
    int32_t n_vocab;
    int32_t *token;
    int64_t capacity;
};

geodec_status geodec_token_source_create(const char *name, const char *text, size_t n, int32_t n_vocab,
                                         geodec_token_source **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_token_source *s = NULL;
    GEODEC_NEW(s, 1);
    s->name = geodec_mem_strdup(name);
    if (!s->name) GEODEC_THROW(GEODEC_NOMEM, "no memory for a file name");
    s->text = text;
    s->n = n;
    s->n_vocab = n_vocab;
    *out = s;
    s = NULL;
done:
    geodec_token_source_destroy(s);
    return st;
}

void geodec_token_source_destroy(geodec_token_source *s)
{
    if (!s) return;
    geodec_mem_free(s->name);
    geodec_mem_free(s->token);
    geodec_mem_free(s);
}

/* One decimal id at *at (< end); -1 when it is none. */
static int64_t parse_id(const char *text, size_t *at, size_t end)
{
    int64_t v = 0;
    size_t i = *at;
    for (; i < end && text[i] >= '0' && text[i] <= '9'; i++) {
        v = v * 10 + (text[i] - '0');
        if (v > INT32_MAX) return -1;
    }
    if (i == *at || (i < end && text[i] != ' ' && text[i] != '\r')) return -1;
    *at = i;
    return v;
}

static geodec_status next_line(void *ctx, const int32_t **token, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_token_source *s = ctx;
    while (s->at < s->n) {
        const char *newline = memchr(s->text + s->at, '\n', s->n - s->at);
        const size_t end = newline ? (size_t)(newline - s->text) : s->n;
        const int64_t room = (int64_t)(end - s->at) / 2 + 1;
        int64_t count = 0;
        s->line++;
        if (room > s->capacity) {
            geodec_mem_free(s->token);
            s->token = NULL;
            s->capacity = 0;
            GEODEC_NEW(s->token, room);
            s->capacity = room;
        }
        for (size_t at = s->at; at < end;) {
            if (s->text[at] == ' ' || s->text[at] == '\r') {
                at++;
                continue;
            }
            const int64_t id = parse_id(s->text, &at, end);
            if (id < 0)
                GEODEC_THROW(GEODEC_FORMAT, "%s: line %lld: not a list of token ids", s->name, (long long)s->line);
            if (id >= s->n_vocab)
                GEODEC_THROW(GEODEC_FORMAT, "%s: line %lld: token %lld is outside the vocabulary of %d", s->name,
                             (long long)s->line, (long long)id, s->n_vocab);
            s->token[count++] = (int32_t)id;
        }
        s->at = newline ? end + 1 : s->n;
        if (count == 0) continue;
        *token = s->token;
        *n = count;
        goto done;
    }
    *n = -1;
done:
    return st;
}

geodec_export_source geodec_token_source_get(geodec_token_source *s) { return (geodec_export_source){s, next_line}; }
