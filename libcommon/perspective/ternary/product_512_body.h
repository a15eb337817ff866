/* What the files for VNNI and VBMI share. */
#include "perspective/ternary/product_internal.h"

#include "perspective/ternary/product_body.h"

#include <immintrin.h>

enum { BLOCK = GEODEC_TERNARY_BLOCK };

typedef uint16_t halves __attribute__((vector_size(64))); /* shifts by numbers that need not be constants */

INLINE __m512i load(const void *p) { return _mm512_loadu_si512(p); }
/* A block of a row, with a prefetch of the same block of the row that is TILE rows further: rows lie one after the
 * other, so that all of memory is asked for once, a tile ahead. */
INLINE __m512i load_ahead(const geodec__ternary_rows *w, const uint8_t *p)
{
    _mm_prefetch((const char *)p + TILE * w->row_bytes, _MM_HINT_T0);
    return load(p);
}
/* Field k (two bits) of each byte, at the place of field `to`; both are constants. */
INLINE __m512i field(__m512i s, const int k, const int to)
{
    return _mm512_and_si512((__m512i)((halves)s >> 2 * (k - to)), _mm512_set1_epi8((char)(3 << 2 * to)));
}
/* Sums of codes times 4^k for k = 0 .. 3 to the sum of all; each is a multiple of 4^k. */
INLINE __m512i fields_sum(const __m512i acc[4])
{
    __m512i s = acc[0];
    UNROLL
    for (int k = 1; k < 4; k++) s = _mm512_add_epi32(s, _mm512_srai_epi32(acc[k], (unsigned)(2 * k)));
    return s;
}
