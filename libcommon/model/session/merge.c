/* The papers' merging of tokens in the cache, as a control of its cost. Per layer and key head, the rotated key of a
 * token is projected onto the first head_dim rows of the leading principal components of the embedding (coordinates of
 * another space, as in the papers' runtime) and compared with up to 256 tokens kept before, oldest first; at the first
 * within the threshold its key and value become copies of that token's. The cache keeps its size. */
#include "base/mem.h"
#include "linalg/eig.h"
#include "session/model_internal.h"
#include "session/rows.h"

#include <math.h>
#include <string.h>

enum { KEPT = 256, DIMS = 32 };

/* Of one layer and head. */
typedef struct kept {
    int32_t n, row[KEPT]; /* rows of the cache, ascending */
    float coordinate[KEPT][DIMS];
    int64_t seen, merged;
} kept;

struct geodec__merge {
    double threshold;
    int64_t dims;
    float *basis; /* [dims][head_dim] */
    kept *kept;   /* [n_layer][n_kv_head] */
};

/* Rows: the first head_dim entries of the principal components of the token embedding. */
static geodec_status principal(const geodec_model *m, int64_t dims, float *basis, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec__matrix *e = &m->embedding;
    const int64_t d = e->cols;
    double *mean = NULL, *c = NULL, *value = NULL;
    float *row = NULL;
    GEODEC_NEW(mean, d);
    GEODEC_NEW(c, d * d);
    GEODEC_NEW_EACH(d, value, row);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t t = 0; t < e->rows; t++) {
            GEODEC_TRY(geodec_model_embeddings(m, t, 1, row, err));
            for (int64_t i = 0; i < d; i++) {
                if (pass == 0) mean[i] += (double)row[i] / (double)e->rows;
                for (int64_t j = 0; pass == 1 && j <= i; j++)
                    c[i * d + j] += ((double)row[i] - mean[i]) * ((double)row[j] - mean[j]);
            }
        }
    GEODEC_TRY(geodec_eig_sym(d, c, value, c, err));
    for (int64_t k = 0; k < dims; k++)
        for (int64_t i = 0; i < m->config.head_dim; i++)
            basis[k * m->config.head_dim + i] = (float)c[(d - 1 - k) * d + i];
done:
    GEODEC_FREE(mean, c, value, row);
    return st;
}

geodec_status geodec__merge_create(geodec_session *s, double threshold, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &s->model->config;
    geodec__merge *g = NULL;
    if (!(threshold >= 0) || !isfinite(threshold))
        GEODEC_THROW(GEODEC_RANGE, "a threshold of %g for merging tokens", threshold);
    if (threshold <= 0) goto done;
    if (s->model->low) GEODEC_THROW(GEODEC_UNSUPPORTED, "tokens of a cache of low rank are not merged");
    if (c->head_dim > c->d_model) GEODEC_THROW(GEODEC_UNSUPPORTED, "heads wider than the stream: no merging of tokens");
    GEODEC_NEW(g, 1);
    g->threshold = threshold;
    g->dims = c->head_dim < DIMS ? c->head_dim : DIMS;
    GEODEC_NEW(g->basis, g->dims * c->head_dim);
    GEODEC_NEW(g->kept, (int64_t)c->n_layer * c->n_kv_head);
    GEODEC_TRY(principal(s->model, g->dims, g->basis, err));
    s->merge = g;
    g = NULL;
done:
    geodec__merge_destroy(g);
    return st;
}

void geodec__merge_destroy(geodec__merge *g)
{
    if (!g) return;
    GEODEC_FREE(g->basis, g->kept, g);
}

void geodec__merge_row(geodec_session *s, int32_t layer, int64_t head, int64_t row, float *k, float *v)
{
    const geodec__merge *g = s->merge;
    const int64_t dim = s->model->config.head_dim;
    kept *a = &g->kept[layer * (int64_t)s->model->config.n_kv_head + head];
    float x[DIMS];
    while (a->n > 0 && a->row[a->n - 1] >= row) a->n--; /* rolled back */
    a->seen++;
    for (int64_t i = 0; i < g->dims; i++) {
        x[i] = 0;
        for (int64_t d = 0; d < dim; d++) x[i] += g->basis[i * dim + d] * k[d];
    }
    for (int32_t j = 0; j < a->n; j++) {
        double square = 0;
        for (int64_t i = 0; i < g->dims; i++) square += pow((double)x[i] - (double)a->coordinate[j][i], 2);
        if (!(sqrt(square) < g->threshold)) continue;
        geodec__cache_key(s, layer, head, a->row[j], k, 1);
        geodec__cache_value(s, layer, head, a->row[j], v);
        a->merged++;
        return;
    }
    if (a->n == KEPT) return;
    a->row[a->n] = (int32_t)row;
    memcpy(a->coordinate[a->n++], x, sizeof x);
}

geodec_kv_merges geodec_session_kv_merges(const geodec_session *s)
{
    const geodec__merge *g = s->merge;
    geodec_kv_merges sum = {0, 0};
    for (int64_t i = 0; g && i < (int64_t)s->model->config.n_layer * s->model->config.n_kv_head; i++) {
        sum.seen += g->kept[i].seen;
        sum.merged += g->kept[i].merged;
    }
    return sum;
}
