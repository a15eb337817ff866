#include "base/mem.h"
#include "gguf/gguf_internal.h"
#include "gguf/order_internal.h"
#include "io/digests.h"

#include <fcntl.h>
#include <float.h>
#include <math.h>
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
static const char *kind_name(uint32_t kind) { return kind < GGUF_KINDS ? kinds[kind].name : "unknown"; }

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
int64_t geodec_gguf_file_bytes(const geodec_gguf *g)
{
    int64_t sum = (int64_t)g->map.size;
    for (int32_t i = 0; i < g->n_more; i++) sum += (int64_t)g->more[i]->map.size;
    return sum;
}

int64_t geodec_gguf_offset(const geodec_gguf *g, const void *data)
{
    const geodec_gguf *part = g->borrowed ? NULL : geodec__gguf_part_of(g, data);
    return part ? part->start + part->offset + ((const uint8_t *)data - part->map.data) : -1;
}

/* Each release makes all processors forget their addresses. */
enum { TOGETHER = 1 << 20 };

void geodec_gguf_release(const geodec_gguf *g, const void *data, size_t n)
{
    const geodec_gguf *part = geodec__gguf_part_of(g, data);
    if (g->borrowed || !part) return; /* written bytes would be lost, not read again */
    if (n >= TOGETHER / 2) {
        geodec_file_map_release(&part->map, data, n);
    } else if (atomic_fetch_add(g->unreleased, (long long)n) + (long long)n >= TOGETHER) {
        atomic_store(g->unreleased, 0);
        geodec_gguf_release_all(g, NULL, 0);
    }
}

void geodec_gguf_release_all(const geodec_gguf *g, const void *rare, size_t n)
{
    if (g->borrowed) return;
    for (int32_t i = -1; i < g->n_more; i++) {
        const geodec_gguf *part = i < 0 ? g : g->more[i];
        const bool here = rare && geodec__gguf_part_of(g, rare) == part;
        geodec_file_map_sparse(&part->map, here ? rare : NULL, here ? n : 0);
        geodec_file_map_release(&part->map, part->map.data, part->map.size);
    }
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
                array ? "an array of " : "of type ", kind_name(array ? k->element : k->kind), wanted);
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

/* ---- one rule for numbers: a value of any integer, float or boolean type, where it fits -------------------------- */

/* A number of the file. */
typedef struct number {
    bool whole;    /* of an integer type or bool: negative and magnitude; else real */
    bool negative; /* below 0 */
    uint64_t magnitude;
    double real;
} number;

/* False when the kind is not that of a number. */
static bool number_at(uint32_t kind, const uint8_t *p, number *out)
{
    const size_t width = geodec__gguf_width(kind);
    float f;
    *out = (number){.whole = true};
    if (width == 0) return false;
    if (kind == GGUF_F32 || kind == GGUF_F64) {
        out->whole = false;
        if (kind == GGUF_F64) {
            geodec__order_copy(&out->real, p, 1, sizeof out->real);
        } else {
            geodec__order_copy(&f, p, 1, sizeof f);
            out->real = (double)f;
        }
        return true;
    }
    uint64_t x = 0;
    for (size_t i = width; i-- > 0;) x = x << 8 | p[i];
    const uint64_t sign = (uint64_t)1 << (8 * width - 1);
    if (kind == GGUF_I8 || kind == GGUF_I16 || kind == GGUF_I32 || kind == GGUF_I64) {
        out->negative = x & sign;
        x = (x ^ sign) - sign;
        if (out->negative) x = 0 - x;
    }
    out->magnitude = x;
    return true;
}

/* NULL, or why the number is no int64. */
static const char *as_integer(const number *x, int64_t *v)
{
    const double limit = 9223372036854775808.0; /* 2^63 */
    if (!x->whole) {
        if (!isfinite(x->real)) return "is not finite";
        if (x->real != trunc(x->real)) return "has a fraction";
        if (!(x->real >= -limit && x->real < limit)) return "is outside -2^63 to 2^63 - 1";
        *v = (int64_t)x->real;
        return NULL;
    }
    if (x->magnitude > (uint64_t)INT64_MAX + x->negative) return "is above 2^63 - 1";
    *v = x->negative ? (int64_t)(0 - x->magnitude) : (int64_t)x->magnitude;
    return NULL;
}

/* NULL, or why a float with this number of bits cannot hold the integer. Numbers of float types are rounded later. */
static const char *as_real(const number *x, int bits, double *v)
{
    *v = x->real;
    if (!x->whole) return NULL;
    int zeros = 0;
    for (uint64_t m = x->magnitude; m && m % 2 == 0; m /= 2) zeros++;
    if (x->magnitude >> zeros >> (bits - 1) > 1) return bits == 24 ? "has more than 24 bits" : "has more than 53 bits";
    *v = x->negative ? -(double)x->magnitude : (double)x->magnitude;
    return NULL;
}

static geodec_status unfit(const geodec_gguf *g, const geodec__gguf_key *k, int64_t i, const char *why, geodec_err *err)
{
    if (k->kind == GGUF_ARRAY)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%.100s': value %lld %s", g->path, k->name, (long long)i, why);
    GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%.100s' %s", g->path, k->name, why);
}

static geodec_status find_number(const geodec_gguf *g, const char *key, const char *wanted, const geodec__gguf_key **k,
                                 number *x, geodec_err *err)
{
    GEODEC_PASS(find_key(g, key, ANY, ANY, "", k, err));
    if (!number_at((*k)->kind, (*k)->value, x)) GEODEC_PASS(wrong_kind(g, *k, wanted, err));
    return GEODEC_OK;
}

geodec_status geodec_gguf_get_i64(const geodec_gguf *g, const char *key, int64_t *v, geodec_err *err)
{
    const geodec__gguf_key *k;
    number x;
    GEODEC_PASS(find_number(g, key, "an integer", &k, &x, err));
    const char *why = as_integer(&x, v);
    if (why) GEODEC_PASS(unfit(g, k, 0, why, err));
    return GEODEC_OK;
}

geodec_status geodec_gguf_get_f64(const geodec_gguf *g, const char *key, double *v, geodec_err *err)
{
    const geodec__gguf_key *k;
    number x;
    GEODEC_PASS(find_number(g, key, "a number", &k, &x, err));
    const char *why = as_real(&x, 53, v);
    if (why) GEODEC_PASS(unfit(g, k, 0, why, err));
    return GEODEC_OK;
}

geodec_status geodec_gguf_get_bool(const geodec_gguf *g, const char *key, bool *v, geodec_err *err)
{
    const geodec__gguf_key *k;
    number x;
    int64_t i = -1;
    GEODEC_PASS(find_number(g, key, "bool", &k, &x, err));
    if (as_integer(&x, &i) || i < 0 || i > 1) GEODEC_PASS(unfit(g, k, 0, "is neither 0 nor 1", err));
    *v = i == 1;
    return GEODEC_OK;
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

/* The array of n numbers; *width bytes each. */
static geodec_status find_numbers(const geodec_gguf *g, const char *key, int64_t n, const geodec__gguf_key **k,
                                  size_t *width, geodec_err *err)
{
    GEODEC_PASS(find_key(g, key, GGUF_ARRAY, ANY, "an array of numbers", k, err));
    *width = geodec__gguf_width((*k)->element);
    if (*width == 0) GEODEC_PASS(wrong_kind(g, *k, "an array of numbers", err));
    return check_length(g, *k, n, err);
}

geodec_status geodec_gguf_array_f32(const geodec_gguf *g, const char *key, float *out, int64_t n, geodec_err *err)
{
    const geodec__gguf_key *k;
    size_t width;
    GEODEC_PASS(find_numbers(g, key, n, &k, &width, err));
    for (int64_t i = 0; i < n; i++) {
        number x;
        double v;
        (void)number_at(k->element, k->value + (size_t)i * width, &x);
        const char *why = as_real(&x, 24, &v);
        if (!why && isfinite(v) && !(fabs(v) <= (double)FLT_MAX)) why = "is too large for float32";
        if (why) GEODEC_PASS(unfit(g, k, i, why, err));
        out[i] = (float)v;
    }
    return GEODEC_OK;
}

geodec_status geodec_gguf_array_i32(const geodec_gguf *g, const char *key, int32_t *out, int64_t n, geodec_err *err)
{
    const geodec__gguf_key *k;
    size_t width;
    GEODEC_PASS(find_numbers(g, key, n, &k, &width, err));
    for (int64_t i = 0; i < n; i++) {
        number x;
        int64_t v = 0;
        (void)number_at(k->element, k->value + (size_t)i * width, &x);
        const char *why = as_integer(&x, &v);
        if (!why && (v < INT32_MIN || v > INT32_MAX)) why = "does not fit in int32";
        if (why) GEODEC_PASS(unfit(g, k, i, why, err));
        out[i] = (int32_t)v;
    }
    return GEODEC_OK;
}

geodec_status geodec_gguf_array_same(const geodec_gguf *g, const char *key, int64_t *v, bool *same, geodec_err *err)
{
    const geodec__gguf_key *k;
    GEODEC_PASS(find_key(g, key, GGUF_ARRAY, ANY, "an array of numbers", &k, err));
    const size_t width = geodec__gguf_width(k->element);
    if (width == 0) GEODEC_PASS(wrong_kind(g, k, "an array of numbers", err));
    *same = k->count > 0;
    for (int64_t i = 0; i < k->count && *same; i++) {
        number x;
        int64_t one = 0;
        (void)number_at(k->element, k->value + (size_t)i * width, &x);
        const char *why = as_integer(&x, &one);
        if (why) GEODEC_PASS(unfit(g, k, i, why, err));
        *same = i == 0 || one == *v;
        *v = one;
    }
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
    for (int32_t i = 0; i < g->n_more; i++) digest_bytes(g, g->more[i]->map.data, g->more[i]->map.size, &h);
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
    /* of one file, another process of the job may have computed it */
    const int fd =
        g->borrowed || g->offset > 0 || g->n_more > 0 ? -1 : open(g->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || !geodec_digests_find(g->path, GEODEC_DIGEST_TENSORS, fd, hex)) {
        tensor_digest(g, hex);
        if (fd >= 0) geodec_digests_add(g->path, GEODEC_DIGEST_TENSORS, fd, hex);
    }
    if (fd >= 0) (void)close(fd);
}
