/* Moves the matrices of a model out of the file's map: matrices multiplied in integers become panels, matrices
 * multiplied in floats are copied into huge pages (the map has small pages, whose page-table walks cost a third of the
 * memory's speed). Those of a model that fits the caches also become columns (kernels/columns_internal.h), all at once
 * before the first pass.
 *
 * The first pass of a model moves nothing, since writing to untouched memory would be the largest part of the time to a
 * first token. It reads matrices in place and packs a panel at a time in a worker's scratch. In later passes a share of
 * the copies moves at a time; panels all move in the second pass, since otherwise every pass would pack again. The bits
 * of a result do not depend on it. */
#include "base/mem.h"
#include "base/memory_limit.h"
#include "session/model_internal.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMALLEST = 8 << 20, /* copies: less than this stays in the caches */
    PART = 3,           /* copies: share of the machine's memory; larger models stay in the map, which the system can
                         * drop */
    LEFT = 4,           /* panels: share of the machine's memory that they leave free; more are packed again in every
                         * pass */
    PASSES = 8,         /* copies: passes until all have moved */
    PIECE = 1 << 18,    /* bytes of a task of copying */
    STEP = 1 << 20,     /* bytes moved before the file's pages of them are released */
    MOST = 12 << 20,    /* columns: bytes of all of them; more would not stay in the caches */
    DECODED = 4 << 20   /* columns: float32 bytes of a whole model up to which other types are decoded */
};

typedef struct entry {
    geodec__matrix w;      /* address in the file's map, the key */
    geodec__panels panels; /* format NULL: copied unchanged, or columns */
    geodec__columns columns;
    int64_t at;    /* offset here */
    int64_t unit;  /* bytes of a task: a panel, or a piece */
    int64_t bytes; /* tasks done */
    atomic_bool ready;
} entry;

struct geodec__prepare {
    entry *entry;   /* [n] by offset in the file */
    entry **order;  /* [n] by offset here */
    int32_t *place; /* [1 << bits] 1 + the index of an entry, 0: free; at the hash of its address or after it */
    int bits;
    int64_t n, next, passes, bytes, widest;
    uint8_t *data;
    geodec__prepare_kind kind;
    atomic_bool done;
};

/* ---- selection --------------------------------------------------------------------------------------------------- */

/* Matrices are placed in the order of their use: prefetching beyond the end of one reaches the next. */
typedef struct listing {
    geodec__prepare *p; /* entry NULL while counting */
    geodec_arithmetic arithmetic;
    int64_t n, at;
    int64_t floats; /* bytes of all matrices as columns of float32 */
    bool decode;    /* to columns of float32 */
} listing;

/* Type of a matrix as columns, -1: none, since it is multiplied in integers (products_internal.h) or has no columns. */
static int column_type(const geodec__matrix *w, bool decode)
{
    if (geodec__panel_format_in(GEODEC_EXACT, w->type)) return -1;
    const geodec_ggml_product product = geodec_ggml_traits_of(w->type)->product;
    const bool own = product == GEODEC_GGML_FLOATS || product == GEODEC_GGML_BYTES;
    return decode ? GEODEC_GGML_F32 : own ? w->type : -1;
}

static void add(void *ctx, const geodec__matrix *w)
{
    listing *l = ctx;
    geodec__prepare *p = l->p;
    const geodec__panel_format *f = geodec__panel_format_in(l->arithmetic, w->type);
    entry e = {.w = *w, .at = l->at, .unit = PIECE, .bytes = w->rows * w->row_bytes};
    if (w->owned) return;
    if (p->kind == GEODEC__PREPARE_COLUMNS) {
        const int64_t panels = (w->rows + GEODEC__COLUMN_ROWS - 1) / GEODEC__COLUMN_ROWS;
        const int type = column_type(w, l->decode);
        l->floats += panels * geodec__column_panel(GEODEC_GGML_F32, w->cols);
        if (type < 0) return;
        e.bytes = panels * geodec__column_panel(type, w->cols);
        e.columns =
            (geodec__columns){.data = p->data ? p->data + l->at : NULL, .rows = w->rows, .cols = w->cols, .type = type};
    } else {
        if ((p->kind == GEODEC__PREPARE_COPIES) == (f != NULL)) return;
        e.panels = (geodec__panels){.format = f, .rows = w->rows};
        if (f) {
            e.panels.records = w->cols / (32 * f->blocks);
            e.unit = geodec__panel_bytes(&e.panels);
            e.bytes = geodec__panels_count(w->rows) * e.unit;
            if (e.unit > p->widest) p->widest = e.unit;
        }
    }
    if (p->entry) p->entry[l->n] = e;
    l->n++;
    l->at += (e.bytes + 63) / 64 * 64;
}

static int by_use(const void *a, const void *b)
{
    const entry *x = *(entry *const *)a, *y = *(entry *const *)b;
    return (x->at > y->at) - (x->at < y->at);
}

/* ---- creation ---------------------------------------------------------------------------------------------------- */

/* Whether so many bytes are moved. */
static bool wanted(const listing *l)
{
    const int64_t memory = geodec_memory_limit_whole();
    switch (l->p->kind) {
    case GEODEC__PREPARE_PANELS:
        return l->at <= memory - memory / LEFT;
    case GEODEC__PREPARE_COPIES:
        return l->at >= SMALLEST && l->at <= memory / PART;
    default:
        return l->at <= MOST;
    }
}

/* Looked up for every job of a pass, which in a mixture has many. */
static int64_t hash(const geodec__prepare *p, const uint8_t *data)
{
    return (int64_t)((uint64_t)(uintptr_t)data * 0x9e3779b97f4a7c15u >> (64 - p->bits));
}

static geodec_status make_places(geodec__prepare *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    for (p->bits = 1; (int64_t)1 << p->bits < 2 * p->n;) p->bits++;
    const int64_t last = ((int64_t)1 << p->bits) - 1;
    GEODEC_NEW(p->place, last + 1);
    for (int64_t i = 0; i < p->n; i++) {
        int64_t at = hash(p, p->entry[i].w.data);
        while (p->place[at] != 0) at = (at + 1) & last;
        p->place[at] = (int32_t)i + 1;
    }
done:
    return st;
}

/* Memory comes zeroed, so panels of columns end in zeros. */
static geodec_status pack_columns(geodec__prepare *p, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *room = NULL;
    int64_t widest = 0;
    for (int64_t i = 0; i < p->n; i++) widest = p->entry[i].w.cols > widest ? p->entry[i].w.cols : widest;
    GEODEC_NEW(room, widest);
    for (int64_t i = 0; i < p->n; i++)
        geodec__columns_pack(&p->entry[i].w, p->entry[i].columns.type, p->data + p->entry[i].at, room);
    atomic_store(&p->done, true);
done:
    geodec_mem_free(room);
    return st;
}

/* Matrices that are not wanted, or copies and columns without memory, stay in the map: an empty table. Panels without
 * memory stay listed as missing. */
static geodec_status create(const geodec_model *m, geodec_arithmetic a, geodec__prepare_kind kind,
                            geodec__prepare **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec__prepare *p = NULL;
    GEODEC_NEW(p, 1);
    p->kind = kind;
    listing l = {.p = p, .arithmetic = a};
    geodec__weights_each(m, add, &l);
    const bool decode = kind == GEODEC__PREPARE_COLUMNS && l.floats <= DECODED;
    if (decode) {
        l = (listing){.p = p, .decode = true};
        geodec__weights_each(m, add, &l);
    }
    if (l.n > 0 && wanted(&l)) p->data = geodec_mem_map(l.at);
    if (p->data || kind == GEODEC__PREPARE_PANELS) {
        p->bytes = p->data ? l.at : 0;
        GEODEC_NEW_EACH(l.n, p->entry, p->order);
        l = (listing){.p = p, .arithmetic = a, .decode = decode};
        geodec__weights_each(m, add, &l);
        p->n = l.n;
        qsort(p->entry, (size_t)p->n, sizeof *p->entry, geodec__weights_by_place);
        for (int64_t i = 0; i < p->n; i++) p->order[i] = &p->entry[i];
        qsort(p->order, (size_t)p->n, sizeof *p->order, by_use);
        GEODEC_TRY(make_places(p, err));
    }
    atomic_init(&p->done, p->n == 0 || !p->data);
    if (kind == GEODEC__PREPARE_COLUMNS) GEODEC_TRY(pack_columns(p, err));
    *out = p;
    p = NULL;
done:
    geodec__prepare_free(p);
    return st;
}

geodec_status geodec__prepare_of(const geodec_model *model, geodec_arithmetic a, geodec__prepare_kind kind,
                                 geodec__prepare **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_model *m = (geodec_model *)(uintptr_t)model;
    pthread_mutex_lock(m->lazy);
    geodec__prepare **p = &m->prepared[kind][a];
    if (!*p) st = create(m, a, kind, p, err);
    *out = *p;
    pthread_mutex_unlock(m->lazy);
    return st;
}

void geodec__prepare_free(geodec__prepare *p)
{
    if (!p) return;
    geodec_mem_unmap(p->data, p->bytes);
    GEODEC_FREE(p->entry, p->order, p->place, p);
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

typedef struct moving {
    const entry *e;
    uint8_t *to;
    int64_t first; /* task of this step */
} moving;

static void move_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const moving *v = ctx;
    const entry *e = v->e;
    const int64_t unit = v->first + task, at = unit * e->unit;
    if (e->panels.format)
        geodec__panel_pack(e->panels.format, &e->w, unit, v->to + at);
    else
        memcpy(v->to + at, e->w.data + at, (size_t)(e->bytes - at < e->unit ? e->bytes - at : e->unit));
}

/* In steps, so that the file's copy and this one are never both in memory. */
static void move(const geodec_model *m, const geodec__prepare *p, entry *e, geodec_pool *pool)
{
    const int64_t units = (e->bytes + e->unit - 1) / e->unit, step = e->unit < STEP ? STEP / e->unit : 1;
    const int64_t size = e->w.rows * e->w.row_bytes;
    const int64_t read = e->panels.format ? GEODEC__PANEL * e->w.row_bytes : e->unit; /* bytes of the file in a unit */
    for (moving v = {.e = e, .to = p->data + e->at}; v.first < units; v.first += step) {
        const int64_t n = units - v.first < step ? units - v.first : step, at = v.first * read;
        geodec_pool_run_dynamic(pool, n, move_task, &v);
        geodec_gguf_release(m->gguf, e->w.data + at, (size_t)(size - at < n * read ? size - at : n * read));
    }
    atomic_store_explicit(&e->ready, true, memory_order_release);
}

static void move_share(const geodec_model *m, geodec__prepare *p, geodec_pool *pool, int64_t share)
{
    int64_t moved = 0;
    /* the file's pages that the first pass read must not stay in memory with the panels */
    if (p->kind == GEODEC__PREPARE_PANELS) geodec_gguf_release_all(m->gguf, NULL, 0);
    for (; p->next < p->n && moved < share; p->next++) {
        move(m, p, p->order[p->next], pool);
        moved += p->order[p->next]->bytes;
    }
    if (p->next < p->n) return;
    /* read-ahead pages are released too; rows of an embedding are read again when they are looked up */
    const geodec__matrix *rare = &m->embedding;
    const bool looked_up = p->kind == GEODEC__PREPARE_PANELS;
    geodec_gguf_release_all(m->gguf, looked_up ? rare->data : NULL,
                            looked_up ? (size_t)(rare->rows * rare->row_bytes) : 0);
    atomic_store_explicit(&p->done, true, memory_order_release);
}

void geodec__prepare_pass(const geodec_model *m, geodec__prepare *p, geodec_pool *pool, bool now)
{
    if (!p || atomic_load_explicit(&p->done, memory_order_acquire)) return;
    pthread_mutex_lock(m->lazy);
    if ((p->passes++ > 0 || now) && p->next < p->n)
        move_share(m, p, pool, p->kind == GEODEC__PREPARE_COPIES && !now ? p->bytes / PASSES : p->bytes);
    pthread_mutex_unlock(m->lazy);
}

/* ---- finding ----------------------------------------------------------------------------------------------------- */

static const entry *find(const geodec__prepare *p, const geodec__matrix *w)
{
    if (!p || p->n == 0) return NULL;
    const int64_t last = ((int64_t)1 << p->bits) - 1;
    for (int64_t at = hash(p, w->data); p->place[at] != 0; at = (at + 1) & last) {
        const entry *e = &p->entry[p->place[at] - 1];
        if (e->w.data == w->data) return e;
    }
    return NULL;
}

static const uint8_t *moved_to(const geodec__prepare *p, const entry *e)
{
    return atomic_load_explicit(&e->ready, memory_order_acquire) ? p->data + e->at : NULL;
}

geodec__panels geodec__prepare_find(const geodec__prepare *p, const geodec__matrix *w)
{
    const entry *e = find(p, w);
    if (!e) return (geodec__panels){0};
    geodec__panels panels = e->panels;
    panels.data = moved_to(p, e);
    return panels;
}

const uint8_t *geodec__prepare_data(const geodec__prepare *p, const geodec__matrix *w)
{
    const entry *e = find(p, w);
    const uint8_t *to = e ? moved_to(p, e) : NULL;
    return to ? to : w->data;
}

geodec__columns geodec__prepare_columns(const geodec__prepare *p, const geodec__matrix *w)
{
    const entry *e = find(p, w);
    return e ? e->columns : (geodec__columns){0};
}

bool geodec__prepare_empty(const geodec__prepare *p) { return p->n == 0; }
int64_t geodec__prepare_widest(const geodec__prepare *p) { return p->widest; }
