#include "support/kinds.h"

#include "drafters/depth_sink.h"
#include "drafters/rungs_file.h"
#include "experiments/blocks.h"
#include "experiments/consistency.h"
#include "experiments/density.h"
#include "experiments/divergence.h"
#include "experiments/geodesicity.h"
#include "experiments/hjb.h"
#include "experiments/injectivity.h"
#include "experiments/library_sweep.h"
#include "experiments/lookup_speed.h"
#include "experiments/resonance.h"
#include "experiments/substitution.h"
#include "experiments/varadhan.h"
#include "experiments/velocity.h"
#include "experiments/verify.h"
#include "experiments/warp.h"
#include "geometry/activations.h"
#include "geometry/christoffel.h"
#include "geometry/cloud.h"
#include "geometry/curvature.h"
#include "geometry/geodesics.h"
#include "geometry/metric.h"
#include "geometry/propagators.h"
#include "geometry/sweep.h"
#include "geometry/validity.h"
#include "measure/bench_file.h"
#include "measure/drafts.h"
#include "project/kvprojection.h"
#include "project/projection.h"
#include "published/blocks.h"
#include "published/coverage.h"
#include "published/density.h"
#include "published/hjb.h"
#include "published/injectivity.h"
#include "published/records.h"
#include "published/substitution.h"
#include "published/validity.h"
#include "published/warp.h"
#include "records/coverage.h"
#include "records/flowmap.h"
#include "records/onedecode.h"
#include "records/onedecode_ref.h"
#include "records/records.h"
#include "records/recurrent.h"
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
