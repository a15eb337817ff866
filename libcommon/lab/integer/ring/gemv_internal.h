/* Internal: inner loops of products over the ring, one table per instruction set. All give the same values. */
#ifndef GEODEC_INTEGER_RING_GEMV_INTERNAL_H
#define GEODEC_INTEGER_RING_GEMV_INTERNAL_H

#include "lab/integer/ring/gemv.h"

enum {
    GEODEC__GEMV_BLOCK = 16, /* rows that share a bound */
    GEODEC__GEMV_PAD16 = 32, /* 16-bit rows and vectors are padded with zeros to a multiple of it */
    GEODEC__GEMV_PAD64 = 4   /* the same for elements of a vector; rows of W are not padded */
};

typedef struct geodec__gemv64 {
    geodec_isa isa;
    /* y [rows], sums modulo 2^64. x, swapped: padded, (c, d) and (d, c). zero_b: that of w; y is the same. Vector forms
     * take the lowest 32 bits of each coordinate with their sign. */
    void (*rows)(const geodec_ring_element *w, int64_t rows, int64_t cols, const geodec_ring_element *x,
                 const geodec_ring_element *swapped, bool zero_b, geodec_ring_element *y);
} geodec__gemv64;

typedef struct geodec__gemv16 {
    geodec_isa isa;
    /* y [rows] = <w, u> + <w, v> w over n int16, a multiple of the padding. A step is two int16 of each lane; int32
     * sums of `block` steps fit. v NULL: b = 0. */
    void (*rows)(const int16_t *w, int64_t rows, int64_t n, int64_t block, const int16_t *u, const int16_t *v,
                 geodec_ring_element *y);
} geodec__gemv16;

/* AVX512: with VNNI; a processor without it has AVX2 for 16 bits. */
extern const geodec__gemv64 geodec__gemv64_scalar, geodec__gemv64_avx2, geodec__gemv64_avx512;
extern const geodec__gemv16 geodec__gemv16_scalar, geodec__gemv16_avx2, geodec__gemv16_vnni;
/* NULL where the processor lacks it. */
const geodec__gemv16 *geodec__gemv16_for(geodec_isa isa);

#endif
