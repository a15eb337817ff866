#include "cli/key_code.h"

#include "base/mem.h"
#include "cli/text.h"

#include <string.h>

/* Makes room for `more` further elements. */
#define ROOM(p, n, capacity, more)                                                                                     \
    do {                                                                                                               \
        if ((n) + (more) > (capacity)) {                                                                               \
            void *larger_ = geodec_mem_grow((p), (int64_t)(n), 2 * (int64_t)(n) + (int64_t)(more), sizeof *(p));       \
            if (!larger_) GEODEC_THROW(GEODEC_NOMEM, "no memory for documents");                                       \
            (p) = larger_;                                                                                             \
            (capacity) = 2 * (n) + (more);                                                                             \
        }                                                                                                              \
    } while (0)

static geodec_status add_document(key_code_corpus *x, const geodec_tokenizer *t, const char *text, size_t n,
                                  geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t count;
    ROOM(x->begin, x->n + 1, x->capacity, 1);
    ROOM(x->token, x->n_token, x->token_capacity, (int64_t)n + 2);
    GEODEC_TRY(geodec_tokenizer_encode(t, text, n, true, x->token + x->n_token, &count, err));
    if (x->n % x->every != 0) {
        ROOM(x->held_out, x->n_held_out, x->held_out_capacity, n + 2);
        memcpy(x->held_out + x->n_held_out, text, n);
        memcpy(x->held_out + x->n_held_out + n, "\n\n", 2);
        x->n_held_out += n + 2;
    }
    x->n_token += count;
    x->begin[++x->n] = x->n_token;
done:
    return st;
}

geodec_status key_code_add(key_code_corpus *x, const char *path, const char *separator, const geodec_tokenizer *t,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file f = {.run = NULL};
    GEODEC_TRY(text_open(path, separator, t, false, &f, err));
    for (int64_t i = 0; i < f.documents.n; i++) {
        const geodec_document *d = &f.documents.item[i];
        GEODEC_TRY_MSG(add_document(x, t, f.documents.text + d->begin, (size_t)(d->end - d->begin), err), "%s", path);
    }
done:
    text_close(&f);
    return st;
}

void key_code_clear(key_code_corpus *x) { GEODEC_FREE(x->begin, x->token, x->held_out); }

geodec_status key_code_fit(const cli *c, const geodec_model *m, const char *name, const char *text, int64_t window,
                           geodec_key_codes_set **out, geodec_err *err)
{
    enum { CALIBRATION = 16384 };
    geodec_status st = GEODEC_OK;
    key_code_corpus x = {.every = 1};
    geodec_key_codes_case which[GEODEC_KEY_CODES_CASES];
    geodec_key_codes_rows *rows = NULL;
    int64_t n;
    *out = NULL;
    if (!name) goto done;
    if (!text) GEODEC_THROW(GEODEC_INVAL, "the code %s of the cache needs --kv-code-text", name);
    GEODEC_TRY(geodec_key_codes_parse(name, which, &n, err));
    if (n != 1) GEODEC_THROW(GEODEC_INVAL, "the cache takes one code, not %lld", (long long)n);
    GEODEC_TRY(key_code_add(&x, text, "auto", geodec_model_tokenizer(m), err));
    const geodec_key_codes_texts texts = {x.n, x.begin, x.token};
    const geodec_key_codes_options o = {
        .window = (int32_t)window, .calibration = CALIBRATION, .every = 1, .pool = c->pool, .hooks = &c->hooks};
    GEODEC_TRY_MSG(geodec_key_codes_capture(m, &texts, &o, &rows, err), "%s", text);
    GEODEC_TRY(geodec_key_codes_fit(rows, which, out, err));
    cli_say(c, "code %s of the cache: calibrated on %lld rows", name, (long long)geodec_key_codes_captured(rows));
done:
    geodec_key_codes_release(rows);
    key_code_clear(&x);
    return st;
}
