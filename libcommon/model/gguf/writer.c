#include "base/mem.h"
#include "gguf/gguf_internal.h"
#include "gguf/order_internal.h"
#include "io/atomic.h"

#include <math.h>
#include <string.h>

/* A growing byte buffer. */
typedef struct bytes {
    uint8_t *data;
    int64_t n, room;
} bytes;

typedef struct name_list {
    char **name;
    int64_t n, room;
} name_list;

struct geodec_gguf_writer {
    geodec_atomic *file;
    char *path;
    bytes keys, entries, data;
    name_list key_names, tensor_names;
    /* planned tensors: size of each, their total with padding, the current one and its missing bytes */
    int64_t *size;
    int64_t n_planned, room, planned, current, missing;
    bool streaming; /* the header is written */
    bool embedded;  /* the file is the caller's */
};

static geodec_status put(bytes *b, const void *p, size_t n, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    if (n > (size_t)(INT64_MAX / 4 - b->n)) GEODEC_THROW(GEODEC_NOMEM, "a GGUF section is too large");
    GEODEC_GROW(b->data, b->n, b->room, (int64_t)n);
    if (n) memcpy(b->data + b->n, p, n);
    b->n += (int64_t)n;
done:
    return st;
}

/* n numbers of `width` bytes. */
static geodec_status put_numbers(bytes *b, const void *p, int64_t n, size_t width, geodec_err *err)
{
    const int64_t at = b->n;
    GEODEC_PASS(put(b, p, (size_t)n * width, err));
    geodec__order_copy(b->data + at, p, (size_t)n, width);
    return GEODEC_OK;
}

static geodec_status put_text(bytes *b, const char *s, size_t n, geodec_err *err)
{
    const uint64_t length = n;
    GEODEC_PASS(put_numbers(b, &length, 1, sizeof length, err));
    GEODEC_PASS(put(b, s, n, err));
    return GEODEC_OK;
}

static geodec_status pad(bytes *b, geodec_err *err)
{
    static const uint8_t zeros[GGUF_DEFAULT_ALIGNMENT];
    return put(b, zeros, (size_t)(-b->n & (GGUF_DEFAULT_ALIGNMENT - 1)), err);
}

/* Records a name; refuses a duplicate. */
static geodec_status add_name(name_list *l, const char *what, const char *name, size_t limit, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    char *copy = NULL;
    const size_t n = strlen(name);
    if (n == 0 || n > limit) GEODEC_THROW(GEODEC_INVAL, "%s '%.100s': a name has 1 to %zu bytes", what, name, limit);
    for (int64_t i = 0; i < l->n; i++)
        if (strcmp(l->name[i], name) == 0) GEODEC_THROW(GEODEC_EXISTS, "%s '%.100s' was put twice", what, name);
    GEODEC_GROW(l->name, l->n, l->room, 1);
    GEODEC_STRDUP(copy, name);
    l->name[l->n++] = copy;
done:
    return st;
}

static void free_names(name_list *l)
{
    for (int64_t i = 0; i < l->n; i++) geodec_mem_free(l->name[i]);
    geodec_mem_free(l->name);
}

geodec_status geodec_gguf_writer_create(const char *path, geodec_gguf_writer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf_writer *w = NULL;
    GEODEC_NEW(w, 1);
    GEODEC_STRDUP(w->path, path);
    GEODEC_TRY(geodec_atomic_open(path, &w->file, err));
    *out = w;
    w = NULL;
done:
    geodec_gguf_writer_abandon(w);
    return st;
}

geodec_status geodec_gguf_writer_embed(geodec_atomic *file, const char *name, geodec_gguf_writer **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_gguf_writer *w = NULL;
    GEODEC_NEW(w, 1);
    w->embedded = true;
    GEODEC_STRDUP(w->path, name);
    w->file = file;
    *out = w;
    w = NULL;
done:
    geodec_gguf_writer_abandon(w);
    return st;
}

void geodec_gguf_writer_abandon(geodec_gguf_writer *w)
{
    if (!w) return;
    if (!w->embedded) geodec_atomic_abandon(w->file);
    GEODEC_FREE(w->keys.data, w->entries.data, w->data.data);
    free_names(&w->key_names);
    free_names(&w->tensor_names);
    GEODEC_FREE(w->size, w->path, w);
}

/* ---- keys ------------------------------------------------------------------------------------------------------- */

static geodec_status put_head(geodec_gguf_writer *w, const char *key, geodec__gguf_kind kind, geodec_err *err)
{
    const uint32_t type = (uint32_t)kind;
    if (w->streaming) GEODEC_FAIL(GEODEC_INVAL, "key '%.100s': keys come before the first tensor's bytes", key);
    GEODEC_PASS_MSG(add_name(&w->key_names, "key", key, GGUF_MAX_KEY, err), "%s", w->path);
    GEODEC_PASS(put_text(&w->keys, key, strlen(key), err));
    GEODEC_PASS(put_numbers(&w->keys, &type, 1, sizeof type, err));
    return GEODEC_OK;
}

static geodec_status put_scalar(geodec_gguf_writer *w, const char *key, geodec__gguf_kind kind, const void *v,
                                geodec_err *err)
{
    GEODEC_PASS(put_head(w, key, kind, err));
    GEODEC_PASS(put(&w->keys, v, geodec__gguf_width((uint32_t)kind), err));
    return GEODEC_OK;
}

/* The head of an array and its n elements, `size` bytes in all; data NULL: the caller puts the elements. */
static geodec_status put_array(geodec_gguf_writer *w, const char *key, geodec__gguf_kind element, int64_t n,
                               const void *data, size_t size, geodec_err *err)
{
    const uint32_t type = (uint32_t)element;
    if (n < 0) GEODEC_FAIL(GEODEC_INVAL, "%s: key '%.100s': %lld values", w->path, key, (long long)n);
    GEODEC_PASS(put_head(w, key, GGUF_ARRAY, err));
    GEODEC_PASS(put_numbers(&w->keys, &type, 1, sizeof type, err));
    GEODEC_PASS(put_numbers(&w->keys, &n, 1, sizeof n, err));
    if (data) GEODEC_PASS(put(&w->keys, data, size, err));
    return GEODEC_OK;
}

geodec_status geodec_gguf_put_u32(geodec_gguf_writer *w, const char *key, uint32_t v, geodec_err *err)
{
    GEODEC_PASS(put_head(w, key, GGUF_U32, err));
    return put_numbers(&w->keys, &v, 1, sizeof v, err);
}

geodec_status geodec_gguf_put_f32(geodec_gguf_writer *w, const char *key, float v, geodec_err *err)
{
    GEODEC_PASS(put_head(w, key, GGUF_F32, err));
    return put_numbers(&w->keys, &v, 1, sizeof v, err);
}

geodec_status geodec_gguf_put_bool(geodec_gguf_writer *w, const char *key, bool v, geodec_err *err)
{
    const uint8_t byte = v ? 1 : 0;
    return put_scalar(w, key, GGUF_BOOL, &byte, err);
}

geodec_status geodec_gguf_put_str(geodec_gguf_writer *w, const char *key, const char *v, geodec_err *err)
{
    GEODEC_PASS(put_head(w, key, GGUF_STRING, err));
    GEODEC_PASS(put_text(&w->keys, v, strlen(v), err));
    return GEODEC_OK;
}

geodec_status geodec_gguf_put_str_array(geodec_gguf_writer *w, const char *key, const char *const *s, const size_t *len,
                                        int64_t n, geodec_err *err)
{
    GEODEC_PASS(put_array(w, key, GGUF_STRING, n, NULL, 0, err));
    for (int64_t i = 0; i < n; i++) GEODEC_PASS(put_text(&w->keys, s[i], len[i], err));
    return GEODEC_OK;
}

geodec_status geodec_gguf_put_f32_array(geodec_gguf_writer *w, const char *key, const float *v, int64_t n,
                                        geodec_err *err)
{
    GEODEC_PASS(put_array(w, key, GGUF_F32, n, NULL, 0, err));
    return put_numbers(&w->keys, v, n, sizeof *v, err);
}

geodec_status geodec_gguf_put_i32_array(geodec_gguf_writer *w, const char *key, const int32_t *v, int64_t n,
                                        geodec_err *err)
{
    GEODEC_PASS(put_array(w, key, GGUF_I32, n, NULL, 0, err));
    return put_numbers(&w->keys, v, n, sizeof *v, err);
}

/* Bytes of an array's elements in the file. */
static size_t elements_size(const geodec_gguf *g, const geodec__gguf_key *k)
{
    if (k->element == GGUF_ARRAY) return k->nested;
    if (k->element != GGUF_STRING) return (size_t)k->count * geodec__gguf_width(k->element);
    if (k->count == 0) return 0;
    const size_t last = k->at[k->count - 1], first = (size_t)(k->value - g->map.data);
    uint64_t length;
    geodec__order_copy(&length, g->map.data + last, 1, sizeof length);
    return last - first + sizeof length + (size_t)length;
}

geodec_status geodec_gguf_put_copy(geodec_gguf_writer *w, const geodec_gguf *g, const char *key, geodec_err *err)
{
    const geodec__gguf_key *k = geodec__gguf_lookup(g, key);
    if (!k) GEODEC_FAIL(GEODEC_NOTFOUND, "%s: key '%.100s' is missing", g->path, key);
    if (k->kind == GGUF_ARRAY) {
        GEODEC_PASS(put_array(w, key, (geodec__gguf_kind)k->element, k->count, k->value, elements_size(g, k), err));
    } else if (k->kind == GGUF_STRING) { /* not put_str: the text may contain zeros */
        GEODEC_PASS(put_head(w, key, GGUF_STRING, err));
        GEODEC_PASS(put_text(&w->keys, (const char *)k->value, (size_t)k->count, err));
    } else {
        GEODEC_PASS(put_scalar(w, key, (geodec__gguf_kind)k->kind, k->value, err));
    }
    return GEODEC_OK;
}

/* ---- tensors ---------------------------------------------------------------------------------------------------- */

static geodec_status check_values(const char *name, const geodec_ggml_traits *t, const float *x, int64_t n,
                                  geodec_err *err)
{
    for (int64_t i = 0; i < n; i++)
        if (!(fabsf(x[i]) < t->limit))
            GEODEC_FAIL(GEODEC_NUMERIC, "tensor '%.64s': value %g at %lld cannot be stored as %s", name, (double)x[i],
                        (long long)i, t->name);
    return GEODEC_OK;
}

/* Shape and type; *n elements, *size bytes. */
static geodec_status check_tensor(const char *name, int type, int n_dims, const int64_t *dim, int64_t *n, int64_t *size,
                                  geodec_err *err)
{
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    const int plain = geodec_ggml_integer_bytes(type), block = t ? t->block : 1;
    if (!t && !plain) GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%.64s': no type %s", name, geodec_ggml_type_name(type));
    if (n_dims < 0 || n_dims > 4) GEODEC_FAIL(GEODEC_INVAL, "tensor '%.64s': %d dimensions, not 0 to 4", name, n_dims);
    *n = 1;
    for (int i = 0; i < n_dims; i++)
        if (dim[i] < 0 || geodec_mem_mul(*n, dim[i], n) != 0)
            GEODEC_FAIL(GEODEC_INVAL, "tensor '%.64s': dimension %d is negative or the product overflows", name, i);
    if (n_dims > 0 ? dim[0] % block : block > 1)
        GEODEC_FAIL(GEODEC_INVAL, "tensor '%.64s': rows of %lld are not a multiple of the %s block of %d", name,
                    (long long)(n_dims > 0 ? dim[0] : 1), t ? t->name : "", block);
    if (geodec_mem_mul(*n / block, t ? t->block_bytes : plain, size) != 0)
        GEODEC_FAIL(GEODEC_INVAL, "tensor '%.64s': its size overflows", name);
    return GEODEC_OK;
}

static geodec_status put_entry(geodec_gguf_writer *w, const char *name, int type, int n_dims, const int64_t *dim,
                               geodec_err *err)
{
    const uint32_t n = (uint32_t)n_dims, kind = (uint32_t)type;
    const uint64_t offset = (uint64_t)(w->n_planned ? w->planned : w->data.n);
    GEODEC_PASS_MSG(add_name(&w->tensor_names, "tensor", name, GGUF_MAX_NAME, err), "%s", w->path);
    GEODEC_PASS(put_text(&w->entries, name, strlen(name), err));
    GEODEC_PASS(put_numbers(&w->entries, &n, 1, sizeof n, err));
    GEODEC_PASS(put_numbers(&w->entries, dim, n_dims, sizeof *dim, err));
    GEODEC_PASS(put_numbers(&w->entries, &kind, 1, sizeof kind, err));
    GEODEC_PASS(put_numbers(&w->entries, &offset, 1, sizeof offset, err));
    return GEODEC_OK;
}

geodec_status geodec_gguf_put_tensor(geodec_gguf_writer *w, const char *name, int type, int n_dims, const int64_t *dim,
                                     const float *data, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    uint8_t *encoded = NULL;
    const geodec_ggml_traits *t = geodec_ggml_traits_of(type);
    int64_t n, size;
    if (!t || !t->encode)
        GEODEC_THROW(GEODEC_UNSUPPORTED, "tensor '%.64s': no encoder for type %s", name, geodec_ggml_type_name(type));
    if (w->n_planned) GEODEC_THROW(GEODEC_INVAL, "tensor '%.64s': the file's tensors are planned ones", name);
    GEODEC_TRY(check_tensor(name, type, n_dims, dim, &n, &size, err));
    GEODEC_TRY(check_values(name, t, data, n, err));
    GEODEC_NEW(encoded, size);
    t->encode(data, encoded, n);
    GEODEC_TRY(put_entry(w, name, type, n_dims, dim, err));
    GEODEC_TRY(put(&w->data, encoded, (size_t)size, err));
    GEODEC_TRY(pad(&w->data, err));
done:
    geodec_mem_free(encoded);
    return st;
}

/* Writes everything before the tensors' bytes. */
static geodec_status write_head(geodec_gguf_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    bytes head = {0};
    const uint32_t version = 3;
    GEODEC_TRY(put(&head, "GGUF", 4, err));
    GEODEC_TRY(put_numbers(&head, &version, 1, sizeof version, err));
    GEODEC_TRY(put_numbers(&head, &w->tensor_names.n, 1, sizeof w->tensor_names.n, err));
    GEODEC_TRY(put_numbers(&head, &w->key_names.n, 1, sizeof w->key_names.n, err));
    GEODEC_TRY(put(&head, w->keys.data, (size_t)w->keys.n, err));
    GEODEC_TRY(put(&head, w->entries.data, (size_t)w->entries.n, err));
    GEODEC_TRY(pad(&head, err));
    GEODEC_TRY(geodec_atomic_write(w->file, head.data, (size_t)head.n, err));
done:
    geodec_mem_free(head.data);
    return st;
}

/* ---- planned tensors -------------------------------------------------------------------------------------------- */

geodec_status geodec_gguf_plan_tensor(geodec_gguf_writer *w, const char *name, int type, int n_dims, const int64_t *dim,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t n, size;
    if (w->streaming || w->tensor_names.n != w->n_planned)
        GEODEC_THROW(GEODEC_INVAL, "tensor '%.64s': all tensors are planned before the first is written", name);
    GEODEC_TRY(check_tensor(name, type, n_dims, dim, &n, &size, err));
    GEODEC_GROW(w->size, w->n_planned, w->room, 1);
    if (size > INT64_MAX / 2 - w->planned) GEODEC_THROW(GEODEC_INVAL, "tensor '%.64s': the file is too large", name);
    GEODEC_TRY(put_entry(w, name, type, n_dims, dim, err));
    if (w->n_planned == 0) w->missing = size;
    w->size[w->n_planned++] = size;
    w->planned += (size + GGUF_DEFAULT_ALIGNMENT - 1) / GGUF_DEFAULT_ALIGNMENT * GGUF_DEFAULT_ALIGNMENT;
done:
    return st;
}

/* The tensor of the next bytes; those of size zero have none. */
static void skip_empty(geodec_gguf_writer *w)
{
    while (w->current < w->n_planned && w->size[w->current] == 0) w->current++;
    if (w->current < w->n_planned && w->missing == 0) w->missing = w->size[w->current];
}

geodec_status geodec_gguf_stream(geodec_gguf_writer *w, const void *data, size_t n, geodec_err *err)
{
    static const uint8_t zeros[GGUF_DEFAULT_ALIGNMENT];
    const uint8_t *p = data;
    if (!w->streaming) {
        GEODEC_PASS(write_head(w, err));
        w->streaming = true;
    }
    while (n > 0) {
        skip_empty(w);
        if (w->current == w->n_planned) GEODEC_FAIL(GEODEC_INVAL, "%s: more bytes than were planned", w->path);
        const size_t take = n < (size_t)w->missing ? n : (size_t)w->missing;
        GEODEC_PASS(geodec_atomic_write(w->file, p, take, err));
        p += take;
        n -= take;
        w->missing -= (int64_t)take;
        if (w->missing > 0) break;
        GEODEC_PASS(
            geodec_atomic_write(w->file, zeros, (size_t)(-w->size[w->current] & (GGUF_DEFAULT_ALIGNMENT - 1)), err));
        w->current++;
        w->missing = 0;
        skip_empty(w);
    }
    return GEODEC_OK;
}

geodec_status geodec_gguf_writer_commit(geodec_gguf_writer *w, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    skip_empty(w);
    if (w->current != w->n_planned)
        GEODEC_THROW(GEODEC_INVAL, "%s: %lld of %lld planned tensors were written", w->path, (long long)w->current,
                     (long long)w->n_planned);
    if (!w->streaming) GEODEC_TRY(write_head(w, err));
    GEODEC_TRY(geodec_atomic_write(w->file, w->data.data, (size_t)w->data.n, err));
    if (w->embedded) goto done; /* the caller commits */
    geodec_atomic *file = w->file;
    w->file = NULL;
    GEODEC_TRY(geodec_atomic_commit(file, err));
done:
    geodec_gguf_writer_abandon(w);
    return st;
}
