/* A bounded queue between two threads, without locks: one thread pushes, one thread pops. */
#ifndef GEODEC_STREAMING_RING_QUEUE_H
#define GEODEC_STREAMING_RING_QUEUE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct geodec_ring geodec_ring;
/* Room for at least `least` elements (>= 1) of `size` bytes each. */
geodec_status geodec_ring_create(int32_t least, size_t size, geodec_ring **out, geodec_err *err) GEODEC_MUST_USE;
void geodec_ring_destroy(geodec_ring *r); /* NULL ok */

/* Copies the element in; false: full. What the producer wrote before, the consumer of the element sees. */
bool geodec_ring_push(geodec_ring *r, const void *element) GEODEC_MUST_USE;
/* Copies the oldest element out; false: empty. */
bool geodec_ring_pop(geodec_ring *r, void *element) GEODEC_MUST_USE;
/* For the consumer: whether pop would return false. */
bool geodec_ring_empty(const geodec_ring *r);

#endif
