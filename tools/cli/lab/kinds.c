#include "cli/kinds.h"

#include "lab/blocks/blocks.h"
#include "lab/consistency/consistency.h"
#include "lab/density/density.h"
#include "lab/divergence/divergence.h"
#include "lab/fisher/cases.h"
#include "lab/geodesicity/geodesicity.h"
#include "lab/hjb/hjb.h"
#include "lab/injectivity/injectivity.h"
#include "lab/integer/keycodes/key_codes.h"
#include "lab/library/library.h"
#include "lab/lookup/lookup.h"
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
#include "lab/resonance/resonance.h"
#include "lab/substitution/substitution.h"
#include "lab/varadhan/varadhan.h"
#include "lab/velocity/velocity.h"
#include "lab/verification/verification.h"
#include "lab/warp/warp.h"
#include "lab/worlds/truth.h"

/* One kind per line, so that additions merge. */
/* clang-format off */
const geodec_kind *const cli_lab_kinds[] = {
    &geodec_validity_published_kind,
    &geodec_records_published_kind,
    &geodec_onedecode_published_kind,
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
    &geodec_key_codes_kind,
    &geodec_world_truth_kind,
    &geodec_fisher_cases_kind,
    NULL,
};
/* clang-format on */
