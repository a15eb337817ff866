/* Attention whose keys and values are made of one latent vector for each token (multi-head latent attention,
 * DeepSeek-V2: arXiv:2405.04434). x is the normalised stream, N a norm, R the rotation, h a head:
 *     a = N(Wqa x), or x without Wqa;   [q_h, r_h] = Wq a;   [c, k] = Wkva x,  c = N(c)
 *     scores of h: q_h . (Wkb_h c) + R(r_h) . R(k)      values of h: Wvb_h c
 * The cache has [c, R(k)] alone. The products with Wkb and Wvb are absorbed: with the query [Wkb_h^T q_h, R(r_h)] a
 * head attends to these vectors themselves, as the only key head, and Wvb_h multiplies the result. So no key or value
 * of a head is ever computed. */
#include "base/mem.h"
#include "session/bind_internal.h"

#include <string.h>

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

/* Places of the matrices of n heads. */
static geodec_status new_places(const geodec__binder *b, int64_t n, const uint8_t ***out)
{
    geodec_err *err = b->err;
    *out = geodec__arena_new(b->arena, n, sizeof **out);
    if (!*out) GEODEC_FAIL(GEODEC_NOMEM, "no memory for the places of %lld heads", (long long)n);
    return GEODEC_OK;
}

/* Keys and values of a head in one matrix attn_kv_b, the rows of its key first. The part of the keys is multiplied from
 * the other side, so it is transposed, to float32: the values of any type are exact there. */
static geodec_status bind_joint(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const int64_t key = b->c->d_latent_key, value = b->c->d_latent_value, rank = b->c->d_latent, heads = l->n_head;
    geodec__matrix all;
    const uint8_t **k_place, **v_place;
    float *transposed = NULL, *row = NULL;
    GEODEC_PASS(geodec__bind_matrices(b, i, "attn_kv_b.weight", rank, heads * (key + value), 1, &all));
    const geodec_ggml_traits *type = geodec_ggml_traits_of(all.type);
    GEODEC_PASS(new_places(b, heads, &k_place));
    GEODEC_PASS(new_places(b, heads, &v_place));
    GEODEC_PASS(geodec__bind_floats(b, heads * rank * key, &transposed));
    GEODEC_PASS(geodec__bind_floats(b, rank, &row));
    for (int64_t h = 0; h < heads; h++) {
        const uint8_t *from = all.data + h * (key + value) * all.row_bytes;
        float *to = transposed + h * rank * key;
        for (int64_t r = 0; r < key; r++) {
            type->decode(from + r * all.row_bytes, row, rank);
            for (int64_t c = 0; c < rank; c++) to[c * key + r] = row[c];
        }
        k_place[h] = (const uint8_t *)to;
        v_place[h] = from + key * all.row_bytes;
    }
    l->latent.v_b = all;
    l->latent.v_b.data = v_place[0];
    l->latent.v_b.rows = value;
    l->latent.v_b.expert = v_place;
    if (key == 0) return GEODEC_OK;
    l->latent.k_b = (geodec__matrix){.data = k_place[0],
                                     .rows = rank,
                                     .cols = key,
                                     .row_bytes = key * (int64_t)sizeof(float),
                                     .type = GEODEC_GGML_F32,
                                     .expert = k_place,
                                     .owned = true};
    return GEODEC_OK;
}

geodec_status geodec__bind_latent(geodec__binder *b, int32_t i, geodec__layer *l)
{
    geodec_err *err = b->err;
    const geodec_model_config *c = b->c;
    geodec__latent *t = &l->latent;
    const int64_t d = c->d_model, rank = c->d_latent, query = c->d_latent_query, heads = l->n_head;
    const int64_t asked = heads * (c->d_latent_key + c->rope_dim);
    if (query > 0) {
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_q_a.weight", d, query, 1, &t->q_a));
        GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "attn_q_a_norm", query, 0, &t->q_norm));
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_q_b.weight", query, asked, 1, &l->q));
    } else {
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_q.weight", d, asked, 1, &l->q));
    }
    GEODEC_PASS(geodec__bind_matrices(b, i, "attn_kv_a_mqa.weight", d, rank + c->rope_dim, 1, &t->kv_a));
    GEODEC_PASS(geodec__bind_norm(b, GEODEC__ALWAYS, false, i, "attn_kv_a_norm", rank, 0, &t->kv_norm));
    /* some files have the joint matrix beside the two */
    if (geodec__bind_find(b, i, "attn_kv_b.weight") && !geodec__bind_find(b, i, "attn_v_b.weight"))
        return bind_joint(b, i, l);
    if (c->d_latent_key > 0)
        GEODEC_PASS(geodec__bind_matrices(b, i, "attn_k_b.weight", c->d_latent_key, rank, heads, &t->k_b));
    return geodec__bind_matrices(b, i, "attn_v_b.weight", rank, c->d_latent_value, heads, &t->v_b);
}

/* ---- in a session ------------------------------------------------------------------------------------------------ */

int64_t geodec__latent_widest(const geodec_model_config *c)
{
    const int64_t part = geodec__pad(c->d_latent > c->d_latent_key ? c->d_latent : c->d_latent_key);
    if (c->d_latent == 0) return 0;
    return c->n_head * part > c->d_latent_query ? c->n_head * part : c->d_latent_query;
}

geodec_status geodec__latent_create(geodec_session *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    const int64_t n = s->max_batch, heads = c->n_head;
    if (c->d_latent == 0) return GEODEC_OK;
    GEODEC_TRY(geodec__session_rows(&s->asked_low_row, n, c->d_latent_query, err));
    GEODEC_TRY(geodec__session_rows(&s->asked_row, n, heads * (c->d_latent_key + c->rope_dim), err));
    GEODEC_TRY(geodec__session_rows(&s->part_row, n, geodec__latent_widest(c), err));
    GEODEC_NEW_EACH(heads * n, s->head_x, s->head_y);
done:
    return st;
}

/* The work on each row between two products. */
typedef struct split {
    geodec_session *s;
    const geodec__layer *l;
    void (*fn)(const struct split *w, int64_t row);
} split;

static void split_task(void *ctx, int64_t row, int worker)
{
    const split *w = ctx;
    (void)worker;
    w->fn(w, row);
}

static void each_row(split *w, int64_t n)
{
    enum { FEW_NUMBERS = 1 << 14 }; /* below it, dispatch to the pool costs more than it saves */
    const int64_t width = w->l->q.rows + w->l->latent.kv_a.rows;
    geodec_pool_run_dynamic(n * width < FEW_NUMBERS ? NULL : w->s->pool, n, split_task, w);
}

static void norm_query(const split *w, int64_t r)
{
    float *a = w->s->asked_low_row[r];
    geodec__norm_row(w->s->kernels, &w->l->latent.q_norm, a, a);
    geodec__rows_end(&w->s->asked_low_row[r], 1, w->l->latent.q_a.rows);
}

/* Copies parts of `width` numbers, `step` apart, to parts padded with zeros. */
static void pad_parts(const float *from, int64_t n, int64_t width, int64_t step, float *to)
{
    for (int64_t h = 0; h < n; h++) {
        float *part = to + h * geodec__pad(width);
        memcpy(part, from + h * step, (size_t)width * sizeof *part);
        geodec__rows_end(&part, 1, width);
    }
}

/* Norms the latent vector, and divides each head's query into the part of the key and the part that rotates. */
static void divide_query(const split *w, int64_t r)
{
    const geodec_model_config *c = &w->s->model->config;
    const geodec__layer *l = w->l;
    const int64_t key = c->d_latent_key, turned = c->rope_dim, rank = c->d_latent;
    float *k = w->s->key_row[r], *q = w->s->query_row[r];
    const float *asked = w->s->asked_row[r];
    geodec__norm_row(w->s->kernels, &l->latent.kv_norm, k, k);
    for (int64_t h = 0; h < l->n_head; h++) {
        float *at = q + h * l->head_dim;
        memcpy(at + rank, asked + h * (key + turned) + key, (size_t)turned * sizeof *at);
        for (int64_t i = 0; key == 0 && i < rank; i++) at[i] = 0;
    }
    pad_parts(asked, l->n_head, key, key + turned, w->s->part_row[r]);
}

static void divide_result(const split *w, int64_t r)
{
    const int64_t rank = w->s->model->config.d_latent;
    pad_parts(w->s->mixed_row[r], w->l->n_head, rank, rank, w->s->part_row[r]);
}

/* Multiplies the parts of part_row by the matrix of their head; results are `step` apart in rows of y. */
static void multiply_heads(geodec_session *s, const geodec__layer *l, const geodec__matrix *m, int64_t n,
                           float *const *y, int64_t step)
{
    const int64_t part = geodec__pad(m->cols);
    for (int64_t h = 0; h < l->n_head; h++) {
        const float **x = s->head_x + h * s->max_batch;
        float **out = s->head_y + h * s->max_batch;
        for (int64_t r = 0; r < n; r++) {
            x[r] = s->part_row[r] + h * part;
            out[r] = y[r] + h * step;
        }
        s->job[h] = geodec__job_of(geodec__expert(m, h), x, out, n);
    }
    geodec__jobs_run(s, l->n_head);
}

void geodec__latent_project(geodec_session *s, const geodec__layer *l, int64_t n)
{
    const geodec__latent *t = &l->latent;
    split w = {s, l, norm_query};
    s->job[0] = geodec__job_of(t->q_a.data ? t->q_a : l->q, s->input, t->q_a.data ? s->asked_low_row : s->asked_row, n);
    s->job[1] = geodec__job_of(t->kv_a, s->input, s->key_row, n);
    geodec__jobs_run(s, 2);
    if (t->q_a.data) {
        each_row(&w, n);
        s->job[0] = geodec__job_of(l->q, (const float *const *)s->asked_low_row, s->asked_row, n);
        geodec__jobs_run(s, 1);
    }
    w.fn = divide_query;
    each_row(&w, n);
    if (t->k_b.data) multiply_heads(s, l, &t->k_b, n, s->query_row, l->head_dim);
}

void geodec__latent_finish(geodec_session *s, const geodec__layer *l, int64_t n)
{
    split w = {s, l, divide_result};
    each_row(&w, n);
    multiply_heads(s, l, &l->latent.v_b, n, s->mixed_row, s->model->config.d_latent_value);
    geodec__rows_end(s->mixed_row, n, l->o.cols);
}
