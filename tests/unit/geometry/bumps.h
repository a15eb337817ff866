/* A metric with no symmetry at all: g = I/2 + sum_m w_m q_m q_m^T, w_m = exp(-|x - c_m|^2); dGamma by differences. */
#ifndef GEODEC_TESTS_BUMPS_H
#define GEODEC_TESTS_BUMPS_H

#include "geometry/space.h"

enum { BUMPS_N = 4, BUMPS_COUNT = 3 };
typedef struct bumps {
    geodec_space base;
    double c[BUMPS_COUNT][BUMPS_N], q[BUMPS_COUNT][BUMPS_N];
    double spoil; /* adds spoil * x_0 to Gamma^1_00: no longer the connection of g */
} bumps;

bumps bumps_make(uint64_t seed);

#endif
