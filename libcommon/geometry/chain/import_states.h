/* Hidden states that other programs wrote as safetensors: one file, or a folder of shards in order of the numbers in
 * their names.
 *
 * A tensor of states has the shape [rows][d] or [sequences][positions][d], in any float type. Its name says which layer
 * it is (blocks passed, 0 = embedding):
 *     layer.L, hidden_states.L                            layer L (geodec-export, transformers)
 *     hook_embed, blocks.0.hook_resid_pre                 layer 0 (TransformerLens)
 *     blocks.B.hook_resid_pre, blocks.B.hook_resid_post   layers B and B+1; the same layer twice: the first one is read
 *     activations                                         layer 0, if it is the only one (SAELens)
 * A suffix .shard.N is not part of the name. With a list of names these are the tensors, in its order, and names
 * without a layer get the numbers after the largest one.
 *
 * Integer tensors [rows] or [sequences][positions] of the names token, tokens, token_ids, input_ids; next_token;
 * position; sequence; document fill the columns of the activations. Without them tokens are unknown (-1). Sequences are
 * those of the shape; rows without a sequence are each their own, or all one if they are consecutive.
 *
 * A mask (io/matrix.h) of numbers or booleans [rows] or [sequences][positions] leaves out rows that are padding.
 * Tensors that are not read may have any type and shape. */
#ifndef GEODEC_CHAIN_IMPORT_STATES_H
#define GEODEC_CHAIN_IMPORT_STATES_H

#include "artifact/artifact.h"
#include "base/hooks.h"

#include <stdbool.h>

enum { GEODEC_IMPORT_STATES_LAYERS_MAX = 1024, GEODEC_IMPORT_STATES_FILES_MAX = 65536 };

typedef struct geodec_import_states geodec_import_states;

/* Whether a file of this name in a folder is a shard. */
bool geodec_import_states_is_name(const char *name);

/* Rows of the last geodec_import_states_write, and whether float64 states were shifted (chain/rounding.h). */
typedef struct geodec_import_states_counts {
    int64_t kept, masked, missing;
    bool shifted;
} geodec_import_states_counts;

/* names: tensors joined by commas, "" = by their names. mask: NULL = by its name, "none", or a name, with ! before it
 * where 1 is a row that is not data. The files of a folder must be one whole set: their numbers (NNNNN-of-MMMMM), an
 * index (weight_map) and the files agree. Files with the same tensors of states have rows one after the other; files
 * with different ones have layers of the same rows. Checks that all rows have the same width. GEODEC_NOTFOUND (file, no
 * shards in the folder, no such tensor), GEODEC_FORMAT, GEODEC_UNSUPPORTED (type), GEODEC_LIMIT, GEODEC_IO. */
geodec_status geodec_import_states_open(const char *path, const char *names, const char *mask,
                                        geodec_import_states **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_import_states_close(geodec_import_states *s); /* NULL ok */
int64_t geodec_import_states_rows(const geodec_import_states *s);
int64_t geodec_import_states_width(const geodec_import_states *s);
int geodec_import_states_layers(const geodec_import_states *s);
const char *geodec_import_states_tensor(const geodec_import_states *s, int i); /* its name without suffix */
int geodec_import_states_files(const geodec_import_states *s);
const char *const *geodec_import_states_paths(const geodec_import_states *s); /* of all files, in order */

const char *geodec_import_states_mask(const geodec_import_states *s); /* its name, "" without */
/* A tensor that may be a mask too (a name with "mask" in it, one number for each row) and was not used, "" without. */
const char *geodec_import_states_unused_mask(const geodec_import_states *s);

/* Fills a new activations artifact with the rows that are data, states rounded to float32 and the tensors' names in the
 * attribute `tensors`; the caller commits. Memory: one slab of rows. drop_missing: rows that are not finite are left
 * out and counted. GEODEC_FORMAT (a state that is not finite as float32), GEODEC_RANGE (a column beyond 32 bits),
 * GEODEC_SCARCE (no row is data), GEODEC_INTERRUPTED. */
geodec_status geodec_import_states_write(geodec_import_states *s, bool consecutive, bool drop_missing,
                                         geodec_artifact *a, const geodec_hooks *hooks,
                                         geodec_err *err) GEODEC_MUST_USE;
const geodec_import_states_counts *geodec_import_states_counted(const geodec_import_states *s);

#endif
