#include "cli/text.h"

#include "base/mem.h"

bool text_allow_unknown;

/* The share of unknown tokens in the first MiB, cut at the start of a character: refused, or warned of, where it is
 * large. */
static geodec_status count_unknown(const char *path, const geodec_tokenizer *t, text_file *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    enum { LOOKED_AT = 1 << 20 };
    const int32_t unknown = geodec_tokenizer_unknown(t);
    const size_t all = (size_t)f->documents.n_text;
    size_t n = all < LOOKED_AT ? all : LOOKED_AT;
    int32_t *id = NULL;
    int64_t count = 0, found = 0;
    if (unknown < 0) return GEODEC_OK;
    while (n > 0 && n < all && ((unsigned char)f->documents.text[n] & 0xc0) == 0x80) n--;
    GEODEC_NEW(id, (int64_t)n + 2);
    GEODEC_TRY_MSG(geodec_tokenizer_encode(t, f->documents.text, n, false, id, &count, err), "%s", path);
    for (int64_t i = 0; i < count; i++) found += id[i] == unknown;
    f->unknown = count > 0 ? (double)found / (double)count : 0;
    if (f->unknown > 0.1 && !text_allow_unknown)
        GEODEC_THROW(GEODEC_SCARCE,
                     "%s: %.0f %% of the tokens are unknown to the model's vocabulary (at most 10 %% are measured; "
                     "--allow-unknown)",
                     path, 100 * f->unknown);
    if (f->unknown > 0.01)
        cli_warn("%s: %.1f %% of the tokens are unknown to the model's vocabulary", path, 100 * f->unknown);
done:
    geodec_mem_free(id);
    return st;
}

geodec_status text_open(const char *path, const char *separator, const geodec_tokenizer *t, bool run, text_file *out,
                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file f = {.run = NULL};
    geodec_documents_options o = {.tokenizer = t, .run = run};
    GEODEC_TRY(geodec_documents_separator_of(separator, &o.separator, err));
    GEODEC_TRY(geodec_file_map_open(path, &f.map, err));
    GEODEC_TRY(geodec_documents_read(path, (const char *)f.map.data, f.map.size, &o, &f.documents, err));
    if (t) GEODEC_TRY(count_unknown(path, t, &f, err));
    if (run) GEODEC_TRY(geodec_documents_run(&f.documents, &f.run, &f.n_run, &f.own_run, err));
    GEODEC_MOVE(*out, f);
done:
    text_close(&f);
    return st;
}

void text_close(text_file *f)
{
    geodec_documents_free(&f->documents);
    geodec_mem_free(f->own_run);
    geodec_file_map_close(&f->map);
    *f = (text_file){.run = NULL};
}

geodec_status text_ids(const char *path, const char *separator, const geodec_tokenizer *t, int32_t **ids, int64_t *n,
                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file file = {.run = NULL};
    int32_t *id = NULL;
    GEODEC_TRY(text_open(path, separator, t, true, &file, err));
    GEODEC_NEW(id, (int64_t)file.n_run + 2);
    GEODEC_TRY_MSG(geodec_tokenizer_encode(t, file.run, file.n_run, false, id, n, err), "%s", path);
    GEODEC_MOVE(*ids, id);
done:
    geodec_mem_free(id);
    text_close(&file);
    return st;
}
