/* A penalty for training that makes residual streams geodesics (the SHF loss of the manuscripts, corrected).
 *
 * The path of a token is its residual stream after each block, s_1 .. s_L, in a chart of n principal directions. With
 * the residual r_l = D2 s_l + Gamma(s_l)(Dc s_l, Dc s_l) of the geodesic equation (shf/residual.h) the penalty
 * of a token is the squared turn of its path,
 *
 *     P = sum_l |r_l|^2 / sum_l |Dc s_l|^2,
 *
 * which is free of unit and cannot be lowered by shorter steps; the derivative is that of the ratio. The manuscripts
 * write a curvature operator in place of the connection, which is zero on every manifold by the antisymmetry of the
 * tensor. Chart and metric are fitted to probe states and held fixed until the next refresh; other measurements show
 * the effect of the penalty on real residuals. The flat kind (Gamma = 0) is the control: a penalty on second
 * differences, which needs no metric. */
#ifndef GEODEC_MODEL_SHF_H
#define GEODEC_MODEL_SHF_H

#include "base/hooks.h"
#include "base/pool.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_shf_options {
    int64_t n;      /* dimension of the chart; default 4 */
    int64_t sites;  /* of the metric field; default 192 */
    int64_t stride; /* one token in so many is penalised, and its value counts for all; default 8 */
    bool flat;      /* Gamma = 0 */
    uint64_t seed;  /* of the choice of sites */
} geodec_shf_options;
geodec_shf_options geodec_shf_defaults(void);

typedef struct geodec_shf geodec_shf;

/* GEODEC_RANGE: n in 1..16, sites > max(2n, 16), stride >= 1. */
geodec_status geodec_shf_create(const geodec_shf_options *o, geodec_shf **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_shf_destroy(geodec_shf *s); /* NULL ok */
/* "shf n=4 sites=192 stride=8 metric|flat seed=1": identifies it. Inside s. */
const char *geodec_shf_recipe(const geodec_shf *s);

/* Fits chart and metric to state [boundaries][rows][d], boundary 0 the embedding; boundaries >= 4. `ctx` is the
 * geodec_shf. GEODEC_RANGE; GEODEC_NUMERIC when too few states differ. */
geodec_status geodec_shf_prepare(void *ctx, int64_t step, int32_t boundaries, int64_t rows, int64_t d,
                                 const float *state, geodec_err *err) GEODEC_MUST_USE;
/* Adds scale times the derivative of the summed penalty to cotangent [boundaries][n_seq len][d]; state[l] [n_seq
 * len][d]; value: the sum over the rows. Thread-safe after prepare; token t of every sequence is penalised when t %
 * stride == stride - 1, with weight stride. */
geodec_status geodec_shf_apply(void *ctx, int32_t boundaries, int64_t n_seq, int64_t len, int64_t d,
                               const float *const *state, double scale, float *cotangent, double *value,
                               geodec_err *err) GEODEC_MUST_USE;

#endif
