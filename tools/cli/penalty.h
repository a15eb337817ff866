/* Options of decode/penalty.h. */
#ifndef GEODEC_TOOLS_CLI_PENALTY_H
#define GEODEC_TOOLS_CLI_PENALTY_H

#include "cli/cli.h"
#include "decode/penalty.h"

#define CLI_PENALTY_OPTIONS(o_, biases_)                                                                               \
    OPT_F64("repeat-penalty", 0, &(o_).repeat, 1e-3, 1e3, "X",                                                         \
            "divide the positive logits, and multiply the negative ones, of tokens that occurred; 1: no change"),      \
        OPT_F64("frequency-penalty", 0, &(o_).frequency, -100, 100, "X",                                               \
                "subtract X from the logit of a token for each time that it occurred"),                                \
        OPT_F64("presence-penalty", 0, &(o_).presence, -100, 100, "X",                                                 \
                "subtract X from the logit of a token that occurred"),                                                 \
        OPT_I64("penalty-window", 0, &(o_).window, 0, 1 << 20, "N",                                                    \
                "tokens at the end of the text, prompt included, that the penalties count; 0: the whole text"),        \
        OPT_LIST("logit-bias", 0, &(biases_), "ID=X",                                                                  \
                 "add X to the logit of token ID (-inf: never); may be given several times")

/* Reads the biases. */
geodec_status penalty_biases(const cli_list *list, geodec_penalty_options *o, geodec_err *err) GEODEC_MUST_USE;

#endif
