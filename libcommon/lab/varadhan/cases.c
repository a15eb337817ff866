#include "lab/varadhan/cases.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "lab/harness/names.h"
#include "lab/varadhan/attention_gradient.h"

#include <math.h>
#include <string.h>

typedef struct report {
    geodec_varadhan_options o;
    int64_t n_cases, heads;
    const geodec_varadhan_case *c; /* [n_cases] */
    double *head;                  /* [n_cases][heads][FORMS][DIRECTIONS] */
    const char *cases, *split;
    bool planted; /* o.kernel */
} report;
#define IN(m) GEODEC_IN(report, m)
#define OF(m) GEODEC_OF_ROW(geodec_varadhan_case, m)

static const geodec_field fields[] = {
    {"/layer", GEODEC_I32, "C", 0, "1", "layer of the states: input of the block whose attention is examined", 0,
     OF(layer)},
    {"/queries", GEODEC_I64, "C", 0, "1", "rows of held-out texts whose gradients are taken", 0, OF(figures.queries)},
    {"/texts", GEODEC_I64, "C", 0, "1", "texts they are from: the groups of the bootstrap", 0, OF(figures.texts)},
    {"/counted", GEODEC_I64, "C,F,D", 0, "1", "queries that have the direction", 0, OF(figures.counted[0][0])},
    {"/cosine", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "mean cosine of gradient and direction: every head by itself, all heads together; value and 95 % bootstrap "
     "interval over texts (0 where counted is 0)",
     0, OF(figures.cosine[0][0][0].value)},
    {"/excess", GEODEC_F64, "C,2,F,D,3", 0, "1",
     "the same for the cosine of log minus that of the direction, at queries that have both", 0,
     OF(figures.excess[0][0][0].value)},
    {"/head", GEODEC_F64, "C,H,F,D", 0, "1", "mean cosine of each head", 0, GEODEC_AT(report, head)},
    {"/inside", GEODEC_F64, "C,F", 0, "1",
     "mean share of the gradient's squared length in the chart, all heads together", 0, OF(inside[0])},
    {"/weight", GEODEC_F64, "C", 0, "1", "mean attention weight of the key, all heads together", 0, OF(weight)},
    {"/planted", GEODEC_I64, "C", 0, "1", "control: queries with a planted gradient, of -d(x, a)^2 / 2", 0,
     OF(figures.planted)},
    {"/planted_cosine", GEODEC_F64, "C,3", 0, "1", "control: its mean cosine with log; 1 where it is right", 0,
     OF(figures.planted_cosine.value)},
};

static const geodec_attr attrs[] = {
    {"cases", GEODEC_ATTR_STR, 0, "name of each case: metric, layer, keys, joined by ':' and separated by commas",
     IN(cases)},
    {"forms", GEODEC_ATTR_STR, 0, "names along F, separated by commas", GEODEC_TEXT("weight,score,pair")},
    {"directions", GEODEC_ATTR_STR, 0, "names along D, separated by commas", GEODEC_LIST(geodec_varadhan_names)},
    {"rtol", GEODEC_ATTR_F64, 0, "of the geodesics", IN(o.rtol)},
    {"drift_max", GEODEC_ATTR_F64, 0, "relative change of g(v,v) at which a geodesic counts as broken",
     IN(o.drift_max)},
    {"replicates", GEODEC_ATTR_I64, 0, "of the bootstrap", IN(o.replicates)},
    {"kernel", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "positive control: this share of every gradient is that of a heat kernel, the rest is random", IN(o.kernel),
     GEODEC_WHEN(report, planted)},
    {"split", GEODEC_ATTR_STR, GEODEC_FIELD_OPTIONAL,
     "what was held out: document, or block (contiguous, with gaps; too few documents)", IN(split)},
};

static const geodec_extent extents[] = {{"C", IN(n_cases)},
                                        {"H", IN(heads)},
                                        {"F", .plus = GEODEC_VARADHAN_FORMS},
                                        {"D", .plus = GEODEC_VARADHAN_DIRECTIONS}};

const geodec_kind geodec_varadhan_kind = {
    GEODEC_ABOUT("varadhan", 1, 2, "geodec-varadhan",
                 "gradients of attention weights compared with logarithm maps towards the keys, with controls"),
    GEODEC_TABLES(fields, attrs, extents),
    .rows = {"C", sizeof(geodec_varadhan_case), offsetof(report, c), false},
};

/* ---- queries and their gradients --------------------------------------------------------------------------------- */

enum { KEYS = GEODEC_VARADHAN_KEYS, FORMS = GEODEC_VARADHAN_FORMS, FIRST = 1 /* position of a key */ };

/* The queries of a layer: rows of the file; their keys are rows of the text. */
typedef struct picked {
    int64_t count;
    int64_t *row;
    geodec_attention_query *query;
} picked;

/* Number of rows before `row` that it attends to and that may be keys; the first is *from. Position 0 is the same
 * state in every text. */
static int64_t visible(const geodec_varadhan_cases *s, int32_t layer, int64_t row, int64_t *from)
{
    const geodec_model_config *c = geodec_model_configuration(s->charts.source.model);
    const int32_t *position = s->charts.source.position;
    const bool slides = c->window > 0 && !(c->window_period > 0 && layer % c->window_period == c->window_period - 1);
    int64_t first = row - position[row] + FIRST;
    if (slides && row - c->window + 1 > first) first = row - c->window + 1;
    *from = first;
    return row - first;
}

/* Whether the text up to the row is in the file without gaps. */
static bool whole(const geodec_varadhan_cases *s, int64_t row)
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

static geodec_status pick(const geodec_varadhan_cases *s, const geodec_harness_charted *c, int32_t layer, bool near,
                          picked *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = &s->charts.source;
    int64_t *row = NULL, count = 0, from;
    GEODEC_NEW(row, f->view.rows);
    for (int64_t i = 0; i < f->view.rows; i++)
        if (f->position[i] > FIRST && geodec_harness_split_on(&s->split, f->text[i], true) && whole(s, i) &&
            visible(s, layer, i, &from) >= KEYS)
            row[count++] = i;
    if (count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld states of held-out texts have %d keys; at least 2 are needed",
                     (long long)count, (int)KEYS);
    geodec_harness_thin(row, &count, s->n_queries,
                        geodec_rng_stream(s->o.seed, geodec_rng_id("varadhan queries", (uint64_t)layer)));
    GEODEC_NEW(out->query, count);
    out->count = count;
    GEODEC_MOVE(out->row, row);
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

/* Evaluates the model, text by text. With planted gradients it is not asked. */
static geodec_status evaluate(const geodec_varadhan_cases *s, const geodec_harness_charted *c, int32_t layer,
                              const picked *p, geodec_varadhan_asked *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = &s->charts.source;
    const int64_t n = c->n, H = g->columns;
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
        GEODEC_TRY(geodec_hooks_progress(s->charts.hooks, "attention", i, p->count, err));
        if (s->o.kernel < 0)
            GEODEC_TRY_MSG(geodec_attention_gradient(f->reference, layer, f->token + first,
                                                     p->query[i + count - 1].row + 1, count, p->query + i, n, c->basis,
                                                     &out, err),
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

geodec_status geodec_varadhan_ask(const geodec_varadhan_cases *s, const geodec_harness_charted *c, int32_t layer,
                                  bool near, geodec_varadhan_asked *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    picked p = {0};
    geodec_varadhan_asked g = {.columns = s->columns};
    GEODEC_TRY(pick(s, c, layer, near, &p, err));
    g.count = p.count;
    GEODEC_TRY(evaluate(s, c, layer, &p, &g, err));
    GEODEC_MOVE(*out, g);
done:
    geodec_varadhan_asked_clear(&g);
    GEODEC_FREE(p.row, p.query);
    return st;
}

void geodec_varadhan_asked_clear(geodec_varadhan_asked *g)
{
    GEODEC_FREE(g->gradient, g->inside, g->along, g->weight, g->state, g->text);
}

static geodec_status one_case(geodec_varadhan_cases *s, const geodec_harness_charted *c, int32_t layer,
                              const geodec_harness_sites *f, const char *metric, bool near, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_varadhan_asked g = {0};
    if (s->n_cases == GEODEC_VARADHAN_CASES)
        GEODEC_THROW(GEODEC_LIMIT, "more than %d cases", (int)GEODEC_VARADHAN_CASES);
    geodec_varadhan_case *k = s->cases + s->n_cases;
    *k = (geodec_varadhan_case){.metric = metric, .keys = near ? "near" : "any", .layer = layer};
    GEODEC_TRY(geodec_varadhan_ask(s, c, layer, near, &g, err));
    const geodec_varadhan_queries q = {.queries = g.count,
                                       .n = c->n,
                                       .columns = s->columns,
                                       .text = g.text,
                                       .state = g.state,
                                       .gradient = g.gradient,
                                       .along = g.along};
    GEODEC_TRY(geodec_varadhan_run(&q, f, &s->split, &s->o, s->charts.pool, s->charts.hooks, &k->figures, err));
    s->n_cases++;
    for (int64_t i = 0; i < g.count; i++) {
        const int64_t together = i * s->columns + s->columns - 1;
        for (int form = 0; form < FORMS; form++) k->inside[form] += g.inside[together * FORMS + form] / (double)g.count;
        k->weight += g.weight[together] / (double)g.count;
    }
done:
    geodec_varadhan_asked_clear(&g);
    return st;
}

geodec_status geodec_varadhan_cases_add(void *ctx, const geodec_harness_charted *c, int64_t index,
                                        const geodec_harness_sites *f, const char *metric, geodec_err *err)
{
    geodec_varadhan_cases *s = ctx;
    const int32_t layer = s->charts.layer[index];
    if (layer >= s->charts.n_layer && s->o.kernel < 0)
        GEODEC_FAIL(GEODEC_RANGE, "layer %d: no block attends after the last", layer);
    if (s->any) GEODEC_PASS(one_case(s, c, layer, f, metric, false, err));
    if (s->near) GEODEC_PASS(one_case(s, c, layer, f, metric, true, err));
    return GEODEC_OK;
}

void geodec_varadhan_cases_say(const geodec_hooks *hooks, const geodec_varadhan_cases *s)
{
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_varadhan_case *k = s->cases + i;
        const geodec_varadhan *v = &k->figures;
        const geodec_estimate *pair = v->cosine[0][2], x = v->excess[0][2][GEODEC_VARADHAN_EUCLID];
        geodec_hooks_log(
            hooks, GEODEC_LOG_INFO,
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

geodec_status geodec_varadhan_cases_write(const geodec_varadhan_cases *s, geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char text[GEODEC_ATTR_TEXT_MAX] = "";
    const int64_t each = (s->columns - 1) * GEODEC_VARADHAN_FORMS * GEODEC_VARADHAN_DIRECTIONS;
    report r = {s->o,
                s->n_cases,
                s->columns - 1,
                s->cases,
                NULL,
                text,
                geodec_split_name(s->charts.units.by_document),
                s->o.kernel >= 0};
    GEODEC_NEW(r.head, s->n_cases * each);
    for (int64_t i = 0; i < s->n_cases; i++) {
        const geodec_varadhan_case *c = s->cases + i;
        if (each > 0) memcpy(r.head + i * each, c->figures.head, (size_t)each * sizeof *r.head);
        GEODEC_TRY(geodec_names_add(text, err, "%s:%d:%s", c->metric, (int)c->layer, c->keys));
    }
    GEODEC_TRY(geodec_artifact_save(a, &r, err));
done:
    geodec_mem_free(r.head);
    return st;
}
