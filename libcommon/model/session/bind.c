/* Tensors of a file by their names: what a row of the table says of them, their shapes, matrices, vectors and norms. */
#include "base/finite.h"
#include "session/bind_internal.h"

#include <stdio.h>
#include <string.h>

enum { SUFFIX = GEODEC__BIND_SUFFIX };

/* layer < 0: not in a block. suffix with its .weight or .bias. One of size zero has no values and counts as missing. */
const geodec_gguf_tensor *geodec__bind_find(geodec__binder *b, int32_t layer, const char *suffix)
{
    if (layer < 0)
        (void)snprintf(b->name, sizeof b->name, "%s", suffix);
    else
        (void)snprintf(b->name, sizeof b->name, "blk.%d.%s", layer, suffix);
    const geodec_gguf_tensor *t = geodec_gguf_find(b->g, b->name);
    const char *dot = strrchr(b->name, '.');
    if (!t && dot && (strcmp(dot, ".weight") == 0 || strcmp(dot, ".bias") == 0)) {
        char bare[GEODEC__BIND_NAME]; /* some converters leave it out (plamo3, hy_v3) */
        (void)snprintf(bare, sizeof bare, "%.*s", (int)(dot - b->name), b->name);
        t = geodec_gguf_find(b->g, bare);
        if (t && strcmp(dot, ".bias") == 0 && b->bound[t - geodec_gguf_tensor_at(b->g, 0)]) t = NULL; /* a weight */
    }
    return t && geodec_gguf_elements(t) > 0 ? t : NULL;
}

void geodec__bind_mark(const geodec__binder *b, const geodec_gguf_tensor *t)
{
    b->bound[t - geodec_gguf_tensor_at(b->g, 0)] = true;
}

geodec_status geodec__bind_missing(const geodec__binder *b)
{
    return geodec_err_set(b->err, GEODEC_FORMAT, __func__, __LINE__, "tensor '%s' is missing", b->name);
}

/* Shape, and that values of the type can be read. */
geodec_status geodec__bind_shape(const geodec__binder *b, const geodec_gguf_tensor *t, int64_t cols, int64_t rows,
                                 int64_t count, geodec_err *err)
{
    const char *path = geodec_gguf_path_of(b->g, t->data);
    const bool part = strcmp(path, geodec_gguf_path(b->g)) != 0;
    const int64_t want[4] = {cols, rows, count, 1}; /* trailing ones do not count: [n] and [n, 1] are the same vector */
    if (memcmp(want, t->dim, sizeof want) != 0)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s'%s%s is [%lld, %lld, %lld, %lld], not [%lld, %lld, %lld, 1]", t->name,
                    part ? " of " : "", part ? path : "", (long long)t->dim[0], (long long)t->dim[1],
                    (long long)t->dim[2], (long long)t->dim[3], (long long)want[0], (long long)want[1],
                    (long long)want[2]);
    if (!geodec_ggml_traits_of(t->type))
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "tensor '%s' has type %s (%d), which is not supported", t->name,
                    geodec_ggml_type_name(t->type), t->type);
    return GEODEC_OK;
}

/* cols inputs, rows outputs, count matrices in one tensor (experts; 1 otherwise). */
geodec_status geodec__bind_matrices(geodec__binder *b, int32_t layer, const char *suffix, int64_t cols, int64_t rows,
                                    int64_t count, geodec__matrix *out)
{
    geodec_err *err = b->err;
    const geodec_gguf_tensor *t = geodec__bind_find(b, layer, suffix);
    if (!t) GEODEC_PASS(geodec__bind_missing(b));
    GEODEC_PASS(geodec__bind_shape(b, t, cols, rows, count, err));
    *out = (geodec__matrix){.data = t->data,
                            .rows = rows,
                            .cols = cols,
                            .row_bytes = (int64_t)geodec_ggml_bytes(geodec_ggml_traits_of(t->type), cols),
                            .type = t->type};
    geodec__bind_mark(b, t);
    return GEODEC_OK;
}

geodec_status geodec__bind_experts(const geodec__binder *b, const uint8_t ***out)
{
    geodec_err *err = b->err;
    *out = geodec__arena_new(b->arena, geodec__pad(b->c->n_expert), sizeof **out);
    if (!*out) GEODEC_FAIL(GEODEC_NOMEM, "no memory for the places of %d experts", b->c->n_expert);
    return GEODEC_OK;
}

geodec_status geodec__bind_floats(const geodec__binder *b, int64_t n, float **out)
{
    geodec_err *err = b->err;
    *out = geodec__arena_new(b->arena, geodec__pad(n), sizeof **out);
    if (!*out) GEODEC_FAIL(GEODEC_NOMEM, "no memory for a vector of %lld numbers", (long long)n);
    return GEODEC_OK;
}

geodec_status geodec__bind_values(const geodec__binder *b, const geodec_gguf_tensor *t, int64_t n, int64_t count,
                                  const float **out)
{
    geodec_err *err = b->err;
    const geodec_ggml_traits *type = geodec_ggml_traits_of(t->type);
    const int64_t row = geodec__pad(n), bytes = (int64_t)geodec_ggml_bytes(type, n);
    float *x;
    GEODEC_PASS(geodec__bind_floats(b, row * count, &x));
    for (int64_t i = 0; i < count; i++) type->decode((const uint8_t *)t->data + i * bytes, x + i * row, n);
    const int64_t bad = geodec_finite_first_not_f32(x, row * count);
    if (bad >= 0)
        GEODEC_FAIL(GEODEC_FORMAT, "tensor '%s': value %lld is not finite", t->name,
                    (long long)(bad / row * n + bad % row));
    *out = x;
    geodec__bind_mark(b, t);
    return GEODEC_OK;
}

/* Decoded to float32. A missing one stays NULL unless it is required. */
geodec_status geodec__bind_vector(geodec__binder *b, geodec__presence presence, int32_t layer, const char *suffix,
                                  int64_t n, const float **out)
{
    geodec_err *err = b->err;
    const geodec_gguf_tensor *t = presence == GEODEC__NEVER ? NULL : geodec__bind_find(b, layer, suffix);
    if (!t) {
        if (presence == GEODEC__ALWAYS) GEODEC_PASS(geodec__bind_missing(b));
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec__bind_shape(b, t, n, 1, 1, err));
    return geodec__bind_values(b, t, n, 1, out);
}

/* Whether a name is among those of a list, apart by blanks. */
bool geodec__bind_listed(const char *list, const char *name, size_t n)
{
    for (const char *at = list; at && *at;) {
        const size_t size = strcspn(at, " ");
        if (size == n && strncmp(at, name, n) == 0) return true;
        at += size + strspn(at + size, " ");
    }
    return false;
}

/* Of a tensor by the architecture's row, from its name without ".weight". */
geodec__presence geodec__bind_presence(const geodec__arch *a, const char *name)
{
    const size_t n = strlen(name);
    return geodec__bind_listed(a->must, name, n)  ? GEODEC__ALWAYS
           : geodec__bind_listed(a->may, name, n) ? GEODEC__MAYBE
                                                  : GEODEC__NEVER;
}

/* A bias, which any matrix may have, unless the row says that it must. */
geodec_status geodec__bind_bias(geodec__binder *b, int32_t layer, const char *name, int64_t n, const float **out)
{
    char suffix[SUFFIX];
    (void)snprintf(suffix, sizeof suffix, "%s.bias", name);
    const geodec__presence p =
        geodec__bind_listed(b->arch->must, suffix, strlen(suffix)) ? GEODEC__ALWAYS : GEODEC__MAYBE;
    return geodec__bind_vector(b, p, layer, suffix, n, out);
}

/* count rows of n numbers, each padded. */
geodec_status geodec__bind_rows(geodec__binder *b, geodec__presence p, int32_t layer, const char *suffix, int64_t n,
                                int64_t count, const float **out)
{
    geodec_err *err = b->err;
    const geodec_gguf_tensor *t = p == GEODEC__NEVER ? NULL : geodec__bind_find(b, layer, suffix);
    if (!t) return p == GEODEC__ALWAYS ? geodec__bind_missing(b) : GEODEC_OK;
    GEODEC_PASS(geodec__bind_shape(b, t, n, count, 1, err));
    return geodec__bind_values(b, t, n, count, out);
}

/* The norm `name` of rows of `width` numbers, of heads of `head` (0: of none): one vector for the row, one for every
 * head, one for each head, or a factor for each head. plain: ones stand for the vector. */
geodec_status geodec__bind_norm(geodec__binder *b, geodec__presence presence, bool plain, int32_t layer,
                                const char *name, int64_t width, int64_t head, geodec__norm *out)
{
    geodec_err *err = b->err;
    char suffix[SUFFIX];
    (void)snprintf(suffix, sizeof suffix, "%s.weight", name);
    const geodec_gguf_tensor *t = presence == GEODEC__NEVER ? NULL : geodec__bind_find(b, layer, suffix);
    geodec__norm n = {
        .width = (int32_t)width, .part = (int32_t)width, .eps = b->c->rms_eps, .centred = b->c->layer_norm};
    if (plain) {
        n.weight = b->ones;
        n.part = (int32_t)(head > 0 ? head : width);
    }
    if (t) {
        const int64_t heads = head > 0 ? width / head : 1, rows = t->dim[1];
        n.each = head > 0 && rows == heads && heads > 1;
        if (head > 0 && t->dim[0] != width) n.part = (int32_t)head;
        if (n.each && t->dim[0] == 1) { /* a factor for each head */
            const float *factor = NULL;
            float *weight;
            GEODEC_PASS(geodec__bind_shape(b, t, 1, heads, 1, err));
            GEODEC_PASS(geodec__bind_values(b, t, heads, 1, &factor));
            GEODEC_PASS(geodec__bind_floats(b, width, &weight));
            for (int64_t i = 0; i < width; i++) weight[i] = factor[i / head];
            n.weight = weight;
        } else if (n.each) {
            GEODEC_PASS(geodec__bind_shape(b, t, head, heads, 1, err));
            GEODEC_PASS(geodec__bind_values(b, t, width, 1, &n.weight));
        } else {
            GEODEC_PASS(geodec__bind_vector(b, presence, layer, suffix, n.part, &n.weight));
        }
        GEODEC_PASS(geodec__bind_bias(b, layer, name, n.part, &n.bias));
    } else if (presence == GEODEC__ALWAYS && !plain) {
        GEODEC_PASS(geodec__bind_missing(b));
    }
    *out = n.weight ? n : (geodec__norm){0};
    return GEODEC_OK;
}

/* A norm of the stream. given: its name, or several of which the first that is there counts; NULL: `otherwise`; "":
 * there is none. */
geodec_status geodec__bind_stream_norm(geodec__binder *b, int32_t layer, const char *given, const char *otherwise,
                                       geodec__norm *out)
{
    char name[SUFFIX / 2], suffix[SUFFIX];
    const char *list = given ? given : otherwise;
    if (!*list) return GEODEC_OK;
    for (;;) {
        const int n = (int)strcspn(list, " ");
        (void)snprintf(name, sizeof name, "%.*s", n, list);
        (void)snprintf(suffix, sizeof suffix, "%s.weight", name);
        if (!list[n] || geodec__bind_find(b, layer, suffix)) break;
        list += n + 1;
    }
    const bool plain = b->arch->plain_norms;
    return geodec__bind_norm(b, plain ? GEODEC__NEVER : GEODEC__ALWAYS, plain, layer, name, b->c->d_model, 0, out);
}
