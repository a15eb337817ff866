#include "session/streamed_report.h"

#include "base/memory_limit.h"
#include "session/streamed_internal.h"

static double share(double a, double b) { return b > 0 ? a / b : 0; }

static void put_uses(geodec_json_writer *w, const geodec_slots_counters *k)
{
    geodec_json_put_i64(w, "needed", k->needed);
    geodec_json_put_i64(w, "resident", k->resident);
    geodec_json_put_i64(w, "in_time", k->in_time);
    geodec_json_put_i64(w, "late", k->late);
    geodec_json_put_i64(w, "missed", k->missed);
    geodec_json_put_i64(w, "demand_reads", k->demand_reads);
    geodec_json_put_i64(w, "prefetch_reads", k->prefetch_reads);
    geodec_json_put_i64(w, "wasted", k->wasted);
    geodec_json_put_i64(w, "cancelled", k->cancelled);
    geodec_json_put_i64(w, "evictions", k->evictions);
    geodec_json_put_i64(w, "failed", k->failed);
}

static void put_plan(geodec_json_writer *w, const geodec_streamed_plan *p, const geodec_streaming *o)
{
    geodec_json_put_i64(w, "budget", o->ram);
    geodec_json_put_i64(w, "resident_bytes", p->resident);
    geodec_json_put_i64(w, "session_bytes", p->session);
    geodec_json_put_i64(w, "slot_bytes", p->slot);
    geodec_json_put_i64(w, "slots", p->slots);
    geodec_json_put_i64(w, "blobs", p->experts);
    geodec_json_put_i64(w, "routed_layers", p->layers);
    geodec_json_put_i64(w, "experts_used", p->n_expert_used);
    geodec_json_put_str(w, "evict", geodec_eviction_name(o->eviction));
    geodec_json_put_str(w, "ahead", geodec_streamed_lookahead_name(o->lookahead));
    geodec_json_put_f64(w, "prefetch_least", (double)o->prefetch_least);
    geodec_json_put_i64(w, "throttle", o->disk.throttle);
}

/* Microseconds of a pass, of those that were timed, and the share of asking in a mean pass. */
static void put_foretelling(geodec_json_writer *w, const geodec__ahead *a, double pass)
{
    const double passes = (double)a->timed, asking = share(a->before + a->between - a->telling, passes);
    geodec_json_put_f64(w, "foretell_us_per_pass", 1e6 * share(a->before + a->between, passes));
    geodec_json_put_f64(w, "ask_us_per_pass", 1e6 * asking);
    geodec_json_put_f64(w, "ask_share", share(asking, pass));
}

/* A column for each quantity: points of `passes_each` passes. */
static void put_timeline(geodec_json_writer *w, const geodec_timeline *t)
{
    geodec_json_begin_object(w, "timeline");
    geodec_json_put_i64(w, "passes_each", t->stride);
    geodec_json_begin_array(w, "rows");
    for (int32_t i = 0; i < t->n; i++) geodec_json_put_i64(w, NULL, t->point[i].rows);
    geodec_json_end(w);
    geodec_json_begin_array(w, "bytes_read");
    for (int32_t i = 0; i < t->n; i++) geodec_json_put_i64(w, NULL, t->point[i].bytes);
    geodec_json_end(w);
    geodec_json_begin_array(w, "seconds");
    for (int32_t i = 0; i < t->n; i++) geodec_json_put_f64(w, NULL, t->point[i].seconds);
    geodec_json_end(w);
    geodec_json_begin_array(w, "stall_seconds");
    for (int32_t i = 0; i < t->n; i++) geodec_json_put_f64(w, NULL, t->point[i].stall);
    geodec_json_end(w);
    geodec_json_end(w);
}

/* The report of ternary experts: how reads were decided, and what differences took. */
static void put_ternary(geodec_json_writer *w, const geodec__streamed *t, const geodec_stream_counters *k)
{
    geodec_json_put_str(w, "ternary", geodec_streamed_ternary_name(t->options.ternary));
    geodec_json_put_str(w, "differences", geodec_streamed_differences_name(t->options.differences));
    geodec_json_put_i64(w, "read_differences", k->slots.differences);
    geodec_json_put_i64(w, "read_alone", k->slots.alone);
    geodec_json_put_i64(w, "read_cheaper", k->slots.cheaper);
    geodec_json_put_i64(w, "difference_bytes", k->difference_bytes);
    geodec_json_put_i64(w, "applied", k->applied);
    geodec_json_put_i64(w, "checked", k->checked);
    geodec_json_put_f64(w, "apply_seconds", k->apply);
}

void geodec_streamed_report_put(geodec_json_writer *w, const geodec_model *m)
{
    geodec_stream_counters k;
    if (!geodec_streamed_counted(m, &k)) return;
    const geodec__streamed *t = m->streamed;
    const double rows = (double)k.rows;
    geodec_json_begin_object(w, "experts");
    put_plan(w, &t->plan, &t->options);
    geodec_json_put_i64(w, "rows", k.rows);
    geodec_json_put_i64(w, "passes", k.slots.passes);
    put_uses(w, &k.slots);
    geodec_json_put_i64(w, "bytes_read", k.disk.bytes);
    if (t->source.trits) put_ternary(w, t, &k);
    geodec_json_put_f64(w, "bytes_per_row", share((double)k.disk.bytes, rows));
    geodec_json_put_f64(w, "pass_seconds", k.passes);
    geodec_json_put_f64(w, "stall_seconds", k.stall);
    geodec_json_put_i64(w, "slots_given_back", k.given);
    geodec_json_put_f64(w, "stall_ms_per_row", 1e3 * share(k.stall, rows));
    put_foretelling(w, t->ahead, share(k.passes, (double)k.slots.passes));
    geodec_json_put_f64(w, "disk_busy_seconds", k.disk.busy);
    geodec_json_put_f64(w, "disk_bytes_per_second", share((double)k.disk.bytes, k.disk.busy));
    geodec_json_put_f64(w, "read_latency_mean", share(k.disk.latency_sum, (double)k.disk.reads));
    geodec_json_put_f64(w, "read_latency_max", k.disk.latency_max);
    geodec_json_put_i64(w, "resident_peak", geodec_memory_limit_peak());
    geodec_json_begin_array(w, "layers");
    for (int32_t i = 0; i < t->n_layer; i++) {
        const geodec_slots_counters layer = geodec_stream_counted_layer(t->stream, i);
        geodec_json_begin_object(w, NULL);
        put_uses(w, &layer);
        geodec_json_end(w);
    }
    geodec_json_end(w);
    put_timeline(w, geodec_stream_timeline(t->stream));
    geodec_json_end(w);
}

geodec_status geodec_streamed_report_write(const char *path, const geodec_model *m, const char *command,
                                           geodec_err *err)
{
    geodec_json_writer *w;
    GEODEC_PASS(geodec_json_create(path, &w, err));
    geodec_json_put_str(w, "model", geodec_model_name(m));
    geodec_json_put_str(w, "command", command);
    geodec_streamed_report_put(w, m);
    GEODEC_PASS(geodec_json_commit(w, err));
    return GEODEC_OK;
}
