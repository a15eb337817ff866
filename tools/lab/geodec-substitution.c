/* geodec-substitution: next hidden states from records of earlier steps, in place of a pass of the model. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "chain/coverage.h"
#include "chain/lookup.h"
#include "chain/metric.h"
#include "cli/charts.h"
#include "cli/cli.h"
#include "cli/fisher.h"
#include "io/foreign.h"
#include "lab/harness/trajectories.h"
#include "lab/substitution/correct.h"
#include "lab/substitution/published.h"

#include <math.h>
#include <string.h>

enum { REPLICATES = 400, REF_SHARES = 2, TIMED = 32, CONTEXT = 64, BATCH = 256 };

static const char *output = "substitution.h5", *mode = "correct", *draws, *model_path, *kind = "mahalanobis";
static int64_t dim = 8, records = 2000, queries = 400;
static double ridge = 0.01;
static bool timed;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "substitution.h5"),
    CLI_MODE_OPTION(mode),
    CLI_DRAWS_OPTION(draws),
    {.name = "model",
     .letter = 'm',
     .type = CLI_STR,
     .flags = CLI_PATH,
     .target = &model_path,
     .metavar = "FILE",
     .help = "model as GGUF (needed in the correct mode)"},
    {.name = "kind",
     .type = CLI_CHOICE,
     .target = &kind,
     .choices = "mahalanobis|fisher",
     .metavar = "KIND",
     .help = "metric of the lookup and the propagators"},
    {.name = "dim",
     .letter = 'n',
     .type = CLI_I64,
     .target = &dim,
     .min = 1,
     .max = GEODEC_RBF_MAX_N,
     .metavar = "N",
     .help = "dimension of the chart: principal directions"},
    {.name = "records",
     .letter = 'r',
     .type = CLI_I64,
     .target = &records,
     .min = 64,
     .max = 1e6,
     .metavar = "N",
     .help = "pairs of consecutive states of training texts"},
    {.name = "queries",
     .type = CLI_I64,
     .target = &queries,
     .min = 2,
     .max = 1e7,
     .metavar = "N",
     .help = "states of held-out texts"},
    {.name = "time",
     .type = CLI_FLAG,
     .target = &timed,
     .help = "measure a step of the model, its head and a lookup on one thread (without: no speed-ups)"},
};

static const cli_tool tool = {
    .name = "geodec-substitution",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose = "next hidden states from records of earlier steps, beside predictors that need no record",
    .usage = "--model FILE [OPTIONS] ACTIVATIONS.h5\n       geodec-substitution --mode ref --draws FILE.h5 [OPTIONS]",
    .description =
        "Records are pairs of consecutive states at the last layer, from one half of the texts; for states of the "
        "other "
        "half\n"
        "the next state is predicted by the nearest record's successor, shifted, or moved by the record's propagator, "
        "by a\n"
        "linear map without records, by staying, and by a record drawn at random. Errors in lengths of a step, and "
        "whether the\n"
        "model's head says the same token as of the true next state. --mode ref repeats the published counts, in which "
        "no next\n"
        "state is predicted.",
    .examples = "geodec-substitution -m model.gguf --time -o substitution.h5 activations.h5\n"
                "geodec-substitution --mode ref --draws smollm2-135m_n8.h5 -o substitution-ref.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 0,
    .max_args = 1,
};

/* ---- as published ------------------------------------------------------------------------------------------------ */

static geodec_status run_ref(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const double share[REF_SHARES] = {0.25, 0.5};
    geodec_artifact *out = NULL;
    geodec_provenance p = cli_provenance(c);
    geodec_harness_manifold m = {0};
    const geodec_harness_options o = geodec_harness_defaults();
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, *permutation = NULL;
    double *point = NULL;
    geodec_substitution_published row[REF_SHARES];
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    const int64_t points = shape[0], n = shape[1];
    memcpy(shape, (int64_t[]){-1, -1, points}, 3 * sizeof *shape);
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/coverage/permutations", 3, shape, 0, points - 1, &permutation, err));
    if (shape[0] < 1 || shape[1] < 1) GEODEC_THROW(GEODEC_FORMAT, "%s: no permutation", draws);
    GEODEC_TRY(geodec_harness_manifold_fit(points, n, point, &o, c->pool, &c->hooks, &m, err));
    for (int i = 0; i < REF_SHARES; i++) {
        geodec_substitution_published *s = &row[i];
        const int64_t cached = (int64_t)fmax(1, rint(share[i] * (double)points)); /* the harness's first draw */
        GEODEC_TRY(geodec_substitution_published_run(&m, cached, permutation, 3, 0.4, s, err));
        s->share = share[i];
        s->closed_form = geodec_coverage_closed_form(points, o.k, cached);
        cli_say(c,
                "%2.0f %% cached: within 3 of a cached point %.1f %% (closed form %.1f %%), within 0.4 %.1f %%, mean "
                "%.4f; projected from half a step a hit: %.2f",
                100 * share[i], 100 * s->hit, 100 * s->closed_form, 100 * s->correctable, s->distance, s->projected);
    }
    GEODEC_TRY(geodec_provenance_add_file(&p, draws, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_substitution_published_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_substitution_published_write(REF_SHARES, row, out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
done:
    geodec_artifact_close(out);
    geodec_harness_manifold_clear(&m);
    geodec_mem_free(point);
    geodec_mem_free(permutation);
    return st;
}

/* ---- done right -------------------------------------------------------------------------------------------------- */

typedef struct work {
    const cli *c;
    fisher_source source;
    geodec_harness_split split;
    geodec_harness_charted chart;
    geodec_rbf *field;
    geodec_substitution_data data;
    double *from, *to, *query, *truth;
    int32_t *text;           /* [queries] */
    int32_t *token, *wanted; /* of heads */
} work;

/* Whether the row's successor in the text is the file's next row. */
static bool has_next(const work *w, const int32_t *sequence, int64_t row)
{
    return row + 1 < w->source.view.rows && sequence[row + 1] == sequence[row] &&
           w->source.position[row + 1] == w->source.position[row] + 1 && w->source.text[row + 1] == w->source.text[row];
}

static geodec_status read_states(const work *w, int64_t layer, int64_t count, const int32_t *row, double **out,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    fisher_rows r = {0};
    GEODEC_TRY(fisher_rows_read(&w->source, layer, count, row, &r, err));
    *out = r.state;
    r.state = NULL;
done:
    fisher_rows_clear(&r);
    return st;
}

static geodec_status gather(work *w, int64_t layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t R = w->source.view.rows;
    int32_t *sequence = NULL, *row = NULL, *next = NULL;
    int64_t count = 0, left = 0;
    geodec_rng r = geodec_rng_stream(w->c->seed, geodec_rng_id("substitution queries", 0));
    GEODEC_TRY(geodec_artifact_read(w->source.file, "/sequence", &sequence, err));
    GEODEC_NEW(row, R);
    GEODEC_NEW(next, R);
    GEODEC_NEW(w->text, R);
    for (int64_t i = 0; i < w->chart.points; i++)
        if (has_next(w, sequence, w->chart.point_row[i])) row[count++] = (int32_t)w->chart.point_row[i];
    for (int64_t i = 0; i < count; i++) next[i] = row[i] + 1;
    if (count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld pairs of consecutive states in training texts; at least 2 are needed",
                     (long long)count);
    w->data.records = count;
    GEODEC_TRY(read_states(w, layer, count, row, &w->from, err));
    GEODEC_TRY(read_states(w, layer, count, next, &w->to, err));
    for (int pass = 0; pass < 2; pass++) { /* counts, then selection sampling */
        const int64_t wanted = queries;
        int64_t seen = 0;
        count = 0;
        for (int64_t i = 0; i < R; i++) {
            if (!geodec_harness_split_on(&w->split, w->source.text[i], true) || w->source.position[i] == 0 ||
                !has_next(w, sequence, i))
                continue;
            if (pass == 0) {
                left++;
                continue;
            }
            if (count < wanted && geodec_rng_uniform(&r) * (double)(left - seen) < (double)(wanted - count)) {
                w->text[count] = w->source.text[i];
                row[count++] = (int32_t)i;
            }
            seen++;
        }
    }
    for (int64_t i = 0; i < count; i++) next[i] = row[i] + 1;
    w->data.queries = count;
    if (count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld pairs of consecutive states in held-out texts; at least 2 are needed",
                     (long long)count);
    GEODEC_TRY(read_states(w, layer, count, row, &w->query, err));
    GEODEC_TRY(read_states(w, layer, count, next, &w->truth, err));
done:
    geodec_mem_free(sequence);
    geodec_mem_free(row);
    geodec_mem_free(next);
    return st;
}

static geodec_status make_field(work *w, int64_t layer, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_harness_charted *ch = &w->chart;
    const geodec_metric_options o = geodec_metric_defaults();
    geodec_metric m = {0};
    fisher_rows rows = {0};
    int32_t *row = NULL;
    double *g = NULL;
    GEODEC_TRY(geodec_metric_fit(ch->points, ch->n, ch->point, &o, w->c->pool, &w->c->hooks, &m, err));
    if (strcmp(kind, "fisher") == 0) {
        GEODEC_NEW(row, ch->points);
        GEODEC_NEW(g, ch->points * ch->n * ch->n);
        for (int64_t i = 0; i < ch->points; i++) row[i] = (int32_t)ch->point_row[i];
        GEODEC_TRY(fisher_rows_read(&w->source, layer, ch->points, row, &rows, err));
        GEODEC_TRY(geodec_fisher_metric(w->source.reference, &rows.s, ch->n, ch->basis, NULL, &w->c->hooks, g, NULL,
                                        NULL, err));
        GEODEC_TRY(geodec_fisher_regularise(ch->points, ch->n, 0.01, g, NULL, NULL, NULL, err));
        geodec_metric_clear(&m);
        GEODEC_TRY(geodec_metric_from_matrices(GEODEC_METRIC_FISHER, ch->points, ch->n, ch->point, g, &o, w->c->pool,
                                               &w->c->hooks, &m, err));
    }
    GEODEC_TRY(geodec_metric_field(&m, &w->field, err));
done:
    geodec_metric_clear(&m);
    fisher_rows_clear(&rows);
    geodec_mem_free(row);
    geodec_mem_free(g);
    return st;
}

/* The head's first choice for each of count states. */
static geodec_status choices(const work *w, int64_t count, const double *state, int32_t *token, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *mc = geodec_model_configuration(w->source.model);
    double *logits = NULL;
    GEODEC_NEW(logits, BATCH * mc->n_vocab);
    for (int64_t i = 0; i < count; i += BATCH) {
        const int64_t m = count - i < BATCH ? count - i : BATCH;
        GEODEC_TRY(geodec_reference_run(w->source.reference, mc->n_layer, mc->n_layer + 1, m, state + i * mc->d_model,
                                        NULL, logits, err));
        for (int64_t j = 0; j < m; j++) {
            const double *l = logits + j * mc->n_vocab;
            int32_t best = 0;
            for (int32_t v = 1; v < mc->n_vocab; v++)
                if (l[v] > l[best]) best = v;
            token[i + j] = best;
        }
    }
done:
    geodec_mem_free(logits);
    return st;
}

/* The least CPU time of single-token passes after CONTEXT tokens, in microseconds. */
static geodec_status time_pass(const work *w, bool head, double *us, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_session_options o = {.n_ctx = CONTEXT + TIMED, .max_batch = CONTEXT};
    geodec_session *s = NULL;
    float *logits = NULL;
    GEODEC_NEW(logits, geodec_model_configuration(w->source.model)->n_vocab);
    GEODEC_TRY(geodec_session_create(w->source.model, &o, &s, err));
    GEODEC_TRY(geodec_forward_prefill(s, w->source.token, CONTEXT < w->source.view.rows ? CONTEXT : w->source.view.rows,
                                      logits, err));
    *us = INFINITY;
    for (int i = 0; i < TIMED; i++) {
        const bool want = head;
        const geodec_batch b = {.n = 1, .token = w->source.token, .want = &want};
        const double before = geodec_clock_thread_seconds();
        GEODEC_TRY(geodec_forward(s, &b, head ? logits : NULL, NULL, err));
        *us = fmin(*us, 1e6 * (geodec_clock_thread_seconds() - before));
    }
done:
    geodec_session_destroy(s);
    geodec_mem_free(logits);
    return st;
}

static geodec_status time_lookup(const work *w, double *us, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = w->chart.n, count = w->chart.points;
    geodec_lookup *l = NULL;
    geodec_lookup_hit hit;
    double *g = NULL, total = INFINITY;
    const geodec_space *space = geodec_rbf_space(w->field);
    GEODEC_NEW(g, n * n);
    GEODEC_TRY(geodec_lookup_create(count, n, w->chart.point, NULL, &l, err));
    for (int round = 0; round < 7; round++) {
        const double before = geodec_clock_thread_seconds();
        for (int i = 0; i < TIMED; i++) {
            const double *x = w->chart.t.x + (i * 37 % w->chart.t.offset[w->chart.t.paths]) * n;
            GEODEC_TRY(space->at(space, x, g, NULL, NULL, err));
            GEODEC_TRY(geodec_lookup_nearest(l, x, g, &hit, err));
        }
        total = fmin(total, geodec_clock_thread_seconds() - before);
    }
    *us = 1e6 * total / TIMED;
done:
    geodec_lookup_destroy(l);
    geodec_mem_free(g);
    return st;
}

static void summarise(const cli *c, const geodec_substitution *s)
{
    enum { ALL = GEODEC_SUBSTITUTION_SHARES - 1 };
    cli_say(c, "%lld records, %lld queries, chart of %lld dimensions; %lld propagators broke down",
            (long long)s->records, (long long)s->queries, (long long)s->n, (long long)s->broken);
    for (int k = 0; k < GEODEC_SUBSTITUTES; k++)
        cli_say(c,
                "%-10s error %.3f [%.3f, %.3f] steps, same token %4.1f %% [%.1f, %.1f]; of the nearest 10 %%: %.3f, "
                "%4.1f %%",
                geodec_substitution_method_name((geodec_substitution_method)k), s->error[k][ALL].value,
                s->error[k][ALL].low, s->error[k][ALL].high, 100 * s->agree[k][ALL].value, 100 * s->agree[k][ALL].low,
                100 * s->agree[k][ALL].high, s->error[k][1].value, 100 * s->agree[k][1].value);
    if (s->full_us > 0)
        cli_say(c, "a step %.0f us, its head %.0f us, a lookup %.1f us: substituting all %.1f x, a tenth %.2f x",
                s->full_us, s->head_us, s->lookup_us, geodec_substitution_speedup(s, 1),
                geodec_substitution_speedup(s, 0.1));
}

static geodec_status run_correct(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *in = NULL, *out = NULL;
    geodec_provenance p = cli_provenance(c);
    work w = {.c = c, .split = geodec_harness_split_defaults()};
    geodec_harness_chart_options co = geodec_harness_chart_defaults();
    geodec_substitution_predictions predicted = {0};
    geodec_substitution s;
    GEODEC_TRY(geodec_artifact_open(&geodec_activations_kind, c->args[0], &in, err));
    GEODEC_TRY(fisher_open(c, model_path, in, &w.source, err));
    const int32_t layer = geodec_model_configuration(w.source.model)->n_layer;
    w.split.seed = c->seed;
    co.n = dim;
    co.points = records;
    co.split = &w.split;
    GEODEC_TRY(geodec_activations_find_layer(&w.source.view, layer, &co.index, err));
    GEODEC_TRY(geodec_harness_charted_make(&w.source.view, &co, c->pool, &c->hooks, &w.chart, err));
    say_split(c, &w.source.units);
    GEODEC_TRY(make_field(&w, layer, err));
    GEODEC_TRY(gather(&w, layer, err));
    w.data.n = dim;
    w.data.d = w.source.view.d;
    w.data.basis = w.chart.basis;
    w.data.mean = w.chart.mean;
    w.data.from = w.from;
    w.data.to = w.to;
    w.data.query = w.query;
    w.data.truth = w.truth;
    w.data.field = w.field;
    GEODEC_TRY(geodec_substitution_predict(&w.data, ridge, c->seed, c->pool, &c->hooks, &predicted, err));
    const int64_t Q = w.data.queries;
    GEODEC_NEW(w.token, GEODEC_SUBSTITUTES * Q);
    GEODEC_NEW(w.wanted, Q);
    GEODEC_TRY(choices(&w, GEODEC_SUBSTITUTES * Q, predicted.state, w.token, err));
    GEODEC_TRY(choices(&w, Q, w.truth, w.wanted, err));
    GEODEC_TRY(
        geodec_substitution_figures(&w.data, &predicted, w.token, w.wanted, w.text, REPLICATES, c->seed, &s, err));
    if (timed) {
        double body;
        GEODEC_TRY(time_pass(&w, true, &s.full_us, err));
        GEODEC_TRY(time_pass(&w, false, &body, err));
        s.head_us = fmax(0, s.full_us - body);
        GEODEC_TRY(time_lookup(&w, &s.lookup_us, err));
    }
    GEODEC_TRY(geodec_provenance_add_artifact(&p, in, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_substitution_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_substitution_write(&s, geodec_split_name(w.source.units.by_document), out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(c, &s);
done:
    geodec_artifact_close(out);
    geodec_substitution_clear(&predicted);
    geodec_harness_charted_clear(&w.chart);
    geodec_rbf_destroy(w.field);
    fisher_close(&w.source);
    geodec_artifact_close(in);
    geodec_mem_free(w.from);
    geodec_mem_free(w.to);
    geodec_mem_free(w.query);
    geodec_mem_free(w.truth);
    geodec_mem_free(w.text);
    geodec_mem_free(w.token);
    geodec_mem_free(w.wanted);
    return st;
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const bool ref = strcmp(mode, "ref") == 0;
    if (ref != (draws != NULL)) GEODEC_THROW(GEODEC_INVAL, "--mode ref and --draws go together");
    if (!ref && (c->n_args != 1 || !model_path)) GEODEC_THROW(GEODEC_INVAL, "--model and ACTIVATIONS.h5 are needed");
    if (ref && c->n_args > 0) GEODEC_THROW(GEODEC_INVAL, "--mode ref takes no activations");
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(ref ? run_ref(c, err) : run_correct(c, err));
done:
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
