#include "lab/blocks/blocks.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "geometry/propagate.h"
#include "geometry/space_closed.h"
#include "linalg/chol.h"
#include "linalg/simplex_ls.h"

#include <math.h>
#include <string.h>

enum { MAX_N = GEODEC_SPACE_DIM_MAX, TOP_MAX = 64, SUBSTEPS = 4, P = GEODEC_BLOCKS_PREDICTORS };

const char *const geodec_blocks_predictor_names[] = {"persistence", "mean",    "shuffled", "nearest", "jacobi",
                                                     "softmax",     "simplex", "oracle",   "centre",  NULL};

geodec_blocks_options geodec_blocks_defaults(void)
{
    return (geodec_blocks_options){
        .blocks = 8, .stride = 4, .anchors = 400, .queries = 400, .top = 8, .replicates = 400, .seed = 1};
}

/* A window: B + 1 states of one path, beginning at state `first` of t. */
typedef struct window {
    int64_t first;
    int32_t text;
} window;

typedef struct job {
    const geodec_space *s;
    const geodec_trajectories *t;
    const geodec_blocks_options *o;
    const window *anchor, *query;
    int64_t anchors, queries;
    double *phi;     /* [anchors][B][n][n] */
    double *mean;    /* [B][n] of a_b - a_0 */
    double *centre;  /* [B][n] of a_b */
    double *miss;    /* [queries][B][P] */
    double *moved;   /* [queries][B] */
    double *kkt;     /* [queries] */
    double *largest; /* [queries] */
    uint8_t *broken; /* [anchors] */
} job;

static const double *state(const job *j, const window *w, int64_t b)
{
    return j->t->x + (w->first + b * j->o->stride) * j->t->n;
}

static geodec_status anchor_task(void *ctx, int64_t a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *j = ctx;
    const int64_t n = j->t->n, blocks = j->o->blocks, steps = blocks * SUBSTEPS;
    double *block = NULL, v[MAX_N];
    geodec_path_report report;
    geodec_propagate_report flow = {0};
    geodec_geodesic_options g = geodec_geodesic_defaults();
    const geodec_propagate_options p = geodec_propagate_defaults();
    GEODEC_NEW(block, (steps + 1) * (2 * n + n * n));
    double *xs = block, *vs = xs + (steps + 1) * n, *phi = vs + (steps + 1) * n, *to = j->phi + a * blocks * n * n;
    const double *x0 = state(j, &j->anchor[a], 0), *x1 = state(j, &j->anchor[a], 1);
    for (int64_t i = 0; i < n; i++) v[i] = x1[i] - x0[i];
    g.steps = steps;
    g.dl = 1.0 / SUBSTEPS;
    g.drift_max = 1e-2;
    GEODEC_TRY(geodec_geodesic_path(j->s, &g, x0, v, xs, vs, NULL, &report, err));
    j->broken[a] = report.status != GEODEC_PATH_OK;
    if (!j->broken[a]) {
        GEODEC_TRY(geodec_propagate_path(j->s, &p, steps, g.dl, report.good, xs, vs, phi, NULL, &flow, err));
        j->broken[a] = flow.broken;
    }
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t i = 0; i < n * n; i++)
            to[b * n * n + i] = j->broken[a] ? (i % (n + 1) == 0) : phi[(b + 1) * SUBSTEPS * n * n + i];
done:
    geodec_mem_free(block);
    return st;
}

/* Simplex weights of rows [k][n] for a target in the metric l l^T: both are multiplied by l^T first. */
static geodec_status metric_weights(int64_t n, int64_t k, const double *l, const double *rows, const double *target,
                                    double *w, double *kkt, geodec_err *err)
{
    double r[TOP_MAX * MAX_N], y[MAX_N];
    for (int64_t q = 0; q <= k; q++) {
        const double *from = q < k ? rows + q * n : target;
        double *to = q < k ? r + q * n : y;
        for (int64_t i = 0; i < n; i++) {
            to[i] = 0;
            for (int64_t c = i; c < n; c++) to[i] += l[c * n + i] * from[c];
        }
    }
    return geodec_simplex_ls(k, n, r, y, w, NULL, kkt, err);
}

static geodec_status query_task(void *ctx, int64_t q, geodec_err *err)
{
    const job *j = ctx;
    const int64_t n = j->t->n, blocks = j->o->blocks;
    const int64_t k = j->o->top < j->anchors ? j->o->top : j->anchors;
    const double *x0 = state(j, &j->query[q], 0);
    double g[MAX_N * MAX_N], l[MAX_N * MAX_N], v[MAX_N], near[TOP_MAX], start[TOP_MAX * MAX_N], rows[TOP_MAX * MAX_N];
    double soft[TOP_MAX], fit[TOP_MAX], best[TOP_MAX], guess[P][MAX_N], total = 0, kkt;
    int64_t top[TOP_MAX], count = 0;
    GEODEC_PASS(j->s->at(j->s, x0, g, NULL, NULL, err));
    for (int64_t a = 0; a < j->anchors; a++) {
        const double *a0 = state(j, &j->anchor[a], 0);
        for (int64_t i = 0; i < n; i++) v[i] = a0[i] - x0[i];
        const double d = geodec__norm2(n, g, v);
        geodec__keep_nearest(k, &count, near, top, d, a);
    }
    for (int64_t i = 0; i < k; i++) memcpy(start + i * n, state(j, &j->anchor[top[i]], 0), (size_t)n * sizeof *start);
    memcpy(l, g, sizeof *l * (size_t)(n * n));
    GEODEC_PASS(geodec_chol_factor(n, l, err));
    GEODEC_PASS(metric_weights(n, k, l, start, x0, fit, &j->kkt[q], err));
    const double tau = fmax(near[k / 2], 1e-300);
    for (int64_t i = 0; i < k; i++) {
        total += soft[i] = exp(-(near[i] - near[0]) / (2 * tau));
        j->largest[q] = fmax(j->largest[q], fit[i]);
    }
    geodec_rng r = geodec_rng_stream(j->o->seed, geodec_rng_id("blocks-shuffled", (uint64_t)j->query[q].first));
    const window *other = &j->anchor[geodec_rng_below(&r, (uint64_t)j->anchors)], *nearest = &j->anchor[top[0]];
    for (int64_t b = 0; b < blocks; b++) {
        const double *truth = state(j, &j->query[q], b + 1), *a0 = state(j, nearest, 0), *ab = state(j, nearest, b + 1);
        const double *s0 = state(j, other, 0), *sb = state(j, other, b + 1);
        const double *phi = j->phi + (top[0] * blocks + b) * n * n;
        for (int64_t i = 0; i < k; i++) {
            const double *ib = state(j, &j->anchor[top[i]], b + 1);
            for (int64_t c = 0; c < n; c++) rows[i * n + c] = ib[c] + x0[c] - start[i * n + c];
        }
        GEODEC_PASS(j->s->at(j->s, truth, g, NULL, NULL, err));
        memcpy(l, g, sizeof *l * (size_t)(n * n));
        GEODEC_PASS(geodec_chol_factor(n, l, err));
        GEODEC_PASS(metric_weights(n, k, l, rows, truth, best, &kkt, err));
        j->kkt[q] = fmax(j->kkt[q], kkt);
        for (int64_t c = 0; c < n; c++) {
            guess[GEODEC_BLOCKS_PERSISTENCE][c] = x0[c];
            guess[GEODEC_BLOCKS_CENTRE][c] = j->centre[b * n + c];
            guess[GEODEC_BLOCKS_MEAN][c] = x0[c] + j->mean[b * n + c];
            guess[GEODEC_BLOCKS_SHUFFLED][c] = x0[c] + sb[c] - s0[c];
            guess[GEODEC_BLOCKS_NEAREST][c] = ab[c] + x0[c] - a0[c];
            guess[GEODEC_BLOCKS_JACOBI][c] = ab[c];
            for (int64_t i = 0; i < n; i++) guess[GEODEC_BLOCKS_JACOBI][c] += phi[c * n + i] * (x0[i] - a0[i]);
            guess[GEODEC_BLOCKS_SOFTMAX][c] = guess[GEODEC_BLOCKS_SIMPLEX][c] = guess[GEODEC_BLOCKS_ORACLE][c] = 0;
            for (int64_t i = 0; i < k; i++) {
                guess[GEODEC_BLOCKS_SOFTMAX][c] += soft[i] / total * rows[i * n + c];
                guess[GEODEC_BLOCKS_SIMPLEX][c] += fit[i] * rows[i * n + c];
                guess[GEODEC_BLOCKS_ORACLE][c] += best[i] * rows[i * n + c];
            }
        }
        for (int64_t i = 0; i < n; i++) v[i] = truth[i] - x0[i];
        j->moved[q * blocks + b] = sqrt(geodec__norm2(n, g, v));
        for (int p = 0; p < P; p++) {
            for (int64_t i = 0; i < n; i++) v[i] = guess[p][i] - truth[i];
            j->miss[(q * blocks + b) * P + p] = sqrt(fmax(geodec__norm2(n, g, v), 0));
        }
    }
    return GEODEC_OK;
}

/* Windows of one part, at most `most` of them, evenly spread in a seeded order of the paths' own. */
static geodec_status windows(const geodec_trajectories *t, const geodec_harness_split *split, bool held_out,
                             const geodec_blocks_options *o, int64_t most, window **out, int64_t *count,
                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t length = o->blocks * o->stride + 1;
    window *all = NULL;
    int64_t n = 0, room = 0;
    for (int64_t p = 0; p < t->paths; p++) room += (t->offset[p + 1] - t->offset[p]) / length;
    GEODEC_NEW(all, room);
    for (int64_t p = 0; p < t->paths; p++) {
        if (!geodec_harness_split_on(split, t->text[p], held_out)) continue;
        for (int64_t f = t->offset[p]; f + length <= t->offset[p + 1]; f += length)
            all[n++] = (window){.first = f, .text = t->text[p]};
    }
    if (n > most) { /* every n/most-th, from a seeded place on */
        const double shift = geodec_rng_uniform_at(o->seed, geodec_rng_id("blocks-windows", held_out), 0);
        for (int64_t i = 0; i < most; i++) all[i] = all[(int64_t)(((double)i + shift) * (double)n / (double)most)];
        n = most;
    }
    GEODEC_MOVE(*out, all);
    *count = n;
done:
    geodec_mem_free(all);
    return st;
}

/* Figures: sums of each text, then the ratio with its interval. */
static geodec_status estimates(const job *j, geodec_blocks *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t blocks = j->o->blocks;
    geodec_harness_text_sums sums = {0};
    GEODEC_TRY(geodec_harness_text_sums_reserve(&sums, j->queries, err));
    for (int64_t q = 0; q < j->queries; q++) r->texts += q == 0 || j->query[q].text != j->query[q - 1].text;
    for (int64_t b = 0; b < blocks; b++)
        for (int p = 0; p < P; p++) {
            for (int64_t q = 0; q < j->queries; q++)
                geodec_harness_text_sums_add(&sums, j->query[q].text, j->miss[(q * blocks + b) * P + p],
                                             j->moved[q * blocks + b]);
            GEODEC_TRY(geodec_harness_text_sums_ratio(
                &sums, j->o->replicates, j->o->seed, geodec_rng_id("blocks", (uint64_t)b), &r->error[p][b], NULL, err));
        }
done:
    geodec_harness_text_sums_clear(&sums);
    return st;
}

geodec_status geodec_blocks_run(const geodec_space *s, const geodec_trajectories *t, const geodec_harness_split *split,
                                const geodec_blocks_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                geodec_blocks *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_blocks r = {0};
    window *anchor = NULL, *query = NULL;
    double *block = NULL;
    uint8_t *broken = NULL;
    const int64_t n = t->n, B = o->blocks;
    if (s->n != n || n < 1 || n > MAX_N) GEODEC_THROW(GEODEC_RANGE, "the metric's dimension is not that of the states");
    if (B < 1 || B > GEODEC_BLOCKS_MAX || o->stride < 1 || o->stride > 1 << 20 || o->top < 1 || o->top > TOP_MAX ||
        o->anchors < 1 || o->queries < 1)
        GEODEC_THROW(GEODEC_RANGE, "%lld blocks of %lld tokens, %lld blended", (long long)B, (long long)o->stride,
                     (long long)o->top);
    GEODEC_TRY(windows(t, split, false, o, o->anchors, &anchor, &r.anchors, err));
    GEODEC_TRY(windows(t, split, true, o, o->queries, &query, &r.queries, err));
    if (r.anchors < 2 || r.queries < 2)
        GEODEC_THROW(GEODEC_SCARCE,
                     "%lld anchors and %lld queries of %lld consecutive states; at least 2 each are needed",
                     (long long)r.anchors, (long long)r.queries, (long long)(B * o->stride + 1));
    GEODEC_NEW(block, r.anchors * B * n * n + 2 * B * n + r.queries * (B * (P + 1) + 2));
    GEODEC_NEW(broken, r.anchors);
    job j = {.s = s, .t = t, .o = o, .anchor = anchor, .query = query, .anchors = r.anchors, .queries = r.queries};
    j.phi = block;
    j.mean = j.phi + r.anchors * B * n * n;
    j.centre = j.mean + B * n;
    j.miss = j.centre + B * n;
    j.moved = j.miss + r.queries * B * P;
    j.kkt = j.moved + r.queries * B;
    j.largest = j.kkt + r.queries;
    j.broken = broken;
    for (int64_t a = 0; a < r.anchors; a++)
        for (int64_t b = 0; b < B; b++)
            for (int64_t i = 0; i < n; i++) {
                const double at = state(&j, &anchor[a], b + 1)[i];
                j.centre[b * n + i] += at / (double)r.anchors;
                j.mean[b * n + i] += (at - state(&j, &anchor[a], 0)[i]) / (double)r.anchors;
            }
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "anchors", r.anchors, anchor_task, &j, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "queries", r.queries, query_task, &j, err));
    for (int64_t a = 0; a < r.anchors; a++) r.broken += broken[a];
    for (int64_t q = 0; q < r.queries; q++) {
        r.kkt = fmax(r.kkt, j.kkt[q]);
        r.weight += j.largest[q] / (double)r.queries;
    }
    GEODEC_TRY(estimates(&j, &r, err));
    *out = r;
done:
    GEODEC_FREE(anchor, query, block, broken);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct report {
    geodec_blocks r;
    geodec_blocks_options o;
    const char *split;
} report;
typedef struct predictor {
    geodec_estimate block[GEODEC_BLOCKS_MAX];
} predictor;
#define IN(m) GEODEC_IN(report, m)
#define EACH(m) GEODEC_OF_ROW_APART(predictor, block[0].m, sizeof(geodec_estimate))

static const geodec_field fields[] = {
    {"/error", GEODEC_F64, "P,B", 0, "1",
     "sum |prediction - x_b| / sum |x_b - x_0| in g(x_b), predictors in order of `predictors`", 0, EACH(value)},
    {"/low", GEODEC_F64, "P,B", 0, "1", "lower end of the 95 % bootstrap interval over texts", 0, EACH(low)},
    {"/high", GEODEC_F64, "P,B", 0, "1", "upper end", 0, EACH(high)},
};
static const geodec_attr attrs[] = {
    {"predictors", GEODEC_ATTR_STR, 0,
     "persistence,mean,shuffled (controls),nearest,jacobi,softmax,simplex,oracle (uses the answer),centre (control)",
     GEODEC_LIST(geodec_blocks_predictor_names)},
    {"anchors", GEODEC_ATTR_I64, 0, "windows of training texts", IN(r.anchors)},
    {"queries", GEODEC_ATTR_I64, 0, "windows of held-out texts", IN(r.queries)},
    {"texts", GEODEC_ATTR_I64, 0, "texts of the queries", IN(r.texts)},
    {"stride", GEODEC_ATTR_I64, 0, "tokens of a block", IN(o.stride)},
    {"top", GEODEC_ATTR_I64, 0, "anchors that are blended", IN(o.top)},
    {"kkt", GEODEC_ATTR_F64, 0, "largest violation of the simplex minimum's conditions", IN(r.kkt)},
    {"largest_weight", GEODEC_ATTR_F64, 0, "mean largest weight of the simplex fit at x_0", IN(r.weight)},
    {"broken", GEODEC_ATTR_I64, 0, "anchors whose geodesic broke down (Phi = I)", IN(r.broken)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};
static const geodec_extent extents[] = {{"P", .plus = GEODEC_BLOCKS_PREDICTORS}, {"B", IN(o.blocks)}};

const geodec_kind geodec_blocks_kind = {
    GEODEC_ABOUT("blocks", 1, 1, "geodec-blocks", "block summaries of held-out texts from those of other texts"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"P", sizeof(predictor), offsetof(report, r.error), true},
};

geodec_status geodec_blocks_write(const geodec_blocks *r, const geodec_blocks_options *o, const char *split,
                                  geodec_artifact *a, geodec_err *err)
{
    const report all = {*r, *o, split};
    return geodec_artifact_save(a, &all, err);
}
