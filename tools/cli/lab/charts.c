#include "cli/lab/charts.h"

geodec_status stage_charts(cli_stage *stage, const char *activations, geodec_harness_charts *s, geodec_err *err)
{
    geodec_artifact *file;
    GEODEC_PASS(stage_open(stage, &geodec_activations_kind, activations, &file, err));
    s->pool = stage->c->pool;
    s->hooks = &stage->c->hooks;
    GEODEC_PASS(geodec_harness_charts_open(s, file, err));
    return GEODEC_OK;
}
