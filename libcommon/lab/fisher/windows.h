/* The effective rank of the next token's Fisher metric at the ends of windows of a text, layer by layer. */
#ifndef GEODEC_LAB_FISHER_WINDOWS_H
#define GEODEC_LAB_FISHER_WINDOWS_H

#include "base/hooks.h"
#include "base/pool.h"
#include "session/model.h"

#include <stdio.h>

typedef struct geodec_fisher_windows {
    const int32_t *layer; /* [n_layers], rising: boundaries of the residual stream */
    int32_t n_layers;
    int64_t window, windows; /* tokens of a window, the first one (BOS) included; windows, evenly spread */
    uint64_t seed;           /* of the controls */
    FILE *out;
    geodec_pool *pool;
    const geodec_hooks *hooks;
} geodec_fisher_windows;

/* ids [n]: the text `path`, without BOS. A table, a row a window and layer. GEODEC_FORMAT: no token, GEODEC_SCARCE:
 * fewer than a window has; the errors of geodec_fisher_at. */
geodec_status geodec_fisher_windows_print(const geodec_fisher_windows *o, const geodec_model *m, const char *path,
                                          int64_t n, const int32_t *ids, geodec_err *err) GEODEC_MUST_USE;

#endif
