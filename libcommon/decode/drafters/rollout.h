/* The geodesic rollout as a drafter, and the inputs of its ablations.
 *
 * A state z (drafters/step.h) moves with a velocity that is known before the next token: that of the regression with
 * the newest token, z_n = A z_(n-1) + c_x; that of the blind regression; or the last step, z_(n-1) - z_(n-2). Over one
 * unit of time it follows a straight line (Gamma = 0), the geodesic of a fitted metric, or the path under a random
 * symmetric tensor of the same norm at every point. The metric is the log-Euclidean field through inverse local
 * covariances (chain/metric.h) at states of the fit, in the leading coordinates; the other coordinates follow the
 * straight line. A geodesic that diverges is replaced by the straight line.
 *
 * Readout: with s = mean + U^T z the final norm and the head are linear in z, logit_t = w_t . z + b_t, exact up to the
 * omitted coordinates, over a shortlist of the most frequent labels. Confidence: shrink_t softmax(beta_t logits), t =
 * 0, 1, 2, 3+ drafts after the last state. Both factors are fitted on separate texts: beta_t minimises the
 * cross-entropy, and shrink_t (at most 1) makes the mean confidence of the first candidates equal to their accuracy. */
#ifndef GEODEC_DRAFTERS_ROLLOUT_H
#define GEODEC_DRAFTERS_ROLLOUT_H

#include "base/hooks.h"
#include "decode/drafter.h"
#include "drafters/step.h"
#include "geometry/rbf.h"

extern const geodec_kind geodec_rollout_kind;

enum { GEODEC_ROLLOUT_DEPTHS = 4, GEODEC_ROLLOUT_WORDS_MAX = 1 << 16 };

typedef enum geodec_rollout_velocity {
    GEODEC_ROLLOUT_TOKEN,   /* regression on the state and the newest token */
    GEODEC_ROLLOUT_BLIND,   /* on the state alone */
    GEODEC_ROLLOUT_PREVIOUS /* the last step */
} geodec_rollout_velocity;
typedef enum geodec_rollout_connection {
    GEODEC_ROLLOUT_FLAT,
    GEODEC_ROLLOUT_FITTED,
    GEODEC_ROLLOUT_RANDOM,
    GEODEC_ROLLOUT_CONNECTIONS
} geodec_rollout_connection;

typedef struct geodec_rollout_trust {
    float beta[GEODEC_ROLLOUT_DEPTHS], shrink[GEODEC_ROLLOUT_DEPTHS];
} geodec_rollout_trust;

typedef struct geodec_rollout {
    geodec_step step, blind; /* blind: for the ablation, not in the file (its arrays NULL after reading) */
    int64_t words;
    int32_t *word;        /* [words] shortlist, most frequent first */
    float *weight, *bias; /* [words][k], [words] */
    double covered;       /* share of labels in the shortlist */
    int64_t sites, dims;  /* of the field; dims: number of leading coordinates */
    double *site, *log_g; /* [sites][dims], [sites][dims(dims+1)/2] */
    double sigma;
    uint64_t seed;                                          /* seed of the random tensor */
    geodec_rollout_trust trust[GEODEC_ROLLOUT_CONNECTIONS]; /* for the velocity GEODEC_ROLLOUT_TOKEN */
    /* Computed by bake and read. */
    geodec_rbf *field;
    double *tensor; /* [dims][dims][dims] symmetric in the first two, norm 1 */
} geodec_rollout;

typedef struct geodec_rollout_options {
    geodec_step_options step; /* k: default 64 */
    int64_t words;            /* length of the shortlist; default 4096 */
    int64_t dims, sites;      /* of the field; default 8, 300 */
    int64_t calibration;      /* most places of each calibration; default 600 */
} geodec_rollout_options;
geodec_rollout_options geodec_rollout_defaults(void);

/* Rows of the head, scaled by the weight of the final norm: w [count][d] of these tokens (session/embeddings.h). */
typedef geodec_status (*geodec_rollout_head)(void *ctx, int64_t first, int64_t count, float *w, geodec_err *err);

/* rows: as for geodec_step_fit, may be NULL. GEODEC_RANGE: options; GEODEC_NUMERIC; GEODEC_INTERRUPTED. */
geodec_status geodec_rollout_bake(const geodec_activations *a, const geodec_rollout_options *o,
                                  geodec_rollout_head head, void *ctx, geodec_pool *pool, const geodec_hooks *hooks,
                                  geodec_rollout *out, geodec_step_rows *rows, geodec_err *err) GEODEC_MUST_USE;
void geodec_rollout_clear(geodec_rollout *r);

/* Position of z [k] after one unit of time, after [k]; before [k] is the state before z; it may be NULL except for
 * PREVIOUS. Returns 0 = unknown token or no previous state (after is unchanged), 1 = done, 2 = the geodesic diverged
 * and the straight line was used. */
int geodec_rollout_next(const geodec_rollout *r, geodec_rollout_velocity v, geodec_rollout_connection c,
                        const float *before, const float *z, int32_t token, float *after);
/* Logits [words] at z. */
void geodec_rollout_logits(const geodec_rollout *r, const float *z, float *logit);
/* Calibrates a velocity and a connection on at most o->calibration places of the calibration texts. */
geodec_status geodec_rollout_calibrate(const geodec_rollout *r, const geodec_step_rows *rows,
                                       const geodec_rollout_options *o, geodec_rollout_velocity v,
                                       geodec_rollout_connection c, geodec_rollout_trust *out,
                                       geodec_err *err) GEODEC_MUST_USE;

/* An artifact of geodec_rollout_kind, which geodec_rollout_ablation_write fills. */
geodec_status geodec_rollout_read(const geodec_artifact *in, geodec_rollout *out, geodec_err *err) GEODEC_MUST_USE;

/* ---- the drafter ------------------------------------------------------------------------------------------------ */

/* Takes one step along the velocity from the state before the newest token, and again at every node of a tree; the
 * candidates come from the readout there. name: a constant string. The rollout is borrowed, trust is copied. Sources:
 * the number of drafts after the last state: "1", "2", "3", "4+". */
geodec_status geodec_rollout_drafter_create(const geodec_rollout *r, const char *name, geodec_rollout_velocity v,
                                            geodec_rollout_connection c, const geodec_rollout_trust *trust,
                                            geodec_drafter **out, geodec_err *err) GEODEC_MUST_USE;
/* Number of steps taken, and of those whose geodesic diverged, since the drafter was created. */
void geodec_rollout_drafter_steps(const geodec_drafter *d, int64_t *steps, int64_t *broken);

#endif
