/* --shard i/m of every sweep. It is part of the canonical command line, so that a part names its slice; geodec-merge
 * removes it (artifact/merge.h).
 *
 *     static const char *shard;                             options: CLI_SHARD_OPTION(shard, "paths"),
 *     GEODEC_TRY(geodec_shard_parse(shard, &o.shard, err)); run:     o.shard goes to the stage, which takes its range
 */
#ifndef GEODEC_TOOLS_CLI_SHARD_H
#define GEODEC_TOOLS_CLI_SHARD_H

#include "base/shard.h"
#include "cli/cli.h"

#define CLI_SHARD_OPTION(var, items)                                                                                   \
    OPT_STR("shard", 0, &(var), "I/M", "compute only slice I of M of the " items "; geodec-merge joins the parts")

#endif
