/* --mode correct|ref of a stage with two computations: the correct one, and the one of the published harness, with the
 * random draws of the published run. */
#ifndef GEODEC_TOOLS_CLI_MODE_H
#define GEODEC_TOOLS_CLI_MODE_H

#include "cli/cli.h"

#define CLI_MODE_OPTION(var)                                                                                           \
    OPT_CHOICE("mode", 0, &(var), "correct|ref", "MODE",                                                               \
               "ref: repeat the computation of the published harness with the random draws of --draws")
#define CLI_DRAWS_OPTION(var)                                                                                          \
    OPT_FILE("draws", 0, &(var), "FILE.h5",                                                                            \
             "HDF5 file with the points and random draws of the published run (with --mode ref)")

typedef struct cli_modes {
    cli_run ref, correct;
    int least;           /* smallest number of positional arguments of the mode correct; --mode ref takes none */
    const char *missing; /* message if there are fewer */
    const char *inputs;  /* name of these arguments in messages */
    const char *option;  /* option that --mode ref needs; NULL = draws */
} cli_modes;

/* Checks that --mode, --draws (NULL = not given) and the arguments are compatible. divided: --shard or --joined is
 * given, which --mode ref does not allow. GEODEC_INVAL if they are not. */
geodec_status cli_check_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                             bool *ref, geodec_err *err) GEODEC_MUST_USE;
/* Checks the options and runs the selected mode. */
geodec_status cli_run_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                           geodec_err *err) GEODEC_MUST_USE;

#endif
