/* Whether an expert is read whole or as a difference to its neighbour that is in memory, in closed form:
 *
 *   whole       latency + bytes / bandwidth
 *   difference  latency + bytes of the difference / bandwidth + seconds a change x changes
 *               (+ bytes of the expert / copy bandwidth, if the base must be kept)
 *
 * A difference is chosen only if its base is in memory with a known CRC, and if it costs less. */
#ifndef GEODEC_PERSPECTIVE_TERNARY_COST_H
#define GEODEC_PERSPECTIVE_TERNARY_COST_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* Measured on the machine. */
typedef struct geodec_ternary_cost {
    double latency;        /* seconds a read */
    double bandwidth;      /* bytes a second of the disk */
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
/* The largest share p of independent changes, of `weights` weights, at which a difference (change.h) still costs less
 * than `whole_bytes`: by bisection to 1e-9; 0 if none does. */
double geodec_ternary_cost_break_even(const geodec_ternary_cost *c, double weights, double whole_bytes);

#endif
