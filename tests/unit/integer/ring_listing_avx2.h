/* The paper's AVX2 listing of a product of two pairs of ring elements, for two elements. */
#ifndef GEODEC_TESTS_RING_LISTING_AVX2_H
#define GEODEC_TESTS_RING_LISTING_AVX2_H

#include "integer/ring/ring.h"

#include <stdbool.h>

/* As published, with the shuffle (2, 3, 0, 1) of 32-bit words; mended: with (1, 0, 3, 2) = 0x4E, which swaps the halves
 * of each 128 bits. The processor must have AVX2. */
geodec_ring_element ring_listing_avx2(const geodec_ring_element w[2], const geodec_ring_element x[2], bool mended);

#endif
