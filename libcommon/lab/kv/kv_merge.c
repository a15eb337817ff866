#include "lab/kv/kv_merge.h"

#include "base/mem.h"
#include "linalg/eig.h"
#include "session/embeddings.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

enum { KEPT = 256, DIMS = 32 };

/* Tokens of one layer and head that are not copies. */
typedef struct kept {
    int32_t n, row[KEPT]; /* rows of the cache, ascending */
    float coordinate[KEPT][DIMS];
    float *k, *v; /* [KEPT][head_dim], part of the tokens' room */
    int64_t seen, merged;
} kept;

/* Tokens of a session. */
typedef struct tokens {
    struct tokens *next;
    const geodec_session *session;
    kept *kept;  /* [n_layer][n_kv_head] */
    float *room; /* [n_layer][n_kv_head][2][KEPT][head_dim] */
} tokens;

struct geodec_kv_merge {
    const geodec_model_config *config;
    geodec_rewrite rewrite;
    double threshold;
    int64_t dims;
    float *basis; /* [dims][head_dim] */
    pthread_mutex_t lock;
    tokens *first; /* and the next line: under the lock */
    bool failed;
};

/* Rows: the first head_dim entries of the principal components of the token embedding. */
static geodec_status principal(const geodec_model *m, int64_t dims, float *basis, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *g = geodec_model_configuration(m);
    const int64_t d = g->d_model, rows = g->n_vocab;
    double *mean = NULL, *c = NULL, *value = NULL;
    float *row = NULL;
    GEODEC_NEW(mean, d);
    GEODEC_NEW(c, d * d);
    GEODEC_NEW_EACH(d, value, row);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t t = 0; t < rows; t++) {
            GEODEC_TRY(geodec_model_embeddings(m, t, 1, row, err));
            for (int64_t i = 0; i < d; i++) {
                if (pass == 0) mean[i] += (double)row[i] / (double)rows;
                for (int64_t j = 0; pass == 1 && j <= i; j++)
                    c[i * d + j] += ((double)row[i] - mean[i]) * ((double)row[j] - mean[j]);
            }
        }
    GEODEC_TRY(geodec_eig_sym(d, c, value, c, err));
    for (int64_t k = 0; k < dims; k++)
        for (int64_t i = 0; i < g->head_dim; i++) basis[k * g->head_dim + i] = (float)c[(d - 1 - k) * d + i];
done:
    GEODEC_FREE(mean, c, value, row);
    return st;
}

/* ---- tokens of a session ----------------------------------------------------------------------------------------- */

static void close_tokens(tokens *t)
{
    if (t) GEODEC_FREE(t->kept, t->room, t);
}

static tokens *open_tokens(const geodec_model_config *c, const geodec_session *s)
{
    const int64_t heads = (int64_t)c->n_layer * c->n_kv_head, size = (int64_t)KEPT * c->head_dim;
    tokens *t = geodec_mem_new(1, sizeof *t);
    if (!t) return NULL;
    *t = (tokens){.session = s,
                  .kept = geodec_mem_new(heads, sizeof *t->kept),
                  .room = geodec_mem_new(heads * 2 * size, sizeof *t->room)};
    if (!t->kept || !t->room) {
        close_tokens(t);
        return NULL;
    }
    for (int64_t i = 0; i < heads; i++) {
        t->kept[i].k = t->room + i * 2 * size;
        t->kept[i].v = t->kept[i].k + size;
    }
    return t;
}

/* NULL: no memory. */
static tokens *tokens_of(geodec_kv_merge *g, const geodec_session *s)
{
    pthread_mutex_lock(&g->lock);
    tokens *t = g->first;
    while (t && t->session != s) t = t->next;
    if (!t && (t = open_tokens(g->config, s))) {
        t->next = g->first;
        g->first = t;
    }
    g->failed |= !t;
    pthread_mutex_unlock(&g->lock);
    return t;
}

static void merge_row(const geodec_kv_merge *g, kept *a, int64_t row, float *k, float *v)
{
    const int64_t dim = g->config->head_dim;
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
        memcpy(k, a->k + j * dim, (size_t)dim * sizeof *k);
        memcpy(v, a->v + j * dim, (size_t)dim * sizeof *v);
        a->merged++;
        return;
    }
    if (a->n == KEPT) return;
    a->row[a->n] = (int32_t)row;
    memcpy(a->k + a->n * dim, k, (size_t)dim * sizeof *k);
    memcpy(a->v + a->n * dim, v, (size_t)dim * sizeof *v);
    memcpy(a->coordinate[a->n++], x, sizeof x);
}

static void merge_rows(void *ctx, const geodec_rewrite_rows *r)
{
    geodec_kv_merge *g = ctx;
    const int64_t heads = g->config->n_kv_head, dim = g->config->head_dim;
    tokens *t = tokens_of(g, r->session);
    for (int64_t i = 0; t && i < r->n * heads; i++)
        merge_row(g, &t->kept[r->layer * heads + i % heads], r->first + i / heads, r->k + i * dim, r->v + i * dim);
}

/* ---- all sessions ------------------------------------------------------------------------------------------------ */

geodec_status geodec_kv_merge_create(const geodec_model *m, double threshold, geodec_kv_merge **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = geodec_model_configuration(m);
    geodec_kv_merge *g = NULL;
    if (!(threshold > 0) || !isfinite(threshold))
        GEODEC_THROW(GEODEC_RANGE, "a threshold of %g for merging tokens", threshold);
    if (c->head_dim > c->d_model) GEODEC_THROW(GEODEC_UNSUPPORTED, "heads wider than the stream: no merging of tokens");
    GEODEC_NEW(g, 1);
    g->config = c;
    g->rewrite = (geodec_rewrite){.fn = merge_rows, .ctx = g, .group = 1};
    g->threshold = threshold;
    g->dims = c->head_dim < DIMS ? c->head_dim : DIMS;
    pthread_mutex_init(&g->lock, NULL);
    GEODEC_NEW(g->basis, g->dims * c->head_dim);
    GEODEC_TRY(principal(m, g->dims, g->basis, err));
    GEODEC_MOVE(*out, g);
done:
    geodec_kv_merge_destroy(g);
    return st;
}

void geodec_kv_merge_destroy(geodec_kv_merge *g)
{
    if (!g) return;
    for (tokens *t = g->first, *next; t; t = next) {
        next = t->next;
        close_tokens(t);
    }
    pthread_mutex_destroy(&g->lock);
    GEODEC_FREE(g->basis, g);
}

const geodec_rewrite *geodec_kv_merge_rewrite(const geodec_kv_merge *g) { return &g->rewrite; }

geodec_status geodec_kv_merge_counts(geodec_kv_merge *g, geodec_kv_merges *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t heads = (int64_t)g->config->n_layer * g->config->n_kv_head;
    *out = (geodec_kv_merges){0, 0};
    pthread_mutex_lock(&g->lock);
    if (g->failed) GEODEC_THROW(GEODEC_NOMEM, "no memory for the tokens of a session that are not merged");
    for (const tokens *t = g->first; t; t = t->next)
        for (int64_t i = 0; i < heads; i++) {
            out->seen += t->kept[i].seen;
            out->merged += t->kept[i].merged;
        }
done:
    pthread_mutex_unlock(&g->lock);
    return st;
}
