/* Direct sums for shifts 0 .. shifts - 1; the scalar form needs no vector unit. */
#ifndef GEODEC_INTEGER_NTT_CORRELATE_INTERNAL_H
#define GEODEC_INTEGER_NTT_CORRELATE_INTERNAL_H

#include <stdint.h>

void geodec__correlate_scalar(const int32_t *q, int64_t d, const int32_t *s, int64_t shifts, int64_t *out);
#if defined(__x86_64__)
void geodec__correlate_avx2(const int32_t *q, int64_t d, const int32_t *s, int64_t shifts, int64_t *out);
void geodec__correlate_avx512(const int32_t *q, int64_t d, const int32_t *s, int64_t shifts, int64_t *out);
/* Values of 16 bits: q [pairs] has q[2i] and q[2i + 1] in a word, s has s[t] and s[t + 1]. A sum of `block` products of
 * pairs fits in 32 bits. */
void geodec__correlate_avx512_pairs(const int32_t *q, int64_t pairs, const int32_t *s, int64_t shifts, int64_t block,
                                    int64_t *out);
#endif

#endif
