/* Stores of ternary experts (docs/manual/ternary.md): a folder with a table, the rest of the model as a GGUF, a file
 * for each expert and, if wanted, one for each edge of the lattice. geodec_model_open takes the folder. The experts
 * stay packed in memory; they are multiplied as float32, with the bits of the weights that were packed (F32, F16,
 * BF16). */
#ifndef GEODEC_MODEL_TERNARY_STORE_H
#define GEODEC_MODEL_TERNARY_STORE_H

#include "base/hooks.h"
#include "session/model.h"
#include "ternary/table.h"

typedef struct geodec_ternary_build {
    int encoding;     /* geodec_ternary_encoding */
    bool by_row;      /* a scale for each row */
    bool differences; /* of the neighbours on the model's lattice */
} geodec_ternary_build;

/* Packs the experts of m, whose weights must be exactly -s, 0 and s. Files get their names when they are complete, the
 * table last; the folder is made if there is none, and a table that is there goes first. GEODEC_UNSUPPORTED: no
 * experts, a store, experts of several widths, no lattice; a weight that is not ternary: names layer, expert and
 * matrix. GEODEC_EXISTS: another process is writing the folder. Also the errors of writing. */
geodec_status geodec_ternary_store_build(const geodec_model *m, const geodec_ternary_build *o, const char *folder,
                                         geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;
/* Reads every byte of every file of the folder that belongs to it. Errors name file, layer and expert. */
geodec_status geodec_ternary_store_verify(const char *folder, const geodec_hooks *hooks,
                                          geodec_err *err) GEODEC_MUST_USE;
/* As geodec_ternary_store_verify, without the experts: the parts that a run does not check by itself. */
geodec_status geodec_ternary_store_verify_resident(const char *folder, geodec_err *err) GEODEC_MUST_USE;

#endif
