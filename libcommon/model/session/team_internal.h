/* Passes of several rows by several threads, a share of the rows to each.
 *
 * With weights in the caches every operation of a pass is short, and dispatching each costs more than it saves. Here a
 * thread computes its rows through all layers by itself; the threads synchronise once a layer, when all keys and values
 * of the batch are stored. Each row is computed independently, so no bit depends on the team.
 *
 * Only threads that arrive at once become members: a descheduled thread would delay all others at every barrier. */
#ifndef GEODEC_MODEL_TEAM_INTERNAL_H
#define GEODEC_MODEL_TEAM_INTERNAL_H

#include "session/model_internal.h"

#include <stdatomic.h>

typedef struct geodec__team {
    _Alignas(128) atomic_int arrived;
    _Alignas(128) atomic_int meetings;
    _Alignas(128) atomic_int joined; /* members besides worker 0, and whether the team is closed */
    atomic_int members;              /* 0 until closed */
} geodec__team;

/* Worker 0 waits briefly for the others and closes the team, which then has 1 .. wanted members. Returns the caller's
 * number, -1 for a late one. */
int geodec__team_join(geodec__team *t, int worker, int wanted);
/* A barrier for all members. */
void geodec__team_meet(geodec__team *t);

/* Rows per member from which a team is faster than dispatching each operation: 1 for short operations, 0 (never) when
 * the weights do not fit the caches. */
int32_t geodec__team_rows(const geodec_model *m);
/* Number of members for a pass of n rows; 1: no team. */
int64_t geodec__team_members(const geodec_session *s, int64_t n);
/* The session as seen by member `worker`: rows first .. of the batch are its rows 0 .., work runs on its thread with
 * its own scratch. Valid during the pass. */
geodec_session geodec__team_view(const geodec_session *s, geodec__team *t, int worker, int64_t first, int64_t rows);

#endif
