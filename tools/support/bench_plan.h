/* Lists of words on geodec-bench-decode's command line. */
#ifndef GEODEC_TOOLS_SUPPORT_BENCH_PLAN_H
#define GEODEC_TOOLS_SUPPORT_BENCH_PLAN_H

#include "decode/bench.h"
#include "decode/drafting.h"

/* What a plan's drafter is made from; drafting is set by the tool before the plan runs. */
typedef struct bench_request {
    const geodec_drafting *drafting;
    char name[GEODEC_DRAFTER_NAME_MAX];
} bench_request;

/* Fills drafters (in terms of requests, which the plan borrows), gammas, trees (may be NULL) and modes of a plan.
 * GEODEC_INVAL names the word. */
geodec_status bench_plan_lists(geodec_bench_plan *plan, bench_request requests[GEODEC_BENCH_DRAFTERS],
                               const char *drafters, const char *gammas, const char *trees, const char *modes,
                               geodec_err *err) GEODEC_MUST_USE;

#endif
