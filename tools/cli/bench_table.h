/* What geodec-bench-decode prints. */
#ifndef GEODEC_TOOLS_CLI_BENCH_TABLE_H
#define GEODEC_TOOLS_CLI_BENCH_TABLE_H

#include "cli/cli.h"
#include "measure/bench.h"

/* Path of `name` in the folder of `path`; caller frees. */
geodec_status bench_beside(const char *path, const char *name, char **out, geodec_err *err) GEODEC_MUST_USE;
/* One row a line on stdout, timings beside the greedy rows they belong to; "nan" where there is nothing to say. */
geodec_status bench_table(const geodec_bench_plan *plan, const geodec_bench_counts *c, const geodec_bench_timing *s,
                          geodec_err *err) GEODEC_MUST_USE;
/* A line on stderr; GEODEC_CHECK when a token differs from plain decoding. */
geodec_status bench_verdict(const cli *c, const geodec_bench_plan *plan, const geodec_bench_counts *counts,
                            geodec_err *err) GEODEC_MUST_USE;

#endif
