/* The operators of recurrent layers (recurrence/recurrence.h, session/recurrent_internal.h), each as forward, jvp and
 * vjp, in float64. Arrays and tangents as in operators_internal.h; derivatives concern rows first .. n-1 of a sequence,
 * the rows before are constant, and tangents are [k][n - first][...]. */
#ifndef GEODEC_REFERENCE_RECURRENT_OPERATORS_INTERNAL_H
#define GEODEC_REFERENCE_RECURRENT_OPERATORS_INTERNAL_H

#include "base/pool.h"
#include "recurrence/recurrence.h"

/* ---- convolution: y_t = sum over j of w_j * x_(t - taps + 1 + j) + bias, rows before the sequence being zero ------
 */
/* x, y [n][width]; weight [taps][width], bias [width] or NULL. Linear: of tangents that begin at any row it is its own
 * jvp, without the bias. y is not x. */
void geodec__reference_convolve(const geodec_recurrence_shape *s, const float *weight, const float *bias, int64_t n,
                                int64_t k, const double *x, double *y);
void geodec__reference_convolve_vjp(const geodec_recurrence_shape *s, const float *weight, int64_t n, int64_t k,
                                    const double *gy, double *gx);

/* ---- silu: y = x / (1 + exp(-x)) over n values --------------------------------------------------------------------
 */
void geodec__reference_silu(int64_t n, const double *x, double *y);
/* Diagonal: jvp and vjp are the same. */
void geodec__reference_silu_derivative(int64_t n, const double *x, int64_t k, const double *dx, double *dy);

/* ---- unit: y = scale x / max(|x|, eps); rows of d ------------------------------------------------------------------
 */
void geodec__reference_unit(int64_t n, int64_t d, double eps, double scale, const double *x, double *y);
/* dy = scale (dx / s - x (x . dx) / s^3) with s = |x|, or scale dx / eps. Symmetric: jvp and vjp are the same. */
void geodec__reference_unit_derivative(int64_t n, int64_t d, double eps, double scale, const double *x, int64_t k,
                                       const double *dx, double *dy);

/* ---- step: dt = softplus(x + bias), or g = exp(rate dt); rows of d -------------------------------------------------
 */
/* rate [d], or NULL for dt itself. */
void geodec__reference_dt(int64_t n, int64_t d, const float *bias, const float *rate, const double *x, double *y);
/* Diagonal: jvp and vjp are the same. */
void geodec__reference_dt_derivative(int64_t n, int64_t d, const float *bias, const float *rate, const double *x,
                                     int64_t k, const double *dx, double *dy);

/* ---- steps: y [n][d] from g, b [n][heads], v [n][d], k, q [n][keys][r], the state before them being zero -----------
 */
typedef struct geodec__ref_steps {
    geodec_recurrence_shape shape;
    int64_t n, first;
    const double *g, *b, *v, *k, *q; /* the point; b with DELTA only */
    const float *a;                  /* [d][stride] with SCAN */
} geodec__ref_steps;
/* Tangents of the same shapes; those of b are not used without DELTA, and may be NULL. */
typedef struct geodec__ref_step_tangents {
    double *g, *b, *v, *k, *q;
} geodec__ref_step_tangents;
geodec_status geodec__reference_steps(geodec_pool *pool, const geodec__ref_steps *s, double *y,
                                      geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_steps_jvp(geodec_pool *pool, const geodec__ref_steps *s, int64_t k,
                                          const geodec__ref_step_tangents *d, double *dy,
                                          geodec_err *err) GEODEC_MUST_USE;
/* Overwrites what d points at. */
geodec_status geodec__reference_steps_vjp(geodec_pool *pool, const geodec__ref_steps *s, int64_t k, const double *gy,
                                          const geodec__ref_step_tangents *d, geodec_err *err) GEODEC_MUST_USE;

#endif
