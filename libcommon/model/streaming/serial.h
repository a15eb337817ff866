/* A serial disk on a virtual clock: one read at a time; demands first, in the order of arrival, then prefetches, those
 * of more worth first. What goes before interrupts a prefetch, which goes on where it stopped. Of the simulator
 * (simulate.h) and of the throttle (disk.h).
 *
 * Times are seconds on the caller's clock and may not go back; a read may arrive a little before the last one that was
 * asked for. A slot names at most one read. */
#ifndef GEODEC_STREAMING_SERIAL_H
#define GEODEC_STREAMING_SERIAL_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct geodec_serial geodec_serial;
geodec_status geodec_serial_create(int32_t n_slots, geodec_serial **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_serial_destroy(geodec_serial *s); /* NULL ok */

/* A read of so many seconds arrives; a slot that has a read keeps it. worth: of a prefetch. */
void geodec_serial_put(geodec_serial *s, int32_t slot, bool demand, float worth, double at, double seconds);
/* A prefetch becomes the last of the demands. */
void geodec_serial_hurry(geodec_serial *s, int32_t slot, double at);
/* Ends a read early. Returns the seconds that it was served. */
double geodec_serial_drop(geodec_serial *s, int32_t slot, double at);
/* Serves until a read ends, at the latest until `until`. Returns its slot, and the time of its end; -1: none ended. */
int32_t geodec_serial_next(geodec_serial *s, double until, double *at);
/* When the next read ends if none arrives; INFINITY: there is none. */
double geodec_serial_when(const geodec_serial *s);
/* Seconds served. */
double geodec_serial_busy(const geodec_serial *s);

#endif
