/* Numbers, words and arrays of the keys of a file, with their limits. */
#include "session/keys_internal.h"

#include <stdio.h>
#include <string.h>

/* Whether the file has <architecture>.<suffix>. */
bool geodec__key_has(geodec__keys *k, const char *suffix)
{
    (void)snprintf(k->name, sizeof k->name, "%s.%s", k->arch->name, suffix);
    return geodec_gguf_has(k->g, k->name);
}

geodec_status geodec__key_missing(const char *path, const char *key, geodec_err *err)
{
    GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s' is missing", path, key);
}

/* The integer of the current key. One for each layer is read where all are equal: converters write both forms. */
static geodec_status read_equal(geodec__keys *k, int64_t *v)
{
    geodec_err *err = k->err;
    int64_t n;
    bool same;
    if (geodec_gguf_array_length(k->g, k->name, &n, NULL) != GEODEC_OK)
        return geodec_gguf_get_i64(k->g, k->name, v, err);
    GEODEC_PASS(geodec_gguf_array_same(k->g, k->name, v, &same, err));
    if (!same && geodec__arch_has_gaps(k->arch)) { /* 0 in layers without such a part */
        int32_t all[GEODEC__MAX_LAYERS];
        *v = 0;
        if (n > GEODEC__MAX_LAYERS)
            GEODEC_FAIL(GEODEC_LIMIT, "%s: key '%s': %lld values", k->path, k->name, (long long)n);
        GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, all, n, err));
        for (int64_t i = 0; i < n; i++)
            if (all[i] > *v) *v = all[i];
        return GEODEC_OK;
    }
    if (!same)
        GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': %lld values that are not all equal are not supported", k->path,
                    k->name, (long long)n);
    return GEODEC_OK;
}

/* An integer from lo to hi; a missing key is an error when otherwise < 0, else gives that value. */
geodec_status geodec__key_int(geodec__keys *k, const char *suffix, int64_t lo, int64_t hi, int64_t otherwise,
                              int32_t *out)
{
    geodec_err *err = k->err;
    int64_t v;
    if (!geodec__key_has(k, suffix)) {
        if (otherwise < 0) GEODEC_PASS(geodec__key_missing(k->path, k->name, err));
        *out = (int32_t)otherwise;
        return GEODEC_OK;
    }
    GEODEC_PASS(read_equal(k, &v));
    if (v < lo || v > hi)
        GEODEC_FAIL(v > hi ? GEODEC_LIMIT : GEODEC_FORMAT, "%s: key '%s': %lld is outside %lld to %lld", k->path,
                    k->name, (long long)v, (long long)lo, (long long)hi);
    *out = (int32_t)v;
    return GEODEC_OK;
}

/* An integer for each layer, all the same or one each; 0 in place of one of another kind. *most: the largest. */
geodec_status geodec__key_each(geodec__keys *k, const char *suffix, int64_t lo, int64_t hi, int64_t otherwise,
                               const geodec_model_config *c, int32_t *each, int32_t *most)
{
    geodec_err *err = k->err;
    const int32_t layers = c->n_layer + c->n_layer_next;
    int64_t n;
    *most = 0;
    if (!geodec__key_has(k, suffix) || geodec_gguf_array_length(k->g, k->name, &n, NULL) != GEODEC_OK) {
        GEODEC_PASS(geodec__key_int(k, suffix, lo, hi, otherwise, most));
        for (int32_t i = 0; i < layers; i++) each[i] = *most;
        return GEODEC_OK;
    }
    if (n < c->n_layer || n > GEODEC__MAX_LAYERS)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld values for %d layers", k->path, k->name, (long long)n, layers);
    GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, each, n, err));
    for (int32_t i = 0; i < c->n_layer; i++) {
        if (each[i] != 0 && (each[i] < lo || each[i] > hi))
            GEODEC_FAIL(each[i] > hi ? GEODEC_LIMIT : GEODEC_FORMAT,
                        "%s: key '%s': %d of layer %d is outside %lld to %lld", k->path, k->name, each[i], i,
                        (long long)lo, (long long)hi);
        if (each[i] > *most) *most = each[i];
    }
    if (*most < lo) GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': all values are zero", k->path, k->name);
    return GEODEC_OK;
}

/* A number in 0 .. limit, 0 only when `otherwise` is 0. otherwise: the value of a missing key; < 0: the key is
 * required. */
geodec_status geodec__key_float(geodec__keys *k, const char *suffix, double limit, double otherwise, double *out)
{
    geodec_err *err = k->err;
    double v;
    if (!geodec__key_has(k, suffix)) {
        if (otherwise < 0) GEODEC_PASS(geodec__key_missing(k->path, k->name, err));
        *out = otherwise;
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec_gguf_get_f64(k->g, k->name, &v, err));
    if (!((v > 0 || (v == 0 && otherwise == 0)) && v <= limit))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %g is outside 0 to %g", k->path, k->name, v, limit);
    *out = v;
    return GEODEC_OK;
}

geodec_status geodec__key_float32(geodec__keys *k, const char *suffix, double limit, float otherwise, float *out)
{
    double v;
    const geodec_status st = geodec__key_float(k, suffix, limit, (double)otherwise, &v);
    if (st == GEODEC_OK) *out = (float)v;
    return st;
}

/* One of n words; a missing key gives the first. */
geodec_status geodec__key_word(geodec__keys *k, const char *suffix, const char *const *word, int n, int *out)
{
    geodec_err *err = k->err;
    const char *text;
    *out = 0;
    if (!geodec__key_has(k, suffix)) return GEODEC_OK;
    GEODEC_PASS(geodec_gguf_get_str(k->g, k->name, &text, err));
    for (int i = 0; i < n; i++)
        if (strcmp(text, word[i]) == 0) {
            *out = i;
            return GEODEC_OK;
        }
    GEODEC_FAIL(GEODEC_UNSUPPORTED, "%s: key '%s': '%.40s' is not supported", k->path, k->name, text);
}

/* Numbers of the current key, a flag, or one for each layer. */
geodec_status geodec__key_flags(geodec__keys *k, int32_t n_layer, int32_t *flag)
{
    geodec_err *err = k->err;
    int64_t n;
    int32_t all[GEODEC__MAX_LAYERS];
    GEODEC_PASS(geodec_gguf_array_length(k->g, k->name, &n, err));
    if (n < n_layer || n > GEODEC__MAX_LAYERS)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: key '%s': %lld values for %d layers", k->path, k->name, (long long)n, n_layer);
    GEODEC_PASS(geodec_gguf_array_i32(k->g, k->name, all, n, err));
    memcpy(flag, all, (size_t)n_layer * sizeof *flag);
    return GEODEC_OK;
}

/* The n numbers of a key: an array, or one for each of the layers. */
geodec_status geodec__key_numbers(const geodec__keys *k, const char *key, int32_t n_layer,
                                  double each[GEODEC__MAX_LAYERS], int64_t *n)
{
    geodec_err *err = k->err;
    float of_layer[GEODEC__MAX_LAYERS];
    if (geodec_gguf_array_length(k->g, key, n, NULL) != GEODEC_OK) {
        GEODEC_PASS(geodec_gguf_get_f64(k->g, key, each, err));
        *n = n_layer;
        for (int32_t i = 1; i < n_layer; i++) each[i] = each[0];
        return GEODEC_OK;
    }
    if (*n > GEODEC__MAX_LAYERS) GEODEC_FAIL(GEODEC_LIMIT, "%s: key '%s': %lld values", k->path, key, (long long)*n);
    GEODEC_PASS(geodec_gguf_array_f32(k->g, key, of_layer, *n, err));
    for (int64_t i = 0; i < *n; i++) each[i] = (double)of_layer[i];
    return GEODEC_OK;
}
