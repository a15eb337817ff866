#include "lab/resonance/resonance.h"
#include "lab/published/resonance.h"

#include "artifact/binding.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/validity.h"
#include "linalg/apply.h"
#include "linalg/blas.h"
#include "linalg/stats.h"

#include <cblas.h>
#include <math.h>

enum { MAX = 2 * GEODEC_RBF_MAX_N, TOP = 10000 };

geodec_resonance_options geodec_resonance_defaults(void)
{
    return (geodec_resonance_options){
        .path = geodec_geodesic_defaults(), .directions = 24, .repeats = 7, .seconds = 1e-3, .seed = 1};
}

/* ---- cost -------------------------------------------------------------------------------------------------------- */

typedef enum way { LOOP, GEMM, KERNEL } way;

static void apply(way w, int64_t n, const double *a, const geodec_apply *p, int64_t count, const double *x, double *y)
{
    if (w == KERNEL)
        geodec_apply_many(p, count, x, y);
    else if (w == GEMM)
        geodec_blas_gemm(false, true, count, n, n, 1, x, n, a, n, 0, y, n);
    else
        for (int64_t b = 0; b < count; b++)
            cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)n, (int)n, 1, a, (int)n, x + b * n, 1, 0, y + b * n, 1);
}

/* The least time a query in microseconds, over `repeats` rounds of as many calls as fill o->seconds. */
static double cost(way w, const geodec_resonance_options *o, int64_t n, const double *a, const geodec_apply *p,
                   int64_t count, const double *x, double *y)
{
    double best = INFINITY;
    int64_t calls = 1;
    for (int64_t r = 0; r < o->repeats;) {
        const double begin = geodec_clock_thread_seconds();
        for (int64_t c = 0; c < calls; c++) apply(w, n, a, p, count, x, y);
        const double spent = geodec_clock_thread_seconds() - begin;
        if (spent < 0.5 * o->seconds && calls < INT32_MAX) {
            calls *= 2;
            continue;
        }
        best = fmin(best, 1e6 * spent / (double)(calls * count));
        r++;
    }
    return best;
}

static double peak(const geodec_resonance_options *o)
{
    double best = 0;
    volatile double used = 0;
    for (int64_t r = 0; r < o->repeats; r++) {
        const int64_t rounds = 1 + (int64_t)(o->seconds * 3e8);
        const double begin = geodec_clock_thread_seconds();
        used = used + geodec_apply_peak(rounds);
        const double spent = geodec_clock_thread_seconds() - begin;
        best = fmax(best, (double)(rounds * geodec_apply_peak_flops()) / fmax(spent, 1e-9));
    }
    return best;
}

static geodec_status costs(int size, int64_t n, const double *a, const geodec_resonance_options *o, geodec_resonance *r,
                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *y = NULL, *z = NULL;
    geodec_apply p = {0};
    GEODEC_NEW_EACH(TOP * n, x, y, z);
    GEODEC_TRY(geodec_apply_init(n, a, &p, err));
    geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("resonance queries", (uint64_t)size));
    for (int64_t i = 0; i < TOP * n; i++) x[i] = 0.05 * geodec_rng_normal(&rng);
    r->peak = fmax(r->peak, peak(o));
    for (int b = 0; b < GEODEC_RESONANCE_BATCHES; b++) {
        const int64_t count = geodec_resonance_batch[b];
        r->loop_us[size][b] = cost(LOOP, o, n, a, &p, count, x, y);
        r->gemm_us[size][b] = cost(GEMM, o, n, a, &p, count, x, z);
        r->kernel_us[size][b] = cost(KERNEL, o, n, a, &p, count, x, z);
        if (size > 0) continue;
        double gap = 0, all = 0;
        for (int64_t i = 0; i < count * n; i++) {
            gap += (y[i] - z[i]) * (y[i] - z[i]);
            all += y[i] * y[i];
        }
        r->same_product[b] = sqrt(gap / fmax(all, 1e-300));
    }
    r->peak = fmax(r->peak, peak(o));
done:
    geodec_apply_clear(&p);
    GEODEC_FREE(x, y, z);
    return st;
}

static void set_floor(geodec_resonance *r)
{
    for (int size = 0; size < GEODEC_RESONANCE_SIZES; size++) {
        const double m = (double)(r->n * (size + 1));
        r->floor_us[size] = 2e6 * m * m / r->peak;
    }
}

/* ---- accuracy ---------------------------------------------------------------------------------------------------- */

typedef struct ends {
    const geodec_space *s;
    const geodec_resonance_options *o;
    const double *x0, *v0, *x_T, *v_T; /* of the path */
    double *xs, *vs;                   /* [T + 1][n] scratch */
} ends;

/* Compares the kernel's prediction for moves of every direction and length with the geodesic from the moved start. */
static geodec_status compare(int size, const ends *e, const double *a, geodec_resonance *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = r->n, m = n * (size + 1), D = e->o->directions, T = e->o->path.steps;
    double *d = NULL, *y = NULL;
    geodec_apply p = {0};
    GEODEC_NEW_EACH(D * m, d, y);
    GEODEC_TRY(geodec_apply_init(m, a, &p, err));
    double log_move[GEODEC_RESONANCE_MOVES], log_error[GEODEC_RESONANCE_MOVES];
    for (int k = 0; k < GEODEC_RESONANCE_MOVES; k++) {
        double error = 0, control = 0;
        int64_t counted = 0;
        for (int64_t i = 0; i < D; i++) {
            double *u = d + i * m;
            const uint64_t stream = geodec_rng_id("resonance direction", (uint64_t)(size * D + i));
            GEODEC_TRY(geodec_validity_direction(e->s, e->x0, e->o->seed, stream, u, err));
            if (size > 0) GEODEC_TRY(geodec_validity_direction(e->s, e->x0, e->o->seed + 1, stream, u + n, err));
            for (int64_t c = 0; c < m; c++) u[c] *= r->move[k];
        }
        geodec_apply_many(&p, D, d, y);
        for (int64_t i = 0; i < D; i++) {
            const double *u = d + i * m;
            double x[GEODEC_RBF_MAX_N], v[GEODEC_RBF_MAX_N], miss = 0, still = 0, moved = 0;
            geodec_path_report report;
            for (int64_t c = 0; c < n; c++) {
                x[c] = e->x0[c] + u[c];
                v[c] = e->v0[c] + (size > 0 ? u[n + c] : 0);
            }
            GEODEC_TRY(geodec_geodesic_path(e->s, &e->o->path, x, v, e->xs, e->vs, NULL, &report, err));
            if (report.status == GEODEC_PATH_NONFINITE) {
                r->broken++;
                continue;
            }
            for (int64_t c = 0; c < m; c++) {
                const double end = c < n ? e->xs[T * n + c] - e->x_T[c] : e->vs[T * n + c - n] - e->v_T[c - n];
                miss += (end - y[i * m + c]) * (end - y[i * m + c]);
                still += (end - u[c]) * (end - u[c]);
                moved += end * end;
            }
            if (!(moved > 0)) continue;
            error += sqrt(miss / moved);
            control += sqrt(still / moved);
            counted++;
        }
        r->error[size][k] = counted ? error / (double)counted : 0;
        r->control[size][k] = counted ? control / (double)counted : 0;
        log_move[k] = log(r->move[k]);
        log_error[k] = log(fmax(r->error[size][k], 1e-300));
    }
    geodec_stats_line line;
    GEODEC_TRY(geodec_stats_fit_line(GEODEC_RESONANCE_MOVES, log_move, log_error, NULL, &line, err));
    r->slope[size] = line.slope;
done:
    geodec_apply_clear(&p);
    GEODEC_FREE(d, y);
    return st;
}

static geodec_status check(int64_t n, const geodec_resonance_options *o, geodec_err *err)
{
    if (n < 1 || n > GEODEC_RBF_MAX_N || o->directions < 1 || o->repeats < 1 || !(o->seconds > 0) || o->seconds > 10)
        GEODEC_FAIL(GEODEC_RANGE, "dimension %lld, %lld directions, %lld repeats of %g s", (long long)n,
                    (long long)o->directions, (long long)o->repeats, o->seconds);
    return GEODEC_OK;
}

geodec_status geodec_resonance_compute(const geodec_space *s, const double *x0, const double *v0,
                                       const geodec_resonance_options *o, geodec_resonance *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, T = o->path.steps, m = 2 * n;
    geodec_resonance r = {.n = n, .move = {1e-4, 3e-4, 1e-3, 3e-3, 1e-2}};
    const geodec_propagate_options po = geodec_propagate_defaults();
    geodec_path_report report;
    geodec_propagate_report quality;
    double *xs = NULL, *vs = NULL, *phi = NULL, *flow = NULL, *xs2 = NULL, *vs2 = NULL;
    GEODEC_TRY(check(n, o, err));
    GEODEC_NEW_EACH((T + 1) * n, xs, vs, xs2, vs2);
    GEODEC_NEW(phi, (T + 1) * n * n);
    GEODEC_NEW(flow, (T + 1) * m * m);
    GEODEC_TRY(geodec_geodesic_path(s, &o->path, x0, v0, xs, vs, NULL, &report, err));
    if (report.status == GEODEC_PATH_NONFINITE) GEODEC_THROW(GEODEC_NUMERIC, "the path breaks down");
    GEODEC_TRY(geodec_propagate_path(s, &po, T, o->path.dl, T, xs, vs, phi, flow, &quality, err));
    if (quality.broken) GEODEC_THROW(GEODEC_SCARCE, "the path's flow overflows: the field is too rough for it");
    const ends e = {s, o, x0, v0, xs + T * n, vs + T * n, xs2, vs2};
    const double *last[GEODEC_RESONANCE_SIZES] = {phi + T * n * n, flow + T * m * m};
    for (int size = 0; size < GEODEC_RESONANCE_SIZES; size++) {
        GEODEC_TRY(compare(size, &e, last[size], &r, err));
        GEODEC_TRY(costs(size, n * (size + 1), last[size], o, &r, err));
    }
    set_floor(&r);
    *out = r;
done:
    GEODEC_FREE(xs, vs, xs2, vs2, phi, flow);
    return st;
}

geodec_status geodec_resonance_published(int64_t n, const double *phi, const geodec_resonance_options *o,
                                         geodec_resonance *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_resonance r = {.n = n};
    double *both = NULL;
    GEODEC_TRY(check(n, o, err));
    GEODEC_NEW(both, 4 * n * n);
    for (int64_t i = 0; i < 2 * n; i++) /* the harness has no flow: Phi twice on the diagonal instead */
        for (int64_t j = 0; j < n; j++) both[i * 2 * n + j + i / n * n] = phi[i % n * n + j];
    GEODEC_TRY(costs(0, n, phi, o, &r, err));
    GEODEC_TRY(costs(1, 2 * n, both, o, &r, err));
    set_floor(&r);
    *out = r;
done:
    geodec_mem_free(both);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct report {
    geodec_resonance r;
    geodec_resonance_published_row p;
    double speedup[GEODEC_RESONANCE_SIZES][GEODEC_RESONANCE_BATCHES], loop[GEODEC_RESONANCE_BATCHES],
        product[GEODEC_RESONANCE_BATCHES], gflops;
    const int64_t *batch;
    const double *move, *error, *control, *slope_phi, *slope_flow; /* NULL without trajectories */
} report;
#define IN(m) GEODEC_IN(report, m)
#define AT(m) GEODEC_AT(report, m)
#define ONE(m) GEODEC_ARRAY(report, m, [0])
#define TWO(m) GEODEC_ARRAY(report, m, [0][0])

static const geodec_field fields[] = {
    {"/batch", GEODEC_I64, "B", 0, "1", "queries at once", 0, AT(batch)},
    {"/loop_us", GEODEC_F64, "Z,B", 0, "us", "a query by dgemv, in turn (sizes n, 2n)", 0, TWO(r.loop_us)},
    {"/gemm_us", GEODEC_F64, "Z,B", 0, "us", "a query in one dgemm", 0, TWO(r.gemm_us)},
    {"/kernel_us", GEODEC_F64, "Z,B", 0, "us", "a query by the small-matrix kernel", 0, TWO(r.kernel_us)},
    {"/floor_us", GEODEC_F64, "Z", 0, "us", "2 n^2 flops at the peak of the core in this run", 0, ONE(r.floor_us)},
    {"/speedup", GEODEC_F64, "Z,B", 0, "1", "loop_us / gemm_us: what a batch gains over a compiled loop", 0,
     TWO(speedup)},
    {"/same_product", GEODEC_F64, "B", 0, "1", "|kernel - loop| / |loop|: rounding of one product in two orders", 0,
     ONE(r.same_product)},
    {"/move", GEODEC_F64, "E", GEODEC_FIELD_OPTIONAL, "1", "g-length by which starts (and velocities) were moved", 0,
     AT(move)},
    {"/error", GEODEC_F64, "Z,E", GEODEC_FIELD_OPTIONAL, "1",
     "mean |end - predicted end| / |end - unmoved end| of true geodesics: by Phi, by the whole flow", 0, AT(error)},
    {"/control", GEODEC_F64, "Z,E", GEODEC_FIELD_OPTIONAL, "1", "control: the same with the move left as it was", 0,
     AT(control)},
    {"/published/loop_us", GEODEC_F64, "B", 0, "us", "a query in the loop, from the harness's own results", 0,
     ONE(loop)},
    {"/published/product_us", GEODEC_F64, "B", 0, "us", "a query in the product, likewise", 0, ONE(product)},
    {"/published/speedup", GEODEC_F64, "B", 0, "1", "their ratio, as printed", 0, ONE(p.speedup)},
    {"/published/steady", GEODEC_F64, "B", 0, "1", "the ratio with the loop's steady time a query in every row", 0,
     ONE(p.steady)},
};

static const geodec_attr attrs[] = {
    {"n", GEODEC_ATTR_I64, 0, "dimension", IN(r.n)},
    {"peak_gflops", GEODEC_ATTR_F64, 0, "of one core: multiply-adds in registers", IN(gflops)},
    {"slope_phi", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "of ln error against ln move: 1 = a derivative",
     AT(slope_phi)},
    {"slope_flow", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "the same of the whole flow", AT(slope_flow)},
    {"broken", GEODEC_ATTR_I64, 0, "moved paths that broke down, left out", IN(r.broken)},
    {"published_overhead_us", GEODEC_ATTR_F64, 0, "steady time of a query in the harness's loop", IN(p.overhead)},
};

static const geodec_extent extents[] = {{"B", .plus = GEODEC_RESONANCE_BATCHES},
                                        {"Z", .plus = GEODEC_RESONANCE_SIZES},
                                        {"E", .plus = GEODEC_RESONANCE_MOVES}};

const geodec_kind geodec_resonance_kind = {
    GEODEC_ABOUT("resonance", 1, 0, "geodec-resonance",
                 "cost of corrections by propagators one by one and in batches, and their error against true paths"),
    GEODEC_TABLES(fields, attrs, extents),
};

geodec_status geodec_resonance_write(const geodec_resonance *r, geodec_artifact *a, geodec_err *err)
{
    report all = {
        .r = *r, .p = geodec_resonance_published_explain(), .gflops = 1e-9 * r->peak, .batch = geodec_resonance_batch};
    for (int b = 0; b < GEODEC_RESONANCE_BATCHES; b++) {
        const double each = 1e6 / (double)geodec_resonance_batch[b];
        for (int z = 0; z < GEODEC_RESONANCE_SIZES; z++) all.speedup[z][b] = r->loop_us[z][b] / r->gemm_us[z][b];
        all.loop[b] = each * geodec_resonance_published_loop_seconds[b];
        all.product[b] = each * geodec_resonance_published_product_seconds[b];
    }
    if (r->move[0] > 0) {
        all.move = r->move;
        all.error = r->error[0];
        all.control = r->control[0];
        all.slope_phi = &r->slope[0];
        all.slope_flow = &r->slope[1];
    }
    return geodec_artifact_save(a, &all, err);
}

void geodec_resonance_say(const geodec_hooks *hooks, const geodec_resonance *r)
{
    const geodec_resonance_published_row p = geodec_resonance_published_explain();
    geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                     "one core: %.1f GFLOP/s; floor of %lld x %lld: %.4f us, of %lld x %lld: %.4f us", 1e-9 * r->peak,
                     (long long)r->n, (long long)r->n, r->floor_us[0], (long long)(2 * r->n), (long long)(2 * r->n),
                     r->floor_us[1]);
    for (int b = 0; b < GEODEC_RESONANCE_BATCHES; b++)
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%5lld queries: us each, n: loop %.4f, one product %.4f, kernel %.4f; 2n: %.4f, %.4f, %.4f (%.2f of the "
            "floor); published ratio %.1f, with a steady loop %.1f, compiled %.1f",
            (long long)geodec_resonance_batch[b], r->loop_us[0][b], r->gemm_us[0][b], r->kernel_us[0][b],
            r->loop_us[1][b], r->gemm_us[1][b], r->kernel_us[1][b], r->kernel_us[1][b] / r->floor_us[1], p.speedup[b],
            p.steady[b], r->loop_us[0][b] / r->gemm_us[0][b]);
    if (r->move[0] > 0)
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "against true paths, moved by %.0e: error %.1e (unmoved %.1e), order %.2f; flow %.1e, order %.2f",
            r->move[2], r->error[0][2], r->control[0][2], r->slope[0], r->error[1][2], r->slope[1]);
}
