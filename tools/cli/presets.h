/* The option sets of the papers' runtime, by its names (shared/spec decoding-runtime, 9): one table, from which each
 * tool that has --preset takes its own options. A preset is short for options of the
 * tool. The canonical command line and the report hold these options. An option on the command line has priority over
 * the preset, with a note. */
#ifndef GEODEC_TOOLS_CLI_PRESETS_H
#define GEODEC_TOOLS_CLI_PRESETS_H

#include "cli/cli.h"

/* name, what the papers call it, drafter, draft length, gate, attnres, temperature, modes of a bench; NULL = the tool's
 * default. "Geometry" is the rollout drafter, the draft length is their batch. */
#define PRESETS(X)                                                                                                     \
    X("ott-full", "geometry, OneDecode, AttnRes .35", "onedecode+rollout", NULL, NULL, "damp:0.35", NULL, NULL)        \
    X("ott-speculative", "geometry, batch 2, AttnRes .25", "rollout", "2", NULL, "damp:0.25", NULL, NULL)              \
    X("ott-fast", "geometry, batch 16, threshold .45", "rollout", "16", "0.45", NULL, NULL, NULL)                      \
    X("ott-perfect", "geometry, batch 16, temperature 0", "rollout", "16", NULL, NULL, "0", "greedy")                  \
    X("ott-theorem", "geometry, AttnRes .45, depth attention", "rollout", NULL, NULL,                                  \
      "damp:0.45+depth_attn:0.55:window=16", NULL, NULL)

#define PRESET_NAMES "ott-full, ott-speculative, ott-fast, ott-perfect, ott-theorem"

extern const cli_preset presets_decode[], presets_bench[]; /* [PRESETS_N] */
enum {
#define X(...) +1
    PRESETS_N = 0 PRESETS(X)
#undef X
};

#define CLI_PRESET_OPTION(var)                                                                                         \
    OPT_STR("preset", 0, &(var), "NAME",                                                                               \
            "options of the papers' runtime by its name: " PRESET_NAMES                                                \
            "; it stands for options of this tool, which the report lists, and options given win",                     \
            .flags = CLI_VOLATILE)

#endif
