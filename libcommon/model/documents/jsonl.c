/* JSON Lines as documents. */
#include "base/mem.h"
#include "documents/documents_internal.h"
#include "io/json.h"

#include <string.h>

typedef struct reader {
    geodec_documents *d;
    geodec__cut *cut;           /* documents so far */
    int64_t room, message_room; /* room: bytes of d->own */
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
    if (r->room - r->d->n_text < (int64_t)n) GEODEC_FAIL(GEODEC_INTERNAL, "decoded text is longer than its line");
    memcpy(r->d->own + r->d->n_text, bytes, n);
    r->d->n_text += (int64_t)n;
    return GEODEC_OK;
}

static geodec_status add_message(reader *r, geodec_chat_role role, const char *content, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_documents *d = r->d;
    const size_t n = strlen(content);
    GEODEC_GROW(d->message, d->n_messages, r->message_room, 1);
    d->message[d->n_messages++] = (geodec_chat_message){role, d->own + d->n_text, n};
    GEODEC_TRY(add_bytes(r, content, n, err));
done:
    return st;
}

/* The document that d->own has from `begin` on; first, messages: its
 * messages, 0 of plain text. A blank one is taken back. */
static geodec_status add_document(reader *r, int64_t begin, int64_t first, int64_t messages, geodec_err *err)
{
    geodec_documents *d = r->d;
    const int64_t before = r->cut->n;
    GEODEC_PASS(geodec__cut_add(r->cut, d->own, begin, d->n_text, err));
    if (r->cut->n == before) {
        d->n_messages = first;
        d->n_text = begin;
    } else if (messages > 0) {
        r->cut->item[before].first_message = first;
        r->cut->item[before].messages = messages;
    }
    return GEODEC_OK;
}

/* A text member (key NULL: the value itself); a missing member is an error like one that is not text. */
static geodec_status text_of(const geodec_json *v, const char *key, const char *what, int64_t number, const char **out,
                             geodec_err *err)
{
    if (key && !geodec_json_member(v, key))
        GEODEC_FAIL(GEODEC_FORMAT, "%s %lld: '%s' is missing", what, (long long)number, key);
    GEODEC_PASS_MSG(geodec_json_get_str(v, key, out, err), "%s %lld", what, (long long)number);
    return GEODEC_OK;
}

/* messages: [{"role", "content"}]; turns: the user's messages in order. */
static geodec_status add_conversation(reader *r, const geodec_json *list, bool turns, geodec_err *err)
{
    const int64_t begin = r->d->n_text, first = r->d->n_messages, n = geodec_json_length(list);
    const char *what = turns ? "turns" : "messages";
    if (n < 0) GEODEC_FAIL(GEODEC_FORMAT, "'%s' is not a list", what);
    if (n > GEODEC_CHAT_MESSAGES) GEODEC_FAIL(GEODEC_LIMIT, "more than %d %s", GEODEC_CHAT_MESSAGES, what);
    for (int64_t i = 0; i < n; i++) {
        const geodec_json *one = geodec_json_at(list, i);
        geodec_chat_role role = GEODEC_CHAT_USER;
        const char *content = NULL, *name = NULL;
        if (!turns) {
            GEODEC_PASS(text_of(one, "role", "message", i + 1, &name, err));
            GEODEC_PASS_MSG(geodec_chat_role_of(name, &role, err), "message %lld", (long long)i + 1);
        }
        GEODEC_PASS(text_of(one, turns ? NULL : "content", turns ? "turn" : "message", i + 1, &content, err));
        if (i > 0) GEODEC_PASS(add_bytes(r, "\n\n", 2, err));
        GEODEC_PASS(add_message(r, role, content, err));
    }
    GEODEC_PASS(add_document(r, begin, first, n, err));
    return GEODEC_OK;
}

static geodec_status add_record(reader *r, const geodec_json *record, geodec_err *err)
{
    geodec_documents *d = r->d;
    const geodec_json *list;
    const char *text;
    const int64_t before = d->n_text, documents = r->cut->n;
    if (documents > 0) GEODEC_PASS(add_bytes(r, "\n", 1, err)); /* documents do not touch */
    const int64_t begin = d->n_text;
    if (geodec_json_member(record, "text")) {
        GEODEC_PASS(geodec_json_get_str(record, "text", &text, err));
        GEODEC_PASS(add_bytes(r, text, strlen(text), err));
        GEODEC_PASS(add_document(r, begin, d->n_messages, 0, err));
    } else if ((list = geodec_json_member(record, "messages")) != NULL) {
        GEODEC_PASS(add_conversation(r, list, false, err));
    } else if ((list = geodec_json_member(record, "turns")) != NULL) {
        GEODEC_PASS(add_conversation(r, list, true, err));
    } else {
        GEODEC_FAIL(GEODEC_FORMAT, "a record without \"text\", \"messages\" and \"turns\"");
    }
    if (r->cut->n == documents) d->n_text = before;
    return GEODEC_OK;
}

static geodec_status read_line(reader *r, const char *name, int64_t number, const char *line, int64_t n,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json *root = NULL;
    if (n > GEODEC_JSONL_LINE)
        GEODEC_THROW(GEODEC_LIMIT, "%s:%lld: a line of %lld bytes; the limit is %d", name, (long long)number,
                     (long long)n, GEODEC_JSONL_LINE);
    if (line[0] != '{') GEODEC_THROW(GEODEC_FORMAT, "%s:%lld: not a JSON object", name, (long long)number);
    GEODEC_TRY(geodec_json_parse_line(line, (size_t)n, name, number, &root, err));
    GEODEC_TRY_MSG(add_record(r, root, err), "%s:%lld", name, (long long)number);
done:
    geodec_json_free(root);
    return st;
}

geodec_status geodec__documents_jsonl(const char *name, const char *text, int64_t n, geodec_documents *d,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__cut cut = {0};
    reader r = {.d = d, .cut = &cut, .room = n + 1};
    int64_t number = 0;
    GEODEC_NEW(d->own, r.room);
    for (int64_t at = 0, end, next; at < n; at = next) {
        next = geodec__cut_line(text, n, at, &end);
        number++;
        while (at < end && geodec__cut_is_blank(text, at, at + 1)) at++;
        if (at < end) GEODEC_TRY(read_line(&r, name, number, text + at, end - at, err));
    }
    d->text = d->own;
    d->item = cut.item;
    d->n = cut.n;
    d->bytes = cut.bytes;
    cut.item = NULL;
done:
    geodec_mem_free(cut.item);
    return st;
}
