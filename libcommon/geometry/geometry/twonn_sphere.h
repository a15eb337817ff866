/* TwoNN of uniform points on a sphere, in closed form, and its inverse: the correction of TwoNN for the number of
 * points.
 *
 * TwoNN assumes a constant density out to the second neighbour. In ten dimensions the second neighbour of one of a
 * thousand points is far away, so the estimate is too low. DANCo (Ceruti et al., Pattern Recognition 47 (2014) 2569)
 * compares data with uniform points on spheres; here the comparison needs no sample. The share of the unit sphere S^D
 * within the chord r of a point is u = I_s(D/2, D/2), the incomplete beta function at s = r^2/4. Of n uniform points
 * the shares within the neighbours of one of them are order statistics of n - 1 uniform numbers, hence
 *
 *   E ln(r2/r1) = 1/2 integral (n-1) u (1-u)^(n-2) d ln s,
 *
 * which is 1/D for n to infinity. The corrected dimension is the D of the sphere on which n points have the mean ln mu
 * that was measured. A sphere has no boundary: for data with much boundary (a cube of ten dimensions) the corrected
 * value is still too low, by less than the plain one. */
#ifndef GEODEC_GEOMETRY_TWONN_SPHERE_H
#define GEODEC_GEOMETRY_TWONN_SPHERE_H

#include <stdint.h>

/* The dimension for a mean of ln mu, in 0.01 .. 10000; NaN for a mean outside of that, or n < 3. Relative error below
 * 1e-6. */
double geodec_twonn_sphere_dimension(double mean, int64_t n);

#endif
