#include "decode/export.h"

#include "base/f16.h"
#include "base/mem.h"
#include "geometry/activations.h"

#include <string.h>

enum { CHUNK = 64 };

/* One window and what the model computed on it. */
typedef struct window {
    int32_t n, capacity;
    int64_t sequence;
    int32_t *token, *next, *position, *argmax, *top_index, *sequence_column;
    float *top_logit, *logits, *state; /* state [n][L][d] */
    uint16_t *state_half;
    geodec_session *session;
    float *capture, *rows; /* [L][CHUNK][d], [CHUNK][V] */
    geodec_status status;
    geodec_err error;
} window;

typedef struct job {
    const geodec_export_options *o;
    const geodec_model_config *c;
    window *w;
} job;

static void window_clear(window *w)
{
    geodec_mem_free(w->token);
    geodec_mem_free(w->next);
    geodec_mem_free(w->position);
    geodec_mem_free(w->argmax);
    geodec_mem_free(w->top_index);
    geodec_mem_free(w->sequence_column);
    geodec_mem_free(w->top_logit);
    geodec_mem_free(w->logits);
    geodec_mem_free(w->state);
    geodec_mem_free(w->state_half);
    geodec_mem_free(w->capture);
    geodec_mem_free(w->rows);
    geodec_session_destroy(w->session);
}

static geodec_status window_init(window *w, const geodec_model *m, const geodec_export_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int64_t n = o->window, width = (int64_t)o->n_layers * c->d_model;
    const geodec_session_options so = {.n_ctx = o->window, .max_batch = CHUNK};
    w->capacity = o->window;
    GEODEC_TRY(geodec_session_create(m, &so, &w->session, err));
    GEODEC_NEW(w->token, n);
    GEODEC_NEW(w->next, n);
    GEODEC_NEW(w->position, n);
    GEODEC_NEW(w->argmax, n);
    GEODEC_NEW(w->sequence_column, n);
    GEODEC_NEW(w->top_index, n * o->top_m);
    GEODEC_NEW(w->top_logit, n * o->top_m);
    GEODEC_NEW(w->state, n * width);
    GEODEC_NEW(w->state_half, o->half ? n * width : 0);
    GEODEC_NEW(w->logits, o->logits ? n * c->n_vocab : 0);
    GEODEC_NEW(w->capture, CHUNK * width);
    GEODEC_NEW(w->rows, (int64_t)CHUNK * c->n_vocab);
done:
    return st;
}

/* The m largest of x, falling, lowest id first on ties. */
static void best(const float *x, int32_t n, int32_t m, int32_t *id, float *value)
{
    int32_t have = 0;
    for (int32_t i = 0; i < n; i++) {
        if (have == m && !(x[i] > value[m - 1])) continue;
        int32_t at = have < m ? have++ : m - 1;
        for (; at > 0 && x[i] > value[at - 1]; at--) {
            value[at] = value[at - 1];
            id[at] = id[at - 1];
        }
        value[at] = x[i];
        id[at] = i;
    }
}

static void read_window(void *ctx, int64_t task, int worker)
{
    const job *j = ctx;
    window *w = &j->w[task];
    const geodec_export_options *o = j->o;
    const int64_t d = j->c->d_model, width = o->n_layers * d, vocab = j->c->n_vocab;
    (void)worker;
    geodec_session_truncate(w->session, 0);
    for (int32_t at = 0; at < w->n; at += CHUNK) {
        const int32_t n = w->n - at < CHUNK ? w->n - at : CHUNK;
        const geodec_batch b = {.n = n, .token = w->token + at};
        const geodec_capture capture = {o->n_layers, o->layer, w->capture};
        w->status = geodec_forward(w->session, &b, w->rows, &capture, &w->error);
        if (w->status != GEODEC_OK) return;
        for (int32_t i = 0; i < n; i++) {
            const float *row = w->rows + i * vocab;
            for (int32_t l = 0; l < o->n_layers; l++)
                memcpy(w->state + (at + i) * width + l * d, w->capture + ((int64_t)l * n + i) * d,
                       (size_t)d * sizeof(float));
            w->argmax[at + i] = geodec_argmax(row, vocab);
            best(row, (int32_t)vocab, o->top_m, w->top_index + (int64_t)(at + i) * o->top_m,
                 w->top_logit + (int64_t)(at + i) * o->top_m);
            if (o->logits) memcpy(w->logits + (at + i) * vocab, row, (size_t)vocab * sizeof(float));
        }
    }
    if (o->half)
        for (int64_t i = 0; i < w->n * width; i++) w->state_half[i] = geodec_f32_to_f16(w->state[i]);
}

static geodec_status append_window(geodec_artifact *a, const geodec_export_options *o, window *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (int32_t i = 0; i < w->n; i++) {
        w->position[i] = i;
        w->sequence_column[i] = (int32_t)w->sequence;
    }
    if (o->half)
        GEODEC_TRY(geodec_artifact_append(a, "/state_f16", w->n, w->state_half, err));
    else
        GEODEC_TRY(geodec_artifact_append(a, "/state", w->n, w->state, err));
    GEODEC_TRY(geodec_artifact_append(a, "/token", w->n, w->token, err));
    GEODEC_TRY(geodec_artifact_append(a, "/position", w->n, w->position, err));
    GEODEC_TRY(geodec_artifact_append(a, "/sequence", w->n, w->sequence_column, err));
    GEODEC_TRY(geodec_artifact_append(a, "/next_token", w->n, w->next, err));
    GEODEC_TRY(geodec_artifact_append(a, "/argmax", w->n, w->argmax, err));
    GEODEC_TRY(geodec_artifact_append(a, "/top_index", w->n, w->top_index, err));
    GEODEC_TRY(geodec_artifact_append(a, "/top_logit", w->n, w->top_logit, err));
    if (o->logits) GEODEC_TRY(geodec_artifact_append(a, "/logits", w->n, w->logits, err));
done:
    return st;
}

static geodec_status check_options(const geodec_model_config *c, const geodec_export_options *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (o->n_layers < 1) GEODEC_THROW(GEODEC_RANGE, "no layer asked for");
    for (int32_t i = 0; i < o->n_layers; i++) {
        if (o->layer[i] < 0 || o->layer[i] > c->n_layer)
            GEODEC_THROW(GEODEC_RANGE, "layer %d is outside 0 to %d", o->layer[i], c->n_layer);
        if (i && o->layer[i] <= o->layer[i - 1]) GEODEC_THROW(GEODEC_RANGE, "layers must rise and differ");
    }
    if (o->window < 2) GEODEC_THROW(GEODEC_RANGE, "a window of %d rows is below 2", o->window);
    if (o->top_m < 1 || o->top_m > c->n_vocab || o->top_m > GEODEC_EXPORT_TOP_MAX)
        GEODEC_THROW(GEODEC_RANGE, "%d best logits are outside 1 to %d", o->top_m,
                     c->n_vocab < GEODEC_EXPORT_TOP_MAX ? c->n_vocab : GEODEC_EXPORT_TOP_MAX);
done:
    return st;
}

/* Cuts sequences into windows. A continued window gives BOS and the tokens that follow. */
typedef struct cutter {
    const geodec_export_source *source;
    const int32_t *token;
    int64_t n, at;
    int32_t bos;
    bool ended;
} cutter;

static geodec_status cut(cutter *k, window *w, int64_t max_rows, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    w->n = 0;
    while (!k->ended && k->at >= k->n) {
        GEODEC_TRY(k->source->next(k->source->ctx, &k->token, &k->n, err));
        k->at = 0;
        k->ended = k->n < 0;
    }
    if (k->ended || max_rows == 0) goto done;
    const int64_t room = max_rows > 0 && max_rows < w->capacity ? max_rows : w->capacity;
    if (k->at > 0 && k->bos >= 0 && room > 1) w->token[w->n++] = k->bos;
    while (w->n < room && k->at < k->n) w->token[w->n++] = k->token[k->at++];
    for (int32_t i = 0; i < w->n; i++) w->next[i] = i + 1 < w->n ? w->token[i + 1] : -1;
done:
    return st;
}

geodec_status geodec_export_run(const geodec_model *m, const geodec_export_options *o,
                                const geodec_export_source *source, geodec_artifact *out,
                                geodec_export_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    const int group = geodec_pool_threads(pool);
    window *w = NULL;
    geodec_export_summary sum = {0};
    cutter k = {.source = source, .bos = geodec_tokenizer_bos(geodec_model_tokenizer(m))};
    GEODEC_TRY(check_options(c, o, err));
    GEODEC_NEW(w, group);
    for (int i = 0; i < group; i++) GEODEC_TRY(window_init(&w[i], m, o, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "L", o->n_layers, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "d", c->d_model, err));
    GEODEC_TRY(geodec_artifact_set_dim(out, "M", o->top_m, err));
    if (o->logits) GEODEC_TRY(geodec_artifact_set_dim(out, "V", c->n_vocab, err));
    GEODEC_TRY(geodec_artifact_write(out, "/layer", o->layer, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "n_layer", c->n_layer, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "d_model", c->d_model, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "n_vocab", c->n_vocab, err));
    GEODEC_TRY(geodec_artifact_put_i64(out, "n_ctx", c->n_ctx, err));
    for (int n = group; n == group;) {
        int64_t planned = sum.rows;
        for (n = 0; n < group; n++) {
            GEODEC_TRY(cut(&k, &w[n], o->max_rows ? o->max_rows - planned : -1, err));
            if (w[n].n == 0) break;
            w[n].sequence = sum.sequences + n;
            planned += w[n].n;
        }
        job j = {o, c, w};
        geodec_pool_run_dynamic(pool, n, read_window, &j);
        for (int i = 0; i < n; i++) {
            if (w[i].status != GEODEC_OK) {
                if (err) *err = w[i].error;
                st = w[i].status;
                goto done;
            }
            GEODEC_TRY(append_window(out, o, &w[i], err));
            sum.rows += w[i].n;
        }
        sum.sequences += n;
        GEODEC_TRY(geodec_hooks_progress(hooks, "reading tokens", sum.rows, o->max_rows, err));
    }
    if (sum.rows == 0) GEODEC_THROW(GEODEC_FORMAT, "no tokens to read");
    if (summary) *summary = sum;
done:
    for (int i = 0; w && i < group; i++) window_clear(&w[i]);
    geodec_mem_free(w);
    return st;
}
