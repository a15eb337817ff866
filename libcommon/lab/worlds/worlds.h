/* Synthetic worlds in which an effect is present, with its closed form beside: the positive controls. An estimator that
 * finds nothing in the data must first find what is there in a world of the same size, dimensions, noise and sampling.
 *
 * A world is a set of known geometry, points on it, an isometric map into R^D (a seeded random orthogonal map, then
 * nothing else), and Gaussian noise. Sets, with L the geodesic size of the piece, L = radius * cap:
 *
 *   sphere      S^n of the radius R, or the cap of half-angle `cap` (default pi: all of it)
 *   hyperbolic  a piece of H^n of curvature -1/R^2 in R^(2n-1): f = R (a e^-r cos(x_i/a), a e^-r sin(x_i/a), h(r)),
 *               i = 1..n-1, a = 1/sqrt(n-1), h = artanh w - w, w = sqrt(1 - e^-2r): metric R^2 (dr^2 + e^-2r dx^2).
 *               r from 0.5 to 0.5 + cap (default 1), x_i/a once around the circle
 *   product     S^(n-1) of the radius R, or its cap, times an interval of `length` (default 2 L)
 *   torus       torus of revolution, n = 2, radii R > r = tube: K = cos v / (r (R + r cos v)), of both signs
 *   quadratic   graph (u, u^T Q_a u / 2) over the ball |u| <= L of R^n, a = 1..forms: second fundamental form Q_a at 0;
 *               its curvature by the equation of Gauss (do Carmo 1992, ch. 6)
 *   flat        the ball of radius L of an n-plane
 *   field       the ball of radius L of R^n with the conformal metric of field.h, log g = strength times a fixed smooth
 *               random function. It lies flat in R^D: the map is not isometric. Arc lengths are those of the field, the
 *               frame is the Euclidean one
 *   warp        the ball of radius L of R^n with the metric of carry.h, flat, whose geodesic from the first of `fact`
 * along the first axis ends at the third of them: a warp that carries a fact, of length L. It lies flat in R^D as a
 *               field does; strength is the share of the way to the target. Frames are those of the flat coordinates
 *   families    for coverage: rows that have a near one, and rows that have none, without a geometry (curvature NaN, no
 *               frame). A share `strength` of the rows (rounded down to whole families) is in families of `family` rows
 *               within `tube` of each other; any two rows of different families are at least 3/4 radius - tube apart.
 * If c of the N rows are cached at random, the share of the other rows with a cached one within eps, tube <= eps < 3/4
 * radius - tube, has the mean covered / N times geodec_coverage_closed_form(N, family - 1, c) gaussian    the null:
 * independent normal points with the covariance of the points of the set `null_of` in the same world, or with given
 * variances. No curvature (NaN), no frame; texts are only numbered
 *
 * Strength in 0..1 scales the curvature: a sphere, product and hyperbolic piece have the radius R / sqrt(strength) and
 * the same geodesic sizes, a quadratic graph the forms sqrt(strength) Q_a, a torus the metric r^2 dv^2 + (R + strength
 * r cos v)^2 du^2, K = strength cos v / (r (R + strength r cos v)). Strength 0 is the control: flat. (A torus of
 * strength below 1 has no closed profile in R^3; its height, an elliptic integral, is wrapped on a circle: an isometric
 * embedding in R^4. The torus of strength 1 is the one in R^3.)
 *
 * Sampling:
 *   independent  uniform by volume; quadratic, field and warp: uniform in u, density 1 / sqrt(det g(u)) by volume
 *   walk         texts of steps of the arc length `step` along geodesics, the direction an Ornstein-Uhlenbeck process
 * on the unit sphere: d <- unit(rho d + sqrt(1 - rho^2) z), rho = e^-turn, z isotropic normal, E |z|^2 = 1, then
 * carried along geodesic     the next step is exp_x(step w), w = share d + sqrt(1 - share^2) e: d the last step carried
 * along, of unit length, e an isotropic random unit direction. Its mean square length is step^2 for any share; the
 *                coefficient of the next step on the continuation is `share` and that part of its square share^2.
 *                share 1: exact geodesics. share 0: the control, an isotropic random walk. share < 0: steps that turn
 *                back, as those of states that scatter about a mean do: the mean cosine of two steps is the share
 *                where the set is flat over a step
 *   flow         on a whole sphere of odd dimension: as geodesic, with d = J x, J the turn by 90 degrees in the planes
 *                of coordinates (0, 1), (2, 3), ..: the direction is a function of the state. share 1: the next state
 *                is cos(a) x + sin(a) J x, a = step / R, linear in the state, and each text a great circle
 *
 * Texts that recur: a share `recur` of the texts (evenly spread) follow one of `orbits` trajectories, by turns. Such a
 * text has at each position, without noise, the state of that position of its trajectory, so all texts of an orbit have
 * it; the noise of a row is its own. recur 0: the control, each text its own.
 *
 * The start of a text is uniform by volume. On a set without an edge (a whole sphere, a torus) the points of all texts
 * stay uniform. At an edge a step that would leave the piece is made in a fresh isotropic direction; such rows are
 * marked and counted.
 *
 * Everything is a function of the options and the seed alone. Units: lengths in that of `radius`; curvature 1/length^2.
 * Scalar curvature is n (n - 1) K on constant curvature K. */
#ifndef GEODEC_LAB_WORLDS_WORLDS_H
#define GEODEC_LAB_WORLDS_WORLDS_H

#include "artifact/artifact.h"
#include "geodec/space.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum geodec_world_set {
    GEODEC_WORLD_SPHERE,
    GEODEC_WORLD_HYPERBOLIC,
    GEODEC_WORLD_PRODUCT,
    GEODEC_WORLD_TORUS,
    GEODEC_WORLD_QUADRATIC,
    GEODEC_WORLD_FLAT,
    GEODEC_WORLD_FIELD,
    GEODEC_WORLD_WARP,
    GEODEC_WORLD_FAMILIES,
    GEODEC_WORLD_GAUSSIAN,
    GEODEC_WORLD_SETS
} geodec_world_set;
extern const char *const geodec_world_set_names[]; /* "sphere", .. by number, then NULL */

typedef enum geodec_world_sampling {
    GEODEC_WORLD_INDEPENDENT,
    GEODEC_WORLD_WALK,
    GEODEC_WORLD_GEODESIC,
    GEODEC_WORLD_FLOW,
    GEODEC_WORLD_SAMPLINGS
} geodec_world_sampling;
extern const char *const geodec_world_sampling_names[]; /* "independent", "walk", "geodesic", "flow", NULL */

typedef struct geodec_world_options {
    geodec_world_set set;    /* default sphere */
    int32_t n;               /* dimension of the set, 2..64 (torus 2, product 3..64); default 2 */
    int64_t ambient, points; /* D >= the set's own space (geodec_world_natural); default 16, 1000 */
    double radius;           /* R > 0; default 1 */
    double cap;         /* half-angle of the piece, L / R; 0 = the set's default: pi of sphere and product, else 1 */
    double tube;        /* torus: r < R; 0 = R / 2. families: at most R / 4; 0 = R / 100 */
    double length;      /* product; 0 = 2 L */
    int32_t forms;      /* quadratic: number of forms; default n (n + 1) / 2, at most 8, where 0 */
    double amplitude;   /* field: standard deviation of log g at strength 1; default 0.5 */
    double scale;       /* field: length over which it varies (field.h); 0 = L / 2 */
    int32_t family;     /* families: rows of a family; default 4 */
    const double *form; /* [forms][n][n] symmetric, borrowed; NULL: seeded, normal, E (Q_ij)^2 = 1 / (n R^2), i != j */
    geodec_world_set null_of; /* gaussian without `variance`: the set whose covariance it has; default sphere */
    const double *variance;   /* gaussian: [ambient] variances along the axes of the map, borrowed; NULL: of null_of */
    double noise;             /* standard deviation of the noise in each direction of R^D; default 0 */
    const double *spectrum; /* [ambient] variances of the noise along the axes of the map in place of noise^2, borrowed;
                             * the set lies in the first axes. NULL: noise^2 for all */
    geodec_world_sampling sampling; /* default independent */
    int64_t text_length; /* rows of a text; the last one may be shorter; default 32. Independent points: each its own */
    const int32_t *sequence,
        *position;   /* [points] texts of other data in place of text_length, borrowed: rows of a
                      * text together, its positions rising; a gap is walked through. NULL: by text_length */
    double step;     /* arc length; default 0.1 */
    double turn;     /* walk: rate of turning, >= 0; default 0.1 */
    double share;    /* geodesic, flow: -1..1; default 1 */
    double recur;    /* share of the texts that follow an orbit, 0..1; default 0 */
    int32_t orbits;  /* >= 1; default 8 */
    double strength; /* of the curvature, 0..1; default 1 */
    uint64_t seed;   /* default 1 */
} geodec_world_options;
geodec_world_options geodec_world_defaults(void);

/* Of a set with these options (set, n, forms): the dimension m of the space that it lies in: n + 1, 2n - 1, n + 1, 3 (4
 * below strength 1), n + forms, n; gaussian: that of null_of, or ambient. */
int64_t geodec_world_natural(const geodec_world_options *o);

struct geodec__world_shape;
/* All owned. Row i: x = clean + noise, clean = sum_a natural_a basis_a. */
typedef struct geodec_world {
    geodec_world_set set;
    geodec_world_sampling sampling;
    int64_t points, ambient, natural, parameters, texts;
    int32_t n;
    double *x, *clean; /* [points][ambient] */
    double *y;         /* [points][natural] on the set, in its own space */
    double *basis;     /* [natural][ambient] orthonormal rows */
    double *
        parameter; /* [points][parameters] intrinsic ones: chart coordinates, or a unit vector; without a geometry: y */
    double
        *frame; /* [points][n][natural] orthonormal tangent vectors, in the set's own space; NULL without a geometry */
    double *heading; /* [points][n] walk, geodesic, flow: unit direction d at the row, in its frame; else 0 */
    double *advance; /* [points][n] the step to the row from the one before, over `step`: exp(step advance), in the
 frame of the row before; 0 where there is no such step, or it was several (a gap) */
    int32_t *sequence, *position; /* [points] */
    uint8_t *turned;              /* [points] 1 where the step to the row was turned back at an edge */
    uint8_t *covered;             /* [points] families: 1 where the row is in a family */
    int64_t families;             /* their number */
    double *fact;   /* [3][ambient] warp: query, end of its geodesic without the warp, target; NULL otherwise */
    int64_t turns;  /* their number */
    double *scalar; /* [points] scalar curvature, closed form; NaN without a geometry */
    double *sectional_min, *sectional_max; /* [points] over the planes of the frame (all planes, but for quadratic) */
    int32_t family, orbits;
    double amplitude, scale, recur;
    int64_t recurring;                                                    /* texts that follow an orbit */
    double radius, cap, tube, length, noise, step, turn, share, strength; /* as used, defaults filled in; radius: before
                                                                           * strength */
    double noise_variance;                                                /* sum over all directions */
    double set_variance; /* of the clean points, sum over all directions; divisor N - 1 */
    uint64_t seed;
    struct geodec__world_shape *shape;
} geodec_world;

/* GEODEC_RANGE (an option out of range, a step too long for the piece), GEODEC_NUMERIC, GEODEC_NOMEM. Memory: 2 points
 * ambient and points n natural doubles. */
geodec_status geodec_world_make(const geodec_world_options *o, geodec_world *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_world_clear(geodec_world *w); /* all zero is allowed */

/* The point at the arc length s along the geodesic from row i with the unit direction c [n] in the row's frame (NULL:
 * the row's heading): y [ambient] without noise; v [ambient] its unit tangent there, may be NULL. Closed form for
 * sphere, hyperbolic, product and flat; otherwise integrated to 1e-12. It may go beyond the piece, as far as the set
 * goes. GEODEC_NUMERIC (beyond it; no geometry). */
geodec_status geodec_world_geodesic(const geodec_world *w, int64_t i, const double *c, double s, double *y, double *v,
                                    geodec_err *err) GEODEC_MUST_USE;
/* The tangent space of row i: t [n][ambient], orthonormal rows. */
void geodec_world_tangent(const geodec_world *w, int64_t i, double *t);
/* The induced metric in the chart of `parameter`, exact, as a space (for hyperbolic, torus, quadratic, field, warp);
 * NULL for the others. Owned by w. */
const geodec_space *geodec_world_space(const geodec_world *w);

#endif
