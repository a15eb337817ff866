/* Scores of attention, c = q . k, by sums and by transforms (integer/ntt).
 *
 * c is coefficient 0 of q(x) k*(x) modulo x^N + 1, with k*[0] = k[0] and k*[N - j] = -k[j]. With both factors
 * transformed, c = N^-1 sum_i Q[i] K[i] modulo q: no inverse transform is needed, and the order of the words does not
 * matter. A key is kept as a block: N words of 64 bits modulo p60, or N words of 32 bits modulo each prime of a pair
 * (q1, q2 up to N = 512, w1, w2 above), whose residues Garner's rule joins. Words are in bit-reversed order,
 * A[bitrev(i)] at i, on every instruction set. N is the power of two that holds the dimension, at least 16.
 *
 * The result is exact if |c| is at most (q - 1) / 2 or (q1 q2 - 1) / 2, about 2^58 and 2^59; otherwise it is the
 * residue nearest to 0. Keys and queries of 16 bits never leave that range: |c| <= 4096 2^30. */
#ifndef GEODEC_INTEGER_SCORES_SCORES_H
#define GEODEC_INTEGER_SCORES_SCORES_H

#include "kernels/settings.h"
#include "lab/integer/ntt/modulus.h"

enum { GEODEC_SCORES_LEAST = 16, GEODEC_SCORES_MOST = 4096 /* N */ };

/* The scores are the same integers. */
typedef enum geodec_scores_by { GEODEC_SCORES_DIRECT, GEODEC_SCORES_NTT_P60, GEODEC_SCORES_NTT_CRT } geodec_scores_by;
#define GEODEC_SCORES_CHOICES "direct|ntt-p60|ntt-crt"
/* "direct", "ntt-p60", "ntt-crt". */
const char *geodec_scores_name(geodec_scores_by by);
/* Largest |c| that is exact: of direct sums INT64_MAX. dim >= 1. */
int64_t geodec_scores_range(geodec_scores_by by, int64_t dim);
/* Whether a score of such vectors cannot leave the range, as |c|^2 <= |q|^2 |k|^2. */
bool geodec_scores_exact(geodec_scores_by by, const int32_t *q, const int32_t *k, int64_t dim);
/* N of a dimension of 1 to GEODEC_SCORES_MOST. */
int64_t geodec_scores_length(int64_t dim);
/* The moduli of blocks: one (p60) or two. Returns their number. */
int geodec_scores_moduli(geodec_scores_by by, int64_t dim, geodec_modulus_id id[2]);
/* Bytes of a block, a multiple of 64: 8 N. */
int64_t geodec_scores_block(int64_t dim);

/* A plan: transforms and constants. Any number of threads may use it. */
typedef struct geodec_scores geodec_scores;
/* by: not direct. GEODEC_INVAL, GEODEC_UNSUPPORTED (instruction set), GEODEC_NOMEM. */
geodec_status geodec_scores_create(geodec_scores_by by, int64_t dim, geodec_isa isa, geodec_scores **out,
                                   geodec_err *err) GEODEC_MUST_USE;
void geodec_scores_destroy(geodec_scores *s); /* NULL ok */

/* Work space of one thread, with one transformed query. */
typedef struct geodec_scores_query geodec_scores_query;
geodec_status geodec_scores_query_create(const geodec_scores *s, geodec_scores_query **out,
                                         geodec_err *err) GEODEC_MUST_USE;
void geodec_scores_query_destroy(geodec_scores_query *w); /* NULL ok */

/* Transforms k [dim] into block, aligned to 64 bytes. */
void geodec_scores_key(const geodec_scores *s, geodec_scores_query *w, const int32_t *k, void *block);
/* Transforms q [dim], which the next sums of w use. */
void geodec_scores_load(const geodec_scores *s, geodec_scores_query *w, const int32_t *q);
/* c [n]: the scores of the query and of n blocks one after the other. */
void geodec_scores_sums(const geodec_scores *s, const geodec_scores_query *w, const void *block, int64_t n, int64_t *c);

/* Direct sums c [n] of q and n keys [n][dim]. Of 16 bits: |c| below 2^31, which holds if the Euclidean lengths are
 * below 2^15; these are the engine's. Of 32 bits: |c| below 2^63. NULL: the processor lacks the set. */
typedef void (*geodec_scores_of16)(const int16_t *q, const int16_t *k, int64_t n, int64_t dim, int32_t *c);
typedef void (*geodec_scores_of32)(const int32_t *q, const int32_t *k, int64_t n, int64_t dim, int64_t *c);
geodec_scores_of16 geodec_scores_direct16(geodec_isa isa);
geodec_scores_of32 geodec_scores_direct32(geodec_isa isa);

#endif
