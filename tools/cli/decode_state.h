/* geodec-decode --state: a text that goes on in another run. */
#ifndef GEODEC_TOOLS_CLI_DECODE_STATE_H
#define GEODEC_TOOLS_CLI_DECODE_STATE_H

#include "cli/cli.h"
#include "decode/drafter.h"
#include "decode/loop.h"
#include "session/session_state.h"

typedef struct decode_state {
    const char *path;
    geodec_session *session;
    geodec_session_text text; /* the prompt, then what was generated */
    int64_t room;
    int64_t before; /* tokens that earlier runs generated */
    bool found;     /* there was a file that fits */
    bool failed;    /* no memory for a token: nothing is saved */
    int (*emit)(void *ctx, int32_t token);
    void *ctx;
} decode_state;

/* prompt [n]: of the command line, `given` if it names one. Takes the text of the file, if there is one that fits and
 * begins with the prompt; else that of the prompt, with a warning if there is a file. A path NULL: nothing. Errors of a
 * file that cannot be read, and of a text that does not fit in the context. */
geodec_status decode_state_begin(decode_state *d, const cli *c, const int32_t *prompt, int64_t n, bool given,
                                 geodec_err *err) GEODEC_MUST_USE;
/* Shows the drafter the tokens in the cache; without states of them for a drafter that needs these, the text is read
 * again. Sets o->cached and o->before. */
geodec_status decode_state_options(decode_state *d, geodec_drafter *drafter, geodec_decode_options *o,
                                   geodec_err *err) GEODEC_MUST_USE;
/* In place of emit and its context: also notes the token. ctx: a decode_state. */
int decode_state_emit(void *ctx, int32_t token);
/* After a run that ended with st, GEODEC_OK or GEODEC_INTERRUPTED; nothing is saved after others. */
geodec_status decode_state_end(decode_state *d, const cli *c, geodec_status st, geodec_err *err) GEODEC_MUST_USE;
void decode_state_clear(decode_state *d);

#endif
