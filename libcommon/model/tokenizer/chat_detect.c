#include "base/mem.h"
#include "tokenizer/chat_internal.h"

#include <stdio.h>
#include <string.h>

static const geodec_chat_template *named(const char *name)
{
    const geodec_chat_template *t = NULL;
    for (int i = 0; (t = geodec__chat_table(i)) && strcmp(t->name, name) != 0;) i++;
    return t;
}

const char *geodec_chat_template_name_at(int i)
{
    const geodec_chat_template *t = geodec__chat_table(i);
    return t ? t->name : NULL;
}

const char *geodec_chat_template_name(const geodec_chat_template *t) { return t->name; }

/* "WHAT; known are: all names", in frames of the error, which hold a line each. */
static geodec_status refuse(const char *what, geodec_err *err)
{
    enum { LINE = 200 };
    char names[8 * LINE] = "";
    size_t at = 0;
    const char *name;
    for (int i = 0; (name = geodec_chat_template_name_at(i)) && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i ? " " : "", name);
    bool first = true;
    for (size_t end = strlen(names); end > 0; first = false) {
        size_t begin = end > LINE ? end - LINE : 0;
        while (begin > 0 && names[begin - 1] != ' ') begin++;
        const char *more = first ? "" : " and";
        if (first)
            (void)geodec_err_set(err, GEODEC_UNSUPPORTED, __func__, __LINE__, "%s", names + begin);
        else
            (void)geodec_err_add(err, GEODEC_UNSUPPORTED, __func__, __LINE__, "%s%s", names + begin, more);
        end = begin > 0 ? begin - 1 : 0;
        names[end] = '\0';
    }
    return geodec_err_add(err, GEODEC_UNSUPPORTED, __func__, __LINE__, "%s; known are", what);
}

geodec_status geodec_chat_template_find(const char *name, const geodec_chat_template **out, geodec_err *err)
{
    char what[80];
    const geodec_chat_template *t = named(name);
    (void)snprintf(what, sizeof what, "no chat template '%.40s'", name);
    if (!t) return refuse(what, err);
    *out = t;
    return GEODEC_OK;
}

/* ---- from a file ------------------------------------------------------------------------------------------------ */

/* Text of a token that a key names; *out is NULL when the file has none. Caller frees. */
static geodec_status token_text(const geodec_gguf *g, const char *key, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t id, n;
    const char *s;
    size_t length;
    *out = NULL;
    if (!geodec_gguf_has(g, key) || !geodec_gguf_has(g, "tokenizer.ggml.tokens")) goto done;
    GEODEC_TRY(geodec_gguf_get_i64(g, key, &id, err));
    GEODEC_TRY(geodec_gguf_array_length(g, "tokenizer.ggml.tokens", &n, err));
    if (id < 0 || id >= n) goto done;
    GEODEC_TRY(geodec_gguf_array_str(g, "tokenizer.ggml.tokens", id, &s, &length, err));
    GEODEC_NEW(*out, length + 1);
    memcpy(*out, s, length);
done:
    return st;
}

/* Made by geodec_chat_template_compile, maybe in part. */
static void destroy(geodec_chat_template *t)
{
    if (!t) return;
    geodec_jinja_free(t->program);
    geodec_mem_free((void *)(uintptr_t)t->name);
    GEODEC_FREE(t->bos, t->eos, t);
}

geodec_status geodec_chat_template_compile(const char *text, size_t n, const char *name, const char *bos,
                                           const char *eos, const geodec_chat_template **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_chat_template *t = NULL;
    GEODEC_NEW(t, 1);
    GEODEC_TRY(geodec_jinja_compile(text, n, &t->program, err));
    char *copy = geodec_mem_strdup(name);
    if (!copy) GEODEC_THROW(GEODEC_NOMEM, "no memory for a name");
    t->name = copy;
    if (bos) t->bos = geodec_mem_strdup(bos);
    if (eos) t->eos = geodec_mem_strdup(eos);
    if ((bos && !t->bos) || (eos && !t->eos)) GEODEC_THROW(GEODEC_NOMEM, "no memory for a token");
    *out = t;
    t = NULL;
done:
    destroy(t);
    return st;
}

bool geodec_chat_template_is_program(const geodec_chat_template *t) { return t->program != NULL; }

void geodec_chat_template_free(const geodec_chat_template *t)
{
    if (t && t->program) destroy((geodec_chat_template *)(uintptr_t)t); /* others are built in */
}

geodec_status geodec_chat_template_of(const geodec_gguf *g, const geodec_chat_template **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char key[] = "tokenizer.chat_template";
    const char *text;
    char *eos = NULL, *bos = NULL;
    if (!geodec_gguf_has(g, key))
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: key '%s' is missing: name a template", geodec_gguf_path(g), key);
    GEODEC_TRY(geodec_gguf_get_str(g, key, &text, err));
    GEODEC_TRY(token_text(g, "tokenizer.ggml.eos_token_id", &eos, err));
    GEODEC_TRY(token_text(g, "tokenizer.ggml.bos_token_id", &bos, err));
    st = geodec_chat_template_compile(text, strlen(text), geodec_gguf_path(g), bos, eos, out, err);
    if (st == GEODEC_FORMAT || st == GEODEC_UNSUPPORTED || st == GEODEC_LIMIT) {
        char why[256];
        (void)geodec_err_line(err, why, sizeof why);
        geodec_err_clear(err);
        st = refuse("name a built-in chat format", err);
        (void)geodec_err_add(err, st, __func__, __LINE__, "%s: the chat template cannot be rendered (%.200s)",
                             geodec_gguf_path(g), why);
    }
done:
    GEODEC_FREE(bos, eos);
    return st;
}
