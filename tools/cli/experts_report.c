#include "cli/experts_report.h"

#include "io/json.h"
#include "streaming/closed_form.h"

#include <math.h>
#include <stdio.h>

enum { REPORT_MOST = 4 << 20 }; /* bytes */

/* The member "experts" of a report. */
static geodec_status read_report(const char *path, geodec_json **root, const geodec_json **experts, geodec_err *err)
{
    GEODEC_PASS(geodec_json_read(path, REPORT_MOST, root, err));
    *experts = geodec_json_member(*root, "experts");
    if (!*experts) GEODEC_FAIL(GEODEC_FORMAT, "%s: no report of streamed experts", path);
    return GEODEC_OK;
}

/* ---- forecast --------------------------------------------------------------------------------------------------- */

typedef struct counts {
    int64_t slots, blobs, layers, used, rows, needed, resident, in_time, late, missed, reads, wasted, bytes, slot,
        throttle;
    double seconds, stall, speed;
} counts;

static geodec_status read_counts(const geodec_json *e, counts *k, geodec_err *err)
{
    int64_t demand = 0, prefetch = 0;
    const struct {
        const char *name;
        int64_t *to;
    } whole[] = {{"slots", &k->slots},       {"blobs", &k->blobs},      {"routed_layers", &k->layers},
                 {"experts_used", &k->used}, {"rows", &k->rows},        {"needed", &k->needed},
                 {"resident", &k->resident}, {"in_time", &k->in_time},  {"late", &k->late},
                 {"missed", &k->missed},     {"demand_reads", &demand}, {"prefetch_reads", &prefetch},
                 {"wasted", &k->wasted},     {"bytes_read", &k->bytes}, {"throttle", &k->throttle}};
    for (int i = 0; i < CLI_COUNT(whole); i++) GEODEC_PASS(geodec_json_get_i64(e, whole[i].name, whole[i].to, err));
    GEODEC_PASS(geodec_json_get_f64(e, "pass_seconds", &k->seconds, err));
    GEODEC_PASS(geodec_json_get_f64(e, "stall_seconds", &k->stall, err));
    GEODEC_PASS(geodec_json_get_f64(e, "disk_bytes_per_second", &k->speed, err));
    k->reads = demand + prefetch;
    GEODEC_PASS(geodec_json_get_i64(e, "slot_bytes", &k->slot, err));
    if (k->rows < 1 || k->layers < 1 || k->layers > 4096 || k->used < 1 || k->used > 4096 || !(k->seconds > 0))
        GEODEC_FAIL(GEODEC_FORMAT, "a run without rows, layers or time");
    return GEODEC_OK;
}

static void print_forecast(const char *path, const counts *k, const experts_machine *m)
{
    const double rows = (double)k->rows, uses = rows * (double)k->layers * (double)k->used;
    /* what was not in memory before any prefetch; the reads for the warm start count as bytes only */
    const double absent = (double)(k->in_time + k->late + k->missed);
    const double blob = k->reads > 0 ? fmin((double)k->bytes / (double)k->reads, (double)k->slot) : 0;
    const double computing = (k->seconds - k->stall) / rows / (double)k->layers;
    const geodec_closed_form f = {.layers = (int32_t)k->layers,
                                  .used = (int32_t)k->used,
                                  .blob = blob,
                                  .hit = 1 - absent / uses,
                                  .right = absent > 0 ? (double)(k->in_time + k->late) / absent : 1,
                                  .waste = absent > 0 ? (double)k->wasted / absent : 0,
                                  .bandwidth = m->bandwidth > 0  ? m->bandwidth
                                               : k->throttle > 0 ? (double)k->throttle
                                                                 : fmax(k->speed, 1),
                                  .latency = fmax(m->latency, 0),
                                  .layer_seconds = m->layer_seconds >= 0 ? m->layer_seconds : computing,
                                  .rest_seconds = m->rest_seconds};
    const geodec_closed_form_times t = geodec_closed_form_of(&f);
    printf("%s\t%lld\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.2f\t%.5f\t%.4f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\n",
           cli_base_name(path), (long long)k->slots, (double)k->slots / (double)(k->blobs > 0 ? k->blobs : 1), f.hit,
           f.right, f.waste, (double)k->reads * blob / rows * 1e-6, t.bytes * 1e-6, f.bandwidth * 1e-6,
           f.layer_seconds * (double)k->layers * 1e3 + f.rest_seconds * 1e3, k->stall / rows * 1e3, rows / k->seconds,
           1 / t.no_overlap, 1 / t.double_buffer, 1 / t.look_ahead, t.wall > 0 ? 1 / t.wall : NAN);
}

geodec_status experts_forecast(char **path, int32_t n, const experts_machine *machine, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json *root = NULL;
    printf("report\tslots\tshare\thit\tahead\twaste\tMB_token\tneeded_MB\tMB_s\tcompute_ms\tstall_ms\ttokens_s\t"
           "no_overlap\tdouble_buffer\tlook_ahead\twall\n");
    for (int32_t i = 0; i < n; i++) {
        const geodec_json *e;
        counts k = {0};
        GEODEC_TRY(read_report(path[i], &root, &e, err));
        GEODEC_TRY_MSG(read_counts(e, &k, err), "%s", path[i]);
        print_forecast(path[i], &k, machine);
        geodec_json_free(root);
        root = NULL;
    }
done:
    geodec_json_free(root);
    return st;
}

/* ---- timeline --------------------------------------------------------------------------------------------------- */

static geodec_status column(const geodec_json *t, const char *name, int64_t n, const geodec_json **out, geodec_err *err)
{
    *out = geodec_json_member(t, name);
    if (geodec_json_length(*out) != n)
        GEODEC_FAIL(GEODEC_FORMAT, "timeline: '%s' is no list of %lld", name, (long long)n);
    return GEODEC_OK;
}

static geodec_status print_timeline(const geodec_json *e, geodec_err *err)
{
    const geodec_json *t = geodec_json_member(e, "timeline"), *rows, *bytes, *seconds, *stall;
    const int64_t n = geodec_json_length(geodec_json_member(t, "rows"));
    double time = 0;
    if (n < 0) GEODEC_FAIL(GEODEC_FORMAT, "no timeline");
    GEODEC_PASS(column(t, "rows", n, &rows, err));
    GEODEC_PASS(column(t, "bytes_read", n, &bytes, err));
    GEODEC_PASS(column(t, "seconds", n, &seconds, err));
    GEODEC_PASS(column(t, "stall_seconds", n, &stall, err));
    printf("seconds\ttoken\trows\tms_token\tstall_ms_token\tMB_token\n");
    for (int64_t i = 0, token = 0; i < n; i++) {
        int64_t r, b;
        double s, w;
        GEODEC_PASS(geodec_json_get_i64(geodec_json_at(rows, i), NULL, &r, err));
        GEODEC_PASS(geodec_json_get_i64(geodec_json_at(bytes, i), NULL, &b, err));
        GEODEC_PASS(geodec_json_get_f64(geodec_json_at(seconds, i), NULL, &s, err));
        GEODEC_PASS(geodec_json_get_f64(geodec_json_at(stall, i), NULL, &w, err));
        const double each = r > 0 ? (double)r : NAN;
        time += s;
        token += r;
        printf("%.6f\t%lld\t%lld\t%.4f\t%.4f\t%.4f\n", time, (long long)token, (long long)r, s / each * 1e3,
               w / each * 1e3, (double)b / each * 1e-6);
    }
    return GEODEC_OK;
}

geodec_status experts_timeline(const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json *root = NULL;
    const geodec_json *e;
    GEODEC_TRY(read_report(path, &root, &e, err));
    GEODEC_TRY_MSG(print_timeline(e, err), "%s", path);
done:
    geodec_json_free(root);
    return st;
}
