#include "lab/lookup/lookup.h"

#include "artifact/binding.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/names_internal.h"
#include "base/rng.h"
#include "linalg/eig.h"
#include "linalg/expm.h"
#include "linalg/stats.h"
#include "records/lookup.h"

#include <math.h>
#include <string.h>

enum { MAX_N = 16, ROUNDS = 7, QUERIES = 1024, FEW = 64, KEEP = 8 };

GEODEC__NAME(geodec_lookup_queries_name, geodec_lookup_queries, "near", "fresh", "own", "cloud")

static geodec_status random_metric(int64_t n, double condition, geodec_rng *r, double *g, geodec_err *err)
{
    double a[MAX_N * MAX_N] = {0}, w[MAX_N], v[MAX_N * MAX_N];
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j <= i; j++) a[i * n + j] = a[j * n + i] = geodec_rng_normal(r);
    GEODEC_PASS(geodec_eig_sym(n, a, w, v, err));
    for (int64_t i = 0; i < n; i++) w[i] = exp(log(condition) * (double)i / (double)(n - 1));
    geodec_eig_compose(n, w, v, g);
    return GEODEC_OK;
}

static double median(double *a)
{
    geodec_stats_sort(ROUNDS, a);
    return a[ROUNDS / 2];
}

typedef struct world {
    double *q, *x, *g; /* anchors; queries and their metrics */
    float *own;        /* of the records, or NULL */
    geodec_lookup_hit *hit;
    geodec_lookup *l;
} world;

static geodec_status prepare(uint64_t seed, const geodec_lookup_speed *row, world *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = row->n, packed = n * (n + 1) / 2;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("lookup speed", (uint64_t)row->records));
    double m[MAX_N * MAX_N], upper[MAX_N * (MAX_N + 1) / 2];
    GEODEC_NEW(w->q, row->records * n);
    GEODEC_NEW(w->x, QUERIES * n);
    GEODEC_NEW(w->g, QUERIES * n * n);
    GEODEC_NEW(w->hit, QUERIES);
    for (int64_t i = 0; i < row->records * n; i++) w->q[i] = geodec_rng_normal(&r);
    if (row->kind == GEODEC_LOOKUP_OWN) {
        GEODEC_NEW(w->own, row->records * packed);
        for (int64_t i = 0; i < row->records; i++) {
            GEODEC_TRY(random_metric(n, row->condition, &r, m, err));
            geodec_sym_pack(n, m, upper);
            for (int64_t j = 0; j < packed; j++) w->own[i * packed + j] = (float)upper[j];
        }
    }
    for (int64_t i = 0; i < QUERIES; i++) {
        const double *at = w->q + (int64_t)geodec_rng_below(&r, (uint64_t)row->records) * n;
        for (int64_t a = 0; a < n; a++)
            w->x[i * n + a] =
                row->kind == GEODEC_LOOKUP_NEAR ? at[a] + 0.05 * geodec_rng_normal(&r) : geodec_rng_normal(&r);
        GEODEC_TRY(random_metric(n, row->condition, &r, w->g + i * n * n, err));
    }
done:
    return st;
}

static geodec_status time_search(const world *w, const double *g, bool brief, geodec_lookup_speed *row, geodec_err *err)
{
    const int64_t n = row->n, repeats = brief || row->records > 1000 ? 1 : row->records > 100 ? 4 : 40;
    const double each = 1e6 / (double)(repeats * QUERIES);
    double single[ROUNDS], batch[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        double t = geodec_clock_thread_seconds();
        for (int64_t again = 0; again < repeats; again++)
            for (int64_t i = 0; i < QUERIES; i++)
                GEODEC_PASS(geodec_lookup_nearest(w->l, w->x + i * n, g ? g + i * n * n : NULL, &w->hit[i], err));
        single[round] = (geodec_clock_thread_seconds() - t) * each;
        t = geodec_clock_thread_seconds();
        for (int64_t again = 0; again < repeats; again++)
            GEODEC_PASS(geodec_lookup_many(w->l, QUERIES, w->x, g, w->hit, err));
        batch[round] = (geodec_clock_thread_seconds() - t) * each;
    }
    row->single_us = median(single);
    row->batch_us = median(batch);
    return GEODEC_OK;
}

/* The searches of a world whose anchors, queries and metrics are set: g of the queries, or NULL for the records' own.
 */
static geodec_status measure(world *w, const double *g, bool brief, geodec_lookup_speed *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = row->n;
    double eye[MAX_N * MAX_N] = {0};
    geodec_lookup_hit *peer = NULL;
    for (int64_t i = 0; i < n; i++) eye[i * n + i] = 1;
    double t = geodec_clock_thread_seconds();
    GEODEC_TRY(geodec_lookup_create(row->records, n, w->q, w->own, &w->l, err));
    row->create_ms = 1e3 * (geodec_clock_thread_seconds() - t);
    GEODEC_TRY(time_search(w, g, brief, row, err));
    const int64_t checked = brief || row->records > 10000 ? FEW : QUERIES;
    int64_t right = 0, screened = 0, near = 0;
    row->computed = 0;
    for (int64_t i = 0; i < QUERIES; i++) row->computed += (double)w->hit[i].evaluations / QUERIES;
    GEODEC_NEW(peer, QUERIES);
    t = geodec_clock_thread_seconds();
    for (int64_t i = 0; i < checked; i++)
        GEODEC_TRY(geodec_lookup_exhaustive(w->l, w->x + i * n, g ? g + i * n * n : NULL, &peer[i], err));
    row->exhaustive_us = 1e6 * (geodec_clock_thread_seconds() - t) / (double)checked;
    for (int64_t i = 0; i < checked; i++)
        right += peer[i].index == w->hit[i].index && peer[i].distance == w->hit[i].distance;
    t = geodec_clock_thread_seconds();
    for (int64_t i = 0; i < checked; i++)
        GEODEC_TRY(geodec_lookup_screened(w->l, w->x + i * n, g ? g + i * n * n : NULL, KEEP, &peer[i], err));
    row->screen_us = 1e6 * (geodec_clock_thread_seconds() - t) / (double)checked;
    for (int64_t i = 0; i < checked; i++) screened += peer[i].index == w->hit[i].index;
    t = geodec_clock_thread_seconds();
    for (int64_t i = 0; i < QUERIES; i++) GEODEC_TRY(geodec_lookup_nearest(w->l, w->x + i * n, eye, &peer[i], err));
    row->euclid_us = 1e6 * (geodec_clock_thread_seconds() - t) / QUERIES;
    for (int64_t i = 0; i < QUERIES; i++) near += peer[i].index == w->hit[i].index;
    row->recall = (double)right / (double)checked;
    row->recall_screen = (double)screened / (double)checked;
    row->recall_euclid = (double)near / QUERIES;
done:
    geodec_mem_free(peer);
    return st;
}

static void world_clear(world *w)
{
    geodec_lookup_destroy(w->l);
    GEODEC_FREE(w->q, w->x, w->g, w->own, w->hit);
}

geodec_status geodec_lookup_speed_measure(uint64_t seed, bool brief, geodec_lookup_speed *row, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    world w = {0};
    if (row->records < 1 || row->n < 2 || row->n > MAX_N || !(row->condition >= 1) || row->condition > 1e12)
        GEODEC_THROW(GEODEC_RANGE, "%lld records of dimension %lld, condition %g", (long long)row->records,
                     (long long)row->n, row->condition);
    GEODEC_TRY(prepare(seed, row, &w, err));
    GEODEC_TRY(measure(&w, row->kind == GEODEC_LOOKUP_OWN ? NULL : w.g, brief, row, err));
done:
    world_clear(&w);
    return st;
}

/* ---- a cloud ----------------------------------------------------------------------------------------------------- */

/* Raises g to the power with the condition number `wanted` (0: unchanged); *condition: that of g before. */
static geodec_status set_condition(int64_t n, double wanted, double *g, double *condition, geodec_err *err)
{
    double l[MAX_N], v[MAX_N * MAX_N];
    GEODEC_PASS(geodec_eig_sym(n, g, l, v, err));
    *condition = l[n - 1] / l[0];
    if (!(l[0] > 0)) GEODEC_FAIL(GEODEC_NUMERIC, "a metric with the eigenvalue %g", l[0]);
    if (wanted == 0) return GEODEC_OK;
    const double power = log(wanted) / log(*condition);
    for (int64_t i = n - 1; i >= 0; i--) /* nearly equal eigenvalues have no order but rounding: spread them evenly */
        l[i] = *condition > 1.01 ? pow(l[i] / l[0], power) : pow(wanted, (double)i / (double)(n - 1));
    geodec_eig_compose(n, l, v, g);
    return GEODEC_OK;
}

geodec_status geodec_lookup_speed_cloud(const geodec_metric *cloud, uint64_t seed, bool brief, geodec_lookup_speed *row,
                                        geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    world w = {0};
    geodec_rbf *field = NULL;
    double *condition = NULL;
    const int64_t n = cloud->n, N = cloud->points;
    if (n < 2 || n > MAX_N || row->condition < 0 || row->condition > 1e12)
        GEODEC_THROW(GEODEC_RANGE, "a cloud of dimension %lld, condition %g", (long long)n, row->condition);
    if (N < 16) GEODEC_THROW(GEODEC_SCARCE, "a cloud of %lld points", (long long)N);
    row->kind = GEODEC_LOOKUP_CLOUD;
    row->n = n;
    row->records = N;
    GEODEC_TRY(geodec_metric_field(cloud, &field, err));
    const geodec_space *s = geodec_rbf_space(field);
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("lookup cloud", (uint64_t)N));
    GEODEC_NEW(w.x, QUERIES * n);
    GEODEC_NEW(w.g, QUERIES * n * n);
    GEODEC_NEW_EACH(QUERIES, w.hit, condition);
    GEODEC_NEW_COPY(w.q, cloud->point, N * n);
    for (int64_t i = 0; i < QUERIES; i++) {
        const int64_t p = (int64_t)geodec_rng_below(&r, (uint64_t)N), to = cloud->knn_index[p * cloud->k];
        double *x = w.x + i * n, *g = w.g + i * n * n;
        for (int64_t a = 0; a < n; a++) x[a] = 0.5 * (cloud->point[p * n + a] + cloud->point[to * n + a]);
        GEODEC_TRY(s->at(s, x, g, NULL, NULL, err));
        GEODEC_TRY(set_condition(n, row->condition, g, &condition[i], err));
    }
    geodec_stats_sort(QUERIES, condition);
    if (row->condition == 0) row->condition = condition[QUERIES / 2];
    GEODEC_TRY(measure(&w, w.g, brief, row, err));
done:
    world_clear(&w);
    geodec_rbf_destroy(field);
    geodec_mem_free(condition);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct report {
    int64_t rows, n;
    const geodec_lookup_speed *row; /* [rows] */
} report;
#define OF(m) GEODEC_OF_ROW(geodec_lookup_speed, m)

static const geodec_field fields[] = {
    {"/kind", GEODEC_I32, "K", 0, "1", "queries: 0 near an anchor, 1 fresh, 2 fresh in the records' own metrics", 0,
     OF(kind)},
    {"/records", GEODEC_I64, "K", 0, "1", "R", 0, OF(records)},
    {"/condition", GEODEC_F64, "K", 0, "1", "condition number of the metrics", 0, OF(condition)},
    {"/single_us", GEODEC_F64, "K", 0, "us", "a search, one call each", 0, OF(single_us)},
    {"/batch_us", GEODEC_F64, "K", 0, "us", "a search, one call for 1024", 0, OF(batch_us)},
    {"/exhaustive_us", GEODEC_F64, "K", 0, "us", "control: every record in float64", 0, OF(exhaustive_us)},
    {"/screen_us", GEODEC_F64, "K", 0, "us", "control: the best of the 8 nearest by Euclid", 0, OF(screen_us)},
    {"/computed", GEODEC_F64, "K", 0, "1", "distances in float64 a search", 0, OF(computed)},
    {"/recall", GEODEC_F64, "K", 0, "1", "searches equal to exhaustive search bit for bit", 0, OF(recall)},
    {"/recall_screen", GEODEC_F64, "K", 0, "1", "control: searches in which the screen finds the nearest record", 0,
     OF(recall_screen)},
};

static const geodec_attr attrs[] = {
    {"n", GEODEC_ATTR_I64, 0, "dimension", GEODEC_IN(report, n)},
};

static const geodec_extent extents[] = {{"K", GEODEC_IN(report, rows)}};

const geodec_kind geodec_lookup_speed_kind = {
    GEODEC_ABOUT("lookup_speed", 1, 0, "geodec-lookup", "speed and recall of the nearest-record search"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"K", sizeof(geodec_lookup_speed), offsetof(report, row), false},
};

geodec_status geodec_lookup_speed_write(int64_t rows, const geodec_lookup_speed *row, geodec_artifact *a,
                                        geodec_err *err)
{
    if (rows < 1) GEODEC_FAIL(GEODEC_RANGE, "no rows");
    const report r = {rows, row[0].n, row};
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}
