/* Products that are checked without being computed (Freivalds 1979), modulo the prime p = 2^61 - 1.
 *
 * A product of the engine is acc = W v with W(r, c) = code(r, c) multiplier(r, c / 32) and v(c) 2^up(c / 32) for each
 * input, exact in 64 bits (engine/product_internal.h). Whoever made a record also wrote down every acc of the run, in a
 * transcript. The verifier draws a secret vector r for each matrix, uniform in [0, 2^60), computes u = r^T W modulo p
 * once, and compares for each input v of the matrices W_1, .., W_k, with their claimed sums acc_1, .., acc_k,
 *     sum over c of (u_1 + .. + u_k)(c) v(c) 2^up(c / 32)
 *         = sum over j and rows i of r_j(i) acc_j(i)                                         modulo p,
 * which takes rows + columns products instead of rows times columns. k is the number of matrices that get the same
 * inputs in one call: q, k and v, gate and up, otherwise 1. The rest of the pass, from the claimed sums to the next
 * inputs and the logits, is computed as usual.
 *
 * Completeness: true sums satisfy the equation for every r, so a true transcript always passes.
 *
 * Soundness: call the products of one equation a group. Let d be the claimed sums of all its matrices less the true
 * ones, of the first group with a wrong product in the order of the run. What comes before it is true, so its inputs
 * are those of the run, and d depends on record and transcript alone, not on the vectors r. Claimed sums are at most
 * 2^58 (transcript.h), true sums at most 2^58 for matrices whose bound below says so, so an entry of d that is not zero
 * is not zero modulo p either. The vectors are drawn independently, so for any values of the other numbers at most one
 * value of the number r_j(i) of this entry satisfies the equation: the wrong group passes with probability at most
 * 2^-60 = 8.7e-19. A false run is accepted only if its first wrong group passes, so this also bounds the acceptance of
 * the whole run, however many products it has and although they share r. That every one of K wrong products is found,
 * not only one, fails with probability at most K 2^-60. r is stretched from a 64-bit seed (base/rng.h); the bound
 * supposes that the author of the transcript does not know the seed and cannot tell the numbers from uniform ones. An
 * equation finds that a group of a row is wrong, not which of its products; the report names rows.
 *
 * Bound of a matrix: |v| <= 32639 and up <= 8, so |acc(r)| <= 2^23 sum over blocks of |multiplier| sum of |code|. Three
 * bounds of this sum are tried: by the shape alone (at most 2^58 up to 8,192 columns with codes of 8 bits), by the
 * multipliers, by the codes. Where none is at most 2^58, the products of the matrix are computed again; they are
 * counted as recomputed, and so are sums that the transcript leaves out.
 *
 * R. Freivalds: Fast probabilistic algorithms. MFCS 1979, LNCS 74, 57-69. */
#ifndef GEODEC_INTEGER_ATTEST_FREIVALDS_H
#define GEODEC_INTEGER_ATTEST_FREIVALDS_H

#include "attest/transcript.h"
#include "integer/engine/engine.h"

typedef struct geodec_freivalds geodec_freivalds;

/* Writes the sums of all products of later passes to w, which must outlive it; the caller flushes w after each pass. */
geodec_status geodec_freivalds_prover(const geodec_engine *e, geodec_transcript_writer *w, geodec_freivalds **out,
                                      geodec_err *err) GEODEC_MUST_USE;
/* Takes the sums of later passes, of `rows` rows at most, from t, and checks them. secret: the seed of r. */
geodec_status geodec_freivalds_verifier(const geodec_engine *e, geodec_transcript *t, int32_t rows, uint64_t secret,
                                        geodec_freivalds **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_freivalds_free(geodec_freivalds *f); /* NULL ok */
/* For geodec_engine_replace_products, with f: of a prover, of a verifier. */
void geodec_freivalds_prove(void *f, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool);
void geodec_freivalds_check(void *f, const geodec_engine_product *job, int64_t jobs, geodec_pool *pool);

/* What a verifier found. */
typedef struct geodec_freivalds_report {
    int64_t matrices;            /* projected */
    int64_t checked, recomputed; /* products of one row */
    int32_t missing;             /* the first row of the pass without sums of the right number, -1: none */
    int32_t wrong;               /* the first row of the pass with a wrong product, -1: none */
} geodec_freivalds_report;
/* Clears `missing` and `wrong` for the next pass. */
geodec_freivalds_report geodec_freivalds_pass_report(geodec_freivalds *f);

/* Whether the bound of the matrix is at most 2^58. */
bool geodec_freivalds_bounded(const geodec_panels16 *w);

#endif
