/* The shim: Config B, "split", (p, k) = (41, 8), and Config E, "mix", (2, 2). The paper does not define the map
 * phi_p^k; both readings are here.
 *
 *   reading 1  residue-field Frobenius: x -> x^(p^k) in O/p. For the split 41, O/41 = F_41 x F_41 and the map is the
 *              identity; for the inert 2, O/2 = F_4, x^2 is the conjugate and x^4 = x. Both configurations are the
 *              identity, so a perplexity that changes was not measured with this.
 *   reading 2  scaling by |pi^k|: pi = w of norm 41 gives 41^4 = 2825761; pi = 2 gives 2^2 = 4. Weights are encoded
 * with this factor and decoded without it. 41^4 changes the rounding; 4 changes no bit.
 *
 * Cancellation ("Theorem 4"). If s > 0 multiplies the weights of a linear map whose output reaches an RMSNorm with eps
 * = 0 before any addition and any other function that is not homogeneous, the norm's output does not change. Proof:
 * RMSNorm(s x) = s x / sqrt(mean(s^2 x^2)) = RMSNorm(x), and linear maps commute with s. Limits:
 *   eps > 0          x / sqrt(mean(x^2) + eps / s^2): relative deviation about eps / (2 mean(x^2)) (1 - 1 / s^2)
 *   floating point   bit for bit if s is a power of two and nothing over- or underflows, else up to rounding
 *   residual         x + s g(x) cancels only with a norm between the map and the addition
 *   attention        s multiplies logits inside exp: cancels only with a norm of queries and keys
 *   gates            SiLU and GELU are not homogeneous: the gate's weights never cancel
 * So W_q, W_k, W_v, W_o, W_up and W_down may be scaled in gemma3, whose queries, keys and both halves of a layer have
 * norms, but not W_gate; of the others, none of W_v, W_o, W_up, W_down in llama and qwen2. */
#ifndef GEODEC_INTEGER_RING_SHIM_H
#define GEODEC_INTEGER_RING_SHIM_H

#include "lab/integer/ring/encode.h"

typedef enum geodec_ring_shim_config {
    GEODEC_RING_SHIM_NONE, /* plain encoding: the control */
    GEODEC_RING_SHIM_B,
    GEODEC_RING_SHIM_E
} geodec_ring_shim_config;
enum { GEODEC_RING_SHIM_CONFIGS = 3, GEODEC_RING_SHIM_READINGS = 2 };

typedef struct geodec_ring_shim {
    const char *name; /* "none", "B", "E" */
    int64_t p, k;
    geodec_ring_element pi, power; /* pi^k */
    int64_t modulus;               /* |pi^k|, an integer in both */
} geodec_ring_shim;
const geodec_ring_shim *geodec_ring_shim_of(geodec_ring_shim_config config);

/* Reading 1: x^(p^k) in O/p, coordinates 0 .. p-1. 2 <= p <= GEODEC_RING_PRIME_MAX, k >= 0 (GEODEC_RANGE). */
geodec_status geodec_ring_shim_frobenius(geodec_ring_element x, int64_t p, int64_t k, geodec_ring_element *out,
                                         geodec_err *err) GEODEC_MUST_USE;

/* What one tensor went through. */
typedef struct geodec_ring_shim_report {
    int exponent;    /* of the step */
    int64_t changed; /* values that differ from those without a shim, at the same q_max */
    double error;    /* root mean square of decoded - w */
    double plain;    /* the same without a shim */
} geodec_ring_shim_report;

/* Replaces w [n] by what is decoded after encoding with q_max bits under a configuration: reading 1 replaces each
 * code's residue modulo p by its image, reading 2 encodes with the factor |pi^k|. report: or NULL. Errors as
 * geodec_ring_encode; GEODEC_RANGE (config, reading). */
geodec_status geodec_ring_shim_apply(geodec_ring_shim_config config, int reading, int q_max, float *w, int64_t n,
                                     geodec_ring_shim_report *report, geodec_err *err) GEODEC_MUST_USE;

#endif
