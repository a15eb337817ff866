#include "base/mem.h"
#include "gguf/gguf_internal.h"
#include "gguf/order_internal.h"
#include "io/digests.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;
    size_t width;
} kinds[GGUF_KINDS] = {
    [GGUF_U8] = {"uint8", 1},      [GGUF_I8] = {"int8", 1},     [GGUF_U16] = {"uint16", 2},  [GGUF_I16] = {"int16", 2},
    [GGUF_U32] = {"uint32", 4},    [GGUF_I32] = {"int32", 4},   [GGUF_F32] = {"float32", 4}, [GGUF_BOOL] = {"bool", 1},
    [GGUF_STRING] = {"string", 0}, [GGUF_ARRAY] = {"array", 0}, [GGUF_U64] = {"uint64", 8},  [GGUF_I64] = {"int64", 8},
    [GGUF_F64] = {"float64", 8},
};

size_t geodec__gguf_width(uint32_t kind) { return kind < GGUF_KINDS ? kinds[kind].width : 0; }
const char *geodec__gguf_kind_name(uint32_t kind) { return kind < GGUF_KINDS ? kinds[kind].name : "unknown"; }

static int compare_key(const void *name, const void *row)
{
    return strcmp(name, (*(geodec__gguf_key *const *)row)->name);
}

const geodec__gguf_key *geodec__gguf_lookup(const geodec_gguf *g, const char *name)
{
    geodec__gguf_key *const *k = bsearch(name, g->key_order, (size_t)g->n_keys, sizeof *g->key_order, compare_key);
    return k ? *k : NULL;
}

const char *geodec_gguf_path(const geodec_gguf *g) { return g->path; }
int64_t geodec_gguf_file_bytes(const geodec_gguf *g) { return (int64_t)g->map.size; }
int64_t geodec_gguf_offset(const geodec_gguf *g, const void *data)
{
    const uintptr_t base = (uintptr_t)g->map.data, at = (uintptr_t)data;
    return g->borrowed || at < base || at - base >= g->map.size ? -1 : g->offset + (int64_t)(at - base);
}
void geodec_gguf_release(const geodec_gguf *g, const void *data, size_t n)
{
    if (!g->borrowed) geodec_file_map_release(&g->map, data, n); /* written bytes would be lost, not read again */
}

void geodec_gguf_release_all(const geodec_gguf *g, const void *rare, size_t n)
{
    if (g->borrowed) return;
    geodec_file_map_sparse(&g->map, rare, n);
    geodec_file_map_release(&g->map, g->map.data, g->map.size);
}
int64_t geodec_gguf_n_tensors(const geodec_gguf *g) { return g->n_tensors; }
const geodec_gguf_tensor *geodec_gguf_tensor_at(const geodec_gguf *g, int64_t i)
{
    return i < 0 || i >= g->n_tensors ? NULL : &g->tensor[i];
}

static int compare_tensor(const void *name, const void *row)
{
    return strcmp(name, (*(geodec_gguf_tensor *const *)row)->name);
}

const geodec_gguf_tensor *geodec_gguf_find(const geodec_gguf *g, const char *name)
{
    geodec_gguf_tensor *const *t =
        bsearch(name, g->tensor_order, (size_t)g->n_tensors, sizeof *g->tensor_order, compare_tensor);
    return t ? *t : NULL;
}

int64_t geodec_gguf_n_keys(const geodec_gguf *g) { return g->n_keys; }
const char *geodec_gguf_key_at(const geodec_gguf *g, int64_t i)
{
    return i < 0 || i >= g->n_keys ? NULL : g->key[i].name;
}

bool geodec_gguf_has(const geodec_gguf *g, const char *key) { return geodec__gguf_lookup(g, key) != NULL; }

/* ---- scalars ---------------------------------------------------------------------------------------------------- */

static geodec_status wrong_kind(const geodec_gguf *g, const geodec__gguf_key *k, const char *wanted, geodec_err *err)
{
    const bool array = k->kind == GGUF_ARRAY;
    GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%.100s' is %s%s, not %s", g->path, k->name,
                array ? "an array of " : "of type ", geodec__gguf_kind_name(array ? k->element : k->kind), wanted);
}

/* ANY: of any kind. */
enum { ANY = GGUF_KINDS };

/* The key of this kind, of an array also with this kind of elements; `wanted` describes them in messages. */
static geodec_status find_key(const geodec_gguf *g, const char *name, uint32_t kind, uint32_t element,
                              const char *wanted, const geodec__gguf_key **k, geodec_err *err)
{
    *k = geodec__gguf_lookup(g, name);
    if (!*k) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: key '%.100s' is missing", g->path, name);
    if ((kind != ANY && (*k)->kind != kind) || (element != ANY && (*k)->element != element))
        return wrong_kind(g, *k, wanted, err);
    return GEODEC_OK;
}

/* Any integer at p; false when it does not fit int64 or is not an integer. */
static bool integer_at(uint32_t kind, const uint8_t *p, int64_t *v)
{
    const bool is_signed = kind == GGUF_I8 || kind == GGUF_I16 || kind == GGUF_I32 || kind == GGUF_I64;
    if (!is_signed && kind != GGUF_U8 && kind != GGUF_U16 && kind != GGUF_U32 && kind != GGUF_U64) return false;
    const size_t width = geodec__gguf_width(kind);
    uint64_t x = 0;
    for (size_t i = width; i-- > 0;) x = x << 8 | p[i];
    const uint64_t sign = (uint64_t)1 << (8 * width - 1);
    if (is_signed) x = (x ^ sign) - sign;
    if (!is_signed && x > INT64_MAX) return false;
    memcpy(v, &x, sizeof x);
    return true;
}

geodec_status geodec_gguf_get_i64(const geodec_gguf *g, const char *key, int64_t *v, geodec_err *err)
{
    const geodec__gguf_key *k;
    GEODEC_PASS(find_key(g, key, ANY, ANY, "", &k, err));
    if (!integer_at(k->kind, k->value, v)) {
        if (k->kind == GGUF_U64) GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%.100s' is above 2^63 - 1", g->path, k->name);
        GEODEC_PASS(wrong_kind(g, k, "an integer", err));
    }
    return GEODEC_OK;
}

geodec_status geodec_gguf_get_f64(const geodec_gguf *g, const char *key, double *v, geodec_err *err)
{
    const geodec__gguf_key *k;
    float f;
    GEODEC_PASS(find_key(g, key, ANY, ANY, "", &k, err));
    if (k->kind == GGUF_F64) {
        geodec__order_copy(v, k->value, 1, sizeof *v);
    } else {
        if (k->kind != GGUF_F32) GEODEC_PASS(wrong_kind(g, k, "a float", err));
        geodec__order_copy(&f, k->value, 1, sizeof f);
        *v = (double)f;
    }
    return GEODEC_OK;
}

geodec_status geodec_gguf_get_bool(const geodec_gguf *g, const char *key, bool *v, geodec_err *err)
{
    const geodec__gguf_key *k;
    const geodec_status st = find_key(g, key, GGUF_BOOL, ANY, "bool", &k, err);
    if (st == GEODEC_OK) *v = *k->value != 0;
    return st;
}

geodec_status geodec_gguf_get_str(const geodec_gguf *g, const char *key, const char **v, geodec_err *err)
{
    const geodec__gguf_key *k;
    const geodec_status st = find_key(g, key, GGUF_STRING, ANY, "a string", &k, err);
    if (st == GEODEC_OK) *v = k->text;
    return st;
}

/* ---- arrays ----------------------------------------------------------------------------------------------------- */

geodec_status geodec_gguf_array_length(const geodec_gguf *g, const char *key, int64_t *n, geodec_err *err)
{
    const geodec__gguf_key *k;
    const geodec_status st = find_key(g, key, GGUF_ARRAY, ANY, "an array", &k, err);
    if (st == GEODEC_OK) *n = k->count;
    return st;
}

geodec_status geodec_gguf_array_str(const geodec_gguf *g, const char *key, int64_t i, const char **s, size_t *n,
                                    geodec_err *err)
{
    const geodec__gguf_key *k;
    uint64_t length;
    GEODEC_PASS(find_key(g, key, GGUF_ARRAY, GGUF_STRING, "an array of strings", &k, err));
    if (i < 0 || i >= k->count)
        GEODEC_FAIL(GEODEC_RANGE, "%s: key '%.100s' has %lld strings, not %lld", g->path, key, (long long)k->count,
                    (long long)i);
    geodec__order_copy(&length, g->map.data + k->at[i], 1, sizeof length);
    *s = (const char *)(g->map.data + k->at[i] + sizeof length);
    *n = (size_t)length;
    return GEODEC_OK;
}

static geodec_status check_length(const geodec_gguf *g, const geodec__gguf_key *k, int64_t n, geodec_err *err)
{
    if (k->count == n) return GEODEC_OK;
    GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%.100s' has %lld values, not %lld", g->path, k->name, (long long)k->count,
                (long long)n);
}

geodec_status geodec_gguf_array_f32(const geodec_gguf *g, const char *key, float *out, int64_t n, geodec_err *err)
{
    const geodec__gguf_key *k;
    GEODEC_PASS(find_key(g, key, GGUF_ARRAY, GGUF_F32, "an array of float32", &k, err));
    GEODEC_PASS(check_length(g, k, n, err));
    geodec__order_copy(out, k->value, (size_t)n, sizeof *out);
    return GEODEC_OK;
}

geodec_status geodec_gguf_array_i32(const geodec_gguf *g, const char *key, int32_t *out, int64_t n, geodec_err *err)
{
    const geodec__gguf_key *k;
    GEODEC_PASS(find_key(g, key, GGUF_ARRAY, ANY, "an array of int32", &k, err));
    if (k->element != GGUF_I32 && k->element != GGUF_U32) GEODEC_PASS(wrong_kind(g, k, "an array of int32", err));
    GEODEC_PASS(check_length(g, k, n, err));
    geodec__order_copy(out, k->value, (size_t)n, sizeof *out);
    for (int64_t i = 0; k->element == GGUF_U32 && i < n; i++)
        if (out[i] < 0)
            GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%.100s': %u does not fit in int32", g->path, k->name,
                        (unsigned)out[i]);
    return GEODEC_OK;
}

/* ---- fingerprint ------------------------------------------------------------------------------------------------ */

enum { DIGEST_STEP = 4 << 20 };

/* In steps, whose pages are released: a file may be larger than the memory that its reader may use. */
static void digest_bytes(const geodec_gguf *g, const uint8_t *data, size_t bytes, geodec_sha256 *h)
{
    for (size_t at = 0; at < bytes; at += DIGEST_STEP) {
        const size_t n = bytes - at < DIGEST_STEP ? bytes - at : DIGEST_STEP;
        geodec_sha256_update(h, data + at, n);
        if (n == DIGEST_STEP) geodec_gguf_release(g, data + at, n);
    }
}

void geodec_gguf_file_digest(const geodec_gguf *g, char hex[GEODEC_SHA256_HEX])
{
    geodec_sha256 h;
    geodec_sha256_init(&h);
    digest_bytes(g, g->map.data, g->map.size, &h);
    geodec_sha256_hex(&h, hex);
}

static void tensor_digest(const geodec_gguf *g, char hex[GEODEC_SHA256_HEX])
{
    geodec_sha256 h;
    geodec_sha256_init(&h);
    for (int64_t i = 0; i < g->n_tensors; i++) {
        const geodec_gguf_tensor *t = g->tensor_order[i];
        const uint32_t head[2] = {(uint32_t)t->type, (uint32_t)t->n_dims};
        uint8_t bytes[sizeof head + sizeof t->dim];
        geodec__order_copy(bytes, head, 2, sizeof *head);
        geodec__order_copy(bytes + sizeof head, t->dim, 4, sizeof *t->dim);
        geodec_sha256_update(&h, t->name, strlen(t->name) + 1);
        geodec_sha256_update(&h, bytes, sizeof bytes);
        digest_bytes(g, t->data, t->bytes, &h);
    }
    geodec_sha256_hex(&h, hex);
}

void geodec_gguf_tensor_digest(const geodec_gguf *g, char hex[GEODEC_SHA256_HEX])
{
    /* of a file, another process of the job may have computed it */
    const int fd = g->borrowed || g->offset > 0 ? -1 : open(g->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || !geodec_digests_find(g->path, GEODEC_DIGEST_TENSORS, fd, hex)) {
        tensor_digest(g, hex);
        if (fd >= 0) geodec_digests_add(g->path, GEODEC_DIGEST_TENSORS, fd, hex);
    }
    if (fd >= 0) (void)close(fd);
}
