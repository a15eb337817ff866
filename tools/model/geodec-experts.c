/* geodec-experts: experts that are read on demand. One function for each command. */
#include "base/numbers.h"
#include "cli/cli.h"
#include "cli/experts_probe.h"
#include "cli/experts_report.h"
#include "cli/experts_store.h"
#include "streaming/closed_form.h"
#include "streaming/simulate.h"
#include "streaming/usage.h"

#include <stdio.h>
#include <string.h>

enum { LIST_MAX = 64 };

static const char *output = "", *arithmetic = "auto", *policy = "all", *differences = "recorded", *slots = "",
                  *hits = "0,0.25,0.5,0.75,0.9", *usage;
static bool shared;
static int64_t prefetch = -1, ahead = -1, layers = 16, experts = 64, used = 8, passes = 1000, blob = 3538944,
               in_flight = 4;
static double least = -1, far = 0.1, bandwidth = 0, latency = -1, compute = -1, rest = 0, zipf = 0, seconds = 2;

static const cli_option options[] = {
    OPT_FILE("output", 'o', &output, "FILE", "build, traffic: write to FILE (default: MODEL.experts; experts.trace)",
             .flags = CLI_VOLATILE),
    OPT_CHOICE("arithmetic", 0, &arithmetic, EXPERTS_ARITHMETIC_CHOICES, "MODE",
               "build: lay out matrices for exact or fast arithmetic; auto: that which suits the model"),
    OPT_STR("policy", 0, &policy, "LIST", "simulate: policies of eviction, separated by commas, or all"),
    OPT_FILE("usage", 0, &usage, "FILE",
             "simulate: usage table with which the simulated runs begin, for static sets and scores (default: as "
             "recorded)"),
    OPT_STR("slots", 0, &slots, "LIST", "simulate: numbers of slots (default: as recorded); traffic: one number"),
    OPT_FLAG("shared", 0, &shared, "simulate, traffic: no quotas, a layer may take the slots of any other"),
    OPT_I64("prefetch", 0, &prefetch, -1, 1 << 22, "N",
            "simulate: slots that may hold prefetched experts not used yet (-1: as recorded)"),
    OPT_F64("least", 0, &least, -1, 1, "P",
            "simulate: prefetch only what is foretold with at least this probability (-1: as recorded)"),
    OPT_F64("far", 0, &far, 0, 1, "P",
            "simulate, with --least: how much less a prefetch counts for each layer beyond the next"),
    OPT_I64("ahead", 0, &ahead, -1, 1024, "N",
            "simulate: in place of the recorded predictions, the true experts of the next N layers (-1: as recorded)"),
    OPT_CHOICE(
        "differences", 0, &differences, "recorded|off|always", "MODE",
        "simulate: differences of ternary experts, where the trace has them; recorded: by the speed of the disk"),
    OPT_F64("bandwidth", 0, &bandwidth, 0, 1e9, "MB/S",
            "simulate, plan, forecast: speed of the disk (0: as recorded; plan: 2500)"),
    OPT_F64("latency", 0, &latency, -1, 1e6, "MS", "simulate, plan, forecast: time of a read beside its bytes (-1: 0)"),
    OPT_F64("compute", 0, &compute, -1, 1e6, "MS",
            "simulate, plan, forecast: computing of a layer (-1: as recorded; plan: 0)"),
    OPT_F64("rest", 0, &rest, 0, 1e6, "MS",
            "simulate, plan, forecast: computing of a pass outside the layers with experts"),
    OPT_STR("hits", 0, &hits, "LIST", "plan: shares of the needed experts that are in memory"),
    OPT_I64("layers", 0, &layers, 1, 4096, "N", "traffic: layers"),
    OPT_I64("experts", 0, &experts, 1, 4096, "N", "traffic: experts of a layer"),
    OPT_I64("used", 0, &used, 1, 4096, "N", "traffic: experts that a token uses in a layer"),
    OPT_I64("passes", 0, &passes, 1, 1e7, "N", "traffic: tokens"),
    OPT_I64("blob", 0, &blob, 1, 1e12, "BYTES", "traffic, probe: bytes of an expert"),
    OPT_F64("zipf", 0, &zipf, 0, 4, "S", "traffic: probability of the expert of rank r is r^-S (0: uniform)"),
    OPT_I64("in-flight", 0, &in_flight, 1, 64, "N", "probe: reads at a time"),
    OPT_F64("seconds", 0, &seconds, 0.01, 600, "S", "probe: seconds of reading"),
};

static const cli_tool tool = {
    .name = "geodec-experts",
    .topic = CLI_TOPIC_MODELS,
    .purpose = "stores, simulations and plans of models whose experts are read on demand",
    .usage = "[OPTIONS] build MODEL.gguf | check STORE | info STORE | simulate TRACE | plan | forecast REPORT... | "
             "timeline REPORT | traffic | probe FILE",
    .description =
        "build writes a store: a model file with one aligned block for each expert, in the layout that is multiplied.\n"
        "Tools take it in place of the GGUF, with --ram. check reads every byte of it, info prints its sizes.\n"
        "\n"
        "simulate TRACE replays a recorded run and compares every counter with the recorded one (status 4 if one\n"
        "differs). Then it runs the same experts through other policies, numbers of slots and disks, with a virtual "
        "clock\n"
        "and a disk that reads one expert at a time. Standard output is a table. hit: needed experts in memory or\n"
        "prefetched in time, as a share; wasted: prefetched experts never used, for each needed one; bound: the "
        "misses\n"
        "that no policy can avoid, as a share of the needed experts (belady without quotas and prefetch); stall and\n"
        "no_overlap, wall: milliseconds a token, of the simulated run and by the closed form with its hit rate.\n"
        "\n"
        "plan prints the closed form for public models: bytes a token, and tokens a second that no prediction can "
        "exceed\n"
        "(wall), for each share of experts in memory.\n"
        "\n"
        "forecast compares runs with the closed form: their reports (--experts report=FILE) have the shares of experts "
        "in\n"
        "memory (hit), of the others that were being read ahead (ahead), and of wasted reads for each of these "
        "(waste).\n"
        "Columns in tokens a second: tokens_s as measured; no_overlap, double_buffer, look_ahead, wall. timeline "
        "prints\n"
        "time, stall and bytes of such a run by token.\n"
        "\n"
        "traffic writes a trace of random experts.\n"
        "\n"
        "probe reads blocks of --blob bytes at random places of a file, past the page cache, and prints the speed.",
    .examples = "geodec-experts build model.gguf -o model.experts\n"
                "geodec-decode --model model.experts --ram 2G --prompt 'Once upon a time'\n"
                "geodec-experts simulate run.trace --slots 64,128,256 --bandwidth 2500\n"
                "geodec-experts plan --bandwidth 7000\n"
                "geodec-experts forecast run.json\n"
                "geodec-experts traffic --zipf 1 --slots 256 -o zipf.trace && geodec-experts simulate zipf.trace\n"
                "geodec-experts probe model.experts --blob 3538944",
    CLI_TAKES(options, 1, 1 + LIST_MAX),
    .takes_model = true,
};

/* ---- simulate --------------------------------------------------------------------------------------------------- */

static geodec_status chosen_policies(bool on[GEODEC_EVICTION_KINDS], geodec_err *err)
{
    const bool all = strcmp(policy, "all") == 0;
    for (int i = 0; i < GEODEC_EVICTION_KINDS; i++) on[i] = all;
    for (const char *p = policy; !all; p += 1) {
        char name[32] = {0};
        const size_t n = strcspn(p, ",");
        if (n < sizeof name) memcpy(name, p, n);
        const geodec_eviction e = geodec_eviction_named(name);
        if (e == GEODEC_EVICTION_KINDS)
            GEODEC_FAIL(GEODEC_INVAL, "--policy: no policy '%.*s'", (int)(n < 60 ? n : 60), p);
        on[e] = true;
        p += n;
        if (!*p) break;
    }
    return GEODEC_OK;
}

static geodec_simulate_options options_of(const geodec_trace *t)
{
    geodec_simulate_options o = geodec_simulate_recorded(t);
    o.shared = o.shared || shared;
    o.differences = strcmp(differences, "off") == 0      ? GEODEC_SIMULATE_WHOLE
                    : strcmp(differences, "always") == 0 ? GEODEC_SIMULATE_ALWAYS
                                                         : GEODEC_SIMULATE_RECORDED;
    if (prefetch >= 0) o.prefetch_most = (int32_t)prefetch;
    if (ahead >= 0) o.ahead = (int32_t)ahead;
    if (ahead > 0 && o.prefetch_most == 0 && prefetch < 0) o.prefetch_most = o.n_slots / 4;
    if (least >= 0) o.prefetch_least = (float)least;
    o.prefetch_far = (float)far;
    if (bandwidth > 0) o.bandwidth = bandwidth * 1e6;
    if (latency >= 0) o.latency = latency * 1e-3;
    if (compute >= 0) o.layer_seconds = compute * 1e-3;
    o.pass_seconds = rest * 1e-3;
    return o;
}

static void print_run(const geodec_trace *t, const geodec_simulate_options *o, const geodec_simulate_result *r,
                      int64_t bound)
{
    const double needed = r->slots.needed > 0 ? (double)r->slots.needed : 1, rows = r->rows > 0 ? (double)r->rows : 1;
    int64_t bytes = 0, routed = 0;
    for (int32_t l = 0; l < t->slots.n_layer; l++) {
        bytes += t->blob[l];
        routed += t->blob[l] > 0;
    }
    const double read = routed ? (double)bytes / (double)routed : 0;
    const double miss = (double)(r->slots.missed + r->slots.late + r->slots.in_time);
    const double wall = o->bandwidth > 0 ? miss * read / o->bandwidth : 0;
    const double computing = o->layer_seconds * (double)r->slots.visits + o->pass_seconds * (double)r->slots.passes;
    printf("%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.3f\t%.4f\t%.4f\t%.4f\t%.4f\n",
           geodec_eviction_name(o->eviction), (int)o->n_slots, (double)(r->slots.resident + r->slots.in_time) / needed,
           (double)r->slots.resident / needed, (double)r->slots.in_time / needed, (double)r->slots.late / needed,
           (double)r->slots.missed / needed, (double)r->slots.wasted / needed, (double)bound / needed,
           (double)r->bytes / rows * 1e-6, r->stall / rows * 1e3, (computing + wall + miss * o->latency) / rows * 1e3,
           wall / rows * 1e3, r->seconds > 0 ? (double)r->rows / r->seconds : 0);
}

static geodec_status print_runs(const cli *c, const geodec_trace *t, geodec_err *err)
{
    bool on[GEODEC_EVICTION_KINDS];
    double list[LIST_MAX] = {t->slots.n_slots};
    int64_t n = 1, done = 0;
    GEODEC_PASS(chosen_policies(on, err));
    if (slots[0]) GEODEC_PASS(geodec_numbers_parse(slots, "--slots", 2, GEODEC_SLOTS_MAX, LIST_MAX, list, &n, err));
    printf("policy\tslots\thit\tresident\tin_time\tlate\tmissed\twasted\tbound\tMB_token\tstall_ms\tno_overlap_"
           "ms\twall_ms\t"
           "tokens_s\n");
    for (int64_t k = 0; k < n; k++) {
        geodec_simulate_result bound, r;
        GEODEC_PASS(geodec_simulate_bound(t, (int32_t)list[k], &bound, err));
        for (geodec_eviction e = 0; e < GEODEC_EVICTION_KINDS; e++) {
            if (!on[e]) continue;
            geodec_simulate_options o = options_of(t);
            o.eviction = e;
            o.n_slots = (int32_t)list[k];
            GEODEC_PASS(geodec_hooks_progress(&c->hooks, "runs", done++, n * GEODEC_EVICTION_KINDS, err));
            GEODEC_PASS(geodec_simulate_run(t, &o, &r, err));
            print_run(t, &o, &r, bound.slots.missed);
        }
    }
    return GEODEC_OK;
}

static geodec_status simulate(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trace t = {0};
    geodec_usage u = {0};
    if (c->n_args != 2) GEODEC_THROW(GEODEC_INVAL, "simulate needs a trace");
    GEODEC_TRY(geodec_trace_read(c->args[1], &t, err));
    if (t.slots.eviction == GEODEC_EVICTION_BELADY) {
        cli_say(c, "%s: recorded with belady, no replay", cli_base_name(c->args[1]));
    } else {
        GEODEC_TRY_MSG(geodec_simulate_check(&t, err), "%s", c->args[1]);
        cli_say(c, "%s: %lld passes, %lld experts needed; the replay equals the run in every counter",
                cli_base_name(c->args[1]), (long long)t.passes, (long long)t.needs);
    }
    if (usage) {
        GEODEC_TRY(geodec_usage_read(usage, &u, err));
        if (u.n_layer != t.slots.n_layer || u.n_expert != t.slots.n_expert)
            GEODEC_THROW(GEODEC_CHECKSUM, "%s: a usage table of %d layers of %d experts; the trace has %d of %d", usage,
                         (int)u.n_layer, (int)u.n_expert, (int)t.slots.n_layer, (int)t.slots.n_expert);
        t.slots.usage = u.frequency;
    }
    GEODEC_TRY(print_runs(c, &t, err));
done:
    geodec_usage_clear(&u);
    geodec_trace_clear(&t);
    return st;
}

/* ---- plan ------------------------------------------------------------------------------------------------------- */

static geodec_status plan(const cli *c, geodec_err *err)
{
    double hit[LIST_MAX];
    int64_t n_hit = 0;
    int32_t n = 0;
    const geodec_closed_form_model *const m = geodec_closed_form_models(&n);
    if (c->n_args != 1) GEODEC_FAIL(GEODEC_INVAL, "plan takes no file");
    GEODEC_PASS(geodec_numbers_parse(hits, "--hits", 0, 1, LIST_MAX, hit, &n_hit, err));
    printf("model\tstore_GB\tblob_MB\treads_token\thit\tGB_token\tno_overlap_tokens_s\tdouble_buffer_tokens_s\t"
           "wall_tokens_s\n");
    for (int32_t i = 0; i < n; i++)
        for (int64_t k = 0; k < n_hit; k++) {
            const geodec_closed_form f = {.layers = m[i].layers,
                                          .used = m[i].used,
                                          .blob = m[i].blob,
                                          .hit = hit[k],
                                          .right = 1,
                                          .bandwidth = bandwidth > 0 ? bandwidth * 1e6 : 2.5e9,
                                          .latency = latency > 0 ? latency * 1e-3 : 0,
                                          .layer_seconds = compute > 0 ? compute * 1e-3 : 0,
                                          .rest_seconds = rest * 1e-3};
            const geodec_closed_form_times t = geodec_closed_form_of(&f);
            printf("%s\t%.1f\t%.2f\t%d\t%g\t%.3f\t%.3g\t%.3g\t%.3g\n", m[i].name, m[i].store * 1e-9, m[i].blob * 1e-6,
                   m[i].layers * m[i].used, hit[k], t.bytes * 1e-9, 1 / t.no_overlap, 1 / t.double_buffer, 1 / t.wall);
        }
    return GEODEC_OK;
}

/* ---- traffic ---------------------------------------------------------------------------------------------------- */

static geodec_status traffic(const cli *c, geodec_err *err)
{
    double n_slots[1] = {0};
    int64_t n = 0;
    const char *path = output[0] ? output : "experts.trace";
    bool on[GEODEC_EVICTION_KINDS];
    geodec_eviction e = GEODEC_EVICTION_LRU;
    if (c->n_args != 1) GEODEC_FAIL(GEODEC_INVAL, "traffic takes no file; give -o");
    if (slots[0]) GEODEC_PASS(geodec_numbers_parse(slots, "--slots", 2, GEODEC_SLOTS_MAX, 1, n_slots, &n, err));
    if (strcmp(policy, "all") != 0) {
        GEODEC_PASS(chosen_policies(on, err));
        for (e = 0; !on[e];) e++;
    }
    const geodec_simulate_traffic o = {
        .slots = {.n_layer = (int32_t)layers,
                  .n_expert = (int32_t)experts,
                  .n_slots = n ? (int32_t)n_slots[0] : (int32_t)(layers * experts / 4 + 2),
                  .eviction = e,
                  .shared = shared},
        .used = (int32_t)used,
        .passes = passes,
        .blob = blob,
        .zipf = zipf,
        .seed = c->seed};
    GEODEC_PASS(cli_may_write(c, path, err));
    GEODEC_PASS(geodec_simulate_generate(path, &o, err));
    cli_say(c, "%lld passes of %d layers, %d of %d experts -> %s", (long long)passes, (int)layers, (int)used,
            (int)experts, path);
    return GEODEC_OK;
}

/* ---- stores ----------------------------------------------------------------------------------------------------- */

static geodec_status one_file(const cli *c, geodec_err *err)
{
    if (c->n_args != 2) GEODEC_FAIL(GEODEC_INVAL, "%s needs a file", c->args[0]);
    return GEODEC_OK;
}

static geodec_status build(const cli *c, geodec_err *err)
{
    GEODEC_PASS(one_file(c, err));
    return experts_build(c, c->args[1], output, arithmetic, err);
}

static geodec_status check(const cli *c, geodec_err *err)
{
    GEODEC_PASS(one_file(c, err));
    return experts_check(c, c->args[1], err);
}

static geodec_status info(const cli *c, geodec_err *err)
{
    GEODEC_PASS(one_file(c, err));
    return experts_info(c, c->args[1], err);
}

/* ---- reports ---------------------------------------------------------------------------------------------------- */

static geodec_status forecast(const cli *c, geodec_err *err)
{
    const experts_machine m = {.bandwidth = bandwidth * 1e6,
                               .latency = latency * 1e-3,
                               .layer_seconds = compute * 1e-3,
                               .rest_seconds = rest * 1e-3};
    if (c->n_args < 2) GEODEC_FAIL(GEODEC_INVAL, "forecast needs a report");
    GEODEC_PASS(experts_forecast(c->args + 1, c->n_args - 1, &m, err));
    return GEODEC_OK;
}

static geodec_status timeline(const cli *c, geodec_err *err)
{
    GEODEC_PASS(one_file(c, err));
    return experts_timeline(c->args[1], err);
}

static geodec_status probe(const cli *c, geodec_err *err)
{
    GEODEC_PASS(one_file(c, err));
    return experts_probe(c, c->args[1], blob, in_flight, seconds, err);
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    geodec_status (*run)(const cli *c, geodec_err *err);
} commands[] = {
    {"build", build},       {"check", check},       {"info", info},       {"simulate", simulate}, {"plan", plan},
    {"forecast", forecast}, {"timeline", timeline}, {"traffic", traffic}, {"probe", probe},
};

static geodec_status run(const cli *c, geodec_err *err)
{
    for (int i = 0; i < CLI_COUNT(commands); i++)
        if (strcmp(c->args[0], commands[i].name) == 0) return commands[i].run(c, err);
    GEODEC_FAIL(GEODEC_INVAL,
                "no command '%.60s' (build, check, info, simulate, plan, forecast, timeline, traffic, probe)",
                c->args[0]);
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
