#include "cli/space.h"

geodec_status stage_space(cli_stage *stage, const char *path, geodec_harness_space *in, geodec_err *err)
{
    if (stage_is_plan(stage)) {
        geodec_artifact *file = NULL;
        GEODEC_PASS(stage_open(stage, &geodec_metric_kind, path, &file, err));
        stage->n_in--; /* the space closes it */
        return geodec_harness_space_take(file, in, err);
    }
    GEODEC_PASS(geodec_harness_space_open(path, in, err));
    GEODEC_PASS(geodec_provenance_add_artifact(&stage->p, in->file, err));
    return GEODEC_OK;
}
