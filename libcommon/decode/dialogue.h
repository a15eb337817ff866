/* A conversation: a line is a turn, the reply is written as it is made. The cache and what
 * the drafter has seen stay from turn to turn, so each turn forwards its new tokens only. */
#ifndef GEODEC_DECODE_DIALOGUE_H
#define GEODEC_DECODE_DIALOGUE_H

#include "decode/loop.h"
#include "tokenizer/chat.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct geodec_dialogue {
    const geodec_tokenizer *tokenizer;
    const geodec_target *target;
    const geodec_target *plain; /* another one of the same model: every reply is compared with its plain decoding of the
                                   same tokens; NULL = no comparison */
    geodec_drafter *drafter;
    const geodec_decode_options *options;
    const geodec_chat_template *chat; /* NULL: lines are appended to one text, each on a line of its own */
    const char *system, *stop_text;   /* NULL = none */
    FILE *in, *out, *notes;           /* lines; replies; prompts and remarks */
    bool terminal;                    /* `in` is a terminal: remarks say what may be typed */
    bool (*turn_stopped)(void);       /* since it was asked last: the reply ends */
    bool (*stop_asked)(void);         /* the program ends */
    const geodec_hooks *hooks;        /* counts of each turn, at GEODEC_LOG_DEBUG */
} geodec_dialogue;

/* Until the input ends or /quit; /reset begins anew. On a terminal an interrupt ends the turn: what was written stays
 * part of the conversation. A message that the context has no room for is not taken, with a remark.
 * GEODEC_CHECK: a reply differs from plain decoding. */
GEODEC_API geodec_status geodec_dialogue_run(const geodec_dialogue *d, geodec_err *err) GEODEC_MUST_USE;

#endif
