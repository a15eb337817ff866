/* Lengths beyond the context that a model was trained for: a warning of every tool that runs one. */
#ifndef GEODEC_TOOLS_CLI_CONTEXT_H
#define GEODEC_TOOLS_CLI_CONTEXT_H

#include "cli/cli.h"
#include "session/model.h"

extern bool context_allow_long;
#define CLI_ALLOW_LONG_OPTION                                                                                          \
    OPT_FLAG("allow-long", 0, &context_allow_long,                                                                     \
             "give no warning about texts longer than the context that the model was trained for",                     \
             .flags = CLI_VOLATILE)

/* Warns, in one line, if `tokens` are more than the model's context length (of its file, with the scaling of its
 * rotations). what: of which the tokens are, in the plural ("windows"). */
void context_check(const cli *c, const geodec_model *m, const char *what, int64_t tokens);

#endif
