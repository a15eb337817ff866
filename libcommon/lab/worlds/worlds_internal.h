/* Internal: the sets of worlds.h. */
#ifndef GEODEC_LAB_WORLDS_WORLDS_INTERNAL_H
#define GEODEC_LAB_WORLDS_WORLDS_INTERNAL_H

#include "base/rng.h"
#include "lab/worlds/carry.h"
#include "lab/worlds/field.h"
#include "lab/worlds/worlds.h"

#include <math.h>

enum { GEODEC__WORLD_N = GEODEC_SPACE_DIM_MAX, GEODEC__WORLD_FORMS = 64, GEODEC__WORLD_NATURAL = 192 };
#define GEODEC__WORLD_PI 3.14159265358979323846

typedef struct geodec__world_shape geodec__world_shape;

/* What a set can do. u [parameters] a point, du [parameters] a tangent vector in the parameters. */
typedef struct geodec__world_ops {
    void (*draw)(const geodec__world_shape *s, geodec_rng *r, double *u);
    bool (*inside)(const geodec__world_shape *s, const double *u);
    void (*embed)(const geodec__world_shape *s, const double *u, double *y);
    void (*push)(const geodec__world_shape *s, const double *u, const double *du, double *dy);
    /* e [n][parameters], orthonormal on the set */
    geodec_status (*frame)(const geodec__world_shape *s, const double *u, double *e, geodec_err *err);
    /* scalar, least and largest sectional curvature; e: the frame */
    void (*curvature)(const geodec__world_shape *s, const double *u, const double *e, double k[3]);
    /* Unit du at u: the geodesic after the arc length t. The outputs may be the inputs. */
    geodec_status (*go)(const geodec__world_shape *s, double *u, double *du, double t, geodec_err *err);
} geodec__world_ops;

struct geodec__world_shape {
    geodec_space space; /* first: the induced metric, of sets with a chart */
    geodec_world_set set;
    const geodec__world_ops *ops;
    int32_t n, parameters, natural, forms;
    double strength, radius; /* radius: R / sqrt(strength), of sets that have one */
    double size;             /* L: geodesic size of the piece */
    double length, tube;
    double height; /* torus: of a period of the wrapped profile */
    geodec_world_field field;
    geodec_world_carry carry;
    double *form; /* [forms][n][n] times sqrt(strength) */
};

extern const geodec__world_ops geodec__world_sphere, geodec__world_product, geodec__world_flat,
    geodec__world_hyperbolic, geodec__world_torus, geodec__world_quadratic, geodec__world_field, geodec__world_warp;

/* The metric of a chart as the space of the shape. */
void geodec__world_chart_init(geodec__world_shape *s);

/* Isotropic vectors of n components: each normal, or of unit length. */
void geodec__world_normals(geodec_rng *r, int64_t n, double *v);
void geodec__world_unit(geodec_rng *r, int64_t n, double *v);
/* Uniform in the ball of radius a. */
void geodec__world_ball(geodec_rng *r, int64_t n, double a, double *v);

/* Of charts: the complete elliptic integral E(k) of the torus' height; the girth of the hyperbolic piece at its wide
 * end. */
double geodec__world_quarter(double k);
double geodec__world_girth(int32_t n, double radius);

/* Fills sequence, position and texts. */
void geodec__world_rows(const geodec_world_options *o, geodec_world *w);
/* And parameter, turned, turns; direction, vector [points][parameters]: the unit direction
 * at each row, and the vector over `step` of the one step from the row before (0 if it was not one), in the parameters.
 */
geodec_status geodec__world_texts(const geodec_world_options *o, const geodec__world_shape *s, geodec_world *w,
                                  double *direction, double *vector, geodec_err *err) GEODEC_MUST_USE;

/* Families: y, parameter, covered, families. */
geodec_status geodec__world_families(const geodec_world_options *o, geodec_world *w, geodec_err *err) GEODEC_MUST_USE;

/* The orthogonal map: `reflections` Householder vectors of a seeded normal matrix (Stewart, SIAM J. Numer. Anal. 17
 * (1980) 403), v [reflections][d]. The images of the first `reflections` axes are uniform among orthonormal frames. */
void geodec__world_map_make(uint64_t seed, int64_t reflections, int64_t d, double *v);
/* x [d] <- Q x. */
void geodec__world_map_apply(int64_t reflections, int64_t d, const double *v, double *x);

#endif
