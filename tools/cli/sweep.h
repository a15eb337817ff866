/* --shard i/m and --joined FILE, in one wording for every stage whose tasks are joined before they are summed up
 * (artifact/sweep.h): --shard writes results of a slice, geodec-merge joins them, --joined takes them from there.
 *
 *     static const char *shard, *joined;                           options: CLI_SWEEP_OPTIONS(shard, joined, "facts"),
 *     GEODEC_TRY(stage_sweep(&stage, shard, joined, &o.sweep, err));  after all inputs
 *     ...the work...
 *     GEODEC_TRY(stage_part(&stage, &part, err));                  part: the slice is in the file, nothing more is to
 *     if (part) goto done;                                         be said
 */
#ifndef GEODEC_TOOLS_CLI_SWEEP_H
#define GEODEC_TOOLS_CLI_SWEEP_H

#include "cli/stage.h"

#define CLI_SWEEP_OPTIONS(slice, file, tasks)                                                                          \
    OPT_STR("shard", 0, &(slice), "I/M",                                                                               \
            "only slice I of M of the " tasks ": their results alone; geodec-merge joins the parts, --joined ends"),   \
        OPT_FILE("joined", 0, &(file), "FILE.h5",                                                                      \
                 "take the results of the " tasks " from the joined parts, and write the result of one run",           \
                 .flags = CLI_VOLATILE)

/* *out stays NULL when neither is asked for; stage_end closes it. GEODEC_INVAL for both. */
geodec_status stage_sweep(cli_stage *stage, const char *shard, const char *joined, geodec_sweep **out,
                          geodec_err *err) GEODEC_MUST_USE;
geodec_status stage_part(cli_stage *stage, bool *written, geodec_err *err) GEODEC_MUST_USE;

#endif
