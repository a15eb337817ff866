#include "chain/cloud.h"

#include "artifact/binding.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/cloud_internal.h"
#include "geometry/sketch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLAB = GEODEC__CLOUD_SLAB, MAX_ROWS = 1 << 30 };

geodec_cloud_options geodec_cloud_defaults(void)
{
    return (geodec_cloud_options){
        .variance = 0.95, .twonn_points = 20000, .control_points = 4096, .theiler = -1, .seed = 1};
}

/* ---- passes over the kept rows ---------------------------------------------------------------------------------- */

/* Gets kept points first .. first+m-1 (m <= SLAB) as doubles [m][d]. Reads runs of rows. */
static geodec_status load(geodec__cloud_run *b, int64_t first, int64_t m, double *x, geodec_err *err)
{
    for (int64_t i = 0; i < m;) {
        /* one read covers all rows within a slab: reading a few extra rows costs less than many reads */
        const int32_t r0 = b->row[first + i];
        int64_t j = i + 1;
        while (j < m && b->row[first + j] - r0 < SLAB) j++;
        const int64_t span = b->row[first + j - 1] - r0 + 1;
        GEODEC_PASS(geodec_activations_read(b->in, b->index, r0, span, b->slab, b->scratch, err));
        for (; i < j; i++) {
            const float *s = b->slab + (b->row[first + i] - r0) * b->d;
            for (int64_t c = 0; c < b->d; c++) x[i * b->d + c] = (double)s[c];
        }
    }
    return GEODEC_OK;
}

/* Copies the points of x [n][d] whose rank is in low .. high-1; row 0 of x is point `first`. Returns their number. */
static int64_t gather(const geodec__cloud_run *b, int64_t first, int64_t n, const double *x, int64_t low, int64_t high,
                      double *out)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t rank = b->rank[first + i];
        if (rank >= low && rank < high) memcpy(out + count++ * b->d, x + i * b->d, (size_t)b->d * sizeof *x);
    }
    return count;
}

/* The covariance is summed over blocks in a fixed order, so it does not depend on which thread summed a block. */
enum { BLOCKS = GEODEC__CLOUD_BLOCKS };

typedef struct covariance {
    geodec__cloud_run *b;
    double *group; /* [SLAB][d] */
    geodec_pca_moments block[GEODEC_CLOUD_SUBSETS],
        all[GEODEC_CLOUD_SUBSETS]; /* of the points that a subset adds to the previous one */
} covariance;

static geodec_status block_task(void *ctx, int64_t number, geodec_err *err)
{
    covariance *c = ctx;
    geodec__cloud_run *b = c->b;
    const int64_t d = b->d, end = b->points * (number + 1) / BLOCKS;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        c->block[t].count = 0;
        memset(c->block[t].sum, 0, (size_t)d * sizeof *c->block[t].sum);
        memset(c->block[t].square, 0, (size_t)(d * d) * sizeof *c->block[t].square);
    }
    for (int64_t first = b->points * number / BLOCKS; first < end; first += SLAB) {
        const int64_t n = end - first < SLAB ? end - first : SLAB;
        GEODEC_PASS(geodec_hooks_progress(b->hooks, "covariance", first, b->points, err));
        GEODEC_PASS(load(b, first, n, b->wide, err));
        for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
            const int64_t count = gather(b, first, n, b->wide, t ? b->size[t - 1] : 0, b->size[t], c->group);
            GEODEC_PASS(geodec_pca_moments_add(&c->block[t], count, c->group, b->pool, err));
        }
    }
    return GEODEC_OK;
}

static geodec_status add_block(void *ctx, int64_t number, geodec_err *err)
{
    covariance *c = ctx;
    (void)number, (void)err;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) geodec_pca_moments_merge(&c->all[t], &c->block[t]);
    return GEODEC_OK;
}

/* Principal components of every subset from the covariance; pca receives those of all points. */
static geodec_status components_streamed(geodec__cloud_run *b, geodec_pca *pca, int64_t k[GEODEC_CLOUD_SUBSETS],
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    covariance c = {.b = b};
    geodec_sweep_result result[3 * GEODEC_CLOUD_SUBSETS];
    double *value = NULL;
    const int64_t d = b->d, size = sizeof(double);
    GEODEC_NEW(c.group, SLAB * d);
    GEODEC_NEW(value, d);
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        GEODEC_TRY(geodec_pca_moments_init(&c.all[t], d, b->row_mean, err));
        GEODEC_TRY(geodec_pca_moments_init(&c.block[t], d, b->row_mean, err));
        result[3 * t] = (geodec_sweep_result){&c.block[t].count, 1, sizeof c.block[t].count};
        result[3 * t + 1] = (geodec_sweep_result){c.block[t].sum, 1, d * size};
        result[3 * t + 2] = (geodec_sweep_result){c.block[t].square, 1, d * d * size};
    }
    GEODEC_TRY(geodec_sweep_fold(b->o->sweep, "covariance", BLOCKS, block_task, add_block, &c, result,
                                 3 * GEODEC_CLOUD_SUBSETS, err));
    if (geodec_sweep_partial(b->o->sweep)) goto done;
    geodec_pca_moments *m = c.all;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        if (t > 0) geodec_pca_moments_merge(&m[t], &m[t - 1]);
        GEODEC_TRY(geodec_hooks_progress(b->hooks, "spectrum", t, GEODEC_CLOUD_SUBSETS, err));
        if (t == GEODEC_CLOUD_SUBSETS - 1) break;
        GEODEC_TRY(geodec_pca_spectrum_moments(&m[t], value, err));
        k[t] = geodec_pca_pick(b->size[t] - 1 < d ? b->size[t] - 1 : d, value, b->o->variance);
    }
    GEODEC_TRY(geodec_pca_from_moments(&m[GEODEC_CLOUD_SUBSETS - 1], b->o->variance, pca, err));
    k[GEODEC_CLOUD_SUBSETS - 1] = pca->k;
done:
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        geodec_pca_moments_clear(&c.all[t]);
        geodec_pca_moments_clear(&c.block[t]);
    }
    GEODEC_FREE(c.group, value);
    return st;
}

/* Principal components of every subset with all rows in memory, for at most d rows. */
static geodec_status components_in_memory(geodec__cloud_run *b, geodec_pca *pca, int64_t k[GEODEC_CLOUD_SUBSETS],
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *part = NULL, *value = NULL;
    const int64_t d = b->d;
    GEODEC_NEW_EACH(b->points * d, x, part);
    GEODEC_NEW(value, d);
    for (int64_t first = 0; first < b->points; first += SLAB)
        GEODEC_TRY(load(b, first, b->points - first < SLAB ? b->points - first : SLAB, x + first * d, err));
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS - 1; t++) {
        const int64_t count = gather(b, 0, b->points, x, 0, b->size[t], part);
        GEODEC_TRY(geodec_pca_spectrum_rows(count, d, part, b->pool, value, err));
        k[t] = geodec_pca_pick(count - 1, value, b->o->variance);
    }
    GEODEC_TRY(geodec_pca_from_rows(b->points, d, x, b->o->variance, b->pool, pca, err));
    k[GEODEC_CLOUD_SUBSETS - 1] = pca->k;
done:
    GEODEC_FREE(x, part, value);
    return st;
}

enum { FIRST_WIDTH = GEODEC__CLOUD_FIRST_WIDTH };

/* Sketches are summed over the same blocks. */
typedef struct sketches {
    geodec__cloud_run *b;
    double *group;                                                        /* [SLAB][d] */
    geodec_sketch block[GEODEC_CLOUD_SUBSETS], all[GEODEC_CLOUD_SUBSETS]; /* of the points of a subset */
    int pass;
} sketches;

static geodec_status sketch_task(void *ctx, int64_t number, geodec_err *err)
{
    sketches *s = ctx;
    geodec__cloud_run *b = s->b;
    const int64_t end = b->points * (number + 1) / BLOCKS;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) geodec_sketch_empty(&s->block[t], &s->all[t]);
    for (int64_t first = b->points * number / BLOCKS; first < end; first += SLAB) {
        const int64_t n = end - first < SLAB ? end - first : SLAB;
        GEODEC_PASS(
            geodec_hooks_progress(b->hooks, s->pass ? "sketch, pass 2" : "sketch, pass 1", first, b->points, err));
        GEODEC_PASS(load(b, first, n, b->wide, err));
        for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
            const int64_t count = gather(b, first, n, b->wide, 0, b->size[t], s->group);
            GEODEC_PASS(geodec_sketch_add(&s->block[t], count, s->group, b->pool, err));
        }
    }
    return GEODEC_OK;
}

static geodec_status add_sketch(void *ctx, int64_t number, geodec_err *err)
{
    sketches *s = ctx;
    (void)number, (void)err;
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) geodec_sketch_merge(&s->all[t], &s->block[t]);
    return GEODEC_OK;
}

/* The two passes over the states with sketches of one width. */
static geodec_status sketch_passes(sketches *s, int64_t width, geodec_err *err)
{
    geodec__cloud_run *b = s->b;
    const int64_t d = b->d, size = sizeof(double);
    geodec_comm *const comm = geodec_sweep_comm(b->o->sweep);
    geodec_sweep_result result[4 * GEODEC_CLOUD_SUBSETS];
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        geodec_sketch *const block = &s->block[t];
        geodec_sketch_clear(&s->all[t]);
        geodec_sketch_clear(block);
        const uint64_t stream = geodec_rng_id("cloud-sketch", (uint64_t)width);
        GEODEC_PASS(geodec_sketch_init(&s->all[t], d, width, b->row_mean, b->o->seed, stream, err));
        GEODEC_PASS(geodec_sketch_init(block, d, width, b->row_mean, b->o->seed, stream, err));
        result[4 * t] = (geodec_sweep_result){&block->count, 1, sizeof block->count};
        result[4 * t + 1] = (geodec_sweep_result){&block->square, 1, size};
        result[4 * t + 2] = (geodec_sweep_result){block->sum, 1, d * size};
        result[4 * t + 3] = (geodec_sweep_result){block->image, 1, width * d * size};
    }
    for (s->pass = 0; s->pass < 2; s->pass++) {
        GEODEC_PASS(geodec_sweep_fold(b->o->sweep, s->pass ? "sketch 2" : "sketch 1", BLOCKS, sketch_task, add_sketch,
                                      s, result, 4 * GEODEC_CLOUD_SUBSETS, err));
        for (int t = 0; t < GEODEC_CLOUD_SUBSETS && s->pass == 0; t++) {
            if (!geodec_sweep_partial(b->o->sweep)) GEODEC_PASS(geodec_sketch_turn(&s->all[t], err));
            s->all[t].passes = 1; /* the other ranks take the directions of rank 0 */
            GEODEC_PASS(geodec_comm_broadcast(comm, s->all[t].probe, width * d * size, err));
        }
    }
    return GEODEC_OK;
}

/* Principal components of every subset from sketches of all subsets at once. The width of the sketches doubles until
 * all explain the share; *width is 0 when that would cost more than the covariance. */
static geodec_status components_sketched(geodec__cloud_run *b, geodec_pca *pca, int64_t k[GEODEC_CLOUD_SUBSETS],
                                         int64_t widest, int64_t *width, double *residual, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    sketches s = {.b = b};
    double *error = NULL;
    GEODEC_NEW(s.group, SLAB * b->d);
    GEODEC_NEW(error, b->d);
    bool enough = false;
    for (int64_t w = FIRST_WIDTH; w <= widest && !enough; w *= 2) {
        GEODEC_TRY(sketch_passes(&s, w, err));
        enough = true;
        for (int t = 0; t < GEODEC_CLOUD_SUBSETS && enough && !geodec_sweep_partial(b->o->sweep); t++) {
            geodec_pca_clear(pca); /* the last subset has all points */
            GEODEC_TRY(geodec_sketch_result(&s.all[t], b->o->variance, pca, error, &enough, err));
            k[t] = pca->k;
        }
        GEODEC_TRY(geodec_comm_broadcast(geodec_sweep_comm(b->o->sweep), &enough, sizeof enough, err));
        *width = enough ? w : 0;
    }
    *residual = 0;
    for (int64_t i = 0; enough && i < pca->k; i++) *residual = fmax(*residual, error[i] / pca->eigenvalue[0]);
    if (!enough) geodec_pca_clear(pca);
done:
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        geodec_sketch_clear(&s.all[t]);
        geodec_sketch_clear(&s.block[t]);
    }
    GEODEC_FREE(s.group, error);
    return st;
}

/* Components by the method in the options. */
static geodec_status components(geodec__cloud_run *b, geodec_pca *pca, int64_t k[GEODEC_CLOUD_SUBSETS], int64_t *width,
                                double *residual, geodec_err *err)
{
    *width = 0;
    *residual = 0;
    const int64_t widest = geodec__cloud_widest(b->o, b->d);
    const bool slice = geodec_sweep_partial(b->o->sweep) && !geodec_sweep_comm(b->o->sweep);
    if (slice && (b->points <= b->d || widest > 0))
        GEODEC_FAIL(GEODEC_UNSUPPORTED,
                    "slices are of the covariance of more points than dimensions, by exact components: here are %lld "
                    "points of width %lld",
                    (long long)b->points, (long long)b->d);
    if (b->points <= b->d) {
        if (geodec_sweep_partial(b->o->sweep)) return GEODEC_OK; /* rank 0 alone */
        GEODEC_PASS(components_in_memory(b, pca, k, err));
    } else {
        GEODEC_PASS(components_sketched(b, pca, k, widest, width, residual, err));
        if (*width == 0) GEODEC_PASS(components_streamed(b, pca, k, err));
    }
    return GEODEC_OK;
}

/* Writes all coordinates. The points with rank < n_sample, in order of rank, go to given [n_sample][d], as differences
 * from the mean, and to kept [n_sample][K], as coordinates. */
static geodec_status project(geodec__cloud_run *b, const geodec_pca *pca, int64_t n_sample, double *given, double *kept,
                             geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *y = NULL;
    const int64_t k = pca->k;
    GEODEC_NEW(y, SLAB * k);
    for (int64_t first = 0; first < b->points; first += SLAB) {
        const int64_t n = b->points - first < SLAB ? b->points - first : SLAB;
        GEODEC_TRY(geodec_hooks_progress(b->hooks, "coordinates", first, b->points, err));
        GEODEC_TRY(load(b, first, n, b->wide, err));
        GEODEC_TRY(geodec_pca_project(b->d, k, pca->basis, pca->mean, n, b->wide, y, b->pool, err));
        GEODEC_TRY(geodec_artifact_append(out, "/coordinates", n, y, err));
        for (int64_t i = 0; i < n; i++) {
            const int64_t rank = b->rank[first + i];
            if (rank >= n_sample) continue;
            memcpy(kept + rank * k, y + i * k, (size_t)k * sizeof *y);
            for (int64_t c = 0; c < b->d; c++) given[rank * b->d + c] = b->wide[i * b->d + c] - pca->mean[c];
        }
    }
done:
    geodec_mem_free(y);
    return st;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Row, token, position and sequence of the kept points. */
static geodec_status read_rows(const geodec__cloud_run *b, geodec_cloud *c, geodec_err *err)
{
    static const char *const names[] = {"/token", "/position", "/sequence"};
    int32_t **const to[] = {&c->token, &c->position, &c->sequence};
    geodec_status st = GEODEC_OK;
    GEODEC_NEW_COPY(c->row, b->row, b->points);
    for (size_t f = 0; f < sizeof names / sizeof *names; f++) {
        GEODEC_TRY(geodec_artifact_read(b->in->file, names[f], to[f], err));
        for (int64_t i = 0; i < b->points; i++) (*to[f])[i] = (*to[f])[b->row[i]]; /* rows rise */
    }
done:
    return st;
}

/* The window in time, of the first n points by rank: x [n][d]. */
static geodec_status window(geodec__cloud_run *b, int64_t n, const double *x, const geodec_cloud *c,
                            geodec_cloud_summary *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *text = NULL, *position = NULL;
    GEODEC_NEW_EACH(n, text, position);
    for (int64_t i = 0; i < b->points; i++) {
        if (b->rank[i] >= n) continue;
        text[b->rank[i]] = c->sequence[i];
        position[b->rank[i]] = c->position[i];
    }
    GEODEC_TRY(geodec__cloud_window(b, n, b->d, x, text, position, s, err));
done:
    GEODEC_FREE(text, position);
    return st;
}

/* Writes everything except the coordinates, which are already in the file. Takes ownership of the arrays of pca and
 * c. */
static geodec_status save(const geodec__cloud_run *b, geodec_pca *pca, const geodec_cloud_summary *s, geodec_cloud *c,
                          geodec_artifact *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    c->points = s->points;
    c->k = s->k;
    c->d = s->d;
    c->k_int = s->k_int;
    c->values = pca->values;
    c->layer = b->o->layer;
    c->mean = pca->mean;
    c->basis = pca->basis;
    c->eigenvalue = pca->eigenvalue;
    pca->mean = pca->basis = pca->eigenvalue = NULL;
    c->made = *s;
    c->variance = b->o->variance;
    c->left_out = s->rows - s->duplicates - s->dropped - s->points;
    /* the file has these before the rows, for any order of the table */
    GEODEC_TRY(geodec_artifact_set_dim(out, "d", c->d, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "E", c->values, err));
    GEODEC_TRY(geodec_artifact_write(out, "/mean", c->mean, err));
    GEODEC_TRY(geodec_artifact_write(out, "/basis", c->basis, err));
    GEODEC_TRY(geodec_artifact_write(out, "/eigenvalues", c->eigenvalue, err));
    GEODEC_TRY(geodec_artifact_save(out, c, err));
done:
    geodec_cloud_clear(c);
    return st;
}

static void summarise(const geodec__cloud_run *b, const geodec_pca *pca, geodec_cloud_summary *s)
{
    double squares = 0;
    for (int64_t i = 0; i < pca->values; i++) squares += pca->eigenvalue[i] * pca->eigenvalue[i];
    s->rows = b->rows;
    s->duplicates = b->duplicates;
    s->points = b->points;
    s->extreme = b->extreme;
    s->extreme_share = b->extreme_share;
    s->extreme_norm = b->extreme_norm;
    s->dropped = b->dropped ? b->extreme : 0;
    s->d = b->d;
    s->k = pca->k;
    s->total_variance = pca->total;
    s->explained = pca->explained;
    s->participation = pca->total * pca->total / squares;
    geodec__cloud_doubt(s);
    const double fit = s->subset[GEODEC_CLOUD_SUBSETS - 1].theiler.twonn.fit;
    int64_t k_int = b->o->k_int;
    if (k_int == 0) k_int = isfinite(fit) ? (int64_t)llround(fmin(fit, 1e6)) : pca->k; /* not measured: all */
    if (k_int < 1) k_int = 1;
    s->k_int = geodec__min(k_int, pca->k);
}

geodec_status geodec_cloud_build(const geodec_activations *states, const geodec_cloud_options *o, geodec_artifact *out,
                                 geodec_cloud_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__cloud_run b = {.in = states, .o = o, .pool = pool, .hooks = hooks, .d = states->d, .rows = states->rows};
    geodec_pca pca = {0};
    geodec_cloud cloud = {0};
    geodec_cloud_summary s = {0};
    double *given = NULL, *kept = NULL;
    int64_t k[GEODEC_CLOUD_SUBSETS];
    if (!(o->variance > 0) || !(o->variance <= 1) || o->max_points < 0 || o->k_int < 0 || o->theiler < -1 ||
        o->twonn_points < GEODEC_CLOUD_MIN_POINTS || o->control_points < GEODEC_CLOUD_MIN_POINTS) {
        GEODEC_THROW(GEODEC_RANGE, "cloud options out of range");
    }
    if (b.rows > MAX_ROWS) {
        GEODEC_THROW(GEODEC_RANGE, "%s has %lld rows; a cloud takes at most %d", geodec_artifact_path(states->file),
                     (long long)b.rows, MAX_ROWS);
    }
    if (b.rows < GEODEC_CLOUD_MIN_POINTS) {
        GEODEC_THROW(GEODEC_SCARCE, "%lld states; a cloud needs at least %d", (long long)b.rows,
                     GEODEC_CLOUD_MIN_POINTS);
    }
    GEODEC_TRY(geodec_activations_find_layer(states, o->layer, &b.index, err));
    GEODEC_NEW(b.row_mean, b.d);
    GEODEC_NEW_EACH(SLAB * b.d, b.slab, b.wide);
    const size_t scratch = geodec_activations_scratch(states, SLAB);
    b.scratch = geodec_mem_new((int64_t)scratch, 1);
    if (!b.scratch) GEODEC_THROW(GEODEC_NOMEM, "no memory for %zu bytes", scratch);
    GEODEC_TRY(geodec__cloud_rows(&b, err));
    GEODEC_TRY(components(&b, &pca, k, &s.sketch_width, &s.sketch_residual, err));
    if (geodec_sweep_partial(o->sweep)) goto done;
    if (o->k_int > pca.k) {
        GEODEC_THROW(GEODEC_RANGE, "intrinsic dimension %lld is above the %lld components", (long long)o->k_int,
                     (long long)pca.k);
    }
    const int64_t n_sample = geodec__min(b.points, o->twonn_points);
    GEODEC_NEW(given, n_sample * b.d);
    GEODEC_NEW(kept, n_sample * pca.k);
    GEODEC_TRY(geodec_artifact_set_dim(out, "N", b.points, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "K", pca.k, err));
    GEODEC_TRY(project(&b, &pca, n_sample, given, kept, out, err));
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        s.subset[t].points = b.size[t];
        s.subset[t].components = k[t];
    }
    GEODEC_TRY(read_rows(&b, &cloud, err));
    GEODEC_TRY(window(&b, n_sample, given, &cloud, &s, err));
    GEODEC_TRY(geodec__cloud_twonn(&b, b.d, given, "cloud-twonn", false, s.subset, err));
    GEODEC_TRY(geodec__cloud_twonn(&b, pca.k, kept, "cloud-twonn", true, s.subset, err));
    GEODEC_FREE(given, kept);
    given = kept = NULL;
    GEODEC_TRY(geodec__cloud_control(&b, &pca, s.control, err));
    summarise(&b, &pca, &s);
    GEODEC_TRY(save(&b, &pca, &s, &cloud, out, err));
    if (summary) *summary = s;
done:
    geodec_cloud_clear(&cloud);
    geodec_pca_clear(&pca);
    geodec_theiler_clear(&b.parts);
    GEODEC_FREE(given, kept, b.row_mean, b.row, b.rank, b.slab, b.wide, b.scratch);
    return st;
}

/* ---- coordinates of other programs ------------------------------------------------------------------------------ */

/* Rows without activations are -1; each is its own sequence unless they are one text. */
static geodec_status unknown_rows(const geodec_cloud_points *p, geodec_cloud *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW_EACH(p->points, c->row, c->token, c->sequence, c->position);
    for (int64_t i = 0; i < p->points; i++) {
        c->row[i] = c->token[i] = -1;
        *(p->consecutive ? &c->position[i] : &c->sequence[i]) = (int32_t)i;
    }
done:
    return st;
}

/* Ranks the points in random order; sets x of the subsets in memory, and their numbers of components. */
static geodec_status subsets_of_points(geodec__cloud_run *b, const geodec_cloud_points *p, double *shuffled,
                                       geodec_cloud_summary *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *order = NULL, *text = NULL;
    double *value = NULL;
    geodec_cloud_subset *const subset = s->subset;
    const int64_t n_sample = geodec__min(p->points, b->o->twonn_points);
    GEODEC_NEW_EACH(p->points, order, text);
    GEODEC_NEW(value, p->k);
    geodec__cloud_shuffle(p->points, order, b->o->seed, geodec_rng_id("cloud-ladder", 0));
    for (int64_t i = 0; i < p->points; i++)
        memcpy(shuffled + i * p->k, p->x + order[i] * p->k, (size_t)p->k * sizeof *shuffled);
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) {
        subset[t].points = b->size[t];
        GEODEC_TRY(geodec_pca_spectrum_rows(b->size[t], p->k, shuffled, b->pool, value, err));
        subset[t].components = geodec_pca_pick(geodec__min(b->size[t] - 1, p->k), value, b->o->variance);
    }
    if (p->components > 0) subset[GEODEC_CLOUD_SUBSETS - 1].components = p->components;
    for (int64_t i = 0; i < p->points && !p->consecutive; i++) text[i] = (int32_t)i;
    GEODEC_TRY(geodec__cloud_window(b, n_sample, p->k, shuffled, text, order, s, err));
    GEODEC_TRY(geodec__cloud_twonn(b, p->k, shuffled, "cloud-twonn", false, subset, err));
    for (int t = 0; t < GEODEC_CLOUD_SUBSETS; t++) { /* all coordinates are kept */
        subset[t].kept = subset[t].twonn;
        subset[t].theiler_kept = subset[t].theiler;
    }
done:
    GEODEC_FREE(order, text, value);
    return st;
}

geodec_status geodec_cloud_from_points(const geodec_cloud_points *p, const geodec_cloud_options *o,
                                       geodec_artifact *out, geodec_cloud_summary *summary, geodec_pool *pool,
                                       const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__cloud_run b = {.o = o, .pool = pool, .hooks = hooks, .d = p->k, .rows = p->points, .points = p->points};
    geodec_pca own = {.d = p->k, .k = p->k}, said = {.d = p->k, .k = p->k};
    geodec_cloud_summary s = {0};
    geodec_cloud cloud = {.source = p->source, .measured = p->measured > 0 ? p->measured : p->k};
    double *shuffled = NULL;
    if (p->points < GEODEC_CLOUD_MIN_POINTS)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points; a cloud needs at least %d", (long long)p->points,
                     GEODEC_CLOUD_MIN_POINTS);
    if (p->points > MAX_ROWS || p->k < 1 || p->measured > p->k || p->k_int < 0 || (p->eigenvalue && p->values < p->k)) {
        GEODEC_THROW(GEODEC_RANGE, "%lld points of %lld coordinates are out of range", (long long)p->points,
                     (long long)p->k);
    }
    for (int64_t i = 0; i < p->points * p->k; i++)
        if (!isfinite(p->x[i])) GEODEC_THROW(GEODEC_NUMERIC, "point %lld is not finite", (long long)(i / p->k));
    geodec__cloud_sizes(&b);
    GEODEC_NEW(shuffled, p->points * p->k);
    GEODEC_TRY(subsets_of_points(&b, p, shuffled, &s, err));
    own.values = p->k;
    GEODEC_NEW(own.eigenvalue, p->k);
    GEODEC_TRY(geodec_pca_spectrum_rows(p->points, p->k, p->x, pool, own.eigenvalue, err));
    for (int64_t j = 0; j < p->k; j++) own.total += own.eigenvalue[j];
    if (!(own.total > 0)) GEODEC_THROW(GEODEC_SCARCE, "all points are equal; a cloud needs different ones");
    GEODEC_TRY(geodec__cloud_control(&b, &own, s.control, err));
    const bool given = p->eigenvalue != NULL;
    said.values = given ? p->values : p->k;
    said.total = given ? p->total_variance : own.total;
    said.explained = given ? 0 : 1;
    for (int64_t j = 0; given && j < p->k; j++) said.explained += p->eigenvalue[j] / p->total_variance;
    GEODEC_NEW_COPY(said.eigenvalue, given ? p->eigenvalue : own.eigenvalue, said.values);
    GEODEC_NEW(said.mean, p->k);
    GEODEC_NEW(said.basis, p->k * p->k);
    for (int64_t i = 0; i < p->k; i++) said.basis[i * p->k + i] = 1;
    summarise(&b, &said, &s);
    s.k_int = p->k_int > 0 ? p->k_int : p->k;
    GEODEC_TRY(geodec_artifact_set_dim(out, "N", p->points, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "K", p->k, err));
    GEODEC_TRY(geodec_artifact_append(out, "/coordinates", p->points, p->x, err));
    GEODEC_TRY(unknown_rows(p, &cloud, err));
    GEODEC_TRY(save(&b, &said, &s, &cloud, out, err));
    if (summary) *summary = s;
done:
    geodec_cloud_clear(&cloud);
    geodec_pca_clear(&own);
    geodec_pca_clear(&said);
    geodec_theiler_clear(&b.parts);
    geodec_mem_free(shuffled);
    return st;
}
