#include "streaming/usage.h"

#include "base/crc32c.h"
#include "base/mem.h"
#include "io/atomic.h"
#include "io/file.h"
#include "streaming/trace_internal.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "GEXUSAGE"
enum { VERSION = 1, DIGITS = GEODEC_SHA256_HEX - 1, HEAD = 24 + DIGITS, RECORD = 20 };

static int64_t bytes_of(int64_t keys) { return HEAD + keys * RECORD + 4; }

geodec_status geodec_usage_new(int32_t n_layer, int32_t n_expert, const char *fingerprint, geodec_usage *out,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_usage u = {.n_layer = n_layer, .n_expert = n_expert};
    if (n_layer < 1 || n_expert < 1 || (int64_t)n_layer * n_expert > GEODEC_SLOTS_KEYS_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "%d layers of %d experts", (int)n_layer, (int)n_expert);
    const int64_t keys = (int64_t)n_layer * n_expert;
    for (int i = 0; i < DIGITS && fingerprint[i]; i++) u.fingerprint[i] = fingerprint[i];
    GEODEC_NEW(u.frequency, keys);
    GEODEC_NEW(u.hits, keys);
    for (int64_t i = 0; i < keys; i++) u.frequency[i] = 1.0F / (float)n_expert;
    GEODEC_MOVE(*out, u);
done:
    geodec_usage_clear(&u);
    return st;
}

void geodec_usage_clear(geodec_usage *u)
{
    GEODEC_FREE(u->frequency, u->hits);
    *u = (geodec_usage){0};
}

void geodec_usage_add(geodec_usage *u, const geodec_slots *s)
{
    const float *const f = geodec_slots_frequency(s);
    const int64_t *const uses = geodec_slots_uses(s);
    for (int64_t i = 0; i < (int64_t)u->n_layer * u->n_expert; i++) {
        u->frequency[i] = f[i] < 1 ? f[i] : 1;
        u->hits[i] += uses[i];
    }
}

typedef struct place {
    float frequency;
    int64_t hits;
    int32_t key;
} place;

static int more_frequent(const void *a, const void *b)
{
    const place *const x = a, *const y = b;
    if (x->frequency > y->frequency || x->frequency < y->frequency) return x->frequency > y->frequency ? -1 : 1;
    if (x->hits != y->hits) return x->hits > y->hits ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

geodec_status geodec_usage_order(const geodec_usage *u, int32_t *order, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    place *p = NULL;
    const int32_t keys = u->n_layer * u->n_expert;
    GEODEC_NEW(p, keys);
    for (int32_t i = 0; i < keys; i++) p[i] = (place){.frequency = u->frequency[i], .hits = u->hits[i], .key = i};
    qsort(p, (size_t)keys, sizeof *p, more_frequent);
    for (int32_t i = 0; i < keys; i++) order[i] = p[i].key;
done:
    geodec_mem_free(p);
    return st;
}

geodec_status geodec_usage_write(const char *path, const geodec_usage *u, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_atomic *f = NULL;
    uint8_t *bytes = NULL;
    const int64_t keys = (int64_t)u->n_layer * u->n_expert, size = bytes_of(keys);
    GEODEC_NEW(bytes, size);
    memcpy(bytes, MAGIC, 8);
    geodec__trace_put32(bytes + 8, VERSION);
    geodec__trace_put32(bytes + 12, (uint32_t)u->n_layer);
    geodec__trace_put32(bytes + 16, (uint32_t)u->n_expert);
    memcpy(bytes + 24, u->fingerprint, DIGITS);
    for (int64_t i = 0; i < keys; i++) {
        uint8_t *const r = bytes + HEAD + i * RECORD;
        geodec__trace_put32(r, (uint32_t)(i / u->n_expert));
        geodec__trace_put32(r + 4, (uint32_t)(i % u->n_expert));
        geodec__trace_put32(r + 8, geodec__trace_bits(u->frequency[i]));
        geodec__trace_put64(r + 12, (uint64_t)u->hits[i]);
    }
    geodec__trace_put32(bytes + size - 4, geodec_crc32c(0, bytes, size - 4));
    GEODEC_TRY(geodec_atomic_open(path, &f, err));
    GEODEC_TRY(geodec_atomic_write(f, bytes, (size_t)size, err));
    geodec_atomic *const whole = f;
    f = NULL;
    GEODEC_TRY(geodec_atomic_commit(whole, err));
done:
    geodec_atomic_abandon(f);
    geodec_mem_free(bytes);
    return st;
}

static geodec_status parse(const uint8_t *p, int64_t size, geodec_usage *u, geodec_err *err)
{
    char fingerprint[GEODEC_SHA256_HEX] = {0};
    if (size < HEAD + 4 || memcmp(p, MAGIC, 8) != 0) GEODEC_FAIL(GEODEC_FORMAT, "not a usage table of geodec");
    const uint32_t version = geodec__trace_get32(p + 8);
    if (version != VERSION)
        GEODEC_FAIL(GEODEC_VERSION, "a usage table of version %u; this program reads %d", version, VERSION);
    const int64_t n_layer = geodec__trace_get32(p + 12), n_expert = geodec__trace_get32(p + 16);
    if (n_layer < 1 || n_expert < 1 || n_layer > GEODEC_SLOTS_KEYS_MAX || n_expert > GEODEC_SLOTS_KEYS_MAX ||
        n_layer * n_expert > GEODEC_SLOTS_KEYS_MAX)
        GEODEC_FAIL(GEODEC_LIMIT, "%lld layers of %lld experts", (long long)n_layer, (long long)n_expert);
    const int64_t keys = n_layer * n_expert;
    if (size != bytes_of(keys)) GEODEC_FAIL(GEODEC_FORMAT, "the usage table is cut off or too long");
    if (geodec_crc32c(0, p, size - 4) != geodec__trace_get32(p + size - 4))
        GEODEC_FAIL(GEODEC_CHECKSUM, "the usage table is damaged");
    memcpy(fingerprint, p + 24, DIGITS);
    GEODEC_PASS(geodec_usage_new((int32_t)n_layer, (int32_t)n_expert, fingerprint, u, err));
    for (int64_t i = 0; i < keys; i++) {
        const uint8_t *const r = p + HEAD + i * RECORD;
        u->frequency[i] = geodec__trace_float(geodec__trace_get32(r + 8));
        u->hits[i] = (int64_t)geodec__trace_get64(r + 12);
        if (geodec__trace_get32(r) != i / n_expert || geodec__trace_get32(r + 4) != i % n_expert || u->hits[i] < 0 ||
            !(u->frequency[i] >= 0 && u->frequency[i] <= 1))
            GEODEC_FAIL(GEODEC_FORMAT, "record %lld of the usage table is damaged", (long long)i);
    }
    return GEODEC_OK;
}

geodec_status geodec_usage_read(const char *path, geodec_usage *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *bytes = NULL;
    size_t n = 0;
    geodec_usage u = {0};
    GEODEC_TRY(geodec_file_read(path, (size_t)bytes_of(GEODEC_SLOTS_KEYS_MAX), &bytes, &n, err));
    GEODEC_TRY_MSG(parse((const uint8_t *)bytes, (int64_t)n, &u, err), "%s", path);
    GEODEC_MOVE(*out, u);
done:
    geodec_usage_clear(&u);
    geodec_mem_free(bytes);
    return st;
}

static geodec_status read_fitting(const char *path, int32_t n_layer, int32_t n_expert, const char *fingerprint,
                                  geodec_usage *u, geodec_err *err)
{
    GEODEC_PASS(geodec_usage_read(path, u, err));
    if (strcmp(u->fingerprint, fingerprint) != 0)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: a usage table of another model", path);
    if (u->n_layer != n_layer || u->n_expert != n_expert)
        GEODEC_FAIL(GEODEC_CHECKSUM, "%s: a usage table of %d layers of %d experts; the model has %d of %d", path,
                    (int)u->n_layer, (int)u->n_expert, (int)n_layer, (int)n_expert);
    return GEODEC_OK;
}

bool geodec_usage_fits(const char *path, int32_t n_layer, int32_t n_expert, const char *fingerprint, geodec_usage *out,
                       geodec_err *why)
{
    geodec_usage u = {0};
    if (read_fitting(path, n_layer, n_expert, fingerprint, &u, why) != GEODEC_OK) {
        geodec_usage_clear(&u);
        return false;
    }
    *out = u;
    return true;
}
