/* The table of chat formats. */
#ifndef GEODEC_TOKENIZER_CHAT_INTERNAL_H
#define GEODEC_TOKENIZER_CHAT_INTERNAL_H

#include "tokenizer/chat.h"
#include "tokenizer/jinja.h"

enum { GEODEC__N_ROLES = 3 };

struct geodec_chat_template {
    const char *name;
    const char *begin; /* before everything; NULL = nothing, here and below */
    /* Formats whose user and assistant messages form one turn: the text that opens a turn. The first turn is open after
     * `begin` when open_at_start. An assistant message closes it. */
    const char *turn;
    bool open_at_start;
    const char *before[GEODEC__N_ROLES], *after[GEODEC__N_ROLES]; /* by geodec_chat_role */
    bool trim[GEODEC__N_ROLES];                                   /* strips white space at both ends */
    bool system_with_user; /* no system message: its text and an empty line go before the next user's */
    const char *generation;
    const char *system; /* default when the conversation does not begin with a system message */
    /* A template as files carry it, in place of all above; owned, with the texts of the tokens that it may name. */
    geodec_jinja *program;
    char *bos, *eos; /* NULL = none */
};

/* NULL after the last. */
const geodec_chat_template *geodec__chat_table(int i);

#endif
