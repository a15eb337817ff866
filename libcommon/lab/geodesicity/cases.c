#include "lab/geodesicity/cases.h"

#include "artifact/binding.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "geometry/quadratic.h"
#include "lab/harness/names.h"

#include <string.h>

typedef struct report {
    geodec_geodesicity_options o;
    int64_t n_cases;
    const geodec_geodesicity_case *c; /* [n_cases] */
    const char *cases, *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_geodesicity_case, m)
/* m[..][AHEAD]..: `ahead` of them are saved */
#define AHEAD(m, first)                                                                                                \
    GEODEC_OF_ROWS(NULL, geodec_geodesicity_case, m first, 8, sizeof(((geodec_geodesicity_case *)0)->m[0]))

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the start", 0, OF(layer)},
    {"/place", GEODEC_I64, "C", 0, "1", "number of the start in its path, from 0; -1 = all together", 0,
     OF(figures.place)},
    {"/starts", GEODEC_I64, "C", 0, "1", "starts evaluated, in held-out texts", 0, OF(figures.starts)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(figures.texts)},
    {"/training", GEODEC_I64, "C", 0, "1", "starts the regressions are fitted to, in the other texts", 0,
     OF(figures.training)},
    {"/step", GEODEC_F64, "C,2", 0, "activation; 1", "root mean square length of a true step: chart, metric", 0,
     OF(figures.step[0])},
    {"/broken", GEODEC_I64, "C,P", 0, "1", "starts whose prediction one step ahead broke down; left out", 0,
     OF(figures.broken[0])},
    {"/counted", GEODEC_I64, "C,P,M", 0, "1", "starts that count", 0, AHEAD(figures.counted, [0][0])},
    {"/error", GEODEC_F64, "C,P,M,2,3", 0, "1",
     "sum of |predicted - true| m = 1..M steps ahead over sum of |true step|, in the chart and in the metric at the "
     "true "
     "state: value and 95 % bootstrap interval over texts (0 where counted is 0)",
     0, AHEAD(figures.error, [0][0][0].value)},
    {"/difference", GEODEC_F64, "C,P,M,2,3", 0, "1",
     "the same for the error minus the straight line's at the same starts (geodesic_fitted: minus line_fitted's)", 0,
     AHEAD(figures.difference, [0][0][0].value)},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: starts with a planted geodesic", 0, OF(figures.planted)},
    {"/planted_error", GEODEC_F64, "C,3,M,3", 0, "1",
     "control: error on planted geodesics (steps a quarter as long) in their own steps, in the chart: line, geodesic, "
     "geodesic_log",
     0, AHEAD(figures.planted_error, [0][0].value)},
    {"/set_points", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1",
     "points of training texts through which the set of the states is fitted; 0 = not measured in this case", 2,
     OF(set.points)},
    {"/set_dim", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1", "dimension of the set", 2, OF(set.n)},
    {"/set_coordinates", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1",
     "leading principal coordinates in which the set lies and all its errors are", 2, OF(set.d)},
    {"/set_share", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "1", "share of the variance of the training states in them",
     2, OF(set_share)},
    {"/set_neighbours", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1", "points of a local chart", 2, OF(set.neighbours)},
    {"/set_training", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1", "rows of its regressions", 2, OF(set.training)},
    {"/set_starts", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1", "starts evaluated, in held-out texts", 2,
     OF(set.starts)},
    {"/set_texts", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1", "texts they are from: the groups of the bootstrap", 2,
     OF(set.texts)},
    {"/set_step", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "activation", "root mean square length of a true step", 2,
     OF(set.step)},
    {"/set_radius", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "activation", "mean radius of the charts at the starts", 2,
     OF(set.radius)},
    {"/set_residual", GEODEC_F64, "C", GEODEC_FIELD_OPTIONAL, "activation",
     "root mean square distance of a point from the set through the points of other texts", 2, OF(set.residual)},
    {"/set_broken", GEODEC_I64, "C,Q", GEODEC_FIELD_OPTIONAL, "1",
     "starts without a prediction one step ahead; left out", 2, OF(set.broken[0])},
    {"/set_counted", GEODEC_I64, "C,Q,M", GEODEC_FIELD_OPTIONAL, "1", "starts that count", 2,
     AHEAD(set.counted, [0][0])},
    {"/set_error", GEODEC_F64, "C,Q,M,3", GEODEC_FIELD_OPTIONAL, "1",
     "sum of |predicted - true| m = 1..M steps ahead over sum of |true step|: value and 95 % bootstrap interval over "
     "texts (0 where set_counted is 0)",
     2, AHEAD(set.error, [0][0].value)},
    {"/set_difference", GEODEC_F64, "C,Q,M,3", GEODEC_FIELD_OPTIONAL, "1",
     "the same for the error minus the straight line's at the same starts (set_fitted: minus that of linear_xv)", 2,
     AHEAD(set.difference, [0][0].value)},
    {"/set_gain", GEODEC_F64, "C,M,3", GEODEC_FIELD_OPTIONAL, "1",
     "the same for the error of the better one of line and stay, minus that of set: the states move along geodesics of "
     "the set only where it is above 0",
     2, AHEAD(set.gain, [0].value)},
    {"/set_planted", GEODEC_I64, "C", GEODEC_FIELD_OPTIONAL, "1",
     "control: planted geodesics of the fitted set with the residuals of the data", 2, OF(set.planted)},
    {"/set_planted_error", GEODEC_F64, "C,4,M,3", GEODEC_FIELD_OPTIONAL, "1",
     "control: error there, in planted steps: line, set, set_shuffled, truth (the planted geodesic itself)", 2,
     AHEAD(set.planted_error, [0][0].value)},
    {"/set_correctable", GEODEC_F64, "C,M,3", GEODEC_FIELD_OPTIONAL, "1",
     "control: error of the line minus that of the truth there", 2, AHEAD(set.correctable, [0].value)},
    {"/set_recovered", GEODEC_F64, "C,M,3", GEODEC_FIELD_OPTIONAL, "1",
     "control: share of it that set recovers, the power of set_gain (0 where set_planted is 0)", 2,
     AHEAD(set.recovered, [0].value)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: along, metric, layer, joined by ':' and separated by commas",
     IN(cases)},
    {"predictors", GEODEC_ATTR_STR, 0, "names along P, separated by commas",
     GEODEC_LIST(geodec_geodesicity_predictor_names)},
    {"set_predictors", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL, "names along Q, separated by commas",
     GEODEC_LIST(geodec_geodesicity_set_names)},
    {"held_out", GEODEC_ATTR_F64, 0, "share of texts held out", IN(o.split.held_out)},
    {"ridge", GEODEC_ATTR_F64, 0, "of the regressions, in mean variances of their inputs", IN(o.ridge)},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics", IN(o.rtol)},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken",
     IN(o.drift_max)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(o.replicates)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {
    {"C", IN(n_cases)}, {"P", .plus = GEODEC_PREDICTORS}, {"M", IN(o.ahead)}, {"Q", .plus = GEODEC_SET_PREDICTORS}};

const geodec_kind geodec_geodesicity_kind = {
    GEODEC_ABOUT("geodesicity", 1, 2, "geodec-geodesicity",
                 "how well geodesics predict real trajectories, compared with lines, regressions and shuffled metrics"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_geodesicity_case), offsetof(report, c), false},
};

/* The training states in as many leading coordinates as hold the share, of at most GEODEC_RBF_MAX_N. */
static void leading_part(geodec_harness_charted *c, const geodec_harness_split *split, double least, double *share)
{
    const int64_t n = c->n;
    double variance[GEODEC_RBF_MAX_N] = {0}, all = 0, kept = 0;
    for (int64_t p = 0; p < c->t.paths; p++)
        for (int64_t i = c->t.offset[p]; i < c->t.offset[p + 1] && geodec_harness_split_on(split, c->t.text[p], false);
             i++)
            for (int64_t a = 0; a < n; a++) variance[a] += c->x[i * n + a] * c->x[i * n + a];
    for (int64_t a = 0; a < n; a++) all += variance[a];
    int64_t d = 0;
    while (d < n && (d < 2 || kept * c->explained < least * all)) kept += variance[d++];
    for (int64_t i = 0; i < c->t.offset[c->t.paths]; i++) memmove(c->x + i * d, c->x + i * n, (size_t)d * sizeof *c->x);
    c->n = c->t.n = d;
    *share = c->explained * kept / all;
}

/* The set of the layer's states, once for each layer. */
static geodec_status add_set(const geodec_geodesicity_cases *s, int64_t index, geodec_geodesicity_case *out,
                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_chart_options co = geodec_harness_chart_defaults();
    geodec_harness_charted c = {0};
    geodec_geodesicity_set_options o = s->set;
    o.n = (int32_t)(s->set_dim > 0 ? s->set_dim : geodec__min(s->charts.o->dim, GEODEC_QUADRATIC_MAX_N));
    o.split = *s->charts.split;
    co.n = geodec__min(s->charts.view.d, GEODEC_RBF_MAX_N);
    co.points = 2;
    co.index = index;
    co.split = s->charts.split;
    GEODEC_TRY(geodec_harness_charted_make(&s->charts.view, &co, s->charts.pool, s->charts.hooks, &c, err));
    leading_part(&c, co.split, s->set_share > 0 ? s->set_share : 0.99, &out->set_share);
    GEODEC_TRY(geodec_geodesicity_set_run(&c.t, &o, s->charts.pool, s->charts.hooks, &out->set, err));
done:
    geodec_harness_charted_clear(&c);
    if (st != GEODEC_SCARCE) return st;
    *err = (geodec_err){0}; /* too few states for a chart: not measured, which set.points says */
    geodec_hooks_log(s->charts.hooks, GEODEC_LOG_INFO, "layer %d: geodesics of the set are not measured: %s",
                     (int)out->layer, "too few states");
    return GEODEC_OK;
}

static bool has_set(const geodec_geodesicity_cases *s, int32_t layer)
{
    for (int64_t i = 0; i < s->n_cases; i++)
        if (s->cases[i].layer == layer && strcmp(s->cases[i].along, "tokens") == 0) return true;
    return false;
}

geodec_status geodec_geodesicity_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                           const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_geodesicity_cases *s = ctx;
    geodec_geodesicity *figures = NULL;
    int64_t count;
    GEODEC_TRY(geodec_geodesicity_run(&c->t, f, &s->o, s->charts.pool, s->charts.hooks, &count, &figures, err));
    for (int64_t i = 0; i < count; i++) {
        if (s->n_cases == GEODEC_GEODESICITY_CASES)
            GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_GEODESICITY_CASES);
        geodec_geodesicity_case *to = s->cases + s->n_cases;
        *to = (geodec_geodesicity_case){.along = index < 0 ? "layers" : "tokens",
                                        .metric = metric,
                                        .layer = s->charts.layer[index < 0 ? figures[i].place : index],
                                        .figures = figures[i]};
        if (index >= 0 && s->set_dim >= 0 && !has_set(s, to->layer)) GEODEC_TRY(add_set(s, index, to, err));
        s->n_cases++;
    }
done:
    geodec_mem_free(figures);
    return st;
}

static void say_set(const geodec_hooks *hooks, const geodec_geodesicity_case *k)
{
    const geodec_geodesicity_set *f = &k->set;
    const geodec_estimate g = f->gain[0], d = f->difference[GEODEC_SET_SET][0],
                          fitted = f->difference[GEODEC_SET_FITTED][0], r = f->recovered[0], c = f->correctable[0];
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO,
        "%s layer %d, set of dimension %lld in %lld coordinates (%.1f %% of the variance): one ahead: set "
        "%.3f (line %+.3f [%.3f, %.3f]), set_shuffled %.3f, set_gaussian %.3f, line %.3f, stay %.3f, linear "
        "%.3f, set_fitted %.3f (linear %+.3f [%.3f, %.3f]); gain %.3f [%.3f, %.3f]; broken %lld of %lld",
        k->along, k->layer, (long long)f->n, (long long)f->d, 100 * k->set_share, f->error[GEODEC_SET_SET][0].value,
        d.value, d.low, d.high, f->error[GEODEC_SET_SHUFFLED][0].value, f->error[GEODEC_SET_GAUSSIAN][0].value,
        f->error[GEODEC_SET_LINE][0].value, f->error[GEODEC_SET_STAY][0].value, f->error[GEODEC_SET_LINEAR_XV][0].value,
        f->error[GEODEC_SET_FITTED][0].value, fitted.value, fitted.low, fitted.high, g.value, g.low, g.high,
        (long long)f->broken[GEODEC_SET_SET], (long long)f->starts);
    if (f->planted > 0)
        geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                         "%s layer %d: %lld geodesics planted on the set with its residuals: correctable error %.3f "
                         "[%.3f, %.3f], recovered %.2f [%.2f, %.2f] of it",
                         k->along, k->layer, (long long)f->planted, c.value, c.low, c.high, r.value, r.low, r.high);
    else
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "%s layer %d: no geodesic could be planted on the set: no power",
                         k->along, k->layer);
}

void geodec_geodesicity_cases_say(const geodec_hooks *hooks, const geodec_geodesicity_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_geodesicity_case *k = s->cases + i;
        const geodec_geodesicity *f = &k->figures;
        const geodec_estimate d = f->difference[GEODEC_PREDICT_GEODESIC][0][0];
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "%s %s layer %d: error in steps one ahead: geodesic %.3f (line %+.3f [%.3f, %.3f]), line %.3f, shuffled "
            "%.3f, random %.3f, stay %.3f, linear %.3f / %.3f; broken %lld of %lld",
            k->along, k->metric, k->layer, f->error[GEODEC_PREDICT_GEODESIC][0][0].value, d.value, d.low, d.high,
            f->error[GEODEC_PREDICT_LINE][0][0].value, f->error[GEODEC_PREDICT_SHUFFLED][0][0].value,
            f->error[GEODEC_PREDICT_RANDOM][0][0].value, f->error[GEODEC_PREDICT_STAY][0][0].value,
            f->error[GEODEC_PREDICT_LINEAR_X][0][0].value, f->error[GEODEC_PREDICT_LINEAR_XV][0][0].value,
            (long long)f->broken[GEODEC_PREDICT_GEODESIC], (long long)f->starts);
        if (k->set.points > 0) say_set(hooks, k);
    }
}

geodec_status geodec_geodesicity_cases_write(const geodec_geodesicity_cases *s, geodec_artifact *a, geodec_err *err)
{
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const report r = {s->o, s->n_cases, s->cases, text, geodec_split_name(s->charts.units.by_document)};
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_geodesicity_case *c = s->cases + i;
        GEODEC_PASS(geodec_names_add(text, err, "%s:%s:%d", c->along, c->metric, (int)c->layer));
    }
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}
