/* A set of dimension n near points of R^d, as an atlas of local quadratic fits (quadratic.h) that are made where they
 * are asked for. No coordinates are common to the set, so it may be closed, or lie in any number of directions.
 *
 *     chart     the fit at a place: its k + 1 exact nearest points, the radius the distance of the last one
 *     k         given, or GEODEC_ATLAS_FACTOR points for each coefficient of a fit
 *     geodesics the equation of the graph's metric, integrated on the chart at hand. Where they are `reach` of its
 *               extent from its centre, place and velocity go through the surrounding space to a chart made there: the
 *               nearest point of its graph, and the velocity's tangential part at its old length
 *     leaving   a chart made on the way, at a place beyond the edge of the points. There the mean of the neighbours'
 * coordinates, in extents, is above that of uniform points on one side of a plane through the place, with the weights
 * of a fit: n (n + 2) / ((n + 1) (n + 3)) Gamma(n/2) / (sqrt(pi) Gamma((n + 1)/2))
 *
 * Points of one text can be left out of the charts, so that nothing is predicted from its own text. Everything is a
 * function of the points. An atlas holds no memory of its own, and threads may share it. */
#ifndef GEODEC_GEOMETRY_ATLAS_H
#define GEODEC_GEOMETRY_ATLAS_H

#include "geometry/quadratic.h"

enum { GEODEC_ATLAS_FACTOR = 4, GEODEC_ATLAS_NONE = -1 /* no text left out */ };

typedef struct geodec_atlas {
    int32_t n;
    int64_t points, d;
    const double *x;      /* [points][d], borrowed */
    const int32_t *text;  /* [points], borrowed, or NULL */
    int64_t neighbours;   /* k */
    double reach;         /* share of a chart's extent; default 0.5 */
    double rtol;          /* of the geodesics; default 1e-6 */
    double edge;          /* largest offset inside the set */
    const int64_t *other; /* [points], or NULL. Control: a chart whose nearest point is i has the tangent space of its
                           * place, and the normal part of the second fundamental form at point other[i] */
} geodec_atlas;

/* k = neighbours, 0: by the rule. GEODEC_RANGE (n, d, k), GEODEC_SCARCE (not more than k points). */
geodec_status geodec_atlas_init(geodec_atlas *a, int32_t n, int64_t points, int64_t d, const double *x,
                                const int32_t *text, int64_t neighbours, geodec_err *err) GEODEC_MUST_USE;

typedef struct geodec_atlas_chart {
    geodec_quadratic q;
    geodec_quadratic_space space;
    int64_t nearest; /* point */
    double extent; /* of the points within the tangent space: the radius, or less where their normal parts are large */
    double offset; /* |mean of the points' coordinates| / extent */
    bool inside;   /* offset <= edge: the place does not lie beyond the edge */
} geodec_atlas_chart;

/* Points that are not uniform have larger offsets inside too: raises a->edge to what 95 % of `sample` of the points, in
 * equal distances of their numbers, do not exceed. GEODEC_NUMERIC, GEODEC_NOMEM. */
geodec_status geodec_atlas_edge(geodec_atlas *a, int64_t sample, geodec_err *err) GEODEC_MUST_USE;

/* A chart at place [d] without points of the text `leave`. start [n][d]: a tangent space to start from, or NULL.
 * GEODEC_SCARCE: the points do not determine it. The chart refers to itself: it must not be copied. Time: points d
 * operations at most, and those of a fit. */
geodec_status geodec_atlas_chart_at(const geodec_atlas *a, const double *place, int32_t leave, const double *start,
                                    geodec_atlas_chart *c, geodec_err *err) GEODEC_MUST_USE;
void geodec_atlas_chart_clear(geodec_atlas_chart *c); /* all zero is allowed */

/* t [n] of the nearest point of the graph to y [d], by Gauss and Newton from the tangential coordinates. */
geodec_status geodec_atlas_project(const geodec_atlas_chart *c, const double *y, double *t,
                                   geodec_err *err) GEODEC_MUST_USE;
/* Coordinate velocity u [n] at t [n] of the tangential part of w [d]. */
geodec_status geodec_atlas_velocity(const geodec_atlas_chart *c, const double *t, const double *w, double *u,
                                    geodec_err *err) GEODEC_MUST_USE;
/* The velocity w [n] at t [n] of the geodesic that comes from t0 [n] in one unit, to the third order in the distance:
 * w = s + B(s)/6, s = t - t0, B_a = <A(s,s), A_a(s)>. The second term is at most half of the first in length. */
void geodec_atlas_arrival(const geodec_atlas_chart *c, const double *t0, const double *t, double *w);

/* The share, 0 to 1, of |A(w,w)|^2 that is not the mean of its errors: by it an estimate of A(w,w) is shortened to have
 * the least mean square error (James and Stein's rule, one direction at a time). 0 for w = 0. */
double geodec_atlas_certain(const geodec_atlas_chart *c, const double *w);

typedef enum geodec_atlas_end {
    GEODEC_ATLAS_REACHED, /* all outputs are there */
    GEODEC_ATLAS_LEFT,    /* the points end */
    GEODEC_ATLAS_BROKEN,  /* a chart could not be made, an integration failed, or more than 1000 charts */
} geodec_atlas_end;
typedef struct geodec_atlas_report {
    geodec_atlas_end end;
    int64_t good;   /* outputs obtained */
    int64_t charts; /* made on the way */
} geodec_atlas_report;

/* The geodesic from t [n] with the coordinate velocity v [n] of chart c at the parameters at [count], rising and >= 0:
 * y [count][d], and its velocity w [count][d] or NULL. Charts on the way leave the text `leave` out. What does not
 * reach its end is no error but in the report, and the rest of y and w is untouched. */
geodec_status geodec_atlas_exp(const geodec_atlas *a, const geodec_atlas_chart *c, int32_t leave, const double *t,
                               const double *v, int64_t count, const double *at, double *y, double *w,
                               geodec_atlas_report *report, geodec_err *err) GEODEC_MUST_USE;

#endif
