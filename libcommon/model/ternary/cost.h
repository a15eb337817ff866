/* Whether an expert is read whole or as a difference to its neighbour that is in memory. Both are a read, of the bytes
 * of either form; a difference also takes seconds for each change, and for a copy of the expert if the base must be
 * kept. It is chosen only if its base is in memory with a known CRC, and if it costs less. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_COST_H
#define GEODEC_PERSPECTIVE_TERNARY_COST_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Measured on the machine. */
typedef struct geodec_ternary_cost {
    double apply;          /* seconds a change */
    double copy_bandwidth; /* bytes a second of memory */
    bool keep_base;        /* the base stays, and a copy is changed */
} geodec_ternary_cost;

/* One expert of one layer: bytes of both forms. */
typedef struct geodec_ternary_load {
    int64_t whole_bytes, difference_bytes, changes;
} geodec_ternary_load;

/* Bytes a second below which the difference costs less, in closed form: (whole - difference) / (the seconds of its
 * changes and its copy). 0: never. The latency is that of both. */
double geodec_ternary_cost_bandwidth(const geodec_ternary_cost *c, const geodec_ternary_load *l);
/* Seconds a change and bytes a second of copies on this machine, from matrices of this shape (some milliseconds). The
 * other members are kept. GEODEC_NOMEM. */
geodec_status geodec_ternary_cost_measure(int encoding, int64_t rows, int64_t cols, geodec_ternary_cost *c,
                                          geodec_err *err) GEODEC_MUST_USE;

#endif
