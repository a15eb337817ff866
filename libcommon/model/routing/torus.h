/* Routing on a torus: experts have positions on T^3 = [0, 1)^3, and a row goes to the nearest one.
 *
 *     z        = frac(W h + b)                            projection `mod`; frac(u) = u - floor(u), 1 becomes 0
 *     z_a      = atan2(u_a, u'_a) / (2 pi) mod 1          projection `angle`; u = W h + b (3 rows), u' the next 3 rows
 *     d2(z, e) = sum_a min(|z_a - e_a|, 1 - |z_a - e_a|)^2
 *
 * Distances are computed in float32 in the order of the axes, each operation rounded, so that a prefetch and the pass
 * agree bit for bit; ties go to the lowest id. `mod` is discontinuous in h and wraps many times when |W h| is large:
 * routing by it is a hash. `angle` does not depend on the scale of h and is continuous on the circle. */
#ifndef GEODEC_PERSPECTIVE_ROUTING_TORUS_H
#define GEODEC_PERSPECTIVE_ROUTING_TORUS_H

#include <stdint.h>

enum { GEODEC_TORUS_AXES = 3, GEODEC_TORUS_EXPERTS = 4096 };
typedef enum geodec_torus_projection { GEODEC_TORUS_MOD, GEODEC_TORUS_ANGLE } geodec_torus_projection;

/* Rows of the projection: 3 (mod), 6 (angle). */
static inline int64_t geodec_torus_rows(geodec_torus_projection p) { return p == GEODEC_TORUS_ANGLE ? 6 : 3; }

/* Position of the expert id of a lattice of size[0] x size[1] x size[2]: id = (z size[1] + y) size[0] + x is at
 * ((x + .5) / size[0], (y + .5) / size[1], (z + .5) / size[2]). */
void geodec_torus_place(const int32_t size[GEODEC_TORUS_AXES], int32_t id, float position[GEODEC_TORUS_AXES]);
/* z from the raw numbers u (geodec_torus_rows of them), each z in [0, 1). Not-a-number becomes 0. */
void geodec_torus_project(geodec_torus_projection p, const float *u, float z[GEODEC_TORUS_AXES]);
/* Squared distance on the torus. */
float geodec_torus_distance2(const float a[GEODEC_TORUS_AXES], const float b[GEODEC_TORUS_AXES]);

/* Neighbours are the edges of the lattice, by ascending (a, b), a < b: steps of one along an axis, with wrapping (an
 * axis of two has one edge between its two, an axis of one has none). Returns their number; edge [..][2] may be NULL.
 * On 8 x 4 x 4: 384. */
int64_t geodec_torus_edges(const int32_t size[GEODEC_TORUS_AXES], int32_t (*edge)[2]);

#endif
