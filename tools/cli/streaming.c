#include "cli/streaming.h"

#include "base/clock.h"
#include "base/mapped.h"
#include "base/memory_limit.h"
#include "cli/live.h"
#include "cli/report.h"
#include "foresight/foreseer.h"
#include "session/store_golden.h"
#include "session/streamed_report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

streaming_words streaming = {.io = "direct"};
static const char *report, *map_path, *foresight_path; /* settings of --experts */
static bool ahead_given, evict_given, check;
static geodec_foreseer_map map; /* until the program ends */

/* What auto leaves of the limit: the program, its libraries and the vocabulary. */
static const int64_t MARGIN = 96 << 20;

static geodec_status read_size(const char *text, int64_t *out, geodec_err *err)
{
    char *end;
    const double v = strtod(text, &end);
    double unit = 1;
    if (*end == 'k' || *end == 'K')
        unit = 1e3;
    else if (*end == 'M')
        unit = 1e6;
    else if (*end == 'G')
        unit = 1e9;
    if (unit > 1) end++;
    if (end == text || *end || !(v > 0) || v * unit > 1e15)
        GEODEC_FAIL(GEODEC_INVAL, "--ram %.40s: give a size such as 900M or 1.5G, or auto", text);
    *out = (int64_t)(v * unit);
    return GEODEC_OK;
}

static geodec_status read_ram(const cli *c, int64_t *out, geodec_err *err)
{
    if (strcmp(streaming.ram, "auto") != 0) GEODEC_PASS(read_size(streaming.ram, out, err));
    if (strcmp(streaming.ram, "auto") != 0) return GEODEC_OK;
    const geodec_memory_limit l = geodec_memory_limit_of("");
    const int64_t room = geodec_memory_limit_room(&l);
    const bool group = room == l.group_room;
    if (room < 0) GEODEC_FAIL(GEODEC_LIMIT, "--ram auto: no limit of memory is known; give a size");
    if (room <= MARGIN && group)
        GEODEC_FAIL(GEODEC_LIMIT,
                    "--ram auto: the control group has %.0f of %.0f MB in use; %.0f MB are too few for the program",
                    (double)l.tight_use * 1e-6, (double)l.tight_limit * 1e-6, (double)room * 1e-6);
    if (room <= MARGIN)
        GEODEC_FAIL(GEODEC_LIMIT, "--ram auto: %.0f MB of available memory are too few for the program",
                    (double)room * 1e-6);
    *out = room - MARGIN;
    if (group)
        cli_say(c, "--ram auto: %.0f MB (limit of the control group %.0f MB, in use %.0f MB, %.0f MB for the program)",
                (double)*out * 1e-6, (double)l.tight_limit * 1e-6, (double)l.tight_use * 1e-6, (double)MARGIN * 1e-6);
    else
        cli_say(c, "--ram auto: %.0f MB (available memory less %.0f MB for the program)", (double)*out * 1e-6,
                (double)MARGIN * 1e-6);
    return GEODEC_OK;
}

/* One setting of --experts: name=value. */
static geodec_status read_setting(char *name, geodec_streaming *o, geodec_err *err)
{
    char *const value = strchr(name, '='), *end = NULL;
    if (!value) GEODEC_FAIL(GEODEC_INVAL, "--experts: '%.40s' has no value", name);
    *value = 0;
    const char *v = value + 1;
    const double number = strtod(v, &end);
    const bool is_number = end != v && !*end && number >= 0 && number <= 1e9;
    if (strcmp(name, "evict") == 0) {
        evict_given = true;
        o->eviction = geodec_eviction_named(v);
        if (o->eviction == GEODEC_EVICTION_KINDS || o->eviction == GEODEC_EVICTION_BELADY)
            GEODEC_FAIL(GEODEC_INVAL, "--experts: no policy '%.40s' for a run", v);
    } else if (strcmp(name, "ahead") == 0) {
        ahead_given = true;
        o->lookahead = geodec_streamed_lookahead_named(v);
        if (o->lookahead == GEODEC_LOOKAHEAD_KINDS) GEODEC_FAIL(GEODEC_INVAL, "--experts: no predictor '%.40s'", v);
    } else if (strcmp(name, "price") == 0) {
        o->price = geodec_streamed_price_named(v);
        if (o->price == GEODEC_STREAMED_PRICE_KINDS) GEODEC_FAIL(GEODEC_INVAL, "--experts: no price '%.40s'", v);
    } else if (strcmp(name, "differences") == 0) {
        o->differences = geodec_streamed_differences_named(v);
        if (o->differences == GEODEC_STREAMED_DIFFERENCES_KINDS)
            GEODEC_FAIL(GEODEC_INVAL, "--experts: differences '%.40s': adaptive, off or always", v);
    } else if (strcmp(name, "verify") == 0 && (strcmp(v, "all") == 0 || strcmp(v, "sample") == 0)) {
        o->check_differences = strcmp(v, "all") == 0;
    } else if (strcmp(name, "quota") == 0 && (strcmp(v, "yes") == 0 || strcmp(v, "no") == 0)) {
        o->shared = strcmp(v, "no") == 0;
    } else if (strcmp(name, "engine") == 0 && (strcmp(v, "io_uring") == 0 || strcmp(v, "threads") == 0)) {
        o->disk.engine = strcmp(v, "threads") == 0 ? GEODEC_DISK_THREADS : GEODEC_DISK_URING;
    } else if (strcmp(name, "check") == 0 && (strcmp(v, "yes") == 0 || strcmp(v, "no") == 0)) {
        check = strcmp(v, "yes") == 0;
    } else if (strcmp(name, "least") == 0 && is_number && number <= 1) {
        o->prefetch_least = (float)number;
    } else if (strcmp(name, "most") == 0 && is_number) {
        o->prefetch_most = (int32_t)number;
    } else if (strcmp(name, "slots") == 0 && is_number && number >= 1) {
        o->slots = (int32_t)number;
    } else if (strcmp(name, "map") == 0 && *v) {
        map_path = v;
    } else if (strcmp(name, "foresight") == 0 && *v) {
        foresight_path = v;
    } else if (strcmp(name, "report") == 0 && *v) {
        report = v;
    } else if (strcmp(name, "usage") == 0 && *v) {
        o->usage = v;
    } else if (strcmp(name, "trace") == 0 && *v) {
        o->trace = v;
    } else {
        GEODEC_FAIL(GEODEC_INVAL, "--experts: '%.40s=%.40s' is no setting", name, v);
    }
    return GEODEC_OK;
}

static geodec_status read_settings(geodec_streaming *o, geodec_err *err)
{
    static char text[1024];
    char *rest = NULL;
    if (!streaming.experts) return GEODEC_OK;
    if (strlen(streaming.experts) >= sizeof text) GEODEC_FAIL(GEODEC_INVAL, "--experts: the text is too long");
    (void)snprintf(text, sizeof text, "%s", streaming.experts);
    for (char *name = strtok_r(text, ",", &rest); name; name = strtok_r(NULL, ",", &rest))
        GEODEC_PASS(read_setting(name, o, err));
    return GEODEC_OK;
}

/* Ends the program: the plan is all that was asked for. */
static void print_plan(void *ctx, const geodec_streamed_plan *p)
{
    const geodec_streaming *o = ctx;
    printf("budget\t%lld\n", (long long)o->ram);
    printf("smallest budget\t%lld\n", (long long)p->smallest);
    if (p->allowed > 0) printf("largest budget in this control group\t%lld\n", (long long)p->allowed);
    printf("resident weights\t%lld\n", (long long)p->resident);
    printf("cache and work space\t%lld\n", (long long)p->session);
    printf("experts\t%lld\n", (long long)p->experts);
    printf("bytes of an expert in memory\t%lld\n", (long long)p->slot);
    printf("slots\t%d\n", p->slots);
    printf("slots of each layer\t%d of %d\n", p->per_layer, p->n_expert);
    printf("bytes read for a token, uniform routing\t%.0f\n", p->token);
    if (o->disk.throttle > 0 && p->token > 0)
        printf("tokens a second at %.0f MB/s, without computing\t%.2f\n", (double)o->disk.throttle * 1e-6,
               (double)o->disk.throttle / p->token);
    geodec_mapped_partial_unlink();
    report_exit(fflush(stdout) == 0 && p->slots >= p->least ? 0 : geodec_status_exit(GEODEC_LIMIT));
}

/* ---- while it runs ------------------------------------------------------------------------------------------------
 */

static const double LIVE_SECONDS = 0.5; /* of a line */
static const geodec_model *live;        /* NULL: no line is shown */

/* A line about the time since the line before, if LIVE_SECONDS have passed; else that line again. True: a new one. */
static bool live_text(const char **text)
{
    static char line[160];
    static geodec_stream_counters before;
    static double since;
    geodec_stream_counters k;
    const double now = geodec_clock_seconds();
    *text = line;
    if (!live || now - since < LIVE_SECONDS || !geodec_streamed_counted(live, &k)) return false;
    const double needed = (double)(k.slots.needed - before.slots.needed), seconds = now - since;
    const double passes = k.passes - before.passes;
    if (since > 0 && needed > 0 && passes > 0)
        (void)snprintf(
            line, sizeof line, "experts: hit %.0f %%, stall %.0f %%, %.0f MB/s, %.1f tokens/s",
            100 * (double)(k.slots.resident + k.slots.in_time - before.slots.resident - before.slots.in_time) / needed,
            100 * (k.stall - before.stall) / passes, (double)(k.disk.bytes - before.disk.bytes) * 1e-6 / seconds,
            (double)(k.rows - before.rows) / seconds);
    before = k;
    since = now;
    return line[0] != 0;
}

static void note_live(char *text, size_t n)
{
    const char *line;
    (void)live_text(&line);
    (void)snprintf(text, n, "%s", line);
}

void streaming_live(void)
{
    const char *line;
    if (live_text(&line)) live_line(line);
}

static void begin_live(const cli *c, const geodec_model *m)
{
    if (c->quiet || c->verbose < 1) return;
    live = m;
    report_note(note_live);
}

static void end_live(void)
{
    live = NULL;
    report_note(NULL);
    live_end();
    report_progress_end();
}

/* ---- begin and end ------------------------------------------------------------------------------------------------
 */

static geodec_status check_model(const cli *c, const geodec_model *m, const geodec_streaming *o, geodec_err *err)
{
    const char *path = geodec_model_path(m);
    bool golden = false;
    GEODEC_PASS(geodec_store_golden_check(path, o->arithmetic, o, c->pool, &golden, err));
    if (c->verbose > 0)
        cli_say(c, "%s: %s", cli_base_name(path),
                golden ? "the logits of the golden prompt are right"
                       : "no golden prompt; the logits of another prompt are finite");
    return GEODEC_OK;
}

bool streaming_plans(const cli *c)
{
    if (c->needs && streaming.ram) streaming.plan = true;
    return streaming.plan;
}

geodec_status streaming_begin(const cli *c, geodec_model *m, geodec_arithmetic arithmetic, int32_t sessions,
                              geodec_err *err)
{
    static geodec_streaming o;
    o = (geodec_streaming){.eviction = GEODEC_EVICTION_SCORE,
                           .lookahead = GEODEC_LOOKAHEAD_ROUTER2,
                           .prefetch_least = -1,
                           .prefetch_most = -1,
                           .sessions = sessions,
                           .hooks = &c->hooks,
                           .arithmetic = arithmetic,
                           .limits = "",
                           .look = 0.25};
    GEODEC_PASS(read_settings(&o, err));
    if (streaming.ternary) o.ternary = geodec_streamed_ternary_named(streaming.ternary);
    if (map_path && !ahead_given) o.lookahead = GEODEC_LOOKAHEAD_MIX;
    if (!evict_given && (map_path || o.lookahead != GEODEC_LOOKAHEAD_NONE)) o.eviction = GEODEC_EVICTION_MAP;
    if (!streaming.ram && o.slots == 0 && geodec_model_store_bytes(m) > 0) streaming.ram = "auto";
    if (!streaming.ram && o.slots == 0) {
        if (streaming.plan || streaming.experts || streaming.ternary)
            GEODEC_FAIL(GEODEC_INVAL, "%s needs --ram",
                        streaming.plan      ? "--plan"
                        : streaming.experts ? "--experts"
                                            : "--ternary");
        return GEODEC_OK;
    }
    if (streaming.ram) GEODEC_PASS(read_ram(c, &o.ram, err));
    o.mapped = strcmp(streaming.io, "mmap") == 0;
    o.disk.io = strcmp(streaming.io, "buffered") == 0 ? GEODEC_DISK_BUFFERED : GEODEC_DISK_DIRECT;
    o.disk.throttle = (int64_t)(streaming.throttle * 1e6);
    if (streaming.plan) {
        o.planned = print_plan;
        o.planned_ctx = &o;
    }
    if (map_path) {
        GEODEC_PASS(geodec_foreseer_map_open(map_path, foresight_path, m, &map, err));
        o.foreseer = geodec_foreseer_of;
        o.foreseer_ctx = &map;
    } else if (o.lookahead >= GEODEC_LOOKAHEAD_TOKEN) {
        GEODEC_FAIL(GEODEC_INVAL, "--experts: ahead=%s needs map=FILE", geodec_streamed_lookahead_name(o.lookahead));
    }
    if (check && !streaming.plan) GEODEC_PASS(check_model(c, m, &o, err));
    GEODEC_PASS(geodec_streamed_begin(m, &o, err));
    begin_live(c, m);
    return GEODEC_OK;
}

static void say(const cli *c, const geodec_stream_counters *k)
{
    const geodec_slots_counters *s = &k->slots;
    const double all = (double)s->needed;
    cli_say(c,
            "experts: %.1f %% of %lld uses in memory, %.1f %% prefetched in time, %.1f %% late, %.1f %% missed; "
            "%.2f MB read a row, %.1f %% of prefetches wasted; %.0f MB/s while reading; %.1f %% of the time waited",
            100 * (double)s->resident / all, (long long)s->needed, 100 * (double)s->in_time / all,
            100 * (double)s->late / all, 100 * (double)s->missed / all,
            (double)k->disk.bytes * 1e-6 / (double)(k->rows ? k->rows : 1),
            s->prefetch_reads ? 100 * (double)s->wasted / (double)s->prefetch_reads : 0.0,
            k->disk.busy > 0 ? (double)k->disk.bytes * 1e-6 / k->disk.busy : 0.0,
            k->passes > 0 ? 100 * k->stall / k->passes : 0.0);
    if (s->differences + s->alone + s->cheaper > 0)
        cli_say(c,
                "differences: %lld reads, %.2f MB; whole because no neighbour was in memory: %lld, because that is "
                "cheaper: %lld; %lld of %lld results checked, %.2f us each",
                (long long)s->differences, (double)k->difference_bytes * 1e-6, (long long)s->alone,
                (long long)s->cheaper, (long long)k->checked, (long long)k->applied,
                k->applied > 0 ? k->apply / (double)k->applied * 1e6 : 0.0);
}

geodec_status streaming_end(const cli *c, const geodec_model *m, geodec_status st, geodec_err *err)
{
    geodec_stream_counters k;
    end_live();
    if (!m || !geodec_streamed_counted(m, &k) || k.slots.needed == 0) return st;
    if (c->verbose > 0) say(c, &k);
    if (st != GEODEC_OK) return st;
    GEODEC_PASS(geodec_streamed_finish(m, err));
    if (report) GEODEC_PASS(geodec_streamed_report_write(report, m, c->command_line, err));
    return GEODEC_OK;
}
