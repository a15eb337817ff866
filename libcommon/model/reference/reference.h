/* The model in float64, written for clarity: the reference of the fast forward pass, and its derivatives with respect
 * to activations (jvp, vjp). Weights are the file's, decoded exactly; no code of the fast pass is used.
 *
 * Boundaries. The residual stream x [n][d_model] of a sequence of n tokens is named by boundary b: 0 = embedding, b =
 * after block b, n_layer = input of the final norm (as geodec_capture). Boundary n_layer + 1 stands for the logits
 * [n][n_vocab]. F(from, to) is the map from a whole sequence at one boundary to the same at a later one. Positions are
 * 0 .. n-1; row i depends on rows 0 .. i only.
 *
 * A block, with * elementwise, N a norm (Zhang and Sennrich 2019; with layer_norm Ba et al. 2016; of rows or of each
 * head), R rotary positions (Su et al. 2021) in layers that rotate, and parts in [] where the layer has them:
 *     z = [N] x,  q = [t_i] R [N] [clamp] (Wq z [+ bq]) (or N R in place of R N),  v = [N] [clamp] (Wv z [+ bv]),
 *     k as q without the temperature t_i = 1 + temperature log(floor((i + temperature_offset) / temperature_length) +
 * 1) s_ij = scale q_i . k_j,  [s = cap tanh(s / cap)],  [s_ij -= slope_h (i - j)],  p = softmax over the visible j [and
 * a sink: a score of its own, and no value]; visible are max(0, i - window + 1) <= j <= i, or with chunks floor(i /
 * window) window <= j <= i a = [N] ([g(G z)] * (p v)), g a sigmoid or a softplus, of each head or element x += [N]
 * [residual_scale value_scale] (Wo a [+ bo]) z = [N] x, with parallel halves of the x before attention, by attention's
 * norm if there is no other x += [N] [residual_scale] FFN(z),  FFN(z) = W2 [N] (A(W1 z [+ b1]) * B(W3 z [+ b3]) [/
 * hidden_scale]) [+ b2] [x *= stream_scale], or [x += stream_scale e] with e the stream at boundary 0 (embed_added) A
 * is an activation (kernels/settings.h) and B(u) = u, but for the clamped SwiGLU; a plain network has no W3 and B.
 *
 * With several streams (session/streams.c) x above is the first of them in a block, z = N(x) of attention goes through
 * a path of low rank beside it, W1 z may be cut to its largest numbers, and at boundary n_layer they are one stream
 * again.
 *
 * With experts FFN is the sum over the chosen e of w_e FFN_e(z), or FFN_e(w_e z) (weighed_input): p = softmax(Wr z [+
 * br]) over all experts, the n_expert_used largest chosen (ties to the lowest id), w_e = p_e / sum of the chosen p (or
 * p_e, expert_keep_weights) times expert_scale. With GEODEC_GATING_SIGMOID p is the sigmoid; GEODEC_GATING_CHOSEN, the
 * softmax over the chosen, is p_e / sum. The choice is by p [+ a bias of each expert], and among the experts of the
 * best groups if there are groups. [A shared network: + [sigmoid(a . z)] FFN_s(z), the sum times feed_scale.] The
 * router reads the block's input with route_raw; router and experts read N of it where there is an expert_norm. With a
 * router_norm each reads a norm of its own of the stream between the halves, the experts' sum and the shared network's
 * output are normed before they are added, and w_e has a factor of each expert.
 * [Adjugate experts: y += adjugate_scale sum of v_g FFN_g(y), y the sum so far, over the groups g of adjugate_group
 * experts of those chosen (the first of them, if there are fewer groups), v_g = p_g / the sum of these, at least
 * 2^-14.]
 *
 * The embedding is [N] (embed_scale E) [+ P_i, a learned vector of the position]. Logits: (W N(x) [+ b]) [/
 * logit_scale], [cap tanh(./cap)]. Angles: position base^(-2i/rope_dim) scale / divisor_i for table 0, where with YaRN
 * (Peng et al. 2023) the scale goes from 1 to rope_scale between the pairs yarn_low and yarn_high, and rope_magnitude
 * multiplies cosines and sines; table 1 (gemma3's sliding layers) has rope_base_local, rope_dim_local, and none of the
 * factors.
 *
 * Blocks may read the keys and values of an earlier one. With d_inputs = P a block has an input beside the stream,
 * which is added at its end, before the stream is scaled: x += N(V2 (A(V1 x) * e)), e = (sqrt(P) E_l + N(U x0 /
 * sqrt(d_model))) / sqrt(2), with E_l a row of the token and x0 the stream at boundary 0.
 *
 * A recurrent layer has, in place of attention or beside it, one of the parts of session/recurrent_internal.h: W out(z)
 * with z = N(x). A layer may have one half alone. Not here yet: of recurrent models, attention with gates or without
 * rotations, and feed-forwards without gates or with biases; decay recurrences.
 *
 * Which experts are chosen is constant under differentiation (F is not differentiable where two experts tie); the
 * derivative through the weights of the chosen ones is included. So is that through the embedding that is added in
 * every block; F from a boundary between the blocks of such a model is refused (GEODEC_UNSUPPORTED), for the stream
 * there does not determine it; and so is that of a residual of several streams, of which the boundary has the first.
 * Where blocks have inputs of their own, those of F(0, ..) move with the stream at boundary 0; from a later boundary on
 * they are constant, those of the text, as are the keys of blocks before it.
 *
 * Same bytes for any number of threads. The value of a row may differ in its last bits between calls with other n or k,
 * because matrix products are cut into blocks of rows. Keep BLAS on one thread (geodec_linalg_init).
 *
 * Cost. Weights are decoded again in every call, a panel of at most 32 MiB at a time: with P parameters a call decodes
 * P values and makes about 2 P n multiplications and additions (experts: of those chosen), attention about 4 n^2 n_head
 * head_dim a layer. jvp of k tangents of m rows: one forward pass plus 2 P m k; vjp the same and one more decoding. k
 * tangents in one call decode and run forward once, so a Jacobian or a Fisher metric (d_model tangents of one row: m =
 * 1) should use the largest k that memory allows: about 8 k m max(2 d_ff, 4 n_head head_dim, 3 d_model) bytes, and 8 k
 * n_rows n_vocab for the logits. */
#ifndef GEODEC_REFERENCE_REFERENCE_H
#define GEODEC_REFERENCE_REFERENCE_H

#include "session/model.h"

/* Immutable after create: may be shared, but a pool serves one caller at a time. */
typedef struct geodec_reference geodec_reference;

typedef struct geodec_reference_options {
    geodec_pool *pool; /* NULL = caller's thread; must outlive the reference */
    int32_t n_ctx;     /* the context of the session it is compared with (0 = the model's); matters for long-rope's two
                        * tables only */
} geodec_reference_options;

/* m must outlive the reference; o NULL = all defaults. GEODEC_UNSUPPORTED for recurrent layers, weights that are
 * factored or not in memory, and a cache of low rank. */
geodec_status geodec_reference_create(const geodec_model *m, const geodec_reference_options *o, geodec_reference **out,
                                      geodec_err *err) GEODEC_MUST_USE;
void geodec_reference_destroy(geodec_reference *r); /* NULL ok */
/* The same for one text of n tokens, which is borrowed: the maps below are then of its first rows. Models whose blocks
 * have inputs of their own, or read keys of blocks before `from`, need it. r may be destroyed before. */
geodec_status geodec_reference_of_text(const geodec_reference *r, const int32_t *token, int64_t n,
                                       geodec_reference **out, geodec_err *err) GEODEC_MUST_USE;
const geodec_model *geodec_reference_model(const geodec_reference *r);
/* Values of a row at a boundary: d_model, or n_vocab at n_layer + 1. */
int64_t geodec_reference_width(const geodec_reference *r, int32_t boundary);

/* Optional records of a forward pass; any may be NULL. Caller's memory. */
typedef struct geodec_reference_trace {
    double *state;         /* [n_layer + 1][n][d_model] every boundary */
    int32_t *expert_id;    /* [n][n_layer][n_expert_used], best first; -1 in layers without experts */
    double *expert_weight; /* the same shape */
} geodec_reference_trace;

/* The stream at boundary 0: x [n][d_model] of n tokens. GEODEC_LIMIT for more tokens than learned positions. */
geodec_status geodec_reference_embed(const geodec_reference *r, const int32_t *token, int64_t n, double *x,
                                     geodec_err *err) GEODEC_MUST_USE;
/* Logits [n][n_vocab] (NULL for none) of a sequence of n tokens; trace may be NULL.
 * Errors: GEODEC_RANGE (n < 1, a token outside the vocabulary), GEODEC_LIMIT (n > 2^20), GEODEC_NOMEM. */
geodec_status geodec_reference_forward(const geodec_reference *r, const int32_t *token, int64_t n,
                                       const geodec_reference_trace *trace, double *logits,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Negative log likelihood in nats of token[i + 1] given token[0..i], into nll [n - 1]. n >= 2. Logits are computed a
 * few rows at a time. */
geodec_status geodec_reference_nll(const geodec_reference *r, const int32_t *token, int64_t n, double *nll,
                                   geodec_err *err) GEODEC_MUST_USE;
/* The selected rows of the result. */
typedef struct geodec_reference_rows {
    int64_t n;
    const int32_t *row; /* [n] in 0 .. (rows of the sequence) - 1, ascending */
} geodec_reference_rows;

/* y = F(from, to)(x): x [n][d_model], y [n][width(to)], or [rows->n][width(to)] with rows not NULL.
 * 0 <= from <= to <= n_layer + 1, from <= n_layer. y may not overlap x. Errors as forward. */
geodec_status geodec_reference_run(const geodec_reference *r, int32_t from, int32_t to, int64_t n, const double *x,
                                   const geodec_reference_rows *rows, double *y, geodec_err *err) GEODEC_MUST_USE;

/* The tokens that the head chooses at n streams of their own before the final norm, x [n][d_model]: the largest logit
 * of each, the least number on ties, into token [n]. Errors as forward. */
geodec_status geodec_reference_choose(const geodec_reference *r, int64_t n, const double *x, int32_t *token,
                                      geodec_err *err) GEODEC_MUST_USE;

/* F(from, to) linearised at x: keeps the boundaries between (8 (to - from + 1) n d_model bytes); the inside of a block
 * is evaluated again for each derivative. x and rows are copied; r must outlive the point. Derivatives are those of
 * rows first .. n-1 of the result with respect to rows first .. n-1 of x; earlier rows are constant and cost nothing:
 * rows depend on no later row, so with first = n - 1 a tangent is one row in every block. first = 0 is the whole
 * Jacobian. Selected rows are in first .. n-1. */
typedef struct geodec_reference_point geodec_reference_point;
geodec_status geodec_reference_linearise(const geodec_reference *r, int32_t from, int32_t to, int64_t n,
                                         const double *x, int64_t first, const geodec_reference_rows *rows,
                                         geodec_reference_point **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_reference_point_destroy(geodec_reference_point *p); /* NULL ok */
/* The value of F there, without another pass: y [n_rows][width(to)] of the selected rows, or of rows first .. n-1. Same
 * bits as geodec_reference_run of these rows. */
geodec_status geodec_reference_point_value(const geodec_reference_point *p, double *y, geodec_err *err) GEODEC_MUST_USE;

/* Below, J = dF/dx at the point, m = n - first, out = rows->n, or m without. k >= 1 tangents, independent of each
 * other. dy [k][out][width(to)] = J dx, dx [k][m][d_model]. Errors: GEODEC_RANGE (k < 1), GEODEC_LIMIT (k n > 2^26),
 * GEODEC_NOMEM. */
geodec_status geodec_reference_jvp(const geodec_reference_point *p, int64_t k, const double *dx, double *dy,
                                   geodec_err *err) GEODEC_MUST_USE;
/* gx [k][m][d_model] = J^T gy, gy [k][out][width(to)]. */
geodec_status geodec_reference_vjp(const geodec_reference_point *p, int64_t k, const double *gy, double *gx,
                                   geodec_err *err) GEODEC_MUST_USE;

/* The Fisher metric of the next-token distribution p = softmax(logits of row n-1), pulled back to that row of the
 * stream at boundary `from`: G = J^T (diag p - p p^T) J with J = d logits_{n-1} / d x_{n-1}; KL(p(x) || p(x + u)) = u^T
 * G u / 2 + O(u^3) (Amari 1998). x [n][d_model] is the whole sequence there; metric [d_model][d_model], symmetric and
 * positive semidefinite (rank at most n_vocab - 1); probability [n_vocab], or NULL. Unit tangents go k at a time (1 ..
 * d_model), each through jvp and vjp: about 4 P d_model multiplications and additions. */
geodec_status geodec_reference_fisher(const geodec_reference *r, int32_t from, int64_t n, const double *x, int64_t k,
                                      double *metric, double *probability, geodec_err *err) GEODEC_MUST_USE;

#endif
