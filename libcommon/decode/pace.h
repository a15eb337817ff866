/* Times of the parts of a round as the loop measures them, in one-row passes: a pass by its width, asking the drafter,
 * the rest. The initial costs (decode/cost.h) come from a few passes on an idle machine; the loop's own times correct
 * them. Times are first divided by the machine's present slowdown, so that a change of speed is not taken for a change
 * of a cost. */
#ifndef GEODEC_DECODE_PACE_H
#define GEODEC_DECODE_PACE_H

#include "decode/cost.h"
#include "decode/drafter.h"

#include <stdint.h>

/* Time of an ask, in passes: a moving average in which single long ones are limited. */
typedef struct geodec_pace_asking {
    double mean; /* < 0: no ask was timed */
    int64_t n;   /* asks in it after the first */
} geodec_pace_asking;

typedef struct geodec_pace {
    geodec_cost cost; /* c, o, o_plain: as measured in the loop, once they are */
    double slow;      /* time of a pass now over that of `cost` */
    /* Time of a pass of several rows over its v: of all widths, and of each measured width (0: not measured). */
    double wide, width[GEODEC_DRAFT_MAX + 2];
    int64_t met[GEODEC_DRAFT_MAX + 2]; /* number of measurements of each; [0]: of any */
    int64_t rounds, narrow;            /* rounds so far; the last of one row */
    geodec_pace_asking asking;
} geodec_pace;

GEODEC_API void geodec_pace_init(geodec_pace *p, const geodec_cost *cost);
/* Times of a round of `sent` drafts, in passes of cost.seconds: asking (0: the drafter was not asked), the pass, the
 * rest. */
GEODEC_API void geodec_pace_observe(geodec_pace *p, int32_t sent, double asking, double pass, double rest);
/* One more ask of `passes`. first: value of the first ask, which is longer than the others (cold caches). */
GEODEC_API void geodec_pace_asked(geodec_pace_asking *a, double passes, double first);

/* Expected time of a pass over b rows. */
GEODEC_API double geodec_pace_pass(const geodec_pace *p, int32_t b);
/* Of a round without asking and without drafts; 1 when p is NULL. */
GEODEC_API double geodec_pace_plain(const geodec_pace *p);
/* Of a round that sends n drafts, without asking for them; 1 when p is NULL. */
GEODEC_API double geodec_pace_round(const geodec_pace *p, int32_t n);
/* Seconds of a one-row pass at the machine's present speed; 0 = not known, or p is NULL. */
GEODEC_API double geodec_pace_seconds(const geodec_pace *p);

#endif
