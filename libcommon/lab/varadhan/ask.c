#include "lab/varadhan/ask.h"

#include "base/mem.h"
#include "base/rng.h"
#include "lab/varadhan/attention_gradient.h"

#include <math.h>
#include <string.h>

enum { KEYS = GEODEC_VARADHAN_KEYS, FORMS = GEODEC_VARADHAN_FORMS, FIRST = 1 /* position of a key */ };

int64_t geodec_varadhan_columns(const geodec_model_states *s)
{
    return geodec_model_configuration(s->model)->n_head + 1;
}

/* The queries of a layer: row of the file, keys as rows of its text. */
typedef struct picked {
    int64_t count;
    int64_t *row;
    geodec_attention_query *query;
} picked;

/* Rows before `row` that it sees and that may be keys: from *from on. Position 0 is the same state in every text. */
static int64_t visible(const geodec_varadhan_source *s, int32_t layer, int64_t row, int64_t *from)
{
    const geodec_model_config *c = geodec_model_configuration(s->states->model);
    const int32_t *position = s->states->position;
    const bool slides = c->window > 0 && !(c->window_period > 0 && layer % c->window_period == c->window_period - 1);
    int64_t first = row - position[row] + FIRST;
    if (slides && row - c->window + 1 > first) first = row - c->window + 1;
    *from = first;
    return row - first;
}

/* The text up to the row is in the file without gaps. */
static bool whole(const geodec_varadhan_source *s, int64_t row)
{
    const int32_t *position = s->states->position, *sequence = s->states->sequence;
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

static geodec_status pick(const geodec_varadhan_source *s, const geodec_harness_charted *c, int32_t layer, bool near,
                          picked *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = s->states;
    int64_t *row = NULL, count = 0, from;
    GEODEC_NEW(row, f->view.rows);
    for (int64_t i = 0; i < f->view.rows; i++)
        if (f->position[i] > FIRST && geodec_harness_split_on(s->split, f->text[i], true) && whole(s, i) &&
            visible(s, layer, i, &from) >= KEYS)
            row[count++] = i;
    if (count < 2)
        GEODEC_THROW(GEODEC_SCARCE, "%lld states of held-out texts have %d keys; at least 2 are needed",
                     (long long)count, (int)KEYS);
    geodec_rng r = geodec_rng_stream(s->seed, geodec_rng_id("varadhan queries", (uint64_t)layer));
    const int64_t keep = s->queries < count ? s->queries : count;
    GEODEC_NEW_EACH(keep, out->row, out->query);
    for (int64_t i = 0; i < count && out->count < keep; i++) /* selection sampling, in their order */
        if (geodec_rng_uniform(&r) * (double)(count - i) < (double)(keep - out->count)) out->row[out->count++] = row[i];
    for (int64_t i = 0; i < out->count; i++) {
        geodec_rng key = geodec_rng_stream(s->seed, geodec_rng_id("varadhan keys", (uint64_t)out->row[i]));
        const int64_t seen = visible(s, layer, out->row[i], &from), first = out->row[i] - f->position[out->row[i]];
        pick_keys(c, out->row[i], from, seen, near, &key, &out->query[i]);
        out->query[i].row = (int32_t)(out->row[i] - first);
        for (int k = 0; k < KEYS; k++) out->query[i].key[k] -= (int32_t)first;
    }
done:
    geodec_mem_free(row);
    return st;
}

/* Asks the model, text by text. */
static geodec_status ask(const geodec_varadhan_source *s, const geodec_harness_charted *c, int32_t layer,
                         const picked *p, geodec_varadhan_asked *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_states *f = s->states;
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
        GEODEC_TRY(geodec_hooks_progress(s->hooks, "attention", i, p->count, err));
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

geodec_status geodec_varadhan_ask(const geodec_varadhan_source *s, const geodec_harness_charted *c, int32_t layer,
                                  bool near, geodec_varadhan_asked *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    picked p = {0};
    geodec_varadhan_asked g = {.columns = geodec_varadhan_columns(s->states)};
    GEODEC_TRY(pick(s, c, layer, near, &p, err));
    g.count = p.count;
    GEODEC_TRY(ask(s, c, layer, &p, &g, err));
    GEODEC_MOVE(*out, g);
done:
    geodec_varadhan_asked_clear(&g);
    GEODEC_FREE(p.row, p.query);
    return st;
}

void geodec_varadhan_asked_clear(geodec_varadhan_asked *g)
{
    GEODEC_FREE(g->gradient, g->inside, g->along, g->weight, g->state, g->text);
    memset(g, 0, sizeof *g);
}
