/* The last rows of a text, kept for drafters that are currently not asked. Before a drafter is asked again, it is shown
 * the rows it missed or, after a long suspension, the last few rows as a new text. Any number of drafters share one
 * ring; each has its own position in the text. */
#ifndef GEODEC_DECODE_REPLAY_H
#define GEODEC_DECODE_REPLAY_H

#include "decode/drafter.h"

#include <stdbool.h>
#include <stdint.h>

/* Rows kept: twice the widest pass, so that one round never overwrites a row of the round before. */
enum { GEODEC_REPLAY_ROWS = 2 * (GEODEC_DRAFT_MAX + 1) };

typedef struct geodec_replay {
    int64_t n;    /* rows of the text so far */
    int64_t kept; /* number of last rows kept, at most GEODEC_REPLAY_ROWS: row i is at i % GEODEC_REPLAY_ROWS */
    int32_t token[GEODEC_REPLAY_ROWS], argmax[GEODEC_REPLAY_ROWS];
    int32_t d_state; /* 0 = states are not kept */
    float *state;    /* [GEODEC_REPLAY_ROWS][d_state], owned */
} geodec_replay;

/* A drafter's position in the text. */
typedef struct geodec_replay_place {
    int64_t shown; /* rows shown so far */
    bool stale;    /* the drafter has not started this text */
} geodec_replay_place;

/* An empty ring; d_state 0 = without states. GEODEC_NOMEM. */
geodec_status geodec_replay_init(geodec_replay *r, int32_t d_state, geodec_err *err) GEODEC_MUST_USE;
void geodec_replay_free(geodec_replay *r); /* all zero is allowed */
/* Forgets the rows; the next one is row 0. */
void geodec_replay_clear(geodec_replay *r);
/* Appends a row, in place of the oldest when the ring is full. state [d_state], NULL without states. */
void geodec_replay_add(geodec_replay *r, int32_t token, int32_t argmax, const float *state);
/* Advances by n rows that are not kept; all rows before them are dropped. */
void geodec_replay_skip(geodec_replay *r, int64_t n);
/* Shows the drafter all rows after its position. If one of them is no longer kept, or the drafter missed more than
 * `most`, it starts again with the last `restart` of the kept rows. */
geodec_status geodec_replay_catch_up(const geodec_replay *r, geodec_replay_place *at, geodec_drafter *d, int64_t most,
                                     int64_t restart, geodec_err *err) GEODEC_MUST_USE;

#endif
