/* The prime moduli of the transforms, and powers, inverses and roots modulo them. */
#ifndef GEODEC_INTEGER_NTT_MODULUS_H
#define GEODEC_INTEGER_NTT_MODULUS_H

#include "base/err.h"

#include <stdint.h>

/* p60: one prime of 60 bits. q1, q2: a pair of 30 bits for N up to 512. w1, w2: a pair of 30 bits for N up to 131072.
 */
typedef enum geodec_modulus_id {
    GEODEC_MODULUS_P60,
    GEODEC_MODULUS_Q1,
    GEODEC_MODULUS_Q2,
    GEODEC_MODULUS_W1,
    GEODEC_MODULUS_W2
} geodec_modulus_id;
enum { GEODEC_MODULI = 5, GEODEC_MODULUS_SHIFT = 59 /* p60 = 2^59 + GEODEC_MODULUS_FOLD */ };
#define GEODEC_MODULUS_FOLD 8978433

typedef struct geodec_modulus {
    const char *name;
    uint64_t q;
    int bits, v2; /* bits of q; 2^v2 is the largest power of two that divides q - 1 */
    int64_t most; /* the largest N of a negacyclic transform: 2^(v2 - 1) */
    uint64_t qnr; /* the smallest quadratic non-residue */
} geodec_modulus;

const geodec_modulus *geodec_modulus_of(geodec_modulus_id id);
/* The modulus q of the table; NULL if it is none of the table. */
const geodec_modulus *geodec_modulus_find(uint64_t q);
/* a^e and a^-1 mod q, a < q < 2^63; a != 0 and q prime for the inverse. */
uint64_t geodec_modulus_power(uint64_t q, uint64_t a, uint64_t e);
uint64_t geodec_modulus_inverse(uint64_t q, uint64_t a);
/* psi_N = qnr^((q - 1) / 2N), so that psi_N^N = -1. N: a power of two, at most `most`. */
uint64_t geodec_modulus_root(const geodec_modulus *m, int64_t n);
/* x mod q in [0, q) of a signed x. */
uint64_t geodec_modulus_residue(const geodec_modulus *m, int64_t x);
/* The representative of r < q nearest to 0. */
int64_t geodec_modulus_centred(const geodec_modulus *m, uint64_t r);

#endif
