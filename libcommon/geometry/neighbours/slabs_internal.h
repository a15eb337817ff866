/* Internal: the division of rows into slabs. */
#ifndef GEODEC_NEIGHBOURS_SLABS_INTERNAL_H
#define GEODEC_NEIGHBOURS_SLABS_INTERNAL_H

#include "neighbours/search.h"

/* Rows read at once. */
enum { GEODEC__SLABS_READ = 4096, GEODEC__SLABS_COMPACT_D = 32 };

typedef struct geodec__slabs {
    const geodec_neighbours_source *source;
    int64_t n;              /* slabs */
    int64_t *first, *count; /* [n] of rows, in the order of slabs */
    int64_t most;           /* rows of the largest */
    bool ordered;           /* compact slabs, each in the order of geodec_knn_order; otherwise runs of rows */
    double *box;            /* [n][d][2] least and largest coordinates; NULL unless ordered */
    /* rows of own slabs: in memory, or in a file */
    int64_t own_first, own_end;
    double *x;
    int32_t *row;
    int file;
} geodec__slabs;

/* n slabs; compact asks for ordered ones. Every rank reads all rows twice, and keeps those of its own slabs: in memory
 * if they take at most `memory` bytes, otherwise in an unnamed file in the folder `scratch`. */
geodec_status geodec__slabs_make(const geodec_neighbours_source *source, int64_t n, bool compact, geodec_comm *comm,
                                 int64_t memory, const char *scratch, const geodec_hooks *hooks, geodec__slabs *out,
                                 geodec_err *err);
void geodec__slabs_clear(geodec__slabs *s);
/* Slabs of a search (search.c). */
int64_t geodec__neighbours_slabs(const geodec_neighbours_options *o, int64_t rows, int64_t d);
/* Points x [count][d] and their rows [count] of a slab that this rank owns. */
geodec_status geodec__slabs_read(const geodec__slabs *s, int64_t slab, double *x, int32_t *row, geodec_err *err);

#endif
