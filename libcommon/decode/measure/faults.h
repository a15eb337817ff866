/* CONTROLS, never used to decode: verifiers with a deliberate fault. Exactness is checked token by token. With each of
 * these faults the output differs from plain decoding, which shows that the check can fail.
 *
 *   margin    a draft is accepted when logit(draft) >= largest logit - margin: the published rule
 *   stale     after a rejection the last row of the cache is that of the first rejected draft
 *   sibling   the cache keeps another row of the pass in place of the last row of a tree's path
 *   rounding  the logits of a pass of several rows have 8 bits of mantissa: rows depend on the batch
 *
 * Passes of one row are unchanged, so plain decoding by the same target is exact. */
#ifndef GEODEC_MEASURE_FAULTS_H
#define GEODEC_MEASURE_FAULTS_H

#include "decode/drafter.h"
#include "geodec/decode.h"

typedef enum geodec_fault {
    GEODEC_FAULT_NONE,
    GEODEC_FAULT_MARGIN,
    GEODEC_FAULT_STALE,
    GEODEC_FAULT_SIBLING,
    GEODEC_FAULT_ROUNDING,
    GEODEC_FAULTS
} geodec_fault;
#define GEODEC_FAULT_NAMES "margin|stale|sibling|rounding"
/* "none", "margin", ...; "?" otherwise. Static storage. */
const char *geodec_faults_name(geodec_fault f);
/* GEODEC_FAULTS when no fault has this name. */
geodec_fault geodec_faults_named(const char *name);

typedef struct geodec_faulty {
    const geodec_target *inner; /* borrowed */
    geodec_fault fault;
    double margin; /* of GEODEC_FAULT_MARGIN, in nats */
    /* Called with the logits [n][n_vocab] of every pass that has them; NULL = none. Set it after
     * geodec_faults_target. */
    void (*see)(void *ctx, int32_t n, const float *logits);
    void *ctx;
    /* The last pass. */
    int32_t base, n;
    int32_t token[GEODEC_DRAFT_MAX + 1];
    geodec_err err; /* error of the extra pass that replaced a cache row; the next pass returns it */
    geodec_status status;
} geodec_faulty;

/* The target `inner` with the fault. out borrows f and inner. */
void geodec_faults_target(geodec_faulty *f, const geodec_target *inner, geodec_fault fault, double margin,
                          geodec_target *out);

#endif
