/* The options of a world of the same sizes as a cloud of data.
 *
 * From the cloud: the number of points, the width D of its states, the texts (sequence and position of every point),
 * the dimension n = k_int (unless given), and with m the dimension of the space that the set lies in, lambda_i the
 * eigenvalues of the states and K the number of components that the cloud kept:
 *
 *   noise     in the m directions of the set: s^2 = mean of lambda_i, i > K (Tipping, Bishop, J. R. Stat. Soc. B 61
 *             (1999) 611: the maximum likelihood of the noise); the last eigenvalue where the cloud kept all
 *             in the other D - m directions: lambda_i, i = m+1 .. D: what the set cannot have becomes Gaussian noise;
 * or, without the rest, s^2 there too. Data whose spectrum is long and whose dimension is small are neither: their set
 * fills many directions, which no isometric set of this list does. The dimension of a world with the rest is that of
 * its noise size      radius such that the variance of the set, all directions together, is sum_(i <= m) lambda_i - m
 * s^2 (at strength 1, uniform sampling). An isometric set has its own division of that variance among directions step
 * root of the mean square step of the data in its first m coordinates between neighbouring positions, less 2 m s^2 of
 * noise; at most half of the piece L; L / 10 where no points are neighbours
 *
 * A Gaussian world has all lambda_i as its variances and no noise. */
#ifndef GEODEC_LAB_WORLDS_LIKE_H
#define GEODEC_LAB_WORLDS_LIKE_H

#include "geodec/cloud.h"
#include "lab/worlds/worlds.h"

/* What was taken from the data; owns what the options borrow. */
typedef struct geodec_world_like {
    double *spectrum;             /* [D] */
    int32_t *sequence, *position; /* [points] */
    double span, total;           /* variance of the data in its first m directions, in all */
    double noise;                 /* s */
    double step;                  /* of the data, before the limit; 0: no points are neighbours */
    bool limited;                 /* the step was limited to L / 2 */
} geodec_world_like;

typedef struct geodec_world_like_options {
    bool keep_n, keep_step; /* n and step are given, not those of the data */
    bool rest;              /* the other directions have the variances of the data; default true */
    double noise;           /* s; negative (the default): that of the data */
} geodec_world_like_options;
geodec_world_like_options geodec_world_like_defaults(void);

/* Sets points, ambient, n, sequence, position, radius (and tube, length, scale, which are given
 * in units of it), spectrum or variance, noise and step. Of the options set, cap, forms,
 * strength and seed are used. The options borrow from *out until geodec_world_like_clear. GEODEC_RANGE (positions do
 * not rise within texts; D too small for the set), GEODEC_NUMERIC (the noise leaves no variance for the set). */
geodec_status geodec_world_like_cloud(const geodec_cloud *c, const geodec_world_like_options *take,
                                      geodec_world_options *o, geodec_world_like *out, geodec_err *err) GEODEC_MUST_USE;
void geodec_world_like_clear(geodec_world_like *l);

#endif
