#include "cli/stage.h"

cli_stage stage_of(const cli *c, const char *output)
{
    return (cli_stage){.c = c, .output = output, .p = cli_provenance(c)};
}

geodec_status stage_begin(cli_stage *stage, const cli *c, const char *output, geodec_err *err)
{
    *stage = stage_of(c, output);
    return cli_may_write(c, output, err);
}

geodec_status stage_hold(cli_stage *stage, const geodec_kind *kind, const char *path, geodec_artifact **in,
                         geodec_err *err)
{
    if (stage->n_in == GEODEC_INPUTS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%s: more than %d inputs", path, (int)GEODEC_INPUTS_MAX);
    GEODEC_PASS(stage_is_plan(stage) ? geodec_artifact_peek(kind, path, in, err)
                                     : geodec_artifact_open(kind, path, in, err));
    stage->in[stage->n_in++] = *in;
    if (stage_is_plan(stage)) stage->bytes += geodec_artifact_file_bytes(*in);
    return GEODEC_OK;
}

geodec_status stage_add(cli_stage *stage, const geodec_artifact *in, geodec_err *err)
{
    if (stage_is_plan(stage)) return geodec_provenance_agree(&stage->p, in, err);
    return geodec_provenance_add_artifact(&stage->p, in, err);
}

geodec_status stage_open(cli_stage *stage, const geodec_kind *kind, const char *path, geodec_artifact **in,
                         geodec_err *err)
{
    GEODEC_PASS(stage_hold(stage, kind, path, in, err));
    GEODEC_PASS(stage_add(stage, *in, err));
    return GEODEC_OK;
}

geodec_status stage_file(cli_stage *stage, const char *path, geodec_err *err)
{
    if (stage_is_plan(stage)) return GEODEC_OK;
    return geodec_provenance_add_file(&stage->p, path, err);
}

geodec_status stage_create(cli_stage *stage, const geodec_kind *kind, geodec_err *err)
{
    return geodec_artifact_create(kind, stage->output, &stage->p, &stage->out, err);
}

geodec_status stage_commit(cli_stage *stage, geodec_err *err)
{
    geodec_artifact *out = stage->out;
    stage->out = NULL;
    return geodec_artifact_commit(out, err);
}

void stage_end(cli_stage *stage)
{
    geodec_artifact_close(stage->out);
    geodec_sweep_close(stage->sweep);
    for (int i = 0; i < stage->n_in; i++) geodec_artifact_close(stage->in[i]);
}
