#include "cli/presets.h"

const cli_preset presets_decode[PRESETS_N] = {
#define X(name_, what, drafter, gamma, gate, attnres, temperature, modes)                                              \
    {.name = name_,                                                                                                    \
     .set = {                                                                                                          \
         {"draft", drafter}, {"gamma", gamma}, {"gate", gate}, {"attnres", attnres}, {"temperature", temperature}}},
    PRESETS(X)
#undef X
};

/* A benchmark has no gate and measures one draft length. */
const cli_preset presets_bench[PRESETS_N] = {
#define X(name_, what, drafter, gamma, gate, attnres, temperature, modes)                                              \
    {.name = name_, .set = {{"drafters", drafter}, {"gammas", gamma}, {"attnres", attnres}, {"modes", modes}}},
    PRESETS(X)
#undef X
};
