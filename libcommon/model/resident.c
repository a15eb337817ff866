/* Float matrices in huge pages. A pass reads every matrix once, and a file's map is made of small pages: the walks
 * through the page table then cost a third of the memory's speed. The matrices of types that are multiplied where they
 * lie (F32, F16, BF16) are copied once into anonymous huge pages, and the file's copy leaves memory, one matrix after
 * the other: memory in use stays that of the file. Types with panels have the same from prepare.c. */
#include "base/mem.h"
#include "model/internal.h"

#include <string.h>
#include <unistd.h>

enum {
    SMALLEST = 8 << 20, /* less than this stays in the caches */
    SHARE = 3,          /* of the machine's memory: larger models stay in the file's map, which the system can drop */
    PIECE = 1 << 20
};

struct geodec__resident {
    uint8_t *data;
    int64_t bytes;
};

static bool is_float(const geodec__matrix *w)
{
    return w->data && !w->expert &&
           (w->type == GEODEC_GGML_F32 || w->type == GEODEC_GGML_F16 || w->type == GEODEC_GGML_BF16);
}

static int64_t bytes_of(const geodec__matrix *w, int64_t count) { return count * w->rows * w->row_bytes; }
static int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

typedef struct copying {
    const uint8_t *from;
    uint8_t *to;
    int64_t bytes;
} copying;

static void copy_piece(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const copying *c = ctx;
    const int64_t at = task * PIECE, n = c->bytes - at < PIECE ? c->bytes - at : PIECE;
    memcpy(c->to + at, c->from + at, (size_t)n);
}

/* Visits every matrix that a pass multiplies by. Without `to` it counts; with it, it copies there and binds anew. */
typedef struct visitor {
    const geodec_model *m;
    geodec_pool *pool;
    uint8_t *to;
    int64_t bytes;
} visitor;

static void visit(visitor *v, geodec__matrix *w, int64_t count)
{
    if (!is_float(w)) return;
    const int64_t bytes = bytes_of(w, count);
    if (v->to) {
        copying c = {w->data, v->to + v->bytes, bytes};
        geodec_pool_run_dynamic(v->pool, (bytes + PIECE - 1) / PIECE, copy_piece, &c);
        geodec_gguf_release(v->m->gguf, w->data, (size_t)bytes);
        w->data = c.to;
    }
    v->bytes += aligned(bytes);
}

static void visit_all(visitor *v, geodec_model *m)
{
    const bool tied = m->embedding.data == m->head.data;
    visit(v, &m->head, 1);
    if (tied) m->embedding.data = m->head.data;
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        geodec__layer *l = &m->layer[i];
        geodec__matrix *const single[] = {&l->q, &l->k, &l->v, &l->o, &l->router};
        geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
        for (size_t k = 0; k < sizeof single / sizeof *single; k++) visit(v, single[k], 1);
        for (size_t k = 0; k < sizeof many / sizeof *many; k++)
            visit(v, many[k], l->router.data ? m->config.n_expert : 1);
    }
}

void geodec__resident_make(const geodec_model *model, geodec_pool *pool)
{
    pthread_mutex_lock(model->lazy);
    geodec_model *m = (geodec_model *)(uintptr_t)model;
    if (!m->resident) {
        visitor v = {.m = m, .pool = pool};
        visit_all(&v, m);
        const int64_t bytes = v.bytes, memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
        geodec__resident *r = bytes >= SMALLEST && bytes <= memory / SHARE ? geodec_mem_new(1, sizeof *r) : NULL;
        if (r && (r->data = geodec_mem_map(bytes))) {
            r->bytes = bytes;
            m->resident = r;
            v = (visitor){.m = m, .pool = pool, .to = r->data};
            visit_all(&v, m);
            geodec_gguf_release_all(m->gguf, NULL, 0);
        } else {
            geodec_mem_free(r); /* then the map serves */
        }
    }
    pthread_mutex_unlock(model->lazy);
}

void geodec__resident_free(geodec__resident *r)
{
    if (!r) return;
    geodec_mem_unmap(r->data, r->bytes);
    geodec_mem_free(r);
}
