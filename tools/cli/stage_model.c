/* Separate from stage.c, so that tools without a model do not link the model code. */
#include "cli/stage.h"

geodec_status stage_model(cli_stage *stage, const char *path, const geodec_model *m, geodec_err *err)
{
    stage->p.model_fingerprint = geodec_model_fingerprint(m);
    stage->p.tokenizer_fingerprint = geodec_tokenizer_fingerprint(geodec_model_tokenizer(m));
    return stage_file(stage, path, err);
}
