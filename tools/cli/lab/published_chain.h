/* The stages of the geometric chain as the published harness computes them: the part of geodec-published that
 * works on artifacts. c->args[0] is the name of the stage. */
#ifndef GEODEC_TOOLS_CLI_PUBLISHED_CHAIN_H
#define GEODEC_TOOLS_CLI_PUBLISHED_CHAIN_H

#include "cli/cli.h"

/* 0, or -1 where 0 has a meaning: the default of the stage. */
typedef struct published_chain {
    const char *output, *draws;
    int64_t dim, sample, neighbours, paths, steps, midpoints, control;
    double ridge, clip_min, clip_max, sigma, h, dl;
    bool tensors;
} published_chain;

geodec_status published_metric(const cli *c, const published_chain *o, geodec_err *err) GEODEC_MUST_USE;
geodec_status published_christoffel(const cli *c, const published_chain *o, geodec_err *err) GEODEC_MUST_USE;
geodec_status published_geodesic(const cli *c, const published_chain *o, geodec_err *err) GEODEC_MUST_USE;
geodec_status published_riemann(const cli *c, const published_chain *o, geodec_err *err) GEODEC_MUST_USE;
geodec_status published_propagate(const cli *c, const published_chain *o, geodec_err *err) GEODEC_MUST_USE;

#endif
