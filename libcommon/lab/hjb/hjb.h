/* Residuals of the geodesic equation (shf/residual.h) over classes of trajectories.
 *
 *     geodesic   of the metric itself, from points of the cloud towards their nearest neighbours: the residual is
 *                zero up to the step; its order (4) is measured by halving the step
 *     walk       over the four nearest neighbours: moves within the cloud
 *     straight   lines of the chart between two points: no second difference, the residual is the connection alone
 *     text       consecutive states of one sequence: the quantity of interest
 *     shuffled   the same windows with their states in random order: the control of `text`
 *     layers     the states of one token layer by layer, where activations hold at least three
 *
 * For each class: mean squares per node, in the chart's units; turn = sqrt(sum |r|_g^2 / sum |Dc s|_g^2), free of the
 * steps' length; explained = 1 - sum |r|_g^2 / sum |D2 s|_g^2, the share of the second differences that the connection
 * explains (1 for a geodesic, 0 or below where it explains nothing); and the same ratio for the Jacobi equation of
 * neighbouring trajectories. A null cloud is another metric. Trajectories are sampled by number from the seed. */
#ifndef GEODEC_LAB_HJB_HJB_H
#define GEODEC_LAB_HJB_HJB_H

#include "artifact/artifact.h"
#include "artifact/sweep.h"
#include "base/hooks.h"
#include "base/pool.h"
#include "chain/activations.h"
#include "linalg/stats.h"
#include "shf/residual.h"

typedef enum geodec_hjb_class {
    GEODEC_HJB_GEODESIC,
    GEODEC_HJB_WALK,
    GEODEC_HJB_STRAIGHT,
    GEODEC_HJB_TEXT,
    GEODEC_HJB_SHUFFLED,
    GEODEC_HJB_LAYERS,
    GEODEC_HJB_CLASSES
} geodec_hjb_class;
extern const char *const geodec_hjb_names[GEODEC_HJB_CLASSES]; /* "geodesic", .. by number */
enum { GEODEC_HJB_STEPS = 3 };

typedef struct geodec_hjb_options {
    int64_t paths;     /* of a class; default 12 */
    int64_t nodes;     /* of a path; default 33 */
    double dl;         /* arc length of a geodesic's step; default 0.05 */
    double shift;      /* distance of a geodesic's neighbour at the start, in arc lengths of a step; default 0.1 */
    int64_t bootstrap; /* replicates over paths; default 1000 */
    uint64_t seed;
    geodec_sweep *sweep; /* paths in slices, which are not summed up; NULL: at once */
} geodec_hjb_options;
geodec_hjb_options geodec_hjb_defaults(void);

/* All zero where there are no paths. */
typedef struct geodec_hjb_row {
    int64_t paths, nodes, left_out;    /* paths outside the chart are left out */
    double total, kinetic, connection; /* means of the squares over nodes and paths */
    geodec_estimate turn, kinetic_turn, explained;
    double jacobi, jacobi_kinetic; /* mean squares, in g */
    geodec_estimate jacobi_explained;
} geodec_hjb_row;

typedef struct geodec_hjb {
    int64_t n;
    geodec_hjb_row row[GEODEC_HJB_CLASSES];
    double dl[GEODEC_HJB_STEPS],
        refined[GEODEC_HJB_STEPS]; /* root mean square of the geodesics' |r| at dl, dl/2, dl/4 */
    double order;                  /* slope of its logarithm; 4 */
} geodec_hjb;
/* The classes of the cloud and the refinement; the rows of text, shuffled and layers when v is there (NULL = no
 * activations): coordinates basis (x - mean), basis [n][d], mean [d]; layer of the model for text and shuffled.
 * GEODEC_SCARCE (fewer than 6 points), GEODEC_RANGE, GEODEC_INTERRUPTED. */
geodec_status geodec_hjb_run(const geodec_space *s, int64_t points, const double *point, const geodec_activations *v,
                             int64_t layer, const double *basis, const double *mean, const geodec_hjb_options *o,
                             geodec_pool *pool, const geodec_hooks *hooks, geodec_hjb *out,
                             geodec_err *err) GEODEC_MUST_USE;

extern const geodec_kind geodec_hjb_kind;

#endif
