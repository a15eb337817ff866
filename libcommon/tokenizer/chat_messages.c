#include "base/mem.h"
#include "io/json.h"
#include "tokenizer/chat.h"

#include <string.h>

static geodec_status read_message(const geodec_json *v, geodec_chat_message *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *role;
    GEODEC_TRY(geodec_json_get_str(v, "role", &role, err));
    GEODEC_TRY(geodec_chat_role_of(role, &m->role, err));
    GEODEC_TRY(geodec_json_get_str(v, "content", &m->content, err));
    m->n = strlen(m->content);
done:
    return st;
}

geodec_status geodec_chat_conversation_parse(const char *json, size_t n, const char *name, geodec_conversation *out,
                                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_conversation c = {0};
    geodec_json *root = NULL;
    GEODEC_TRY(geodec_json_parse(json, n, name, &root, err));
    const geodec_json *inner = geodec_json_member(root, "messages"), *list = inner ? inner : root;
    c.root = root;
    c.n = geodec_json_length(list);
    if (c.n < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: no array of messages", name);
    if (c.n > GEODEC_CHAT_MESSAGES)
        GEODEC_THROW(GEODEC_LIMIT, "%s: %lld messages; the limit is %d", name, (long long)c.n, GEODEC_CHAT_MESSAGES);
    GEODEC_NEW(c.message, c.n);
    for (int64_t i = 0; i < c.n; i++)
        GEODEC_TRY_MSG(read_message(geodec_json_at(list, i), &c.message[i], err), "%s: message %lld", name,
                       (long long)i);
    *out = c;
    c = (geodec_conversation){0};
done:
    geodec_chat_conversation_free(&c);
    return st;
}

void geodec_chat_conversation_free(geodec_conversation *c)
{
    geodec_mem_free(c->message);
    geodec_json_free(c->root);
    *c = (geodec_conversation){0};
}
