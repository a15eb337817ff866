/* Internal: a set of safetensors files with hidden states (import_states.h). */
#ifndef GEODEC_CHAIN_IMPORT_STATES_INTERNAL_H
#define GEODEC_CHAIN_IMPORT_STATES_INTERNAL_H

#include "chain/import_states.h"
#include "io/safetensors.h"

enum { GEODEC__SHARDS_NAME = GEODEC_SAFETENSORS_NAME_MAX, GEODEC__SHARDS_GROUPS = 64, GEODEC__SHARDS_COLUMNS = 5 };

typedef struct geodec__shards_layer {
    char name[GEODEC__SHARDS_NAME];
    int64_t number;
} geodec__shards_layer;

struct geodec_shards {
    int n_files, n_layers;
    /* [n_files] in order. The layers may be spread over `groups` files; the files of block b, which has certain rows,
     * are path[b * groups] .. path[b * groups + groups - 1]. */
    char **path;
    int groups;
    int64_t rows, d;
    bool sequences;                                           /* the tensors of states have an axis of sequences */
    geodec__shards_layer *layer;                              /* [n_layers] ascending by number */
    char column[GEODEC__SHARDS_COLUMNS][GEODEC__SHARDS_NAME]; /* "" without */
    char mask[GEODEC__SHARDS_NAME];                           /* "" without */
    bool padding;                                             /* 1 in the mask is a row that is not data */
    char unused[GEODEC__SHARDS_NAME];                         /* another tensor that may be a mask, "" without */
    geodec_shards_counts counts;
};

/* The open files of a block. */
typedef struct geodec__shards_block {
    int n;
    geodec_safetensors *file[GEODEC__SHARDS_GROUPS];
    const char *path; /* of its first file */
} geodec__shards_block;
typedef struct geodec__shards_place {
    const geodec_safetensors *file; /* NULL: no such tensor */
    int index;
    const geodec_safetensor *t;
} geodec__shards_place;
geodec_status geodec__shards_block_open(const geodec_shards *s, int number, geodec__shards_block *b,
                                        geodec_err *err) GEODEC_MUST_USE;
void geodec__shards_block_close(geodec__shards_block *b);
/* The tensor of that name in the block, with any suffix. */
geodec__shards_place geodec__shards_find(const geodec__shards_block *b, const char *name);
/* Rows of a block, positions of a sequence (0 without sequences), width. Checks every tensor that is read. */
geodec_status geodec__shards_measure(const geodec_shards *s, const geodec__shards_block *b, int64_t *rows,
                                     int64_t *length, int64_t *d, geodec_err *err) GEODEC_MUST_USE;

/* shards_folder.c: the files, in order. A folder is refused where its parts do not agree: names NNNNN-of-MMMMM that are
 * not one of each, an unfinished export, an index (*.index.json) that names other files or tensors than there are,
 * shards of different runs. */
geodec_status geodec__shards_list(geodec_shards *s, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* The name without the suffix .shard.N. */
void geodec__shards_base(const char *name, char base[GEODEC__SHARDS_NAME]);
/* Divides the files into blocks: files with the same tensors of states have rows one after the other; files with
 * different ones have the layers of the same rows. */
geodec_status geodec__shards_group(geodec_shards *s, geodec_err *err) GEODEC_MUST_USE;
/* Whether the type is one of states. */
bool geodec__shards_is_float(geodec_type t);

/* Names of the tensors of column k, joined by blanks; its field; its least number. */
typedef struct geodec__shards_column {
    const char *field, *names;
    int64_t least;
} geodec__shards_column;
enum { GEODEC__TOKEN, GEODEC__NEXT_TOKEN, GEODEC__POSITION, GEODEC__SEQUENCE, GEODEC__DOCUMENT };
extern const geodec__shards_column geodec__shards_columns[GEODEC__SHARDS_COLUMNS];

#endif
