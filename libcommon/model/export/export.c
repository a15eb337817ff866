/* Export into an activations artifact, window by window. */
#include "export/export.h"

#include "base/mem.h"
#include "chain/activations.h"
#include "export/export_internal.h"
#include "session/arithmetic.h"
#include "session/streamed.h"

#include <stdio.h>
#include <string.h>

#define GROUP_WANTED ((int64_t)128 << 20) /* bytes of results waiting for the file */

enum { STREAMED = 16 /* windows of a group while experts stream: they may be read in one pass */ };

/* ---- options ---------------------------------------------------------------------------------------------------- */

geodec_status geodec__export_check(const geodec_model_config *c, const geodec_export_options *o, geodec_err *err)
{
    if (o->n_layers < 1) GEODEC_FAIL(GEODEC_RANGE, "no layer is selected");
    for (int32_t i = 0; i < o->n_layers; i++) {
        if (o->layer[i] < 0 || o->layer[i] > c->n_layer)
            GEODEC_FAIL(GEODEC_RANGE, "layer %d is outside 0 to %d", o->layer[i], c->n_layer);
        if (i && o->layer[i] <= o->layer[i - 1]) GEODEC_FAIL(GEODEC_RANGE, "layers must be in ascending order");
    }
    if (o->window < 2) GEODEC_FAIL(GEODEC_RANGE, "a window of %d rows is below 2", o->window);
    if (o->top_m < 0 || o->top_m > c->n_vocab || o->top_m > GEODEC_EXPORT_TOP_MAX)
        GEODEC_FAIL(GEODEC_RANGE, "%d best logits are outside 0 to %d", o->top_m,
                    c->n_vocab < GEODEC_EXPORT_TOP_MAX ? c->n_vocab : GEODEC_EXPORT_TOP_MAX);
    if (o->positions == GEODEC_EXPORT_EVERY && o->every < 1)
        GEODEC_FAIL(GEODEC_RANGE, "every %lld positions", (long long)o->every);
    if (o->positions == GEODEC_EXPORT_RANGE && (o->from < 0 || o->to <= o->from))
        GEODEC_FAIL(GEODEC_RANGE, "no position is in %lld:%lld", (long long)o->from, (long long)o->to);
    return GEODEC_OK;
}

const char *geodec_export_positions_text(const geodec_export_options *o, char *buf)
{
    const size_t n = GEODEC_EXPORT_POSITIONS_ROOM;
    if (o->positions == GEODEC_EXPORT_EVERY)
        (void)snprintf(buf, n, "every:%lld", (long long)o->every);
    else if (o->positions == GEODEC_EXPORT_RANGE)
        (void)snprintf(buf, n, "%lld:%lld", (long long)o->from, (long long)o->to);
    else
        (void)snprintf(buf, n, "%s", o->positions == GEODEC_EXPORT_LAST ? "last" : "all");
    return buf;
}

/* ---- the artifact ----------------------------------------------------------------------------------------------- */

/* Not by binding: no struct holds all rows; they are appended as windows are read. */
geodec_status geodec__export_artifact_begin(geodec_artifact *a, const geodec_model_config *c,
                                            const geodec_export_options *o, geodec_err *err)
{
    char positions[GEODEC_EXPORT_POSITIONS_ROOM];
    GEODEC_PASS(geodec_artifact_set_dim(a, "L", o->n_layers, err));
    GEODEC_PASS(geodec_artifact_set_dim(a, "d", c->d_model, err));
    if (o->top_m > 0) GEODEC_PASS(geodec_artifact_set_dim(a, "M", o->top_m, err));
    if (o->logits) GEODEC_PASS(geodec_artifact_set_dim(a, "V", c->n_vocab, err));
    if (c->n_expert > 0) {
        GEODEC_PASS(geodec_artifact_set_dim(a, "X", (int64_t)c->n_layer * c->n_expert_used, err));
        GEODEC_PASS(geodec_artifact_put_i64(a, "n_expert", c->n_expert, err));
        GEODEC_PASS(geodec_artifact_put_i64(a, "n_expert_used", c->n_expert_used, err));
    }
    GEODEC_PASS(geodec_artifact_write(a, "/layer", o->layer, err));
    GEODEC_PASS(geodec_artifact_put_i64(a, "n_layer", c->n_layer, err));
    GEODEC_PASS(geodec_artifact_put_i64(a, "d_model", c->d_model, err));
    GEODEC_PASS(geodec_artifact_put_i64(a, "n_vocab", c->n_vocab, err));
    GEODEC_PASS(geodec_artifact_put_i64(a, "n_ctx", c->n_ctx, err));
    GEODEC_PASS(geodec_artifact_put_i64(a, "window", o->window, err));
    GEODEC_PASS(geodec_artifact_put_str(a, "positions", geodec_export_positions_text(o, positions), err));
    GEODEC_PASS(geodec_artifact_put_str(a, "arithmetic", geodec_arithmetic_name(o->arithmetic), err));
    GEODEC_PASS(geodec_artifact_put_str(a, "kv", geodec_cache_kv_name(o->kv), err));
    if (o->separator != GEODEC_SEPARATOR_AUTO)
        GEODEC_PASS(geodec_artifact_put_str(a, "separator", geodec_documents_separator_name(o->separator), err));
    return GEODEC_OK;
}

geodec_status geodec__export_artifact_rows(geodec_artifact *a, const geodec_export_options *o, const geodec__rows *r,
                                           geodec_err *err)
{
    if (r->n == 0) return GEODEC_OK;
    if (o->half)
        GEODEC_PASS(geodec_artifact_append(a, "/state_f16", r->n, r->half, err));
    else
        GEODEC_PASS(geodec_artifact_append(a, "/state", r->n, r->state, err));
    for (int i = 0; i < r->n_columns; i++) {
        const geodec__column *k = &r->column[i];
        GEODEC_PASS(geodec_artifact_append(a, k->path, r->n, geodec__export_column_data(r, k), err));
    }
    return GEODEC_OK;
}

/* ---- reading and writing in parallel ---------------------------------------------------------------------------- */

/* Two sets of results: worker 0 writes one while the other is filled. Worker 0 is the caller's thread, and HDF5 is
 * called from one thread only. */
typedef struct job {
    const geodec_export_options *o;
    const geodec__plan *plan;
    geodec__reader *reader; /* [workers] */
    geodec__rows *rows;     /* [group] being filled */
    geodec_artifact *out;
    const geodec__rows *write; /* [n_write] to be written */
    int64_t n_write;
    geodec_status status; /* error of writing */
    geodec_err error;
} job;

static void write_waiting(job *j)
{
    for (int64_t i = 0; i < j->n_write && j->status == GEODEC_OK; i++)
        j->status = geodec__export_artifact_rows(j->out, j->o, &j->write[i], &j->error);
    j->n_write = 0;
}

static void window_task(void *ctx, int64_t task, int worker)
{
    job *j = ctx;
    geodec__reader *r = &j->reader[worker];
    if (worker == 0) write_waiting(j);
    if (r->status == GEODEC_OK)
        r->status = geodec__export_window_read(r, j->plan, &j->plan->span[task], &j->rows[task], NULL, NULL, &r->error);
}

/* Windows of a group, which are read before the results are written. */
static int group_of(int workers, bool streams, int64_t window_bytes)
{
    int group = workers;
    const int most = streams ? STREAMED : workers > 1 ? 4 * workers : 1;
    while (group < most && 4 * group * window_bytes <= GROUP_WANTED) group *= 2;
    return group;
}

geodec_status geodec_export_run(const geodec_model *m, const geodec_export_options *o,
                                const geodec_export_source *source, geodec_artifact *out,
                                geodec_export_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec__plan plan;
    geodec_export_summary sum = {0};
    geodec__rows *rows[2] = {NULL, NULL};
    job j = {.o = o, .plan = &plan, .out = out};
    int workers = 0, group = 0;
    geodec__export_plan_init(&plan, m, o, source);
    GEODEC_TRY(geodec__export_check(c, o, err));
    const int64_t window_bytes = o->window * geodec__export_row_bytes(c, o);
    workers = geodec__export_workers(m, o, pool, 2 * window_bytes);
    group = group_of(workers, geodec_streamed_is(m), window_bytes);
    GEODEC_NEW(j.reader, workers);
    for (int i = 0; i < workers; i++)
        GEODEC_TRY(geodec__export_reader_init(&j.reader[i], m, o, workers > 1 ? NULL : pool, err));
    for (int k = 0; k < 2; k++) GEODEC_NEW(rows[k], group);
    GEODEC_TRY(geodec__export_artifact_begin(out, c, o, err));
    for (int turn = 0;; turn ^= 1) {
        GEODEC_TRY(geodec__export_plan_next(&plan, group, INT64_MAX, err));
        j.rows = rows[turn];
        if (workers > 1)
            geodec_pool_run_dynamic(pool, plan.n, window_task, &j);
        else
            for (int64_t i = 0; i < plan.n; i++) window_task(&j, i, 0);
        write_waiting(&j); /* writes the last results; no window is left to read */
        GEODEC_TRY(geodec__export_reader_error(j.reader, workers, err));
        if (j.status != GEODEC_OK && err) *err = j.error;
        GEODEC_TRY(j.status);
        if (plan.n == 0) break;
        j.write = rows[turn];
        j.n_write = plan.n;
        GEODEC_TRY(geodec_hooks_progress(hooks, "reading tokens", plan.tokens, o->max_tokens, err));
    }
    GEODEC_TRY(geodec__export_plan_sum(&plan, &sum, err));
    if (summary) *summary = sum;
done:
    for (int i = 0; j.reader && i < workers; i++) geodec__export_reader_clear(&j.reader[i]);
    for (int k = 0; k < 2; k++) {
        for (int i = 0; rows[k] && i < group; i++) geodec__export_rows_clear(&rows[k][i]);
        geodec_mem_free(rows[k]);
    }
    geodec_mem_free(j.reader);
    geodec__export_plan_clear(&plan);
    return st;
}

geodec_status geodec_export_counts(geodec_artifact *out, const geodec_export_summary *summary, geodec_err *err)
{
    GEODEC_PASS(geodec_artifact_put_i64(out, "documents", summary->documents, err));
    GEODEC_PASS(geodec_artifact_put_i64(out, "tokens", summary->tokens, err));
    return GEODEC_OK;
}
