/* The option sets of the papers' runtime, under the papers' names. Each tool with --preset
 * takes its own options from this table. The canonical command line and the report contain these options. An option on
 * the command line replaces the value of the preset; a note reports this. */
#ifndef GEODEC_TOOLS_CLI_PRESETS_H
#define GEODEC_TOOLS_CLI_PRESETS_H

#include "cli/cli.h"

/* name, description in the papers, drafter, draft length, gate, attnres, temperature, modes of a benchmark; NULL = the
 * tool's default. In the papers, "geometry" is the rollout drafter and "batch" is the draft length. */
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
            "named set of options of the papers' runtime: " PRESET_NAMES                                               \
            "; the report lists the options; an option given on the command line replaces that of the set",            \
            .flags = CLI_VOLATILE)

#endif
