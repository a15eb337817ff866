/* --shard i/m and --joined FILE, in one wording for every stage whose tasks are joined before they are summed up
 * (artifact/sweep.h): --shard writes results of a slice, geodec-merge joins them, --joined takes them from there.
 *
 *     static const char *shard, *joined;                        options: CLI_SWEEP_OPTIONS(shard, joined, "facts"),
 *     GEODEC_TRY(sweep_begin(shard, joined, &p, &o.sweep, err));   p: with all its inputs
 *     ...the stage...
 *     GEODEC_TRY(sweep_end(c, o.sweep, &p, output, &written, err));  written: the slice is in the file, nothing more
 *     if (written) goto done;                                        is to be said
 */
#ifndef GEODEC_TOOLS_CLI_SWEEP_H
#define GEODEC_TOOLS_CLI_SWEEP_H

#include "artifact/sweep.h"
#include "cli/cli.h"

#define CLI_SWEEP_OPTIONS(slice, file, tasks)                                                                          \
    {.name = "shard",                                                                                                  \
     .type = CLI_STR,                                                                                                  \
     .target = &(slice),                                                                                               \
     .metavar = "I/M",                                                                                                 \
     .help = "only slice I of M of the " tasks ": their results alone; geodec-merge joins the parts, --joined ends"},  \
    {                                                                                                                  \
        .name = "joined", .type = CLI_STR, .flags = CLI_VOLATILE | CLI_PATH, .target = &(file), .metavar = "FILE.h5",  \
        .help = "take the results of the " tasks " from the joined parts, and write what one run writes"               \
    }

/* *out stays NULL when neither is asked for. GEODEC_INVAL for both. */
geodec_status sweep_begin(const char *shard, const char *joined, const geodec_provenance *p, geodec_sweep **out,
                          geodec_err *err) GEODEC_MUST_USE;
geodec_status sweep_end(const cli *c, const geodec_sweep *s, const geodec_provenance *p, const char *output,
                        bool *written, geodec_err *err) GEODEC_MUST_USE;

#endif
