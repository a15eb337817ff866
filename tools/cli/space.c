#include "cli/space.h"

geodec_status stage_space(cli_stage *stage, const char *path, geodec_harness_space *in, geodec_err *err)
{
    GEODEC_PASS(geodec_harness_space_open(path, in, err));
    GEODEC_PASS(geodec_provenance_add_artifact(&stage->p, in->file, err));
    return GEODEC_OK;
}
