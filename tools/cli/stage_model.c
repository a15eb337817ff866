/* Separate from stage.c, so that tools without a model do not link the model code. */
#include "base/mem.h"
#include "cli/stage.h"

/* Adds all parts of a split model, as one input. */
static geodec_status add_parts(cli_stage *stage, const char *path, const geodec_gguf *g, int n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t start, bytes;
    const char **part = NULL;
    if (stage_is_plan(stage)) return GEODEC_OK;
    GEODEC_NEW(part, n);
    for (int i = 0; i < n; i++) part[i] = geodec_gguf_part_at(g, i, &start, &bytes);
    GEODEC_TRY(geodec_provenance_add_files(&stage->p, path, n, part, err));
done:
    GEODEC_FREE(part);
    return st;
}

geodec_status stage_model(cli_stage *stage, const char *path, const geodec_model *m, geodec_err *err)
{
    const geodec_gguf *g = geodec_model_gguf(m);
    int64_t start, bytes;
    int n = 1;
    stage->p.model_fingerprint = geodec_model_fingerprint(m);
    stage->p.tokenizer_fingerprint = geodec_tokenizer_fingerprint(geodec_model_tokenizer(m));
    while (geodec_gguf_part_at(g, n, &start, &bytes)) n++;
    return n > 1 ? add_parts(stage, path, g, n, err) : stage_file(stage, path, err);
}
