#include "base/mem.h"
#include "gguf/gguf_internal.h"
#include "gguf/order_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- a bounded cursor ------------------------------------------------------------------------------------------- */

typedef struct cursor {
    const uint8_t *data;
    size_t size, at;
} cursor;

/* A number of `width` bytes. */
static bool take(cursor *c, void *out, size_t width)
{
    if (c->size - c->at < width) return false;
    geodec__order_copy(out, c->data + c->at, 1, width);
    c->at += width;
    return true;
}

static bool skip(cursor *c, uint64_t n)
{
    if (c->size - c->at < n) return false;
    c->at += (size_t)n;
    return true;
}

/* A length-prefixed string; *text points into the map. */
static bool take_string(cursor *c, const uint8_t **text, uint64_t *n)
{
    if (!take(c, n, sizeof *n)) return false;
    *text = c->data + c->at;
    return skip(c, *n);
}

static char *copy_text(const uint8_t *text, size_t n)
{
    char *p = geodec_mem_new((int64_t)n + 1, 1);
    if (p) memcpy(p, text, n);
    return p;
}

/* The name of entry `index`, a key or a tensor: a copy of 1 to `most` bytes without a zero. */
static geodec_status take_name(cursor *c, const char *what, int64_t index, uint64_t most, char **name, geodec_err *err)
{
    const uint8_t *text;
    uint64_t n;
    if (!take_string(c, &text, &n))
        GEODEC_FAIL(GEODEC_FORMAT, "the name of %s %lld runs past the end of the file", what, (long long)index);
    if (n == 0 || n > most || memchr(text, 0, (size_t)n))
        GEODEC_FAIL(GEODEC_FORMAT, "%s %lld has an empty, overlong or broken name", what, (long long)index);
    *name = copy_text(text, (size_t)n);
    if (!*name) GEODEC_FAIL(GEODEC_NOMEM, "no memory for %s %lld", what, (long long)index);
    return GEODEC_OK;
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

/* Passes over n elements of the kind, which may be arrays again; false when the file ends or an unknown kind comes. */
static bool skip_elements(cursor *c, uint32_t kind, uint64_t n, int depth)
{
    enum { DEEPEST = 8 };
    uint64_t length;
    uint32_t element;
    const uint8_t *text;
    if (kind >= GGUF_KINDS || depth > DEEPEST) return false;
    const size_t width = geodec__gguf_width(kind);
    if (width > 0) return n <= (c->size - c->at) / width && skip(c, n * width);
    for (uint64_t i = 0; i < n; i++) /* each takes at least eight bytes */
        if (kind == GGUF_STRING ? !take_string(c, &text, &length)
                                : !take(c, &element, sizeof element) || !take(c, &length, sizeof length) ||
                                      !skip_elements(c, element, length, depth + 1))
            return false;
    return true;
}

static geodec_status read_array(cursor *c, geodec__gguf_key *k, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint64_t n;
    if (!take(c, &k->element, sizeof k->element) || !take(c, &n, sizeof n))
        GEODEC_THROW(GEODEC_FORMAT, "key '%.100s': the file ends inside its array header", k->name);
    if (k->element >= GGUF_KINDS)
        GEODEC_THROW(GEODEC_FORMAT, "key '%.100s': array of unknown value type %u", k->name, k->element);
    /* Every element takes at least this many bytes, so the file's size bounds the count and every allocation. */
    const size_t fixed = geodec__gguf_width(k->element), width = fixed ? fixed : sizeof(uint64_t);
    if (n > (c->size - c->at) / width)
        GEODEC_THROW(GEODEC_FORMAT, "key '%.100s': array of %llu values does not fit in the file", k->name,
                     (unsigned long long)n);
    k->count = (int64_t)n;
    k->value = c->data + c->at;
    if (k->element == GGUF_ARRAY) { /* of no known key; kept to be copied */
        if (!skip_elements(c, k->element, n, 0))
            GEODEC_THROW(GEODEC_FORMAT, "key '%.100s': an array in it is broken or nested too deeply", k->name);
        k->nested = (size_t)(c->data + c->at - k->value);
        goto done;
    }
    if (k->element != GGUF_STRING) {
        if (k->element == GGUF_BOOL)
            for (uint64_t i = 0; i < n; i++)
                if (k->value[i] > 1)
                    GEODEC_THROW(GEODEC_FORMAT, "key '%.100s': value %u is not a boolean", k->name, k->value[i]);
        (void)skip(c, n * width);
        goto done;
    }
    GEODEC_NEW(k->at, n);
    for (uint64_t i = 0; i < n; i++) {
        const uint8_t *text;
        uint64_t length;
        k->at[i] = c->at;
        if (!take_string(c, &text, &length))
            GEODEC_THROW(GEODEC_FORMAT, "key '%.100s': string %llu runs past the end of the file", k->name,
                         (unsigned long long)i);
    }
done:
    return st;
}

static geodec_status read_key(cursor *c, geodec__gguf_key *k, int64_t index, geodec_err *err)
{
    uint64_t n;
    GEODEC_PASS(take_name(c, "key", index, GGUF_MAX_KEY, &k->name, err));
    if (!take(c, &k->kind, sizeof k->kind))
        GEODEC_FAIL(GEODEC_FORMAT, "key '%.100s': the file ends before its value", k->name);
    if (k->kind >= GGUF_KINDS) GEODEC_FAIL(GEODEC_FORMAT, "key '%.100s': unknown value type %u", k->name, k->kind);
    if (k->kind == GGUF_ARRAY) {
        GEODEC_PASS(read_array(c, k, err));
    } else if (k->kind == GGUF_STRING) {
        if (!take_string(c, &k->value, &n))
            GEODEC_FAIL(GEODEC_FORMAT, "key '%.100s': its string runs past the end of the file", k->name);
        k->count = (int64_t)n;
        k->text = copy_text(k->value, (size_t)n);
        if (!k->text) GEODEC_FAIL(GEODEC_NOMEM, "no memory for key '%.100s'", k->name);
    } else {
        k->value = c->data + c->at;
        if (!skip(c, geodec__gguf_width(k->kind)))
            GEODEC_FAIL(GEODEC_FORMAT, "key '%.100s': the file ends inside its value", k->name);
        if (k->kind == GGUF_BOOL && *k->value > 1)
            GEODEC_FAIL(GEODEC_FORMAT, "key '%.100s': value %u is not a boolean", k->name, *k->value);
    }
    return GEODEC_OK;
}

static int by_key_name(const void *a, const void *b)
{
    return strcmp((*(geodec__gguf_key *const *)a)->name, (*(geodec__gguf_key *const *)b)->name);
}

void geodec__gguf_sort_keys(geodec_gguf *g)
{
    for (int64_t i = 0; i < g->n_keys; i++) g->key_order[i] = &g->key[i];
    if (g->n_keys > 0) qsort(g->key_order, (size_t)g->n_keys, sizeof *g->key_order, by_key_name);
}

static geodec_status read_keys(geodec_gguf *g, cursor *c, uint64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    /* name length, one character, type, one byte of value */
    if (n > GGUF_MAX_KEYS || n > (c->size - c->at) / 14)
        GEODEC_THROW(GEODEC_FORMAT, "%llu keys cannot be in this file", (unsigned long long)n);
    GEODEC_NEW_EACH(n, g->key, g->key_order);
    for (uint64_t i = 0; i < n; i++) {
        g->n_keys = (int64_t)i + 1; /* frees a half-read key on failure */
        GEODEC_TRY(read_key(c, &g->key[i], (int64_t)i, err));
    }
    geodec__gguf_sort_keys(g);
    for (uint64_t i = 1; i < n; i++)
        if (by_key_name(&g->key_order[i - 1], &g->key_order[i]) == 0)
            GEODEC_THROW(GEODEC_FORMAT, "key '%.100s' occurs twice", g->key_order[i]->name);
done:
    return st;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

static geodec_status read_tensor(const geodec_gguf *g, cursor *c, geodec_gguf_tensor *t, uint64_t *offset,
                                 int64_t index, geodec_err *err)
{
    uint32_t n_dims, type;
    char *name = NULL;
    GEODEC_PASS(take_name(c, "tensor", index, GGUF_MAX_NAME, &name, err));
    t->name = name;
    if (!take(c, &n_dims, sizeof n_dims))
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': the file ends inside its entry", name);
    if (n_dims > 4) GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s' has %u dimensions, not 0 to 4", name, n_dims);
    t->n_dims = (int)n_dims;
    int64_t elements = 1;
    for (int i = 0; i < 4; i++) {
        uint64_t d = 1;
        if (i < t->n_dims && !take(c, &d, sizeof d))
            GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': the file ends inside its entry", name);
        if (d > INT64_MAX || geodec_mem_mul(elements, (int64_t)d, &elements) != 0)
            GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': dimension %d is too large", name, i);
        t->dim[i] = (int64_t)d;
    }
    if (!take(c, &type, sizeof type) || !take(c, offset, sizeof *offset))
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': the file ends inside its entry", name);
    t->type = type > INT32_MAX ? -1 : (int)type;
    const geodec_ggml_traits *traits = geodec_ggml_traits_of(t->type);
    if (traits && t->dim[0] % traits->block)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': rows of %lld are not a multiple of the %s block of %d", name,
                    (long long)t->dim[0], traits->name, traits->block);
    int64_t bytes = 0;
    const int plain = geodec_ggml_integer_bytes(t->type);
    if ((traits && geodec_mem_mul(elements / traits->block, traits->block_bytes, &bytes) != 0) ||
        (plain && geodec_mem_mul(elements, plain, &bytes) != 0) || (uint64_t)bytes > SIZE_MAX / 2)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': its size overflows", name);
    t->bytes = (size_t)bytes;
    if (*offset % (uint64_t)g->alignment)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': offset %llu is not a multiple of the alignment %lld", name,
                    (unsigned long long)*offset, (long long)g->alignment);
    return GEODEC_OK;
}

static int by_tensor_name(const void *a, const void *b)
{
    return strcmp((*(geodec_gguf_tensor *const *)a)->name, (*(geodec_gguf_tensor *const *)b)->name);
}

static int by_address(const void *a, const void *b)
{
    const geodec_gguf_tensor *s = *(geodec_gguf_tensor *const *)a, *t = *(geodec_gguf_tensor *const *)b;
    const uint8_t *x = s->data, *y = t->data;
    if (x == y) return (s->bytes > t->bytes) - (s->bytes < t->bytes); /* one without bytes shares its place */
    return (x > y) - (x < y);
}

/* Writers put tensors one after the other with padding only, so a wrong type or dimension shows as an overlap or a gap.
 * A tensor of an unsupported type gets all bytes up to the next one. order: by address. */
static geodec_status check_layout(geodec_gguf_tensor *const *order, uint64_t n, const uint8_t *end, size_t alignment,
                                  geodec_err *err)
{
    for (uint64_t i = 0; i < n; i++) {
        geodec_gguf_tensor *t = order[i];
        const uint8_t *next = i + 1 < n ? order[i + 1]->data : end;
        const size_t apart = (size_t)(next - (const uint8_t *)t->data);
        if (!geodec_ggml_traits_of(t->type) && !geodec_ggml_integer_bytes(t->type))
            t->bytes = geodec_gguf_elements(t) ? apart : 0;
        else if (i + 1 < n && apart != (t->bytes + alignment - 1) / alignment * alignment)
            GEODEC_FAIL(GEODEC_FORMAT, "tensors '%s' and '%s' %s", t->name, order[i + 1]->name,
                        apart < t->bytes ? "overlap" : "have a gap between them");
    }
    return GEODEC_OK;
}

geodec_status geodec__gguf_sort_tensors(geodec_gguf *g, geodec_err *err)
{
    if (g->n_tensors > 0) qsort(g->tensor_order, (size_t)g->n_tensors, sizeof *g->tensor_order, by_tensor_name);
    for (int64_t i = 1; i < g->n_tensors; i++) {
        const geodec_gguf_tensor *a = g->tensor_order[i - 1], *b = g->tensor_order[i];
        if (strcmp(a->name, b->name) != 0) continue;
        if (g->n_more == 0) GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s' occurs twice", a->name);
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s' is in two parts, %s and %s", a->name, geodec_gguf_path_of(g, a->data),
                    geodec_gguf_path_of(g, b->data));
    }
    return GEODEC_OK;
}

static geodec_status read_tensors(geodec_gguf *g, cursor *c, uint64_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint64_t *offset = NULL;
    /* name length, one character, number of dimensions, type, offset */
    if (n > GGUF_MAX_TENSORS || n > (c->size - c->at) / 25)
        GEODEC_THROW(GEODEC_FORMAT, "%llu tensors cannot be in this file", (unsigned long long)n);
    GEODEC_NEW_EACH(n, g->tensor, g->tensor_order, offset);
    for (uint64_t i = 0; i < n; i++) {
        g->n_tensors = (int64_t)i + 1;
        GEODEC_TRY(read_tensor(g, c, &g->tensor[i], &offset[i], (int64_t)i, err));
        g->tensor_order[i] = &g->tensor[i];
    }
    const size_t alignment = (size_t)g->alignment, begin = (c->at + alignment - 1) / alignment * alignment;
    const size_t room = begin < c->size ? c->size - begin : 0;
    for (uint64_t i = 0; i < n; i++) {
        geodec_gguf_tensor *t = &g->tensor[i];
        if (offset[i] > room || t->bytes > room - (size_t)offset[i])
            GEODEC_THROW(GEODEC_FORMAT, "tensor '%s' (%zu bytes at offset %llu) lies outside the file", t->name,
                         t->bytes, (unsigned long long)offset[i]);
        t->data = c->data + begin + offset[i];
    }
    qsort(g->tensor_order, (size_t)n, sizeof *g->tensor_order, by_address);
    GEODEC_TRY(check_layout(g->tensor_order, n, c->data + c->size, alignment, err));
    GEODEC_TRY(geodec__gguf_sort_tensors(g, err));
done:
    geodec_mem_free(offset);
    return st;
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

static geodec_status read_alignment(geodec_gguf *g, geodec_err *err)
{
    g->alignment = GGUF_DEFAULT_ALIGNMENT;
    const geodec__gguf_key *k = geodec__gguf_lookup(g, "general.alignment");
    if (!k) return GEODEC_OK;
    int64_t v;
    GEODEC_PASS(geodec_gguf_get_i64(g, k->name, &v, err));
    if (v < 8 || v > GGUF_MAX_ALIGNMENT || (v & (v - 1)))
        GEODEC_FAIL(GEODEC_FORMAT, "key 'general.alignment': %lld is not a power of two from 8 to %d", (long long)v,
                    GGUF_MAX_ALIGNMENT);
    g->alignment = v;
    return GEODEC_OK;
}

static geodec_status read_file(geodec_gguf *g, geodec_err *err)
{
    cursor c = {g->map.data, g->map.size, 0};
    uint64_t n_tensors, n_keys;
    if (c.size >= 8 && memcmp(c.data, "GEXPERTS", 8) == 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "is a store of experts; this needs the GGUF file from which it was built");
    if (!skip(&c, 4) || memcmp(c.data, "GGUF", 4) != 0) GEODEC_FAIL(GEODEC_FORMAT, "not a GGUF file");
    if (!take(&c, &g->version, sizeof g->version)) GEODEC_FAIL(GEODEC_FORMAT, "the file ends inside its header");
    if (g->version != 0 && (g->version & 0xffffu) == 0)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "big-endian GGUF files are not supported");
    if (g->version < 2 || g->version > 3)
        GEODEC_FAIL(GEODEC_VERSION, "GGUF version %u is not supported (2 and 3 are)", g->version);
    if (!take(&c, &n_tensors, sizeof n_tensors) || !take(&c, &n_keys, sizeof n_keys))
        GEODEC_FAIL(GEODEC_FORMAT, "the file ends inside its header");
    GEODEC_PASS(read_keys(g, &c, n_keys, err));
    GEODEC_PASS(read_alignment(g, err));
    GEODEC_PASS(read_tensors(g, &c, n_tensors, err));
    return GEODEC_OK;
}

/* The caller's bytes, or with data NULL the file of that name, mapped: all of it, or from offset > 0 on `size` bytes.
 */
static geodec_status open_any(const void *data, int64_t offset, size_t size, const char *name, geodec_gguf **out,
                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf *g = NULL;
    GEODEC_NEW(g, 1);
    GEODEC_STRDUP(g->path, name);
    GEODEC_NEW(g->unreleased, 1);
    g->borrowed = data != NULL;
    g->map.data = data;
    g->map.size = size;
    g->offset = offset;
    if (!data && offset > 0)
        GEODEC_TRY(geodec_file_map_part(name, offset, (int64_t)size, &g->map, err));
    else if (!data)
        GEODEC_TRY(geodec_file_map_open(name, &g->map, err));
    GEODEC_TRY_MSG(read_file(g, err), "%s", name);
    *out = g;
    g = NULL;
done:
    geodec_gguf_close(g);
    return st;
}

geodec_status geodec_gguf_open_memory(const void *data, size_t size, const char *name, geodec_gguf **out,
                                      geodec_err *err)
{
    return open_any(data ? data : "", 0, size, name, out, err);
}

geodec_status geodec__gguf_open_one(const char *path, geodec_gguf **out, geodec_err *err)
{
    return open_any(NULL, 0, 0, path, out, err);
}

geodec_status geodec_gguf_open(const char *path, geodec_gguf **out, geodec_err *err)
{
    geodec_gguf *g = NULL;
    GEODEC_PASS(geodec__gguf_open_one(path, &g, err));
    const geodec_status st = geodec__gguf_join(g, err);
    if (st == GEODEC_OK)
        *out = g;
    else
        geodec_gguf_close(g);
    return st;
}

geodec_status geodec_gguf_open_part(const char *path, int64_t offset, int64_t size, geodec_gguf **out, geodec_err *err)
{
    if (offset <= 0 || offset % 4096 || size < 0)
        GEODEC_FAIL(GEODEC_INVAL, "%s: no part of %lld bytes at %lld", path, (long long)size, (long long)offset);
    return open_any(NULL, offset, (size_t)size, path, out, err);
}

geodec_status geodec_gguf_check_types(const geodec_gguf *g, geodec_err *err)
{
    for (int64_t i = 0; i < g->n_tensors; i++) {
        const geodec_gguf_tensor *t = &g->tensor[i];
        if (!geodec_ggml_traits_of(t->type))
            GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: tensor '%s' has type %s (%d), which is not supported", g->path,
                        t->name, geodec_ggml_type_name(t->type), t->type);
    }
    return GEODEC_OK;
}

void geodec_gguf_close(geodec_gguf *g)
{
    if (!g) return;
    for (int64_t i = 0; i < g->n_keys; i++) GEODEC_FREE(g->key[i].name, g->key[i].text, g->key[i].at);
    for (int64_t i = 0; i < g->n_tensors; i++) {
        union { /* names are allocated here, and const elsewhere */
            const char *name;
            char *owned;
        } u = {.name = g->tensor[i].name};
        geodec_mem_free(u.owned);
    }
    for (int32_t i = 0; i < g->n_more; i++) geodec_gguf_close(g->more[i]);
    GEODEC_FREE(g->more, g->key, g->key_order, g->tensor, g->tensor_order, g->path, g->unreleased);
    if (!g->borrowed) geodec_file_map_close(&g->map);
    geodec_mem_free(g);
}
