/* What the rows of a pass cost in a mixture of experts: each row, each distinct expert that some row uses, and the
 * bytes of those experts that are not in memory. The numbers are expectations, so drafts can be compared before they
 * are sent. */
#ifndef GEODEC_MODEL_PRICE_H
#define GEODEC_MODEL_PRICE_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum { GEODEC_PRICE_ROWS = 65 /* rows of a pass that are priced */ };

/* Row 0 is the newest token, the others are drafts in the order of the pass. */
typedef struct geodec_price {
    int32_t n;
    double time[GEODEC_PRICE_ROWS]; /* seconds of a pass over rows 0 .. i, reading included */
    /* seconds of a mean pass of i + 1 rows, of those that were made; 0: not known. With it, a timed pass of this width
     * tells more than `time` does */
    double mean[GEODEC_PRICE_ROWS];
    double alone[GEODEC_PRICE_ROWS]; /* seconds of a pass over row i alone, when the rows before it had theirs */
    double bytes[GEODEC_PRICE_ROWS]; /* read for row i, beyond those of the rows before it */
    double plain;                    /* seconds of a pass of one row, mean of the last ones */
    double token;                    /* bytes that plain decoding reads for a token, mean of the last ones */
    double row;                      /* seconds of one more row that uses no further expert */
    /* bytes: that plain decoding would have read so far, and that were read beyond that (below 0: fewer) */
    double useful, wasted;
} geodec_price;

/* ---- time of computing ------------------------------------------------------------------------------------------- */

/* T = base + row (number of rows) + expert (distinct experts, summed over the layers), fitted to the passes seen. The
 * last ones count most. */
typedef struct geodec_price_fit {
    double unit;            /* distinct experts of a pass of one row */
    double first[3];        /* the parts before any fit, from the first pass */
    double xx[3][3], xt[3]; /* sums over passes of (1, rows, experts / unit) and the time */
    double base, row, expert;
    int64_t seen;
} geodec_price_fit;
/* row_experts: experts of one row, summed over the layers, > 0. */
void geodec_price_begin(geodec_price_fit *f, double row_experts);
/* A pass of n rows that used this number of distinct experts took these seconds, waiting for reads not counted. */
void geodec_price_observe(geodec_price_fit *f, int32_t n, double experts, double seconds);
/* Expected seconds; 0 before the first pass. */
double geodec_price_pass(const geodec_price_fit *f, int32_t n, double experts);

/* ---- experts of a further row ------------------------------------------------------------------------------------ */

/* One layer of n experts. p: P(the row uses it). resident: in memory (NULL: all). unused: P(no row before uses it),
 * which is multiplied by 1 - p; all 1 before the first row. distinct and missing grow by the expected number of experts
 * that the row is the first to use, and by the part of them that is not in memory. */
void geodec_price_add_row(int32_t n, const float *p, const uint8_t *resident, float *unused, double *distinct,
                          double *missing);

#endif
