#include "cli/space.h"

geodec_status stage_space_file(cli_stage *stage, const char *path, geodec_artifact **file, geodec_err *err)
{
    GEODEC_PASS(stage_open(stage, &geodec_metric_kind, path, file, err));
    stage->n_in--; /* the space closes it */
    return GEODEC_OK;
}

geodec_status stage_space(cli_stage *stage, const char *path, geodec_metric_file *in, geodec_err *err)
{
    geodec_artifact *file = NULL;
    GEODEC_PASS(stage_space_file(stage, path, &file, err));
    return geodec_metric_file_take(file, in, err);
}
