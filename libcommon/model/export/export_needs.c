#include "export/export_needs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pilot.h"
#include "chain/activations.h"
#include "export/export_internal.h"
#include "session/streamed.h"

#include <stdio.h>

enum { WINDOWS = 64 /* of the pilot, at most */ };

typedef struct trial {
    geodec__plan plan;
    geodec__reader *reader; /* [workers] */
    geodec__rows *rows;     /* [workers] */
    int workers;
    geodec_pool *pool;
} trial;

static void window(void *ctx, int64_t task, int worker)
{
    trial *t = ctx;
    geodec__reader *r = &t->reader[worker];
    if (r->status == GEODEC_OK)
        r->status =
            geodec__export_window_read(r, &t->plan, &t->plan.span[task], &t->rows[worker], NULL, NULL, &r->error);
}

/* The first `items` windows, in groups as the export reads them. */
static geodec_status windows(void *ctx, int64_t items, geodec_err *err)
{
    trial *t = ctx;
    for (int i = 0; i < t->workers; i++) t->reader[i].n_held = 0; /* every trial reads all of them */
    if (t->workers > 1)
        geodec_pool_run_dynamic(t->pool, items, window, t);
    else
        for (int64_t i = 0; i < items; i++) window(t, i, 0);
    return geodec__export_reader_error(t->reader, t->workers, err);
}

/* Names of the optional fields. */
static void optional_fields(const geodec_model_config *c, const geodec_export_options *o, char text[128])
{
    (void)snprintf(text, 128, "/document %s%s%s%s", o->half ? "/state_f16" : "/state",
                   o->top_m > 0 ? " /argmax /top_index /top_logit" : "", c->n_expert > 0 ? " /expert" : "",
                   o->logits ? " /logits" : "");
}

/* Sessions and buffers as geodec_export_run makes them. */
static geodec_status open_readers(trial *t, const geodec_model *m, const geodec_export_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int64_t bytes = o->window * geodec__export_row_bytes(c, o);
    t->workers = geodec__export_workers(m, o, t->pool, 2 * bytes);
    GEODEC_NEW(t->reader, t->workers);
    for (int i = 0; i < t->workers; i++)
        GEODEC_TRY(geodec__export_reader_init(&t->reader[i], m, o, t->workers > 1 ? NULL : t->pool, err));
    GEODEC_NEW(t->rows, t->workers);
done:
    return st;
}

geodec_status geodec_export_needs(const geodec_model *m, const geodec_export_options *o,
                                  const geodec_export_source *source, double tokens, int ranks, double budget,
                                  geodec_pool *pool, geodec_needs *needs, geodec_size *size, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    trial t = {.pool = pool};
    geodec_pilot pilot;
    char optional[128];
    geodec__export_plan_init(&t.plan, m, o, source);
    GEODEC_TRY(geodec__export_check(c, o, err));
    double begin = geodec_clock_process_seconds();
    GEODEC_TRY(open_readers(&t, m, o, err));
    const double opened = geodec_clock_process_seconds() - begin;
    begin = geodec_clock_process_seconds();
    GEODEC_TRY(geodec__export_plan_next(&t.plan, WINDOWS, INT64_MAX, err));
    const double tokenized = geodec_clock_process_seconds() - begin;
    if (t.plan.n == 0) GEODEC_THROW(GEODEC_FORMAT, "no tokens to read");
    const double read = (double)t.plan.n_token, rows = (double)t.plan.n_rows;
    GEODEC_TRY(
        geodec_pilot_run(windows, &t, t.plan.n < t.workers ? t.plan.n : t.workers, t.plan.n, budget, &pilot, err));
    int64_t done = 0;
    for (int64_t i = 0; i < pilot.items; i++) done += t.plan.span[i].n;
    const double token = (pilot.item * (double)pilot.items + pilot.fixed) / (double)done;
    if (o->max_tokens > 0 && (double)o->max_tokens < tokens) tokens = (double)o->max_tokens;
    if (t.plan.n < WINDOWS) tokens = read; /* the whole input */
    const int64_t kept = (int64_t)(tokens * rows / read + 0.5);
    const geodec_size_dim dims[] = {{"R", kept},     {"L", o->n_layers}, {"d", c->d_model},
                                    {"M", o->top_m}, {"V", c->n_vocab},  {"X", (int64_t)c->n_layer * c->n_expert_used}};
    optional_fields(c, o, optional);
    GEODEC_TRY(geodec_size_of(&geodec_activations_kind, 6, dims, optional, size, err));
    geodec_needs_size(needs, "tokens", tokens);
    geodec_needs_size(needs, "rows", (double)kept);
    geodec_needs_size(needs, "layers", o->n_layers);
    geodec_needs_size(needs, "width", c->d_model);
    geodec_needs_size(needs, "sessions", t.workers);
    geodec_needs_size(needs, "ranks", ranks);
    geodec_needs_size(needs, "pilot_tokens", (double)done);
    geodec_needs_time(needs, "sessions", opened, 0);
    geodec_needs_time(needs, "tokenization", tokenized / read * tokens, 0);
    geodec_needs_time(needs, "passes", 0, token * tokens / ranks);
done:
    for (int i = 0; t.reader && i < t.workers; i++) geodec__export_reader_clear(&t.reader[i]);
    for (int i = 0; t.rows && i < t.workers; i++) geodec__export_rows_clear(&t.rows[i]);
    GEODEC_FREE(t.reader, t.rows);
    geodec__export_plan_clear(&t.plan);
    return st;
}
