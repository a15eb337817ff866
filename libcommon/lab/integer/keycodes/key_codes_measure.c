#include "base/mem.h"
#include "base/rng.h"
#include "lab/integer/keycodes/key_codes_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 64 };

/* Sums of a document: squared errors and norms of keys and values, divergences and their number. */
enum { K_ERROR, K_NORM, V_ERROR, V_NORM, KL, QUERIES, SUMS };

typedef struct measure {
    const geodec_key_codes_options *o;
    geodec_key_codes_rows *rows; /* of one document */
    int64_t cases, documents, capacity;
    geodec_key_codes_set **set; /* [cases] */
    double *sum;                /* [cases][SUMS][capacity] */
    float *decoded;             /* [vectors][window][dim] */
    double *p, *q;              /* [window] */
} measure;

/* Probabilities of n scores in place. */
static void softmax(int64_t n, double *s)
{
    double top = s[0], sum = 0;
    for (int64_t i = 1; i < n; i++) top = s[i] > top ? s[i] : top;
    for (int64_t i = 0; i < n; i++) sum += s[i] = exp(s[i] - top);
    for (int64_t i = 0; i < n; i++) s[i] /= sum;
}

static void scores(const geodec_model_config *c, int64_t n, const float *query, const float *key, int64_t step,
                   double *s)
{
    const double cap = (double)c->attn_softcap;
    for (int64_t u = 0; u < n; u++) {
        float sum = 0;
        for (int32_t i = 0; i < c->head_dim; i++) sum += query[i] * key[u * step + i];
        s[u] = cap > 0 ? cap * tanh((double)sum / cap) : (double)sum;
    }
    softmax(n, s);
}

/* Sum of KL(p || q) over the query heads and rows of a layer. */
static double divergence(const measure *m, int64_t layer)
{
    const geodec_key_codes_rows *r = m->rows;
    const geodec_model_config *c = geodec_model_configuration(r->model);
    const int64_t share = c->n_head / c->n_kv_head, width = (int64_t)c->n_head * c->head_dim;
    double sum = 0;
    for (int64_t h = 0; h < c->n_head; h++) {
        const int64_t vector = h / share / r->heads, within = h / share % r->heads * c->head_dim;
        const float *key = r->k[0] + geodec__key_codes_at(r, layer, vector) + within;
        const float *decoded = m->decoded + vector * r->capacity * r->dim + within;
        for (int64_t t = 0; t < r->n; t++) {
            const float *query = r->query + (layer * r->capacity + t) * width + h * c->head_dim;
            double kl = 0;
            scores(c, t + 1, query, key, r->dim, m->p);
            scores(c, t + 1, query, decoded, r->dim, m->q);
            for (int64_t u = 0; u <= t; u++)
                if (m->p[u] > 0) kl += m->p[u] * log(m->p[u] / (m->q[u] > 1e-300 ? m->q[u] : 1e-300));
            sum += kl > 0 ? kl : 0;
        }
    }
    return sum;
}

/* Turns decoded keys to their positions. */
static void turn(const measure *m, int64_t layer)
{
    const geodec_key_codes_rows *r = m->rows;
    float row[GEODEC_CODES_DIM_MAX * 64];
    for (int64_t t = 0; t < r->n; t++) {
        for (int64_t v = 0; v < r->vectors; v++)
            memcpy(row + v * r->dim, m->decoded + (v * r->capacity + t) * r->dim, (size_t)r->dim * sizeof *row);
        geodec_session_rewrite_turn(r->session, (int32_t)layer, t, false, row);
        for (int64_t v = 0; v < r->vectors; v++)
            memcpy(m->decoded + (v * r->capacity + t) * r->dim, row + v * r->dim, (size_t)r->dim * sizeof *row);
    }
}

/* Adds the squared error of n values to sum[0], their squares to sum[step]. */
static void add_error(int64_t n, const float *x, const float *y, double *sum, int64_t step)
{
    for (int64_t i = 0; i < n; i++) {
        const double d = (double)y[i] - (double)x[i];
        sum[0] += d * d;
        sum[step] += (double)x[i] * (double)x[i];
    }
}

static void one_case(measure *m, int64_t k)
{
    const geodec_key_codes_rows *r = m->rows;
    const geodec_key_codes_set *s = m->set[k];
    const int64_t n = r->n * r->dim, step = m->capacity;
    double *sum = m->sum + k * SUMS * step + m->documents;
    for (int64_t l = 0; l < r->layers; l++) {
        for (int side = 1; side >= 0; side--) /* values first: keys stay decoded */
            for (int64_t v = 0; v < r->vectors; v++) {
                const float *x = (side ? r->v : r->k[s->which.pre]) + geodec__key_codes_at(r, l, v);
                float *y = m->decoded + v * r->capacity * r->dim;
                memcpy(y, x, (size_t)n * sizeof *y);
                geodec__key_codes_pass((side ? s->v : s->k)[l * r->vectors + v], r->n, r->dim, y);
                add_error(n, x, y, sum + (side ? V_ERROR : K_ERROR) * step, step);
            }
        if (s->which.pre) turn(m, l);
        sum[KL * step] += divergence(m, l);
    }
    sum[QUERIES * step] = (double)(r->n * r->layers * geodec_model_configuration(r->model)->n_head);
}

/* ---- figures ---------------------------------------------------------------------------------------------------- */

static geodec_status estimates(const measure *m, int64_t k, geodec_key_codes_row *row, geodec_err *err)
{
    const double *sum = m->sum + k * SUMS * m->capacity;
    geodec_estimate *const to[] = {&row->k_error, &row->v_error, &row->kl};
    for (int i = 0; i < 3; i++) {
        GEODEC_PASS(geodec_stats_ratio(m->documents, sum + (int64_t)2 * i * m->capacity,
                                       sum + ((int64_t)2 * i + 1) * m->capacity, m->o->replicates, m->o->seed,
                                       geodec_rng_id("key_codes", 0), to[i], err));
        if (i == 2) continue;
        to[i]->value = sqrt(to[i]->value);
        to[i]->low = sqrt(to[i]->low);
        to[i]->high = sqrt(to[i]->high);
    }
    return GEODEC_OK;
}

static void sizes(const geodec_key_codes_set *s, geodec_key_codes_row *row)
{
    const geodec_codes_kind *k = geodec_codes_kind_of(s->k[0]), *v = geodec_codes_kind_of(s->v[0]);
    row->k_bytes = (double)geodec_codes_bytes(k, s->dim) / (double)(s->dim * geodec_codes_rows(k));
    row->v_bytes = (double)geodec_codes_bytes(v, s->dim) / (double)(s->dim * geodec_codes_rows(v));
    row->shared = 0;
    for (int64_t i = 0; i < s->layers * s->vectors; i++)
        row->shared += (double)(geodec_codes_shared(s->k[i]) + geodec_codes_shared(s->v[i]));
    row->nll[0] = row->nll[1] = row->perplexity = (double)NAN;
}

static geodec_status perplexities(const geodec_model *m, const char *text, size_t n, int64_t max_windows, measure *w,
                                  geodec_key_codes_report *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_perplexity_options o = {.window = w->o->window, .max_windows = max_windows};
    const geodec_scorer_evaluation p = {.model = m, .isa = w->o->isa};
    geodec_perplexity_result r = {0};
    for (int64_t k = 0; k < w->cases; k++) {
        geodec_scorer_evaluation q = p;
        q.rewrite = &w->set[k]->rewrite;
        GEODEC_TRY(geodec_perplexity_text(&p, &q, &o, text, n, &r, w->o->pool, w->o->hooks, err));
        out->scored = r.tokens;
        out->perplexity = r.perplexity;
        out->row[k].perplexity = r.against_perplexity;
        out->row[k].nll[0] = r.difference.mean;
        out->row[k].nll[1] = r.difference.se;
        geodec_perplexity_free(&r);
    }
done:
    geodec_perplexity_free(&r);
    return st;
}

static geodec_status join_names(const measure *m, char **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *text = NULL, one[NAME];
    GEODEC_NEW(text, m->cases * (NAME + 1));
    for (int64_t k = 0; k < m->cases; k++) {
        geodec_key_codes_name(&m->set[k]->which, one);
        if (k > 0) strcat(text, ",");
        strcat(text, one);
    }
    GEODEC_MOVE(*out, text);
done:
    geodec_mem_free(text);
    return st;
}

static geodec_status read_documents(measure *m, const geodec_key_codes_texts *t, geodec_key_codes_report *out,
                                    geodec_err *err)
{
    for (int64_t d = 0; d < t->n && out->rows < m->o->tokens; d++) {
        if (d % m->o->every == 0) continue;
        GEODEC_PASS(geodec_hooks_progress(m->o->hooks, "documents", out->rows, m->o->tokens, err));
        m->rows->n = 0;
        GEODEC_PASS(geodec__key_codes_read(m->rows, t->token + t->begin[d], t->begin[d + 1] - t->begin[d], err));
        if (m->rows->n == 0) continue;
        for (int64_t k = 0; k < m->cases; k++) one_case(m, k);
        out->rows += m->rows->n;
        m->documents++;
    }
    if (m->documents == 0) GEODEC_FAIL(GEODEC_SCARCE, "no document of %d tokens to measure", GEODEC__KEY_CODES_GROUP);
    out->documents = m->documents;
    return GEODEC_OK;
}

geodec_status geodec_key_codes_measure(const geodec_model *m, const geodec_key_codes_texts *t,
                                       const geodec_key_codes_case *cases, int64_t n, const char *held_out,
                                       size_t n_held_out, int64_t max_windows, const geodec_key_codes_options *o,
                                       geodec_key_codes_report *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_key_codes_rows *train = NULL;
    geodec_key_codes_report r = {.cases = n, .perplexity = (double)NAN};
    measure w = {.o = o, .cases = n, .capacity = t->n};
    const geodec_model_config *c = geodec_model_configuration(m);
    if (o->every < 2) GEODEC_THROW(GEODEC_RANGE, "no document is left to measure");
    if (c->n_kv_head > 64) GEODEC_THROW(GEODEC_UNSUPPORTED, "codes of more than 64 key heads");
    GEODEC_NEW(w.set, n);
    GEODEC_NEW(r.row, n);
    GEODEC_TRY(geodec_key_codes_capture(m, t, o, &train, err));
    for (int64_t k = 0; k < n; k++) {
        GEODEC_TRY(geodec_hooks_progress(o->hooks, "codes", k, n, err));
        GEODEC_TRY(geodec_key_codes_fit(train, &cases[k], &w.set[k], err));
        sizes(w.set[k], &r.row[k]);
    }
    r.calibration = train->n;
    geodec_key_codes_release(train);
    train = NULL;
    GEODEC_TRY(geodec__key_codes_begin(m, o, o->window, true, &w.rows, err));
    r.dim = w.rows->dim;
    r.values = 2 * w.rows->layers * w.rows->vectors * w.rows->dim;
    GEODEC_NEW(w.sum, n * SUMS * w.capacity);
    GEODEC_NEW(w.decoded, w.rows->vectors * w.rows->capacity * w.rows->dim);
    GEODEC_NEW_EACH(w.rows->capacity, w.p, w.q);
    GEODEC_TRY(read_documents(&w, t, &r, err));
    for (int64_t k = 0; k < n; k++) GEODEC_TRY(estimates(&w, k, &r.row[k], err));
    GEODEC_TRY(join_names(&w, &r.names, err));
    if (held_out) GEODEC_TRY(perplexities(m, held_out, n_held_out, max_windows, &w, &r, err));
    GEODEC_MOVE(*out, r);
done:
    for (int64_t k = 0; w.set && k < n; k++) geodec_key_codes_unfit(w.set[k]);
    geodec_key_codes_release(train);
    geodec_key_codes_release(w.rows);
    GEODEC_FREE(w.set, w.sum, w.decoded, w.p, w.q);
    geodec_key_codes_clear(&r);
    return st;
}
