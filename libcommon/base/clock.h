/* Monotonic time, for speed reports only: no result ever depends on it. */
#ifndef GEODEC_BASE_CLOCK_H
#define GEODEC_BASE_CLOCK_H

#include "base/status.h"

/* Seconds since an arbitrary start. */
GEODEC_API double geodec_clock_seconds(void);
/* CPU time of the calling thread: what a single-threaded piece of work took, whatever else the machine was doing. What
 * the readings themselves take is not counted. Never decreases. */
GEODEC_API double geodec_clock_thread_seconds(void);

#endif
