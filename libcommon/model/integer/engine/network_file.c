#include "integer/engine/network_file.h"

#include "base/mem.h"
#include "integer/engine/product_internal.h"
#include "integer/fixed/fixed.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 96 };
static const char VERSION[] = "geodec.integer.version", TABLES[] = "geodec.integer.tables",
                  SOURCE[] = "geodec.integer.source", STEPS[] = "geodec.integer.rope_steps",
                  LAYERS[] = "geodec.integer.layers";

bool geodec_network_file_is(const geodec_gguf *g) { return geodec_gguf_has(g, VERSION); }

static const char *key_of(const char *field, char key[NAME])
{
    (void)snprintf(key, NAME, "geodec.integer.%s", field);
    return key;
}

static const char *name_of(int32_t layer, const char *part, char name[NAME])
{
    (void)snprintf(name, NAME, "blk.%d.%s", layer, part);
    return name;
}

static const char *const expert_part[] = {"ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_down_exps.weight"};

/* ---- little-endian ----------------------------------------------------------------------------------------------- */

static int16_t get16(const uint8_t *p) { return (int16_t)(uint16_t)(p[0] | p[1] << 8); }
static int32_t get32(const uint8_t *p)
{
    return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

static void put(uint8_t *p, int64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) p[i] = (uint8_t)((uint64_t)v >> (8 * i));
}

/* ---- the parts of a file, in its order --------------------------------------------------------------------------- */

/* A matrix, or those of all experts (n of them, 3 apart); or a vector. */
typedef struct part {
    const char *name;
    geodec_panels16 *const *matrix; /* NULL: a vector */
    int32_t n;                      /* 0: not an expert's */
    const geodec_network_vector *vector;
} part;

typedef geodec_status (*part_fn)(void *ctx, const part *p, geodec_err *err);

static geodec_status each_part(const geodec_network *n, part_fn fn, void *ctx, geodec_err *err)
{
    char name[NAME];
    GEODEC_PASS(fn(ctx, &(part){.name = "token_embd.weight", .matrix = &n->embedding}, err));
    GEODEC_PASS(fn(ctx, &(part){.name = "output_norm.weight", .vector = &n->output_norm}, err));
    if (n->head != n->embedding) GEODEC_PASS(fn(ctx, &(part){.name = "output.weight", .matrix = &n->head}, err));
    for (int32_t i = 0; i < n->config.n_layer; i++) {
        const geodec_network_layer *l = &n->layer[i];
#define X(field, text)                                                                                                 \
    if (l->field.v) GEODEC_PASS(fn(ctx, &(part){.name = name_of(i, text, name), .vector = &l->field}, err));
        GEODEC_NETWORK_VECTORS(X)
#undef X
#define X(field, text)                                                                                                 \
    if (l->field) GEODEC_PASS(fn(ctx, &(part){.name = name_of(i, text, name), .matrix = &l->field}, err));
        GEODEC_NETWORK_MATRICES(X)
#undef X
        for (int k = 0; l->expert && k < 3; k++)
            GEODEC_PASS(
                fn(ctx,
                   &(part){.name = name_of(i, expert_part[k], name), .matrix = &l->expert[k], .n = n->config.n_expert},
                   err));
    }
    return GEODEC_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static geodec_status plan(void *ctx, const part *p, geodec_err *err)
{
    geodec_gguf_writer *w = ctx;
    char name[NAME + 16];
    if (!p->matrix) {
        const int64_t n = p->vector->n + 1;
        return geodec_gguf_plan_tensor(w, p->name, GEODEC_GGML_I32, 1, &n, err);
    }
    const geodec_panels16 *m = *p->matrix;
    const int dims = p->n ? 3 : 2;
    const int64_t codes[3] = {geodec_coded_row_bytes(m->cols, m->bits), m->rows, p->n};
    const int64_t multipliers[3] = {geodec_coded_blocks(m->cols), m->rows, p->n}, shifts[3] = {m->rows + 1, p->n, 1};
    GEODEC_PASS(geodec_gguf_plan_tensor(w, p->name, GEODEC_GGML_I8, dims, codes, err));
    (void)snprintf(name, sizeof name, "%s.multiplier", p->name);
    GEODEC_PASS(geodec_gguf_plan_tensor(w, name, GEODEC_GGML_I16, dims, multipliers, err));
    (void)snprintf(name, sizeof name, "%s.shift", p->name);
    return geodec_gguf_plan_tensor(w, name, GEODEC_GGML_I16, dims - 1, shifts, err);
}

static geodec_status write_codes(geodec_gguf_writer *w, const geodec_panels16 *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t bytes = geodec_coded_row_bytes(m->cols, m->bits);
    uint8_t *row;
    GEODEC_NEW(row, bytes);
    for (int64_t r = 0; r < m->rows; r++) {
        memset(row, 0, (size_t)bytes);
        for (int64_t c = 0; c < geodec_coded_blocks(m->cols) * GEODEC_CODED_BLOCK; c++) {
            const uint8_t *codes = geodec__product_codes(m, r / GEODEC__PRODUCT_ROWS, c / GEODEC_CODED_BLOCK);
            const int code =
                geodec__product_get(codes, m->bits, (int)(r % GEODEC__PRODUCT_ROWS), (int)(c % GEODEC_CODED_BLOCK));
            if (m->bits == 4)
                row[c / 2] = (uint8_t)(row[c / 2] | ((unsigned)code & 15) << (c % 2 ? 4 : 0));
            else
                put(row + c * m->bits / 8, code, m->bits / 8);
        }
        GEODEC_TRY(geodec_gguf_stream(w, row, (size_t)bytes, err));
    }
done:
    geodec_mem_free(row);
    return st;
}

static geodec_status write_multipliers(geodec_gguf_writer *w, const geodec_panels16 *m, geodec_err *err)
{
    uint8_t b[2];
    for (int64_t r = 0; r < m->rows; r++)
        for (int64_t k = 0; k < geodec_coded_blocks(m->cols); k++) {
            put(b, geodec__product_multipliers(m, r / GEODEC__PRODUCT_ROWS, k)[r % GEODEC__PRODUCT_ROWS], 2);
            GEODEC_PASS(geodec_gguf_stream(w, b, 2, err));
        }
    return GEODEC_OK;
}

static geodec_status write_shifts(geodec_gguf_writer *w, const geodec_panels16 *m, geodec_err *err)
{
    uint8_t b[2];
    for (int64_t r = 0; r <= m->rows; r++) {
        put(b, r < m->rows ? m->shift[r] : m->bits, 2);
        GEODEC_PASS(geodec_gguf_stream(w, b, 2, err));
    }
    return GEODEC_OK;
}

static geodec_status write_part(void *ctx, const part *p, geodec_err *err)
{
    geodec_gguf_writer *w = ctx;
    uint8_t b[4];
    for (int64_t i = 0; !p->matrix && i <= p->vector->n; i++) {
        put(b, i < p->vector->n ? p->vector->v[i] : p->vector->exponent, 4);
        GEODEC_PASS(geodec_gguf_stream(w, b, 4, err));
    }
    const int32_t n = !p->matrix ? 0 : p->n ? p->n : 1;
    for (int32_t e = 0; e < n; e++) GEODEC_PASS(write_codes(w, p->matrix[(int64_t)3 * e], err));
    for (int32_t e = 0; e < n; e++) GEODEC_PASS(write_multipliers(w, p->matrix[(int64_t)3 * e], err));
    for (int32_t e = 0; e < n; e++) GEODEC_PASS(write_shifts(w, p->matrix[(int64_t)3 * e], err));
    return GEODEC_OK;
}

static geodec_status put_numbers(geodec_gguf_writer *w, const geodec_network *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char key[NAME];
    const geodec_network_config *c = &n->config;
    const int64_t steps = (int64_t)2 * c->rope_tables * (c->rope_dim / 2);
    int32_t *words = NULL, *layers = NULL;
#define X(name) GEODEC_TRY(geodec_gguf_put_u32(w, key_of(#name, key), (uint32_t)c->name, err));
    GEODEC_NETWORK_NUMBERS(X)
#undef X
#define X(name)                                                                                                        \
    GEODEC_TRY(                                                                                                        \
        geodec_gguf_put_i32_array(w, key_of(#name, key), (int32_t[]){c->name.multiplier, c->name.shift}, 2, err));
    GEODEC_NETWORK_FACTORS(X)
#undef X
    GEODEC_NEW(words, 2 * steps);
    GEODEC_NEW(layers, 2 * (int64_t)c->n_layer);
    for (int64_t i = 0; i < steps; i++) {
        words[2 * i] = (int32_t)(uint32_t)n->step[i];
        words[2 * i + 1] = (int32_t)(uint32_t)(n->step[i] >> 32);
    }
    for (int32_t i = 0; i < c->n_layer; i++) {
        layers[2 * i] = n->layer[i].window;
        layers[2 * i + 1] = n->layer[i].rope;
    }
    GEODEC_TRY(geodec_gguf_put_i32_array(w, STEPS, words, 2 * steps, err));
    GEODEC_TRY(geodec_gguf_put_i32_array(w, LAYERS, layers, 2 * (int64_t)c->n_layer, err));
done:
    GEODEC_FREE(words, layers);
    return st;
}

geodec_status geodec_network_file_write(const char *path, const geodec_network *n, const geodec_gguf *source,
                                        const char *fingerprint, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf_writer *w = NULL;
    char digest[65];
    GEODEC_TRY(geodec_gguf_writer_create(path, &w, err));
    for (int64_t i = 0; source && i < geodec_gguf_n_keys(source); i++) {
        const char *key = geodec_gguf_key_at(source, i);
        if (strcmp(key, "general.file_type") == 0 || strcmp(key, "general.alignment") == 0) continue;
        GEODEC_TRY(geodec_gguf_put_copy(w, source, key, err));
    }
    geodec_fixed_digest(digest);
    GEODEC_TRY(geodec_gguf_put_u32(w, VERSION, GEODEC_NETWORK_FILE_VERSION, err));
    GEODEC_TRY(geodec_gguf_put_str(w, TABLES, digest, err));
    GEODEC_TRY(geodec_gguf_put_str(w, SOURCE, fingerprint, err));
    GEODEC_TRY(put_numbers(w, n, err));
    GEODEC_TRY(each_part(n, plan, w, err));
    GEODEC_TRY(each_part(n, write_part, w, err));
    geodec_gguf_writer *whole = w;
    w = NULL;
    GEODEC_TRY(geodec_gguf_writer_commit(whole, err));
done:
    geodec_gguf_writer_abandon(w);
    return st;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static geodec_status tensor(const geodec_gguf *g, const char *name, int type, const geodec_gguf_tensor **out,
                            geodec_err *err)
{
    const geodec_gguf_tensor *t = geodec_gguf_find(g, name);
    if (!t) GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s' is missing", name);
    if (t->type != type)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s' has type %s instead of %s", name, geodec_ggml_type_name(t->type),
                    geodec_ggml_type_name(type));
    *out = t;
    return GEODEC_OK;
}

/* A matrix that is to be filled, and where its rows are in the file. */
typedef struct filling {
    char name[NAME];
    geodec_panels16 *to;
    const uint8_t *code, *multiplier, *shift;
} filling;

typedef struct reading {
    const geodec_gguf *g;
    geodec_network *network;
    filling *matrix; /* [n] */
    int64_t n, room;
} reading;

/* Matrix e of n (0 of 1: not an expert's) of cols columns; its rows are filled at the end, all matrices together. */
static geodec_status read_matrix(reading *in, const char *name, int64_t cols, int64_t e, int64_t n,
                                 geodec_panels16 **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char other[NAME + 16];
    const geodec_gguf_tensor *code = NULL, *multiplier = NULL, *shift = NULL;
    GEODEC_TRY(tensor(in->g, name, GEODEC_GGML_I8, &code, err));
    (void)snprintf(other, sizeof other, "%s.multiplier", name);
    GEODEC_TRY(tensor(in->g, other, GEODEC_GGML_I16, &multiplier, err));
    (void)snprintf(other, sizeof other, "%s.shift", name);
    GEODEC_TRY(tensor(in->g, other, GEODEC_GGML_I16, &shift, err));
    const int64_t rows = code->dim[1], blocks = geodec_coded_blocks(cols);
    if (rows > GEODEC_CODED_ROWS || cols > GEODEC_CODED_COLS || multiplier->dim[0] != blocks ||
        multiplier->dim[1] != rows || shift->dim[0] != rows + 1 || code->dim[2] != n || multiplier->dim[2] != n ||
        shift->dim[1] != n || code->dim[3] != 1 || multiplier->dim[3] != 1 || shift->dim[2] != 1 || shift->dim[3] != 1)
        GEODEC_THROW(GEODEC_FORMAT, "the shapes of tensor '%s', its multipliers and its shifts differ", name);
    filling f = {.code = (const uint8_t *)code->data + e * rows * code->dim[0],
                 .multiplier = (const uint8_t *)multiplier->data + 2 * e * rows * blocks,
                 .shift = (const uint8_t *)shift->data + 2 * e * (rows + 1)};
    const int bits = get16(f.shift + 2 * rows);
    if ((bits != 4 && bits != 8 && bits != 16) || code->dim[0] != geodec_coded_row_bytes(cols, bits))
        GEODEC_THROW(GEODEC_FORMAT, "tensor '%s' has codes of %d bits in rows of %lld bytes", name, bits,
                     (long long)code->dim[0]);
    (void)snprintf(f.name, sizeof f.name, "%s", name);
    GEODEC_TRY_MSG(geodec_coded_room(rows, cols, bits, &in->network->area, out, err), "tensor '%s'", name);
    f.to = *out;
    GEODEC_GROW(in->matrix, in->n, in->room, 1);
    in->matrix[in->n++] = f;
done:
    return st;
}

enum { SLICE = 64 /* rows of a task */ };

typedef struct slice {
    const filling *matrix;
    int64_t first;
    bool failed;
} slice;

typedef struct fills {
    const geodec_gguf *g;
    char *digest;
    slice *slice;        /* [n] */
    int16_t *multiplier; /* [threads][each] */
    int64_t n, each;     /* each: SLICE blocks of the widest matrix */
} fills;

static geodec_status fill_slice(const fills *f, const slice *s, int16_t *multiplier, geodec_err *err)
{
    const filling *in = s->matrix;
    const int64_t blocks = geodec_coded_blocks(in->to->cols), left = in->to->rows - s->first;
    const int64_t rows = left < SLICE ? left : SLICE, bytes = geodec_coded_row_bytes(in->to->cols, in->to->bits);
    const uint8_t *multipliers = in->multiplier + 2 * s->first * blocks, *codes = in->code + s->first * bytes;
    const int most = in->to->bits == 16 ? (1 << GEODEC_CODED_MULTIPLIER_WIDE) - 1 : 32767;
    int16_t shift[SLICE];
    for (int64_t i = 0; i < rows * blocks; i++) {
        multiplier[i] = get16(multipliers + 2 * i);
        if (multiplier[i] > most || multiplier[i] < -most)
            GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': multiplier %lld is %d", in->name,
                        (long long)(s->first * blocks + i), multiplier[i]);
    }
    for (int64_t r = 0; r < rows; r++) shift[r] = get16(in->shift + 2 * (s->first + r));
    const geodec_coded c = {rows, in->to->cols, in->to->bits, codes, multiplier, shift};
    const geodec_status st = geodec_coded_fill(in->to, s->first, &c, err);
    if (st != GEODEC_OK) return geodec_err_add(err, st, __func__, __LINE__, "tensor '%s'", in->name);
    geodec_gguf_release(f->g, codes, (size_t)(rows * bytes));
    return GEODEC_OK;
}

/* Task 0 is the digest, which takes the longest; the slices follow. */
static void fill_task(void *ctx, int64_t task, int worker)
{
    fills *f = ctx;
    if (task > 0) {
        slice *s = &f->slice[task - 1];
        s->failed = fill_slice(f, s, f->multiplier + worker * f->each, NULL) != GEODEC_OK;
    } else if (f->digest) {
        geodec_gguf_file_digest(f->g, f->digest);
    }
}

static geodec_status fill(const reading *in, geodec_pool *pool, char *digest, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    fills f = {.g = in->g, .digest = digest};
    int64_t blocks = 0;
    for (int64_t i = 0; i < in->n; i++) {
        const geodec_panels16 *p = in->matrix[i].to;
        if (geodec_coded_blocks(p->cols) > blocks) blocks = geodec_coded_blocks(p->cols);
        f.n += (p->rows + SLICE - 1) / SLICE;
    }
    f.each = SLICE * blocks;
    GEODEC_NEW(f.slice, f.n);
    GEODEC_NEW(f.multiplier, geodec_pool_threads(pool) * f.each);
    int64_t n = 0;
    for (int64_t i = 0; i < in->n; i++)
        for (int64_t r = 0; r < in->matrix[i].to->rows; r += SLICE) f.slice[n++] = (slice){&in->matrix[i], r, false};
    geodec_pool_run_dynamic(pool, 1 + f.n, fill_task, &f);
    for (int64_t i = 0; i < f.n; i++) /* the first one that failed says why */
        if (f.slice[i].failed) GEODEC_TRY(fill_slice(&f, &f.slice[i], f.multiplier, err));
done:
    GEODEC_FREE(f.slice, f.multiplier);
    return st;
}

static geodec_status read_vector(const geodec_gguf *g, const char *name, geodec_network_vector *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_network_vector v = {0};
    const geodec_gguf_tensor *t = NULL;
    GEODEC_TRY(tensor(g, name, GEODEC_GGML_I32, &t, err));
    if (t->n_dims != 1 || t->dim[0] < 2) GEODEC_THROW(GEODEC_FORMAT, "tensor '%s' is no vector", name);
    v.n = t->dim[0] - 1;
    GEODEC_NEW(v.v, v.n);
    for (int64_t i = 0; i < v.n; i++) {
        v.v[i] = get32((const uint8_t *)t->data + 4 * i);
        if (v.v[i] > 1 << 30 || v.v[i] < -(1 << 30))
            GEODEC_THROW(GEODEC_FORMAT, "tensor '%s': number %lld is %d", name, (long long)i, v.v[i]);
    }
    v.exponent = get32((const uint8_t *)t->data + 4 * v.n);
    GEODEC_MOVE(*out, v);
done:
    geodec_mem_free(v.v);
    return st;
}

static geodec_status read_numbers(const geodec_gguf *g, geodec_network_config *c, geodec_err *err)
{
    char key[NAME];
    int64_t v;
    int32_t f[2];
#define X(name)                                                                                                        \
    GEODEC_PASS(geodec_gguf_get_i64(g, key_of(#name, key), &v, err));                                                  \
    if (v < 0 || v > INT32_MAX) GEODEC_FAIL(GEODEC_LIMIT, "key '%s' is %lld", key, (long long)v);                      \
    c->name = (int32_t)v;
    GEODEC_NETWORK_NUMBERS(X)
#undef X
#define X(name)                                                                                                        \
    GEODEC_PASS(geodec_gguf_array_i32(g, key_of(#name, key), f, 2, err));                                              \
    c->name = (geodec_network_factor){f[0], f[1]};
    GEODEC_NETWORK_FACTORS(X)
#undef X
    return geodec_network_check_numbers(c, err);
}

/* Columns of a matrix by its part. */
static int64_t cols_of(const geodec_network_config *c, const char *text)
{
    if (strcmp(text, "attn_output.weight") == 0) return (int64_t)c->n_head * c->head_dim;
    if (strcmp(text, "ffn_down.weight") == 0) return c->n_expert > 0 ? c->d_ff_dense : c->d_ff;
    if (strcmp(text, "ffn_down_shexp.weight") == 0) return c->d_ff_shared;
    if (strcmp(text, "ffn_down_exps.weight") == 0) return c->d_ff;
    return c->d_model;
}

static geodec_status read_layer(reading *in, int32_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char name[NAME];
    const geodec_network_config *c = &in->network->config;
    geodec_network_layer *l = &in->network->layer[i];
#define X(field, text)                                                                                                 \
    if (geodec_gguf_find(in->g, name_of(i, text, name))) GEODEC_TRY(read_vector(in->g, name, &l->field, err));
    GEODEC_NETWORK_VECTORS(X)
#undef X
#define X(field, text)                                                                                                 \
    if (geodec_gguf_find(in->g, name_of(i, text, name)))                                                               \
        GEODEC_TRY(read_matrix(in, name, cols_of(c, text), 0, 1, &l->field, err));
    GEODEC_NETWORK_MATRICES(X)
#undef X
    if (!geodec_gguf_find(in->g, name_of(i, expert_part[0], name))) return GEODEC_OK;
    GEODEC_NEW(l->expert, 3 * (int64_t)c->n_expert);
    for (int k = 0; k < 3; k++)
        for (int32_t e = 0; e < c->n_expert; e++)
            GEODEC_TRY(read_matrix(in, name_of(i, expert_part[k], name), cols_of(c, expert_part[k]), e, c->n_expert,
                                   &l->expert[3 * e + k], err));
done:
    return st;
}

static geodec_status read_arrays(const geodec_gguf *g, geodec_network *n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_network_config *c = &n->config;
    const int64_t steps = (int64_t)2 * c->rope_tables * (c->rope_dim / 2);
    int32_t *words = NULL, *layers = NULL;
    GEODEC_NEW(words, 2 * steps);
    GEODEC_NEW(layers, 2 * (int64_t)c->n_layer);
    GEODEC_NEW(n->step, steps);
    GEODEC_NEW(n->layer, c->n_layer);
    GEODEC_TRY(geodec_gguf_array_i32(g, STEPS, words, 2 * steps, err));
    GEODEC_TRY(geodec_gguf_array_i32(g, LAYERS, layers, 2 * (int64_t)c->n_layer, err));
    for (int64_t i = 0; i < steps; i++)
        n->step[i] = (uint64_t)(uint32_t)words[2 * i] | (uint64_t)(uint32_t)words[2 * i + 1] << 32;
    for (int32_t i = 0; i < c->n_layer; i++) {
        n->layer[i].window = layers[2 * i];
        n->layer[i].rope = layers[2 * i + 1];
        if (n->layer[i].window < 0) GEODEC_THROW(GEODEC_FORMAT, "layer %d has a negative window", i);
    }
done:
    GEODEC_FREE(words, layers);
    return st;
}

static geodec_status read_parts(reading *in, geodec_err *err)
{
    geodec_network *n = in->network;
    const char *tables;
    char digest[65];
    int64_t version;
    GEODEC_PASS(geodec_gguf_get_i64(in->g, VERSION, &version, err));
    if (version != GEODEC_NETWORK_FILE_VERSION)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "integer model of version %lld; this program reads %d", (long long)version,
                    GEODEC_NETWORK_FILE_VERSION);
    GEODEC_PASS(geodec_gguf_get_str(in->g, TABLES, &tables, err));
    geodec_fixed_digest(digest);
    if (strcmp(tables, digest) != 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "made with other tables (%.16s...) than those of this program (%.16s...)",
                    tables, digest);
    geodec_network_config c = {0};
    GEODEC_PASS(read_numbers(in->g, &c, err));
    n->config = c;
    GEODEC_PASS(read_arrays(in->g, n, err));
    GEODEC_PASS(read_matrix(in, "token_embd.weight", c.d_model, 0, 1, &n->embedding, err));
    n->head = n->embedding;
    if (!c.tied) {
        n->head = NULL;
        GEODEC_PASS(read_matrix(in, "output.weight", c.d_model, 0, 1, &n->head, err));
    }
    GEODEC_PASS(read_vector(in->g, "output_norm.weight", &n->output_norm, err));
    for (int32_t i = 0; i < c.n_layer; i++) GEODEC_PASS(read_layer(in, i, err));
    return geodec_network_check(n, err);
}

geodec_status geodec_network_file_read(const geodec_gguf *g, geodec_pool *pool, char digest[GEODEC_SHA256_HEX],
                                       geodec_network **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    reading in = {.g = g};
    GEODEC_NEW(in.network, 1);
    GEODEC_TRY_MSG(read_parts(&in, err), "%s", geodec_gguf_path(g));
    GEODEC_TRY_MSG(fill(&in, pool, digest, err), "%s", geodec_gguf_path(g));
    GEODEC_MOVE(*out, in.network);
done:
    geodec_network_free(in.network);
    geodec_mem_free(in.matrix);
    return st;
}
