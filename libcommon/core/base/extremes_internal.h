/* Internal: the smaller and the larger of two numbers; the second, if neither is (which is any, if one is no number).
 */
#ifndef GEODEC_BASE_EXTREMES_INTERNAL_H
#define GEODEC_BASE_EXTREMES_INTERNAL_H

#include <stdint.h>

static inline int64_t geodec__min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t geodec__max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline double geodec__min_f64(double a, double b) { return a < b ? a : b; }
static inline double geodec__max_f64(double a, double b) { return a > b ? a : b; }

#endif
