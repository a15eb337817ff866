/* Internal: reading of hyper-parameters. The keys are named after the architecture: "llama.block_count". */
#ifndef GEODEC_MODEL_KEYS_INTERNAL_H
#define GEODEC_MODEL_KEYS_INTERNAL_H

#include "session/arch_internal.h"
#include "session/model_internal.h"

/* Beyond any published model, and small enough that no product below overflows 64 bits. */
enum {
    GEODEC__MAX_LAYERS = 1024,
    GEODEC__MAX_WIDTH = 1 << 17,
    GEODEC__MAX_HEADS = 1 << 12,
    GEODEC__MAX_HEAD_DIM = 1 << 12,
    GEODEC__MAX_FF = 1 << 20,
    GEODEC__MAX_CONTEXT = 1 << 24,
    GEODEC__MAX_VOCAB = 1 << 24,
    GEODEC__MAX_EXPERTS = 1 << 12,
    GEODEC__KEY = 128
};

typedef struct geodec__keys {
    const geodec_gguf *g;
    const char *path;
    const geodec__arch *arch;
    geodec_err *err;
    char name[GEODEC__KEY]; /* the current key, for messages */
} geodec__keys;

/* Whether the file has <architecture>.<suffix>, which becomes the current key. */
bool geodec__key_has(geodec__keys *k, const char *suffix);
geodec_status geodec__key_missing(const char *path, const char *key, geodec_err *err) GEODEC_MUST_USE;
/* An integer from lo to hi; a missing key is an error when otherwise < 0, else gives that value. */
geodec_status geodec__key_int(geodec__keys *k, const char *suffix, int64_t lo, int64_t hi, int64_t otherwise,
                              int32_t *out) GEODEC_MUST_USE;
/* An integer for each layer, all the same or one each; 0 in place of one of another kind. each [GEODEC__MAX_LAYERS];
 * *most: the largest. */
geodec_status geodec__key_each(geodec__keys *k, const char *suffix, int64_t lo, int64_t hi, int64_t otherwise,
                               const geodec_model_config *c, int32_t *each, int32_t *most) GEODEC_MUST_USE;
/* A number in 0 .. limit, 0 only when `otherwise` is 0. otherwise: the value of a missing key; < 0: the key is
 * required. */
geodec_status geodec__key_float(geodec__keys *k, const char *suffix, double limit, double otherwise,
                                double *out) GEODEC_MUST_USE;
geodec_status geodec__key_float32(geodec__keys *k, const char *suffix, double limit, float otherwise,
                                  float *out) GEODEC_MUST_USE;
/* One of n words; a missing key gives the first. */
geodec_status geodec__key_word(geodec__keys *k, const char *suffix, const char *const *word, int n,
                               int *out) GEODEC_MUST_USE;
/* A flag for each layer, of the current key. */
geodec_status geodec__key_flags(geodec__keys *k, int32_t n_layer, int32_t *flag) GEODEC_MUST_USE;
/* The n numbers of a key, whose name is whole: an array, or one for each of the layers. */
geodec_status geodec__key_numbers(const geodec__keys *k, const char *key, int32_t n_layer,
                                  double each[GEODEC__MAX_LAYERS], int64_t *n) GEODEC_MUST_USE;

#endif
