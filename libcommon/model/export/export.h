/* What the other folders use beyond geodec/export.h. */
#ifndef GEODEC_EXPORT_EXPORT_H
#define GEODEC_EXPORT_EXPORT_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "documents/documents.h"
#include "geodec/export.h"
#include "session/model.h"

#include <stdbool.h>
#include <stdint.h>

/* "all", "last", "every:8", "0:128"; buf of GEODEC_EXPORT_POSITIONS_ROOM bytes. Returns buf. */
enum { GEODEC_EXPORT_POSITIONS_ROOM = 64 };
const char *geodec_export_positions_text(const geodec_export_options *o, char *buf);

/* Attributes documents and tokens (total read) of an artifact made by geodec_export_run or _assemble. */
geodec_status geodec_export_counts(geodec_artifact *out, const geodec_export_summary *summary,
                                   geodec_err *err) GEODEC_MUST_USE;

/* ---- shards ----------------------------------------------------------------------------------------------------- */

/* Shards are safetensors files of whole windows, each of at most `tokens` tokens read:
 *     model-00001-of-000NN.safetensors ... and model.safetensors.index.json (weight_map: tensor -> file;
 *     metadata: total_size in bytes, rows, shards, the origin of the states, and `hooks`: the names of the kept layers
 *     in TransformerLens)
 * Tensors of shard k, rows in text order (concatenate over k):
 *     token, position, sequence, document, next_token   .shard.<k>   I32 [rows]; as in geodec_activations_kind
 *     argmax .shard.<k> I32 [rows]; top_index I32, top_logit F32 [rows, M]    with top_m > 0
 *     expert .shard.<k> I32 [rows, n_layer n_expert_used]                     of a model with experts
 *     logits .shard.<k> F32 [rows, V]                                         with logits
 *     layer.<l>.shard.<k>     F32 or F16 [rows, d_model], one for each kept layer
 * A shard is written atomically, as model-00001-of-unfinished.safetensors; after the last one all are renamed and the
 * index is written. An interrupted run resumes: finished shards are checked (fingerprint of model, tokenizer, inputs
 * and options; position in the text; tensors) and skipped, and the final bytes are those of an uninterrupted run.
 * GEODEC_CHECKSUM when a shard in the folder belongs to something else. */
typedef struct geodec_export_sharding {
    const char *folder;                  /* created if missing */
    int64_t tokens;                      /* >= window */
    const geodec_provenance *provenance; /* fingerprints and inputs are compared and recorded */
    bool replace;                        /* shards of another run are removed */
    bool unfinished; /* leaves the shards without total count and without index (for geodec_export_assemble) */
    /* With ranks > 0, only shards rank + 1, rank + 1 + ranks, .. are made; `unfinished` is needed, and `shards` still
     * counts all. Processes of different ranks may share the folder. */
    int rank, ranks;
} geodec_export_sharding;

geodec_status geodec_export_shards(const geodec_model *m, const geodec_export_options *o,
                                   const geodec_export_source *source, const geodec_export_sharding *h,
                                   geodec_export_summary *summary, geodec_pool *pool, const geodec_hooks *hooks,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Fills a new artifact from `shards` unfinished shards: the bytes that geodec_export_run would write. */
geodec_status geodec_export_assemble(const geodec_model *m, const geodec_export_options *o, const char *folder,
                                     int64_t shards, geodec_artifact *out, const geodec_hooks *hooks,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Removes index and shards, finished or not, and then the folder if it is empty. It is no error if there are none. */
geodec_status geodec_export_shards_remove(const char *folder, geodec_err *err) GEODEC_MUST_USE;

/* ---- two sources ------------------------------------------------------------------------------------------------ */

/* The documents of a text, tokenized with BOS. Documents and tokenizer must outlive the source. */
geodec_status geodec_export_source_text(const geodec_documents *d, const geodec_tokenizer *t, geodec_export_source *out,
                                        geodec_err *err) GEODEC_MUST_USE;
/* Token file: one sequence a line, decimal ids separated by spaces (including BOS, if any). Anything else, an id
 * outside 0 .. n_vocab-1 and a file without ids are errors; the message names the line. The text must outlive the
 * source. */
geodec_status geodec_export_source_tokens(const char *name, const char *text, size_t n, int32_t n_vocab,
                                          geodec_export_source *out, geodec_err *err) GEODEC_MUST_USE;
/* Frees a source of either kind; {0} is allowed. */
void geodec_export_source_close(geodec_export_source *s);

/* Rows to keep: all, last, every:K or FROM:TO. GEODEC_INVAL names the option. */
geodec_status geodec_export_parse_positions(const char *positions, geodec_export_options *o,
                                            geodec_err *err) GEODEC_MUST_USE;

#endif
