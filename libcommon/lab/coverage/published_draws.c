#include "base/mem.h"
#include "io/foreign.h"
#include "lab/coverage/published.h"

#include <string.h>

geodec_status geodec_coverage_published_draws(const char *draws, geodec_coverage_published_splits *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t shape[GEODEC_FOREIGN_RANK_MAX] = {-1, -1}, *cached = NULL, *permutation = NULL;
    double *point = NULL, *eps = NULL;
    GEODEC_TRY(geodec_foreign_read(draws, "/cloud/points", 2, shape, NULL, &point, err));
    s->points = shape[0], s->n = shape[1], s->point = point;
    shape[0] = shape[1] = -1, shape[2] = s->points;
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/coverage/permutations", 3, shape, 0, s->points - 1, &permutation, err));
    s->shares = shape[0], s->repeats = shape[1], s->permutation = permutation;
    GEODEC_TRY(geodec_foreign_read_i64(draws, "/coverage/cache_size", 1, shape, 1, s->points - 1, &cached, err));
    s->cached = cached;
    shape[0] = -1;
    GEODEC_TRY(geodec_foreign_read(draws, "/coverage/eps", 1, shape, NULL, &eps, err));
    s->n_eps = shape[0], s->eps = eps;
done:
    return st;
}

/* What was read is owned by *s, which lends it as const. */
void geodec_coverage_published_draws_clear(geodec_coverage_published_splits *s)
{
    const void *const all[] = {s->point, s->permutation, s->cached, s->eps};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) geodec_mem_free((void *)(uintptr_t)all[i]);
    memset(s, 0, sizeof *s);
}
