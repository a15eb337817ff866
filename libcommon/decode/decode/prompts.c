#include "decode/prompts.h"

#include "base/mem.h"
#include "documents/plan.h"
#include "io/file.h"

#include <string.h>

void geodec_prompts_free(geodec_prompts *p)
{
    if (!p) return;
    GEODEC_FREE(p->token, p->offset);
    *p = (geodec_prompts){0};
}

/* ---- prompts of documents ---------------------------------------------------------------------------------------- */

/* Appends a prompt; *room: allocated length of token. */
static geodec_status append(geodec_prompts *p, int64_t *room, const int32_t *ids, int64_t count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t used = p->offset[p->n];
    GEODEC_GROW(p->token, used, *room, count);
    memcpy(p->token + used, ids, (size_t)count * sizeof *ids);
    p->offset[++p->n] = used + count;
done:
    return st;
}

/* Number of messages of a conversation up to the user's last one; 1 for turns, whose replies are not known. */
static int64_t opening(const geodec_chat_message *message, int64_t n)
{
    int64_t last = 0;
    for (int64_t i = 0; i < n; i++) {
        if (message[i].role != GEODEC_CHAT_USER) continue;
        last = i + 1;
        if (i + 1 < n && message[i + 1].role == GEODEC_CHAT_USER) break;
    }
    return last;
}

/* Appends one record as a prompt, unless it is in chat format and too long. */
static geodec_status add_record(const geodec_tokenizer *t, const geodec_documents *d, const geodec_document *item,
                                const geodec_prompts_options *o, geodec_prompts *p, int64_t *room, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t count = 0;
    const geodec_chat_message *message = d->message ? d->message + item->first_message : NULL;
    const int64_t taken = message ? opening(message, item->messages) : 0;
    if (taken > 0 && o->chat) {
        GEODEC_TRY(geodec_chat_encode(o->chat, t, message, taken, true, &ids, &count, err));
        p->in_chat = true;
        if (o->most > 0 && count > o->most) {
            p->too_long++;
            goto done;
        }
    } else {
        const char *text = taken ? message[0].content : d->text + item->begin;
        const int64_t n = taken ? message[taken - 1].content + message[taken - 1].n - text : item->end - item->begin;
        GEODEC_NEW(ids, n + 2);
        GEODEC_TRY(geodec_tokenizer_encode(t, text, (size_t)n, true, ids, &count, err));
        const int64_t most = item->messages || o->whole ? o->most : o->length;
        if (most > 0 && count > most) count = most;
    }
    if (count == 0) goto done;
    GEODEC_TRY(append(p, room, ids, count, err));
done:
    geodec_mem_free(ids);
    return st;
}

static geodec_status of_records(const geodec_tokenizer *t, const geodec_documents *d, const geodec_prompts_options *o,
                                geodec_prompts *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t room = 0;
    const int64_t count = o->count < d->n ? o->count : d->n;
    GEODEC_NEW(p->offset, count + 1);
    for (int64_t i = 0; i < count; i++) {
        const int64_t k = o->whole ? i : (int64_t)((double)i * (double)d->n / (double)count);
        GEODEC_TRY(add_record(t, d, &d->item[k], o, p, &room, err));
    }
done:
    return st;
}

/* Evenly spaced pieces in the tokens of all documents, moved back where needed to lie within their document. */
static geodec_status of_documents(const geodec_tokenizer *t, const geodec_documents *d, const geodec_prompts_options *o,
                                  geodec_prompts *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *ids = NULL;
    int64_t *first = NULL, have = 0, count = o->count;
    const int32_t bos = geodec_tokenizer_start(t);
    int64_t own = o->length - (bos >= 0); /* tokens of a prompt taken from the text */
    if (own < 1) GEODEC_THROW(GEODEC_INVAL, "a prompt length of %lld tokens is too small", (long long)o->length);
    GEODEC_NEW(ids, d->bytes + 2 * d->n);
    GEODEC_NEW(first, d->n + 1);
    for (int64_t i = 0; i < d->n; i++) {
        int64_t n = 0;
        GEODEC_TRY(geodec_tokenizer_encode(t, d->text + d->item[i].begin, (size_t)(d->item[i].end - d->item[i].begin),
                                           false, ids + have, &n, err));
        have += n;
        first[i + 1] = have;
    }
    geodec_plan_prompts(have, &count, &own);
    GEODEC_NEW(p->token, count * (own + 1));
    GEODEC_NEW(p->offset, count + 1);
    for (int64_t i = 0, k = 0; i < count; i++) {
        int64_t at = i * (have / count), n = own;
        while (first[k + 1] <= at) k++;
        if (at + n > first[k + 1]) at = first[k + 1] - n;
        if (at < first[k]) {
            at = first[k];
            n = first[k + 1] - at;
        }
        int64_t to = p->offset[i];
        if (bos >= 0) p->token[to++] = bos;
        memcpy(p->token + to, ids + at, (size_t)n * sizeof *ids);
        p->offset[i + 1] = to + n;
        p->n++;
    }
done:
    GEODEC_FREE(ids, first);
    return st;
}

geodec_status geodec_prompts_make(const geodec_tokenizer *t, const geodec_documents *d, const geodec_prompts_options *o,
                                  geodec_prompts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_prompts p = {0};
    if (o->count < 1) GEODEC_THROW(GEODEC_INVAL, "%lld prompts", (long long)o->count);
    if (o->whole || d->rule == GEODEC_SEPARATOR_JSONL)
        GEODEC_TRY(of_records(t, d, o, &p, err));
    else
        GEODEC_TRY(of_documents(t, d, o, &p, err));
    if (p.n == 0 && p.too_long > 0)
        GEODEC_THROW(GEODEC_SCARCE, "no prompt: all %lld conversations are longer than %lld tokens",
                     (long long)p.too_long, (long long)o->most);
    if (p.n == 0) GEODEC_THROW(GEODEC_SCARCE, "no prompt: the text has no tokens");
    p.rule = d->rule;
    p.documents = d->n;
    GEODEC_MOVE(*out, p);
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

/* Copies text without bytes that are not UTF-8; returns its length. */
static size_t keep_valid(char *text, size_t n)
{
    size_t kept = 0;
    for (size_t at = 0; at < n;) {
        const int64_t bad = geodec_file_utf8_check(text + at, n - at);
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
    geodec_prompts p = {.in_chat = true, .rule = plain->rule, .documents = plain->documents};
    char *text = NULL;
    int32_t *ids = NULL;
    int64_t room = 0;
    GEODEC_NEW(p.offset, plain->n + 1);
    for (int64_t i = 0; i < plain->n; i++) {
        size_t n = 0;
        int64_t count = plain->offset[i + 1] - plain->offset[i];
        const int32_t *prompt = plain->token + plain->offset[i];
        if (!plain->in_chat) {
            GEODEC_TRY(geodec_tokenizer_decode(t, prompt, count, &text, &n, err));
            const geodec_chat_message user = {GEODEC_CHAT_USER, text, keep_valid(text, n)};
            GEODEC_TRY(geodec_chat_encode(chat, t, &user, 1, true, &ids, &count, err));
            prompt = ids;
        }
        GEODEC_TRY(append(&p, &room, prompt, count, err));
        GEODEC_FREE(text, ids);
        text = NULL;
        ids = NULL;
    }
    GEODEC_MOVE(*out, p);
done:
    geodec_prompts_free(&p);
    GEODEC_FREE(text, ids);
    return st;
}
