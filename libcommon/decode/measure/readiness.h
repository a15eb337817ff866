/* The readiness report: the properties of a decoder under the published field names, with conditions that can fail.
 *
 * The published runtime (geodesic speculative decoding, 2026) called itself geodesic_ready when runtime_share >= 0.08
 * and a consistency that the program itself had set was >= 0.85. The verifier's own argmax counted as a draft, so both
 * conditions held by construction. The conditions here are:
 *
 *   geodesic_ready      the artifacts' fingerprints equal those of the model; the output was compared with plain
 *                       decoding and is equal; the lower end of the acceptance interval lies above the acceptance
 *                       of the bigram control; tokens_per_pass > 1; the lower end of the speed-up interval is above 1
 *   hybrid_ready        exact and tokens_per_pass > 1
 *   degraded_geodesic   exact only
 *   not_ready           otherwise: a difference, or nothing was compared
 *
 * A number that was not measured is NaN, written as null, and fails every condition on it. The interval of a single
 * prompt also fails, because it does not generalise. */
#ifndef GEODEC_MEASURE_READINESS_H
#define GEODEC_MEASURE_READINESS_H

#include "base/err.h"
#include "measure/bench.h"

typedef enum geodec_readiness_status {
    GEODEC_NOT_READY,
    GEODEC_DEGRADED_GEODESIC,
    GEODEC_HYBRID_READY,
    GEODEC_GEODESIC_READY,
} geodec_readiness_status;
const char *geodec_readiness_name(geodec_readiness_status s); /* "geodesic_ready", .. */

typedef struct geodec_readiness {
    const char *model, *model_sha256, *tokenizer_sha256, *drafter; /* borrowed */
    const char *artifact_model_sha256;                             /* hash of the model of the drafter's artifact; "" =
                                                                      no artifact */
    /* The canonical command line of the run; "" = not known. config_sha256 is the hash of it and of the fingerprints of
     * model, tokenizer and the artifact's model, one per line; null where the command line is not known. */
    const char *configuration;
    int32_t gamma;
    bool adaptive;
    geodec_attnres attnres; /* of the deciding model; "attnres" is damp, "depth_attention" is depth_attn */
    /* exactness: output tokens compared with plain decoding, and how many differ */
    const char *exactness_mode; /* "greedy", "sampled", "greedy and sampled" */
    int64_t n_compared, n_different;
    /* counted */
    int64_t prompts, tokens, target_passes, decided, proposed, reached, accepted;
    geodec_estimate acceptance;         /* accepted / proposed; low and high NaN from a single prompt */
    const char *control;                /* name of the control, "bigram"; NULL = there was none */
    geodec_estimate control_acceptance; /* acceptance of the control at the same draft length on the same prompts */
    double tokens_per_pass;
    /* timed */
    double total_ms, prefill_ms, tok_per_s, decode_tok_per_s, baseline_tok_per_s;
    geodec_estimate speedup;
    double projected_speedup; /* closed form (decode/predict.h) */
    /* of the artifacts; NaN where they hold none. The report's "axiom" is of the metric
     * (lab/consistency/consistency.h): the cloud's integer dimension, the share of held-out states at which the metric
     * of other texts is right, and the same with its matrices permuted; "flow_map" is of the flow map (flowmap/map.h).
     */
    double intrinsic_dim, consistency, consistency_control;
    double flow_consistency, flow_consistency_control;
} geodec_readiness;

/* Nothing measured: counts 0, numbers NaN, texts "". */
geodec_readiness geodec_readiness_none(void);

typedef struct geodec_readiness_gate {
    bool fingerprints_equal, exact, above_control, fewer_passes, faster;
} geodec_readiness_gate;
/* Evaluates the conditions, and the status that follows from them. */
geodec_readiness_gate geodec_readiness_conditions(const geodec_readiness *r);
geodec_readiness_status geodec_readiness_judge(const geodec_readiness *r);

/* Whether this run corresponds to a mode of the published runtime, judged by the options that the mode sets:
 *   full     --ott-full: a geometric drafter (flowmap or rollout) and onedecode, attnres damp:0.35
 *   theorem  --ott-theorem: attnres damp:0.45 and depth_attn of any strength
 *   perfect  --ott-perfect: drafts of 16 tokens that are the model's own greedy text, replayed (drafter oracle). Its
 *            acceptance is 1 by construction: true means that the run is an upper bound, not a drafter. */
typedef struct geodec_ott_modes {
    bool full, theorem, perfect;
} geodec_ott_modes;
geodec_ott_modes geodec_readiness_modes(const geodec_readiness *r);

struct geodec_json_writer;
/* Writes the members of the report into the current object. */
void geodec_readiness_put(struct geodec_json_writer *w, const geodec_readiness *r);
geodec_status geodec_readiness_write(const char *path, const geodec_readiness *r, geodec_err *err) GEODEC_MUST_USE;

/* Fills the counts and times from a bench that includes the drafter bigram: drafter d, greedy, at the fixed draft
 * length with the largest predicted speed-up (the largest length when s has no rows). Exactness covers every row of the
 * drafter. The caller sets the names and fingerprints of model and artifacts. GEODEC_INVAL: the bench has no greedy
 * chain of d. */
geodec_status geodec_readiness_of_bench(const geodec_bench_plan *plan, const geodec_bench_counts *c,
                                        const geodec_bench_timing *s, int32_t d, geodec_readiness *out,
                                        geodec_err *err) GEODEC_MUST_USE;

#endif
