#include "base/mem.h"
#include "export/export.h"

#include <string.h>

typedef struct reader {
    /* a text */
    const geodec_documents *documents;
    const geodec_tokenizer *t;
    int64_t next;
    /* token ids */
    char *name;
    const char *text;
    size_t n, at;
    int64_t line;
    int32_t n_vocab;
    int32_t *token; /* the current sequence */
    int64_t capacity;
} reader;

/* Makes room for `room` tokens; the old ones are not kept. */
static geodec_status reserve(reader *s, int64_t room, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (room <= s->capacity) goto done;
    geodec_mem_free(s->token);
    s->capacity = 0;
    GEODEC_NEW(s->token, room);
    s->capacity = room;
done:
    return st;
}

static geodec_status next_document(void *ctx, const int32_t **token, int64_t *n, geodec_err *err)
{
    reader *s = ctx;
    *n = -1;
    if (s->next == s->documents->n) return GEODEC_OK;
    const geodec_document *d = &s->documents->item[s->next++];
    GEODEC_PASS(reserve(s, d->end - d->begin + 2, err));
    GEODEC_PASS(geodec_tokenizer_encode(s->t, s->documents->text + d->begin, (size_t)(d->end - d->begin), true,
                                        s->token, n, err));
    *token = s->token;
    return GEODEC_OK;
}

geodec_status geodec_export_source_text(const geodec_documents *d, const geodec_tokenizer *t, geodec_export_source *out,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    reader *s = NULL;
    GEODEC_NEW(s, 1);
    s->documents = d;
    s->t = t;
    *out = (geodec_export_source){s, next_document};
done:
    return st;
}

/* One decimal id at *at (< end); -1 otherwise. */
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
    reader *s = ctx;
    while (s->at < s->n) {
        const char *newline = memchr(s->text + s->at, '\n', s->n - s->at);
        const size_t end = newline ? (size_t)(newline - s->text) : s->n;
        int64_t count = 0;
        s->line++;
        GEODEC_PASS(reserve(s, (int64_t)(end - s->at) / 2 + 1, err));
        for (size_t at = s->at; at < end;) {
            if (s->text[at] == ' ' || s->text[at] == '\r') {
                at++;
                continue;
            }
            const int64_t id = parse_id(s->text, &at, end);
            if (id < 0)
                GEODEC_FAIL(GEODEC_FORMAT, "%s: line %lld: not a list of token ids", s->name, (long long)s->line);
            if (id >= s->n_vocab)
                GEODEC_FAIL(GEODEC_FORMAT, "%s: line %lld: token %lld is outside the vocabulary of %d", s->name,
                            (long long)s->line, (long long)id, s->n_vocab);
            s->token[count++] = (int32_t)id;
        }
        s->at = newline ? end + 1 : s->n;
        if (count == 0) continue;
        *token = s->token;
        *n = count;
        return GEODEC_OK;
    }
    *n = -1;
    return GEODEC_OK;
}

geodec_status geodec_export_source_tokens(const char *name, const char *text, size_t n, int32_t n_vocab,
                                          geodec_export_source *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    reader *s = NULL;
    GEODEC_NEW(s, 1);
    *s = (reader){.text = text, .n = n, .n_vocab = n_vocab};
    GEODEC_TRY(geodec_mem_print(&s->name, err, "%s", name));
    *out = (geodec_export_source){s, next_line};
done:
    if (st != GEODEC_OK) geodec_mem_free(s);
    return st;
}

void geodec_export_source_close(geodec_export_source *source)
{
    reader *s = source->ctx;
    if (s) {
        GEODEC_FREE(s->name, s->token);
    }
    geodec_mem_free(s);
    *source = (geodec_export_source){0};
}
