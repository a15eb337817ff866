#include "artifact/binding.h"
#include "base/mem.h"
#include "lab/fisher/cases_internal.h"
#include "lab/harness/names.h"

#include <math.h>
#include <string.h>

/* ---- figures of a case ------------------------------------------------------------------------------------------- */

/* Median of the finite ones of `count` numbers that are `stride` bytes apart. */
static geodec_status median_of(int64_t count, const double *first, size_t stride, geodec_estimate *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL;
    int64_t n = 0;
    *out = (geodec_estimate){NAN, NAN, NAN};
    GEODEC_NEW(x, count);
    for (int64_t i = 0; i < count; i++) {
        const double v = *(const double *)(const void *)((const char *)first + (size_t)i * stride);
        if (isfinite(v)) x[n++] = v;
    }
    if (n == 0) goto done;
    geodec_stats_sort(n, x);
    *out = geodec_stats_median_interval(n, x);
done:
    geodec_mem_free(x);
    return st;
}

/* sum a / sum b over starts where both are finite; b NULL: all one. */
static geodec_status ratio_of(const geodec_fisher_cases *s, int64_t count, const geodec_fisher_start *x,
                              const double *a, const double *b, geodec_harness_text_sums *sums, geodec_estimate *out,
                              int64_t *counted, geodec_err *err)
{
    for (int64_t i = 0; i < count; i++) {
        const double v = b ? b[i] : 1;
        if (isfinite(a[i]) && isfinite(v)) geodec_harness_text_sums_add(sums, x[i].text, a[i], v);
    }
    return geodec_harness_text_sums_ratio(sums, s->replicates, s->split.seed, geodec_rng_id("fisher field", 0), out,
                                          counted, err);
}

/* Errors of a predictor in one norm; a, b [count] are scratch. */
static geodec_status errors_of(const geodec_fisher_cases *s, int64_t count, const geodec_fisher_start *x, int p,
                               int norm, double *a, double *b, geodec_harness_text_sums *sums, geodec_fisher_case *c,
                               geodec_err *err)
{
    static const geodec_fisher_predictor against[2] = {GEODEC_FISHER_LINE, GEODEC_FISHER_STAY};
    geodec_estimate *to[2] = {&c->to_line[p][norm], &c->to_stay[p][norm]};
    for (int64_t i = 0; i < count; i++) {
        a[i] = x[i].miss[p][norm];
        b[i] = x[i].length[norm];
    }
    GEODEC_PASS(ratio_of(s, count, x, a, b, sums, &c->miss[p][norm], &c->counted[p][norm], err));
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < count; i++) a[i] = x[i].miss[p][norm] - x[i].miss[against[k]][norm];
        GEODEC_PASS(ratio_of(s, count, x, a, b, sums, to[k], NULL, err));
    }
    return GEODEC_OK;
}

static void worst_of(int64_t count, const geodec_fisher_start *x, geodec_fisher_case *c)
{
    for (int64_t i = 0; i < count; i++) {
        const double size = fmax(1, fabs(x[i].curvature.sectional));
        c->texts += i == 0 || x[i].text != x[i - 1].text;
        c->singular += x[i].singular;
        c->tangents += (double)x[i].tangents / (double)count;
        c->points += (double)x[i].points / (double)count;
        if (x[i].singular) continue;
        c->error = fmax(c->error, x[i].error / size);
        c->asymmetry = fmax(c->asymmetry, x[i].curvature.asymmetry);
        if (!isfinite(x[i].differences)) continue;
        c->checked++;
        c->differences = fmax(c->differences, fabs(x[i].differences - x[i].curvature.sectional) / size);
    }
}

geodec_status geodec__fisher_cases_sum(const geodec_fisher_cases *s, int64_t count, const geodec_fisher_start *x,
                                       geodec_fisher_case *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_text_sums sums = {0};
    double *a = NULL, *b = NULL;
    GEODEC_NEW_EACH(count, a, b);
    GEODEC_TRY(geodec_harness_text_sums_reserve(&sums, count, err));
    c->starts = count;
    worst_of(count, x, c);
    GEODEC_TRY(median_of(count, &x->curvature.sectional, sizeof *x, &c->sectional, err));
    GEODEC_TRY(median_of(count, &x->curvature.sectional_min, sizeof *x, &c->sectional_min, err));
    GEODEC_TRY(median_of(count, &x->curvature.sectional_max, sizeof *x, &c->sectional_max, err));
    GEODEC_TRY(median_of(count, &x->curvature.second, sizeof *x, &c->second, err));
    GEODEC_TRY(median_of(count, &x->curvature.condition, sizeof *x, &c->condition, err));
#define OF_STARTS(member, to)                                                                                          \
    do {                                                                                                               \
        for (int64_t i = 0; i < count; i++) (to)[i] = x[i].member;                                                     \
    } while (0)
    for (int64_t i = 0; i < count; i++) { /* |z_+|^2 over |x_(k+1) - x_k|^2 */
        a[i] = x[i].length[0] * x[i].length[0];
        b[i] = a[i] / x[i].inside;
    }
    GEODEC_TRY(ratio_of(s, count, x, a, b, &sums, &c->inside, NULL, err));
    OF_STARTS(geodesic, b);
    GEODEC_TRY(ratio_of(s, count, x, b, NULL, &sums, &c->geodesic, &c->found, err));
    OF_STARTS(chord, a);
    GEODEC_TRY(ratio_of(s, count, x, a, b, &sums, &c->chord, NULL, err));
    OF_STARTS(bound, a);
    GEODEC_TRY(ratio_of(s, count, x, a, b, &sums, &c->bound, NULL, err));
    for (int p = 0; p < GEODEC_FISHER_PREDICTORS; p++)
        for (int norm = 0; norm < 2; norm++) GEODEC_TRY(errors_of(s, count, x, p, norm, a, b, &sums, c, err));
    OF_STARTS(planted_length, b);
    for (int p = 0; p < 2; p++) {
        OF_STARTS(planted[p], a);
        GEODEC_TRY(ratio_of(s, count, x, a, b, &sums, &c->planted_miss[p], &c->planted, err));
    }
#undef OF_STARTS
done:
    geodec_harness_text_sums_clear(&sums);
    GEODEC_FREE(a, b);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

typedef struct report {
    const geodec_fisher_case *c;
    const geodec_fisher_start *start;
    const int32_t *of;
    const double *family;
    int64_t n_cases, n_starts, n, replicates, steps;
    double drift_max, tolerance;
    const char *cases, *split;
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_fisher_case, m)
static const geodec_rows starts = {"Q", sizeof(geodec_fisher_start), offsetof(report, start), false};
#define START(m) GEODEC_OF_ROWS(&starts, geodec_fisher_start, m, 0, 0)
#define NUMBERS(m) GEODEC_OF_ROWS(&starts, geodec_fisher_start, m, sizeof(double), 0)
#define MAYBE GEODEC_FIELD_NONFINITE

/* clang-format off */
#define ONE(path_, unit_, text_, m) {"/start/" path_, GEODEC_F64, "Q", MAYBE, unit_, text_, 0, START(m)}
#define MEDIAN(path_, text_, m) {path_, GEODEC_F64, "C,3", MAYBE, "1", "median over the starts of " text_ ", and the order statistics of its 95 % interval", 0, OF(m.value)}
#define RATIO(path_, unit_, text_, m) {path_, GEODEC_F64, "C,3", 0, unit_, text_ ": value and 95 % bootstrap interval over texts", 0, OF(m.value)}
static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "boundary of the residual stream", 0, OF(layer)},
    {"/basis", GEODEC_I32, "C", 0, "1", "directions of the charts, by number in the attribute bases", 0, OF(basis)},
    {"/starts", GEODEC_I64, "C", 0, "1", "states, of held-out texts", 0, OF(starts)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(texts)},
    {"/singular", GEODEC_I64, "C", 0, "1", "states at which the metric is not positive definite to working precision; left out", 0, OF(singular)},
    MEDIAN("/sectional", "the mean sectional curvature; 1/4 = a part of the simplex that is flat within it", sectional),
    MEDIAN("/sectional_min", "the least one of the planes of an orthonormal frame", sectional_min),
    MEDIAN("/sectional_max", "the largest one", sectional_max),
    MEDIAN("/second", "the root mean square of the second fundamental form within the simplex; 0 where it is flat there", second),
    MEDIAN("/condition", "the condition number of the metric", condition),
    {"/error", GEODEC_F64, "C", 0, "1", "largest change of the mean sectional curvature from one step of differences to the next, over max(1, |curvature|)", 0, OF(error)},
    {"/asymmetry", GEODEC_F64, "C", 0, "1", "largest asymmetry of the second derivatives, as a share of them; 0 but for their error", 0, OF(asymmetry)},
    {"/checked", GEODEC_I64, "C", 0, "1", "starts whose curvature was also computed from a differentiated connection", 0, OF(checked)},
    {"/differences", GEODEC_F64, "C", 0, "1", "control: largest difference between the two, over max(1, |curvature|)", 0, OF(differences)},
    RATIO("/inside", "1", "share of the squared steps to the next state that lies in the charts", inside),
    {"/found", GEODEC_I64, "C", 0, "1", "starts with a geodesic to the state before", 0, OF(found)},
    RATIO("/geodesic", "1", "mean Fisher length of these geodesics", geodesic),
    RATIO("/chord", "1", "sum of the lengths of the straight lines of the chart over that of the geodesics, at least 1", chord),
    RATIO("/bound", "1", "control: sum of the distances among all distributions over that of the geodesics, at most 1", bound),
    {"/counted", GEODEC_I64, "C,P,2", 0, "1", "starts with that prediction: in the chart, in the metric at the next state", 0, OF(counted[0][0])},
    {"/miss", GEODEC_F64, "C,P,2,3", 0, "1", "sum of |predicted - next state| over sum of |step|, in the chart and in the metric at the next state: value and 95 % bootstrap interval over texts (0 where counted is 0)", 0, OF(miss[0][0].value)},
    {"/to_line", GEODEC_F64, "C,P,2,3", 0, "1", "the same, less the straight line's at the same starts", 0, OF(to_line[0][0].value)},
    {"/to_stay", GEODEC_F64, "C,P,2,3", 0, "1", "the same, less that of no movement", 0, OF(to_stay[0][0].value)},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: starts with planted geodesics, a quarter of a step long", 0, OF(planted)},
    {"/planted_miss", GEODEC_F64, "C,2,3", 0, "1", "control: error there in planted steps, in the chart: line, geodesic_log", 0, OF(planted_miss[0].value)},
    {"/tangents", GEODEC_F64, "C", 0, "1", "cost: derivatives of the logits along one direction at one point (jvps of one row), mean of a start", 0, OF(tangents)},
    {"/points", GEODEC_F64, "C", 0, "1", "cost: points at which the network was evaluated, mean of a start", 0, OF(points)},
    {"/family", GEODEC_F64, "F,2", 0, "1", "control: mean sectional curvature of each family of distributions: measured, exact", 0, GEODEC_AT(report, family)},
    {"/start/case", GEODEC_I32, "Q", 0, "1", "case of the start", 0, GEODEC_AT(report, of)},
    {"/start/row", GEODEC_I64, "Q", 0, "1", "row of the activations", 0, START(row)},
    {"/start/text", GEODEC_I32, "Q", 0, "1", "unit of the split", 0, START(text)},
    ONE("entropy", "nat", "entropy of the next token there", curvature.entropy),
    ONE("trace", "activation^-2", "trace of the metric in the chart", curvature.trace),
    ONE("condition", "1", "its condition number", curvature.condition),
    ONE("sectional", "1", "mean sectional curvature", curvature.sectional),
    ONE("sectional_min", "1", "least one of the planes of an orthonormal frame", curvature.sectional_min),
    ONE("sectional_max", "1", "largest one", curvature.sectional_max),
    ONE("second", "1", "root mean square of the second fundamental form within the simplex", curvature.second),
    ONE("asymmetry", "1", "of the second derivatives", curvature.asymmetry),
    ONE("error", "1", "change of the mean sectional curvature from the step before", error),
    ONE("step", "1", "step of the differences, as a share of the length of the state", step),
    ONE("differences", "1", "mean sectional curvature from a differentiated connection; NaN: not computed", differences),
    ONE("inside", "1", "share of the squared step to the next state in the chart", inside),
    ONE("chord", "1", "Fisher length of the straight line to the state before", chord),
    ONE("chord_error", "1", "its error of quadrature", chord_error),
    ONE("geodesic", "1", "Fisher length of the geodesic to it", geodesic),
    ONE("bound", "1", "distance of the two distributions among all distributions", bound),
    {"/start/length", GEODEC_F64, "Q,2", MAYBE, "activation; 1", "length of the step to the next state: chart, metric there", 0, NUMBERS(length[0])},
    {"/start/miss", GEODEC_F64, "Q,P,2", MAYBE, "activation; 1", "|predicted - next state|: chart, metric there", 0, NUMBERS(miss[0][0])},
    ONE("planted_length", "activation", "length of the planted step", planted_length),
    {"/start/planted", GEODEC_F64, "Q,2", MAYBE, "activation", "error on planted geodesics: line, geodesic_log", 0, NUMBERS(planted[0])},
    {"/start/tangents", GEODEC_I64, "Q", 0, "1", "cost in tangents", 0, START(tangents)},
    {"/start/points", GEODEC_I64, "Q", 0, "1", "cost in points", 0, START(points)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: chart, layer, joined by ':' and separated by commas", IN(cases)},
    {"bases", GEODEC_ATTR_STR, 0, "names of the charts by number, separated by commas", GEODEC_LIST(geodec_fisher_basis_names)},
    {"predictors", GEODEC_ATTR_STR, 0, "names along P, separated by commas", GEODEC_LIST(geodec_fisher_predictor_names)},
    {"families", GEODEC_ATTR_STR, 0, "names along F, separated by commas", GEODEC_LIST(geodec_fisher_closed_names)},
    {"n", GEODEC_ATTR_I64, 0, "dimension of the charts", IN(n)},
    {"steps", GEODEC_ATTR_I64, 0, "steps of a geodesic (Runge and Kutta)", IN(steps)},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken", IN(drift_max)},
    {"tolerance", GEODEC_ATTR_F64, 0, "of the geodesic between two states, in lengths of the chord", IN(tolerance)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(replicates)},
    {"split", GEODEC_ATTR_STR, 0, "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};
/* clang-format on */

static const geodec_extent extents[] = {{"C", IN(n_cases)},
                                        {"Q", IN(n_starts)},
                                        {"P", .plus = GEODEC_FISHER_PREDICTORS},
                                        {"F", .plus = GEODEC_FISHER_CLOSED}};

const geodec_kind geodec_fisher_cases_kind = {
    GEODEC_ABOUT("fisher-field", 1, 0, "geodec-fisher-field",
                 "curvature and geodesics of the model's own Fisher metric in charts through its states"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_fisher_case), offsetof(report, c), false},
};

geodec_status geodec_fisher_cases_write(const geodec_fisher_cases *s, geodec_artifact *a, geodec_err *err)
{
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const report r = {.c = s->cases,
                      .start = s->start,
                      .of = s->of,
                      .family = s->family[0],
                      .n_cases = s->n_cases,
                      .n_starts = s->n_starts,
                      .n = s->n,
                      .replicates = s->replicates,
                      .steps = s->o.steps,
                      .drift_max = s->o.drift_max,
                      .tolerance = s->o.tolerance,
                      .cases = text,
                      .split = geodec_split_name(s->charts.units.by_document)};
    for (int64_t i = 0; i < s->n_cases; i++)
        GEODEC_PASS(
            geodec_names_add(text, err, "%s:%d", geodec_fisher_basis_names[s->cases[i].basis], (int)s->cases[i].layer));
    GEODEC_PASS(geodec_artifact_save(a, &r, err));
    return GEODEC_OK;
}

void geodec_fisher_cases_say(const geodec_hooks *hooks, const geodec_fisher_cases *s)
{
    for (int k = 0; k < GEODEC_FISHER_CLOSED; k++)
        geodec_hooks_log(hooks, GEODEC_LOG_INFO, "control: %s distributions have curvature %.10g, exactly %g",
                         geodec_fisher_closed_names[k], s->family[k][0], s->family[k][1]);
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_fisher_case *c = s->cases + i;
        geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                         "layer %d, %s directions: %lld states of %lld texts, %lld without a metric; mean sectional "
                         "curvature %.4g [%.4g, %.4g] (the simplex: 0.25), relative error below %.1g, from the "
                         "connection within %.1g",
                         c->layer, geodec_fisher_basis_names[c->basis], (long long)c->starts, (long long)c->texts,
                         (long long)c->singular, c->sectional.value, c->sectional.low, c->sectional.high, c->error,
                         c->differences);
        geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                         "  %lld geodesics to the state before: length %.3g, straight lines %.4f times, distance among "
                         "all distributions %.4f times",
                         (long long)c->found, c->geodesic.value, c->chord.value, c->bound.value);
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
            "  next state, error in steps: stay %.3f, line %.3f, geodesic %.3f, through both states %.3f "
            "(less the line's %+.4f [%+.4f, %+.4f]); planted: line %.3f, geodesic %.2g; cost %.0f tangents",
            c->miss[GEODEC_FISHER_STAY][0].value, c->miss[GEODEC_FISHER_LINE][0].value,
            c->miss[GEODEC_FISHER_GEODESIC][0].value, c->miss[GEODEC_FISHER_GEODESIC_LOG][0].value,
            c->to_line[GEODEC_FISHER_GEODESIC_LOG][0].value, c->to_line[GEODEC_FISHER_GEODESIC_LOG][0].low,
            c->to_line[GEODEC_FISHER_GEODESIC_LOG][0].high, c->planted_miss[0].value, c->planted_miss[1].value,
            c->tangents);
    }
}
