/* Integers from residues of two or three moduli, by Garner's rule: t = (rb - ra) qa^-1 mod qb, u = ra + qa t. The
 * centred value is the integer nearest to 0 with these residues: it is the one wanted only if that is in range. */
#ifndef GEODEC_INTEGER_NTT_CRT_H
#define GEODEC_INTEGER_NTT_CRT_H

#include "integer/fixed/mulmod.h"
#include "lab/integer/ntt/modulus.h"

#include <stdbool.h>

typedef struct geodec_crt {
    const geodec_modulus *a, *b;
    uint64_t inverse, scaled; /* qa^-1 mod qb, and floor(inverse 2^32 / qb) */
    uint64_t product, half;   /* M = qa qb < 2^60; (M - 1) / 2 */
} geodec_crt;
/* Two different moduli of 30 bits. */
geodec_crt geodec_crt_of(const geodec_modulus *a, const geodec_modulus *b);
/* u in [0, M). *t unless NULL. ra < qa, rb < qb. */
uint64_t geodec_crt_join(const geodec_crt *c, uint64_t ra, uint64_t rb, uint64_t *t);
/* The x with these residues, if |x| <= (M - 1) / 2. */
int64_t geodec_crt_centred(const geodec_crt *c, uint64_t ra, uint64_t rb);
/* Detection from residues alone: whether x has residue r of a further modulus. A wrong x = c + kM passes only if the
 * modulus divides k. */
bool geodec_crt_agrees(const geodec_modulus *further, int64_t x, uint64_t r);

/* Signed integers of 128 bits. */
typedef struct geodec_crt_wide {
    uint64_t low;
    int64_t high;
} geodec_crt_wide;
/* Chinese remainders of a pair and p60: |x| <= (M p60 - 1) / 2, which is above 2^117. */
typedef struct geodec_crt_triple {
    geodec_crt pair;
    const geodec_modulus *top;
    geodec_mulmod_barrett barrett; /* of p60 */
    uint64_t inverse;              /* M^-1 mod p60 */
    geodec_crt_wide half;          /* (M p60 - 1) / 2 */
} geodec_crt_triple;
geodec_crt_triple geodec_crt_triple_of(const geodec_modulus *a, const geodec_modulus *b);
geodec_crt_wide geodec_crt_triple_centred(const geodec_crt_triple *c, uint64_t ra, uint64_t rb, uint64_t top);

#endif
