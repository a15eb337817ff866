#include "cli/space.h"

geodec_status stage_space(cli_stage *stage, const char *path, geodec_harness_space *in, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec_harness_space_open(path, in, err));
    GEODEC_TRY(geodec_provenance_add_artifact(&stage->p, in->file, err));
done:
    return st;
}
