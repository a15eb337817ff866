/* JSON Lines as documents. */
#include "base/mem.h"
#include "documents/documents_internal.h"
#include "io/json.h"

#include <string.h>

typedef struct reader {
    const char *name;
    int64_t line;
    geodec_documents *d;
    int64_t room, item_room, message_room; /* room: bytes of d->own */
} reader;

bool geodec__jsonl_detect(const char *text, int64_t n)
{
    int64_t at = 0;
    while (at < n && geodec__cut_is_blank(text, at, at + 1)) at++;
    return at < n && text[at] == '{';
}

/* Decoded text is never longer than its line; this check guards that assumption. */
static geodec_status add_bytes(reader *r, const char *bytes, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (r->room - r->d->n_text < (int64_t)n)
        GEODEC_THROW(GEODEC_INTERNAL, "%s: decoded text is longer than its line", r->name);
    memcpy(r->d->own + r->d->n_text, bytes, n);
    r->d->n_text += (int64_t)n;
done:
    return st;
}

static geodec_status add_document(reader *r, const geodec_document *document, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_documents *d = r->d;
    if (d->n == r->item_room) {
        const int64_t room = 2 * r->item_room + 256;
        geodec_document *grown = geodec_mem_grow(d->item, d->n, room, sizeof *grown);
        if (!grown) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld documents", (long long)room);
        d->item = grown;
        r->item_room = room;
    }
    d->item[d->n++] = *document;
    d->bytes += document->end - document->begin;
done:
    return st;
}

static geodec_status add_message(reader *r, geodec_chat_role role, const char *content, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_documents *d = r->d;
    const size_t n = strlen(content);
    if (d->n_messages == r->message_room) {
        const int64_t room = 2 * r->message_room + 256;
        geodec_chat_message *grown = geodec_mem_grow(d->message, d->n_messages, room, sizeof *grown);
        if (!grown) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld messages", (long long)room);
        d->message = grown;
        r->message_room = room;
    }
    d->message[d->n_messages++] = (geodec_chat_message){role, d->own + d->n_text, n};
    GEODEC_TRY(add_bytes(r, content, n, err));
done:
    return st;
}

/* A text member (key NULL: the value itself); a missing member is an error like one that is not text. */
static geodec_status text_of(const reader *r, const geodec_json *v, const char *key, const char *what, int64_t number,
                             const char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (key && !geodec_json_member(v, key))
        GEODEC_THROW(GEODEC_FORMAT, "%s:%lld: %s %lld: '%s' is missing", r->name, (long long)r->line, what,
                     (long long)number, key);
    GEODEC_TRY_MSG(geodec_json_get_str(v, key, out, err), "%s:%lld: %s %lld", r->name, (long long)r->line, what,
                   (long long)number);
done:
    return st;
}

/* messages: [{"role", "content"}]; turns: the user's messages in order. */
static geodec_status add_conversation(reader *r, const geodec_json *list, bool turns, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_documents *d = r->d;
    geodec_document document = {.begin = d->n_text, .first_message = d->n_messages};
    const char *what = turns ? "turns" : "messages";
    const int64_t n = geodec_json_length(list);
    if (n < 0) GEODEC_THROW(GEODEC_FORMAT, "%s:%lld: '%s' is not a list", r->name, (long long)r->line, what);
    if (n > GEODEC_CHAT_MESSAGES)
        GEODEC_THROW(GEODEC_LIMIT, "%s:%lld: more than %d %s", r->name, (long long)r->line, GEODEC_CHAT_MESSAGES, what);
    for (int64_t i = 0; i < n; i++) {
        const geodec_json *one = geodec_json_at(list, i);
        geodec_chat_role role = GEODEC_CHAT_USER;
        const char *content = NULL, *name = NULL;
        if (!turns) {
            GEODEC_TRY(text_of(r, one, "role", "message", i + 1, &name, err));
            GEODEC_TRY_MSG(geodec_chat_role_of(name, &role, err), "%s:%lld: message %lld", r->name, (long long)r->line,
                           (long long)i + 1);
        }
        GEODEC_TRY(text_of(r, one, turns ? NULL : "content", turns ? "turn" : "message", i + 1, &content, err));
        if (i > 0) GEODEC_TRY(add_bytes(r, "\n\n", 2, err));
        GEODEC_TRY(add_message(r, role, content, err));
    }
    document.end = d->n_text;
    document.messages = n;
    if (geodec__cut_is_blank(d->own, document.begin, document.end)) { /* an empty message */
        d->n_messages = document.first_message;
        d->n_text = document.begin;
    } else {
        while (geodec__cut_is_blank(d->own, document.begin, document.begin + 1)) document.begin++;
        while (geodec__cut_is_blank(d->own, document.end - 1, document.end)) document.end--;
        GEODEC_TRY(add_document(r, &document, err));
    }
done:
    return st;
}

static geodec_status add_text(reader *r, const geodec_json *record, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__cut cut = {0};
    const char *text = NULL;
    const int64_t begin = r->d->n_text;
    GEODEC_TRY_MSG(geodec_json_get_str(record, "text", &text, err), "%s:%lld", r->name, (long long)r->line);
    GEODEC_TRY(add_bytes(r, text, strlen(text), err));
    GEODEC_TRY(geodec__cut_add(&cut, r->d->own, begin, r->d->n_text, err));
    if (cut.n)
        GEODEC_TRY(add_document(r, &cut.item[0], err));
    else
        r->d->n_text = begin;
done:
    geodec_mem_free(cut.item);
    return st;
}

static geodec_status add_record(reader *r, const char *line, int64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json *root = NULL;
    const geodec_json *list;
    if (n > GEODEC_JSONL_LINE)
        GEODEC_THROW(GEODEC_LIMIT, "%s:%lld: a line of %lld bytes; the limit is %d", r->name, (long long)r->line,
                     (long long)n, GEODEC_JSONL_LINE);
    if (line[0] != '{') GEODEC_THROW(GEODEC_FORMAT, "%s:%lld: not a JSON object", r->name, (long long)r->line);
    GEODEC_TRY(geodec_json_parse_line(line, (size_t)n, r->name, r->line, &root, err));
    const int64_t before = r->d->n_text;
    if (r->d->n > 0) GEODEC_TRY(add_bytes(r, "\n", 1, err)); /* documents do not touch */
    const int64_t begin = r->d->n_text, documents = r->d->n;
    if (geodec_json_member(root, "text"))
        GEODEC_TRY(add_text(r, root, err));
    else if ((list = geodec_json_member(root, "messages")) != NULL)
        GEODEC_TRY(add_conversation(r, list, false, err));
    else if ((list = geodec_json_member(root, "turns")) != NULL)
        GEODEC_TRY(add_conversation(r, list, true, err));
    else
        GEODEC_THROW(GEODEC_FORMAT, "%s:%lld: a record without \"text\", \"messages\" and \"turns\"", r->name,
                     (long long)r->line);
    if (r->d->n == documents && r->d->n_text == begin) r->d->n_text = before;
done:
    geodec_json_free(root);
    return st;
}

geodec_status geodec__documents_jsonl(const char *name, const char *text, int64_t n, geodec_documents *d,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    reader r = {.name = name, .d = d, .room = n + 1};
    GEODEC_NEW(d->own, r.room);
    for (int64_t at = 0, end, next; at < n; at = next) {
        next = geodec__cut_line(text, n, at, &end);
        r.line++;
        while (at < end && geodec__cut_is_blank(text, at, at + 1)) at++;
        if (at < end) GEODEC_TRY(add_record(&r, text + at, end - at, err));
    }
    d->text = d->own;
done:
    return st;
}
