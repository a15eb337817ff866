/* A copy of a GGUF model whose matrices went through the shim, so that a configuration's perplexity is measured like
 * that of any other model. */
#ifndef GEODEC_INTEGER_RING_SHIM_FILE_H
#define GEODEC_INTEGER_RING_SHIM_FILE_H

#include "base/hooks.h"
#include "gguf/gguf.h"
#include "lab/integer/ring/shim.h"

#include <stdbool.h>

typedef struct geodec_ring_shim_options {
    geodec_ring_shim_config config;
    int reading;
    int q_max;
    const char *pattern; /* shell pattern of names; of these, matrices alone are encoded */
} geodec_ring_shim_options;

/* One tensor. values 0: copied. */
typedef struct geodec_ring_shim_row {
    const char *name; /* the input's */
    int from;         /* geodec_ggml_type */
    int64_t values;
    double size; /* root mean square of the weights */
    geodec_ring_shim_report report;
} geodec_ring_shim_row;

/* Writes `path` (atomically): every matrix (two dimensions or more) that the pattern names is decoded, encoded as a
 * whole and stored as float32; all else keeps its bytes and keys. rows [tensors of in], or NULL. GEODEC_NOTFOUND (the
 * pattern names no matrix), GEODEC_UNSUPPORTED (a type that cannot be decoded), GEODEC_NUMERIC (names the tensor),
 * GEODEC_RANGE, GEODEC_IO, GEODEC_NOMEM. */
geodec_status geodec_ring_shim_file(const geodec_gguf *in, const char *path, const geodec_ring_shim_options *o,
                                    const geodec_hooks *hooks, geodec_ring_shim_row *rows,
                                    geodec_err *err) GEODEC_MUST_USE;

#endif
