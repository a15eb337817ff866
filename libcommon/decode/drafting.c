#include "decode/drafting.h"

#include "base/mem.h"
#include "decode/draft_ngram.h"

#include <string.h>

struct geodec_drafting {
    const geodec_model *model;
};

static bool known(const char *name)
{
    static const char *const names[] = {"none", "bigram", "ngram"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

geodec_status geodec_drafting_open(const geodec_model *m, const char *dir, const char *const *names, int n,
                                   geodec_drafting **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_drafting *d = NULL;
    (void)dir;
    for (int i = 0; i < n; i++)
        if (!known(names[i])) GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s'", names[i]);
    GEODEC_NEW(d, 1);
    d->model = m;
    *out = d;
    d = NULL;
done:
    geodec_drafting_close(d);
    return st;
}

void geodec_drafting_close(geodec_drafting *d) { geodec_mem_free(d); }

geodec_status geodec_drafting_create(const geodec_drafting *d, const char *name, geodec_drafter **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    (void)d;
    if (!known(name)) GEODEC_THROW(GEODEC_INVAL, "unknown drafter '%s'", name);
    if (strcmp(name, "none") == 0)
        *out = NULL;
    else
        GEODEC_TRY(geodec_ngram_drafter_create(NULL, strcmp(name, "bigram") == 0 ? 1 : GEODEC_NGRAM_ORDER, out, err));
done:
    return st;
}

geodec_status geodec_drafting_provenance(const geodec_drafting *d, geodec_provenance *p, geodec_err *err)
{
    (void)d;
    (void)p;
    (void)err;
    return GEODEC_OK;
}

int32_t geodec_stop_tokens(const geodec_tokenizer *t, int32_t stop[2])
{
    int32_t n = 0;
    const int32_t eos = geodec_tokenizer_eos(t), bos = geodec_tokenizer_bos(t);
    if (eos >= 0) stop[n++] = eos;
    if (bos >= 0 && bos != eos) stop[n++] = bos;
    return n;
}
