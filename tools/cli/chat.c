#include "cli/chat.h"

#include "base/mem.h"
#include "io/file.h"
#include "tokenizer/jinja.h"

#include <string.h>

/* The text of a token, zero-terminated; NULL without one. */
static char *piece(const geodec_tokenizer *t, int32_t id)
{
    size_t n;
    if (id < 0) return NULL;
    const char *s = geodec_tokenizer_piece(t, id, &n);
    char *copy = geodec_mem_new((int64_t)n + 1, 1);
    if (copy) memcpy(copy, s, n);
    return copy;
}

geodec_status chat_format(const geodec_model *m, const char *name, const geodec_chat_template **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL, *bos = NULL, *eos = NULL;
    size_t n = 0;
    const geodec_tokenizer *t = geodec_model_tokenizer(m);
    if (!name || strcmp(name, "auto") == 0) return geodec_chat_template_of(geodec_model_gguf(m), out, err);
    const size_t length = strlen(name);
    if (length < 7 || strcmp(name + length - 6, ".jinja") != 0) return geodec_chat_template_find(name, out, err);
    GEODEC_TRY(geodec_file_read(name, GEODEC_JINJA_TEMPLATE, &text, &n, err));
    bos = piece(t, geodec_tokenizer_bos(t));
    eos = piece(t, geodec_tokenizer_eos(t));
    GEODEC_TRY_MSG(geodec_chat_template_compile(text, n, name, bos, eos, out, err), "%s", name);
done:
    GEODEC_FREE(text, bos, eos);
    return st;
}
