/* Internal: an open store of ternary experts. */
#ifndef GEODEC_MODEL_TERNARY_INTERNAL_H
#define GEODEC_MODEL_TERNARY_INTERNAL_H

#include "session/ternary_store.h"
#include "streaming/store.h"

/* What a store of ternary experts adds to geodec_store. */
typedef struct geodec__trits {
    geodec_trit_shape shape;
    int32_t n_edges;
    geodec_trd *edge; /* [n_edges] headers; their files are closed */
} geodec__trits;

/* Headers of all files; *resident: path of the rest of the model, which the caller frees. */
geodec_status geodec__ternary_store_open(const char *folder, geodec_store *s, geodec__trits *t, char **resident,
                                         geodec_err *err) GEODEC_MUST_USE;
void geodec__ternary_store_clear(geodec__trits *t); /* may be all zero */

/* The rest of a model (store_build.c). */
geodec_status geodec__store_write_resident(const geodec_model *m, geodec_atomic *file, const geodec_hooks *hooks,
                                           geodec_err *err) GEODEC_MUST_USE;

#endif
