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
 * those of the shape; rows without a sequence are each their own, or all one if they are consecutive. */
#ifndef GEODEC_CHAIN_SHARDS_H
#define GEODEC_CHAIN_SHARDS_H

#include "artifact/artifact.h"
#include "base/hooks.h"

#include <stdbool.h>

enum { GEODEC_SHARDS_LAYERS_MAX = 1024, GEODEC_SHARDS_FILES_MAX = 65536 };

typedef struct geodec_shards geodec_shards;

/* Whether a file of this name in a folder is a shard. */
GEODEC_API bool geodec_shards_is_name(const char *name);

/* names: tensors joined by commas, "" = by their names. Checks that all files have the same tensors of the same width,
 * and the same rows in each of a file. GEODEC_NOTFOUND (file, no shards in the folder, no such tensor), GEODEC_FORMAT,
 * GEODEC_UNSUPPORTED (type), GEODEC_LIMIT, GEODEC_IO. */
GEODEC_API geodec_status geodec_shards_open(const char *path, const char *names, geodec_shards **out,
                                            geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_shards_close(geodec_shards *s); /* NULL ok */
GEODEC_API int64_t geodec_shards_rows(const geodec_shards *s);
GEODEC_API int64_t geodec_shards_width(const geodec_shards *s);
GEODEC_API int geodec_shards_layers(const geodec_shards *s);
GEODEC_API const char *geodec_shards_tensor(const geodec_shards *s, int i); /* its name without suffix */
GEODEC_API int geodec_shards_files(const geodec_shards *s);
GEODEC_API const char *const *geodec_shards_paths(const geodec_shards *s); /* of all files, in order */

/* Fills a new activations artifact with all rows, states rounded to float32 and the tensors' names in the attribute
 * `tensors`; the caller commits. Memory: one slab of rows. GEODEC_NUMERIC (a state that is not finite), GEODEC_RANGE (a
 * column beyond 32 bits), GEODEC_INTERRUPTED. */
GEODEC_API geodec_status geodec_shards_write(const geodec_shards *s, bool consecutive, geodec_artifact *a,
                                             const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

#endif
