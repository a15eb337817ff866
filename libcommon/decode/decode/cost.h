/* Costs of the parts of a round, in units of T(1), the one-row pass: v(b) = T(b)/T(1), a pass over b rows; c, the
 * drafter's time per draft; o, the rest of a round (sampling, bookkeeping); o_plain, the rest of a round of plain
 * decoding. */
#ifndef GEODEC_DECODE_COST_H
#define GEODEC_DECODE_COST_H

#include "base/err.h"
#include "geodec/decode.h"

#include <stdint.h>

/* v(b) = 1 + slope (b - 1), c = o = 0: used where nothing was measured. */
geodec_cost geodec_cost_linear(double slope);
/* v(b), extrapolated linearly beyond n. */
double geodec_cost_pass(const geodec_cost *cost, int32_t b);

/* Times passes of 1 .. rows tokens after `at` cached tokens and empties the cache. Only a few widths are timed, in
 * turn, and the minimum of `repeats` is taken; the others are interpolated. clock NULL = geodec_clock_seconds. */
geodec_status geodec_cost_measure(const geodec_target *target, int32_t at, int32_t rows, int32_t repeats,
                                  double (*clock)(void), geodec_cost *out, geodec_err *err) GEODEC_MUST_USE;

#endif
