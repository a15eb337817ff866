/* Packs the matrices of a model once and lets go of the file's copy. */
#include "base/mem.h"
#include "model/internal.h"
#include "model/panels.h"

#include <stdlib.h>

typedef struct entry {
    const uint8_t *key; /* the matrix in the file's map */
    geodec__panels panels;
} entry;

struct geodec__prepared {
    int64_t n;
    entry *entry; /* [n] by key */
    uint8_t *data;
    int64_t bytes;
};

/* ---- which ------------------------------------------------------------------------------------------------------- */

/* Calls fn for every matrix that a pass multiplies by, an expert at a time. A tied head is one of them, an embedding
 * that is only looked up is not. */
static void each_matrix(const geodec_model *m, void (*fn)(void *ctx, const geodec__matrix *w), void *ctx)
{
    const int64_t experts = m->config.n_expert > 0 ? m->config.n_expert : 1;
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        const geodec__matrix *const single[] = {&l->q, &l->k, &l->v, &l->o, &l->router};
        const geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
        for (size_t k = 0; k < sizeof single / sizeof *single; k++)
            if (single[k]->data) fn(ctx, single[k]);
        for (size_t k = 0; k < sizeof many / sizeof *many; k++) {
            if (!many[k]->data) continue;
            for (int64_t e = 0; e < (l->router.data ? experts : 1); e++) {
                const geodec__matrix w = geodec__expert(many[k], e);
                fn(ctx, &w);
            }
        }
    }
    fn(ctx, &m->head);
}

/* Matrices in the order of their use, which is that of their panels: what a product asks for beyond its end is then the
 * next one's. */
typedef struct item {
    geodec__matrix w;
    int64_t at; /* of its panels */
} item;

typedef struct listing {
    item *item; /* NULL while counting */
    int64_t n, bytes;
} listing;

static int64_t packed_bytes(const geodec__matrix *w)
{
    const geodec__panel_format *f = geodec__panel_format_of(w->type);
    return geodec__panels_count(w->rows) * (w->cols / (32 * f->blocks)) * f->record_bytes;
}

static void add(void *ctx, const geodec__matrix *w)
{
    listing *l = ctx;
    if (!geodec__panel_format_of(w->type)) return;
    if (l->item) l->item[l->n] = (item){*w, l->bytes};
    l->n++;
    l->bytes += (packed_bytes(w) + 63) / 64 * 64;
}

/* The largest first: while it is packed its pages of the file are in memory too, and nothing else is. */
static int by_size(const void *a, const void *b)
{
    const geodec__matrix *x = &((const item *)a)->w, *y = &((const item *)b)->w;
    const int64_t p = x->rows * x->row_bytes, q = y->rows * y->row_bytes;
    return p != q ? (p < q) - (p > q) : (x->data > y->data) - (x->data < y->data);
}

static int by_key(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* ---- packing ----------------------------------------------------------------------------------------------------- */

typedef struct packing {
    const geodec__matrix *w;
    const geodec__panels *panels;
} packing;

static void pack_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const packing *p = ctx;
    uint8_t *data = (uint8_t *)(uintptr_t)p->panels->data;
    geodec__panel_pack(p->panels->format, p->w, task, data + task * geodec__panel_bytes(p->panels));
}

static geodec_status pack_all(const geodec_model *m, geodec_pool *pool, geodec__prepared **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__prepared *p = NULL;
    listing l = {0};
    each_matrix(m, add, &l);
    GEODEC_NEW(p, 1);
    GEODEC_NEW(p->entry, l.n);
    GEODEC_NEW(l.item, l.n);
    p->bytes = l.bytes;
    p->data = geodec_mem_map(p->bytes);
    if (p->bytes > 0 && !p->data)
        GEODEC_THROW(GEODEC_NOMEM, "no memory for %lld bytes of packed weights", (long long)p->bytes);
    l.n = 0;
    l.bytes = 0;
    each_matrix(m, add, &l);
    qsort(l.item, (size_t)l.n, sizeof *l.item, by_size);
    for (int64_t i = 0; i < l.n; i++) {
        const geodec__matrix *w = &l.item[i].w;
        const geodec__panel_format *f = geodec__panel_format_of(w->type);
        p->entry[i] = (entry){
            w->data,
            {.format = f, .data = p->data + l.item[i].at, .rows = w->rows, .records = w->cols / (32 * f->blocks)}};
        packing task = {w, &p->entry[i].panels};
        geodec_pool_run_dynamic(pool, geodec__panels_count(w->rows), pack_task, &task);
        geodec_gguf_release(m->gguf, w->data, (size_t)(w->rows * w->row_bytes));
    }
    /* what read-around brought in goes too; rows of the embedding come back as they are looked up */
    if (l.n > 0)
        geodec_gguf_release_all(m->gguf, m->embedding.data, (size_t)(m->embedding.rows * m->embedding.row_bytes));
    p->n = l.n;
    qsort(p->entry, (size_t)p->n, sizeof *p->entry, by_key);
    *out = p;
    p = NULL;
done:
    geodec_mem_free(l.item);
    geodec__prepared_free(p);
    return st;
}

geodec_status geodec__prepare(const geodec_model *m, geodec_pool *pool, const geodec__prepared **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    pthread_mutex_lock(m->lazy);
    if (!m->prepared) st = pack_all(m, pool, &((geodec_model *)(uintptr_t)m)->prepared, err);
    *out = m->prepared;
    pthread_mutex_unlock(m->lazy);
    return st;
}

void geodec__prepared_free(geodec__prepared *p)
{
    if (!p) return;
    geodec_mem_unmap(p->data, p->bytes);
    geodec_mem_free(p->entry);
    geodec_mem_free(p);
}

geodec__panels geodec__prepared_find(const geodec__prepared *p, const geodec__matrix *w)
{
    int64_t lo = 0, hi = p ? p->n : 0;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (p->entry[mid].key == w->data) return p->entry[mid].panels;
        if (p->entry[mid].key < w->data)
            lo = mid + 1;
        else
            hi = mid;
    }
    return (geodec__panels){0};
}
