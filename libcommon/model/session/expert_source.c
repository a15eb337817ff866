#include "session/expert_source_internal.h"

#include "base/mem.h"
#include "session/model_internal.h"
#include "session/ternary_internal.h"

#include <string.h>

static int64_t up64(int64_t n) { return (n + 63) / 64 * 64; }

static const geodec__matrix *matrix_of(const geodec__layer *l, int which)
{
    return which == GEODEC__EXPERT_GATE ? &l->gate : which == GEODEC__EXPERT_UP ? &l->up : &l->down;
}

/* Matrices of a layer, and whether they are packed after a read. */
static geodec_status describe(const geodec_model *m, geodec_arithmetic a, int32_t layer, geodec__expert_source *s,
                              geodec_err *err)
{
    const geodec__layer *l = &m->layer[layer];
    geodec__expert_matrix *x = s->matrix + (int64_t)layer * GEODEC__EXPERT_MATRICES;
    int64_t at = 0;
    if (!l->router.data) return GEODEC_OK;
    for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
        x[k].w = *matrix_of(l, k);
        x[k].w.data = NULL;
        x[k].w.expert = NULL;
        x[k].format = x[k].w.trits ? NULL : geodec__panel_format_in(a, x[k].w.type);
        x[k].packed = m->store && !m->trits && m->store->matrix[(int64_t)layer * GEODEC_STORE_MATRICES + k].packing;
        if (x[k].packed && !x[k].format)
            GEODEC_FAIL(
                GEODEC_UNSUPPORTED,
                "%s: the store's %s matrices are packed for fast arithmetic; use that, or build a store for exact",
                geodec_gguf_path(m->gguf), geodec_ggml_type_name(x[k].w.type));
        x[k].bytes = x[k].format ? geodec__expert_panels_bytes(x[k].format, x[k].w.rows, x[k].w.cols)
                                 : x[k].w.rows * x[k].w.row_bytes;
        x[k].at = at = up64(at);
        at += x[k].bytes;
        if (x[k].format && !x[k].packed) s->pack[layer] = true;
    }
    if (s->pack[layer]) {
        s->packs = true;
        const int64_t room = (at + GEODEC_BLOB_PAGE - 1) / GEODEC_BLOB_PAGE * GEODEC_BLOB_PAGE;
        if (room > s->blobs.slot_bytes) s->blobs.slot_bytes = room;
    }
    return GEODEC_OK;
}

/* Ranges of the file that hold the three matrices; ranges less than a page apart are read as one. */
static int pieces_of(const int64_t offset[GEODEC__EXPERT_MATRICES], const int64_t bytes[GEODEC__EXPERT_MATRICES],
                     geodec_blob_piece piece[GEODEC_BLOB_PIECES])
{
    int n = 0;
    for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
        geodec_blob_piece *last = n > 0 ? &piece[n - 1] : NULL;
        const int64_t gap = last ? offset[k] - (last->offset + last->bytes) : -1;
        if (gap >= 0 && gap < GEODEC_BLOB_PAGE)
            last->bytes += gap + bytes[k];
        else
            piece[n++] = (geodec_blob_piece){offset[k], bytes[k]};
    }
    return n;
}

/* Offset in the slot of a byte of the file that one of the pieces holds. */
static int64_t place_in_slot(const geodec_blob_piece *piece, int n, int64_t offset)
{
    int64_t at = 0;
    for (int i = 0; i < n; at += geodec_blobs_room(&piece[i++]))
        if (offset >= piece[i].offset && offset < piece[i].offset + piece[i].bytes)
            return at + piece[i].offset % GEODEC_BLOB_PAGE + offset - piece[i].offset;
    return 0;
}

static geodec_status place_expert(const geodec_model *m, int32_t layer, int32_t expert, geodec__expert_source *s,
                                  geodec_err *err)
{
    const int64_t i = (int64_t)layer * s->n_expert + expert;
    geodec_blob_piece *piece = s->blobs.piece + i * GEODEC_BLOB_PIECES;
    int64_t offset[GEODEC__EXPERT_MATRICES], bytes[GEODEC__EXPERT_MATRICES], room = 0;
    int n = 1;
    if (m->store) {
        piece[0] = m->store->blobs.piece[i * GEODEC_BLOB_PIECES];
        for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++)
            offset[k] = piece[0].offset + m->store->matrix[(int64_t)layer * GEODEC_STORE_MATRICES + k].at;
    } else {
        for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
            const geodec__matrix w = geodec__expert(matrix_of(&m->layer[layer], k), expert);
            offset[k] = geodec_gguf_offset(m->gguf, w.data);
            bytes[k] = w.rows * w.row_bytes;
            if (offset[k] < 0)
                GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: experts are read from a file, not from memory",
                            geodec_gguf_path(m->gguf));
        }
        n = pieces_of(offset, bytes, piece);
    }
    for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++)
        s->read_at[i * GEODEC__EXPERT_MATRICES + k] = place_in_slot(piece, n, offset[k]);
    for (int k = 0; k < n; k++) room += geodec_blobs_room(&piece[k]);
    if (room > s->blobs.slot_bytes) s->blobs.slot_bytes = room;
    return GEODEC_OK;
}

/* The files of a split model. */
static geodec_status list_parts(const geodec_model *m, geodec__expert_source *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t start, bytes, next;
    int32_t n = 0;
    const char *path;
    while (geodec_gguf_part_at(m->gguf, n, &start, &bytes)) n++;
    if (n == 1) goto done;
    GEODEC_NEW(s->blobs.file, n);
    for (; (path = geodec_gguf_part_at(m->gguf, s->blobs.n_files, &start, &bytes)); s->blobs.n_files++) {
        geodec_blob_file *f = &s->blobs.file[s->blobs.n_files];
        GEODEC_STRDUP(f->path, path);
        f->start = start;
        f->length = bytes;
        if (!geodec_gguf_part_at(m->gguf, s->blobs.n_files + 1, &next, &bytes))
            next = start + (f->length + GEODEC_BLOB_PAGE - 1) / GEODEC_BLOB_PAGE * GEODEC_BLOB_PAGE;
        f->bytes = next - start;
    }
done:
    return st;
}

/* The files of ternary experts and of their differences. */
static geodec_status copy_files(const geodec_model *m, geodec__expert_source *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_blobs *from = &m->store->blobs;
    s->trits = m->trits;
    GEODEC_NEW(s->blobs.file, from->n_files);
    for (; s->blobs.n_files < from->n_files; s->blobs.n_files++) {
        geodec_blob_file *f = &s->blobs.file[s->blobs.n_files];
        GEODEC_STRDUP(f->path, from->file[s->blobs.n_files].path);
        f->start = from->file[s->blobs.n_files].start;
        f->bytes = from->file[s->blobs.n_files].bytes;
    }
done:
    return st;
}

geodec_status geodec__expert_source_open(const geodec_model *m, geodec_arithmetic a, geodec__expert_source *out,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const char *path = geodec_model_path(m);
    geodec__expert_source s = {.n_layer = m->config.n_layer, .n_expert = m->config.n_expert};
    const int64_t n = (int64_t)s.n_layer * s.n_expert;
    if (s.n_expert == 0) GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: the model has no experts", path);
    GEODEC_STRDUP(s.blobs.path, path);
    s.blobs.n_layer = s.n_layer;
    s.blobs.n_expert = s.n_expert;
    GEODEC_NEW(s.matrix, (int64_t)s.n_layer * GEODEC__EXPERT_MATRICES);
    GEODEC_NEW(s.pack, s.n_layer);
    GEODEC_NEW(s.read_at, n * GEODEC__EXPERT_MATRICES);
    GEODEC_NEW(s.blobs.piece, n * GEODEC_BLOB_PIECES);
    s.blobs.file_bytes = m->store ? m->store->blobs.file_bytes : geodec_gguf_file_bytes(m->gguf);
    if (m->store) GEODEC_NEW_COPY(s.blobs.crc, m->store->blobs.crc, n);
    if (m->trits)
        GEODEC_TRY(copy_files(m, &s, err));
    else if (!m->store)
        GEODEC_TRY(list_parts(m, &s, err));
    for (int32_t i = 0; i < s.n_layer; i++) {
        GEODEC_TRY(describe(m, a, i, &s, err));
        for (int32_t e = 0; m->layer[i].router.data && e < s.n_expert; e++) GEODEC_TRY(place_expert(m, i, e, &s, err));
    }
    GEODEC_MOVE(*out, s);
done:
    geodec__expert_source_clear(&s);
    return st;
}

void geodec__expert_source_clear(geodec__expert_source *s)
{
    geodec_blobs_clear(&s->blobs);
    GEODEC_FREE(s->matrix, s->pack, s->read_at);
    memset(s, 0, sizeof *s);
}

/* ---- after a read ------------------------------------------------------------------------------------------------ */

typedef struct packing {
    const geodec__expert_matrix *x;
    geodec__matrix w[GEODEC__EXPERT_MATRICES];  /* in the slot, as read */
    int64_t first[GEODEC__EXPERT_MATRICES + 1]; /* task of each matrix: its panels, or one copy */
    uint8_t *to;
} packing;

static void pack_task(void *ctx, int64_t task, int worker)
{
    (void)worker;
    const packing *p = ctx;
    int k = 0;
    while (task >= p->first[k + 1]) k++;
    const geodec__expert_matrix *x = &p->x[k];
    if (!x->format || x->packed) {
        memcpy(p->to + x->at, p->w[k].data, (size_t)x->bytes);
        return;
    }
    const int64_t panel = task - p->first[k], unit = x->bytes / geodec__panels_count(x->w.rows);
    geodec__panel_pack(x->format, &p->w[k], panel, p->to + x->at + panel * unit);
}

void geodec__expert_source_pack(const geodec__expert_source *s, int32_t layer, int32_t expert, const uint8_t *slot,
                                uint8_t *to, geodec_pool *pool)
{
    const geodec__expert_matrix *x = s->matrix + (int64_t)layer * GEODEC__EXPERT_MATRICES;
    const int64_t *at = s->read_at + ((int64_t)layer * s->n_expert + expert) * GEODEC__EXPERT_MATRICES;
    packing p = {.x = x, .to = to};
    for (int k = 0; k < GEODEC__EXPERT_MATRICES; k++) {
        p.w[k] = x[k].w;
        p.w[k].data = slot + at[k];
        p.first[k + 1] = p.first[k] + (x[k].format && !x[k].packed ? geodec__panels_count(x[k].w.rows) : 1);
    }
    geodec_pool_run_dynamic(pool, p.first[GEODEC__EXPERT_MATRICES], pack_task, &p);
}

geodec_status geodec__expert_source_check(const geodec__expert_source *s, int32_t layer, int32_t expert,
                                          const uint8_t *slot, const char *path, geodec_err *err)
{
    if (s->trits)
        GEODEC_PASS_MSG(geodec_trit_check(&s->trits->shape, layer, expert, slot, err), "%s: layer %d, expert %d", path,
                        layer, expert);
    return GEODEC_OK;
}

geodec__matrix geodec__expert_source_find(const geodec__expert_source *s, int32_t layer, int32_t expert, int which,
                                          const uint8_t *slot, geodec__panels *panels)
{
    const geodec__expert_matrix *x = s->matrix + (int64_t)layer * GEODEC__EXPERT_MATRICES + which;
    const int64_t at =
        s->pack[layer] ? x->at : s->read_at[((int64_t)layer * s->n_expert + expert) * GEODEC__EXPERT_MATRICES + which];
    geodec__matrix w = x->w;
    w.data = slot + at;
    if (s->trits) {
        geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
        geodec_trit_matrices(&s->trits->shape, slot, m);
        w.scale = m[which].scale;
        w.row_scale = m[which].row_scale;
    }
    *panels = (geodec__panels){0};
    if (x->format)
        *panels = (geodec__panels){
            .format = x->format, .data = w.data, .rows = w.rows, .records = w.cols / (32 * x->format->blocks)};
    return w;
}
