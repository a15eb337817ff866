/* Exponential integrators for the linear equation Y' = A(t) Y (Magnus 1954; Blanes, Casas, Oteo, Ros, Phys. Rep. 470
 * (2009) 151, here BCOR).
 *
 * With the Gauss nodes of a step of length h and, for three nodes (A1, A2, A3 at 1/2 - r, 1/2, 1/2 + r, r =
 * sqrt(15)/10), a1 = h A2,  a2 = sqrt(15)/3 h (A3 - A1),  a3 = 10/3 h (A3 - 2 A2 + A1), A(t) is replaced by its
 * quadratic interpolant (a1 + a2 s + a3 s^2) / h, s = (t - t_mid) / h.
 *
 *   scheme      propagator of a step                                                        order
 *   TAYLOR3     I + hA + (hA)^2/2 + (hA)^3/6 with A the mean of the two end points            2
 *               (the reference's rule, kept for comparison; not unimodular)
 *   MIDPOINT    expm(h A(mid))                                                               2
 *   MAGNUS3     expm(Omega_1 + Omega_2 + Omega_3), each integral exact for the interpolant:   4
 *                 Omega_1 = a1 + a3/12
 *                 Omega_2 = -1/12 [a1,a2] + 1/240 [a2,a3]
 *                 Omega_3 = 1/360 [a1,[a1,a3]] - 1/240 [a2,[a1,a2]] + 1/6720 [a2,[a2,a3]] + 1/6048 [a3,[a1,a3]]
 *               The name counts terms of the series, not the order: Omega_4 begins with
 *               1/720 [a1,[a1,[a1,a2]]] = O(h^5), so leaving it out costs order 4, with a smaller constant than
 *               MAGNUS4 where [a1,[a1,a2]] is small.
 *   MAGNUS4     expm(h/2 (A1 + A2) - sqrt(3)/12 h^2 [A1, A2]), two Gauss nodes                4
 *   CF4         expm(h (a A1 + b A2)) expm(h (b A1 + a A2)), a = 1/4 - sqrt(3)/6,             4
 *               b = 1/4 + sqrt(3)/6, two Gauss nodes; the right factor acts first
 *   MAGNUS6     BCOR eq. 251: three Gauss nodes, terms of Omega_4 kept, commutators nested    6
 *
 * A step's series converges when the integral of |A|_2 over it is below pi (BCOR sec. 2.7.2). */
#ifndef GEODEC_GEOMETRY_MAGNUS_H
#define GEODEC_GEOMETRY_MAGNUS_H

#include "base/err.h"
#include "geodec/geodesic.h"

#include <stdbool.h>
#include <stdint.h>

#define GEODEC__MAGNUS_CHOICE(NAME, name, order, nodes, text) "|" #name
#define GEODEC__MAGNUS_LINE(NAME, name, order, nodes, text) "  " #name ": order " #order ", " text "\n"
/* String constants: the names, separated by '|'; a line for each. */
#define GEODEC_MAGNUS_CHOICES (&(GEODEC_MAGNUS_TABLE(GEODEC__MAGNUS_CHOICE))[1])
#define GEODEC_MAGNUS_LINES GEODEC_MAGNUS_TABLE(GEODEC__MAGNUS_LINE)

enum { GEODEC_MAGNUS_NODES_MAX = 3 };

/* Name in the table; "?" otherwise. */
const char *geodec_magnus_name(geodec_magnus_scheme scheme);
/* The description of a scheme. */
const char *geodec_magnus_text(geodec_magnus_scheme scheme);
/* The scheme of that name: GEODEC_NOTFOUND when there is none. */
geodec_status geodec_magnus_find(const char *name, geodec_magnus_scheme *scheme, geodec_err *err) GEODEC_MUST_USE;
/* Order of the global error for smooth A. */
int geodec_magnus_order(geodec_magnus_scheme scheme);
/* Nodes of a step as fractions of h in [0,1], ascending; returns their number. */
int geodec_magnus_nodes(geodec_magnus_scheme scheme, double c[GEODEC_MAGNUS_NODES_MAX]);

/* Doubles of scratch for geodec_magnus_step at matrix size m. */
int64_t geodec_magnus_scratch(int64_t m);
/* Propagator of one step: a [nodes][m][m] holds A at the scheme's nodes, e [m][m] = Y(t + h) Y(t)^-1.
 * GEODEC_NUMERIC when a is not finite or the exponential overflows. */
geodec_status geodec_magnus_step(geodec_magnus_scheme scheme, int64_t m, const double *a, double h, double *e,
                                 double *scratch, geodec_err *err) GEODEC_MUST_USE;

#endif
