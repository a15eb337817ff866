/* The file of a memory: a head, then the mean, the banks, the entries and the texts. */
#include "lab/perspective/memory/hdm_internal.h"

#include "base/crc32c.h"
#include "base/finite.h"
#include "base/mem.h"
#include "io/atomic.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "GEODECHM"
enum { VERSION = 1, PARTS = 4, CRCS = 56, PRINT = CRCS + 4 * PARTS, HEAD_CRC = PRINT + GEODEC_HDM_FINGERPRINT };
enum { HEAD = HEAD_CRC + 4, BANK = 4 + 2 * GEODEC_HV_BITS, ENTRY = 8 };
typedef enum part { MEAN, BANKS, ENTRIES, TEXTS } part;

static void put(uint8_t *at, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t get(const uint8_t *at, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << (8 * i);
    return v;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Where the bytes of a part go: to its checksum, and to the file unless that is NULL. */
typedef struct sink {
    geodec_atomic *file;
    uint32_t crc;
} sink;

static geodec_status pour(sink *s, const void *p, int64_t n, geodec_err *err)
{
    s->crc = geodec_crc32c(s->crc, p, n);
    return s->file && n ? geodec_atomic_write(s->file, p, (size_t)n, err) : GEODEC_OK;
}

static geodec_status pour_mean(const geodec_hdm *m, sink *s, geodec_err *err)
{
    for (int64_t i = 0; i < m->width; i++) {
        uint8_t bytes[4];
        uint32_t bits;
        memcpy(&bits, &m->mean[i], sizeof bits);
        put(bytes, bits, 4);
        GEODEC_PASS(pour(s, bytes, 4, err));
    }
    return GEODEC_OK;
}

static geodec_status pour_banks(const geodec_hdm *m, sink *s, geodec_err *err)
{
    uint8_t bytes[BANK];
    for (int32_t b = 0; b < 1 << m->bank_bits; b++) {
        if (!m->bank[b].pairs) continue;
        put(bytes, (uint64_t)b, 4);
        for (int i = 0; i < GEODEC_HV_BITS; i++) put(bytes + 4 + 2 * i, (uint16_t)m->bank[b].count[i], 2);
        GEODEC_PASS(pour(s, bytes, BANK, err));
    }
    return GEODEC_OK;
}

static geodec_status pour_entries(const geodec_hdm *m, sink *s, geodec_err *err)
{
    for (int64_t i = 0; i < m->entries; i++) {
        uint8_t bytes[ENTRY];
        put(bytes, (uint64_t)m->entry[i].bank, 4);
        put(bytes + 4, (uint64_t)m->entry[i].n, 4);
        GEODEC_PASS(pour(s, bytes, ENTRY, err));
    }
    return GEODEC_OK;
}

static geodec_status pour_part(const geodec_hdm *m, part p, sink *s, geodec_err *err)
{
    switch (p) {
    case MEAN:
        return pour_mean(m, s, err);
    case BANKS:
        return pour_banks(m, s, err);
    case ENTRIES:
        return pour_entries(m, s, err);
    default:
        return pour(s, m->text, m->bytes, err);
    }
}

static int64_t banks_in_use(const geodec_hdm *m)
{
    int64_t n = 0;
    for (int32_t b = 0; b < 1 << m->bank_bits; b++) n += m->bank[b].pairs > 0;
    return n;
}

static geodec_status make_head(const geodec_hdm *m, uint8_t head[HEAD], geodec_err *err)
{
    memset(head, 0, HEAD);
    memcpy(head, MAGIC, 8);
    put(head + 8, VERSION, 4);
    put(head + 12, GEODEC_HV_BITS, 4);
    put(head + 16, m->seed, 8);
    put(head + 24, (uint64_t)m->bank_bits, 4);
    put(head + 28, (uint64_t)m->project, 4);
    put(head + 32, (uint64_t)m->width, 4);
    put(head + 36, (uint64_t)banks_in_use(m), 4);
    put(head + 40, (uint64_t)m->entries, 8);
    put(head + 48, (uint64_t)m->bytes, 8);
    for (int p = 0; p < PARTS; p++) {
        sink s = {0};
        GEODEC_PASS(pour_part(m, (part)p, &s, err));
        put(head + CRCS + 4 * p, s.crc, 4);
    }
    memcpy(head + PRINT, m->fingerprint, GEODEC_HDM_FINGERPRINT);
    put(head + HEAD_CRC, geodec_crc32c(0, head, HEAD_CRC), 4);
    return GEODEC_OK;
}

geodec_status geodec_hdm_write(const char *path, const geodec_hdm *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    sink s = {0};
    uint8_t head[HEAD];
    GEODEC_TRY(make_head(m, head, err));
    GEODEC_TRY(geodec_atomic_open(path, &s.file, err));
    GEODEC_TRY(geodec_atomic_write(s.file, head, HEAD, err));
    for (int p = 0; p < PARTS; p++) GEODEC_TRY(pour_part(m, (part)p, &s, err));
    geodec_atomic *const whole = s.file;
    s.file = NULL;
    GEODEC_TRY(geodec_atomic_commit(whole, err));
done:
    geodec_atomic_abandon(s.file);
    return st;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct head {
    geodec_hdm_options o;
    int64_t banks, entries, bytes, size[PARTS];
    uint32_t crc[PARTS];
    char fingerprint[GEODEC_HDM_FINGERPRINT + 1];
} head;

static geodec_status check_counts(const head *h, int64_t file, geodec_err *err)
{
    if (h->o.bank_bits < 0 || h->o.bank_bits > GEODEC_HDM_BANK_BITS_MAX || h->o.width > GEODEC_HV_WIDTH_MAX ||
        h->o.width < 0 || (unsigned)h->o.project >= GEODEC_HV_PROJECTIONS)
        GEODEC_FAIL(GEODEC_FORMAT, "banks by %d bits, states of width %lld, projection %d", (int)h->o.bank_bits,
                    (long long)h->o.width, (int)h->o.project);
    if (h->entries < 0 || h->entries > GEODEC_HDM_ENTRIES_MAX || h->bytes < 0 || h->bytes > GEODEC_HDM_TEXTS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%lld entries, %lld bytes of text", (long long)h->entries, (long long)h->bytes);
    if (h->banks > 1 << h->o.bank_bits || h->banks > h->entries || (h->entries && !h->banks))
        GEODEC_FAIL(GEODEC_FORMAT, "%lld entries in %lld banks", (long long)h->entries, (long long)h->banks);
    int64_t size = HEAD;
    for (int p = 0; p < PARTS; p++) size += h->size[p];
    if (file != size) GEODEC_FAIL(GEODEC_FORMAT, "%lld bytes; the head says %lld", (long long)file, (long long)size);
    return GEODEC_OK;
}

static geodec_status read_head(const geodec_file_map *f, head *h, geodec_err *err)
{
    const uint8_t *const p = f->data;
    if (f->size < HEAD || memcmp(p, MAGIC, 8) != 0) GEODEC_FAIL(GEODEC_FORMAT, "no hyperdimensional memory");
    if (geodec_crc32c(0, p, HEAD_CRC) != get(p + HEAD_CRC, 4)) GEODEC_FAIL(GEODEC_CHECKSUM, "the head is damaged");
    if (get(p + 8, 4) != VERSION)
        GEODEC_FAIL(GEODEC_VERSION, "a memory of version %u, not %d", (unsigned)get(p + 8, 4), VERSION);
    if (get(p + 12, 4) != GEODEC_HV_BITS)
        GEODEC_FAIL(GEODEC_FORMAT, "vectors of %u bits, not %d", (unsigned)get(p + 12, 4), GEODEC_HV_BITS);
    h->o.seed = get(p + 16, 8);
    h->o.bank_bits = (int32_t)get(p + 24, 4);
    h->o.project = (geodec_hv_projection)get(p + 28, 4);
    h->o.width = (int64_t)get(p + 32, 4);
    h->banks = (int64_t)get(p + 36, 4);
    h->entries = (int64_t)get(p + 40, 8);
    h->bytes = (int64_t)get(p + 48, 8);
    memcpy(h->fingerprint, p + PRINT, GEODEC_HDM_FINGERPRINT);
    h->o.fingerprint = h->fingerprint;
    for (int i = 0; i < GEODEC_HDM_FINGERPRINT - 1; i++)
        if (!h->fingerprint[i] && h->fingerprint[i + 1]) GEODEC_FAIL(GEODEC_FORMAT, "a fingerprint with a zero in it");
    if (h->entries >= 0 && h->entries <= GEODEC_HDM_ENTRIES_MAX) { /* else refused below */
        h->size[MEAN] = 4 * h->o.width;
        h->size[BANKS] = BANK * h->banks;
        h->size[ENTRIES] = ENTRY * h->entries;
        h->size[TEXTS] = h->bytes;
    }
    for (int i = 0; i < PARTS; i++) h->crc[i] = (uint32_t)get(p + CRCS + 4 * i, 4);
    return check_counts(h, (int64_t)f->size, err);
}

static geodec_status read_mean(const uint8_t *from, int64_t width, float **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *mean = NULL;
    GEODEC_NEW(mean, width);
    for (int64_t i = 0; i < width; i++) {
        const uint32_t bits = (uint32_t)get(from + 4 * i, 4);
        memcpy(&mean[i], &bits, sizeof bits);
    }
    GEODEC_MOVE(*out, mean);
done:
    geodec_mem_free(mean);
    return st;
}

static geodec_status read_entries(geodec_hdm *m, const head *h, const uint8_t *from, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    GEODEC_TRY(geodec__hdm_values(m, h->entries, err));
    GEODEC_NEW(m->entry, h->entries);
    m->room = h->entries;
    for (int64_t i = 0; i < h->entries; i++, from += ENTRY) {
        const uint64_t bank = get(from, 4), n = get(from + 4, 4);
        if (bank >= UINT64_C(1) << m->bank_bits || n > GEODEC_HDM_TEXT_MAX || (int64_t)n > h->bytes - m->bytes)
            GEODEC_THROW(GEODEC_FORMAT, "entry %lld: bank %llu, %llu bytes", (long long)i, (unsigned long long)bank,
                         (unsigned long long)n);
        geodec__hdm_link(m, (int32_t)bank, (int32_t)n);
    }
    if (m->bytes != h->bytes)
        GEODEC_THROW(GEODEC_FORMAT, "texts of %lld bytes; the head says %lld", (long long)m->bytes,
                     (long long)h->bytes);
done:
    return st;
}

/* A sum of n steps of +-1 is as odd as n, and at most n, until counters stop. */
static bool possible(int64_t count, int64_t pairs)
{
    if (pairs > GEODEC_HV_COUNT_MAX) return count >= -GEODEC_HV_COUNT_MAX;
    return count >= -pairs && count <= pairs && (count - pairs) % 2 == 0;
}

static geodec_status read_banks(geodec_hdm *m, const head *h, const uint8_t *from, geodec_err *err)
{
    int64_t before = -1;
    for (int64_t i = 0; i < h->banks; i++, from += BANK) {
        const int64_t b = (int64_t)get(from, 4);
        if (b <= before || b >= (int64_t)1 << m->bank_bits || !m->bank[b].pairs)
            GEODEC_FAIL(GEODEC_FORMAT, "bank %lld out of order, or without entries", (long long)b);
        before = b;
        GEODEC_PASS(geodec__hdm_open_bank(m, (int32_t)b, err));
        for (int j = 0; j < GEODEC_HV_BITS; j++) {
            const int16_t count = (int16_t)(uint16_t)get(from + 4 + 2 * j, 2);
            if (!possible(count, m->bank[b].pairs))
                GEODEC_FAIL(GEODEC_FORMAT, "bank %lld: counter %d of %lld pairs", (long long)b, count,
                            (long long)m->bank[b].pairs);
            m->bank[b].count[j] = count;
        }
        geodec__hdm_settle(m, (int32_t)b, GEODEC_ISA_AUTO);
    }
    if (banks_in_use(m) != h->banks) GEODEC_FAIL(GEODEC_FORMAT, "an entry of a bank that is not there");
    return GEODEC_OK;
}

static geodec_status load(const geodec_file_map *f, geodec_hdm **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    static const char *const what[] = {"mean", "banks", "entries", "texts"};
    head h = {0};
    float *mean = NULL;
    geodec_hdm *m = NULL;
    const uint8_t *at[PARTS];
    GEODEC_TRY(read_head(f, &h, err));
    int64_t next = HEAD;
    for (int p = 0; p < PARTS; p++, next += h.size[p - 1]) {
        at[p] = f->data + next;
        if (geodec_crc32c(0, at[p], h.size[p]) != h.crc[p])
            GEODEC_THROW(GEODEC_CHECKSUM, "part '%s' is damaged", what[p]);
    }
    GEODEC_TRY(read_mean(at[MEAN], h.o.width, &mean, err));
    h.o.mean = mean;
    GEODEC_TRY(geodec_hdm_create(&h.o, &m, err));
    GEODEC_TRY(read_entries(m, &h, at[ENTRIES], err));
    GEODEC_TRY(read_banks(m, &h, at[BANKS], err));
    GEODEC_NEW_COPY(m->text, at[TEXTS], h.bytes);
    m->text_room = h.bytes;
    GEODEC_MOVE(*out, m);
done:
    geodec_hdm_destroy(m);
    geodec_mem_free(mean);
    return st;
}

geodec_status geodec_hdm_read(const char *path, geodec_hdm **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_file_map f = {0};
    GEODEC_TRY(geodec_file_map_open(path, &f, err));
    GEODEC_TRY_MSG(load(&f, out, err), "%s", path);
done:
    geodec_file_map_close(&f);
    return st;
}
