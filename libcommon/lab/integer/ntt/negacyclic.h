/* Exact products of integer polynomials modulo x^N + 1, through transforms. */
#ifndef GEODEC_INTEGER_NTT_NEGACYCLIC_H
#define GEODEC_INTEGER_NTT_NEGACYCLIC_H

#include "lab/integer/ntt/crt.h"
#include "lab/integer/ntt/ntt.h"

/* Moduli of a product: p60; q1 and q2 (N <= 512); w1 and w2; p60, w1 and w2, for coefficients beyond int64. AUTO: q1 q2
 * up to N = 512, w1 w2 above. N <= 32768. */
typedef enum geodec_negacyclic_by {
    GEODEC_NEGACYCLIC_AUTO,
    GEODEC_NEGACYCLIC_P60,
    GEODEC_NEGACYCLIC_Q1Q2,
    GEODEC_NEGACYCLIC_W1W2,
    GEODEC_NEGACYCLIC_WIDE
} geodec_negacyclic_by;
enum { GEODEC_NEGACYCLIC_MOST = 32768 };

typedef struct geodec_negacyclic geodec_negacyclic;
/* GEODEC_INVAL, GEODEC_NOMEM. */
geodec_status geodec_negacyclic_create(int64_t n, geodec_negacyclic_by by, geodec_ntt_path path,
                                       geodec_negacyclic **out, geodec_err *err);
/* NULL is allowed. */
void geodec_negacyclic_destroy(geodec_negacyclic *p);
/* A first factor is kept transformed for any number of products. a [n]. */
void geodec_negacyclic_load(geodec_negacyclic *p, const int64_t *a);
/* c [n] = a b with the loaded a. *exact: no coefficient can be out of range, by the bound |c| <= min(|a|_1 |b|_max,
 * |a|_max |b|_1); otherwise c has the centred residues. With exact = NULL such factors are GEODEC_LIMIT. Not for WIDE.
 */
geodec_status geodec_negacyclic_multiply(geodec_negacyclic *p, const int64_t *b, int64_t *c, bool *exact,
                                         geodec_err *err);
/* As geodec_negacyclic_multiply, with coefficients of 128 bits, for WIDE alone. */
geodec_status geodec_negacyclic_multiply_wide(geodec_negacyclic *p, const int64_t *b, geodec_crt_wide *c, bool *exact,
                                              geodec_err *err);
/* The score <q, k> as coefficient 0 of q k*, k*[0] = k[0], k*[j] = -k[N - j], without an inverse transform: centred
 * modulo p60 or the pair. q is the loaded factor. */
int64_t geodec_negacyclic_score(geodec_negacyclic *p, const int64_t *k);
/* Largest |c| that is recovered; INT64_MAX for WIDE, whose range is wider. */
int64_t geodec_negacyclic_range(const geodec_negacyclic *p);

#endif
