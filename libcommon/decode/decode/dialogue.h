/* A conversation: each line of input is a turn, and the reply is written as it is decoded. The cache and the state of
 * the drafter are kept from turn to turn, so each turn forwards only its new tokens. */
#ifndef GEODEC_DECODE_DIALOGUE_H
#define GEODEC_DECODE_DIALOGUE_H

#include "decode/loop.h"
#include "tokenizer/chat.h"

#include <stdbool.h>
#include <stdio.h>

/* What happens when a message finds no room in the context, or a reply none to its end. */
typedef enum geodec_dialogue_full {
    GEODEC_DIALOGUE_DROP, /* with a chat format the oldest turns are dropped as a whole, the system message stays, and
                             room is made for a reply: a quarter of the context, or the longest reply if that is less. A
                             message that does not fit alone, or without a chat format, is refused. Notes say so */
    GEODEC_DIALOGUE_STOP, /* the dialogue ends with GEODEC_LIMIT */
} geodec_dialogue_full;

typedef struct geodec_dialogue {
    const geodec_tokenizer *tokenizer;
    const geodec_target *target;
    const geodec_target *plain; /* another target of the same model: every reply is compared with plain decoding on it;
                                   NULL = no comparison */
    geodec_drafter *drafter;
    const geodec_decode_options *options;
    const geodec_chat_template *chat; /* NULL: lines are appended to one text, each on a line of its own */
    const char *system;               /* NULL = none */
    const char *const *stop;          /* [n_stop] stop texts */
    int n_stop;
    FILE *in, *out, *notes; /* input lines; replies; prompts and messages */
    bool terminal; /* `in` is a terminal, not read before: it loses its buffer, and messages explain the commands */
    bool (*turn_stopped)(void); /* true if an interrupt came since the last call: the reply ends */
    bool (*stop_asked)(void);   /* true: the program ends */
    const geodec_hooks *hooks;  /* log the counts of each turn at GEODEC_LOG_DEBUG */
    geodec_dialogue_full when_full;
    /* NULL: lines are read from `in`. Otherwise this gives the text of a turn, which may have several lines, without
     * its last line end and zero-terminated; *line is from geodec_mem_new and goes to the caller, NULL at the end of
     * the input. GEODEC_INTERRUPTED: the program ends. */
    geodec_status (*read_line)(void *reader, char **line, size_t *n, geodec_err *err);
    void *reader;
} geodec_dialogue;

/* Runs until the input ends or /quit; /reset starts a new conversation. On a terminal an interrupt ends the turn; the
 * part of the reply already written stays in the conversation. GEODEC_CHECK: a reply differs from plain decoding.
 * GEODEC_LIMIT: the context is full, with GEODEC_DIALOGUE_STOP. */
geodec_status geodec_dialogue_run(const geodec_dialogue *d, geodec_err *err) GEODEC_MUST_USE;

#endif
