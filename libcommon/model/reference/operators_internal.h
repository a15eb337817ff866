/* The operators of the reference, each as forward, jvp and vjp, in float64.
 *
 * Arrays are row-major and contiguous; n counts rows (tokens), k tangents or cotangents, stacked as [k][n][...]. jvp
 * maps the tangent of the input to that of the output, vjp the cotangent of the output to that of the input; both
 * overwrite their result and take the forward input (and, where stated, results) at the point. The result of an
 * elementwise or row-wise operator may be its argument. */
#ifndef GEODEC_REFERENCE_OPERATORS_INTERNAL_H
#define GEODEC_REFERENCE_OPERATORS_INTERNAL_H

#include "base/pool.h"
#include "session/weights_internal.h"

/* ---- norm: y = (x - m) r gain + bias, r = 1 / sqrt(mean((x - m)^2) + eps); n rows, d = part; x' = x - m ---------- */
void geodec__reference_norm(int64_t n, const geodec__norm *w, const double *x, double *y);
/* dy = gain (r (dx - mean(dx)) - x' r^3 (x' . dx) / d); without the mean for an RMS norm */
void geodec__reference_norm_jvp(int64_t n, const geodec__norm *w, const double *x, int64_t k, const double *dx,
                                double *dy);
/* gx = g - mean(g), g = r h - x' r^3 (x' . h) / d with h = gain gy; without the mean for an RMS norm */
void geodec__reference_norm_vjp(int64_t n, const geodec__norm *w, const double *x, int64_t k, const double *gy,
                                double *gx);

/* ---- rope: rotation by position; linear, so it is its own jvp, and its vjp the transpose ------------------------- */
typedef struct geodec__ref_angles {
    int64_t n, pairs;      /* positions 0 .. n-1, half of the dimensions that the table rotates */
    double *cosine, *sine; /* [n][pairs], table 0 times the magnitude */
} geodec__ref_angles;
/* table 0 or 1; divisor [pairs] or NULL. */
geodec_status geodec__reference_angles_create(const geodec_model_config *c, int table, const float *divisor, int64_t n,
                                              geodec__ref_angles *out, geodec_err *err) GEODEC_MUST_USE;
void geodec__reference_angles_destroy(geodec__ref_angles *a);
/* In place: x [k][n - first][heads][head_dim] with n = a->n: rows first .. n-1 of k stacked sequences. */
void geodec__reference_rotate(const geodec_model_config *c, const geodec__ref_angles *a, int64_t first, int64_t k,
                              int64_t heads, int64_t dim, bool transpose, double *x);

/* ---- product: matrices of the file ------------------------------------------------------------------------------- */
/* y [n][rows] = x [n][cols] W^T; linear, so it is its own jvp. */
geodec_status geodec__reference_product(geodec_pool *pool, const geodec__matrix *w, int64_t n, const double *x,
                                        double *y, geodec_err *err) GEODEC_MUST_USE;
/* gx [n][cols] = gy [n][rows] W */
geodec_status geodec__reference_product_vjp(geodec_pool *pool, const geodec__matrix *w, int64_t n, const double *gy,
                                            double *gx, geodec_err *err) GEODEC_MUST_USE;
/* One row of the matrix. buffer [cols]. */
void geodec__reference_decode_row(const geodec__matrix *w, int64_t row, float *buffer, double *out);

/* ---- attention: q [n][n_head][head_dim], k, v [n][n_kv_head][head_dim] -> o [n][n_head][head_dim] ---------------- */
typedef struct geodec__ref_attention {
    int64_t n, n_head, n_kv_head, head_dim, window; /* window 0 = all before */
    bool chunks;             /* a window begins at the multiple of it below the row, not window - 1 rows before it */
    int64_t first;           /* derivatives concern rows first .. n-1; earlier rows are constant */
    double scale, cap;       /* cap 0 = none */
    double alibi;            /* exponent of the largest slope; 0 = no slopes */
    const float *sinks;      /* [n_head] scores of a key whose value is zero; NULL = none */
    const double *q, *k, *v; /* the point */
} geodec__ref_attention;
/* The first key that a row sees. */
int64_t geodec__reference_sees_from(const geodec__ref_attention *a, int64_t row);
/* What a score of head h loses for each row of distance (ALiBi: Press et al. 2022). */
double geodec__reference_alibi(const geodec__ref_attention *a, int64_t h);
geodec_status geodec__reference_attend(geodec_pool *pool, const geodec__ref_attention *a, double *o,
                                       geodec_err *err) GEODEC_MUST_USE;
/* Tangents and cotangents are [k][n - first][...]. */
geodec_status geodec__reference_attend_jvp(geodec_pool *pool, const geodec__ref_attention *a, int64_t k,
                                           const double *dq, const double *dk, const double *dv, double *d_o,
                                           geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec__reference_attend_vjp(geodec_pool *pool, const geodec__ref_attention *a, int64_t k,
                                           const double *go, double *gq, double *gk, double *gv,
                                           geodec_err *err) GEODEC_MUST_USE;

/* ---- gated: y = A(gate) B(up) over n values; up NULL: y = A(gate) ------------------------------------------------ */
typedef struct geodec__ref_activation {
    geodec_activation kind;
    const float *constant; /* [4] of xIELU (geodec__layer) */
} geodec__ref_activation;
void geodec__reference_gated(const geodec__ref_activation *a, int64_t n, const double *gate, const double *up,
                             double *y);
void geodec__reference_gated_jvp(const geodec__ref_activation *a, int64_t n, const double *gate, const double *up,
                                 int64_t k, const double *dgate, const double *dup, double *dy);
/* ggate or gup may be gy; gup is not written without up. */
void geodec__reference_gated_vjp(const geodec__ref_activation *a, int64_t n, const double *gate, const double *up,
                                 int64_t k, const double *gy, double *ggate, double *gup);

/* ---- cut: y = max(0, g - c), c = mean(g) + at deviation(g), of n rows (Gaussian top-k) --------------------------- */
/* The deviation is that of a sample, over width - 1. The result may be dg or gy. */
void geodec__reference_cut(int64_t n, int64_t width, double at, const double *g, double *y);
void geodec__reference_cut_jvp(int64_t n, int64_t width, double at, const double *g, int64_t k, const double *dg,
                               double *dy);
void geodec__reference_cut_vjp(int64_t n, int64_t width, double at, const double *g, int64_t k, const double *gy,
                               double *gg);

/* 1 / (1 + exp(-x)) */
double geodec__reference_sigmoid(double x);
/* log(1 + exp(x)) */
double geodec__reference_softplus(double x);

/* ---- router: softmax, choice, weights ---------------------------------------------------------------------------- */
typedef struct geodec__ref_router {
    int64_t n_expert, n_used;
    bool keep;            /* the chosen weights are not divided by their sum */
    bool sigmoid;         /* prob = sigmoid(logits), not their softmax */
    int64_t groups, open; /* groups of experts and how many of them are open to a row; 0: no groups */
    double scale;         /* of the weights */
    const float *factor;  /* [n_expert] of the weights of each; NULL: ones */
    double least;         /* the sum that weights are divided by counts as this at least */
    const float *bias;    /* [n_expert] added to prob for the choice; NULL: none */
} geodec__ref_router;
/* p = softmax(x) over n values; p may be x. */
void geodec__reference_softmax(int64_t n, const double *x, double *p);
/* prob [n][n_expert] from logits (may be the same), id and weight [n][n_used], best first. */
void geodec__reference_route(const geodec__ref_router *r, int64_t n, const double *logits, double *prob, int32_t *id,
                             double *weight);
/* The weights of experts that were chosen otherwise; an id may come twice in a row. */
void geodec__reference_weigh(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                             double *weight);
/* From the point's prob and id: dweight [k][n][n_used] from dlogits [k][n][n_expert]. */
void geodec__reference_route_jvp(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                                 int64_t k, const double *dlogits, double *dweight);
void geodec__reference_route_vjp(const geodec__ref_router *r, int64_t n, const double *prob, const int32_t *id,
                                 int64_t k, const double *gweight, double *glogits);

/* ---- softcap: y = cap tanh(x / cap) over n values ---------------------------------------------------------------- */
void geodec__reference_softcap(double cap, int64_t n, const double *x, double *y);
/* y is the forward result. The derivative is diagonal: jvp and vjp are the same. */
void geodec__reference_softcap_derivative(double cap, int64_t n, const double *y, int64_t k, const double *dx,
                                          double *dy);

/* ---- clamp: y = x within -most .. most, over n values --------------------------------------------------------------
 */
void geodec__reference_clamp(double most, int64_t n, const double *x, double *y);
/* x is the forward argument. The derivative is diagonal. */
void geodec__reference_clamp_derivative(double most, int64_t n, const double *x, int64_t k, const double *dx,
                                        double *dy);

#endif
