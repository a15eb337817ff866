#include "decode/replay.h"

#include "base/mem.h"

#include <string.h>

enum { ROWS = GEODEC_REPLAY_ROWS };

geodec_status geodec_replay_init(geodec_replay *r, int32_t d_state, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    *r = (geodec_replay){.d_state = d_state};
    if (d_state > 0) GEODEC_NEW(r->state, (int64_t)ROWS * d_state);
done:
    return st;
}

void geodec_replay_free(geodec_replay *r)
{
    geodec_mem_free(r->state);
    r->state = NULL;
}

void geodec_replay_clear(geodec_replay *r) { r->n = r->kept = 0; }

void geodec_replay_add(geodec_replay *r, int32_t token, int32_t argmax, const float *state)
{
    const int64_t at = r->n++ % ROWS;
    if (r->kept < ROWS) r->kept++;
    r->token[at] = token;
    r->argmax[at] = argmax;
    if (r->state) memcpy(r->state + at * r->d_state, state, (size_t)r->d_state * sizeof *state);
}

void geodec_replay_skip(geodec_replay *r, int64_t n)
{
    r->n += n;
    r->kept = 0;
}

geodec_status geodec_replay_catch_up(const geodec_replay *r, geodec_replay_place *at, geodec_drafter *d, int64_t most,
                                     int64_t restart, geodec_err *err)
{
    const int64_t first = r->n - r->kept;
    const bool restarts = at->shown < first || r->n - at->shown > most;
    if (restarts || at->stale) {
        at->stale = false;
        GEODEC_PASS(geodec_drafter_begin(d, err));
    }
    if (restarts) at->shown = first > r->n - restart ? first : r->n - restart;
    while (at->shown < r->n) { /* in runs that do not wrap around the ring */
        const int64_t row = at->shown % ROWS, left = r->n - at->shown, run = left < ROWS - row ? left : ROWS - row;
        const geodec_draft_rows rows = {.n = run,
                                        .token = r->token + row,
                                        .argmax = r->argmax + row,
                                        .state = r->state ? r->state + row * r->d_state : NULL};
        GEODEC_PASS(geodec_drafter_observe(d, &rows, err));
        at->shown += run;
    }
    return GEODEC_OK;
}
