/* --shard i/m and --joined FILE of every stage that joins the results of its tasks before it summarises them
 * (artifact/sweep.h): --shard writes the results of a slice, geodec-merge joins them, --joined reads them.
 *
 *     static const char *shard, *joined;                           options: CLI_SWEEP_OPTIONS(shard, joined, "facts"),
 *     GEODEC_TRY(stage_sweep(&stage, shard, joined, &o.sweep, err));  after all inputs
 *     ...the work...
 *     GEODEC_TRY(stage_part(&stage, &part, err));                  part: the slice is written, and the run ends
 *     if (part) goto done;
 */
#ifndef GEODEC_TOOLS_CLI_SWEEP_H
#define GEODEC_TOOLS_CLI_SWEEP_H

#include "cli/stage.h"

#define CLI_SWEEP_OPTIONS(slice, file, tasks)                                                                          \
    OPT_STR("shard", 0, &(slice), "I/M",                                                                               \
            "compute and write only slice I of M of the " tasks                                                        \
            "; geodec-merge joins the parts, and --joined finishes the run"),                                          \
        OPT_FILE("joined", 0, &(file), "FILE.h5",                                                                      \
                 "read the results of the " tasks " from the joined parts, and finish the run", .flags = CLI_VOLATILE)

/* As stage_sweep, for a tool with --mpi, whose ranks (comm, NULL: none) divide the tasks. */
geodec_status stage_sweep_ranks(cli_stage *stage, const char *shard, const char *joined, geodec_comm *comm,
                                geodec_sweep **out, geodec_err *err) GEODEC_MUST_USE;
/* *out is NULL if neither option is given; stage_end closes it. GEODEC_INVAL if both are given. */
geodec_status stage_sweep(cli_stage *stage, const char *shard, const char *joined, geodec_sweep **out,
                          geodec_err *err) GEODEC_MUST_USE;
geodec_status stage_part(cli_stage *stage, bool *written, geodec_err *err) GEODEC_MUST_USE;

#endif
