#include "lab/hjb/correct.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>

geodec_hjb_options geodec_hjb_defaults(void)
{
    return (geodec_hjb_options){.paths = 12, .nodes = 33, .dl = 0.05, .shift = 0.1, .bootstrap = 1000, .seed = 1};
}

const char *const geodec_hjb_names[GEODEC_HJB_CLASSES] = {"geodesic", "walk", "straight", "text", "shuffled", "layers"};

enum { TOTAL, KINETIC, CONNECTION, TOTAL_G, KINETIC_G, STEP_G, JACOBI, JACOBI_KINETIC, PARTS };

/* Sums of a path over its nodes. */
typedef struct sums {
    double part[PARTS];
    bool lost; /* a node lies outside the chart */
} sums;

typedef struct measuring {
    const geodec_space *s;
    const geodec_hjb_paths *p;
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

/* 1 - e, or nothing where there was nothing to explain. */
static geodec_estimate explained(geodec_estimate e, double of)
{
    if (!(of > 0)) return (geodec_estimate){0};
    return (geodec_estimate){.value = 1 - e.value, .low = 1 - e.high, .high = 1 - e.low};
}

geodec_status geodec_hjb_measure(const geodec_space *s, const geodec_hjb_paths *p, const geodec_hjb_options *o,
                                 geodec_pool *pool, const geodec_hooks *hooks, geodec_hjb_row *out, geodec_err *err)
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
        /* below 1e-12 of the steps a second difference is rounding: a straight line has none to explain */
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
    geodec_hjb_paths p = {0};
    geodec_hjb_row row;
    double x[GEODEC_HJB_STEPS], y[GEODEC_HJB_STEPS];
    for (int c = 0; c < GEODEC_HJB_CLASSES; c++) {
        if (c <= GEODEC_HJB_STRAIGHT)
            GEODEC_TRY(geodec_hjb_sample(s, (geodec_hjb_class)c, points, point, o, o->dl, o->nodes, &p, err));
        else if (v)
            GEODEC_TRY(geodec_hjb_read(v, (geodec_hjb_class)c, layer, s->n, basis, mean, o, &p, err));
        else
            continue;
        GEODEC_TRY_MSG(geodec_hjb_measure(s, &p, o, pool, hooks, &h.row[c], err), "class %s", geodec_hjb_names[c]);
        geodec_hjb_paths_clear(&p);
    }
    bool all = true;
    for (int k = 0; k < GEODEC_HJB_STEPS; k++) {
        const int64_t parts = (int64_t)1 << k;
        h.dl[k] = o->dl / (double)parts;
        GEODEC_TRY(
            geodec_hjb_sample(s, GEODEC_HJB_GEODESIC, points, point, o, h.dl[k], (o->nodes - 1) * parts + 1, &p, err));
        GEODEC_TRY(geodec_hjb_measure(s, &p, o, pool, hooks, &row, err));
        geodec_hjb_paths_clear(&p);
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
    geodec_hjb_paths_clear(&p);
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
    .name = "hjb",
    .major = 1,
    .minor = 0,
    .tool = "geodec-hjb",
    .purpose = "residuals of the geodesic equation along classes of trajectories",
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_hjb_row), offsetof(geodec_hjb, row), true},
};
