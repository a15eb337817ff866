/* Exact nearest neighbours of point sets that do not fit in memory, by one process or by the ranks of a job.
 *
 * Points and queries are divided into slabs. A slab of queries keeps the k nearest points found so far, in ascending
 * order of (squared distance, row); the slabs of points are searched one after the other and their results merged, so
 * the result is that of geodec_knn_search, bit for bit, for any number of slabs, ranks and threads.
 *
 * In up to 32 dimensions the points of a search among themselves are first divided by medians of a sample along the
 * widest coordinate, so that slabs are compact; a query whose k-th distance is below that to the box of a slab skips
 * it (the box's distance is summed in the same order with the same rounding as those of its points, so this is exact).
 * In more dimensions slabs are runs of rows.
 *
 * Each rank owns a range of slabs. In a round every rank searches for one of its slabs of queries, while the slabs of
 * points go around the ring of ranks: a rank sends the slab at hand to the next one and receives from the previous one
 * during the search. */
#ifndef GEODEC_NEIGHBOURS_SEARCH_H
#define GEODEC_NEIGHBOURS_SEARCH_H

#include "base/hooks.h"
#include "base/pool.h"
#include "cluster/comm.h"

#include <stdbool.h>
#include <stdint.h>

/* Points, read in runs of rows: x [n][d]. All ranks read the same. */
typedef struct geodec_neighbours_source {
    int64_t rows, d;
    geodec_status (*read)(void *ctx, int64_t first, int64_t n, double *x, geodec_err *err);
    void *ctx;
} geodec_neighbours_source;

/* Consumes n rows of results from row `first` on: index, dist2 [n][k]. Called in ascending order of rows. */
typedef geodec_status (*geodec_neighbours_sink)(void *ctx, int64_t first, int64_t n, const int32_t *index,
                                                const double *dist2, geodec_err *err);

typedef struct geodec_neighbours_options {
    int64_t k;
    int64_t memory;      /* bytes that a rank's slabs may take; default 1 GiB */
    int64_t slabs;       /* least number of slabs; 0: what memory and ranks need */
    geodec_comm *comm;   /* NULL: one process */
    const char *scratch; /* folder of an unnamed file for points that do not fit in memory */
    /* Folder of finished slabs of queries, shared by the ranks and made if missing. An interrupted search resumes from
     * them. NULL: the results are held in memory, of which rank 0 needs 12 k bytes a query. */
    const char *parts;
    const char *key; /* at most 100 bytes that identify points, queries and k; parts of another key are refused */
    bool replace;    /* or replaced */
} geodec_neighbours_options;
geodec_neighbours_options geodec_neighbours_defaults(void);

/* Whether a search with these options has more than one slab: parts are then of use. */
bool geodec_neighbours_divided(const geodec_neighbours_source *points, const geodec_neighbours_source *queries,
                               const geodec_neighbours_options *o);

typedef struct geodec_neighbours_summary {
    int64_t slabs, query_slabs, resumed;
    bool ordered;     /* the slabs are compact */
    int64_t pairs;    /* pairs of a query and a slab of points that were searched, on all ranks */
    int64_t received; /* bytes of points that ranks received from others */
} geodec_neighbours_summary;

/* queries NULL: the points themselves, each without itself. The sink is called on rank 0 alone. GEODEC_RANGE (k,
 * sizes), GEODEC_NUMERIC (not finite), GEODEC_CHECKSUM (parts of another search), GEODEC_IO, GEODEC_NOMEM,
 * GEODEC_INTERRUPTED. Cost at most queries x points x d multiply-adds. */
geodec_status geodec_neighbours_search(const geodec_neighbours_source *points, const geodec_neighbours_source *queries,
                                       const geodec_neighbours_options *o, geodec_neighbours_sink sink, void *ctx,
                                       geodec_pool *pool, const geodec_hooks *hooks, geodec_neighbours_summary *summary,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Removes the finished slabs, and the folder if it is then empty. */
void geodec_neighbours_parts_remove(const char *parts, int64_t query_slabs);

/* The control: rows [n] of the queries again, by the definition (all distances, one after the other). *differ: rows
 * whose index or dist2 [n][k] is not the same. */
geodec_status geodec_neighbours_check(const geodec_neighbours_source *points, const geodec_neighbours_source *queries,
                                      int64_t k, int64_t n, const int64_t *row, const int32_t *index,
                                      const double *dist2, const geodec_hooks *hooks, int64_t *differ,
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
