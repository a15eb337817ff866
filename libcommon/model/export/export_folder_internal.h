/* The folder of an export's shards: the existing shards, their names, and the index. */
#ifndef GEODEC_EXPORT_EXPORT_FOLDER_INTERNAL_H
#define GEODEC_EXPORT_EXPORT_FOLDER_INTERNAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC__SHARDS_MAX = 99999, GEODEC__SHARD_NAME = 64 };

typedef struct geodec__folder {
    char *path;
    int64_t n;   /* largest shard number that exists */
    int64_t *of; /* [room + 1] by number: -1 missing, 0 unfinished, otherwise the count in its name */
    int64_t room;
} geodec__folder;

/* "model-00001-of-unfinished.safetensors" with of = 0, else "model-00001-of-00007.safetensors". */
void geodec__export_shard_name(int64_t number, int64_t of, char name[GEODEC__SHARD_NAME]);
/* Creates the folder if missing and lists its shards. GEODEC_FORMAT when one exists twice. */
geodec_status geodec__export_folder_open(const char *path, geodec__folder *f, geodec_err *err) GEODEC_MUST_USE;
/* Removes the folder if it is empty. */
void geodec__export_folder_close(geodec__folder *f);
/* Whether shard `number` exists, and its path (the caller frees). */
bool geodec__export_folder_has(const geodec__folder *f, int64_t number);
geodec_status geodec__export_folder_shard(const geodec__folder *f, int64_t number, char **path,
                                          geodec_err *err) GEODEC_MUST_USE;
/* Registers shard `number` as written, unfinished. */
geodec_status geodec__export_folder_added(geodec__folder *f, int64_t number, geodec_err *err) GEODEC_MUST_USE;
/* Removes an existing shard. */
geodec_status geodec__export_folder_drop(geodec__folder *f, int64_t number, geodec_err *err) GEODEC_MUST_USE;
/* Gives shards 1..count their final names. */
geodec_status geodec__export_folder_finish(geodec__folder *f, int64_t count, geodec_err *err) GEODEC_MUST_USE;

#endif
