#include "lab/fisher/cases.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "fisher/fisher_chart.h"
#include "lab/fisher/cases_internal.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

const char *const geodec_fisher_basis_names[GEODEC_FISHER_BASES + 1] = {"principal", "output", "random"};

geodec_fisher_cases geodec_fisher_cases_defaults(void)
{
    return (geodec_fisher_cases){.split = geodec_harness_split_defaults(),
                                 .o = geodec_fisher_start_defaults(),
                                 .n = 4,
                                 .starts = 32,
                                 .checks = 1,
                                 .replicates = 1000};
}

void geodec_fisher_cases_clear(geodec_fisher_cases *s)
{
    GEODEC_FREE(s->start, s->of);
    s->start = NULL;
    s->of = NULL;
    s->n_starts = 0;
}

/* The logits of the families are of size 1 in z of size 1: an error of (1e-3)^4, and rounding of 1e-16 / 1e-3. */
static const double family_step = 1e-3;

geodec_status geodec_fisher_cases_families(geodec_fisher_cases *s, geodec_err *err)
{
    enum { MOST = 8 };
    double z[MOST];
    for (int i = 0; i < MOST; i++) z[i] = 0.3 * cos(1.0 + i);
    for (int k = 0; k < GEODEC_FISHER_CLOSED; k++) {
        geodec_fisher_map map;
        geodec_fisher_field f;
        geodec_fisher_curvature c;
        const int32_t n = k == GEODEC_FISHER_NORMAL ? 2 : s->n < MOST ? (int32_t)s->n : MOST;
        GEODEC_PASS(geodec_fisher_closed_map((geodec_fisher_closed)k, n, &map, err));
        GEODEC_PASS(geodec_fisher_field_init(&f, &map, family_step, err));
        GEODEC_PASS(geodec_fisher_field_curvature(&f, z, &c, err));
        s->family[k][0] = c.sectional;
        s->family[k][1] = geodec_fisher_closed_curvature[k];
    }
    return GEODEC_OK;
}

/* ---- the starts of a layer --------------------------------------------------------------------------------------- */

typedef struct layer_work {
    const geodec_fisher_cases *s;
    geodec_reference *reference; /* without a pool */
    const double *principal;     /* [n][d] */
    int64_t count, d;
    const geodec__harness_starts_row *at;     /* [count] */
    geodec_model_states_rows own, last, next; /* rows k, k - 1, k + 1 */
    geodec_fisher_start *out;                 /* [BASES][count] */
} layer_work;

/* Directions at random, orthonormal by Gram and Schmidt; a function of the seed and the row. */
static void random_directions(int64_t n, int64_t d, uint64_t seed, int64_t row, double *b)
{
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("fisher chart", (uint64_t)row));
    for (int64_t i = 0; i < n; i++) {
        double *v = b + i * d;
        for (int64_t k = 0; k < d; k++) v[k] = geodec_rng_normal(&r);
        for (int64_t j = 0; j < i; j++) {
            const double along = geodec__dot(d, v, b + j * d);
            for (int64_t k = 0; k < d; k++) v[k] -= along * b[j * d + k];
        }
        const double norm = sqrt(geodec__dot(d, v, v));
        for (int64_t k = 0; k < d; k++) v[k] /= norm;
    }
}

/* The leading eigenvectors of the metric of the whole stream. */
static geodec_status output_directions(const geodec_fisher_chart *c, int64_t n, int64_t d, double *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *g = NULL, *value = NULL;
    GEODEC_NEW(g, d * d);
    GEODEC_NEW(value, d);
    GEODEC_TRY(geodec_fisher_chart_whole(c, g, err));
    GEODEC_TRY(geodec_eig_sym(d, g, value, g, err));
    for (int64_t i = 0; i < n; i++) memcpy(b + i * d, g + (d - 1 - i) * d, (size_t)d * sizeof *b);
done:
    GEODEC_FREE(g, value);
    return st;
}

static geodec_status start_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const layer_work *w = ctx;
    const geodec_fisher_cases *s = w->s;
    const int64_t n = s->n, d = w->d;
    const double *x = w->own.state + i * d;
    geodec_fisher_chart *chart = NULL;
    double *basis = NULL, *gone = NULL, before[GEODEC_FISHER_FIELD_MAX], after[GEODEC_FISHER_FIELD_MAX];
    int64_t tangents = 0, points = 0, to_tangents, to_points;
    GEODEC_NEW(basis, n * d);
    GEODEC_NEW(gone, 2 * d);
    for (int64_t k = 0; k < d; k++) {
        gone[k] = w->last.state[i * d + k] - x[k];
        gone[d + k] = w->next.state[i * d + k] - x[k];
    }
    GEODEC_TRY(geodec_fisher_chart_create(w->reference, &w->own.s, i, n, w->principal, &chart, err));
    for (int b = 0; b < GEODEC_FISHER_BASES; b++) {
        geodec_fisher_start *out = w->out + b * w->count + i;
        geodec_fisher_field f;
        if (b == GEODEC_FISHER_OUTPUT)
            GEODEC_TRY(output_directions(chart, n, d, basis, err));
        else if (b == GEODEC_FISHER_RANDOM)
            random_directions(n, d, s->split.seed, w->at[i].row, basis);
        else
            memcpy(basis, w->principal, (size_t)(n * d) * sizeof *basis);
        GEODEC_TRY(geodec_fisher_chart_turn(chart, n, basis, err));
        for (int64_t a = 0; a < n; a++) {
            before[a] = geodec__dot(d, basis + a * d, gone);
            after[a] = geodec__dot(d, basis + a * d, gone + d);
        }
        const geodec_fisher_map map = geodec_fisher_chart_map(chart);
        GEODEC_TRY(geodec_fisher_field_init(&f, &map, 1, err));
        GEODEC_TRY_MSG(
            geodec_fisher_start_measure(&f, sqrt(geodec__dot(d, x, x)), before, after, i < s->checks, &s->o, out, err),
            "chart %s", geodec_fisher_basis_names[b]);
        const double all = geodec__dot(d, gone + d, gone + d);
        out->inside = all > 0 ? geodec__dot(n, after, after) / all : 0;
        out->row = w->at[i].row;
        out->text = w->at[i].text;
        geodec_fisher_chart_cost(chart, &to_tangents, &to_points);
        out->tangents = to_tangents - tangents;
        out->points = to_points - points;
        tangents = to_tangents;
        points = to_points;
    }
done:
    geodec_fisher_chart_destroy(chart);
    GEODEC_FREE(basis, gone);
    return st;
}

/* Rows `by` after the starts. */
static geodec_status read_states(const layer_work *w, int32_t layer, int32_t by, geodec_model_states_rows *out,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *row = NULL;
    GEODEC_NEW(row, w->count);
    for (int64_t i = 0; i < w->count; i++) row[i] = (int32_t)w->at[i].row + by;
    GEODEC_TRY(geodec_model_states_rows_read(&w->s->charts.source, layer, w->count, row, out, err));
done:
    geodec_mem_free(row);
    return st;
}

static geodec_status keep(geodec_fisher_cases *s, const layer_work *w, int32_t layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t all = s->n_starts + w->count * GEODEC_FISHER_BASES;
    geodec_fisher_start *start = geodec_mem_grow(s->start, s->n_starts, all, sizeof *start);
    if (!start) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld starts", (long long)all);
    s->start = start;
    int32_t *of = geodec_mem_grow(s->of, s->n_starts, all, sizeof *of);
    if (!of) GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld starts", (long long)all);
    s->of = of;
    for (int b = 0; b < GEODEC_FISHER_BASES; b++) {
        geodec_fisher_case *c = s->cases + s->n_cases;
        const geodec_fisher_start *x = w->out + b * w->count;
        *c = (geodec_fisher_case){.layer = layer, .basis = b};
        GEODEC_TRY(geodec__fisher_cases_sum(s, w->count, x, c, err));
        memcpy(s->start + s->n_starts, x, (size_t)w->count * sizeof *x);
        for (int64_t i = 0; i < w->count; i++) s->of[s->n_starts + i] = (int32_t)s->n_cases;
        s->n_starts += w->count;
        s->n_cases++;
    }
done:
    return st;
}

geodec_status geodec_fisher_cases_add(geodec_fisher_cases *s, int32_t layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_chart_options co = geodec_harness_chart_defaults();
    geodec_harness_charted c = {0};
    geodec__harness_starts_row *at = NULL;
    layer_work w = {.s = s, .d = s->charts.view.d};
    if (s->n < 2 || s->n > GEODEC_FISHER_FIELD_MAX || s->n > w.d)
        GEODEC_THROW(GEODEC_RANGE, "charts of %lld dimensions; 2 to %d are measured, in states of %lld",
                     (long long)s->n, (int)GEODEC_FISHER_FIELD_MAX, (long long)w.d);
    if (s->n_cases + GEODEC_FISHER_BASES > GEODEC_FISHER_CASES)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_FISHER_CASES);
    co.n = s->n;
    co.points = 2;
    co.split = &s->split;
    GEODEC_TRY(geodec_activations_find_layer(&s->charts.view, layer, &co.index, err));
    GEODEC_TRY(geodec_harness_charted_make(&s->charts.view, &co, s->charts.pool, s->charts.hooks, &c, err));
    GEODEC_TRY(geodec__harness_starts_gather(&c.t, &s->split, -1, true, &w.count, &at, err));
    geodec__harness_starts_choose(at, &w.count, s->starts, s->split.seed, layer);
    if (w.count < 2) GEODEC_THROW(GEODEC_SCARCE, "%lld states of held-out texts have neighbours", (long long)w.count);
    w.at = at;
    w.principal = c.basis;
    GEODEC_TRY(read_states(&w, layer, 0, &w.own, err));
    GEODEC_TRY(read_states(&w, layer, -1, &w.last, err));
    GEODEC_TRY(read_states(&w, layer, 1, &w.next, err));
    GEODEC_NEW(w.out, w.count * GEODEC_FISHER_BASES);
    GEODEC_TRY(geodec_reference_create(s->charts.source.model, NULL, &w.reference, err));
    GEODEC_TRY(geodec__tasks_run(s->charts.pool, s->charts.hooks, "Fisher field", w.count, start_task, &w, err));
    GEODEC_TRY(keep(s, &w, layer, err));
done:
    geodec_harness_charted_clear(&c);
    geodec_model_states_rows_clear(&w.own);
    geodec_model_states_rows_clear(&w.last);
    geodec_model_states_rows_clear(&w.next);
    geodec_reference_destroy(w.reference);
    GEODEC_FREE(at, w.out);
    return st;
}
