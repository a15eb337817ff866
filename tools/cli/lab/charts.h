/* Options shared by the experiments that use charts and metrics along texts. */
#ifndef GEODEC_TOOLS_CLI_CHARTS_H
#define GEODEC_TOOLS_CLI_CHARTS_H

#include "cli/stage.h"
#include "lab/harness/charts.h"

#define CHARTS_OPTIONS(o_)                                                                                             \
    OPT_FILE("model", 'm', &(o_).model, "FILE",                                                                        \
             "model as GGUF; adds the Fisher metric of its next token, and the blend"),                                \
        OPT_I64("dim", 'n', &(o_).dim, 1, GEODEC_RBF_MAX_N, "N",                                                       \
                "dimension of the charts (number of principal directions)"),                                           \
        OPT_I64("points", 0, &(o_).points, 32, 1e6, "N", "states of training texts at which the metric is fitted"),    \
        OPT_F64("blend", 0, &(o_).blend, 0, 1, "A", "weight of the Fisher metric's logarithm in the blend"),           \
        OPT_F64("ridge", 0, &(o_).ridge, 0, 1e6, "X", "add X times the mean eigenvalue to the Fisher metric"),         \
        OPT_F64("sigma-nn", 0, &(o_).sigma_nn, 1e-6, 1e6, "X",                                                         \
                "width of the fields, in units of the median distance to the nearest neighbour")

/* Opens the activations as an input of the stage, and the charts of these activations. */
geodec_status stage_charts(cli_stage *stage, const char *activations, geodec_harness_charts *s,
                           geodec_err *err) GEODEC_MUST_USE;

#endif
