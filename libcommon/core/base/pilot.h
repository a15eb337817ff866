/* Pilot runs: what an item of a stage takes, from the stage itself on a few of its items.
 *
 * Times are processor seconds of the process, so that other work on the machine does not count. A trial of m items
 * takes fixed + m item; both follow from the two longest trials. */
#ifndef GEODEC_BASE_PILOT_H
#define GEODEC_BASE_PILOT_H

#include "base/err.h"
#include "base/hooks.h"

#include <stdbool.h>
#include <stdint.h>

/* Runs the stage on `items` of its items, which should represent all. */
typedef geodec_status (*geodec_pilot_fn)(void *ctx, int64_t items, geodec_err *err);

typedef struct geodec_pilot {
    int64_t items;      /* of the longest trial */
    double fixed, item; /* processor seconds of a trial without items, and of an item */
    double spent;       /* processor seconds of all trials */
} geodec_pilot;

/* Trials of `least` items, then of more, up to `most`, until they have taken `budget` processor seconds; the last one
 * may exceed it by as much again. 1 <= least <= most. The errors of fn. */
geodec_status geodec_pilot_run(geodec_pilot_fn fn, void *ctx, int64_t least, int64_t most, double budget,
                               geodec_pilot *out, geodec_err *err) GEODEC_MUST_USE;

/* A stage that is begun with all its items, and stopped. Its hooks are those of geodec_pilot_watch_hooks; the call ends
 * with GEODEC_INTERRUPTED, or is complete. Only reports whose text is `what` count. */
typedef struct geodec_pilot_watch {
    const char *what;
    double budget;             /* processor seconds from the first report on */
    const geodec_hooks *hooks; /* of the tool: a stop that the user wants; NULL: none */
    bool asked;                /* the user wants to stop */
    double begun, begin, end;  /* processor time: of the watch, of the first report and of the last */
    int64_t first, done, total;
} geodec_pilot_watch;
geodec_hooks geodec_pilot_watch_hooks(geodec_pilot_watch *w, const char *what, double budget,
                                      const geodec_hooks *hooks);
/* Processor seconds before the first report, and expected from the first report to the end. Call it when the stage has
 * returned. */
void geodec_pilot_watch_result(const geodec_pilot_watch *w, double *before, double *rest);

#endif
