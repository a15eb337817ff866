#include "base/clock.h"

#include <pthread.h>
#include <time.h>

enum { BATCH = 200, BATCHES = 10 };

static double read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double geodec_clock_seconds(void) { return read_clock(CLOCK_MONOTONIC); }
double geodec_clock_process_seconds(void) { return read_clock(CLOCK_PROCESS_CPUTIME_ID); }

static double reading; /* cost of one reading of the thread's clock, s */

/* Uses the fastest batch, since the others were interrupted. */
static void measure_reading(void)
{
    for (int b = 0; b < BATCHES; b++) {
        const double begin = read_clock(CLOCK_THREAD_CPUTIME_ID);
        double end = begin;
        for (int i = 0; i < BATCH; i++) end = read_clock(CLOCK_THREAD_CPUTIME_ID);
        const double each = (end - begin) / BATCH;
        if (b == 0 || each < reading) reading = each;
    }
}

double geodec_clock_thread_seconds(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static _Thread_local double spent, last;
    (void)pthread_once(&once, measure_reading);
    const double net = read_clock(CLOCK_THREAD_CPUTIME_ID) - spent;
    spent += reading;
    if (net > last) last = net; /* a reading can cost less than the calibrated cost */
    return last;
}
