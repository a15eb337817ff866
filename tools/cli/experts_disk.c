#include "cli/experts_disk.h"

#include "io/json.h"
#include "streaming/closed_form.h"
#include "streaming/probe.h"

#include <math.h>
#include <stdio.h>

enum { REPORT_BYTES = 16 << 20 };

geodec_status experts_probe(const cli *c, const char *file, int64_t blob, int64_t in_flight, double seconds,
                            geodec_err *err)
{
    geodec_probe p;
    const geodec_probe_options o = {.blob_bytes = blob,
                                    .most_bytes = INT64_MAX / 2,
                                    .seconds = seconds,
                                    .in_flight = (int32_t)in_flight,
                                    .io = GEODEC_DISK_DIRECT};
    (void)c;
    GEODEC_PASS(geodec_probe_read(file, &o, &p, err));
    (void)printf("MB_second\t%.1f\nlatency_median_ms\t%.3f\nlatency_p99_ms\t%.3f\nin_flight\t%d\nreads\t%lld\n",
                 p.bytes_per_second * 1e-6, p.latency_median * 1e3, p.latency_p99 * 1e3, (int)in_flight,
                 (long long)p.reads);
    (void)printf("bytes\t%lld\nseconds\t%.3f\nio\t%s\nengine\t%s\n", (long long)p.bytes, p.seconds,
                 p.io == GEODEC_DISK_DIRECT ? "direct" : "buffered", p.engine);
    return GEODEC_OK;
}

/* What a report counts. */
typedef struct counts {
    double rows, needed, resident, in_time, late, wasted, demands, prefetches, bytes, slot, pass, stall, busy, speed;
    int32_t layers; /* that needed experts */
} counts;

static geodec_status read_counts(const geodec_json *root, counts *k, geodec_err *err)
{
    const geodec_json *e = geodec_json_member(root, "experts");
    const geodec_json *layers = geodec_json_member(e, "layers");
    const struct {
        const char *name;
        double *to;
    } all[] = {
        {"rows", &k->rows},
        {"needed", &k->needed},
        {"resident", &k->resident},
        {"in_time", &k->in_time},
        {"late", &k->late},
        {"wasted", &k->wasted},
        {"demand_reads", &k->demands},
        {"prefetch_reads", &k->prefetches},
        {"bytes_read", &k->bytes},
        {"slot_bytes", &k->slot},
        {"pass_seconds", &k->pass},
        {"stall_seconds", &k->stall},
        {"disk_busy_seconds", &k->busy},
        {"disk_bytes_per_second", &k->speed},
    };
    if (!e || geodec_json_length(layers) < 1) GEODEC_FAIL(GEODEC_FORMAT, "no report of a run with streamed experts");
    for (int i = 0; i < CLI_COUNT(all); i++) GEODEC_PASS(geodec_json_get_f64(e, all[i].name, all[i].to, err));
    for (int64_t i = 0; i < geodec_json_length(layers); i++) {
        double needed = 0;
        GEODEC_PASS(geodec_json_get_f64(geodec_json_at(layers, i), "needed", &needed, err));
        if (needed > 0) k->layers++;
    }
    if (!(k->rows >= 1 && k->needed >= 1 && k->pass > 0 && k->layers > 0))
        GEODEC_FAIL(GEODEC_SCARCE, "a report of no pass");
    return GEODEC_OK;
}

static double share(double a, double b) { return b > 0 ? a / b : 0; }

static void print_plan(const counts *k, const experts_disk_of_run *d)
{
    const double misses = k->needed - k->resident, reads = k->demands + k->prefetches;
    const double blob = reads > 0 ? fmin(k->slot, k->bytes / reads) : k->slot; /* bytes: with those of a warm start */
    const double computing = k->pass > k->stall ? k->pass - k->stall : 0;
    const geodec_closed_form f = {
        .layers = k->layers,
        .used = (int32_t)lround(k->needed / k->rows / k->layers),
        .blob = blob,
        .hit = k->resident / k->needed,
        .right = share(k->in_time + k->late, misses),
        .waste = share(k->wasted, misses),
        .bandwidth = d->bandwidth > 0 ? d->bandwidth : fmax(k->speed, 1),
        .latency = d->latency,
        .layer_seconds = d->layer_seconds >= 0 ? d->layer_seconds : computing / k->rows / k->layers,
        .rest_seconds = d->rest,
    };
    const geodec_closed_form_times t = geodec_closed_form_of(&f);
    (void)printf("tokens_s\thit\tforetold\twaste\tMB_token\tMB_needed\tpass_ms\tstall_ms\tbusy_ms\tcompute_ms\t"
                 "no_overlap_tokens_s\tdouble_buffer_tokens_s\tlook_ahead_tokens_s\twall_tokens_s\n");
    (void)printf("%.4g\t%.4f\t%.4f\t%.4f\t%.2f\t%.2f\t%.3f\t%.3f\t%.3f\t%.3f\t%.4g\t%.4g\t%.4g\t%.4g\n",
                 k->rows / k->pass, f.hit, f.right, f.waste, reads * blob / k->rows * 1e-6,
                 misses * f.blob / k->rows * 1e-6, k->pass / k->rows * 1e3, k->stall / k->rows * 1e3,
                 k->busy / k->rows * 1e3, f.layer_seconds * k->layers * 1e3, 1 / t.no_overlap, 1 / t.double_buffer,
                 1 / t.look_ahead, t.wall > 0 ? 1 / t.wall : INFINITY);
}

geodec_status experts_plan_of_report(const char *report, const experts_disk_of_run *d, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_json *root = NULL;
    counts k = {0};
    GEODEC_TRY(geodec_json_read(report, REPORT_BYTES, &root, err));
    GEODEC_TRY_MSG(read_counts(root, &k, err), "%s", report);
    print_plan(&k, d);
done:
    geodec_json_free(root);
    return st;
}
