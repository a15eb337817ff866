#include "ternary/table.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "gguf/gguf.h"
#include "io/file.h"
#include "ternary/header_internal.h"

#include <stdlib.h>

#define MAGIC "TRITTABL"
enum {
    VERSION = 8,
    BYTES = 12,
    LAYERS = 16,
    EXPERTS = 20,
    ROUTED = 24,
    EDGES = 28,
    WIDTH = 32,
    INNER = 36,
    ENCODING = 40,
    SCALES = 44,
    MODEL = 48,
    RESIDENT = 56,
    RESIDENT_CRC = 64,
    TYPE = 68,
    GOLDEN = 72,
    GOLDEN_IDS = 76,
    GOLDEN_CRC = 108,
    FINGERPRINT = 116,
    UNUSED = 180,
    LISTS = 256,
    DIGITS = GEODEC_SHA256_HEX - 1
};

uint64_t geodec_trit_table_model(const char *fingerprint)
{
    char digits[17] = {0};
    memcpy(digits, fingerprint, 16);
    return strtoull(digits, NULL, 16);
}

geodec_status geodec_trit_table_path(const char *folder, int32_t expert, int32_t b, char **out, geodec_err *err)
{
    if (expert < 0)
        GEODEC_PASS(geodec_mem_print(out, err, "%s/%s", folder, GEODEC_TRIT_RESIDENT_NAME));
    else if (b < 0)
        GEODEC_PASS(geodec_mem_print(out, err, "%s/expert_%03d.trit", folder, expert));
    else
        GEODEC_PASS(geodec_mem_print(out, err, "%s/delta_%03d_%03d.trd", folder, expert, b));
    return GEODEC_OK;
}

static geodec_status path_of_table(const char *folder, char **out, geodec_err *err)
{
    GEODEC_PASS(geodec_mem_print(out, err, "%s/%s", folder, GEODEC_TRIT_TABLE_NAME));
    return GEODEC_OK;
}

bool geodec_trit_table_is(const char *folder)
{
    char path[8192], head[sizeof MAGIC - 1];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, GEODEC_TRIT_TABLE_NAME);
    return n > 0 && (size_t)n < sizeof path && geodec_file_head(path, head, sizeof head) == sizeof head &&
           memcmp(head, MAGIC, sizeof head) == 0;
}

static int64_t bytes_of(int64_t routed, int64_t experts, int64_t edges)
{
    return LISTS + 4 * routed + 4 * experts + 8 * edges + 4;
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status read_numbers(const uint8_t *p, int64_t size, geodec_trit_table *t, geodec_err *err)
{
    const uint32_t layers = geodec__header_u32(p + LAYERS), experts = geodec__header_u32(p + EXPERTS),
                   routed = geodec__header_u32(p + ROUTED), edges = geodec__header_u32(p + EDGES),
                   by_row = geodec__header_u32(p + SCALES), golden = geodec__header_u32(p + GOLDEN),
                   d = geodec__header_u32(p + WIDTH), f = geodec__header_u32(p + INNER);
    if (layers < 1 || layers > GEODEC_TRIT_LAYERS || experts < 1 || experts > GEODEC_TRIT_TABLE_EXPERTS || routed < 1 ||
        routed > layers || edges > GEODEC_TRIT_TABLE_EDGES || d > GEODEC_TERNARY_COLUMNS || f > GEODEC_TERNARY_COLUMNS)
        GEODEC_FAIL(GEODEC_LIMIT, "%u layers, %u of them with %u experts of %u x %u, and %u differences", layers,
                    routed, experts, f, d, edges);
    if (bytes_of(routed, experts, edges) != size || geodec__header_u32(p + BYTES) != size)
        GEODEC_FAIL(GEODEC_FORMAT, "has %lld bytes, which do not fit its numbers", (long long)size);
    if (by_row > 1 || golden > GEODEC_TRIT_TABLE_GOLDEN || !geodec__header_zeros(p + UNUSED, LISTS - UNUSED))
        GEODEC_FAIL(GEODEC_FORMAT, "the numbers are damaged");
    t->shape = (geodec_trit_shape){.layers = (int32_t)routed,
                                   .d = (int32_t)d,
                                   .f = (int32_t)f,
                                   .encoding = (int32_t)geodec__header_u32(p + ENCODING),
                                   .by_row = by_row == 1,
                                   .model = (uint64_t)geodec__header_i64(p + MODEL)};
    GEODEC_PASS(geodec_trit_shape_check(&t->shape, err));
    t->n_layer = (int32_t)layers;
    t->n_expert = (int32_t)experts;
    t->n_edges = (int32_t)edges;
    t->resident_bytes = geodec__header_i64(p + RESIDENT);
    t->resident_crc = geodec__header_u32(p + RESIDENT_CRC);
    t->type = (int32_t)geodec__header_u32(p + TYPE);
    t->n_golden = (int32_t)golden;
    memcpy(t->golden, p + GOLDEN_IDS, sizeof t->golden);
    memcpy(t->golden_crc, p + GOLDEN_CRC, sizeof t->golden_crc);
    memcpy(t->fingerprint, p + FINGERPRINT, DIGITS);
    if (t->resident_bytes < 1 || !geodec_ggml_traits_of(t->type) ||
        strspn(t->fingerprint, "0123456789abcdef") != DIGITS ||
        geodec_trit_table_model(t->fingerprint) != t->shape.model)
        GEODEC_FAIL(GEODEC_FORMAT, "size, type or fingerprint is damaged");
    for (int32_t i = 0; i < t->n_golden; i++)
        if (t->golden[i] < 0) GEODEC_FAIL(GEODEC_FORMAT, "the golden prompt is damaged");
    return GEODEC_OK;
}

static geodec_status read_lists(const uint8_t *p, geodec_trit_table *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_NEW(t->layer, t->shape.layers);
    GEODEC_NEW(t->crc, t->n_expert);
    if (t->n_edges > 0) GEODEC_NEW(t->edge, t->n_edges);
    for (int32_t i = 0; i < t->shape.layers; i++, p += 4) {
        const uint32_t layer = geodec__header_u32(p);
        if (layer >= (uint32_t)t->n_layer || (i > 0 && (int32_t)layer <= t->layer[i - 1]))
            GEODEC_THROW(GEODEC_FORMAT, "layers do not ascend");
        t->layer[i] = (int32_t)layer;
    }
    for (int32_t i = 0; i < t->n_expert; i++, p += 4) t->crc[i] = geodec__header_u32(p);
    for (int32_t i = 0; i < t->n_edges; i++, p += 8) {
        geodec_trit_edge *e = &t->edge[i];
        const geodec_trit_edge *before = i > 0 ? e - 1 : NULL;
        *e = (geodec_trit_edge){geodec__header_u16(p), geodec__header_u16(p + 2), geodec__header_u32(p + 4)};
        if (e->a >= e->b || e->b >= t->n_expert ||
            (before && (before->a > e->a || (before->a == e->a && before->b >= e->b))))
            GEODEC_THROW(GEODEC_FORMAT, "differences do not ascend");
    }
done:
    return st;
}

static geodec_status parse(const uint8_t *p, int64_t size, geodec_trit_table *t, geodec_err *err)
{
    if (size < LISTS + 4 || memcmp(p, MAGIC, sizeof MAGIC - 1) != 0)
        GEODEC_FAIL(GEODEC_FORMAT, "not a table of ternary experts");
    const uint32_t version = geodec__header_u32(p + VERSION);
    if (version != GEODEC_TRIT_TABLE_VERSION)
        GEODEC_FAIL(GEODEC_VERSION, "version %u of a table of ternary experts is not supported (%d is)", version,
                    GEODEC_TRIT_TABLE_VERSION);
    if (geodec_crc32c(0, p, size - 4) != geodec__header_u32(p + size - 4))
        GEODEC_FAIL(GEODEC_CHECKSUM, "does not match its CRC-32C");
    GEODEC_PASS(read_numbers(p, size, t, err));
    GEODEC_PASS(read_lists(p + LISTS, t, err));
    return GEODEC_OK;
}

geodec_status geodec_trit_table_read(const char *folder, geodec_trit_table *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t most = bytes_of(GEODEC_TRIT_LAYERS, GEODEC_TRIT_TABLE_EXPERTS, GEODEC_TRIT_TABLE_EDGES);
    geodec_regular f = {.fd = -1};
    geodec_trit_table t = {0};
    char *path = NULL;
    uint8_t *p = NULL;
    GEODEC_TRY(path_of_table(folder, &path, err));
    GEODEC_TRY(geodec_regular_open(path, &f, err));
    if (f.size > most) GEODEC_THROW(GEODEC_LIMIT, "%s: %lld bytes are too many", path, (long long)f.size);
    GEODEC_NEW(p, f.size > 0 ? f.size : 1);
    GEODEC_TRY(geodec_regular_read(&f, 0, p, f.size, err));
    GEODEC_TRY_MSG(parse(p, f.size, &t, err), "%s", path);
    GEODEC_MOVE(*out, t);
done:
    geodec_regular_close(&f);
    geodec_trit_table_clear(&t);
    GEODEC_FREE(path, p);
    return st;
}

void geodec_trit_table_clear(geodec_trit_table *t)
{
    GEODEC_FREE(t->layer, t->crc, t->edge);
    *t = (geodec_trit_table){0};
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static void put_u32(uint8_t *p, uint32_t v) { geodec__header_put(p, &v, sizeof v); }

static void fill(const geodec_trit_table *t, int64_t size, uint8_t *p)
{
    const geodec_trit_shape *s = &t->shape;
    memcpy(p, MAGIC, sizeof MAGIC - 1);
    put_u32(p + VERSION, GEODEC_TRIT_TABLE_VERSION);
    put_u32(p + BYTES, (uint32_t)size);
    put_u32(p + LAYERS, (uint32_t)t->n_layer);
    put_u32(p + EXPERTS, (uint32_t)t->n_expert);
    put_u32(p + ROUTED, (uint32_t)s->layers);
    put_u32(p + EDGES, (uint32_t)t->n_edges);
    put_u32(p + WIDTH, (uint32_t)s->d);
    put_u32(p + INNER, (uint32_t)s->f);
    put_u32(p + ENCODING, (uint32_t)s->encoding);
    put_u32(p + SCALES, s->by_row);
    geodec__header_put(p + MODEL, &s->model, 8);
    geodec__header_put(p + RESIDENT, &t->resident_bytes, 8);
    put_u32(p + RESIDENT_CRC, t->resident_crc);
    put_u32(p + TYPE, (uint32_t)t->type);
    put_u32(p + GOLDEN, (uint32_t)t->n_golden);
    geodec__header_put(p + GOLDEN_IDS, t->golden, sizeof t->golden);
    geodec__header_put(p + GOLDEN_CRC, t->golden_crc, sizeof t->golden_crc);
    memcpy(p + FINGERPRINT, t->fingerprint, DIGITS);
    uint8_t *at = p + LISTS;
    for (int32_t i = 0; i < s->layers; i++, at += 4) put_u32(at, (uint32_t)t->layer[i]);
    for (int32_t i = 0; i < t->n_expert; i++, at += 4) put_u32(at, t->crc[i]);
    for (int32_t i = 0; i < t->n_edges; i++, at += 8) {
        put_u32(at, (uint32_t)t->edge[i].a | (uint32_t)t->edge[i].b << 16);
        put_u32(at + 4, t->edge[i].crc);
    }
    put_u32(at, geodec_crc32c(0, p, size - 4));
}

geodec_status geodec_trit_table_write(const char *folder, const geodec_trit_table *t, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t size = bytes_of(t->shape.layers, t->n_expert, t->n_edges);
    geodec_atomic *file = NULL;
    char *path = NULL;
    uint8_t *p = NULL;
    GEODEC_NEW(p, size);
    GEODEC_TRY(path_of_table(folder, &path, err));
    fill(t, size, p);
    GEODEC_TRY(geodec_atomic_open(path, &file, err));
    GEODEC_TRY(geodec_atomic_write(file, p, (size_t)size, err));
    st = geodec_atomic_commit(file, err);
    file = NULL;
    GEODEC_TRY(st);
done:
    geodec_atomic_abandon(file);
    GEODEC_FREE(path, p);
    return st;
}

/* ---- its files -------------------------------------------------------------------------------------------------- */

geodec_status geodec_trit_table_expert(const geodec_trit_table *t, const char *folder, int32_t expert, geodec_trit *out,
                                       geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *path = NULL;
    geodec_trit f = {.fd = -1};
    GEODEC_TRY(geodec_trit_table_path(folder, expert, -1, &path, err));
    GEODEC_TRY(geodec_trit_open(path, &f, err));
    GEODEC_TRY(geodec_trit_expect(&f, &t->shape, expert, err));
    for (int32_t i = 0; i < t->shape.layers; i++)
        if (f.entry[i].layer != t->layer[i])
            GEODEC_THROW(GEODEC_CHECKSUM, "%s: expert %d has layer %d, and the table layer %d", path, expert,
                         f.entry[i].layer, t->layer[i]);
    if (f.header_crc != t->crc[expert])
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: the header of expert %d is not that of the table", path, expert);
    GEODEC_MOVE(*out, f);
    f.fd = -1;
done:
    geodec_trit_close(&f);
    geodec_mem_free(path);
    return st;
}

geodec_status geodec_trit_table_edge(const geodec_trit_table *t, const char *folder, int32_t i, const geodec_trit *a,
                                     const geodec_trit *b, geodec_trd *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_trit_edge *e = &t->edge[i];
    char *path = NULL;
    geodec_trd f = {.fd = -1};
    GEODEC_TRY(geodec_trit_table_path(folder, e->a, e->b, &path, err));
    GEODEC_TRY(geodec_trd_open(path, &f, err));
    if (f.a != e->a || f.b != e->b || !geodec_trit_same_shape(&f.shape, &t->shape))
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: has experts %d and %d of model %016llx, not %d and %d of model %016llx",
                     path, f.a, f.b, (unsigned long long)f.shape.model, e->a, e->b, (unsigned long long)t->shape.model);
    if (f.header_crc != e->crc)
        GEODEC_THROW(GEODEC_CHECKSUM, "%s: the header of experts %d and %d is not that of the table", path, e->a, e->b);
    for (int32_t k = 0; k < t->shape.layers; k++)
        if (f.entry[k].layer != t->layer[k] || f.entry[k].crc_a != a->entry[k].crc ||
            f.entry[k].crc_b != b->entry[k].crc)
            GEODEC_THROW(GEODEC_CHECKSUM, "%s: layer %d, experts %d and %d: not the difference of these experts", path,
                         t->layer[k], e->a, e->b);
    GEODEC_MOVE(*out, f);
    f.fd = -1;
done:
    geodec_trd_close(&f);
    geodec_mem_free(path);
    return st;
}
