#include "measure/readiness.h"

#include "base/names_internal.h"
#include "io/json.h"

#include <math.h>
#include <string.h>

enum { SCHEMA_VERSION = 2 }; /* version 1 had the flow map's consistency as axiom */

GEODEC__NAME(geodec_readiness_name, geodec_readiness_status, "not_ready", "degraded_geodesic", "hybrid_ready",
             "geodesic_ready")

geodec_readiness geodec_readiness_none(void)
{
    const geodec_estimate none = {NAN, NAN, NAN};
    return (geodec_readiness){.configuration = "",
                              .model = "",
                              .model_sha256 = "",
                              .tokenizer_sha256 = "",
                              .drafter = "none",
                              .artifact_model_sha256 = "",
                              .exactness_mode = "not compared",
                              .acceptance = none,
                              .control_acceptance = none,
                              .tokens_per_pass = NAN,
                              .total_ms = NAN,
                              .prefill_ms = NAN,
                              .tok_per_s = NAN,
                              .decode_tok_per_s = NAN,
                              .baseline_tok_per_s = NAN,
                              .speedup = none,
                              .projected_speedup = NAN,
                              .intrinsic_dim = NAN,
                              .consistency = NAN,
                              .consistency_control = NAN,
                              .flow_consistency = NAN,
                              .flow_consistency_control = NAN};
}

/* Comparisons with NaN are false, so a number that was not measured does not pass. */
geodec_readiness_gate geodec_readiness_conditions(const geodec_readiness *r)
{
    return (geodec_readiness_gate){
        .fingerprints_equal = r->model_sha256[0] != '\0' && strcmp(r->model_sha256, r->artifact_model_sha256) == 0,
        .exact = r->n_compared > 0 && r->n_different == 0,
        .above_control = r->control && r->acceptance.low > r->control_acceptance.value,
        .fewer_passes = r->tokens_per_pass > 1,
        .faster = r->speedup.low > 1,
    };
}

geodec_readiness_status geodec_readiness_judge(const geodec_readiness *r)
{
    const geodec_readiness_gate g = geodec_readiness_conditions(r);
    if (!g.exact) return GEODEC_NOT_READY;
    if (!g.fewer_passes) return GEODEC_DEGRADED_GEODESIC;
    return g.fingerprints_equal && g.above_control && g.faster ? GEODEC_GEODESIC_READY : GEODEC_HYBRID_READY;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static void put_interval(geodec_json_writer *w, const char *name, const char *ci, const geodec_estimate *v)
{
    geodec_json_put_f64(w, name, v->value);
    geodec_json_begin_array(w, ci);
    geodec_json_put_f64(w, NULL, v->low);
    geodec_json_put_f64(w, NULL, v->high);
    geodec_json_end(w);
}

/* damp and depth_attn under the published names, the full setting under a name of Geodec. */
static void put_attnres(geodec_json_writer *w, const geodec_attnres *a)
{
    char text[GEODEC_ATTNRES_TEXT];
    geodec_json_begin_object(w, "attnres");
    geodec_json_put_bool(w, "enabled", a->damp > 0);
    geodec_json_put_f64(w, "strength", a->damp);
    geodec_json_end(w);
    geodec_json_begin_object(w, "depth_attention");
    geodec_json_put_bool(w, "enabled", a->depth_attn > 0);
    geodec_json_put_f64(w, "strength", a->depth_attn);
    geodec_json_put_i64(w, "window", a->depth_attn > 0 ? a->window : 0);
    geodec_json_end(w);
    geodec_attnres_text(a, text);
    geodec_json_put_str(w, "attnres_options", text);
}

static void put_configuration(geodec_json_writer *w, const geodec_readiness *r)
{
    const char *const line[] = {r->configuration, r->model_sha256, r->tokenizer_sha256, r->artifact_model_sha256};
    char hex[GEODEC_SHA256_HEX];
    geodec_sha256 h;
    if (!r->configuration[0]) {
        geodec_json_put_null(w, "config_sha256");
        return;
    }
    geodec_sha256_init(&h);
    for (size_t i = 0; i < sizeof line / sizeof *line; i++) {
        geodec_sha256_update(&h, line[i], strlen(line[i]));
        geodec_sha256_update(&h, "\n", 1);
    }
    geodec_sha256_hex(&h, hex);
    geodec_json_put_str(w, "config_sha256", hex);
}

static double share(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : (double)NAN; }

/* ---- the published modes ---------------------------------------------------------------------------------------- */

/* True if `name` is one of the drafters of a mixture ("ngram+flowmap"; "oracle:0.5" is oracle). */
static bool drafts_with(const char *mixture, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = mixture; at; at = strchr(at, '+')) {
        at += *at == '+';
        if (strncmp(at, name, n) == 0 && strchr("+:", at[n])) return true;
    }
    return false;
}

/* Strengths are written with two decimals. */
static bool strength_is(double strength, double wanted) { return fabs(strength - wanted) < 0.005; }

geodec_ott_modes geodec_readiness_modes(const geodec_readiness *r)
{
    enum { PERFECT_BATCH = 16 };
    const geodec_attnres *a = &r->attnres;
    const bool geometry = drafts_with(r->drafter, "flowmap") || drafts_with(r->drafter, "rollout");
    return (geodec_ott_modes){
        .full = geometry && drafts_with(r->drafter, "onedecode") && strength_is(a->damp, 0.35) && a->depth_attn == 0,
        .theorem = strength_is(a->damp, 0.45) && a->depth_attn > 0,
        .perfect = strcmp(r->drafter, "oracle") == 0 && r->gamma == PERFECT_BATCH && !r->adaptive &&
                   strcmp(r->exactness_mode, "greedy") == 0,
    };
}

/* The members of the published report, under their names and with correct counts: a runtime token is a draft that the
 * model accepted, a local token is one that the model decided itself. */
static void put_papers(geodec_json_writer *w, const geodec_readiness *r, geodec_readiness_status status, bool exact)
{
    const int64_t rejects = r->reached - r->accepted, local = r->decided - r->accepted;
    const geodec_ott_modes modes = geodec_readiness_modes(r);
    geodec_json_put_bool(w, "ott_full", modes.full);
    geodec_json_put_bool(w, "ott_theorem", modes.theorem);
    geodec_json_put_bool(w, "ott_perfect", modes.perfect);
    geodec_json_put_bool(w, "ready", status == GEODEC_GEODESIC_READY);
    geodec_json_put_bool(w, "hybrid_ready", status >= GEODEC_HYBRID_READY);
    geodec_json_put_bool(w, "degraded_geodesic", status == GEODEC_DEGRADED_GEODESIC);
    geodec_json_put_str(w, "status", geodec_readiness_name(status));
    geodec_json_put_str(w, "model", r->model);
    geodec_json_begin_object(w, "generation");
    geodec_json_put_i64(w, "tokens", r->tokens);
    geodec_json_put_f64(w, "total_ms", r->total_ms);
    geodec_json_put_f64(w, "tok_per_s", r->tok_per_s);
    geodec_json_put_f64(w, "prefill_ms", r->prefill_ms);
    geodec_json_put_f64(w, "decode_tok_per_s", r->decode_tok_per_s);
    geodec_json_end(w);
    geodec_json_begin_object(w, "geodesic");
    geodec_json_put_bool(w, "enabled", strcmp(r->drafter, "none") != 0);
    geodec_json_put_i64(w, "runtime_tokens", r->accepted);
    geodec_json_put_i64(w, "local_tokens", local);
    geodec_json_put_i64(w, "runtime_rejects", rejects);
    geodec_json_put_f64(w, "runtime_share", share(r->accepted, r->accepted + local));
    geodec_json_put_f64(w, "runtime_reject_rate", share(rejects, r->accepted + rejects));
    geodec_json_put_bool(w, "quality_gate_pass", exact);
    geodec_json_put_i64(w, "generated_tokens", r->tokens);
    geodec_json_put_bool(w, "fallback_used", false);
    geodec_json_end(w);
    geodec_json_begin_object(w, "axiom");
    geodec_json_put_bool(w, "ran", isfinite(r->consistency));
    geodec_json_put_f64(w, "intrinsic_dim", r->intrinsic_dim);
    geodec_json_put_f64(w, "consistency", r->consistency);
    geodec_json_put_f64(w, "consistency_shuffled", r->consistency_control);
    geodec_json_put_f64(w, "projected_speedup", r->projected_speedup);
    geodec_json_put_f64(w, "total_ms", (double)NAN); /* measured when the artifact is made, not here */
    geodec_json_end(w);
    geodec_json_begin_object(w, "flow_map");
    geodec_json_put_f64(w, "consistency", r->flow_consistency);
    geodec_json_put_f64(w, "consistency_shuffled", r->flow_consistency_control);
    geodec_json_end(w);
    put_attnres(w, &r->attnres);
}

void geodec_readiness_put(geodec_json_writer *w, const geodec_readiness *r)
{
    const geodec_readiness_gate g = geodec_readiness_conditions(r);
    geodec_json_put_i64(w, "schema_version", SCHEMA_VERSION);
    put_papers(w, r, geodec_readiness_judge(r), g.exact);
    geodec_json_put_str(w, "model_sha256", r->model_sha256);
    put_configuration(w, r);
    geodec_json_put_str(w, "tokenizer_sha256", r->tokenizer_sha256);
    geodec_json_put_str(w, "drafter", r->drafter);
    geodec_json_put_i64(w, "gamma", r->gamma);
    geodec_json_put_bool(w, "gamma_adaptive", r->adaptive);
    geodec_json_put_i64(w, "prompts", r->prompts);
    geodec_json_put_i64(w, "target_passes", r->target_passes);
    geodec_json_put_f64(w, "tokens_per_pass", r->tokens_per_pass);
    geodec_json_put_i64(w, "proposed", r->proposed);
    geodec_json_put_i64(w, "accepted", r->accepted);
    put_interval(w, "acceptance", "acceptance_ci95", &r->acceptance);
    if (r->control)
        geodec_json_put_str(w, "control", r->control);
    else
        geodec_json_put_null(w, "control");
    put_interval(w, "control_acceptance", "control_acceptance_ci95", &r->control_acceptance);
    geodec_json_begin_object(w, "exactness");
    geodec_json_put_str(w, "mode", r->exactness_mode);
    geodec_json_put_bool(w, "verified_bool", g.exact);
    geodec_json_put_i64(w, "n_compared", r->n_compared);
    geodec_json_put_i64(w, "n_different", r->n_different);
    geodec_json_end(w);
    geodec_json_put_f64(w, "baseline_tok_per_s", r->baseline_tok_per_s);
    put_interval(w, "speedup", "speedup_ci95", &r->speedup);
    geodec_json_begin_object(w, "gate");
    geodec_json_put_bool(w, "fingerprints_equal", g.fingerprints_equal);
    geodec_json_put_bool(w, "exact", g.exact);
    geodec_json_put_bool(w, "acceptance_above_control", g.above_control);
    geodec_json_put_bool(w, "tokens_per_pass_above_1", g.fewer_passes);
    geodec_json_put_bool(w, "speedup_above_1", g.faster);
    geodec_json_end(w);
}

geodec_status geodec_readiness_write(const char *path, const geodec_readiness *r, geodec_err *err)
{
    geodec_json_writer *w = NULL;
    GEODEC_PASS(geodec_json_create(path, &w, err));
    geodec_readiness_put(w, r);
    GEODEC_PASS(geodec_json_commit(w, err));
    return GEODEC_OK;
}

/* ---- from a bench ----------------------------------------------------------------------------------------------- */

static const geodec_bench_row *chain_row(const geodec_bench_counts *c, int32_t d, int32_t gamma)
{
    for (int64_t i = 0; i < c->n; i++) {
        const geodec_bench_row *r = &c->row[i];
        if (r->drafter == d && r->gamma == gamma && r->budget == 0 && !r->sampled && !r->every_position) return r;
    }
    return NULL;
}

static const geodec_bench_timing_row *best_speed(const geodec_bench_timing *s, int32_t d)
{
    const geodec_bench_timing_row *best = NULL;
    for (int64_t i = 0; i < s->n; i++) {
        const geodec_bench_timing_row *r = &s->row[i];
        if (r->drafter == d && !r->adaptive && r->budget == 0 && (!best || r->predicted > best->predicted)) best = r;
    }
    return best;
}

/* All resamples of one prompt are that prompt: the interval has width zero and would pass any condition. */
static geodec_estimate interval_of(geodec_estimate v, int64_t prompts)
{
    if (prompts < 2) v.low = v.high = (double)NAN;
    return v;
}

static const char *mode_name(bool greedy, bool sampled)
{
    return greedy && sampled ? "greedy and sampled" : greedy ? "greedy" : sampled ? "sampled" : "not compared";
}

geodec_status geodec_readiness_of_bench(const geodec_bench_plan *plan, const geodec_bench_counts *c,
                                        const geodec_bench_timing *s, int32_t d, geodec_readiness *out, geodec_err *err)
{
    geodec_readiness r = geodec_readiness_none();
    if (d < 0 || d >= plan->n_drafters) GEODEC_FAIL(GEODEC_INVAL, "drafter %d of %d", d, plan->n_drafters);
    const geodec_bench_timing_row *speed = best_speed(s, d);
    const geodec_bench_row *row = chain_row(c, d, speed ? speed->gamma : plan->gamma[plan->n_gammas - 1]);
    if (!row) GEODEC_FAIL(GEODEC_INVAL, "no greedy drafts of %s were counted", plan->drafter[d].name);
    r.drafter = plan->drafter[d].name;
    r.gamma = row->gamma;
    r.prompts = plan->prompts->n;
    r.tokens = r.decided = row->decided;
    r.target_passes = row->passes;
    for (int32_t k = 0; k < row->gamma; k++) {
        r.proposed += row->position[k].proposed;
        r.reached += row->position[k].reached;
        r.accepted += row->position[k].accepted;
    }
    r.acceptance = interval_of(row->accepted_share, r.prompts);
    r.tokens_per_pass = row->tokens_per_pass.value;
    bool greedy = false, sampled = false;
    for (int64_t i = 0; i < c->n; i++) {
        if (c->row[i].drafter != d) continue;
        r.n_compared += c->row[i].compared;
        r.n_different += c->row[i].mismatches;
        if (c->row[i].compared == 0) continue; /* sampled by the drafter: different tokens of the same distribution */
        greedy = greedy || !c->row[i].sampled;
        sampled = sampled || c->row[i].sampled;
    }
    r.exactness_mode = mode_name(greedy, sampled);
    for (int32_t k = 0; k < plan->n_drafters; k++) {
        const geodec_bench_row *control = chain_row(c, k, row->gamma);
        if (k == d || !control || strcmp(plan->drafter[k].name, "bigram") != 0) continue;
        r.control = plan->drafter[k].name;
        r.control_acceptance = interval_of(control->accepted_share, r.prompts);
    }
    if (speed) {
        r.tok_per_s = r.decode_tok_per_s = speed->tok_per_s;
        r.baseline_tok_per_s = speed->plain_tok_per_s;
        r.speedup = interval_of(speed->speedup, s->prompts);
        r.projected_speedup = speed->predicted;
    }
    *out = r;
    return GEODEC_OK;
}
