/* Negacyclic number-theoretic transforms: A[k] = sum_j a[j] psi^((2k+1) j) mod q, psi = psi_N of the modulus.
 *
 * Words are uint64_t for p60 and uint32_t for the moduli of 30 bits; residues are in [0, q). A transform stores A in an
 * order of its own (geodec_ntt_position), which suits its instruction set: products and sums need no other. A batch has
 * GEODEC_NTT_BATCH transforms side by side, [N][GEODEC_NTT_BATCH]; its order is bit-reversed for every path. Arrays
 * need no alignment; 64 bytes are faster. in == out is allowed everywhere, other overlaps are not. */
#ifndef GEODEC_INTEGER_NTT_NTT_H
#define GEODEC_INTEGER_NTT_NTT_H

#include "kernels/settings.h"
#include "lab/integer/ntt/modulus.h"

#include <stdbool.h>
#include <stddef.h>

/* Code paths. portable: no type of 128 bits; ifma: multiply-add of 52 bits. AUTO: the fastest of the processor,
 * which may be another for batches. */
typedef enum geodec_ntt_path {
    GEODEC_NTT_AUTO,
    GEODEC_NTT_PORTABLE,
    GEODEC_NTT_SCALAR,
    GEODEC_NTT_AVX2,
    GEODEC_NTT_AVX512,
    GEODEC_NTT_IFMA
} geodec_ntt_path;
enum { GEODEC_NTT_PATHS = 6, GEODEC_NTT_BATCH = 16 };

const char *geodec_ntt_path_name(geodec_ntt_path path);
/* Whether the processor has the path, and the path has code of its own for the modulus: avx2 has none for p60, portable
 * none for the others. geodec_ntt_create takes any path and uses the next narrower one. */
bool geodec_ntt_path_available(geodec_ntt_path path, const geodec_modulus *m);
/* The path of an instruction set of the kernels: the fastest, AUTO, for AVX-512. */
geodec_ntt_path geodec_ntt_path_of(geodec_isa isa);

typedef struct geodec_ntt geodec_ntt;
/* n: a power of two, 1 to m->most. Transforms shorter than the square of the lanes of a path use the next narrower
 * path, except in batches. GEODEC_INVAL, GEODEC_NOMEM. */
geodec_status geodec_ntt_create(const geodec_modulus *m, int64_t n, geodec_ntt_path path, geodec_ntt **out,
                                geodec_err *err);
/* NULL is allowed. */
void geodec_ntt_destroy(geodec_ntt *t);
const geodec_modulus *geodec_ntt_modulus(const geodec_ntt *t);
int64_t geodec_ntt_length(const geodec_ntt *t);
/* Bytes of a word: 4 or 8. */
size_t geodec_ntt_word(const geodec_ntt *t);
/* The paths in use: of single transforms and of batches. */
geodec_ntt_path geodec_ntt_path_single(const geodec_ntt *t);
geodec_ntt_path geodec_ntt_path_batch(const geodec_ntt *t);

void geodec_ntt_forward(const geodec_ntt *t, const void *in, void *out);
void geodec_ntt_inverse(const geodec_ntt *t, const void *in, void *out);
void geodec_ntt_forward_batch(const geodec_ntt *t, const void *in, void *out);
void geodec_ntt_inverse_batch(const geodec_ntt *t, const void *in, void *out);
/* out[i] = a[i] b[i] mod q of one transform, or of a batch. */
void geodec_ntt_multiply(const geodec_ntt *t, const void *a, const void *b, void *out);
void geodec_ntt_multiply_batch(const geodec_ntt *t, const void *a, const void *b, void *out);
/* Coefficient 0 of the product of two transformed polynomials, without an inverse transform: N^-1 sum_j a[j] b[j]. */
uint64_t geodec_ntt_dot(const geodec_ntt *t, const void *a, const void *b);

/* Where A[k] is in the output of geodec_ntt_forward. */
int64_t geodec_ntt_position(const geodec_ntt *t, int64_t k);
/* Out of place: natural order from the transform's order, and back. */
void geodec_ntt_to_natural(const geodec_ntt *t, const void *in, void *out);
void geodec_ntt_from_natural(const geodec_ntt *t, const void *in, void *out);
/* Out of place: bit-reversed order, A[bitrev(i)] at i, from the transform's order. */
void geodec_ntt_to_reversed(const geodec_ntt *t, const void *in, void *out);
/* Residues of signed coefficients as words, and back to the representatives nearest to 0. */
void geodec_ntt_words(const geodec_ntt *t, const int64_t *x, int64_t n, void *out);
void geodec_ntt_centred(const geodec_ntt *t, const void *words, int64_t n, int64_t *out);
/* Reads and writes word i. */
uint64_t geodec_ntt_get(const geodec_ntt *t, const void *words, int64_t i);
void geodec_ntt_set(const geodec_ntt *t, void *words, int64_t i, uint64_t value);

#endif
