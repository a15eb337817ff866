/* Correlation of one query with every shift of a sequence: out[t] = sum_i q[i] s[t + i], t = 0 .. n - d, exactly. One
 * product of polynomials gives N - d + 1 shifts; longer sequences are divided into overlapping parts. */
#ifndef GEODEC_INTEGER_NTT_CORRELATE_H
#define GEODEC_INTEGER_NTT_CORRELATE_H

#include "lab/integer/ntt/negacyclic.h"

/* AUTO: the faster of direct sums and p60, by the lengths and the size of the values; the pair, whose range is twice
 * as large, where p60 has too little. */
typedef enum geodec_correlate_by {
    GEODEC_CORRELATE_AUTO,
    GEODEC_CORRELATE_DIRECT,
    GEODEC_CORRELATE_P60,
    GEODEC_CORRELATE_PAIR
} geodec_correlate_by;
enum { GEODEC_CORRELATE_METHODS = 4 };
#define GEODEC_CORRELATE_CHOICES "auto|direct|p60|pair"
const char *geodec_correlate_name(geodec_correlate_by by);

typedef struct geodec_correlate_report {
    geodec_correlate_by by;
    int64_t length, parts; /* N of a transform and the number of products; 0 for direct sums */
} geodec_correlate_report;

/* The method that AUTO takes, and its lengths. narrow: all values fit in 16 bits. */
geodec_correlate_report geodec_correlate_choose(int64_t d, int64_t n, bool narrow);
/* out [n - d + 1]. 1 <= d <= n. report may be NULL. GEODEC_LIMIT: values beyond 32 bits, a query longer than
 * GEODEC_NEGACYCLIC_MOST for a method with transforms, or sums that may leave the range of the method (int64; (M - 1) /
 * 2 of the moduli), by |q|_1 |s|_max; AUTO then takes the
 * next method. GEODEC_INVAL, GEODEC_NOMEM. */
geodec_status geodec_correlate_run(const int64_t *q, int64_t d, const int64_t *s, int64_t n, geodec_correlate_by by,
                                   geodec_ntt_path path, int64_t *out, geodec_correlate_report *report,
                                   geodec_err *err);

#endif
