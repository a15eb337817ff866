/* Projection of weights on a few directions of their input (GP or GRC in the papers), W x ~ (W P) (P^T x), and variants
 * with a proven optimum.
 *
 * Slots (q, k, v, o, gate, up, down) of a layer form groups: with `shared`, slots that read the same input (q, k, v;
 * gate, up) form one group; otherwise each slot is its own group. For a group with weights W_s [m_s][d]
 *
 *   weights      G = sum_s W_s^T W_s. Its leading k eigenvectors V_k [k][d] are the basis: in = V_k, out_s = W_s V_k^T.
 *                Shared, the papers' joint Gram basis; for one slot the truncated singular value decomposition, which
 *                no matrix of rank k beats in the Frobenius norm (Eckart and Young 1936).
 *   whitened     with C = E x x^T (input_moments.h) + ridge tr(C)/d I and R = C^(1/2): eigenvectors V_k of R G R,
 *                in = V_k R^-1, out_s = W_s R V_k^T. Least E |W x - W~ x|^2 at rank k (SVD-LLM, Wang et al. 2024).
 *   random       control: k rows of a random orthonormal basis
 *   coordinates  control: the first k coordinates of the input; k = d is W itself, bit for bit
 *
 * The largest entry of each eigenvector is positive. Errors of slot s: error = |W - W~|^2 / |W|^2 (Frobenius), best =
 * the same of the slot's own truncated SVD at that rank, output_error = |(W - W~) C^(1/2)|^2 / |W C^(1/2)|^2. For the
 * bases with orthonormal `in` sum_s |W_s|^2 error_s = trace - captured, energy(k) = captured / trace. */
#ifndef GEODEC_LOWRANK_PROJECTION_H
#define GEODEC_LOWRANK_PROJECTION_H

#include "artifact/artifact.h"
#include "base/hooks.h"
#include "lowrank/input_moments.h"

typedef enum geodec_projection_basis {
    GEODEC_BASIS_WEIGHTS,
    GEODEC_BASIS_WHITENED,
    GEODEC_BASIS_RANDOM,
    GEODEC_BASIS_COORDINATES
} geodec_projection_basis;
const char *geodec_projection_basis_name(geodec_projection_basis b);
extern const char *const geodec_projection_basis_names[]; /* names by number, then NULL */

/* Number of directions that a group keeps, out of d = width of its input; at most d and the rows of its slots.
 *   share    round(share d), the same for all layers
 *   energy   the fewest with captured / trace >= share
 *   layers   the papers' rule: clip(round(share d r_l / mean r), floor d, d), r_l the effective rank (tr G)^2 / tr G^2
 *            of the layer's Gram and the mean over layers of the same slots. (The papers give no formula for their r_l,
 * "MCR"; from the weights alone it varies little.) */
typedef enum geodec_projection_rule {
    GEODEC_RANK_SHARE,
    GEODEC_RANK_ENERGY,
    GEODEC_RANK_LAYERS
} geodec_projection_rule;

typedef struct geodec_projection_options {
    unsigned slots; /* bit s = slot s */
    bool shared;
    geodec_projection_basis basis;
    geodec_projection_rule rule;
    int64_t k;                           /* > 0: this rank instead of share d */
    double share;                        /* 0 .. 1 */
    double floor;                        /* 0 .. 1, for the rule `layers` */
    double ridge;                        /* >= 0 */
    bool half;                           /* factors are stored in binary16, else float32 */
    uint64_t seed;                       /* seed of random bases */
    const geodec_input_moments *moments; /* NULL: no output errors and no whitening */
    geodec_pool *pool;
    const geodec_hooks *hooks;
} geodec_projection_options;
/* q, k and v with one shared basis of the weights at half the width: the configuration of the papers. */
geodec_projection_options geodec_projection_defaults(void);

typedef struct geodec_projection_part {
    int32_t layer;
    geodec_slot slot;
    int64_t group, rows, cols, k;
    int64_t in, out; /* offsets of its factors in `data`: [k][cols] and [rows][k]; slots of a group share `in` */
    double error, best, output_error; /* output_error: NaN without moments */
} geodec_projection_part;

typedef struct geodec_projection_group {
    int64_t k, spectrum;    /* rank; offset of its spectrum */
    int64_t width;          /* values of the spectrum: d */
    double trace, captured; /* of G (whitened: R G R) */
    double energy;          /* captured / trace; 1 where the trace is 0 */
    double effective_rank;  /* (tr)^2 / tr of the square */
} geodec_projection_group;

typedef struct geodec_projection {
    int64_t parts, groups, values, spectra;
    geodec_projection_part *part;   /* [parts] by layer, then slot */
    geodec_projection_group *group; /* [groups] */
    float *data;                    /* [values] factors, as rounded for storage */
    double *spectrum; /* [spectra] eigenvalues of G, descending; for controls v_j G v_j of each direction */
    geodec_projection_basis basis;
    bool shared, half;
    int64_t tokens; /* tokens of C, 0 = none */
    /* bytes of weights that a pass of one token reads, in the model and with this projection; the same for the
     * projected slots only */
    int64_t bytes_full, bytes_projected, slots_full, slots_projected;
    double rho;        /* 1 - bytes_projected / bytes_full */
    double break_even; /* share k / d at which the slots take as many bytes as in the file: b0 M / (b M + b bases d) */
} geodec_projection;
void geodec_projection_clear(geodec_projection *p);

/* Computes the projection of a model that is not factored. The result is the same for any number of threads.
 * GEODEC_RANGE (options), GEODEC_INVAL (whitening without moments of these sides), GEODEC_UNSUPPORTED (experts),
 * GEODEC_NUMERIC, GEODEC_NOCONV, GEODEC_NOMEM. */
geodec_status geodec_projection_fit(const geodec_model *m, const geodec_projection_options *o, geodec_projection *out,
                                    geodec_err *err) GEODEC_MUST_USE;
/* Replaces the model's weights by the factors (geodec_model_factor). */
geodec_status geodec_projection_apply(const geodec_projection *p, geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* The rank of a group by the rule. spectrum [width]: descending; mean_rank: for `layers`. */
int64_t geodec_projection_rank(const geodec_projection_options *o, int64_t width, int64_t most, const double *spectrum,
                               double trace, double effective_rank, double mean_rank);

/* The projection artifact. */
extern const geodec_kind geodec_projection_kind;
geodec_status geodec_projection_write(const geodec_projection *p, geodec_artifact *a, geodec_err *err) GEODEC_MUST_USE;
/* Opens, reads and applies the artifact. */
geodec_status geodec_projection_load(const char *path, geodec_model *m, geodec_err *err) GEODEC_MUST_USE;

/* Logs the mean figures of each slot over the layers. */
void geodec_projection_say(const geodec_hooks *hooks, const geodec_projection *p);

#endif
