/* Preloaded: clocks that step. FAULTS_CLOCK=hours: each reading of any clock is an hour before or after the true time
 * in turn. back, still: each reading of the clock of the day is a second before the one before it, or all are equal;
 * Linux never sets the other clocks. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static atomic_long readings;

int clock_gettime(clockid_t clock, struct timespec *t)
{
    const char *how = getenv("FAULTS_CLOCK");
    const long n = atomic_fetch_add(&readings, 1), result = syscall(SYS_clock_gettime, clock, t);
    if (!how || result != 0) return (int)result;
    if (strcmp(how, "hours") == 0) t->tv_sec += n % 2 ? 3600 : -3600;
    if (t->tv_sec < 0) t->tv_sec = 0;
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) return 0;
    if (strcmp(how, "back") == 0) *t = (struct timespec){1000000000 - n, 0};
    if (strcmp(how, "still") == 0) *t = (struct timespec){1000000000, 0};
    return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
    struct timespec now;
    (void)zone;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *t = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return 0;
}

time_t time(time_t *t)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (t) *t = now.tv_sec;
    return now.tv_sec;
}
