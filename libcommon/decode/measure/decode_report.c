#include "measure/decode_report.h"

#include "geodec/err.h"
#include "io/json.h"
#include "linalg/lapack.h"
#include "measure/bench_internal.h"
#include "session/arithmetic.h"
#include "session/streamed_report.h"

static double per_second(int64_t n, double seconds) { return seconds > 0 ? (double)n / seconds : 0; }

static double share(int64_t a, int64_t b) { return b > 0 ? (double)a / (double)b : 0; }

static void put_tally(geodec_json_writer *w, const geodec_tally *t)
{
    geodec_json_put_i64(w, "proposed", t->proposed);
    geodec_json_put_i64(w, "reached", t->reached);
    geodec_json_put_i64(w, "accepted", t->accepted);
    geodec_json_put_i64(w, "first_rejected", t->rejected);
    geodec_json_put_f64(w, "acceptance", share(t->accepted, t->proposed));
    geodec_json_put_f64(w, "acceptance_reached", geodec_decode_acceptance(t));
}

static void put_drafts(geodec_json_writer *w, const geodec_decode_report *r)
{
    const geodec_decode_counters *c = &r->got->counters;
    geodec_json_begin_object(w, "drafts");
    put_tally(w, &c->total);
    geodec_json_end(w);
    geodec_json_put_f64(w, "mean_accepted", geodec_decode_mean_accepted(c));
    geodec_json_begin_array(w, "by_position");
    for (int i = 0; i < GEODEC_DRAFT_MAX && c->position[i].proposed > 0; i++) {
        geodec_json_begin_object(w, NULL);
        put_tally(w, &c->position[i]);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_begin_object(w, "by_source");
    for (int32_t i = 0; r->drafter && i < r->drafter->ops->n_sources; i++) {
        if (c->source[i].proposed == 0) continue;
        geodec_json_begin_object(w, r->drafter->ops->source_name[i]);
        put_tally(w, &c->source[i]);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    geodec_json_begin_array(w, "rounds_by_length");
    int last = GEODEC_DRAFT_MAX;
    while (last > 0 && c->length[last] == 0) last--;
    for (int i = 0; i <= last; i++) geodec_json_put_i64(w, NULL, c->length[i]);
    geodec_json_end(w);
}

/* What the rounds read, when experts stream. */
static void put_reads(geodec_json_writer *w, const geodec_decode_counters *c)
{
    const geodec_streamed_read *k = &c->reads;
    if (k->visits == 0) return;
    geodec_json_begin_object(w, "reads");
    geodec_json_put_f64(w, "experts_per_pass_and_layer", share(k->experts, k->visits));
    geodec_json_put_i64(w, "bytes", k->bytes);
    geodec_json_put_f64(w, "bytes_per_token", share(k->bytes, c->decided));
    geodec_json_put_i64(w, "bytes_useful", k->useful);
    geodec_json_put_i64(w, "bytes_of_rejected_rows", k->wasted);
    geodec_json_put_i64(w, "bytes_followed", k->read);
    geodec_json_put_i64(w, "bytes_plain", k->plain);
    geodec_json_end(w);
}

geodec_readiness geodec_decode_report_readiness(const geodec_decode_report *r)
{
    const geodec_model *m = geodec_session_model(r->session);
    const geodec_decode_counters *c = &r->got->counters;
    const geodec_decoded *a = r->got, *b = r->plain;
    geodec_readiness q = geodec_readiness_none();
    q.model = geodec_model_name(m);
    q.model_sha256 = geodec_model_fingerprint(m);
    q.tokenizer_sha256 = geodec_tokenizer_fingerprint(geodec_model_tokenizer(m));
    q.artifact_model_sha256 = r->artifact_model_sha256;
    q.drafter = geodec_drafter_name(r->drafter);
    q.flow_consistency = r->flow_consistency;
    q.flow_consistency_control = r->flow_consistency_shuffled;
    q.attnres = *geodec_session_attnres(r->session);
    q.configuration = r->command_line;
    q.gamma = r->options->gamma;
    q.adaptive = r->options->adaptive;
    q.prompts = 1;
    q.tokens = c->emitted;
    q.decided = c->decided;
    q.target_passes = c->target_passes;
    q.proposed = c->total.proposed;
    q.reached = c->total.reached;
    q.accepted = c->total.accepted;
    q.acceptance.value = share(c->total.accepted, c->total.proposed);
    q.tokens_per_pass = geodec_decode_tokens_per_pass(c);
    q.total_ms = 1e3 * c->total_seconds;
    q.prefill_ms = 1e3 * c->prompt_seconds;
    q.tok_per_s = per_second(c->decided, c->total_seconds);
    q.decode_tok_per_s = per_second(c->decided, c->total_seconds - c->prompt_seconds);
    if (!b) return q;
    q.exactness_mode = r->options->sampling.temperature > 0 ? "sampled" : "greedy";
    q.n_compared = a->n > b->n ? a->n : b->n;
    q.n_different = geodec__bench_differences(a, b, NULL);
    q.baseline_tok_per_s = per_second(b->counters.decided, b->counters.total_seconds - b->counters.prompt_seconds);
    if (q.baseline_tok_per_s > 0) q.speedup.value = q.decode_tok_per_s / q.baseline_tok_per_s;
    return q;
}

geodec_status geodec_decode_report_write(const char *path, const geodec_decode_report *r, const geodec_readiness *ready,
                                         geodec_err *err)
{
    geodec_json_writer *w = NULL;
    const geodec_decode_counters *c = &r->got->counters;
    const geodec_decode_options *o = r->options;
    GEODEC_PASS(geodec_json_create(path, &w, err));
    geodec_readiness_put(w, ready);
    geodec_json_put_str(w, "tool", r->tool);
    geodec_json_put_str(w, "tool_version", geodec_version());
    geodec_json_put_str(w, "command_line", r->command_line);
    geodec_json_put_u64(w, "seed", r->seed);
    geodec_json_put_str(w, "isa", geodec_kernels_isa_name(geodec_session_isa(r->session)));
    geodec_json_put_str(w, "arithmetic", geodec_arithmetic_name(geodec_session_arithmetic(r->session)));
    geodec_json_put_str(w, "kv", geodec_cache_kv_name(geodec_session_kv(r->session)));
    geodec_json_put_i64(w, "kv_bytes_per_token", geodec_session_kv_bytes(r->session));
    geodec_json_put_str(w, "blas_core", geodec_linalg_core());
    geodec_json_put_i64(w, "threads", r->threads);
    geodec_json_put_str(w, "sampling", o->sampling.temperature > 0 ? "sampled" : "greedy");
    geodec_json_put_i64(w, "tree", o->budget);
    geodec_json_put_i64(w, "prompt_tokens", r->n_prompt);
    geodec_json_put_str(w, "end", geodec_decode_end_name(r->got->end));
    geodec_json_put_f64(w, "draft_ms", 1e3 * c->draft_seconds);
    geodec_json_put_f64(w, "verify_ms", 1e3 * c->verify_seconds);
    geodec_json_put_i64(w, "target_rows", c->target_rows);
    geodec_json_put_i64(w, "prompt_passes", c->prompt_passes);
    geodec_json_put_i64(w, "decided", c->decided);
    put_drafts(w, r);
    put_reads(w, c);
    geodec_streamed_report_put(w, geodec_session_model(r->session));
    if (o->adaptive && o->cost.seconds > 0) {
        geodec_json_begin_array(w, "pass_cost"); /* v(b), b = 1, 2, .. */
        for (int32_t b = 1; b <= o->cost.n; b++) geodec_json_put_f64(w, NULL, o->cost.v[b]);
        geodec_json_end(w);
    }
    GEODEC_PASS(geodec_json_commit(w, err));
    return GEODEC_OK;
}
