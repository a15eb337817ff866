/* geodec-varadhan: does attention look along geodesics, as a heat kernel would? */
#include "base/mem.h"
#include "base/rng.h"
#include "cli/charts.h"
#include "cli/layers.h"
#include "lab/varadhan/attention_gradient.h"
#include "lab/varadhan/correct.h"

#include <math.h>
#include <string.h>

enum { CASES_MAX = 256, KEYS = GEODEC_VARADHAN_KEYS, FORMS = GEODEC_VARADHAN_FORMS, FIRST = 1 /* position of a key */ };

static const char *output = "varadhan.h5", *model_path = "", *layers = "sink", *keys = "both";
static int64_t dim = 6, points = 200, n_queries = 24, planted = 8;
static double blend = 0.5, ridge = 0.01, sigma_nn = 1;

static const cli_option options[] = {
    CLI_OUTPUT_OPTION(output, "varadhan.h5"),
    CHARTS_OPTIONS(model_path, dim, points, blend, ridge, sigma_nn),
    {.name = "layers",
     .letter = 'l',
     .type = CLI_STR,
     .target = &layers,
     .metavar = "LIST",
     .help = "layers whose states attend in the block after them: all, sink or numbers joined by commas; none: each "
             "METRIC.h5 alone"},
    {.name = "queries",
     .type = CLI_I64,
     .target = &n_queries,
     .min = 2,
     .max = 1e9,
     .metavar = "N",
     .help = "states of held-out texts whose attention is looked at, of each layer"},
    {.name = "keys",
     .type = CLI_CHOICE,
     .target = &keys,
     .choices = "both|any|near",
     .metavar = "WHICH",
     .help = "any: earlier states at random; near: the two nearest in the chart"},
    {.name = "planted",
     .type = CLI_I64,
     .target = &planted,
     .min = 0,
     .max = 1e9,
     .metavar = "N",
     .help = "of these, N with a planted gradient: the control that the harness sees a heat kernel"},
};

static const cli_tool tool = {
    .name = "geodec-varadhan",
    .topic = CLI_TOPIC_EXPERIMENTS,
    .purpose =
        "does attention look along geodesics, as a heat kernel would? Beside chords, other keys and shuffled metrics",
    .usage = "[OPTIONS] --model MODEL.gguf ACTIVATIONS.h5 [METRIC.h5 ..]",
    .description =
        "If attention weights were a heat kernel of a metric, the gradient of their logarithm in the attending state\n"
        "would point along the geodesic to the key (Varadhan). Measured for real states and keys of held-out texts, "
        "for\n"
        "every head: the cosine of the gradient - of the logarithm of the weight, of the score, and of the difference "
        "of\n"
        "two keys - with the logarithm map towards the key, with the straight chord, with another key's direction, "
        "and\n"
        "with those of the metric shuffled among its points or turned at random. Chart and metrics are from one half "
        "of\n"
        "the texts, the queries from the other; intervals are a bootstrap over texts. Each METRIC.h5, of any kind, is "
        "one\n"
        "more metric in its own chart and layer.",
    .examples = "geodec-export --model model.gguf --text book.txt --layers all --window 64 -o layers.h5\n"
                "geodec-varadhan --model model.gguf --layers all -o varadhan.h5 layers.h5",
    .options = options,
    .n_options = CLI_COUNT(options),
    .min_args = 1,
    .max_args = 64,
};

typedef struct state {
    charts charts;
    geodec_harness_split split;
    geodec_varadhan_options o;
    geodec_varadhan_case cases[CASES_MAX];
    int64_t n_cases, columns;
} state;

/* The queries of a layer: row of the file, keys as rows of its text. */
typedef struct picked {
    int64_t count;
    int64_t *row;
    geodec_attention_query *query;
} picked;

/* Rows before `row` that it sees and that may be keys: from *from on. Position 0 is the same state in every text. */
static int64_t visible(const state *s, int32_t layer, int64_t row, int64_t *from)
{
    const geodec_model_config *c = geodec_model_configuration(s->charts.source.model);
    const int32_t *position = s->charts.source.position;
    const bool slides = c->window > 0 && !(c->window_period > 0 && layer % c->window_period == c->window_period - 1);
    int64_t first = row - position[row] + FIRST;
    if (slides && row - c->window + 1 > first) first = row - c->window + 1;
    *from = first;
    return row - first;
}

/* The text up to the row stands in the file without gaps. */
static bool whole(const state *s, int64_t row)
{
    const int32_t *position = s->charts.source.position, *sequence = s->charts.source.sequence;
    const int64_t first = row - position[row];
    return first >= 0 && position[first] == 0 && sequence[first] == sequence[row];
}

/* Four different keys of a row: at random, or the first two the nearest in the chart. */
static void pick_keys(const geodec_harness_charted *c, int64_t row, int64_t from, int64_t count, bool near,
                      geodec_rng *r, geodec_attention_query *q)
{
    int64_t key[KEYS];
    for (int k = 0; k < KEYS; k++) {
        double best = INFINITY;
        if (near && k < 2) {
            for (int64_t j = from; j < from + count; j++) {
                double d2 = 0;
                for (int64_t i = 0; i < c->n; i++) d2 += pow(c->x[j * c->n + i] - c->x[row * c->n + i], 2);
                if (d2 < best && !(k == 1 && j == key[0])) {
                    best = d2;
                    key[k] = j;
                }
            }
        } else { /* of those left */
            int64_t left = (int64_t)geodec_rng_below(r, (uint64_t)(count - k)), j = from;
            for (;; j++) {
                bool taken = false;
                for (int i = 0; i < k; i++) taken = taken || key[i] == j;
                if (!taken && left-- == 0) break;
            }
            key[k] = j;
        }
    }
    for (int k = 0; k < KEYS; k++) q->key[k] = (int32_t)key[k];
}

static geodec_status pick(const state *s, const geodec_harness_charted *c, int32_t layer, bool near, picked *out,
                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const fisher_source *f = &s->charts.source;
    int64_t *row = NULL, count = 0, from;
    GEODEC_NEW(row, f->view.rows);
    for (int64_t i = 0; i < f->view.rows; i++)
        if (f->position[i] > FIRST && geodec_harness_split_on(&s->split, f->text[i], true) && whole(s, i) &&
            visible(s, layer, i, &from) >= KEYS)
            row[count++] = i;
    if (count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld states of held-out texts have %d keys; at least 2 are needed",
                     (long long)count, (int)KEYS);
    geodec_rng r = geodec_rng_stream(s->o.seed, geodec_rng_id("varadhan queries", (uint64_t)layer));
    const int64_t keep = n_queries < count ? n_queries : count;
    GEODEC_NEW(out->row, keep);
    GEODEC_NEW(out->query, keep);
    for (int64_t i = 0; i < count && out->count < keep; i++) /* selection sampling, in their order */
        if (geodec_rng_uniform(&r) * (double)(count - i) < (double)(keep - out->count)) out->row[out->count++] = row[i];
    for (int64_t i = 0; i < out->count; i++) {
        geodec_rng key = geodec_rng_stream(s->o.seed, geodec_rng_id("varadhan keys", (uint64_t)out->row[i]));
        const int64_t seen = visible(s, layer, out->row[i], &from), first = out->row[i] - f->position[out->row[i]];
        pick_keys(c, out->row[i], from, seen, near, &key, &out->query[i]);
        out->query[i].row = (int32_t)(out->row[i] - first);
        for (int k = 0; k < KEYS; k++) out->query[i].key[k] -= (int32_t)first;
    }
done:
    geodec_mem_free(row);
    return st;
}

typedef struct gradients {
    double *gradient, *inside, *along, *weight, *state;
    int32_t *text;
} gradients;

static void clear(gradients *g)
{
    double *const all[] = {g->gradient, g->inside, g->along, g->weight, g->state};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free(all[i]);
    geodec_mem_free(g->text);
}

/* Asks the model, text by text. */
static geodec_status ask(const state *s, const geodec_harness_charted *c, int32_t layer, const picked *p, gradients *g,
                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const fisher_source *f = &s->charts.source;
    const int64_t n = c->n, H = s->columns;
    GEODEC_NEW(g->gradient, p->count * H * FORMS * n);
    GEODEC_NEW(g->inside, p->count * H * FORMS);
    GEODEC_NEW(g->along, p->count * H * FORMS * 2);
    GEODEC_NEW(g->weight, p->count * H);
    GEODEC_NEW(g->state, p->count * (1 + KEYS) * n);
    GEODEC_NEW(g->text, p->count);
    for (int64_t i = 0, count; i < p->count; i += count) {
        const int64_t first = p->row[i] - p->query[i].row;
        for (count = 1; i + count < p->count && p->row[i + count] - p->query[i + count].row == first;) count++;
        const geodec_attention_gradients out = {.gradient = g->gradient + i * H * FORMS * n,
                                                .inside = g->inside + i * H * FORMS,
                                                .along = g->along + i * H * FORMS * 2,
                                                .weight = g->weight + i * H};
        GEODEC_TRY(geodec_hooks_progress(&s->charts.c->hooks, "attention", i, p->count, err));
        GEODEC_TRY_MSG(geodec_attention_gradient(f->reference, layer, f->token + first, p->query[i + count - 1].row + 1,
                                                 count, p->query + i, n, c->basis, &out, err),
                       "text of row %lld", (long long)p->row[i]);
        for (int64_t j = i; j < i + count; j++) {
            double *x = g->state + j * (1 + KEYS) * n;
            g->text[j] = f->text[p->row[j]];
            memcpy(x, c->x + p->row[j] * n, (size_t)n * sizeof *x);
            for (int k = 0; k < KEYS; k++)
                memcpy(x + (k + 1) * n, c->x + (first + p->query[j].key[k]) * n, (size_t)n * sizeof *x);
        }
    }
done:
    return st;
}

static geodec_status one_case(state *s, const geodec_harness_charted *c, int32_t layer, const geodec_harness_sites *f,
                              const char *metric, bool near, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const cli *cl = s->charts.c;
    picked p = {0};
    gradients g = {0};
    if (s->n_cases == CASES_MAX) GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)CASES_MAX);
    geodec_varadhan_case *k = s->cases + s->n_cases;
    *k = (geodec_varadhan_case){.metric = metric, .keys = near ? "near" : "any", .layer = layer};
    GEODEC_TRY(pick(s, c, layer, near, &p, err));
    GEODEC_TRY(ask(s, c, layer, &p, &g, err));
    const geodec_varadhan_queries q = {.queries = p.count,
                                       .n = c->n,
                                       .columns = s->columns,
                                       .text = g.text,
                                       .state = g.state,
                                       .gradient = g.gradient,
                                       .along = g.along};
    GEODEC_TRY(geodec_varadhan_run(&q, f, &s->split, &s->o, cl->pool, &cl->hooks, &k->figures, err));
    s->n_cases++;
    for (int64_t i = 0; i < p.count; i++) {
        const int64_t together = i * s->columns + s->columns - 1;
        for (int form = 0; form < FORMS; form++) k->inside[form] += g.inside[together * FORMS + form] / (double)p.count;
        k->weight += g.weight[together] / (double)p.count;
    }
done:
    clear(&g);
    geodec_mem_free(p.row);
    geodec_mem_free(p.query);
    return st;
}

static geodec_status evaluate(void *ctx, const geodec_harness_charted *c, int64_t index, const geodec_harness_sites *f,
                              const char *metric, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    state *s = ctx;
    const int32_t layer = s->charts.layer[index];
    if (layer >= s->charts.n_layer) GEODEC_THROW(GEODEC_RANGE, "layer %d: no block attends after the last", layer);
    if (strcmp(keys, "near") != 0) GEODEC_TRY(one_case(s, c, layer, f, metric, false, err));
    if (strcmp(keys, "any") != 0) GEODEC_TRY(one_case(s, c, layer, f, metric, true, err));
done:
    return st;
}

static void summarise(const state *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_varadhan_case *k = s->cases + i;
        const geodec_varadhan *v = &k->figures;
        const geodec_estimate *pair = v->cosine[0][2], x = v->excess[0][2][GEODEC_VARADHAN_EUCLID];
        cli_say(
            s->charts.c,
            "%s layer %d, %s keys: cosine of the gradient (pair of keys): log %.3f [%.3f, %.3f], chord %.3f, Euclidean "
            "%.3f (log %+.3f [%.3f, %.3f]), whole stream %.3f, shuffled %.3f, random %.3f; other keys %.3f / %.3f / "
            "%.3f; noise %.3f; of the weight: log %.3f, Euclidean %.3f; found %lld of %lld; planted %.4f",
            k->metric, k->layer, k->keys, pair[GEODEC_VARADHAN_LOG].value, pair[GEODEC_VARADHAN_LOG].low,
            pair[GEODEC_VARADHAN_LOG].high, pair[GEODEC_VARADHAN_CHORD].value, pair[GEODEC_VARADHAN_EUCLID].value,
            x.value, x.low, x.high, pair[GEODEC_VARADHAN_STREAM].value, pair[GEODEC_VARADHAN_SHUFFLED].value,
            pair[GEODEC_VARADHAN_RANDOM].value, pair[GEODEC_VARADHAN_WRONG_LOG].value,
            pair[GEODEC_VARADHAN_WRONG_EUCLID].value, pair[GEODEC_VARADHAN_WRONG_STREAM].value,
            pair[GEODEC_VARADHAN_NOISE].value, v->cosine[0][0][GEODEC_VARADHAN_LOG].value,
            v->cosine[0][0][GEODEC_VARADHAN_EUCLID].value, (long long)v->counted[2][GEODEC_VARADHAN_LOG],
            (long long)v->queries, v->planted_cosine.value);
    }
}

static geodec_status run(const cli *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_artifact *out = NULL;
    geodec_provenance p = cli_provenance(c);
    state s = {.split = geodec_harness_split_defaults(), .o = geodec_varadhan_defaults()};
    int32_t list[MAX_LAYERS], n_list = 0;
    s.charts = (charts){
        .c = c, .split = &s.split, .dim = dim, .points = points, .blend = blend, .ridge = ridge, .sigma_nn = sigma_nn};
    s.split.sites = points;
    s.split.seed = s.o.seed = c->seed;
    s.o.planted = planted;
    if (!*model_path) GEODEC_THROW(GEODEC_INVAL, "--model is wanted: whose attention?");
    GEODEC_TRY(cli_may_write(c, output, err));
    GEODEC_TRY(charts_open(&s.charts, c->args[0], model_path, &p, err));
    s.columns = geodec_model_configuration(s.charts.source.model)->n_head + 1;
    const bool none = strcmp(layers, "none") == 0, all = strcmp(layers, "all") == 0;
    if (none && c->n_args < 2) GEODEC_THROW(GEODEC_INVAL, "--layers none wants a METRIC.h5");
    if (!none) GEODEC_TRY(parse_layers(layers, (int32_t)s.charts.n_layer, list, &n_list, err));
    for (int32_t i = 0; i < n_list; i++) {
        int64_t index;
        if (all && list[i] == s.charts.n_layer) continue;
        if (list[i] == s.charts.n_layer && strcmp(layers, "sink") == 0)
            GEODEC_THROW(GEODEC_SCARCE, "%lld block; attention after the sink layer needs at least 2",
                         (long long)s.charts.n_layer);
        if (list[i] == s.charts.n_layer)
            GEODEC_THROW(GEODEC_RANGE, "layer %d: no block attends after the last", list[i]);
        GEODEC_TRY(geodec_activations_find_layer(&s.charts.view, list[i], &index, err));
        GEODEC_TRY_MSG(charts_fitted(&s.charts, index, evaluate, &s, err), "layer %d", list[i]);
    }
    for (int i = 1; i < c->n_args; i++) GEODEC_TRY(charts_file(&s.charts, c->args[i], &p, evaluate, &s, err));
    GEODEC_TRY(geodec_artifact_create(&geodec_varadhan_kind, output, &p, &out, err));
    GEODEC_TRY(geodec_varadhan_write(s.n_cases, s.cases, s.columns, &s.o, geodec_split_name(s.charts.units.by_document),
                                     out, err));
    st = geodec_artifact_commit(out, err);
    out = NULL;
    GEODEC_TRY(st);
    summarise(&s);
done:
    for (int64_t i = 0; i < s.n_cases; i++) geodec_varadhan_clear(&s.cases[i].figures);
    geodec_artifact_close(out);
    charts_close(&s.charts);
    return st;
}

int main(int argc, char **argv) { return cli_main(argc, argv, &tool, run); }
