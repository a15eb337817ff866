/* The ring Z[w], w^2 = w - 41: the integers of Q(sqrt(-163)), class number 1, units 1 and -1.
 *
 *   (a + b w)(c + d w) = (a c - 41 b d) + (a d + b c + b d) w
 *   conjugate a + b - b w, norm a^2 + a b + 41 b^2 (multiplicative, >= 0), trace 2 a + b
 *
 * Results are exact. A coordinate that does not fit in int64 gives GEODEC_NUMERIC, also where intermediate values would
 * leave 128 bits. */
#ifndef GEODEC_INTEGER_RING_RING_H
#define GEODEC_INTEGER_RING_RING_H

#include "base/err.h"

#include <stdint.h>

typedef struct geodec_ring_element {
    int64_t a, b; /* a + b w */
} geodec_ring_element;

geodec_status geodec_ring_add(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out,
                              geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_ring_sub(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out,
                              geodec_err *err) GEODEC_MUST_USE;
/* From four products, and from three: with p = (a + b)(c + d), imag = p - a c. Equal results and errors. */
geodec_status geodec_ring_mul(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out,
                              geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_ring_mul3(geodec_ring_element x, geodec_ring_element y, geodec_ring_element *out,
                               geodec_err *err) GEODEC_MUST_USE;
/* The product modulo 2^64, without an error: right wherever the product fits. */
geodec_ring_element geodec_ring_mul_wrapped(geodec_ring_element x, geodec_ring_element y);
geodec_ring_element geodec_ring_mul3_wrapped(geodec_ring_element x, geodec_ring_element y);
geodec_status geodec_ring_conj(geodec_ring_element x, geodec_ring_element *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_ring_norm(geodec_ring_element x, int64_t *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_ring_trace(geodec_ring_element x, int64_t *out, geodec_err *err) GEODEC_MUST_USE;
/* x^k = x^(k-1) x, k >= 0 (GEODEC_RANGE). GEODEC_NUMERIC where it or a lower power does not fit. */
geodec_status geodec_ring_pow(geodec_ring_element x, int64_t k, geodec_ring_element *out,
                              geodec_err *err) GEODEC_MUST_USE;

/* How a rational prime behaves in the ring. roots: of x^2 - x + 41 modulo p, ascending; 0, 2 or 1 of them. */
typedef enum geodec_ring_kind { GEODEC_RING_INERT, GEODEC_RING_SPLIT, GEODEC_RING_RAMIFIED } geodec_ring_kind;
typedef struct geodec_ring_prime {
    int64_t p;
    geodec_ring_kind kind;
    int n_roots;
    int64_t roots[2];
} geodec_ring_prime;
enum { GEODEC_RING_PRIME_MAX = 2147483647 };
/* p a prime up to GEODEC_RING_PRIME_MAX; GEODEC_RANGE for any other number. */
geodec_status geodec_ring_prime_of(int64_t p, geodec_ring_prime *out, geodec_err *err) GEODEC_MUST_USE;
/* The table of all primes below `limit` (at most 65536): at most `room` rows are written. Returns their number. */
int64_t geodec_ring_primes_below(int64_t limit, geodec_ring_prime *out, int64_t room);

#endif
