#include "base/mem.h"
#include "flowmap/route.h"
#include "foresight/memory_internal.h"

#include <math.h>
#include <string.h>

enum { ROWS = 16384, LEAST_ROWS = 64, BYTES = 4 << 20, LATEST = 32 /* rows of a token that vote */ };
/* Weight of a row against a node of the map, and the largest logarithm of a weight. */
static const float ROW = 2, MOST = 2;

typedef struct row {
    int32_t token, before;
    int64_t same; /* the row of this token before it; -1: none */
} row;

struct geodec__foresight_memory {
    int64_t rows, n; /* kept; seen */
    int64_t vocab, layers, experts, used, dims;
    row *row;        /* [rows] row i of the run at i % rows */
    int8_t *key;     /* [rows][dims] */
    int16_t *expert; /* [rows][layers][used], -1: none */
    int64_t *last;   /* [vocab] the latest row of a token; -1: none */
};

geodec_status geodec__foresight_memory_create(const geodec_flowmap *map, geodec__foresight_memory **out,
                                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_flowmap_routes *const r = &map->routes;
    geodec__foresight_memory *m = NULL;
    const int64_t bytes = (int64_t)sizeof(row) + map->dims + 2 * r->layers * r->used;
    GEODEC_NEW(m, 1);
    m->rows = BYTES / bytes < ROWS ? BYTES / bytes : ROWS;
    if (m->rows < LEAST_ROWS) m->rows = LEAST_ROWS;
    m->vocab = map->vocab;
    m->layers = r->layers;
    m->experts = r->experts;
    m->used = r->used;
    m->dims = map->dims;
    GEODEC_NEW(m->row, m->rows);
    GEODEC_NEW(m->key, m->rows * m->dims);
    GEODEC_NEW(m->expert, m->rows * m->layers * m->used);
    GEODEC_NEW(m->last, m->vocab);
    for (int64_t i = 0; i < m->vocab; i++) m->last[i] = -1;
    GEODEC_MOVE(*out, m);
done:
    geodec__foresight_memory_destroy(m);
    return st;
}

void geodec__foresight_memory_destroy(geodec__foresight_memory *m)
{
    if (!m) return;
    GEODEC_FREE(m->row, m->key, m->expert, m->last, m);
}

void geodec__foresight_memory_add(geodec__foresight_memory *m, int32_t token, int32_t before, const int8_t *key,
                                  const int32_t *expert)
{
    const int64_t at = m->n % m->rows, n = m->layers * m->used;
    const bool known = token >= 0 && token < m->vocab;
    m->row[at] = (row){.token = token, .before = before, .same = known ? m->last[token] : -1};
    memcpy(m->key + at * m->dims, key, (size_t)m->dims);
    for (int64_t i = 0; i < n; i++)
        m->expert[at * n + i] = expert[i] >= 0 && expert[i] < m->experts ? (int16_t)expert[i] : -1;
    if (known) m->last[token] = m->n;
    m->n++;
}

static float distance(const int8_t *a, const int8_t *b, int64_t n)
{
    int32_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return (float)sum;
}

static void add(const geodec__foresight_memory *m, const int16_t *expert, float w, float *weight)
{
    for (int64_t l = 0; l < m->layers; l++, weight += m->experts)
        for (int64_t k = 0; k < m->used; k++, expert++)
            if (*expert >= 0) weight[*expert] += w;
}

void geodec__foresight_memory_vote(const geodec__foresight_memory *m, int32_t token, int32_t before, const int8_t *key,
                                   float scale, float nearest, float *weight)
{
    if (token < 0 || token >= m->vocab) return;
    const int64_t oldest = m->n - m->rows, n = m->layers * m->used;
    int64_t at = m->last[token];
    for (int i = 0; i < LATEST && at >= 0 && at >= oldest; i++, at = m->row[at % m->rows].same) {
        const row *const r = &m->row[at % m->rows];
        const float z = scale * (distance(key, m->key + at % m->rows * m->dims, m->dims) - nearest);
        const bool same = before >= 0 && r->before == before;
        float w = ROW * expf(fminf(z, MOST) + (same ? GEODEC_ROUTE_BEYOND_SAME : 0));
        int64_t row_at = at % m->rows;
        for (int64_t j = 1; j <= GEODEC_ROUTE_BEYOND && at + j < m->n; j++) {
            if (++row_at == m->rows) row_at = 0;
            add(m, m->expert + row_at * n, w, weight);
            w *= GEODEC_ROUTE_BEYOND_KEEP;
        }
    }
}
