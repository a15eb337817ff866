#include "kinds/kinds.h"

#include "artifact/sweep.h"
#include "chain/activations.h"
#include "chain/christoffel.h"
#include "chain/cloud.h"
#include "chain/coverage.h"
#include "chain/geodesics.h"
#include "chain/metric.h"
#include "chain/propagators.h"
#include "chain/riemann.h"
#include "chain/second_form.h"
#include "chain/validity.h"
#include "drafters/depth_sink.h"
#include "drafters/onedecode.h"
#include "drafters/recurrent.h"
#include "drafters/rollout.h"
#include "flowmap/map.h"
#include "foresight/recall.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection.h"
#include "measure/bench_file.h"
#include "measure/drafts.h"
#include "neighbours/neighbours.h"
#include "records/records.h"
#include "train/trainer.h"

#include <string.h>

/* In the order of the pipeline, which schema pages and lists keep. One kind per line, so that additions merge. */
/* clang-format off */
static const geodec_kind *const table[] = {
    &geodec_checkpoint_kind,
    &geodec_checkpoint_losscurve_kind,
    &geodec_activations_kind,
    &geodec_cloud_kind,
    &geodec_neighbours_kind,
    &geodec_metric_kind,
    &geodec_christoffel_kind,
    &geodec_geodesics_kind,
    &geodec_riemann_kind,
    &geodec_second_form_kind,
    &geodec_propagators_kind,
    &geodec_sweep_kind,
    &geodec_validity_kind,
    &geodec_records_kind,
    &geodec_coverage_kind,
    &geodec_flowmap_kind,
    &geodec_foresight_kind,
    &geodec_onedecode_kind,
    &geodec_recurrent_kind,
    &geodec_rollout_kind,
    &geodec_depth_kind,
    &geodec_projection_kind,
    &geodec_kv_projection_kind,
    &geodec_bench_decode_kind,
    &geodec_bench_speed_kind,
    &geodec_drafts_kind,
    &geodec_drafts_threeway_kind,
};
/* clang-format on */
enum { KINDS = sizeof table / sizeof table[0] };

const geodec_kind *geodec_kinds_at(int i) { return i >= 0 && i < KINDS ? table[i] : NULL; }

const geodec_kind *geodec_kinds_find(const char *name)
{
    for (int i = 0; i < KINDS; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}

geodec_status geodec_kinds_open(const char *path, geodec_artifact **out, geodec_err *err)
{
    return geodec_artifact_open_any(table, KINDS, path, out, err);
}
