/* The flow map: a table of a model's own trajectories and their continuations. Drafting a token costs little more than
 * following pointers.
 *
 * Node. A position p >= 1 of a stored text is a node in the bucket of its token x_p. Its key is the state BEFORE that
 * token. Its label a_p is the model's argmax after that token. Its successor is the node reached by the label: position
 * p + 1 of the same text if the text follows the label, otherwise the node of the label's bucket that is nearest to the
 * (known) state at p. A query is (newest token, state before it). The nearest nodes in the newest token's bucket vote
 * on the next token. Their successors, reached by pointer, vote on the tokens after it.
 *
 * State. s = h / sqrt(mean h^2 + 1e-5), the last residual stream scaled as the final norm sees it; z = basis^T s -
 * offset (m principal coordinates); features f = (z, E exponential means of z over the text so far, e <- a e + (1 - a)
 * z, started at the first z), standardised.
 *
 * Charts. The flow at token x is nearly affine: z_p = J_x f_{p-1} + const. A chart of a token is the pull-back of the
 * Euclidean metric of z through that Jacobian: key = W_x f with |key - key'|^2 = |P J_x (f - f')|^2, where P keeps the
 * r principal directions of J_x f within the bucket. Distances in it measure the distance of two contexts after the
 * token. J_x is a ridge regression, shrunk towards the regression pooled over all tokens. Rare tokens use the pooled
 * one (chart 0). Keys and charts are integers of 7 and 8 bits.
 *
 * The map consists of arrays only; using it needs no model. */
#ifndef GEODEC_FLOWMAP_H
#define GEODEC_FLOWMAP_H

#include "geodec/cloud.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    GEODEC_FLOW_DIMS_MAX = 32,   /* coordinates of a key */
    GEODEC_FLOW_DECAYS_MAX = 4,  /* exponential means */
    GEODEC_FLOW_STATE_MAX = 128, /* principal coordinates of a state */
    GEODEC_FLOW_DEPTHS = 4,      /* calibration: 1st, 2nd, 3rd and later drafts */
    GEODEC_FLOW_BINS = 16,       /* calibration: bins of the raw score */
    GEODEC_FLOW_NEAR_MAX = 128,  /* neighbours that vote */
    GEODEC_FLOW_CHOICES = 3,     /* next tokens kept in addition to the label */
};

/* How neighbours vote; stored in the file because the calibration depends on it. */
typedef struct geodec_flowmap_vote {
    int64_t neighbours;  /* nearest nodes of the store; default 32 */
    int64_t own;         /* nearest earlier positions of the text being written; default 8 */
    double own_weight;   /* weight of such a position relative to a stored node at the same distance; default 4 */
    double match_weight; /* weight exp(match_weight l) for l <= 8 equal tokens before a position of the text; default
                            0.1 */
    double bandwidth;    /* Gaussian kernel: variance = bandwidth x squared distance of the rank-th neighbour */
    int64_t rank;
    double ridge;   /* local linear correction: weights w_i (1 + (x_i - mean)^T (S + ridge tr(S)/r I)^-1 (q - mean)) */
    int64_t chains; /* a draft with fewer neighbours left has its bucket searched again; default 16 */
} geodec_flowmap_vote;

/* Experts that the model used at the nodes (route.h); all zero for a dense model and in maps before 1.3. */
enum { GEODEC_ROUTE_BINS = 32, GEODEC_ROUTE_BASES = 2 };

typedef struct geodec_flowmap_routes {
    int64_t layers, experts, used; /* of the model: used experts of a layer */
    int64_t width, bytes;          /* bits of a layer's mask, bytes of a code */
    int64_t entries, lost;         /* of all lists; choices that the codes do not hold */
    int64_t *total;                /* [layers][experts] uses over all nodes */
    int16_t *length;               /* [vocab][layers] entries of a token's list in a layer, at most width */
    int16_t *expert;               /* [entries] the lists, by token and layer, most frequent first */
    int32_t *count;                /* [entries] */
    uint8_t *code;                 /* [nodes][bytes] bit layer * width + rank, the lowest bit of a byte first */
    float *reliability;            /* [BASES][layers][BINS] P(used) by share */
    /* Made when the map is read or baked. */
    int64_t *start; /* [vocab + 1] first entry of a token */
    float *popular; /* [layers][experts] shares of total */
} geodec_flowmap_routes;
typedef struct geodec_flowmap_scan geodec_flowmap_scan; /* keys laid out for the distance kernels */

typedef struct geodec_flowmap {
    int64_t nodes, vocab, d, m, decays, features, dims, charts, sequences; /* features = m (1 + decays) */
    float *basis, *offset;                                                 /* [d][m] orthonormal columns, [m] */
    float *decay;                                                          /* [decays] in 0..1 */
    float *feature_mean, *feature_factor; /* [features]: standardised = (f - mean) factor */
    int32_t *chart_of;                    /* [vocab] 0..charts-1 */
    int8_t *chart;                        /* [charts][features][dims] */
    float *chart_scale, *chart_offset;    /* [charts][dims]: key = round(scale (W f) - offset), cut to -64..63 */
    int64_t *bucket;                      /* [vocab+1] nodes of token t: bucket[t] .. bucket[t+1]-1, in text order */
    int8_t *key;                          /* [nodes][dims] -64..63 */
    int32_t *label, *next;                /* [nodes]; next -1: no successor */
    uint8_t *agreement;   /* [nodes] /255: share of the nearest nodes of other texts that have the same label */
    int32_t *choice;      /* [nodes][CHOICES] the most probable next tokens other than the label, descending; -1 = none.
                             NULL:      not known */
    uint8_t *probability; /* [nodes][1 + CHOICES] /255: probabilities of the label and the choices. NULL if choice is
                             NULL. In sampled texts a node votes with these probabilities */
    int32_t *order;       /* [nodes] node of the i-th position >= 1 in text order */
    int64_t *sequence_start;             /* [sequences+1] into order */
    int32_t *first_token, *first_argmax; /* [sequences] position 0 of each text */
    double explained;                    /* share of the state's variance in z */
    /* Measured when the map was baked, and stored: share of calibration positions at which the map's first choice is
     * the most probable next token, without the position's own text; and the same for labels permuted within their
     * token's bucket. NaN = not measured. Later uses of the map report these values. */
    double consistency, consistency_shuffled;
    bool measured;      /* only in the file: set by geodec_flowmap_write */
    float *reliability; /* [DEPTHS][BINS] P(right) of a child by raw score, ascending within a depth */
    geodec_flowmap_vote vote;
    geodec_flowmap_routes routes;
    /* Made when the map is read or baked. */
    geodec_flowmap_scan *scan;
    char model_fingerprint[65], tokenizer_fingerprint[65];
} geodec_flowmap;

/* The distance between keys. All kinds except LEARNED are controls, with the same number of coordinates and one chart
 * for all tokens. */
typedef enum geodec_flowmap_charts {
    GEODEC_FLOW_LEARNED,   /* the pull-back metric of each token's flow (above) */
    GEODEC_FLOW_EUCLIDEAN, /* Euclidean distance of states: the leading principal coordinates of z, unchanged */
    GEODEC_FLOW_FEATURES,  /* Euclidean distance of features: the principal coordinates of f within buckets */
    GEODEC_FLOW_RANDOM,    /* a random Gaussian projection of f, with a fixed seed */
} geodec_flowmap_charts;

typedef struct geodec_flowmap_options {
    geodec_flowmap_charts charts;
    int64_t dims;       /* coordinates of a key, a multiple of 4 up to 32; default 16 */
    int64_t state_dims; /* most principal coordinates of a state; default 64 */
    int64_t decays;
    double decay[GEODEC_FLOW_DECAYS_MAX]; /* default 0.5, 0.9 */
    double ridge;                         /* on standardised features of one token, in observations; default 30 */
    int64_t chart_bytes; /* limit of the charts' size, in bytes per node; default 12. Rarer tokens share chart 0 */
    int64_t calibration; /* positions the calibration predicts; default 6000 */
    geodec_flowmap_vote vote;
    /* Directions that come first in the state's basis: orthonormal rows [n_directions][d] of a cloud, or NULL. */
    const double *direction;
    int64_t n_directions;
} geodec_flowmap_options;
GEODEC_API geodec_flowmap_options geodec_flowmap_defaults(void);

typedef struct geodec_flowmap_summary {
    int64_t nodes, sequences, charts, followed; /* followed: nodes whose text follows their label */
    double explained;                           /* share of the state's variance in the m coordinates */
    double agreement;        /* mean agreement: share of neighbours in other texts with the same label */
    int64_t calibrated;      /* positions predicted, without their own text */
    double shuffled;         /* control: first-token acceptance of labels permuted within their buckets */
    double first, mean_of_4; /* at these positions: first-token acceptance, and accepted drafts of 4 (drafts beyond the
                                text do not count) */
    double bytes_per_node;   /* every array of the file */
    int64_t route_bytes;     /* bytes of a node's route, 0: the model has no experts */
    double route_lost;       /* share of the choices that the routes do not hold */
} geodec_flowmap_summary;

/* Bakes the map of the last layer (n_layer) of the activations. Memory: 4 features + 150 bytes a node (and 2
 * bytes an expert used), and d^2. The
 * bytes do not depend on the number of threads. GEODEC_NOTFOUND: layer not exported; GEODEC_RANGE: options;
 * GEODEC_FORMAT: rows that do not form texts; GEODEC_NUMERIC: states not finite; GEODEC_SCARCE: fewer than 16 nodes.
 * Clear with geodec_flowmap_clear. */
GEODEC_API geodec_status geodec_flowmap_bake(const geodec_activations *states, const geodec_flowmap_options *o,
                                             geodec_flowmap *out, geodec_flowmap_summary *summary, geodec_pool *pool,
                                             const geodec_hooks *hooks, geodec_err *err) GEODEC_MUST_USE;

/* Fills a new artifact of geodec_flowmap_kind; the caller commits it. */
GEODEC_API geodec_status geodec_flowmap_write(const geodec_flowmap *map, geodec_artifact *out,
                                              geodec_err *err) GEODEC_MUST_USE;

/* Reads a map and checks every index, so that no access is outside the arrays. */
GEODEC_API geodec_status geodec_flowmap_read(const geodec_artifact *a, geodec_flowmap *out,
                                             geodec_err *err) GEODEC_MUST_USE;
GEODEC_API void geodec_flowmap_clear(geodec_flowmap *map);

/* GEODEC_CHECKSUM unless the map was baked from this model and tokenizer (hex digests). */
GEODEC_API geodec_status geodec_flowmap_match(const geodec_flowmap *map, const char *model, const char *tokenizer,
                                              geodec_err *err) GEODEC_MUST_USE;

#endif
