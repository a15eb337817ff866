#include "cli/kinds.h"

#include "drafters/depth_sink.h"
#include "drafters/rollout_file.h"
#include "lab/blocks/correct.h"
#include "lab/consistency/correct.h"
#include "lab/density/correct.h"
#include "lab/divergence/correct.h"
#include "lab/geodesicity/correct.h"
#include "lab/hjb/correct.h"
#include "lab/injectivity/correct.h"
#include "lab/library/correct.h"
#include "lab/lookup/correct.h"
#include "lab/resonance/correct.h"
#include "lab/substitution/correct.h"
#include "lab/varadhan/correct.h"
#include "lab/velocity/correct.h"
#include "lab/verification/correct.h"
#include "lab/warp/correct.h"
#include "chain/activations.h"
#include "chain/christoffel.h"
#include "chain/cloud.h"
#include "chain/riemann.h"
#include "chain/geodesics.h"
#include "chain/metric.h"
#include "chain/propagators.h"
#include "artifact/sweep.h"
#include "chain/validity.h"
#include "measure/bench_file.h"
#include "measure/drafts.h"
#include "lowrank/kv_projection.h"
#include "lowrank/projection.h"
#include "lab/blocks/published.h"
#include "lab/coverage/published.h"
#include "lab/density/published.h"
#include "lab/hjb/published.h"
#include "lab/injectivity/published.h"
#include "lab/records/published.h"
#include "lab/substitution/published.h"
#include "lab/validity/published.h"
#include "lab/warp/published.h"
#include "chain/coverage.h"
#include "flowmap/map.h"
#include "drafters/onedecode.h"
#include "drafters/onedecode_ref.h"
#include "chain/records.h"
#include "drafters/recurrent.h"
#include "train/trainer.h"

#include <string.h>

/* In the order of the pipeline: schema pages and lists follow it. One a line, so that additions merge. */
/* clang-format off */
const geodec_kind *const cli_kinds[] = {
    &geodec_kind_checkpoint,
    &geodec_kind_losscurve,
    &geodec_kind_activations,
    &geodec_kind_cloud,
    &geodec_kind_metric,
    &geodec_kind_christoffel,
    &geodec_kind_geodesics,
    &geodec_kind_riemann,
    &geodec_kind_propagators,
    &geodec_kind_sweep,
    &geodec_kind_validity,
    &geodec_kind_validity_ref,
    &geodec_kind_records,
    &geodec_kind_records_ref,
    &geodec_kind_coverage,
    &geodec_kind_verification,
    &geodec_kind_injectivity,
    &geodec_kind_blocks,
    &geodec_kind_blocks_ref,
    &geodec_kind_injectivity_ref,
    &geodec_kind_coverage_ref,
    &geodec_kind_consistency,
    &geodec_kind_divergence,
    &geodec_kind_library,
    &geodec_kind_density,
    &geodec_kind_density_ref,
    &geodec_kind_geodesicity,
    &geodec_kind_varadhan,
    &geodec_kind_velocity,
    &geodec_kind_substitution,
    &geodec_kind_substitution_ref,
    &geodec_kind_resonance,
    &geodec_kind_warp,
    &geodec_kind_warp_ref,
    &geodec_kind_hjb,
    &geodec_kind_hjb_ref,
    &geodec_kind_lookup_speed,
    &geodec_kind_flowmap,
    &geodec_kind_onedecode,
    &geodec_kind_onedecode_ref,
    &geodec_kind_recurrent,
    &geodec_kind_rollout,
    &geodec_kind_depth,
    &geodec_kind_projection,
    &geodec_kind_kvprojection,
    &geodec_kind_benchdecode,
    &geodec_kind_speed,
    &geodec_kind_drafts,
    &geodec_kind_threeway,
};
/* clang-format on */
const int cli_n_kinds = (int)(sizeof cli_kinds / sizeof cli_kinds[0]);

const geodec_kind *cli_kind_find(const char *name)
{
    for (int i = 0; i < cli_n_kinds; i++)
        if (strcmp(cli_kinds[i]->name, name) == 0) return cli_kinds[i];
    return NULL;
}

geodec_status cli_open_any(const char *path, geodec_artifact **out, geodec_err *err)
{
    return geodec_artifact_open_any(cli_kinds, cli_n_kinds, path, out, err);
}
