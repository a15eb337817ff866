/* Internal: finished slabs of queries, as files of a folder.
 *
 * slab-00012: a header of 512 bytes, then the slab's results in ascending order of rows: row int32 [n], index int32
 * [n][k], dist2 float64 [n][k], in the byte order of the machine. The header has the key of the search, the sizes and
 * the SHA-256 of the rest. slab-00012.rank: who is at work on it. */
#ifndef GEODEC_NEIGHBOURS_PARTS_INTERNAL_H
#define GEODEC_NEIGHBOURS_PARTS_INTERNAL_H

#include "neighbours/search.h"

typedef struct geodec__part {
    int64_t n, k;
    int32_t *row, *index;
    double *dist2;
} geodec__part;

/* Makes the folder; sets done [slabs] for the parts that are there and whole. A damaged part is logged and made again.
 * GEODEC_CHECKSUM: parts of another key, unless `replace`. Rank 0 alone calls this. */
geodec_status geodec__parts_look(const char *folder, const char *key, int64_t slabs, int64_t k, bool replace,
                                 uint8_t *done, const geodec_hooks *hooks, geodec_err *err);
/* Notes that this rank is at work on a slab. */
geodec_status geodec__parts_claim(const char *folder, int64_t slab, const geodec_comm *comm, geodec_err *err);
geodec_status geodec__parts_write(const char *folder, const char *key, int64_t slab, const geodec__part *p,
                                  geodec_err *err);
/* Logs each slab that a rank was at work on, with the rank's name. */
void geodec__parts_held(const char *folder, const geodec_hooks *hooks);
/* Passes all rows to the sink in ascending order. */
geodec_status geodec__parts_join(const char *folder, int64_t slabs, int64_t rows, int64_t k,
                                 geodec_neighbours_sink sink, void *ctx, const geodec_hooks *hooks, geodec_err *err);

#endif
