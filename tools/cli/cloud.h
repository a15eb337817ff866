/* --dim of tools that work in the first principal coordinates of a cloud. */
#ifndef GEODEC_TOOLS_CLI_CLOUD_H
#define GEODEC_TOOLS_CLI_CLOUD_H

#include "chain/cloud.h"
#include "cli/cli.h"

#define CLI_CLOUD_DIM_OPTION(var)                                                                                      \
    OPT_I64("dim", 'n', &(var), 0, GEODEC_RBF_MAX_N, "N",                                                              \
            "use the first N principal coordinates (0: the cloud's intrinsic dimension, 2 to 12)")

/* Says the space of a stage: how many coordinates of the cloud it works in, and their share of the variance. *n:
 * `asked`, or `otherwise` if `asked` is 0. GEODEC_RANGE if the cloud c->args[0] has fewer coordinates. */
geodec_status cloud_dim(const cli *c, const geodec_cloud *cloud, int64_t asked, int64_t otherwise, int64_t *n,
                        geodec_err *err) GEODEC_MUST_USE;

/* The lines of a cloud's summary: its points and rows of extreme norm; TwoNN, of the states and of the kept
 * coordinates, each with its control; where these disagree, a warning. */
void cloud_say_points(const cli *c, int64_t layer, const geodec_cloud_summary *s);
void cloud_say_twonn(const cli *c, const geodec_cloud_summary *s);

#endif
