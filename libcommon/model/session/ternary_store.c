#include "session/ternary_store.h"
#include "session/arch_internal.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "io/file.h"
#include "io/folder_lock.h"
#include "session/model_internal.h"
#include "session/store_golden.h"
#include "session/ternary_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- building --------------------------------------------------------------------------------------------------- */

typedef struct builder {
    const geodec_model *m;
    geodec_trit_table table;
    const char *folder;
    const geodec_hooks *hooks;
    float *row;                          /* [max(d, f)] a decoded row */
    int8_t *t;                           /* its trits */
    uint8_t *data[GEODEC_TRIT_MATRICES]; /* packed */
    float *scale[GEODEC_TRIT_MATRICES];  /* [1] or [rows] */
} builder;

static void clear_builder(builder *b)
{
    geodec_trit_table_clear(&b->table);
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) GEODEC_FREE(b->data[k], b->scale[k]);
    GEODEC_FREE(b->row, b->t);
}

/* Layers with experts, which all have one width. */
static geodec_status plan(builder *b, const geodec_ternary_build *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &b->m->config;
    geodec_trit_table *t = &b->table;
    const char *part = geodec__model_part_beyond(b->m);
    if (part) GEODEC_THROW(GEODEC_UNSUPPORTED, "ternary experts of a model with %s", part);
    GEODEC_NEW(t->layer, c->n_layer);
    GEODEC_NEW(t->crc, c->n_expert);
    for (int32_t i = 0; i < c->n_layer; i++) {
        const geodec__layer *l = &b->m->layer[i];
        if (!l->router.data) continue;
        if (l->gate.rows != c->d_ff || l->down.rows != c->d_model)
            GEODEC_THROW(GEODEC_UNSUPPORTED, "layer %d: experts of another width", i);
        t->layer[t->shape.layers++] = i;
        t->type = l->gate.type;
    }
    t->n_layer = c->n_layer;
    t->n_expert = c->n_expert;
    t->shape.d = c->d_model;
    t->shape.f = c->d_ff;
    t->shape.encoding = o->encoding;
    t->shape.by_row = o->by_row;
    memcpy(t->fingerprint, geodec_model_fingerprint(b->m), sizeof t->fingerprint);
    t->shape.model = geodec_trit_table_model(t->fingerprint);
    GEODEC_TRY(geodec_trit_shape_check(&t->shape, err));
    const int64_t wide = c->d_model > c->d_ff ? c->d_model : c->d_ff;
    GEODEC_NEW(b->row, wide);
    GEODEC_NEW(b->t, wide);
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        const int64_t rows = k < 2 ? c->d_ff : c->d_model, cols = k < 2 ? c->d_model : c->d_ff;
        GEODEC_NEW(b->data[k], rows * geodec_ternary_row_bytes(o->encoding, cols));
        GEODEC_NEW(b->scale[k], o->by_row ? rows : 1);
    }
done:
    return st;
}

static geodec_status pack_matrix(builder *b, const geodec__matrix *w, int k, geodec_ternary_matrix *out,
                                 geodec_err *err)
{
    static const char *const name[] = {"gate", "up", "down"};
    const geodec_trit_shape *s = &b->table.shape;
    const geodec_ggml_traits *type = geodec_ggml_traits_of(w->type);
    const int64_t bytes = geodec_ternary_row_bytes(s->encoding, w->cols);
    if (!type->decode)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "weights of type %s cannot be read", geodec_ggml_type_name(w->type));
    b->scale[k][0] = 0;
    for (int64_t o = 0; o < w->rows; o++) {
        float *scale = &b->scale[k][s->by_row ? o : 0];
        if (s->by_row) *scale = 0;
        type->decode(w->data + o * w->row_bytes, b->row, w->cols);
        const int64_t bad = geodec_ternary_collect(b->row, w->cols, scale, b->t);
        if (bad >= 0)
            GEODEC_FAIL(GEODEC_UNSUPPORTED,
                        "matrix '%s' is not ternary: row %lld, column %lld is %g, and weights before it are 0 or +-%g",
                        name[k], (long long)o, (long long)bad, (double)b->row[bad], (double)*scale);
        geodec_ternary_pack(s->encoding, b->t, w->cols, b->data[k] + o * bytes);
    }
    *out = (geodec_ternary_matrix){.encoding = s->encoding,
                                   .rows = w->rows,
                                   .cols = w->cols,
                                   .data = b->data[k],
                                   .scale = s->by_row ? 0 : b->scale[k][0],
                                   .row_scale = s->by_row ? b->scale[k] : NULL};
    return GEODEC_OK;
}

static geodec_status write_layer(builder *b, geodec_trit_writer *w, int32_t layer, int32_t expert, geodec_err *err)
{
    const geodec__layer *l = &b->m->layer[layer];
    const geodec__matrix *const many[] = {&l->gate, &l->up, &l->down};
    geodec_ternary_matrix m[GEODEC_TRIT_MATRICES];
    for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
        const geodec__matrix one = geodec__expert(many[k], expert);
        GEODEC_PASS_MSG(pack_matrix(b, &one, k, &m[k], err), "layer %d, expert %d", layer, expert);
        geodec_gguf_release(b->m->gguf, one.data, (size_t)(one.rows * one.row_bytes));
    }
    GEODEC_PASS(geodec_trit_writer_blob(w, layer, m, err));
    return GEODEC_OK;
}

static geodec_status write_expert(builder *b, int32_t expert, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trit_writer *w = NULL;
    geodec_trit f = {.fd = -1};
    char *path = NULL;
    GEODEC_TRY(geodec_trit_table_path(b->folder, expert, -1, &path, err));
    GEODEC_TRY(geodec_trit_writer_create(path, &b->table.shape, expert, &w, err));
    for (int32_t i = 0; i < b->table.shape.layers; i++) GEODEC_TRY(write_layer(b, w, b->table.layer[i], expert, err));
    st = geodec_trit_writer_commit(w, err);
    w = NULL;
    GEODEC_TRY(st);
    GEODEC_TRY(geodec_trit_open(path, &f, err));
    b->table.crc[expert] = f.header_crc;
done:
    geodec_trit_writer_abandon(w);
    geodec_trit_close(&f);
    geodec_mem_free(path);
    return st;
}

static geodec_status write_edge(builder *b, geodec_trit_edge *e, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trit from = {.fd = -1}, to = {.fd = -1};
    geodec_trd f = {.fd = -1};
    char *path = NULL;
    GEODEC_TRY(geodec_trit_table_expert(&b->table, b->folder, e->a, &from, err));
    GEODEC_TRY(geodec_trit_table_expert(&b->table, b->folder, e->b, &to, err));
    GEODEC_TRY(geodec_trit_table_path(b->folder, e->a, e->b, &path, err));
    GEODEC_TRY(geodec_trd_write(path, &from, &to, NULL, err));
    GEODEC_TRY(geodec_trd_open(path, &f, err));
    e->crc = f.header_crc;
done:
    geodec_trit_close(&from);
    geodec_trit_close(&to);
    geodec_trd_close(&f);
    geodec_mem_free(path);
    return st;
}

static geodec_status write_edges(builder *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_model_config *c = &b->m->config;
    int32_t(*edge)[2] = NULL;
    if (c->expert_lattice[0] < 1)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: the model names no lattice, so no experts are neighbours",
                     geodec_gguf_path(b->m->gguf));
    const int64_t n = geodec_torus_edges(c->expert_lattice, NULL);
    if (n > GEODEC_TRIT_TABLE_EDGES) GEODEC_THROW(GEODEC_LIMIT, "%lld edges of the lattice", (long long)n);
    if (n == 0) goto done;
    GEODEC_NEW(edge, n);
    GEODEC_NEW(b->table.edge, n);
    (void)geodec_torus_edges(c->expert_lattice, edge);
    for (int64_t i = 0; i < n; i++) {
        GEODEC_TRY(geodec_hooks_progress(b->hooks, "differences", i, n, err));
        b->table.edge[i] = (geodec_trit_edge){.a = edge[i][0], .b = edge[i][1]};
        GEODEC_TRY(write_edge(b, &b->table.edge[i], err));
    }
    b->table.n_edges = (int32_t)n;
done:
    geodec_mem_free(edge);
    return st;
}

/* Size and CRC of a whole file. */
static geodec_status sum_file(const char *path, int64_t *bytes, uint32_t *crc, geodec_err *err)
{
    geodec_file_map map;
    GEODEC_PASS(geodec_file_map_open(path, &map, err));
    *bytes = (int64_t)map.size;
    *crc = geodec_crc32c(0, map.data, *bytes);
    geodec_file_map_close(&map);
    return GEODEC_OK;
}

static geodec_status write_rest(builder *b, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atomic *file = NULL;
    char *path = NULL;
    GEODEC_TRY(geodec_trit_table_path(b->folder, -1, -1, &path, err));
    GEODEC_TRY(geodec_atomic_open(path, &file, err));
    GEODEC_TRY(geodec__store_write_resident(b->m, file, b->hooks, err));
    st = geodec_atomic_commit(file, err);
    file = NULL;
    GEODEC_TRY(st);
    GEODEC_TRY(sum_file(path, &b->table.resident_bytes, &b->table.resident_crc, err));
done:
    geodec_atomic_abandon(file);
    geodec_mem_free(path);
    return st;
}

static geodec_status prepare_folder(const char *folder, int *lock, geodec_err *err)
{
    char *table = NULL;
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) GEODEC_FAIL(GEODEC_IO, "%s: %s", folder, strerror(errno));
    GEODEC_PASS(geodec_folder_lock(folder, lock, err));
    GEODEC_PASS(geodec_mem_print(&table, err, "%s/%s", folder, GEODEC_TRIT_TABLE_NAME));
    const int e = unlink(table) == 0 ? 0 : errno;
    geodec_mem_free(table);
    if (e != 0 && e != ENOENT) GEODEC_FAIL(GEODEC_IO, "%s: %s", folder, strerror(e));
    return GEODEC_OK;
}

/* The logits are those of the GGUF if its products are sums of float32 of all weights, too. */
static geodec_status make_golden(builder *b, geodec_pool *pool, geodec_err *err)
{
    geodec_store_golden g;
    const geodec_ggml_product product = geodec_ggml_traits_of(b->table.type)->product;
    if (product != GEODEC_GGML_FLOATS && product != GEODEC_GGML_DECODED) return GEODEC_OK;
    GEODEC_PASS(geodec_store_golden_make(geodec_gguf_path(b->m->gguf), pool, &g, err));
    b->table.n_golden = g.n;
    memcpy(b->table.golden, g.token, sizeof b->table.golden);
    memcpy(b->table.golden_crc, g.crc, sizeof b->table.golden_crc);
    return GEODEC_OK;
}

geodec_status geodec_ternary_store_build(const geodec_model *m, const geodec_ternary_build *o, const char *folder,
                                         geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    builder b = {.m = m, .folder = folder, .hooks = hooks};
    int lock = -1;
    GEODEC_TRY(geodec__model_resident(m, err));
    if (m->config.n_expert == 0)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "%s: the model has no experts", geodec_gguf_path(m->gguf));
    if (m->config.n_expert > GEODEC_TRIT_TABLE_EXPERTS || m->config.n_layer > GEODEC_TRIT_LAYERS)
        GEODEC_THROW(GEODEC_LIMIT, "%d layers of %d experts", m->config.n_layer, m->config.n_expert);
    GEODEC_TRY_MSG(plan(&b, o, err), "%s", geodec_gguf_path(m->gguf));
    GEODEC_TRY(prepare_folder(folder, &lock, err));
    for (int32_t e = 0; e < m->config.n_expert; e++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "experts", e, m->config.n_expert, err));
        GEODEC_TRY_MSG(write_expert(&b, e, err), "%s", geodec_gguf_path(m->gguf));
    }
    if (o->differences) GEODEC_TRY(write_edges(&b, err));
    GEODEC_TRY(write_rest(&b, err));
    GEODEC_TRY(make_golden(&b, pool, err));
    GEODEC_TRY(geodec_trit_table_write(folder, &b.table, err));
done:
    geodec_folder_unlock(lock);
    clear_builder(&b);
    return st;
}

/* ---- opening ---------------------------------------------------------------------------------------------------- */

static geodec_status add_file(geodec_blobs *b, const char *path, int64_t bytes, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_blob_file *f = &b->file[b->n_files];
    GEODEC_STRDUP(f->path, path);
    f->start = b->file_bytes;
    f->bytes = bytes;
    b->n_files++;
    b->file_bytes += bytes;
done:
    return st;
}

/* Three matrices of every layer with experts, one after the other behind the prefix of a payload. */
static void place_matrices(const geodec_trit_table *t, geodec_store *s)
{
    for (int32_t i = 0; i < t->shape.layers; i++) {
        int64_t at = GEODEC_TRIT_PREFIX;
        for (int k = 0; k < GEODEC_TRIT_MATRICES; k++) {
            const int64_t rows = k < 2 ? t->shape.f : t->shape.d, cols = k < 2 ? t->shape.d : t->shape.f;
            const int64_t bytes = rows * geodec_ternary_row_bytes(t->shape.encoding, cols);
            s->matrix[(int64_t)t->layer[i] * GEODEC_STORE_MATRICES + k] =
                (geodec_store_matrix){.type = GEODEC_GGML_F32,
                                      .packing = GEODEC_STORE_TRITS,
                                      .rows = rows,
                                      .cols = cols,
                                      .at = at,
                                      .bytes = bytes};
            at += bytes;
        }
    }
}

static void place_blobs(const geodec_trit *f, geodec_store *s)
{
    const int64_t start = s->blobs.file[f->expert].start;
    for (int32_t i = 0; i < f->shape.layers; i++) {
        const int64_t blob = (int64_t)f->entry[i].layer * s->blobs.n_expert + f->expert;
        s->blobs.piece[blob * GEODEC_BLOB_PIECES] = (geodec_blob_piece){start + f->entry[i].offset, f->payload_bytes};
        s->blobs.crc[blob] = f->entry[i].crc;
    }
}

/* The files are opened again by the reader of the disk. */
static void close_file(int *fd)
{
    if (*fd >= 0) (void)close(*fd);
    *fd = -1;
}

static geodec_status new_store(const char *folder, const geodec_trit_table *t, geodec_store *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t blobs = (int64_t)t->n_layer * t->n_expert;
    GEODEC_STRDUP(s->blobs.path, folder);
    s->blobs.n_layer = t->n_layer;
    s->blobs.n_expert = t->n_expert;
    s->blobs.slot_bytes = geodec_trit_stride(&t->shape);
    GEODEC_NEW(s->blobs.file, t->n_expert + t->n_edges);
    GEODEC_NEW(s->blobs.piece, blobs * GEODEC_BLOB_PIECES);
    GEODEC_NEW(s->blobs.crc, blobs);
    GEODEC_NEW(s->matrix, (int64_t)t->n_layer * GEODEC_STORE_MATRICES);
    place_matrices(t, s);
    s->resident_bytes = t->resident_bytes;
    s->resident_crc = t->resident_crc;
    s->trits = t->shape.encoding;
    s->golden.n = t->n_golden;
    memcpy(s->golden.token, t->golden, sizeof s->golden.token);
    memcpy(s->golden.crc, t->golden_crc, sizeof s->golden.crc);
    memcpy(s->fingerprint, t->fingerprint, sizeof s->fingerprint);
done:
    return st;
}

geodec_status geodec__ternary_store_open(const char *folder, geodec_store *store, geodec__trits *trits, char **resident,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trit_table t = {0};
    geodec_store s = {0};
    geodec__trits x = {0};
    geodec_trit *expert = NULL;
    GEODEC_TRY(geodec_trit_table_read(folder, &t, err));
    x.shape = t.shape;
    GEODEC_TRY(new_store(folder, &t, &s, err));
    GEODEC_NEW(expert, t.n_expert);
    if (t.n_edges > 0) GEODEC_NEW(x.edge, t.n_edges);
    for (int32_t e = 0; e < t.n_expert; e++) {
        GEODEC_TRY(geodec_trit_table_expert(&t, folder, e, &expert[e], err));
        close_file(&expert[e].fd);
        GEODEC_TRY(add_file(&s.blobs, expert[e].path, expert[e].file_bytes, err));
        place_blobs(&expert[e], &s);
    }
    for (; x.n_edges < t.n_edges; x.n_edges++) {
        geodec_trd *f = &x.edge[x.n_edges];
        const geodec_trit_edge *e = &t.edge[x.n_edges];
        GEODEC_TRY(geodec_trit_table_edge(&t, folder, x.n_edges, &expert[e->a], &expert[e->b], f, err));
        close_file(&f->fd);
        GEODEC_TRY(add_file(&s.blobs, f->path, f->file_bytes, err));
    }
    GEODEC_TRY(geodec_trit_table_path(folder, -1, -1, resident, err));
    GEODEC_MOVE(*store, s);
    GEODEC_MOVE(*trits, x);
done:
    for (int32_t e = 0; expert && e < t.n_expert; e++) geodec_trit_close(&expert[e]);
    geodec_mem_free(expert);
    geodec_trit_table_clear(&t);
    geodec_store_clear(&s);
    geodec__ternary_store_clear(&x);
    return st;
}

void geodec__ternary_store_clear(geodec__trits *t)
{
    for (int32_t i = 0; i < t->n_edges && t->edge; i++) geodec_trd_close(&t->edge[i]);
    geodec_mem_free(t->edge);
    *t = (geodec__trits){0};
}

/* ---- verification ----------------------------------------------------------------------------------------------- */

static geodec_status verify_rest(const geodec_trit_table *t, const char *folder, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    int64_t bytes;
    uint32_t crc;
    GEODEC_TRY(geodec_trit_table_path(folder, -1, -1, &path, err));
    GEODEC_TRY(sum_file(path, &bytes, &crc, err));
    if (bytes != t->resident_bytes)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: has %lld bytes, and the table %lld", path, (long long)bytes,
                     (long long)t->resident_bytes);
    if (crc != t->resident_crc) GEODEC_THROW(GEODEC_CHECKSUM, "%s: does not match its CRC-32C", path);
done:
    geodec_mem_free(path);
    return st;
}

geodec_status geodec_ternary_store_verify_resident(const char *folder, geodec_err *err)
{
    geodec_trit_table t = {0};
    GEODEC_PASS(geodec_trit_table_read(folder, &t, err));
    const geodec_status st = verify_rest(&t, folder, err);
    geodec_trit_table_clear(&t);
    return st;
}

static geodec_status verify_edge(const geodec_trit_table *t, const char *folder, int32_t i, geodec_trit *expert,
                                 geodec_err *err)
{
    const geodec_trit *a = &expert[t->edge[i].a], *b = &expert[t->edge[i].b];
    geodec_trd f = {.fd = -1};
    GEODEC_PASS(geodec_trit_table_edge(t, folder, i, a, b, &f, err));
    const geodec_status st = geodec_trd_verify(f.path, a, b, NULL, err);
    geodec_trd_close(&f);
    return st;
}

geodec_status geodec_ternary_store_verify(const char *folder, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_trit_table t = {0};
    geodec_trit *expert = NULL;
    GEODEC_TRY(geodec_trit_table_read(folder, &t, err));
    GEODEC_TRY(verify_rest(&t, folder, err));
    GEODEC_NEW(expert, t.n_expert);
    for (int32_t e = 0; e < t.n_expert; e++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "experts", e, t.n_expert, err));
        GEODEC_TRY(geodec_trit_table_expert(&t, folder, e, &expert[e], err));
        GEODEC_TRY(geodec_trit_verify(expert[e].path, NULL, err));
    }
    for (int32_t i = 0; i < t.n_edges; i++) {
        GEODEC_TRY(geodec_hooks_progress(hooks, "differences", i, t.n_edges, err));
        GEODEC_TRY(verify_edge(&t, folder, i, expert, err));
    }
done:
    for (int32_t e = 0; expert && e < t.n_expert; e++) geodec_trit_close(&expert[e]);
    geodec_mem_free(expert);
    geodec_trit_table_clear(&t);
    return st;
}
