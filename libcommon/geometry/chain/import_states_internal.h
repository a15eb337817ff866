/* Internal: a set of safetensors files with hidden states (import_states.h). */
#ifndef GEODEC_CHAIN_IMPORT_STATES_INTERNAL_H
#define GEODEC_CHAIN_IMPORT_STATES_INTERNAL_H

#include "chain/import_states.h"
#include "io/safetensors.h"

enum {
    GEODEC__IMPORT_STATES_NAME = GEODEC_SAFETENSORS_NAME_MAX,
    GEODEC__IMPORT_STATES_GROUPS = 64,
    GEODEC__IMPORT_STATES_COLUMNS = 5
};

typedef struct geodec__import_states_layer {
    char name[GEODEC__IMPORT_STATES_NAME];
    int64_t number;
} geodec__import_states_layer;

struct geodec_import_states {
    int n_files, n_layers;
    /* [n_files] in order. The layers may be spread over `groups` files; the files of block b, which has certain rows,
     * are path[b * groups] .. path[b * groups + groups - 1]. */
    char **path;
    int groups;
    int64_t rows, d;
    bool sequences;                     /* the tensors of states have an axis of sequences */
    geodec__import_states_layer *layer; /* [n_layers] ascending by number */
    char column[GEODEC__IMPORT_STATES_COLUMNS][GEODEC__IMPORT_STATES_NAME]; /* "" without */
    char mask[GEODEC__IMPORT_STATES_NAME];                                  /* "" without */
    bool padding;                            /* 1 in the mask is a row that is not data */
    char unused[GEODEC__IMPORT_STATES_NAME]; /* another tensor that may be a mask, "" without */
    geodec_import_states_counts counts;
};

/* The open files of a block. */
typedef struct geodec__import_states_block {
    int n;
    geodec_safetensors *file[GEODEC__IMPORT_STATES_GROUPS];
    const char *path; /* of its first file */
} geodec__import_states_block;
typedef struct geodec__import_states_place {
    const geodec_safetensors *file; /* NULL: no such tensor */
    int index;
    const geodec_safetensor *t;
} geodec__import_states_place;
geodec_status geodec__import_states_block_open(const geodec_import_states *s, int number,
                                               geodec__import_states_block *b, geodec_err *err) GEODEC_MUST_USE;
void geodec__import_states_block_close(geodec__import_states_block *b);
/* The tensor of that name in the block, with any suffix. */
geodec__import_states_place geodec__import_states_find(const geodec__import_states_block *b, const char *name);
/* Rows of a block, positions of a sequence (0 without sequences), width. Checks every tensor that is read. */
geodec_status geodec__import_states_measure(const geodec_import_states *s, const geodec__import_states_block *b,
                                            int64_t *rows, int64_t *length, int64_t *d,
                                            geodec_err *err) GEODEC_MUST_USE;

/* import_states_folder.c: the files, in order. A folder is refused where its parts do not agree: names NNNNN-of-MMMMM
 * that are not one of each, an unfinished export, an index (*.index.json) that names other files or tensors than there
 * are, shards of different runs. */
geodec_status geodec__import_states_list(geodec_import_states *s, const char *path, geodec_err *err) GEODEC_MUST_USE;
/* The name without the suffix .shard.N. */
void geodec__import_states_base(const char *name, char base[GEODEC__IMPORT_STATES_NAME]);
/* Divides the files into blocks: files with the same tensors of states have rows one after the other; files with
 * different ones have the layers of the same rows. */
geodec_status geodec__import_states_group(geodec_import_states *s, geodec_err *err) GEODEC_MUST_USE;
/* Whether the type is one of states. */
bool geodec__import_states_is_float(geodec_type t);

/* Names of the tensors of column k, joined by blanks; its field; its least number. */
typedef struct geodec__import_states_column {
    const char *field, *names;
    int64_t least;
} geodec__import_states_column;
enum { GEODEC__TOKEN, GEODEC__NEXT_TOKEN, GEODEC__POSITION, GEODEC__SEQUENCE, GEODEC__DOCUMENT };
extern const geodec__import_states_column geodec__import_states_columns[GEODEC__IMPORT_STATES_COLUMNS];

#endif
