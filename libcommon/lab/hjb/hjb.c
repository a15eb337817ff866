#include "lab/hjb/hjb.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "geometry/geodesic.h"
#include "geometry/space_closed.h"

#include <math.h>
#include <string.h>

geodec_hjb_options geodec_hjb_defaults(void)
{
    return (geodec_hjb_options){.paths = 12, .nodes = 33, .dl = 0.05, .shift = 0.1, .bootstrap = 1000, .seed = 1};
}

const char *const geodec_hjb_names[GEODEC_HJB_CLASSES] = {"geodesic", "walk", "straight", "text", "shuffled", "layers"};

/* ---- trajectories ------------------------------------------------------------------------------------------------ */

enum { N_MAX = GEODEC_SPACE_DIM_MAX, NEAREST = 4, ATTEMPTS = 200 };

/* Trajectories of a class and of their neighbours, [paths][nodes][n]. */
typedef struct bundle {
    int64_t paths, nodes;
    double *xs, *ys;
} bundle;

static geodec_status new_paths(int64_t paths, int64_t nodes, int64_t n, bundle *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *p = (bundle){.paths = paths, .nodes = nodes};
    GEODEC_NEW_EACH(paths * nodes * n, p->xs, p->ys);
done:
    return st;
}

static void clear_paths(bundle *p)
{
    GEODEC_FREE(p->xs, p->ys);
    *p = (bundle){0};
}

/* The NEAREST points to point p, nearest first. */
static void neighbours(int64_t points, int64_t n, const double *point, int64_t p, int64_t *to)
{
    double least[NEAREST];
    int64_t found = 0;
    for (int64_t i = 0; i < points; i++)
        if (i != p) geodec__keep_nearest(NEAREST, &found, least, to, geodec__gap2(n, point + i * n, point + p * n), i);
}

/* Gives each path without a neighbour of its own the next path of its class as neighbour. */
static void pair_up(bundle *p, int64_t n)
{
    const int64_t size = p->nodes * n;
    for (int64_t i = 0; i < p->paths; i++)
        memcpy(p->ys + i * size, p->xs + (i + 1) % p->paths * size, (size_t)size * sizeof *p->ys);
}

static geodec_status geodesics(const geodec_space *s, int64_t points, const double *point, const geodec_hjb_options *o,
                               double dl, bundle *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->n, nodes = p->nodes;
    geodec_geodesic_options g = geodec_geodesic_defaults();
    double *vs = NULL;
    int64_t got = 0;
    g.steps = nodes - 1;
    g.dl = dl;
    GEODEC_NEW(vs, nodes * n);
    for (int64_t i = 0; i < p->paths; i++) {
        geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("hjb geodesic", (uint64_t)i));
        const int64_t q = (int64_t)geodec_rng_below(&rng, (uint64_t)points);
        int64_t to[NEAREST] = {0};
        double v[N_MAX], u[N_MAX], x[N_MAX];
        geodec_path_report report[2];
        neighbours(points, n, point, q, to);
        for (int64_t a = 0; a < n; a++) {
            v[a] = point[to[0] * n + a] - point[q * n + a];
            u[a] = geodec_rng_normal(&rng);
        }
        if (geodec_geodesic_unit(s, point + q * n, v, NULL) != GEODEC_OK) continue;
        if (geodec_geodesic_unit(s, point + q * n, u, NULL) != GEODEC_OK) continue;
        /* one shift for all steps, so that a refinement compares the same curves */
        for (int64_t a = 0; a < n; a++) x[a] = point[q * n + a] + o->shift * o->dl * u[a];
        const geodec_status first = geodec_geodesic_path(s, &g, point + q * n, v, p->xs + got * nodes * n, vs, NULL,
                                                         &report[0], NULL),
                            second =
                                geodec_geodesic_path(s, &g, x, v, p->ys + got * nodes * n, vs, NULL, &report[1], NULL);
        if (first != GEODEC_OK || second != GEODEC_OK || report[0].status == GEODEC_PATH_NONFINITE ||
            report[1].status == GEODEC_PATH_NONFINITE)
            continue;
        got++;
    }
    p->paths = got;
done:
    geodec_mem_free(vs);
    return st;
}

/* GEODESIC, WALK or STRAIGHT of points point [points][n] in s. Geodesics that break down are not among them. */
static geodec_status sample_paths(const geodec_space *s, geodec_hjb_class kind, int64_t points, const double *point,
                                  const geodec_hjb_options *o, double dl, int64_t nodes, bundle *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bundle p = {0};
    const int64_t n = s->n;
    if (points < NEAREST + 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld points; paths through the cloud need at least %d", (long long)points,
                     NEAREST + 2);
    if (o->paths < 1 || nodes < 3 || !(dl > 0) || n > N_MAX || kind > GEODEC_HJB_STRAIGHT)
        GEODEC_THROW(GEODEC_RANGE, "%lld paths of %lld nodes through %lld points", (long long)o->paths,
                     (long long)nodes, (long long)points);
    GEODEC_TRY(new_paths(o->paths, nodes, n, &p, err));
    for (int64_t i = 0; kind != GEODEC_HJB_GEODESIC && i < p.paths; i++) {
        double *x = p.xs + i * nodes * n;
        geodec_rng rng =
            geodec_rng_stream(o->seed, geodec_rng_id(kind == GEODEC_HJB_WALK ? "hjb walk" : "hjb line", (uint64_t)i));
        int64_t at = (int64_t)geodec_rng_below(&rng, (uint64_t)points), to[NEAREST] = {0};
        if (kind == GEODEC_HJB_WALK) {
            for (int64_t t = 0; t < nodes; t++) {
                memcpy(x + t * n, point + at * n, (size_t)n * sizeof *x);
                neighbours(points, n, point, at, to);
                at = to[geodec_rng_below(&rng, NEAREST)];
            }
            continue;
        }
        int64_t end = (int64_t)geodec_rng_below(&rng, (uint64_t)points - 1);
        if (end >= at) end++;
        for (int64_t t = 0; t < nodes; t++) {
            const double c = (double)t / (double)(nodes - 1);
            for (int64_t a = 0; a < n; a++) x[t * n + a] = (1 - c) * point[at * n + a] + c * point[end * n + a];
        }
    }
    if (kind == GEODEC_HJB_GEODESIC)
        GEODEC_TRY(geodesics(s, points, point, o, dl, &p, err));
    else
        pair_up(&p, n);
    GEODEC_MOVE(*out, p);
done:
    clear_paths(&p);
    return st;
}

/* ---- of the model ------------------------------------------------------------------------------------------------ */

/* Projects `rows` rows of one layer from row0 on into x [rows][n]. */
static geodec_status project(const geodec_activations *v, int64_t index, int64_t row0, int64_t rows, int64_t n,
                             const double *basis, const double *mean, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *state = NULL;
    char *scratch = NULL;
    GEODEC_NEW(state, rows * v->d);
    GEODEC_NEW(scratch, (int64_t)geodec_activations_scratch(v, rows) + 1);
    GEODEC_TRY(geodec_activations_read(v, index, row0, rows, state, scratch, err));
    for (int64_t r = 0; r < rows; r++)
        for (int64_t a = 0; a < n; a++) {
            double s = 0;
            for (int64_t i = 0; i < v->d; i++) s += basis[a * v->d + i] * ((double)state[r * v->d + i] - mean[i]);
            x[r * n + a] = s;
        }
done:
    GEODEC_FREE(state, scratch);
    return st;
}

static geodec_status text(const geodec_activations *v, bool shuffled, int64_t layer, int64_t n, const double *basis,
                          const double *mean, const geodec_hjb_options *o, bundle *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *sequence = NULL, *position = NULL;
    double *other = NULL;
    int64_t index, got = 0;
    const int64_t nodes = p->nodes;
    GEODEC_TRY(geodec_activations_find_layer(v, layer, &index, err));
    GEODEC_TRY(geodec_artifact_read(v->file, "/sequence", &sequence, err));
    GEODEC_TRY(geodec_artifact_read(v->file, "/position", &position, err));
    GEODEC_NEW(other, nodes * n);
    for (int64_t i = 0; i < p->paths && v->rows >= nodes; i++) {
        double *x = p->xs + got * nodes * n;
        bool found = false;
        geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("hjb text", (uint64_t)i));
        for (int attempt = 0; attempt < ATTEMPTS && !found; attempt++) {
            const int64_t r = (int64_t)geodec_rng_below(&rng, (uint64_t)(v->rows - nodes + 1)), last = r + nodes - 1;
            if (sequence[r] != sequence[last] || (int64_t)position[last] - position[r] != nodes - 1) continue;
            GEODEC_TRY(project(v, index, r, nodes, n, basis, mean, x, err));
            found = true;
        }
        if (!found) continue;
        for (int64_t t = nodes - 1; shuffled && t > 0; t--) {
            const int64_t with = (int64_t)geodec_rng_below(&rng, (uint64_t)t + 1);
            memcpy(other, x + t * n, (size_t)n * sizeof *x);
            memmove(x + t * n, x + with * n, (size_t)n * sizeof *x);
            memcpy(x + with * n, other, (size_t)n * sizeof *x);
        }
        got++;
    }
    p->paths = got;
done:
    GEODEC_FREE(sequence, position, other);
    return st;
}

static geodec_status layers(const geodec_activations *v, int64_t n, const double *basis, const double *mean,
                            const geodec_hjb_options *o, bundle *p, geodec_err *err)
{
    for (int64_t i = 0; i < p->paths; i++) {
        geodec_rng rng = geodec_rng_stream(o->seed, geodec_rng_id("hjb layers", (uint64_t)i));
        const int64_t r = (int64_t)geodec_rng_below(&rng, (uint64_t)v->rows);
        for (int64_t l = 0; l < p->nodes; l++)
            GEODEC_PASS(project(v, l, r, 1, n, basis, mean, p->xs + (i * p->nodes + l) * n, err));
    }
    return GEODEC_OK;
}

/* TEXT, SHUFFLED or LAYERS from activations: coordinates basis (x - mean), basis [n][d], mean [d]; layer of the model
 * for the first two. No paths where there is nothing: no sequence that long, fewer than three layers. */
static geodec_status read_paths(const geodec_activations *v, geodec_hjb_class kind, int64_t layer, int64_t n,
                                const double *basis, const double *mean, const geodec_hjb_options *o, bundle *out,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bundle p = {0};
    const bool by_layer = kind == GEODEC_HJB_LAYERS;
    if (kind < GEODEC_HJB_TEXT || o->paths < 1 || o->nodes < 3)
        GEODEC_THROW(GEODEC_RANGE, "%lld paths of %lld nodes from activations", (long long)o->paths,
                     (long long)o->nodes);
    if (by_layer && v->layers < 3) {
        *out = p;
        goto done;
    }
    GEODEC_TRY(new_paths(o->paths, by_layer ? v->layers : o->nodes, n, &p, err));
    if (by_layer)
        GEODEC_TRY(layers(v, n, basis, mean, o, &p, err));
    else
        GEODEC_TRY(text(v, kind == GEODEC_HJB_SHUFFLED, layer, n, basis, mean, o, &p, err));
    pair_up(&p, n);
    GEODEC_MOVE(*out, p);
done:
    clear_paths(&p);
    return st;
}

/* ---- residuals --------------------------------------------------------------------------------------------------- */

enum { TOTAL, KINETIC, CONNECTION, TOTAL_G, KINETIC_G, STEP_G, JACOBI, JACOBI_KINETIC, PARTS };

/* Sums of a path over its nodes. */
typedef struct sums {
    double part[PARTS];
    bool lost; /* a node lies outside the chart */
} sums;

typedef struct measuring {
    const geodec_space *s;
    const bundle *p;
    sums *sum;
} measuring;

static geodec_status path_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const measuring *m = ctx;
    const int64_t nodes = m->p->nodes, inner = nodes - 2, n = m->s->n;
    const double *xs = m->p->xs + i * nodes * n, *ys = m->p->ys + i * nodes * n;
    sums *s = &m->sum[i];
    double *a = NULL;
    GEODEC_NEW(a, PARTS * inner);
    const geodec_residual_parts parts = {.total = a + TOTAL * inner,
                                         .kinetic = a + KINETIC * inner,
                                         .connection = a + CONNECTION * inner,
                                         .total_g = a + TOTAL_G * inner,
                                         .kinetic_g = a + KINETIC_G * inner,
                                         .step_g = a + STEP_G * inner};
    st = geodec_residual_path(m->s, nodes, xs, &parts, err);
    if (st == GEODEC_OK)
        st = geodec_residual_jacobi(m->s, nodes, xs, ys, a + JACOBI * inner, a + JACOBI_KINETIC * inner, err);
    if (st == GEODEC_NUMERIC) {
        s->lost = true;
        geodec_err_clear(err);
        st = GEODEC_OK;
        goto done;
    }
    GEODEC_TRY(st);
    for (int k = 0; k < PARTS; k++)
        for (int64_t l = 0; l < inner; l++) s->part[k] += a[k * inner + l];
done:
    geodec_mem_free(a);
    return st;
}

/* sum num / sum den; 0 where den has no sum. */
static geodec_status ratio(int64_t count, const double *num, const double *den, const geodec_hjb_options *o,
                           geodec_estimate *out, geodec_err *err)
{
    double total = 0;
    for (int64_t i = 0; i < count; i++) total += den[i];
    *out = (geodec_estimate){0};
    if (!(total > 0)) return GEODEC_OK;
    return geodec_stats_ratio(count, num, den, o->bootstrap, o->seed, geodec_rng_id("hjb", 0), out, err);
}

static geodec_estimate root(geodec_estimate e)
{
    return (geodec_estimate){.value = sqrt(e.value), .low = sqrt(e.low), .high = sqrt(e.high)};
}

/* 1 - e; 0 where the denominator is 0. */
static geodec_estimate explained(geodec_estimate e, double of)
{
    if (!(of > 0)) return (geodec_estimate){0};
    return (geodec_estimate){.value = 1 - e.value, .low = 1 - e.high, .high = 1 - e.low};
}

static geodec_status measure(const geodec_space *s, const bundle *p, const geodec_hjb_options *o, geodec_pool *pool,
                             const geodec_hooks *hooks, geodec_hjb_row *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hjb_row r = {.nodes = p->nodes};
    sums *sum = NULL;
    double *x = NULL, mean[PARTS] = {0};
    int64_t got = 0;
    if (p->paths == 0) {
        *out = (geodec_hjb_row){0};
        goto done;
    }
    GEODEC_NEW(sum, p->paths);
    GEODEC_NEW(x, PARTS * p->paths);
    measuring m = {.s = s, .p = p, .sum = sum};
    const geodec_sweep_result result = {sum, 1, sizeof *sum};
    GEODEC_TRY(
        geodec_sweep_run(o->sweep, pool, hooks, "residuals of path", p->paths, 1, path_task, &m, &result, 1, err));
    if (geodec_sweep_partial(o->sweep)) {
        *out = r;
        goto done;
    }
    for (int64_t i = 0; i < p->paths; i++) {
        for (int k = 0; k < PARTS && !sum[i].lost; k++) mean[k] += x[k * p->paths + got] = sum[i].part[k];
        got += !sum[i].lost;
    }
    r.paths = got;
    r.left_out = p->paths - got;
    if (got > 0) {
        for (int k = 0; k < PARTS; k++) mean[k] /= (double)(got * (p->nodes - 2));
        const double *total = x + TOTAL_G * p->paths, *kinetic = x + KINETIC_G * p->paths,
                     *step = x + STEP_G * p->paths;
        geodec_estimate e;
        r.total = mean[TOTAL];
        r.kinetic = mean[KINETIC];
        r.connection = mean[CONNECTION];
        r.jacobi = mean[JACOBI];
        r.jacobi_kinetic = mean[JACOBI_KINETIC];
        GEODEC_TRY(ratio(got, total, step, o, &e, err));
        r.turn = root(e);
        GEODEC_TRY(ratio(got, kinetic, step, o, &e, err));
        r.kinetic_turn = root(e);
        /* below 1e-12 of the steps a second difference is rounding: a straight line has none */
        if (r.kinetic_turn.value > 1e-12) {
            GEODEC_TRY(ratio(got, total, kinetic, o, &e, err));
            r.explained = explained(e, r.kinetic);
            GEODEC_TRY(ratio(got, x + JACOBI * p->paths, x + JACOBI_KINETIC * p->paths, o, &e, err));
            r.jacobi_explained = explained(e, r.jacobi_kinetic);
        }
    }
    *out = r;
done:
    GEODEC_FREE(sum, x);
    return st;
}

geodec_status geodec_hjb_run(const geodec_space *s, int64_t points, const double *point, const geodec_activations *v,
                             int64_t layer, const double *basis, const double *mean, const geodec_hjb_options *o,
                             geodec_pool *pool, const geodec_hooks *hooks, geodec_hjb *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_hjb h = {.n = s->n};
    bundle p = {0};
    geodec_hjb_row row;
    double x[GEODEC_HJB_STEPS], y[GEODEC_HJB_STEPS];
    for (int c = 0; c < GEODEC_HJB_CLASSES; c++) {
        if (c <= GEODEC_HJB_STRAIGHT)
            GEODEC_TRY(sample_paths(s, (geodec_hjb_class)c, points, point, o, o->dl, o->nodes, &p, err));
        else if (v)
            GEODEC_TRY(read_paths(v, (geodec_hjb_class)c, layer, s->n, basis, mean, o, &p, err));
        else
            continue;
        GEODEC_TRY_MSG(measure(s, &p, o, pool, hooks, &h.row[c], err), "class %s", geodec_hjb_names[c]);
        clear_paths(&p);
    }
    bool all = true;
    for (int k = 0; k < GEODEC_HJB_STEPS; k++) {
        const int64_t parts = (int64_t)1 << k;
        h.dl[k] = o->dl / (double)parts;
        GEODEC_TRY(
            sample_paths(s, GEODEC_HJB_GEODESIC, points, point, o, h.dl[k], (o->nodes - 1) * parts + 1, &p, err));
        GEODEC_TRY(measure(s, &p, o, pool, hooks, &row, err));
        clear_paths(&p);
        h.refined[k] = sqrt(row.total);
        all &= h.refined[k] > 0;
        x[k] = log(h.dl[k]);
        y[k] = all ? log(h.refined[k]) : 0;
    }
    if (all) { /* a flat space has no residual and no order */
        geodec_stats_line line;
        GEODEC_TRY(geodec_stats_fit_line(GEODEC_HJB_STEPS, x, y, NULL, &line, err));
        h.order = line.slope;
    }
    *out = h;
done:
    clear_paths(&p);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define IN(m) GEODEC_IN(geodec_hjb, m)

/* clang-format off */
#define ONE(path_, type_, unit_, text_, m) {path_, type_, "C", 0, unit_, text_, 0, GEODEC_OF_ROW(geodec_hjb_row, m)}
#define ESTIMATE(path_, text_, m)                                                                                      \
    ONE(path_, GEODEC_F64, "1", text_, m.value),                                                                       \
    ONE(path_ "_low", GEODEC_F64, "1", "lower end of its 95 % bootstrap interval over paths", m.low),                  \
    ONE(path_ "_high", GEODEC_F64, "1", "upper end", m.high)
static const geodec_field fields[] = {
    ONE("/paths", GEODEC_I64, "1", "paths measured; 0 = the class is not there", paths),
    ONE("/nodes", GEODEC_I64, "1", "nodes of a path", nodes),
    ONE("/left_out", GEODEC_I64, "1", "paths with nodes outside the chart", left_out),
    ONE("/total", GEODEC_F64, "activation^2", "mean |D2 s + Gamma(Dc s, Dc s)|^2 of a node", total),
    ONE("/kinetic", GEODEC_F64, "activation^2", "mean |D2 s|^2: the published penalty, whose curvature term is zero", kinetic),
    ONE("/connection", GEODEC_F64, "activation^2", "mean |Gamma(Dc s, Dc s)|^2: what it leaves out", connection),
    ESTIMATE("/turn", "sqrt(sum |r|_g^2 / sum |Dc s|_g^2): residual over step", turn),
    ESTIMATE("/kinetic_turn", "the same of D2 s alone", kinetic_turn),
    ESTIMATE("/explained", "1 - sum |r|_g^2 / sum |D2 s|_g^2; 0 where there is no second difference", explained),
    ONE("/jacobi", GEODEC_F64, "1", "mean |D2 J + 2 Gamma(Dc s, Dc J) + (dGamma J)(Dc s, Dc s)|_g^2 of neighbouring paths", jacobi),
    ONE("/jacobi_kinetic", GEODEC_F64, "1", "mean |D2 J|_g^2", jacobi_kinetic),
    ESTIMATE("/jacobi_explained", "1 - their ratio", jacobi_explained),
    {"/dl", GEODEC_F64, "S", 0, "1", "steps of the refinement", 0, GEODEC_ARRAY(geodec_hjb, dl, [0])},
    {"/refined", GEODEC_F64, "S", 0, "activation", "root mean square residual of the geodesics there", 0, GEODEC_ARRAY(geodec_hjb, refined, [0])},
};
/* clang-format on */

static const geodec_attr attrs[] = {
    {"classes", GEODEC_ATTR_STR, 0, "axis C", GEODEC_TEXT("geodesic, walk, straight, text, shuffled, layers")},
    {"n", GEODEC_ATTR_I64, 0, "dimension", IN(n)},
    {"order", GEODEC_ATTR_F64, 0, "control: order of the geodesics' residual in the step, 4; 0 = there is none",
     IN(order)},
};

static const geodec_extent extents[] = {{"C", .plus = GEODEC_HJB_CLASSES}, {"S", .plus = GEODEC_HJB_STEPS}};

const geodec_kind geodec_hjb_kind = {
    GEODEC_ABOUT("hjb", 1, 0, "geodec-hjb", "residuals of the geodesic equation along classes of trajectories"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_hjb_row), offsetof(geodec_hjb, row), true},
};
