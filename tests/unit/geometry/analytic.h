/* The spaces of golden/ott/analytic.h5 by name. */
#ifndef GEODEC_TESTS_ANALYTIC_H
#define GEODEC_TESTS_ANALYTIC_H

#include "geometry/spaces.h"

#include <stdbool.h>

enum { ANALYTIC_SPACES = 9 };
typedef struct analytic_space {
    const char *group;
    bool curved; /* of constant curvature in the conformal chart: exact geodesics are stored */
    int64_t n;
    union {
        geodec_space base;
        geodec_space_conformal conformal;
        geodec_space_torus torus;
    } space;
} analytic_space;

/* Fills a with case i of ANALYTIC_SPACES and returns the space (inside a). */
const geodec_space *analytic_case(int i, analytic_space *a);
/* Dataset /group/name. */
double *analytic_read(const char *file, const char *group, const char *name, int64_t shape[8]);

#endif
