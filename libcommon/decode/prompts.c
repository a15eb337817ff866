#include "decode/prompts.h"

#include "base/mem.h"
#include "io/file.h"

#include <string.h>

void geodec_prompts_free(geodec_prompts *p)
{
    if (!p) return;
    geodec_mem_free(p->token);
    geodec_mem_free(p->offset);
    *p = (geodec_prompts){0};
}

static geodec_status check_text(const char *text, size_t n, int64_t count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (count < 1) GEODEC_THROW(GEODEC_INVAL, "%lld prompts", (long long)count);
    const int64_t bad = geodec_utf8_check(text, n);
    if (bad >= 0) GEODEC_THROW(GEODEC_FORMAT, "the text is not UTF-8 at byte %lld", (long long)bad);
done:
    return st;
}

geodec_status geodec_prompts_cut(const geodec_tokenizer *t, const char *text, size_t n, int64_t count, int64_t length,
                                 geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_prompts p = {0};
    int32_t *ids = NULL;
    int64_t have = 0;
    const int32_t bos = geodec_tokenizer_start(t);
    const int64_t own = length - (bos >= 0); /* tokens of the text in a prompt */
    GEODEC_TRY(check_text(text, n, count, err));
    if (own < 1) GEODEC_THROW(GEODEC_INVAL, "prompts of %lld tokens", (long long)length);
    GEODEC_NEW(ids, (int64_t)n + 2);
    GEODEC_TRY(geodec_tokenizer_encode(t, text, n, false, ids, &have, err));
    if (have / count < own)
        GEODEC_THROW(GEODEC_FORMAT, "the text has %lld tokens, too few for %lld prompts of %lld", (long long)have,
                     (long long)count, (long long)length);
    GEODEC_NEW(p.token, count * length);
    GEODEC_NEW(p.offset, count + 1);
    p.n = count;
    for (int64_t i = 0; i < count; i++) {
        int32_t *to = p.token + i * length;
        p.offset[i + 1] = (i + 1) * length;
        if (bos >= 0) *to++ = bos;
        memcpy(to, ids + i * (have / count), (size_t)own * sizeof *ids);
    }
    *out = p;
    p = (geodec_prompts){0};
done:
    geodec_prompts_free(&p);
    geodec_mem_free(ids);
    return st;
}

geodec_status geodec_prompts_lines(const geodec_tokenizer *t, const char *text, size_t n, int64_t count,
                                   geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_prompts p = {0};
    int64_t used = 0;
    GEODEC_TRY(check_text(text, n, count, err));
    GEODEC_NEW(p.offset, count + 1);
    /* A line of k bytes gives at most k + 2 ids, and has a newline or is the last. */
    GEODEC_NEW(p.token, (int64_t)n + 2 * count + 2);
    for (size_t at = 0; at < n && p.n < count;) {
        const char *end = memchr(text + at, '\n', n - at);
        size_t length = (end ? (size_t)(end - text) : n) - at;
        const size_t next = at + length + 1;
        if (length > 0 && text[at + length - 1] == '\r') length--;
        if (length > 0) {
            int64_t k = 0;
            GEODEC_TRY(geodec_tokenizer_encode(t, text + at, length, true, p.token + used, &k, err));
            used += k;
            p.offset[++p.n] = used;
        }
        at = next;
    }
    if (p.n < count)
        GEODEC_THROW(GEODEC_FORMAT, "the text has %lld lines for %lld prompts", (long long)p.n, (long long)count);
    *out = p;
    p = (geodec_prompts){0};
done:
    geodec_prompts_free(&p);
    return st;
}

int64_t geodec_prompts_longest(const geodec_prompts *p)
{
    int64_t longest = 0;
    for (int64_t i = 0; i < p->n; i++)
        if (p->offset[i + 1] - p->offset[i] > longest) longest = p->offset[i + 1] - p->offset[i];
    return longest;
}

/* Text without the bytes that are no UTF-8; returns its length. */
static size_t keep_valid(char *text, size_t n)
{
    size_t kept = 0;
    for (size_t at = 0; at < n;) {
        const int64_t bad = geodec_utf8_check(text + at, n - at);
        const size_t good = bad < 0 ? n - at : (size_t)bad;
        memmove(text + kept, text + at, good);
        kept += good;
        at += good + 1;
    }
    return kept;
}

geodec_status geodec_prompts_chat(const geodec_tokenizer *t, const geodec_chat_template *chat,
                                  const geodec_prompts *plain, geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_prompts p = {.n = plain->n};
    char *text = NULL;
    int32_t *ids = NULL;
    int64_t room = 0;
    GEODEC_NEW(p.offset, plain->n + 1);
    for (int64_t i = 0; i < plain->n; i++) {
        size_t n = 0;
        int64_t count = 0;
        const int64_t first = plain->offset[i];
        GEODEC_TRY(geodec_tokenizer_decode(t, plain->token + first, plain->offset[i + 1] - first, &text, &n, err));
        const geodec_chat_message user = {GEODEC_CHAT_USER, text, keep_valid(text, n)};
        GEODEC_TRY(geodec_chat_encode(chat, t, &user, 1, true, &ids, &count, err));
        if (p.offset[i] + count > room) {
            const int64_t more = 2 * (p.offset[i] + count);
            int32_t *token = geodec_mem_grow(p.token, room, more, sizeof *token);
            if (!token) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld tokens of prompts", (long long)more);
            p.token = token;
            room = more;
        }
        memcpy(p.token + p.offset[i], ids, (size_t)count * sizeof *ids);
        p.offset[i + 1] = p.offset[i] + count;
        geodec_mem_free(text);
        geodec_mem_free(ids);
        text = NULL;
        ids = NULL;
    }
    *out = p;
    p = (geodec_prompts){0};
done:
    geodec_prompts_free(&p);
    geodec_mem_free(text);
    geodec_mem_free(ids);
    return st;
}
