/* The listings and constants of Part II (docs/references.md), run and counted, each with the correct form as control.
 *
 * avx2     A product of two pairs of elements of Z[w] with the shuffle (2, 3, 0, 1) of 32-bit words, which swaps the
 *          words inside of a number; (1, 0, 3, 2) swaps the halves of each 128 bits.
 * barrett  x mod q with one constant of 64 bits, two shifts by 64 and one subtraction. For a q of 60 bits floor(2^128 /
 *          q) has 69 bits, so no constant of 64 bits fits.
 *
 * Operands are random, of streams of the seed; a value is a share or a count and the same on every machine. */
#ifndef GEODEC_LAB_INTEGER_LISTINGS_H
#define GEODEC_LAB_INTEGER_LISTINGS_H

#include "integer/fixed/mulmod.h"
#include "lab/integer/ring/ring.h"

#include <stdbool.h>

/* w[0] x[0] + w[1] x[1] by the listing; mended: with the right shuffle. Coordinates of 32 bits. The processor must have
 * AVX2. */
geodec_ring_element geodec_listings_avx2(const geodec_ring_element w[2], const geodec_ring_element x[2], bool mended);
/* x mod q by the listing with the constant mu. */
uint64_t geodec_listings_barrett(geodec_mulmod_wide x, uint64_t mu, uint64_t q);
/* The constants that the listing might mean: floor(2^k / q), its low 64 bits, for k = 64, 120 .. 124, 128, and 2^64 -
 * 1. */
enum { GEODEC_LISTINGS_CONSTANTS = 8 };
void geodec_listings_constants(uint64_t q, uint64_t mu[GEODEC_LISTINGS_CONSTANTS]);
/* A Proth prime is k 2^n + 1 with odd k < 2^n. Whether the prime q is one. */
bool geodec_listings_proth(uint64_t q);

/* The cancellation theorem (integer/ring/shim.h) on a random map of 16 values: largest difference of what RMSNorm gives
 * when s multiplies the weights, relative to the largest value. */
typedef struct geodec_listings_block {
    bool added, gated; /* x + s W x in place of s W x; SiLU(s W x) */
    double eps;        /* of the norm */
} geodec_listings_block;
double geodec_listings_cancel(geodec_listings_block b, double s, uint64_t seed);

typedef struct geodec_listings_row {
    const char *key, *quantity, *compared; /* compared: what the control is */
    double value, control;                 /* NaN: not measured on this machine */
} geodec_listings_row;
enum { GEODEC_LISTINGS_ROWS = 15 };
/* All rows. draws: random products of each count, >= 1 (GEODEC_RANGE). GEODEC_NOMEM. */
geodec_status geodec_listings_measure(int64_t draws, uint64_t seed, geodec_listings_row row[GEODEC_LISTINGS_ROWS],
                                      geodec_err *err) GEODEC_MUST_USE;

#endif
