#include "session/store_build.h"

#include "base/mem.h"
#include "session/expert_source_internal.h"
#include "session/model_internal.h"
#include "session/store_golden.h"
#include "session/ternary_internal.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 4 << 20 };

/* ---- the resident part ------------------------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Addresses of all matrices of experts, ascending: a tensor that begins at one of them is not resident. */
static geodec_status list_experts(const geodec_model *m, uintptr_t **list, int64_t *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uintptr_t *at = NULL;
    int64_t used = 0;
    GEODEC_NEW(at, (int64_t)m->config.n_layer * m->config.n_expert * 3);
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        const geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
        for (int k = 0; l->router.data && k < 3; k++)
            for (int32_t e = 0; e < m->config.n_expert; e++) at[used++] = (uintptr_t)geodec__expert(many[k], e).data;
    }
    qsort(at, (size_t)used, sizeof *at, by_address);
    *list = at;
    *n = used;
done:
    return st;
}

static geodec_status copy_tensor(geodec_gguf_writer *w, const geodec_gguf *g, const geodec_gguf_tensor *t,
                                 geodec_err *err)
{
    const uint8_t *p = t->data;
    for (size_t at = 0, take; at < t->bytes; at += take) {
        take = t->bytes - at < PIECE ? t->bytes - at : PIECE;
        GEODEC_PASS(geodec_gguf_stream(w, p + at, take, err));
        geodec_gguf_release(g, p + at, take);
    }
    return GEODEC_OK;
}

/* All keys but the alignment, which the writer chooses, and all other tensors, in the order of the file's table. */
geodec_status geodec__store_write_resident(const geodec_model *m, geodec_atomic *file, const geodec_hooks *hooks,
                                           geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_gguf *g = m->gguf;
    const int64_t n = geodec_gguf_n_tensors(g);
    geodec_gguf_writer *w = NULL;
    uintptr_t *expert = NULL;
    bool *skip = NULL;
    int64_t n_expert = 0;
    GEODEC_TRY(list_experts(m, &expert, &n_expert, err));
    GEODEC_NEW(skip, n);
    GEODEC_TRY(geodec_gguf_writer_embed(file, "the resident part", &w, err));
    for (int64_t i = 0; i < geodec_gguf_n_keys(g); i++) {
        const char *key = geodec_gguf_key_at(g, i);
        if (strcmp(key, "general.alignment") != 0) GEODEC_TRY(geodec_gguf_put_copy(w, g, key, err));
    }
    for (int64_t i = 0; i < n; i++) {
        const geodec_gguf_tensor *t = geodec_gguf_tensor_at(g, i);
        const uintptr_t at = (uintptr_t)t->data;
        skip[i] = bsearch(&at, expert, (size_t)n_expert, sizeof at, by_address) != NULL;
        if (!skip[i]) GEODEC_TRY(geodec_gguf_plan_tensor(w, t->name, t->type, t->n_dims, t->dim, err));
    }
    for (int64_t i = 0; i < n; i++) {
        if (skip[i]) continue;
        GEODEC_TRY(geodec_hooks_progress(hooks, "resident tensors", i, n, err));
        GEODEC_TRY(copy_tensor(w, g, geodec_gguf_tensor_at(g, i), err));
    }
    st = geodec_gguf_writer_commit(w, err);
    w = NULL;
    GEODEC_TRY(st);
done:
    geodec_gguf_writer_abandon(w);
    GEODEC_FREE(expert, skip);
    return st;
}

/* ---- the experts ------------------------------------------------------------------------------------------------- */

static geodec_status make_plan(const geodec_model *m, geodec_arithmetic a, geodec_store *plan, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    plan->blobs.n_layer = m->config.n_layer;
    plan->blobs.n_expert = m->config.n_expert;
    plan->layout = (int32_t)a;
    GEODEC_NEW(plan->matrix, (int64_t)m->config.n_layer * GEODEC_STORE_MATRICES);
    for (int32_t i = 0; i < m->config.n_layer; i++) {
        const geodec__layer *l = &m->layer[i];
        const geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
        for (int k = 0; l->router.data && k < GEODEC_STORE_MATRICES; k++) {
            const geodec__panel_format *f = geodec__panel_format_in(a, many[k]->type);
            plan->matrix[(int64_t)i * GEODEC_STORE_MATRICES + k] =
                (geodec_store_matrix){.type = many[k]->type,
                                      .packing = f != NULL,
                                      .rows = many[k]->rows,
                                      .cols = many[k]->cols,
                                      .bytes = f ? geodec__expert_panels_bytes(f, many[k]->rows, many[k]->cols)
                                                 : many[k]->rows * many[k]->row_bytes};
        }
    }
done:
    return st;
}

typedef struct packing {
    const geodec__panel_format *format;
    geodec__matrix w;
    int64_t unit; /* bytes of a panel */
    uint8_t *to;  /* zero */
} packing;

static void pack_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const packing *p = ctx;
    geodec__panel_pack(p->format, &p->w, task, p->to + task * p->unit);
}

/* One expert; blob [bytes] is overwritten. */
static void fill_blob(const geodec_model *m, const geodec_store_matrix *x, int32_t layer, int32_t expert, uint8_t *blob,
                      geodec_pool *pool)
{
    const geodec__layer *l = &m->layer[layer];
    const geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
    memset(blob, 0, (size_t)(x[GEODEC_STORE_MATRICES - 1].at + x[GEODEC_STORE_MATRICES - 1].bytes));
    for (int k = 0; k < GEODEC_STORE_MATRICES; k++) {
        const geodec__matrix w = geodec__expert(many[k], expert);
        if (x[k].packing) {
            const int64_t panels = geodec__panels_count(w.rows);
            packing p = {.format = geodec__panel_format_of(w.type), .w = w, .unit = x[k].bytes / panels, .to = blob};
            p.to += x[k].at;
            geodec_pool_run_dynamic(pool, panels, pack_task, &p);
        } else {
            memcpy(blob + x[k].at, w.data, (size_t)x[k].bytes);
        }
        geodec_gguf_release(m->gguf, w.data, (size_t)(w.rows * w.row_bytes));
    }
}

static geodec_status write_experts(const geodec_model *m, geodec_store_writer *w, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *blob = NULL;
    int64_t room = 0;
    const int32_t layers = m->config.n_layer, experts = m->config.n_expert;
    const geodec_store_matrix *all = geodec_store_writer_plan(w)->matrix;
    for (int32_t i = 0; i < layers; i++) {
        const geodec_store_matrix *last = &all[(int64_t)i * GEODEC_STORE_MATRICES + GEODEC_STORE_MATRICES - 1];
        if (last->at + last->bytes > room) room = last->at + last->bytes;
    }
    GEODEC_NEW(blob, room);
    for (int32_t i = 0; i < layers; i++) {
        const geodec_store_matrix *x = &all[(int64_t)i * GEODEC_STORE_MATRICES], *last = x + GEODEC_STORE_MATRICES - 1;
        for (int32_t e = 0; x->rows > 0 && e < experts; e++) {
            GEODEC_TRY(
                geodec_hooks_progress(hooks, "experts", (int64_t)i * experts + e, (int64_t)layers * experts, err));
            fill_blob(m, x, i, e, blob, pool);
            GEODEC_TRY(geodec_store_writer_blob(w, blob, last->at + last->bytes, err));
        }
    }
done:
    geodec_mem_free(blob);
    return st;
}

geodec_status geodec_store_build(const geodec_model *m, geodec_arithmetic a, const char *path, geodec_pool *pool,
                                 const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_store plan = {0};
    geodec_store_writer *w = NULL;
    GEODEC_TRY(geodec__model_resident(m, err));
    if (m->config.n_expert == 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: the model has no experts", geodec_gguf_path(m->gguf));
    GEODEC_TRY(make_plan(m, a, &plan, err));
    memcpy(plan.fingerprint, geodec_model_fingerprint(m), sizeof plan.fingerprint);
    GEODEC_TRY(geodec_store_golden_make(geodec_gguf_path(m->gguf), pool, &plan.golden, err));
    GEODEC_TRY(geodec_store_writer_create(path, &plan, &w, err));
    GEODEC_TRY(geodec__store_write_resident(m, geodec_store_writer_file(w), hooks, err));
    GEODEC_TRY(write_experts(m, w, pool, hooks, err));
    st = geodec_store_writer_commit(w, err);
    w = NULL;
    GEODEC_TRY(st);
done:
    geodec_store_writer_abandon(w);
    geodec_store_clear(&plan);
    return st;
}
