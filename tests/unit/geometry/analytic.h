/* The spaces of golden/ott/analytic.h5, whichever are there, and a fixed list of them for tests without goldens. */
#ifndef GEODEC_TESTS_ANALYTIC_H
#define GEODEC_TESTS_ANALYTIC_H

#include "geometry/space_closed.h"
#include "support/support.h"

#include <stdbool.h>

enum { ANALYTIC_SPACES = 9, ANALYTIC_MAX = 64 };
typedef struct analytic_space {
    char group[TEST_H5_NAME];
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
/* Path of analytic.h5 and one entry for every group of it that is a space; NULL (after a SKIP) when there is no such
 * file. A group that is not recognised fails the test. */
const char *analytic_load(analytic_space list[ANALYTIC_MAX], int *count);
/* Dataset /group/name. */
double *analytic_read(const char *file, const char *group, const char *name, int64_t shape[8]);

#endif
