#include "cli/kinds.h"

#include "artifact/sweep.h"
#include "chain/activations.h"
#include "chain/christoffel.h"
#include "chain/cloud.h"
#include "chain/coverage.h"
#include "chain/geodesics.h"
#include "chain/metric.h"
#include "chain/propagators.h"
#include "chain/riemann.h"
#include "chain/validity.h"
#include "drafters/depth_sink.h"
#include "drafters/onedecode.h"
#include "drafters/recurrent.h"
#include "drafters/rollout.h"
#include "evaluate/key_codes.h"
#include "flowmap/map.h"
#include "foresight/recall.h"
#include "lab/blocks/correct.h"
#include "lab/consistency/correct.h"
#include "lab/density/correct.h"
#include "lab/divergence/correct.h"
#include "lab/geodesicity/correct.h"
#include "lab/hjb/correct.h"
#include "lab/injectivity/correct.h"
#include "lab/library/correct.h"
#include "lab/lookup/correct.h"
#include "lab/published/blocks.h"
#include "lab/published/coverage.h"
#include "lab/published/density.h"
#include "lab/published/hjb.h"
#include "lab/published/injectivity.h"
#include "lab/published/onedecode.h"
#include "lab/published/records.h"
#include "lab/published/substitution.h"
#include "lab/published/validity.h"
#include "lab/published/warp.h"
#include "lab/resonance/correct.h"
#include "lab/substitution/correct.h"
#include "lab/varadhan/correct.h"
#include "lab/velocity/correct.h"
#include "lab/verification/correct.h"
#include "lab/warp/correct.h"
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
const geodec_kind *const cli_kinds[] = {
    &geodec_checkpoint_kind,
    &geodec_checkpoint_losscurve_kind,
    &geodec_activations_kind,
    &geodec_cloud_kind,
    &geodec_neighbours_kind,
    &geodec_metric_kind,
    &geodec_christoffel_kind,
    &geodec_geodesics_kind,
    &geodec_riemann_kind,
    &geodec_propagators_kind,
    &geodec_sweep_kind,
    &geodec_validity_kind,
    &geodec_validity_published_kind,
    &geodec_records_kind,
    &geodec_records_published_kind,
    &geodec_coverage_kind,
    &geodec_verification_kind,
    &geodec_injectivity_kind,
    &geodec_blocks_kind,
    &geodec_blocks_published_kind,
    &geodec_injectivity_published_kind,
    &geodec_coverage_published_kind,
    &geodec_consistency_kind,
    &geodec_divergence_kind,
    &geodec_library_kind,
    &geodec_density_kind,
    &geodec_density_published_kind,
    &geodec_geodesicity_kind,
    &geodec_varadhan_kind,
    &geodec_velocity_kind,
    &geodec_substitution_kind,
    &geodec_substitution_published_kind,
    &geodec_resonance_kind,
    &geodec_warp_kind,
    &geodec_warp_published_kind,
    &geodec_hjb_kind,
    &geodec_hjb_published_kind,
    &geodec_lookup_speed_kind,
    &geodec_flowmap_kind,
    &geodec_foresight_kind,
    &geodec_onedecode_kind,
    &geodec_onedecode_published_kind,
    &geodec_recurrent_kind,
    &geodec_rollout_kind,
    &geodec_depth_kind,
    &geodec_projection_kind,
    &geodec_kv_projection_kind,
    &geodec_key_codes_kind,
    &geodec_bench_decode_kind,
    &geodec_bench_speed_kind,
    &geodec_drafts_kind,
    &geodec_drafts_threeway_kind,
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

geodec_status cli_peek_any(const char *path, geodec_artifact **out, geodec_err *err)
{
    return geodec_artifact_peek_any(cli_kinds, cli_n_kinds, path, out, err);
}
