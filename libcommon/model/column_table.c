#include "model/column_table_internal.h"

#include "base/mem.h"
#include "gguf/gguf.h"
#include "model/model_internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST = 12 << 20,  /* bytes of all columns: more would not stay in the caches */
    DECODED = 4 << 20 /* float32 bytes of a whole model up to which other types are decoded */
};

typedef struct entry {
    geodec__matrix w;
    geodec__columns columns;
} entry;

struct geodec__column_table {
    entry *entry; /* [n] by offset in the file */
    int64_t n, bytes;
    uint8_t *data;
};

static int64_t panels_of(const geodec__matrix *w) { return (w->rows + GEODEC__COLUMN_ROWS - 1) / GEODEC__COLUMN_ROWS; }

/* ---- which ------------------------------------------------------------------------------------------------------- */

typedef struct listing {
    geodec__column_table *t; /* entry NULL while counting */
    int64_t n, at, floats;   /* floats: bytes of all matrices as float32 */
    bool decode;
} listing;

/* -1: none. */
static int type_for(const geodec__matrix *w, bool decode)
{
    if (geodec__panel_format_in(GEODEC_EXACT, w->type)) return -1; /* multiplied in integers (products.h) */
    const geodec_ggml_product product = geodec_ggml_traits_of(w->type)->product;
    const bool own = product == GEODEC_GGML_FLOATS || product == GEODEC_GGML_BYTES;
    return decode ? GEODEC_GGML_F32 : own ? w->type : -1;
}

static void add(void *ctx, const geodec__matrix *w)
{
    listing *l = ctx;
    if (w->owned) return;
    l->floats += panels_of(w) * geodec__column_panel(GEODEC_GGML_F32, w->cols);
    const int type = type_for(w, l->decode);
    if (type < 0) return;
    if (l->t->entry)
        l->t->entry[l->n] =
            (entry){.w = *w, .columns = {.data = l->t->data + l->at, .rows = w->rows, .cols = w->cols, .type = type}};
    l->n++;
    l->at += (panels_of(w) * geodec__column_panel(type, w->cols) + 63) / 64 * 64;
}

/* Memory comes zeroed, so panels end in zeros. */
static geodec_status create(const geodec_model *m, geodec__column_table **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__column_table *t = NULL;
    float *room = NULL;
    GEODEC_NEW(t, 1);
    listing l = {.t = t};
    geodec__weights_each(m, add, &l);
    if (l.floats <= DECODED) {
        l = (listing){.t = t, .decode = true};
        geodec__weights_each(m, add, &l);
    }
    if (l.n > 0 && l.at <= MOST && (t->data = geodec_mem_map(l.at))) {
        int64_t widest = 0;
        t->bytes = l.at;
        GEODEC_NEW(t->entry, l.n);
        l = (listing){.t = t, .decode = l.decode};
        geodec__weights_each(m, add, &l);
        t->n = l.n;
        for (int64_t i = 0; i < t->n; i++) widest = t->entry[i].w.cols > widest ? t->entry[i].w.cols : widest;
        GEODEC_NEW(room, widest);
        for (int64_t i = 0; i < t->n; i++)
            geodec__columns_pack(&t->entry[i].w, t->entry[i].columns.type,
                                 t->data + (t->entry[i].columns.data - t->data), room);
        qsort(t->entry, (size_t)t->n, sizeof *t->entry, geodec__weights_by_place);
    }
    *out = t;
    t = NULL;
done:
    geodec_mem_free(room);
    geodec__column_table_free(t);
    return st;
}

geodec_status geodec__column_table_of(const geodec_model *model, const geodec__column_table **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = (geodec_model *)(uintptr_t)model;
    pthread_mutex_lock(m->lazy);
    if (!m->columns) st = create(m, &m->columns, err);
    *out = m->columns;
    pthread_mutex_unlock(m->lazy);
    return st;
}

void geodec__column_table_free(geodec__column_table *t)
{
    if (!t) return;
    geodec_mem_unmap(t->data, t->bytes);
    GEODEC_FREE(t->entry, t);
}

geodec__columns geodec__column_table_find(const geodec__column_table *t, const geodec__matrix *w)
{
    const entry *e =
        t && t->n > 0 ? bsearch(w, t->entry, (size_t)t->n, sizeof *t->entry, geodec__weights_by_place) : NULL;
    return e ? e->columns : (geodec__columns){0};
}
