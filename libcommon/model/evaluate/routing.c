#include "evaluate/routing.h"

#include "base/mem.h"
#include "evaluate/perplexity.h"
#include "io/tsv.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

enum { ROWS = 64 /* rows of a pass */ };

void geodec_routing_free(geodec_routing_profile *p)
{
    GEODEC_FREE(p->layer, p->count);
    *p = (geodec_routing_profile){0};
}

geodec_status geodec_routing_gini(int64_t n, const int64_t *count, double *gini, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, weighted = 0, sum = 0;
    GEODEC_NEW(x, n);
    for (int64_t i = 0; i < n; i++) x[i] = (double)count[i];
    geodec_stats_sort(n, x);
    for (int64_t i = 0; i < n; i++) {
        weighted += (double)(2 * i + 1 - n) * x[i];
        sum += x[i];
    }
    *gini = sum > 0 ? weighted / ((double)n * sum) : (double)NAN;
done:
    geodec_mem_free(x);
    return st;
}

typedef struct work {
    geodec_session *session;
    int32_t *before; /* [n_layer][k] experts of the token before */
    int64_t *repeat; /* [n_layer] */
    int64_t pairs;   /* tokens that have a token before them in their window */
} work;

static bool has(const int32_t *id, int32_t k, int32_t expert)
{
    for (int32_t j = 0; j < k; j++)
        if (id[j] == expert) return true;
    return false;
}

static void count_row(work *w, geodec_routing_profile *p, const int32_t *id, bool first)
{
    const int32_t k = p->n_expert_used;
    for (int32_t l = 0; l < p->n_layer; l++)
        for (int32_t j = 0; j < k; j++) {
            const int32_t expert = id[l * k + j];
            if (expert < 0) continue; /* a layer without experts */
            p->layer[l].routed = true;
            p->count[(int64_t)l * p->n_expert + expert]++;
            w->repeat[l] += !first && has(w->before + l * k, k, expert);
        }
    memcpy(w->before, id, (size_t)p->n_layer * (size_t)k * sizeof *id);
    w->pairs += !first;
    p->tokens++;
}

static geodec_status read_window(work *w, geodec_routing_profile *p, const int32_t *token, int32_t n, geodec_err *err)
{
    const int64_t choices = (int64_t)p->n_layer * p->n_expert_used;
    geodec_session_truncate(w->session, 0);
    for (int32_t at = 0; at < n; at += ROWS) {
        const int32_t rows = n - at < ROWS ? n - at : ROWS;
        GEODEC_PASS(geodec_forward(w->session, &(geodec_batch){.n = rows, .token = token + at}, NULL, NULL, err));
        const int32_t *id = geodec_session_expert_ids(w->session);
        for (int32_t r = 0; r < rows; r++) count_row(w, p, id + r * choices, at == 0 && r == 0);
    }
    return GEODEC_OK;
}

static geodec_status summarise(const work *w, geodec_routing_profile *p, geodec_err *err)
{
    const double total = (double)p->tokens * p->n_expert_used, n = p->n_expert, k = p->n_expert_used;
    p->random_gini = sqrt((n - k) / (acos(-1) * total));
    p->random_repeat = k / n;
    for (int32_t l = 0; l < p->n_layer; l++) {
        geodec_routing_layer *y = &p->layer[l];
        const int64_t *count = p->count + (int64_t)l * p->n_expert;
        if (!y->routed) continue;
        p->n_routed++;
        y->least = 1;
        for (int32_t e = 0; e < p->n_expert; e++) {
            const double load = (double)count[e] / total;
            y->least = fmin(y->least, load);
            y->most = fmax(y->most, load);
            y->unused += count[e] == 0;
            if (load > 0) y->entropy -= load * log2(load);
        }
        y->repeat = w->pairs ? (double)w->repeat[l] / ((double)w->pairs * k) : (double)NAN;
        GEODEC_PASS(geodec_routing_gini(p->n_expert, count, &y->gini, err));
    }
    return GEODEC_OK;
}

geodec_status geodec_routing_run(const geodec_scorer_evaluation *e, const geodec_routing_options *o, const char *text,
                                 size_t n, geodec_pool *pool, const geodec_hooks *hooks, geodec_routing_profile *out,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(e->model);
    const geodec_tokenizer *t = geodec_model_tokenizer(e->model);
    const int32_t bos = geodec_tokenizer_start(t);
    const geodec_perplexity_options cut = {.window = o->window, .max_windows = o->max_windows};
    const geodec_session_options so = {.n_ctx = o->window,
                                       .max_batch = ROWS,
                                       .isa = e->isa,
                                       .pool = pool,
                                       .arithmetic = e->arithmetic,
                                       .kv = e->kv,
                                       .attnres = e->attnres};
    geodec_routing_profile p = {.n_layer = c->n_layer, .n_expert = c->n_expert, .n_expert_used = c->n_expert_used};
    work w = {.session = NULL};
    int32_t *ids = NULL, *token = NULL;
    int64_t count = 0;
    if (!c->n_expert) GEODEC_THROW(GEODEC_UNSUPPORTED, "%s has no experts", geodec_model_name(e->model));
    if (e->float64) GEODEC_THROW(GEODEC_UNSUPPORTED, "routes in float64");
    if (o->window < 2 || o->max_windows < 0)
        GEODEC_THROW(GEODEC_RANGE, "windows of %d tokens, at most %lld of them", o->window, (long long)o->max_windows);
    GEODEC_TRY(geodec_scorer_tokens(t, text, n, false, &ids, &count, err));
    p.windows = geodec_perplexity_count(&cut, bos >= 0, count);
    if (p.windows < 1)
        GEODEC_THROW(count == 0 ? GEODEC_FORMAT : GEODEC_SCARCE, "%lld tokens; routes need at least %d",
                     (long long)count, bos >= 0 ? 1 : 2);
    GEODEC_TRY(geodec_session_create(e->model, &so, &w.session, err));
    GEODEC_NEW(w.before, (int64_t)p.n_layer * p.n_expert_used);
    GEODEC_NEW(w.repeat, p.n_layer);
    GEODEC_NEW(p.layer, p.n_layer);
    GEODEC_NEW(p.count, (int64_t)p.n_layer * p.n_expert);
    GEODEC_NEW(token, o->window);
    for (int64_t i = 0; i < p.windows; i++) {
        const geodec_perplexity_span s = geodec_perplexity_span_at(&cut, bos >= 0, count, i);
        if (s.bos) token[0] = bos;
        memcpy(token + s.bos, ids + s.first, (size_t)s.count * sizeof *token);
        GEODEC_TRY(geodec_hooks_progress(hooks, "reading windows", i, p.windows, err));
        GEODEC_TRY(read_window(&w, &p, token, (int32_t)s.count + s.bos, err));
    }
    GEODEC_TRY(summarise(&w, &p, err));
    GEODEC_MOVE(*out, p);
done:
    geodec_routing_free(&p);
    geodec_session_destroy(w.session);
    GEODEC_FREE(w.before, w.repeat, ids, token);
    return st;
}

static geodec_status put_row(geodec_tsv *t, const geodec_model *m, const geodec_routing_profile *p, const char *layer,
                             const geodec_routing_layer *y, geodec_err *err)
{
    geodec_tsv_str(t, geodec_model_name(m));
    geodec_tsv_str(t, layer);
    geodec_tsv_i64(t, p->tokens);
    geodec_tsv_f64(t, y->least);
    geodec_tsv_f64(t, y->most);
    geodec_tsv_i64(t, y->unused);
    geodec_tsv_f64(t, y->gini);
    geodec_tsv_f64(t, p->random_gini);
    geodec_tsv_f64(t, y->entropy);
    geodec_tsv_f64(t, y->repeat);
    geodec_tsv_f64(t, p->random_repeat);
    return geodec_tsv_end_row(t, err);
}

geodec_status geodec_routing_table(FILE *out, const geodec_model *m, const geodec_routing_profile *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    geodec_routing_layer mean = {0};
    GEODEC_TRY(geodec_tsv_on(out, &t, err));
    GEODEC_TRY(
        geodec_tsv_names(t, "model layer tokens least most unused gini random_gini entropy repeat random_repeat", err));
    for (int32_t l = 0; l < p->n_layer; l++) {
        const geodec_routing_layer *y = &p->layer[l];
        const double share = 1.0 / p->n_routed;
        char name[16];
        if (!y->routed) continue;
        (void)snprintf(name, sizeof name, "%d", l + 1);
        GEODEC_TRY(put_row(t, m, p, name, y, err));
        mean.least += y->least * share;
        mean.most += y->most * share;
        mean.unused += y->unused;
        mean.gini += y->gini * share;
        mean.entropy += y->entropy * share;
        mean.repeat += y->repeat * share;
    }
    GEODEC_TRY(put_row(t, m, p, "mean", &mean, err)); /* unused: of all layers */
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}

geodec_status geodec_routing_loads_table(const char *path, const geodec_model *m, const geodec_routing_profile *p,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_tsv *t = NULL;
    GEODEC_TRY(geodec_tsv_create(path, &t, err));
    GEODEC_TRY(geodec_tsv_names(t, "model layer expert choices load", err));
    for (int32_t l = 0; l < p->n_layer; l++)
        for (int32_t e = 0; p->layer[l].routed && e < p->n_expert; e++) {
            const int64_t choices = p->count[(int64_t)l * p->n_expert + e];
            geodec_tsv_str(t, geodec_model_name(m));
            geodec_tsv_i64(t, l + 1);
            geodec_tsv_i64(t, e);
            geodec_tsv_i64(t, choices);
            geodec_tsv_f64(t, (double)choices / ((double)p->tokens * p->n_expert_used));
            GEODEC_TRY(geodec_tsv_end_row(t, err));
        }
    GEODEC_TRY(geodec_tsv_finish(&t, err));
done:
    geodec_tsv_abandon(t);
    return st;
}
