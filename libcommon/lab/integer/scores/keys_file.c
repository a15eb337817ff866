#include "base/crc32c.h"
#include "base/mem.h"
#include "gguf/order_internal.h"
#include "io/atomic.h"
#include "io/file.h"
#include "lab/integer/scores/keys.h"

#include <inttypes.h>

enum { VERSION = 1, REVERSED = 1, ALIGN = 64, RESERVED = 92, CHECKED = 124, MOST_EXPONENT = 1 << 20 };
static const uint32_t NO_MODULUS = UINT32_MAX;
static const char MAGIC[9] = "geodkeys";

/* ---- numbers of the header --------------------------------------------------------------------------------------- */

typedef struct header {
    uint32_t version, order, modulus[2];
    uint64_t n;
    uint32_t dim, step, layers, heads;
    uint64_t positions;
    uint32_t crc;
    uint8_t source[GEODEC_KEYS_SOURCE];
} header;

/* Copies the fields between h and the bytes after the magic, in their order. */
static void header_fields(header *h, uint8_t *bytes, bool write)
{
    struct {
        void *field;
        size_t width;
    } f[] = {{&h->version, 4}, {&h->order, 4},  {&h->modulus[0], 4}, {&h->modulus[1], 4}, {&h->n, 8},  {&h->dim, 4},
             {&h->step, 4},    {&h->layers, 4}, {&h->heads, 4},      {&h->positions, 8},  {&h->crc, 4}};
    uint8_t *at = bytes + sizeof MAGIC - 1;
    for (size_t i = 0; i < sizeof f / sizeof *f; at += f[i++].width)
        geodec__order_copy(write ? at : f[i].field, write ? f[i].field : at, 1, f[i].width);
    memcpy(write ? at : h->source, write ? h->source : at, sizeof h->source);
}

static uint32_t header_crc(const uint8_t *bytes) { return geodec_crc32c(0, bytes, CHECKED); }

static int64_t padding_of(int64_t heads, int64_t positions)
{
    const int64_t bytes = heads * positions * (int64_t)sizeof(int32_t);
    return (ALIGN - bytes % ALIGN) % ALIGN;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

typedef struct sink {
    geodec_atomic *file;
    uint32_t crc;
    uint8_t *room; /* a row of positions in the order of the file */
} sink;

/* n numbers of `width` bytes. */
static geodec_status put(sink *s, const void *data, int64_t n, size_t width, geodec_err *err)
{
    geodec__order_copy(s->room, data, (size_t)n, width);
    s->crc = geodec_crc32c(s->crc, s->room, n * (int64_t)width);
    return geodec_atomic_write(s->file, s->room, (size_t)n * width, err);
}

static int32_t least_exponent(const geodec_keys *k)
{
    int32_t least = INT32_MAX;
    for (int64_t h = 0; h < (int64_t)k->layers * k->heads; h++)
        for (int64_t p = 0; p < k->positions; p++) {
            const int32_t e = k->exponent[geodec_keys_at(k, h, p)];
            least = e < least ? e : least;
        }
    return least;
}

static geodec_status put_exponents(sink *s, const geodec_keys *k, int32_t step, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t heads = (int64_t)k->layers * k->heads;
    static const uint8_t zeros[ALIGN];
    int32_t *row = NULL;
    GEODEC_NEW(row, k->positions);
    for (int64_t h = 0; h < heads; h++) {
        for (int64_t p = 0; p < k->positions; p++) row[p] = k->exponent[geodec_keys_at(k, h, p)] - step;
        GEODEC_TRY(put(s, row, k->positions, sizeof *row, err));
    }
    GEODEC_TRY(put(s, zeros, padding_of(heads, k->positions), 1, err));
done:
    geodec_mem_free(row);
    return st;
}

static geodec_status put_header(sink *s, const geodec_keys *k, int32_t step, geodec_err *err)
{
    geodec_modulus_id id[2];
    uint8_t bytes[GEODEC_KEYS_HEADER] = {0};
    const bool one = geodec_scores_moduli(k->by, k->dim, id) == 1;
    header h = {.version = VERSION,
                .order = REVERSED,
                .modulus = {id[0], one ? NO_MODULUS : (uint32_t)id[1]},
                .n = (uint64_t)geodec_scores_length(k->dim),
                .dim = (uint32_t)k->dim,
                .step = (uint32_t)step,
                .layers = (uint32_t)k->layers,
                .heads = (uint32_t)k->heads,
                .positions = (uint64_t)k->positions,
                .crc = s->crc};
    memcpy(h.source, k->source, sizeof h.source);
    memcpy(bytes, MAGIC, sizeof MAGIC - 1);
    header_fields(&h, bytes, true);
    const uint32_t crc = header_crc(bytes);
    geodec__order_copy(bytes + CHECKED, &crc, 1, sizeof crc);
    if (fseek(geodec_atomic_stream(s->file), 0, SEEK_SET) != 0) GEODEC_FAIL(GEODEC_IO, "cannot return to the header");
    return geodec_atomic_write(s->file, bytes, sizeof bytes, err);
}

geodec_status geodec_keys_save(const geodec_keys *k, const char *path, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    sink s = {0};
    static const uint8_t blank[GEODEC_KEYS_HEADER];
    const int64_t block = geodec_scores_block(k->dim);
    const size_t width = k->by == GEODEC_SCORES_NTT_P60 ? sizeof(uint64_t) : sizeof(uint32_t);
    if (k->positions < 1) GEODEC_THROW(GEODEC_INVAL, "no keys to save");
    const int32_t step = least_exponent(k);
    GEODEC_NEW(s.room, k->positions * block);
    GEODEC_TRY(geodec_atomic_open(path, &s.file, err));
    GEODEC_TRY(geodec_atomic_write(s.file, blank, sizeof blank, err));
    GEODEC_TRY(put_exponents(&s, k, step, err));
    for (int64_t h = 0; h < (int64_t)k->layers * k->heads; h++)
        GEODEC_TRY(put(&s, geodec_keys_block(k, h, 0), k->positions * block / (int64_t)width, width, err));
    GEODEC_TRY(put_header(&s, k, step, err));
    geodec_atomic *file = s.file;
    s.file = NULL;
    GEODEC_TRY(geodec_atomic_commit(file, err));
done:
    geodec_atomic_abandon(s.file);
    geodec_mem_free(s.room);
    return st;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The arithmetic of the blocks. */
static geodec_status by_of(const header *h, geodec_scores_by *by, geodec_err *err)
{
    for (int i = GEODEC_SCORES_NTT_P60; i <= GEODEC_SCORES_NTT_CRT; i++) {
        geodec_modulus_id id[2];
        const int n = geodec_scores_moduli((geodec_scores_by)i, h->dim, id);
        if (h->modulus[0] != (uint32_t)id[0] || h->modulus[1] != (n == 1 ? NO_MODULUS : (uint32_t)id[1])) continue;
        *by = (geodec_scores_by)i;
        return GEODEC_OK;
    }
    GEODEC_FAIL(GEODEC_FORMAT, "no scores have the moduli %" PRIu32 " and %" PRIu32 " with N = %" PRIu64, h->modulus[0],
                h->modulus[1], h->n);
}

static geodec_status read_header(const geodec_file_map *m, header *h, geodec_scores_by *by, geodec_err *err)
{
    uint8_t bytes[GEODEC_KEYS_HEADER];
    uint32_t crc;
    if (m->size < sizeof bytes || memcmp(m->data, MAGIC, sizeof MAGIC - 1) != 0)
        GEODEC_FAIL(GEODEC_FORMAT, "no store of keys");
    memcpy(bytes, m->data, sizeof bytes);
    header_fields(h, bytes, false);
    geodec__order_copy(&crc, bytes + CHECKED, 1, sizeof crc);
    if (header_crc(bytes) != crc) GEODEC_FAIL(GEODEC_CHECKSUM, "the header is damaged");
    if (h->version != VERSION) GEODEC_FAIL(GEODEC_VERSION, "format version %" PRIu32 ", not 1", h->version);
    if (h->order != REVERSED) GEODEC_FAIL(GEODEC_VERSION, "order of words %" PRIu32 ", not 1", h->order);
    for (int i = RESERVED; i < CHECKED; i++)
        if (bytes[i]) GEODEC_FAIL(GEODEC_FORMAT, "byte %d of the header is not 0", i);
    if (h->dim < 1 || h->dim > GEODEC_SCORES_MOST || h->n != (uint64_t)geodec_scores_length(h->dim))
        GEODEC_FAIL(GEODEC_FORMAT, "keys of %" PRIu32 " numbers with N = %" PRIu64, h->dim, h->n);
    const int32_t step = (int32_t)h->step;
    if (step > MOST_EXPONENT || step < -MOST_EXPONENT) GEODEC_FAIL(GEODEC_FORMAT, "step exponent %d", step);
    /* with the size of the file, which is checked next, this also bounds the memory */
    if (h->layers < 1 || h->layers > UINT16_MAX || h->heads < 1 || h->heads > UINT16_MAX || h->positions < 1 ||
        h->positions > (1 << 24))
        GEODEC_FAIL(GEODEC_FORMAT, "%" PRIu32 " layers, %" PRIu32 " heads, %" PRIu64 " positions", h->layers, h->heads,
                    h->positions);
    return by_of(h, by, err);
}

static geodec_status check_size(const geodec_file_map *m, const header *h, geodec_err *err)
{
    const int64_t heads = (int64_t)h->layers * h->heads, positions = (int64_t)h->positions;
    int64_t bytes;
    if (geodec_mem_mul(heads * positions, geodec_scores_block(h->dim) + (int64_t)sizeof(int32_t), &bytes) != 0 ||
        bytes > INT64_MAX / 2 ||
        (uint64_t)(bytes + GEODEC_KEYS_HEADER + padding_of(heads, positions)) != (uint64_t)m->size)
        GEODEC_FAIL(GEODEC_FORMAT, "%zu bytes do not hold %" PRIu32 " x %" PRIu32 " x %" PRIu64 " keys of N = %" PRIu64,
                    m->size, h->layers, h->heads, h->positions, h->n);
    if (geodec_crc32c(0, m->data + GEODEC_KEYS_HEADER, (int64_t)m->size - GEODEC_KEYS_HEADER) != h->crc)
        GEODEC_FAIL(GEODEC_CHECKSUM, "the keys are damaged");
    const uint8_t *padding = m->data + GEODEC_KEYS_HEADER + heads * positions * (int64_t)sizeof(int32_t);
    for (int64_t i = 0; i < padding_of(heads, positions); i++)
        if (padding[i]) GEODEC_FAIL(GEODEC_FORMAT, "the exponents are not followed by zeros");
    return GEODEC_OK;
}

static geodec_status read_exponents(geodec_keys *k, const uint8_t *from, int32_t step, geodec_err *err)
{
    const int64_t n = (int64_t)k->layers * k->heads * k->positions;
    geodec__order_copy(k->exponent, from, (size_t)n, sizeof *k->exponent);
    for (int64_t i = 0; i < n; i++) {
        if (k->exponent[i] < 0 || k->exponent[i] > MOST_EXPONENT)
            GEODEC_FAIL(GEODEC_FORMAT, "exponent %d of key %" PRId64, k->exponent[i], i);
        k->exponent[i] += step;
    }
    return GEODEC_OK;
}

/* Every word is a residue. */
static geodec_status check_words(const geodec_keys *k, geodec_err *err)
{
    geodec_modulus_id id[2];
    const int64_t n = geodec_scores_length(k->dim), keys = (int64_t)k->layers * k->heads * k->positions;
    const int moduli = geodec_scores_moduli(k->by, k->dim, id);
    for (int64_t i = 0; i < keys * moduli; i++) {
        const uint64_t q = geodec_modulus_of(id[i % moduli])->q,
                       *wide = (const uint64_t *)(const void *)k->block + i * n;
        const uint32_t *narrow = (const uint32_t *)(const void *)k->block + i * n;
        bool ok = true;
        for (int64_t j = 0; j < n; j++) ok &= (moduli == 1 ? wide[j] : narrow[j]) < q;
        if (!ok) GEODEC_FAIL(GEODEC_FORMAT, "key %" PRId64 " has a word that is no residue", i / moduli);
    }
    return GEODEC_OK;
}

static geodec_status load(const geodec_file_map *m, geodec_keys **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    header h = {0};
    geodec_scores_by by = GEODEC_SCORES_DIRECT;
    geodec_keys *k = NULL;
    GEODEC_TRY(read_header(m, &h, &by, err));
    GEODEC_TRY(check_size(m, &h, err));
    GEODEC_TRY(
        geodec_keys_create(by, (int32_t)h.dim, (int32_t)h.layers, (int32_t)h.heads, (int64_t)h.positions, &k, err));
    k->positions = k->room;
    memcpy(k->source, h.source, sizeof h.source);
    GEODEC_TRY(read_exponents(k, m->data + GEODEC_KEYS_HEADER, (int32_t)h.step, err));
    const int64_t bytes = (int64_t)k->layers * k->heads * k->positions * geodec_scores_block(k->dim);
    const size_t width = by == GEODEC_SCORES_NTT_P60 ? sizeof(uint64_t) : sizeof(uint32_t);
    geodec__order_copy(k->block, m->data + m->size - bytes, (size_t)bytes / width, width);
    GEODEC_TRY(check_words(k, err));
    GEODEC_MOVE(*out, k);
done:
    geodec_keys_destroy(k);
    return st;
}

geodec_status geodec_keys_load(const char *path, geodec_keys **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_file_map m = {0};
    GEODEC_TRY(geodec_file_map_open(path, &m, err));
    GEODEC_TRY_MSG(load(&m, out, err), "%s", path);
done:
    geodec_file_map_close(&m);
    return st;
}
