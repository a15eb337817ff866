#include "lab/harness/charts.h"

#include "base/mem.h"
#include "chain/metric_open.h"
#include "linalg/expm.h"
#include "session/layer_list.h"

#include <string.h>

void geodec_harness_charts_say_split(const geodec_hooks *hooks, const geodec_split *s)
{
    if (!s->by_document)
        geodec_hooks_log(hooks, GEODEC_LOG_INFO,
                         "held out: blocks of the text, %lld of them with gaps of %lld rows; it has too few documents",
                         (long long)s->units, (long long)s->gap);
}

geodec_status geodec_harness_charts_open(geodec_harness_charts *s, const geodec_artifact *activations, geodec_err *err)
{
    s->file = activations;
    GEODEC_PASS(geodec_activations_view(s->file, &s->view, err));
    GEODEC_PASS(geodec_artifact_read(s->file, "/layer", &s->layer, err));
    GEODEC_PASS(geodec_activations_units(s->file, &s->text, &s->units, err));
    geodec_harness_charts_say_split(s->hooks, &s->units);
    GEODEC_PASS(geodec_artifact_get_i64(s->file, "n_layer", &s->n_layer, err));
    if (*s->o->model) GEODEC_PASS(geodec_model_states_open(s->o->model, s->file, s->pool, &s->source, err));
    return GEODEC_OK;
}

void geodec_harness_charts_close(geodec_harness_charts *s)
{
    geodec_model_states_close(&s->source);
    GEODEC_FREE(s->layer, s->text);
    memset(s, 0, sizeof *s);
}

/* Fisher matrices at the chart's points, regularised; points are in order of layer. */
static geodec_status fisher_at_points(const geodec_harness_charts *s, const geodec_harness_charted *c, double *g,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model_states_rows rows = {0};
    int32_t *row = NULL;
    GEODEC_NEW(row, c->points);
    for (int64_t i = 0; i < c->points; i++) row[i] = (int32_t)c->point_row[i];
    for (int64_t i = 0, count; i < c->points; i += count) {
        for (count = 1; i + count < c->points && c->point_place[i + count] == c->point_place[i];) count++;
        GEODEC_TRY(geodec_model_states_rows_read(&s->source, s->layer[c->point_place[i]], count, row + i, &rows, err));
        GEODEC_TRY(geodec_fisher_metric(s->source.reference, &rows.s, c->n, c->basis, NULL, s->hooks,
                                        g + i * c->n * c->n, NULL, NULL, err));
        geodec_model_states_rows_clear(&rows);
    }
    GEODEC_TRY(geodec_fisher_regularise(c->points, c->n, s->o->ridge, g, NULL, NULL, NULL, err));
done:
    geodec_model_states_rows_clear(&rows);
    geodec_mem_free(row);
    return st;
}

geodec_status geodec_harness_charts_fitted(const geodec_harness_charts *s, int64_t index, geodec_harness_charts_fn fn,
                                           void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = s->o->dim, packed = geodec_sym_packed(n);
    geodec_harness_chart_options co = geodec_harness_chart_defaults();
    geodec_metric_options mo = geodec_metric_defaults();
    geodec_harness_charted c = {0};
    geodec_metric m = {0};
    double *g = NULL, *log_g = NULL, *mixed = NULL, *l = NULL;
    co.n = n;
    co.points = s->o->points;
    co.index = index;
    co.split = s->split;
    mo.sigma_nn = s->o->sigma_nn;
    GEODEC_TRY(geodec_harness_charted_make(&s->view, &co, s->pool, s->hooks, &c, err));
    GEODEC_TRY(geodec_metric_fit(c.points, n, c.point, &mo, s->pool, s->hooks, &m, err));
    geodec_hooks_log(s->hooks, GEODEC_LOG_INFO,
                     "%s: chart of %lld dimensions holds %.1f %% of the variance (the first %.1f %%), %lld points",
                     index < 0 ? "layer by layer" : "token by token", (long long)n, 100 * c.explained, 100 * c.leading,
                     (long long)c.points);
    geodec_harness_sites f = {.sites = c.points, .site = c.point, .log_g = m.log_g, .sigma = m.sigma};
    GEODEC_TRY_MSG(fn(ctx, &c, index, &f, "mahalanobis", err), "mahalanobis");
    if (!s->source.reference || s->local) goto done;
    GEODEC_NEW(g, c.points * n * n);
    GEODEC_NEW_EACH(c.points * packed, log_g, mixed);
    GEODEC_NEW(l, n * n);
    GEODEC_TRY(fisher_at_points(s, &c, g, err));
    for (int64_t i = 0; i < c.points; i++) {
        GEODEC_TRY_MSG(geodec_logm_spd(n, g + i * n * n, l, err), "Fisher metric of point %lld", (long long)i);
        geodec_sym_pack(n, l, log_g + i * packed);
    }
    for (int64_t i = 0; i < c.points * packed; i++) mixed[i] = (1 - s->o->blend) * m.log_g[i] + s->o->blend * log_g[i];
    f.log_g = log_g;
    GEODEC_TRY_MSG(fn(ctx, &c, index, &f, "fisher", err), "fisher");
    f.log_g = mixed;
    GEODEC_TRY_MSG(fn(ctx, &c, index, &f, "blend", err), "blend");
done:
    geodec_harness_charted_clear(&c);
    geodec_metric_clear(&m);
    GEODEC_FREE(g, log_g, mixed, l);
    return st;
}

geodec_status geodec_harness_charts_layers(const geodec_harness_charts *s, const char *layers,
                                           geodec_harness_charts_fn fn, void *ctx, geodec_err *err)
{
    int32_t list[GEODEC_LAYERS_MAX], n = 0;
    GEODEC_PASS(geodec_layer_list_parse(layers, (int32_t)s->n_layer, list, &n, err));
    for (int32_t i = 0; i < n; i++) {
        int64_t index;
        GEODEC_PASS(geodec_activations_find_layer(&s->view, list[i], &index, err));
        GEODEC_PASS_MSG(geodec_harness_charts_fitted(s, index, fn, ctx, err), "layer %d", list[i]);
    }
    return GEODEC_OK;
}

/* Texts of the metric's points, which must be rows of these activations: otherwise it is unknown which are held out.
 * Points that are no states (of a space known in closed form) belong to no text: *text stays NULL. */
static geodec_status texts_of(const geodec_harness_charts *s, const geodec_metric_file *in, int32_t **text,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *row = NULL, *sequence = NULL, *position = NULL, *own_sequence = NULL, *own_position = NULL;
    const char *path = geodec_artifact_path(in->file);
    GEODEC_TRY(geodec_artifact_read(in->file, "/activation_row", &row, err));
    if (row[0] < 0) goto done;
    if (geodec_artifact_has(in->file, "/sequence")) {
        GEODEC_TRY(geodec_artifact_read(in->file, "/sequence", &sequence, err));
        GEODEC_TRY(geodec_artifact_read(in->file, "/position", &position, err));
    }
    GEODEC_TRY(geodec_artifact_read(s->file, "/sequence", &own_sequence, err));
    GEODEC_TRY(geodec_artifact_read(s->file, "/position", &own_position, err));
    GEODEC_NEW(*text, in->metric.points);
    for (int64_t i = 0; i < in->metric.points; i++) {
        const int64_t r = row[i];
        if (r < 0 || r >= s->view.rows ||
            (sequence && (sequence[i] != own_sequence[r] || position[i] != own_position[r])))
            GEODEC_THROW(GEODEC_CHECKSUM, "%s: point %lld is not row %lld of the activations", path, (long long)i,
                         (long long)r);
        (*text)[i] = s->text[r];
    }
done:
    GEODEC_FREE(row, sequence, position, own_sequence, own_position);
    return st;
}

geodec_status geodec_harness_charts_file(const geodec_harness_charts *s, geodec_provenance *p, const char *metric,
                                         geodec_harness_charts_fn fn, void *ctx, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric_file in = {0};
    geodec_harness_chart_options co = geodec_harness_chart_defaults();
    geodec_harness_charted c = {0};
    double *basis = NULL, *mean = NULL;
    int32_t *text = NULL;
    int64_t d, n, layer;
    GEODEC_TRY(geodec_metric_file_open(metric, &in, err));
    GEODEC_TRY(geodec_provenance_add_artifact(p, in.file, err));
    if (in.field && !in.metric.log_g)
        GEODEC_THROW(GEODEC_LIMIT, "%s: its matrices are too many for this experiment", metric);
    GEODEC_TRY(geodec_artifact_dim(in.file, "d", &d, err));
    GEODEC_TRY(geodec_artifact_dim(in.file, "n", &n, err));
    if (d != s->view.d || n != in.space->n)
        GEODEC_THROW(GEODEC_FORMAT, "%s is of states of width %lld, the activations are of %lld", metric, (long long)d,
                     (long long)s->view.d);
    GEODEC_TRY(geodec_artifact_get_i64(in.file, "layer", &layer, err));
    GEODEC_TRY(geodec_activations_find_layer(&s->view, layer, &co.index, err));
    GEODEC_TRY(geodec_artifact_read(in.file, "/basis", &basis, err));
    GEODEC_TRY(geodec_artifact_read(in.file, "/mean", &mean, err));
    GEODEC_TRY(texts_of(s, &in, &text, err));
    co.n = n;
    co.split = s->split;
    co.basis = basis;
    co.mean = mean;
    GEODEC_TRY(geodec_harness_charted_make(&s->view, &co, s->pool, s->hooks, &c, err));
    const geodec_harness_sites f = {.sites = in.metric.points,
                                    .site = in.metric.point,
                                    .log_g = in.metric.log_g,
                                    .text = text,
                                    .sigma = in.metric.sigma,
                                    .space = in.field ? NULL : in.space,
                                    .whole = true};
    GEODEC_TRY_MSG(fn(ctx, &c, co.index, &f, geodec_metric_type_name(in.metric.kind), err), "%s", metric);
done:
    geodec_harness_charted_clear(&c);
    geodec_metric_file_close(&in);
    GEODEC_FREE(basis, mean, text);
    return st;
}
