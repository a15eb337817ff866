/* Passes of several rows by several threads, a share of the rows to each.
 *
 * With weights that stay in the caches every operation of a pass is short, and handing each out costs more than it
 * saves. Here a thread takes its rows through all layers by itself; the threads meet once a layer, when all keys and
 * values of the batch are stored. Rows are computed as they are alone, so no bit depends on it.
 *
 * Only threads that are there at once become members: one that the system runs something else in the place of would
 * make the others wait at every meeting. */
#ifndef GEODEC_MODEL_TEAM_INTERNAL_H
#define GEODEC_MODEL_TEAM_INTERNAL_H

#include "model/model_internal.h"

#include <stdatomic.h>

typedef struct geodec__team {
    _Alignas(128) atomic_int arrived;
    _Alignas(128) atomic_int meetings;
    _Alignas(128) atomic_int joined; /* others than worker 0 that came, and whether the team is closed */
    atomic_int members;              /* 0 until it is */
} geodec__team;

/* Worker 0 waits a moment for the others and closes the team, which then has 1 .. wanted members. Number of the caller
 * among them, -1 for one that came too late. */
int geodec__team_join(geodec__team *t, int worker, int wanted);
/* Returns when all members have come. */
void geodec__team_meet(geodec__team *t);

/* Rows that every member should have for a team to be faster than operations handed out one by one: 1 where they are
 * short, 0 where the weights do not stay in the caches (never). */
int32_t geodec__team_rows(const geodec_model *m);
/* Members for a pass of n rows; 1: no team. */
int64_t geodec__team_members(const geodec_session *s, int64_t n);
/* The session as member `worker` sees it: rows first .. of the batch are its rows 0 .., work is done on its thread, and
 * what may be scribbled on is its own. Lives as long as the pass. */
geodec_session geodec__team_view(const geodec_session *s, geodec__team *t, int worker, int64_t first, int64_t rows);

#endif
