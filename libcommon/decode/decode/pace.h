/* Times of the parts of a round as measured in the loop, in one-row passes: the pass by its width, asking the drafter,
 * and the rest. The initial costs (decode/cost.h) come from a few passes on an idle machine; the times of the loop
 * correct them. Times are first divided by the current slowdown of the machine, so that a change of its speed is not
 * mistaken for a change of a cost. */
#ifndef GEODEC_DECODE_PACE_H
#define GEODEC_DECODE_PACE_H

#include "decode/cost.h"
#include "decode/drafter.h"

#include <stdint.h>

/* Time of an ask, in passes: a moving average that limits single long asks. */
typedef struct geodec_pace_asking {
    double mean; /* < 0: no ask was timed */
    int64_t n;   /* number of asks in the mean after the first */
} geodec_pace_asking;

typedef struct geodec_pace {
    geodec_cost cost; /* c, o, o_plain: replaced by the values measured in the loop */
    double slow;      /* current time of a pass relative to `cost` */
    /* Time of a pass of several rows relative to its v: over all widths, and for each measured width (0: not
     * measured). */
    double wide, width[GEODEC_DRAFT_MAX + 2];
    int64_t met[GEODEC_DRAFT_MAX + 2]; /* number of measurements of each width; [0]: of all */
    int64_t rounds, narrow;            /* rounds so far; the last round with one row */
    geodec_pace_asking asking;
} geodec_pace;

void geodec_pace_init(geodec_pace *p, const geodec_cost *cost);
/* Adds the times of a round of `sent` drafts, in units of cost.seconds: asking (0: the drafter was not asked), the
 * pass, the rest. */
void geodec_pace_observe(geodec_pace *p, int32_t sent, double asking, double pass, double rest);
/* Adds an ask that took `passes`. first: value to use for the first ask, which takes longer than the others (cold
 * caches). */
void geodec_pace_asked(geodec_pace_asking *a, double passes, double first);

/* Expected time of a pass over b rows. */
double geodec_pace_pass(const geodec_pace *p, int32_t b);
/* Expected time of a round without asking and without drafts; 1 when p is NULL. */
double geodec_pace_plain(const geodec_pace *p);
/* Expected time of a round that sends n drafts, without asking for them; 1 when p is NULL. */
double geodec_pace_round(const geodec_pace *p, int32_t n);
/* Seconds of a one-row pass at the current speed of the machine; 0 = not known, or p is NULL. */
double geodec_pace_seconds(const geodec_pace *p);

#endif
