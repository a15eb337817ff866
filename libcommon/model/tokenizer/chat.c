#include "base/mem.h"
#include "base/names_internal.h"
#include "io/json.h"
#include "tokenizer/chat_internal.h"
#include "tokenizer/tokenizer_internal.h"

#include <string.h>

static const char *const role_names[] = {"system", "user", "assistant", "developer", "tool"};
enum { ROLES = sizeof role_names / sizeof *role_names };

geodec_status geodec_chat_role_of(const char *name, geodec_chat_role *out, geodec_err *err)
{
    const int i = geodec__names_find(role_names, ROLES, name);
    if (i == ROLES) GEODEC_FAIL(GEODEC_FORMAT, "role '%.40s' is not system, user, assistant, developer or tool", name);
    *out = (geodec_chat_role)i;
    return GEODEC_OK;
}

/* ---- messages --------------------------------------------------------------------------------------------------- */

static geodec_status read_message(const geodec_json *v, geodec_chat_message *m, geodec_err *err)
{
    const char *role;
    GEODEC_PASS(geodec_json_get_str(v, "role", &role, err));
    GEODEC_PASS(geodec_chat_role_of(role, &m->role, err));
    GEODEC_PASS(geodec_json_get_str(v, "content", &m->content, err));
    m->n = strlen(m->content);
    return GEODEC_OK;
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

/* ---- the text --------------------------------------------------------------------------------------------------- */

/* First pass: with text NULL, lengths are counted. */
typedef struct writer {
    char *text;
    geodec_span *plain;
    size_t n;
    int64_t n_plain;
} writer;

static void put(writer *w, const char *s, size_t n)
{
    if (w->text && n) memcpy(w->text + w->n, s, n);
    w->n += n;
}

static void put_fixed(writer *w, const char *s)
{
    if (s) put(w, s, strlen(s));
}

static void put_plain(writer *w, const char *s, size_t n)
{
    if (n == 0) return;
    if (w->plain) w->plain[w->n_plain] = (geodec_span){(int64_t)w->n, (int64_t)(w->n + n)};
    w->n_plain++;
    put(w, s, n);
}

static void put_content(writer *w, const geodec_chat_template *t, const geodec_chat_message *m)
{
    const char *s = m->content;
    size_t n = m->n;
    if (t->trim[m->role]) {
        for (; n > 0 && geodec__is_blank(*s); n--) s++;
        while (n > 0 && geodec__is_blank(s[n - 1])) n--;
    }
    put_plain(w, s, n);
}

static void write_all(writer *w, const geodec_chat_template *t, const geodec_chat_message *m, int64_t n,
                      bool generation)
{
    bool open = t->open_at_start;
    int64_t system = 0; /* messages from here on may be system messages that are joined to the next user's */
    put_fixed(w, t->begin);
    if (t->system && (n == 0 || m[0].role != GEODEC_CHAT_SYSTEM)) {
        put_fixed(w, t->before[GEODEC_CHAT_SYSTEM]);
        put_fixed(w, t->system);
        put_fixed(w, t->after[GEODEC_CHAT_SYSTEM]);
    }
    for (int64_t i = 0; i < n; i++) {
        const geodec_chat_role role = m[i].role;
        if (t->system_with_user && role == GEODEC_CHAT_SYSTEM) continue;
        if (t->turn && !open) put_fixed(w, t->turn);
        open = role != GEODEC_CHAT_ASSISTANT;
        put_fixed(w, t->before[role]);
        if (t->system_with_user && role == GEODEC_CHAT_USER) {
            const size_t before = w->n;
            for (; system < i; system++)
                if (m[system].role == GEODEC_CHAT_SYSTEM) put_content(w, t, &m[system]);
            if (w->n > before) put_fixed(w, "\n\n");
        }
        put_content(w, t, &m[i]);
        put_fixed(w, t->after[role]);
    }
    if (generation) put_fixed(w, t->generation);
}

/* Renders the messages by the program that a file carries. */
static geodec_status render_program(const geodec_chat_template *t, const geodec_chat_message *message, int64_t n,
                                    bool add_generation_prompt, geodec_chat_text *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_jinja_message *said = NULL;
    geodec_chat_text x = {0};
    unsigned char *mark = NULL;
    GEODEC_NEW(said, n);
    for (int64_t i = 0; i < n; i++)
        said[i] = (geodec_jinja_message){role_names[message[i].role], message[i].content, message[i].n};
    const geodec_jinja_context context = {said, n, add_generation_prompt, t->bos, t->eos};
    GEODEC_TRY_MSG(geodec_jinja_render(t->program, &context, &x.text, &mark, &x.n, err),
                   "the chat template of %s cannot be rendered (--template NAME gives a built-in format)", t->name);
    for (size_t i = 0; i < x.n; i++) x.n_plain += mark[i] && (i == 0 || !mark[i - 1]);
    size_t longest = 0;
    for (int64_t i = 0; i < n; i++) longest = message[i].n > longest ? message[i].n : longest;
    if (x.n_plain == 0 && longest > 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED,
                     "the chat template of %s writes no message (--template NAME gives a built-in format)", t->name);
    GEODEC_NEW(x.plain, x.n_plain);
    int64_t k = -1;
    for (size_t i = 0; i < x.n; i++) {
        if (!mark[i]) continue;
        if (i == 0 || !mark[i - 1]) x.plain[++k].begin = (int64_t)i;
        x.plain[k].end = (int64_t)i + 1;
    }
    *out = x;
    x = (geodec_chat_text){0};
done:
    geodec_chat_text_free(&x);
    GEODEC_FREE(said, mark);
    return st;
}

geodec_status geodec_chat_render(const geodec_chat_template *t, const geodec_chat_message *message, int64_t n,
                                 bool add_generation_prompt, geodec_chat_text *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    writer w = {0};
    size_t total = 0;
    if (n < 0) GEODEC_THROW(GEODEC_INVAL, "%lld messages", (long long)n);
    for (int64_t i = 0; i < n; i++) {
        if (message[i].role < GEODEC_CHAT_SYSTEM || message[i].role > GEODEC_CHAT_TOOL)
            GEODEC_THROW(GEODEC_INVAL, "message %lld has no role", (long long)i);
        if (!t->program && message[i].role > GEODEC_CHAT_ASSISTANT)
            GEODEC_THROW(GEODEC_UNSUPPORTED, "chat format %s has no role %s", t->name, role_names[message[i].role]);
        if (message[i].n > INT32_MAX || (total += message[i].n) > INT32_MAX)
            GEODEC_THROW(GEODEC_LIMIT, "a conversation of more than %d bytes", INT32_MAX);
    }
    if (t->program) return render_program(t, message, n, add_generation_prompt, out, err);
    write_all(&w, t, message, n, add_generation_prompt);
    const size_t length = w.n;
    const int64_t spans = w.n_plain;
    w = (writer){0};
    GEODEC_NEW(w.text, length + 1);
    GEODEC_NEW(w.plain, spans);
    write_all(&w, t, message, n, add_generation_prompt);
    *out = (geodec_chat_text){w.text, w.n, w.plain, w.n_plain};
    w = (writer){0};
done:
    GEODEC_FREE(w.text, w.plain);
    return st;
}

void geodec_chat_text_free(geodec_chat_text *t)
{
    GEODEC_FREE(t->text, t->plain);
    *t = (geodec_chat_text){0};
}

/* ---- tokens ----------------------------------------------------------------------------------------------------- */

/* All words that a template adds, one by one. */
static size_t fixed_words(const geodec_chat_template *t, char *out)
{
    const char *word[GEODEC__N_ROLES * 2 + 3];
    int n = 0;
    size_t at = 0;
    word[n++] = t->begin;
    word[n++] = t->turn;
    word[n++] = t->generation;
    for (int i = 0; i < GEODEC__N_ROLES; i++) {
        word[n++] = t->before[i];
        word[n++] = t->after[i];
    }
    for (int i = 0; i < n; i++) {
        const size_t k = word[i] ? strlen(word[i]) : 0;
        if (out && k) memcpy(out + at, word[i], k);
        if (out) out[at + k] = '\0';
        at += k + 1;
    }
    return at;
}

/* What a program added to the messages, run by run. */
static size_t program_words(const geodec_chat_text *text, char *out)
{
    size_t at = 0;
    int64_t k = 0;
    for (size_t i = 0; i < text->n; i++) {
        while (k < text->n_plain && (int64_t)i >= text->plain[k].end) k++;
        const bool plain = k < text->n_plain && (int64_t)i >= text->plain[k].begin;
        if (out) out[at] = plain ? '\0' : text->text[i];
        at++;
    }
    if (out) out[at] = '\0';
    return at + 1;
}

/* From byte `from` on; begins: at the start of the conversation. */
static geodec_status encode_text(const geodec_chat_template *t, const geodec_tokenizer *k, const geodec_chat_text *text,
                                 int64_t from, bool begins, int32_t **ids, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *words = NULL;
    int32_t *id = NULL;
    geodec_span *plain = NULL;
    int64_t n_plain = 0;
    const size_t n_words = t->program ? program_words(text, NULL) : fixed_words(t, NULL), n = text->n - (size_t)from;
    const size_t n_bos = t->bos ? strlen(t->bos) : 0;
    const bool has_bos = n_bos > 0 && n_bos <= text->n && memcmp(text->text, t->bos, n_bos) == 0;
    GEODEC_NEW(words, n_words);
    (void)(t->program ? program_words(text, words) : fixed_words(t, words));
    GEODEC_NEW(plain, text->n_plain);
    for (int64_t i = 0; i < text->n_plain; i++)
        if (text->plain[i].begin >= from)
            plain[n_plain++] = (geodec_span){text->plain[i].begin - from, text->plain[i].end - from};
    GEODEC_NEW(id, n + 3);
    const geodec_encode_options options = {.bos = begins && !has_bos, /* a program's own */
                                           .goes_on = !begins,
                                           .parse_special = true,
                                           .plain = plain,
                                           .n_plain = n_plain,
                                           .reserved = words,
                                           .n_reserved = n_words};
    GEODEC_TRY(geodec_tokenizer_encode_with(k, text->text + from, n, &options, id, count, err));
    *ids = id;
    id = NULL;
done:
    GEODEC_FREE(words, plain, id);
    return st;
}

geodec_status geodec_chat_encode(const geodec_chat_template *t, const geodec_tokenizer *k,
                                 const geodec_chat_message *message, int64_t n, bool add_generation_prompt,
                                 int32_t **ids, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_chat_text text = {0};
    GEODEC_TRY(geodec_chat_render(t, message, n, add_generation_prompt, &text, err));
    GEODEC_TRY(encode_text(t, k, &text, 0, true, ids, count, err));
done:
    geodec_chat_text_free(&text);
    return st;
}

geodec_status geodec_chat_encode_next(const geodec_chat_template *t, const geodec_tokenizer *k,
                                      const geodec_chat_message *user, int32_t **ids, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_chat_text text = {0};
    /* Formats depend on roles, not on words: the text after any assistant's words is the same. */
    const geodec_chat_message message[] = {
        {GEODEC_CHAT_USER, "x", 1}, {GEODEC_CHAT_ASSISTANT, "x", 1}, {GEODEC_CHAT_USER, user->content, user->n}};
    GEODEC_TRY(geodec_chat_render(t, message, 3, true, &text, err));
    if (text.n_plain < 2) GEODEC_THROW(GEODEC_INTERNAL, "chat format %s leaves words out", t->name);
    GEODEC_TRY(encode_text(t, k, &text, text.plain[1].end, false, ids, count, err));
done:
    geodec_chat_text_free(&text);
    return st;
}
