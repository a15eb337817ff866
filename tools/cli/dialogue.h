/* A conversation on standard input and output: a line is a turn, the reply is written as it is made. The cache and what
 * the drafter has seen stay from turn to turn, so each turn forwards its new tokens only. */
#ifndef GEODEC_TOOLS_CLI_DIALOGUE_H
#define GEODEC_TOOLS_CLI_DIALOGUE_H

#include "cli/cli.h"
#include "decode/loop.h"
#include "tokenizer/chat.h"

typedef struct dialogue {
    const cli *cli;
    const geodec_tokenizer *tokenizer;
    const geodec_target *target;
    const geodec_target *plain; /* another one of the same model: every reply is compared with its plain decoding of the
                                   same tokens; NULL = no comparison */
    geodec_drafter *drafter;
    const geodec_decode_options *options;
    const geodec_chat_template *chat; /* NULL: lines are appended to one text, each on a line of its own */
    const char *system, *stop_text;   /* NULL = none */
} dialogue;

/* Until the input ends or /quit; /reset begins anew. On a terminal an interrupt ends the turn: what was written stays
 * part of the conversation. A message that the context has no room for is not taken, with a note on standard error.
 * GEODEC_CHECK: a reply differs from plain decoding. */
geodec_status dialogue_run(const dialogue *d, geodec_err *err) GEODEC_MUST_USE;

#endif
