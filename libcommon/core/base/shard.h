/* Slices of a sweep: `--shard i/m` computes items first .. end-1 of n. The parts joined in the order of i equal one run
 * over all items (artifact/merge.h). The random numbers of an item must depend on its number alone. */
#ifndef GEODEC_BASE_SHARD_H
#define GEODEC_BASE_SHARD_H

#include "base/err.h"
#include "geodec/run.h"

enum { GEODEC_SHARDS_MAX = 256 };

/* "i/m", 1 <= i <= m <= 256; NULL = everything. GEODEC_INVAL for anything else. */
geodec_status geodec_shard_parse(const char *text, geodec_shard *out, geodec_err *err) GEODEC_MUST_USE;
/* Items of the slice: first = n (i-1) / m, end = n i / m, rounded down. With more slices than items some have none
 * (first = end); they are parts as well. GEODEC_INVAL for an index outside 1 .. count. */
geodec_status geodec_shard_range(geodec_shard s, int64_t n, int64_t *first, int64_t *end,
                                 geodec_err *err) GEODEC_MUST_USE;

#endif
