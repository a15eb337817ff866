/* The JSON report of one decoding. */
#ifndef GEODEC_MEASURE_DECODE_REPORT_H
#define GEODEC_MEASURE_DECODE_REPORT_H

#include "decode/loop.h"
#include "measure/readiness.h"

typedef struct geodec_decode_report {
    const char *tool, *command_line;
    uint64_t seed;
    int64_t threads;
    const geodec_session *session;
    const geodec_drafter *drafter;                      /* NULL = none */
    double flow_consistency, flow_consistency_shuffled; /* geodec_drafting_consistency */
    const char *artifact_model_sha256;                  /* hash of the model of the drafter's artifact, "" = none */
    const geodec_decode_options *options;
    int64_t n_prompt;
    const geodec_decoded *got, *plain; /* plain: the comparison run, NULL = not made */
} geodec_decode_report;

/* The readiness report of one decoding. It has no interval, so its status is never geodesic_ready. */
geodec_readiness geodec_decode_report_readiness(const geodec_decode_report *r);
/* Writes the readiness report (measure/readiness.h) of this decoding and its counters. */
geodec_status geodec_decode_report_write(const char *path, const geodec_decode_report *r, const geodec_readiness *ready,
                                         geodec_err *err) GEODEC_MUST_USE;

#endif
