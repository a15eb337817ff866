#include "model/internal.h"

#include <math.h>
#include <string.h>

/* ---- checks ----------------------------------------------------------------------------------------------------- */

static geodec_status check_batch(const geodec_session *s, const geodec_batch *b, const geodec_capture *capture,
                                 geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    if (b->n < 1 || b->n > s->max_batch)
        GEODEC_THROW(GEODEC_LIMIT, "a batch of %d rows; this session takes 1 to %d", b->n, s->max_batch);
    if (b->n > s->n_ctx - s->length)
        GEODEC_THROW(GEODEC_LIMIT, "context full: %d tokens and %d more do not fit in %d", s->length, b->n, s->n_ctx);
    for (int32_t i = 0; i < b->n; i++) {
        if (b->token[i] < 0 || b->token[i] >= c->n_vocab)
            GEODEC_THROW(GEODEC_RANGE, "token %d of the batch is %d; the vocabulary has %d", i, b->token[i],
                         c->n_vocab);
        if (b->parent && (b->parent[i] < -1 || b->parent[i] >= i))
            GEODEC_THROW(GEODEC_RANGE, "row %d has parent %d; -1 to %d are possible", i, b->parent[i], i - 1);
    }
    for (int32_t i = 0; capture && i < capture->n_layers; i++)
        if (capture->layer[i] < 0 || capture->layer[i] > c->n_layer)
            GEODEC_THROW(GEODEC_RANGE, "layer %d cannot be captured; 0 to %d can", capture->layer[i], c->n_layer);
done:
    return st;
}

/* ---- pieces of a layer ------------------------------------------------------------------------------------------ */

/* y = x / rms(x) * w; the sum of squares in double, eight partial sums in fixed order. */
static void rms_norm(const float *x, const float *w, int64_t n, float eps, float *y)
{
    double sum[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) sum[l] += (double)x[i + l] * (double)x[i + l];
    for (int l = 0; i < n; i++, l++) sum[l] += (double)x[i] * (double)x[i];
    const double total = ((sum[0] + sum[4]) + (sum[2] + sum[6])) + ((sum[1] + sum[5]) + (sum[3] + sum[7]));
    const float scale = (float)(1.0 / sqrt(total / (double)n + (double)eps));
    for (i = 0; i < n; i++) y[i] = x[i] * scale * w[i];
}

static void norm_rows(geodec_session *s, const float *weight, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    for (int64_t r = 0; r < n; r++) {
        rms_norm(s->x_row[r], weight, c->d_model, c->rms_eps, s->norm_row[r]);
        s->input[r] = s->norm_row[r];
    }
}

/* A bias on every row; NULL: none. */
static void add_bias(float *const *y, const float *bias, int64_t width, int64_t n)
{
    for (int64_t r = 0; bias && r < n; r++)
        for (int64_t i = 0; i < width; i++) y[r][i] += bias[i];
}

/* RMS norm of query or key: of each head, or of the whole width; NULL: none. */
static void norm_heads(const geodec_model_config *c, float *const *y, const float *weight, int32_t heads, int64_t n)
{
    const int64_t width = (int64_t)heads * c->head_dim, part = c->qk_norm_whole ? width : c->head_dim;
    for (int64_t r = 0; weight && r < n; r++)
        for (int64_t i = 0; i < width; i += part) rms_norm(y[r] + i, weight, part, c->rms_eps, y[r] + i);
}

/* Adds a block's output to the residual stream, normalised before where the architecture has such a norm. */
static void add_rows(geodec_session *s, float *const *y, const float *post_norm, int64_t n)
{
    const geodec_model_config *c = &s->model->config;
    for (int64_t r = 0; r < n; r++) {
        if (post_norm) rms_norm(y[r], post_norm, c->d_model, c->rms_eps, y[r]);
        for (int64_t i = 0; i < c->d_model; i++) s->x_row[r][i] += y[r][i];
    }
}

static void run_layer(geodec_session *s, int32_t index, int64_t n, bool chain)
{
    const geodec__layer *l = &s->model->layer[index];
    const geodec_model_config *c = &s->model->config;
    norm_rows(s, l->attn_norm, n);
    s->job[0] = (geodec__job){.w = l->q, .x = s->input, .y = s->query_row, .n = n};
    s->job[1] = (geodec__job){.w = l->k, .x = s->input, .y = s->key_row, .n = n};
    s->job[2] = (geodec__job){.w = l->v, .x = s->input, .y = s->value_row, .n = n};
    geodec__jobs_run(s, 3);
    add_bias(s->query_row, l->q_bias, l->q.rows, n);
    add_bias(s->key_row, l->k_bias, l->k.rows, n);
    add_bias(s->value_row, l->v_bias, l->v.rows, n);
    norm_heads(c, s->query_row, l->q_norm, c->n_head, n);
    norm_heads(c, s->key_row, l->k_norm, c->n_kv_head, n);
    geodec__attention_run(s, index, n, chain);
    for (int64_t r = 0; r < n; r++) s->input[r] = s->mixed_row[r];
    s->job[0] = (geodec__job){.w = l->o, .x = s->input, .y = s->down_row, .n = n};
    geodec__jobs_run(s, 1);
    add_bias(s->down_row, l->o_bias, c->d_model, n);
    add_rows(s, s->down_row, l->attn_post_norm, n);

    norm_rows(s, l->ffn_norm, n);
    if (l->router.data) {
        geodec__experts_run(s, l, index, n);
        return;
    }
    s->job[0] = (geodec__job){.w = l->gate, .up = l->up, .x = s->input, .y = s->gate_row, .y_up = s->up_row, .n = n};
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; r < n; r++) s->input[r] = s->gate_row[r];
    s->job[0] = (geodec__job){.w = l->down, .x = s->input, .y = s->down_row, .n = n};
    geodec__jobs_run(s, 1);
    add_rows(s, s->down_row, l->ffn_post_norm, n);
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

static void capture_layer(const geodec_session *s, const geodec_capture *capture, int32_t layer, int64_t n)
{
    const int64_t d = s->model->config.d_model;
    for (int32_t i = 0; capture && i < capture->n_layers; i++)
        if (capture->layer[i] == layer)
            for (int64_t r = 0; r < n; r++)
                memcpy(capture->state + ((int64_t)i * n + r) * d, s->x_row[r], (size_t)d * sizeof(float));
}

/* packed: wanted rows follow each other in logits; otherwise each has the place of its row. */
static void run_head(geodec_session *s, const geodec_batch *b, float *logits, bool packed)
{
    const geodec_model_config *c = &s->model->config;
    int64_t wanted = 0;
    for (int32_t r = 0; r < b->n; r++) {
        if (b->want && !b->want[r]) continue;
        rms_norm(s->x_row[r], s->model->output_norm, c->d_model, c->rms_eps, s->norm_row[r]);
        s->input[wanted] = s->norm_row[r];
        s->output[wanted] = logits + (packed ? wanted : r) * c->n_vocab;
        wanted++;
    }
    if (wanted == 0) return;
    s->job[0] = (geodec__job){.w = s->model->head, .x = s->input, .y = s->output, .n = wanted};
    geodec__jobs_run(s, 1);
    for (int64_t r = 0; c->final_softcap > 0 && r < wanted; r++)
        s->kernels->softcap(s->output[r], c->n_vocab, c->final_softcap);
}

/* A tied head that was packed is read there, so that the file's copy stays out of memory. */
static void embed_rows(geodec_session *s, const geodec_batch *b)
{
    const geodec__matrix *e = &s->model->embedding;
    const geodec__panels panels = geodec__prepared_find(s->prepared, e);
    const geodec_ggml_traits *t = geodec_ggml_traits_of(e->type);
    for (int32_t i = 0; i < b->n; i++) {
        if (panels.data)
            geodec__panel_decode_row(&panels, b->token[i], s->x_row[i]);
        else
            t->decode(e->data + b->token[i] * e->row_bytes, s->x_row[i], e->cols);
        const float scale = s->model->config.embed_scale;
        for (int64_t k = 0; scale > 0 && k < e->cols; k++) s->x_row[i][k] *= scale;
    }
}

static geodec_status forward_rows(geodec_session *s, const geodec_batch *b, float *logits, bool packed,
                                  const geodec_capture *capture, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model *m = s->model;
    const geodec_model_config *c = &m->config;
    const int32_t n = b->n;
    GEODEC_TRY(check_batch(s, b, capture, err));
    s->counters.passes++;
    s->counters.rows += n;
    bool chain = true;
    for (int32_t i = 0; i < n; i++) {
        s->parent[i] = b->parent ? b->parent[i] : i - 1;
        s->depth[i] = s->parent[i] < 0 ? 0 : s->depth[s->parent[i]] + 1;
        chain = chain && s->parent[i] == i - 1;
    }
    geodec__rope_reach(s, s->length + n);
    embed_rows(s, b);
    capture_layer(s, capture, 0, n);
    for (int32_t layer = 0; layer < c->n_layer; layer++) {
        run_layer(s, layer, n, chain);
        capture_layer(s, capture, layer + 1, n);
    }
    if (logits) run_head(s, b, logits, packed);
    s->length += n;
done:
    return st;
}

geodec_status geodec_forward(geodec_session *s, const geodec_batch *b, float *logits, const geodec_capture *capture,
                             geodec_err *err)
{
    return forward_rows(s, b, logits, false, capture, err);
}

geodec_status geodec_prefill(geodec_session *s, const int32_t *token, int64_t n, float *last_logits, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int32_t before = s->length;
    if (n < 1) GEODEC_THROW(GEODEC_INVAL, "prefill of %lld tokens", (long long)n);
    if (n > s->n_ctx - s->length)
        GEODEC_THROW(GEODEC_LIMIT, "context full: %d tokens and %lld more do not fit in %d", s->length, (long long)n,
                     s->n_ctx);
    for (int64_t at = 0; at < n;) {
        const int32_t count = (int32_t)(n - at < s->max_batch ? n - at : s->max_batch);
        geodec_batch b = {.n = count, .token = token + at};
        if (at + count == n && last_logits) {
            s->want[count - 1] = true;
            b.want = s->want;
            st = forward_rows(s, &b, last_logits, true, NULL, err);
            s->want[count - 1] = false;
        } else {
            st = geodec_forward(s, &b, NULL, NULL, err);
        }
        if (st != GEODEC_OK) {
            s->length = before;
            (void)geodec_err_add(err, st, __func__, __LINE__, "prefill at token %lld", (long long)at);
            goto done;
        }
        at += count;
    }
done:
    return st;
}
