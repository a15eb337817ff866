/* --mode correct|ref of a stage with two computations: the correct one, and that of the published harness from its
 * random draws. */
#ifndef GEODEC_TOOLS_CLI_MODE_H
#define GEODEC_TOOLS_CLI_MODE_H

#include "cli/cli.h"

#define CLI_MODE_OPTION(var)                                                                                           \
    OPT_CHOICE("mode", 0, &(var), "correct|ref", "MODE",                                                               \
               "ref: the computation of the published harness, from the draws of --draws")
#define CLI_DRAWS_OPTION(var)                                                                                          \
    OPT_FILE("draws", 0, &(var), "FILE.h5",                                                                            \
             "HDF5 file with the points and random draws of the published run (with --mode ref)")

typedef struct cli_modes {
    cli_run ref, correct;
    int least;           /* positional arguments of the mode correct, at least; --mode ref takes none */
    const char *missing; /* message where there are fewer */
    const char *inputs;  /* word for them in messages */
    const char *option;  /* that --mode ref needs; NULL = draws */
} cli_modes;

/* Checks that the options belong together: the words of --mode and --draws (NULL = not given), and whether the stage is
 * divided by --shard or --joined, which --mode ref does not have. GEODEC_INVAL otherwise. */
geodec_status cli_check_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                             bool *ref, geodec_err *err) GEODEC_MUST_USE;
/* The same, and runs the mode. */
geodec_status cli_run_mode(const cli *c, const cli_modes *m, const char *mode, const char *draws, bool divided,
                           geodec_err *err) GEODEC_MUST_USE;

#endif
