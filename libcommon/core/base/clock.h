/* Monotonic time, for speed reports only: no result depends on it. */
#ifndef GEODEC_BASE_CLOCK_H
#define GEODEC_BASE_CLOCK_H

#include "geodec/err.h"

/* Seconds since an arbitrary start. */
double geodec_clock_seconds(void);
/* CPU time of the calling thread, without the cost of reading the clock. Other processes do not affect it. Never
 * decreases. */
double geodec_clock_thread_seconds(void);
/* CPU time of all threads of the process. */
double geodec_clock_process_seconds(void);

#endif
