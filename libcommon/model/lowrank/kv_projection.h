/* Bases for a key and value cache of low rank (session/lowkv.h), for each layer and group of key heads. W [m][d] is the
 * stack of the key (value) matrices of a group's heads:
 *
 *   weights    W = U S V^T: A = V_r^T, B = U_r S_r. Least |W - B A| at rank r (Eckart and Young 1936).
 *   whitened   with C = E x x^T (input_moments.h) + ridge tr(C)/d I and R = C^(1/2): W R = U S V^T, A = V_r^T R^-1,
 *              B = U_r S_r. Least E |W x - B A x|^2, the error of the cache; the rotation of keys keeps it.
 *   random     control: A = r rows of a random orthonormal basis, B = W A^T
 *
 * The largest entry of each right singular vector is positive. error = |W - B A|^2 / |W|^2, output_error the same of (W
 * - B A) R and W R. */
#ifndef GEODEC_LOWRANK_KV_PROJECTION_H
#define GEODEC_LOWRANK_KV_PROJECTION_H

#include "lowrank/projection.h"
#include "session/lowkv.h"

typedef struct geodec_kv_projection_options {
    geodec_projection_basis basis;       /* weights, whitened or random */
    int32_t group;                       /* key heads of a group; 0 = the largest divisor of their number up to 4 */
    double k_share, v_share;             /* rank / (group head_dim), 0 .. 1; 0 = this side is not projected */
    double ridge;                        /* >= 0 */
    bool half;                           /* the factors are stored in binary16 */
    uint64_t seed;                       /* seed of random bases */
    const geodec_input_moments *moments; /* moments of the stream; NULL: no output errors and no whitening */
} geodec_kv_projection_options;

typedef struct geodec_kv_side {
    int32_t group; /* 0: not projected */
    int64_t rank;
    float *in, *out;              /* as in geodec_kv_factors */
    double *error, *output_error; /* [n_layer] means over groups; output_error NaN without moments */
} geodec_kv_side;

typedef struct geodec_kv_projection {
    int32_t n_layer, n_kv_head, head_dim, d_model;
    geodec_kv_side k, v;
    geodec_projection_basis basis;
    bool half;
    int64_t tokens;                     /* tokens of C, 0 = none */
    int64_t numbers_full, numbers_kept; /* cached per token */
} geodec_kv_projection;
void geodec_kv_projection_clear(geodec_kv_projection *p);

/* GEODEC_RANGE (options), GEODEC_INVAL (whitening without moments), GEODEC_UNSUPPORTED (factored slots),
 * GEODEC_NUMERIC, GEODEC_NOCONV, GEODEC_NOMEM. */
geodec_status geodec_kv_projection_fit(const geodec_model *m, const geodec_kv_projection_options *o,
                                       geodec_kv_projection *out, geodec_err *err) GEODEC_MUST_USE;
geodec_status geodec_kv_projection_apply(const geodec_kv_projection *p, geodec_model *m,
                                         geodec_err *err) GEODEC_MUST_USE;

/* The kvprojection artifact. */
extern const geodec_kind geodec_kv_projection_kind;
geodec_status geodec_kv_projection_write(const geodec_kv_projection *p, geodec_artifact *a,
                                         geodec_err *err) GEODEC_MUST_USE;
/* Opens, reads and applies the artifact. */
geodec_status geodec_kv_projection_load(const char *path, geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

#endif
