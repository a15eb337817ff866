#include "chain/cloud_needs.h"

#include "base/clock.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud_internal.h"
#include "geometry/sketch.h"
#include "linalg/knn_pilot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SLAB = GEODEC__CLOUD_SLAB,
    SAMPLE_LEAST = 2048, /* rows that are read */
    SAMPLE_MOST = 4096,  /* of wide states */
    RUN = 256,           /* rows of a read */
    HASHED = 512,        /* of them hashed */
    SORTED = 8192,       /* digests sorted */
    EIGEN_MOST = 1024,   /* width of an eigenproblem that is timed */
    BOOTSTRAP = 2048,    /* points of a timed bootstrap */
    PRUNED_D = 32        /* above it the search measures all distances (linalg/knn.h) */
};

#define SAMPLE_WORK INT64_C(2000000000)

double geodec_cloud_bytes(const geodec_cloud_sizes *z, int64_t control_points, int64_t threads)
{
    const double R = (double)z->rows, N = (double)z->points, d = (double)z->d, K = (double)z->k, S = (double)z->sample,
                 C = (double)geodec__min(z->points, control_points), t = (double)threads;
    const double buffers = SLAB * d * (4 + 8) + SLAB * d * (double)z->layers * (z->half ? 2 : 4) + 8 * d, rows = 8 * R;
    const double digests = R * (double)sizeof(geodec__cloud_digest) + (4 + 8 + 8) * R; /* norms twice */
    /* three moments and three of a block; the covariance, its eigenvectors and the work space of the eigenproblem */
    double components = 6 * 8 * d * d + SLAB * d * 8 + 3 * 8 * d * d;
    if (z->points <= z->d) components = 8 * (3 * N * d + 3 * N * N);
    if (z->width > 0) components = 12 * 8 * (double)z->width * d + SLAB * d * 8;
    /* the sample as it was given and its kept coordinates; TwoNN copies the first */
    const double basis = 8 * K * d, sample = S * (d + K) * 8,
                 twonn = S * d * 8 + S * (16 + 2 * 12 + 1) + geodec_knn_bytes(z->sample, z->d, 0, 2, threads),
                 window = S * d * 8 + S * (2 * 12 + 3 * 4 + 12); /* points of a part */
    const double dimension = basis + sample + geodec__max_f64(SLAB * K * 8 + t * 64 * d * 8, twonn + window);
    const double control =
        basis + geodec__max_f64(S * d * 8 + twonn + window,
                                C * d * 8 + (z->points > z->d ? 4 * 8 * d * d : 8 * (C * d + 2 * C * C)));
    const double save = basis + 12 * R + 4 * N;
    return buffers + rows +
           geodec__max_f64(geodec__max_f64(digests, components),
                           geodec__max_f64(geodec__max_f64(dimension, control), save));
}

/* What the trials share. Times in processor seconds. */
typedef struct trials {
    const geodec_activations *in;
    const geodec_cloud_options *o;
    geodec_pool *pool;
    int64_t index, d, m; /* layer in the file, width, rows of the sample */
    float *state;        /* [m][d] */
    double *x;           /* [m][d] */
    double *y;           /* [m][pca.k] coordinates */
    geodec_pca pca;
    double read, hash, sort; /* of a row, of a row, of all rows */
    double moments, project; /* of a row, all threads */
    double values, vectors;  /* an eigenproblem of the stage's width, without and with vectors */
    double normal;           /* a random number */
} trials;

static double now(void) { return geodec_clock_process_seconds(); }

/* Rows in runs, spread over the file. */
static geodec_status read_sample(trials *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    void *scratch = NULL;
    GEODEC_NEW(t->state, t->m * t->d);
    GEODEC_NEW(t->x, t->m * t->d);
    scratch = geodec_mem_new((int64_t)geodec_activations_scratch(t->in, RUN), 1);
    if (!scratch) GEODEC_THROW(GEODEC_NOMEM, "no memory for %d rows", RUN);
    const double begin = now();
    for (int64_t at = 0; at < t->m; at += RUN) {
        const int64_t n = t->m - at < RUN ? t->m - at : RUN,
                      from = (int64_t)((double)at * (double)(t->in->rows - n) / (double)t->m);
        GEODEC_TRY(geodec_activations_read(t->in, t->index, from, n, t->state + at * t->d, scratch, err));
        for (int64_t i = at * t->d; i < (at + n) * t->d; i++) {
            if (!isfinite(t->state[i]))
                GEODEC_THROW(GEODEC_NUMERIC, "the state of row %lld is not finite", (long long)(from + i / t->d - at));
            t->x[i] = (double)t->state[i];
        }
    }
    t->read = (now() - begin) / (double)t->m;
done:
    geodec_mem_free(scratch);
    return st;
}

static geodec_status time_digests(trials *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t rows = t->in->rows, hashed = geodec__min(t->m, HASHED), sorted = geodec__min(rows, SORTED);
    geodec__cloud_digest *all = NULL;
    char hex[GEODEC_SHA256_HEX];
    double sum = 0;
    GEODEC_NEW(all, sorted);
    double begin = now();
    for (int64_t r = 0; r < hashed; r++) {
        for (int64_t c = 0; c < t->d; c++) sum += (double)t->state[r * t->d + c];
        geodec_sha256_of(t->state + r * t->d, (size_t)t->d * sizeof *t->state, hex);
    }
    t->hash = (now() - begin) / (double)hashed + (isfinite(sum) ? 0 : 1e-9);
    for (int64_t r = 0; r < sorted; r++) {
        const int64_t seed = r * 2654435761;
        geodec_sha256_of(&seed, sizeof seed, hex);
        memcpy(all[r].hex, hex, sizeof all[r].hex);
        all[r].row = (int32_t)r;
    }
    begin = now();
    qsort(all, (size_t)sorted, sizeof *all, geodec__cloud_by_digest);
    t->sort = (now() - begin) * (double)rows / (double)sorted * log((double)rows + 1) / log((double)sorted + 1);
done:
    geodec_mem_free(all);
    return st;
}

/* Sums, spectrum and projection of the sample; sets pca. Wide states: of their first EIGEN_MOST coordinates the times
 * of eigenproblems, and of the rows the components. */
static geodec_status time_components(trials *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pca_moments m = {0};
    double *value = NULL;
    const int64_t d = t->d, first = t->m / 4;
    const double wide = d > EIGEN_MOST ? pow((double)d / EIGEN_MOST, 3) : 1;
    GEODEC_NEW(value, d);
    GEODEC_TRY(geodec_pca_moments_init(&m, d, t->x, err));
    const int times = t->m > SAMPLE_MOST ? 1 : 2; /* the last one counts */
    for (int trial = 0; trial < times; trial++) {
        const double begin = now();
        GEODEC_TRY(geodec_pca_moments_add(&m, first, t->x, t->pool, err)); /* as the subsets divide a slab */
        GEODEC_TRY(geodec_pca_moments_add(&m, t->m - first, t->x + first * d, t->pool, err));
        t->moments = (now() - begin) / (double)t->m;
    }
    double begin = now();
    if (d > EIGEN_MOST)
        GEODEC_TRY(geodec_pca_spectrum_rows(geodec__min(t->m, EIGEN_MOST), d, t->x, t->pool, value, err));
    else
        GEODEC_TRY(geodec_pca_spectrum_moments(&m, value, err));
    t->values = (now() - begin) * wide;
    begin = now();
    if (d > EIGEN_MOST)
        GEODEC_TRY(geodec_pca_from_rows(geodec__min(t->m, EIGEN_MOST), d, t->x, t->o->variance, t->pool, &t->pca, err));
    else
        GEODEC_TRY(geodec_pca_from_moments(&m, t->o->variance, &t->pca, err));
    t->vectors = (now() - begin) * wide;
    GEODEC_NEW(t->y, t->m * t->pca.k);
    for (int trial = 0; trial < times; trial++) {
        begin = now();
        GEODEC_TRY(geodec_pca_project(d, t->pca.k, t->pca.basis, t->pca.mean, t->m, t->x, t->y, t->pool, err));
        t->project = (now() - begin) / (double)t->m;
    }
done:
    geodec_pca_moments_clear(&m);
    geodec_mem_free(value);
    return st;
}

/* The bootstrap of one point. */
static geodec_status time_bootstrap(int64_t n, double *each, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_twonn_options o = geodec_twonn_defaults();
    geodec_twonn ignored;
    double *d2 = NULL;
    const int64_t m = geodec__min(n, BOOTSTRAP);
    GEODEC_NEW(d2, 2 * m);
    for (int64_t i = 0; i < m; i++) {
        d2[2 * i] = 1 + (double)i;
        d2[2 * i + 1] = d2[2 * i] * (1.1 + 1e-5 * (double)(i * 7919 % 1000003));
    }
    const double begin = now();
    GEODEC_TRY(geodec_twonn_from_distances(m, d2, &o, &ignored, err));
    *each = (now() - begin) / (double)m;
done:
    geodec_mem_free(d2);
    return st;
}

/* Adds to *serial and *parallel: TwoNN of n points in three nested subsets, from a search among m points x [m][k];
 * window: and the search for the window in time, of all of them. What a window adds to each is less than that. */
static geodec_status time_twonn(const trials *t, int64_t n, int64_t m, int64_t k, const double *x, bool window,
                                double bootstrap, double budget, const geodec_hooks *hooks, double *serial,
                                double *parallel, geodec_err *err)
{
    geodec_knn_cost cost;
    GEODEC_PASS(geodec_knn_pilot(m, k, x, 0, NULL, 2, budget, t->pool, hooks, &cost, err));
    for (int s = window ? -1 : 0; s < GEODEC_CLOUD_SUBSETS; s++) {
        const double of = (double)n / (double)(1 << (s < 0 ? 0 : s)), share = of / (double)m;
        *serial += cost.order * share + (s < 0 ? 0 : bootstrap * of);
        *parallel += cost.fixed * share + cost.query * of * (k > PRUNED_D ? share : sqrt(share));
    }
    return GEODEC_OK;
}

/* TwoNN of the states and of the control, in the d coordinates of the states and in the K kept ones. */
static geodec_status add_twonn(trials *t, int64_t n, double budget, const geodec_hooks *hooks, geodec_needs *needs,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, bootstrap = 0, serial = 0, parallel = 0;
    const int64_t k = t->pca.k, live = t->pca.values, m = geodec__min(t->m, n);
    GEODEC_TRY(time_bootstrap(n, &bootstrap, err));
    GEODEC_TRY(time_twonn(t, n, m, t->d, t->x, true, bootstrap, budget / 4, hooks, &serial, &parallel, err));
    GEODEC_TRY(time_twonn(t, n, m, k, t->y, false, bootstrap, budget / 4, hooks, &serial, &parallel, err));
    geodec_needs_time(needs, "twonn", serial, parallel);
    GEODEC_NEW(x, m * live);
    const double begin = now();
    geodec__cloud_gaussian(m, live, t->pca.eigenvalue, t->o->seed, geodec_rng_id("cloud-control", 0), x);
    t->normal = (now() - begin) / (double)(m * live);
    serial = parallel = 0;
    GEODEC_TRY(time_twonn(t, n, m, live, x, false, bootstrap, budget / 4, hooks, &serial, &parallel, err));
    geodec__cloud_gaussian(m, k, t->pca.eigenvalue, t->o->seed, geodec_rng_id("cloud-control", 0), x);
    GEODEC_TRY(time_twonn(t, n, m, k, x, false, bootstrap, budget / 4, hooks, &serial, &parallel, err));
    geodec_needs_time(needs, "control_twonn", serial + t->normal * (double)(n * (live + k)), parallel);
done:
    geodec_mem_free(x);
    return st;
}

int64_t geodec__cloud_widest(const geodec_cloud_options *o, int64_t d)
{
    if (o->pca == GEODEC_CLOUD_PCA_RANDOMIZED) return d / 2;
    return o->pca == GEODEC_CLOUD_PCA_AUTO && d >= GEODEC__CLOUD_AUTO_D ? d / 16 : 0;
}

/* The width of the sketch that suffices, as the stage doubles it; 0: the covariance. */
static int64_t sketch_width(int64_t widest, int64_t k)
{
    for (int64_t w = GEODEC__CLOUD_FIRST_WIDTH; widest > 0; w *= 2) {
        const int64_t width = geodec__min(w, widest);
        if (width - GEODEC_SKETCH_OVERSAMPLE >= k) return width;
        if (width == widest) break;
    }
    return 0;
}

static void add_components(const trials *t, const geodec_cloud_sizes *z, const geodec_cloud_part *part,
                           geodec_needs *needs)
{
    const double N = (double)z->points, d = (double)z->d;
    if (z->points <= z->d && !part->part) { /* Gram matrices of N, N/2 and N/4 rows; products as in the sums */
        const double cube = pow(N / d, 3), products = t->moments * N * N / d;
        geodec_needs_time(needs, "components",
                          N * t->read + cube * (t->vectors + t->values * (1 / 8. + 1 / 64.)) +
                              2 * products * (1 + 1 / 4. + 1 / 16.),
                          0);
        return;
    }
    if (z->width > 0) { /* two passes of three subsets, two products of rows and directions; widths before this one */
        const double flops = 2 * 1.75 * N * 2 * (double)z->width / d * 2;
        geodec_needs_time(needs, "components", 4 * N * t->read, t->moments * flops);
        return;
    }
    if (!part->joined)
        geodec_needs_time(needs, "covariance", N * t->read / (double)part->shares,
                          N * t->moments / (double)part->shares);
    if (!part->part) geodec_needs_time(needs, "components", t->vectors + 2 * t->values, 0);
}

static geodec_status add_times(trials *t, const geodec_cloud_sizes *z, const geodec_cloud_part *part, double budget,
                               const geodec_hooks *hooks, geodec_needs *needs, geodec_err *err)
{
    const double R = (double)z->rows, N = (double)z->points;
    geodec_needs_time(needs, "rows", R * (t->read + t->hash) + t->sort, 0);
    add_components(t, z, part, needs);
    if (part->part) return GEODEC_OK;
    geodec_needs_time(needs, "coordinates", N * t->read, N * t->project);
    GEODEC_PASS(add_twonn(t, z->sample, budget, hooks, needs, err));
    const double C = (double)geodec__min(z->points, t->o->control_points), d = (double)z->d;
    const double cube = C > d ? 3 : pow(C / d, 3) * (1 + 1 / 8. + 1 / 64.);
    geodec_needs_time(needs, "control_spectrum", cube * t->values + t->normal * C * d, 1.75 * C * t->moments);
    return GEODEC_OK;
}

geodec_status geodec_cloud_needs(const geodec_activations *states, const geodec_cloud_options *o,
                                 const geodec_cloud_part *part, double budget, geodec_pool *pool,
                                 const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_cloud_sizes z = {.rows = states->rows, .layers = states->layers, .d = states->d, .half = states->half};
    trials t = {.in = states, .o = o, .pool = pool, .d = states->d};
    z.points = o->max_points > 0 ? geodec__min(o->max_points, z.rows) : z.rows;
    z.sample = geodec__min(z.points, o->twonn_points);
    t.m = geodec__min(z.rows, 2 * z.d < SAMPLE_LEAST ? SAMPLE_LEAST : geodec__min(2 * z.d, SAMPLE_MOST));
    /* as many as TwoNN takes, if their sums and coordinates take at most SAMPLE_WORK products */
    const int64_t fit = geodec__min(geodec__min(z.rows, z.sample), SAMPLE_WORK / (z.d * z.d));
    t.m = t.m > fit ? t.m : fit;
    if (z.points < GEODEC_CLOUD_MIN_POINTS)
        GEODEC_THROW(GEODEC_SCARCE, "%lld states; a cloud needs at least %d", (long long)z.points,
                     GEODEC_CLOUD_MIN_POINTS);
    GEODEC_TRY(geodec_activations_find_layer(states, o->layer, &t.index, err));
    GEODEC_TRY(read_sample(&t, err));
    GEODEC_TRY(time_digests(&t, err));
    GEODEC_TRY(time_components(&t, err));
    z.k = geodec__min(t.pca.k, z.points - 1);
    z.width = sketch_width(z.points > z.d ? geodec__cloud_widest(o, z.d) : 0, z.k);
    const geodec_size_dim dims[] = {
        {"N", z.points}, {"K", z.k}, {"d", z.d}, {"E", geodec__min(z.d, z.points - 1)}, {"T", GEODEC_CLOUD_SUBSETS}};
    GEODEC_TRY(geodec_size_of(&geodec_cloud_kind, 5, dims, NULL, size, err));
    geodec_needs_size(needs, "rows", (double)z.rows);
    geodec_needs_size(needs, "points", (double)z.points);
    geodec_needs_size(needs, "width", (double)z.d);
    geodec_needs_size(needs, "components", (double)z.k);
    geodec_needs_size(needs, "sketch_width", (double)z.width);
    geodec_needs_size(needs, "twonn_points", (double)z.sample);
    geodec_needs_memory(needs, "stage", geodec_cloud_bytes(&z, o->control_points, geodec_pool_threads(pool)));
    GEODEC_TRY(add_times(&t, &z, part, budget, hooks, needs, err));
done:
    geodec_pca_clear(&t.pca);
    GEODEC_FREE(t.state, t.x, t.y);
    return st;
}
