#include "cli/text.h"

#include "base/mem.h"

geodec_status text_open(const char *path, const char *separator, const geodec_tokenizer *t, bool run, text_file *out,
                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    text_file f = {.run = NULL};
    geodec_documents_options o = {.tokenizer = t, .run = run};
    GEODEC_TRY(geodec_documents_separator_of(separator, &o.separator, err));
    GEODEC_TRY(geodec_file_map_open(path, &f.map, err));
    GEODEC_TRY(geodec_documents_read(path, (const char *)f.map.data, f.map.size, &o, &f.documents, err));
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
