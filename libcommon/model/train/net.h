/* The network: forward, loss, and the backward pass to parameters and to the residual stream. float for training,
 * double for derivatives and checks; one source (net.inc) for both. A call runs on one thread; several works can run in
 * parallel.
 *
 * Arrays: tokens [n_seq][len]; n = n_seq len rows; the residual stream at boundary l (0 = embedding, n_layer = input of
 * the final norm) is [n][d_model], the same boundaries as in geodec_capture. The parameters are one flat vector
 * (layout.h).
 *
 *     forward -> loss(grad)  -> backward     gradient of scale * (sum of losses + balance term), added to grad
 *     forward -> seed        -> backward     vector-Jacobian product of the logits
 *
 *   create       shares nothing mutable; len up to layout->config.n_ctx. balance: weight of the Switch load-balance
 *                term balance * n_expert * sum_e f_e P_e a layer (Fedus et al. 2022), f_e counted as a constant
 *   work_create  buffers for up to n_seq sequences of len tokens. GEODEC_NOMEM, GEODEC_LIMIT
 *   forward      GEODEC_RANGE for a bad token id or shape; no other errors
 *   logits       rows row0 .. row0+n-1 -> out [n][n_vocab]
 *   loss         out [n] = cross-entropy in nats against target [n] (-1 = not counted), balance_term (may be NULL)
 *                = the balance term times n. grad != NULL: adds the head's gradient and leaves the cotangent for
 *                backward
 *   seed         sets the cotangent of the logits [n][n_vocab]; grad as in loss (NULL = activations only)
 *   backward     from the final norm down to boundary `layer`; 0 with grad also does the embedding. extra (may be
 *                NULL) [n_layer+1][n][d_model] is added to the cotangents: the derivative of further terms of the
 *                loss. state_grad (may be NULL) [n_layer+1][n][d_model] receives the cotangent at every boundary
 *                from n_layer down to `layer`. Returns the cotangent at `layer`, [n][d_model], inside the work
 *   vjp          seed + backward without parameters: out [n][d_model] at boundary `layer` for the last forward
 *   hold         further forward passes of the work take the choices and the stop-gradient values of a PERSPECTIVE
 *                model's routers (route.inc) from the last one, so that differences of the loss are what backward
 *                computes; for checks
 *   state        the residual stream of the last forward at a boundary, inside the work */
#ifndef GEODEC_TRAIN_NET_H
#define GEODEC_TRAIN_NET_H

#include "base/err.h"
#include "session/model.h"
#include "train/layout.h"

#include <stdint.h>

#define GEODEC_NET_DECLARE(REAL, N)                                                                                    \
    typedef struct N N;                                                                                                \
    typedef struct N##_work N##_work;                                                                                  \
    geodec_status N##_create(const geodec_layout *layout, double balance, geodec_isa isa, N **out, geodec_err *err)    \
        GEODEC_MUST_USE;                                                                                               \
    void N##_destroy(N *net);                                                                                          \
    const char *N##_isa(const N *net);                                                                                 \
    geodec_status N##_work_create(const N *net, int64_t n_seq, int64_t len, N##_work **out, geodec_err *err)           \
        GEODEC_MUST_USE;                                                                                               \
    void N##_work_destroy(N##_work *w);                                                                                \
    geodec_status N##_forward(const N *net, const REAL *params, int64_t n_seq, int64_t len, const int32_t *tokens,     \
                              N##_work *w, geodec_err *err) GEODEC_MUST_USE;                                           \
    void N##_logits(const N *net, const REAL *params, N##_work *w, int64_t row0, int64_t n, REAL *out);                \
    void N##_loss(const N *net, const REAL *params, N##_work *w, const int32_t *target, REAL scale, REAL *grad,        \
                  REAL *out, double *balance_term);                                                                    \
    void N##_seed(const N *net, const REAL *params, N##_work *w, const REAL *dlogits, REAL *grad);                     \
    const REAL *N##_backward(const N *net, const REAL *params, N##_work *w, int32_t layer, REAL *grad,                 \
                             const REAL *extra, REAL *state_grad);                                                     \
    void N##_hold(N##_work *w);                                                                                        \
    void N##_vjp(const N *net, const REAL *params, N##_work *w, const REAL *dlogits, int32_t layer, REAL *out);        \
    const REAL *N##_state(const N *net, const N##_work *w, int32_t layer)

GEODEC_NET_DECLARE(float, geodec_net_f32);
GEODEC_NET_DECLARE(double, geodec_net_f64);

#endif
