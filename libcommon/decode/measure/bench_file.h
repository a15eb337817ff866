/* The artifacts of geodec-bench-decode: counts (reproducible) and, in a separate file, speed (timings, not
 * reproducible). */
#ifndef GEODEC_MEASURE_BENCH_FILE_H
#define GEODEC_MEASURE_BENCH_FILE_H

#include "artifact/artifact.h"
#include "measure/bench.h"

extern const geodec_kind geodec_bench_decode_kind;
extern const geodec_kind geodec_bench_speed_kind;

geodec_status geodec_bench_write_counts(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                        const geodec_bench_counts *c, geodec_err *err) GEODEC_MUST_USE;
/* isa: name of the instruction set used in the passes. */
geodec_status geodec_bench_write_speed(const char *path, const geodec_provenance *p, const geodec_bench_plan *plan,
                                       const geodec_bench_timing *s, const char *isa, geodec_err *err) GEODEC_MUST_USE;

#endif
