/* Policies of eviction: which ready blob leaves when a slot is needed. One table; help texts and choices come from it.
 */
#ifndef GEODEC_STREAMING_EVICTION_H
#define GEODEC_STREAMING_EVICTION_H

#include "geodec/err.h"
#include "geodec/streaming.h"

#include <stdint.h>

const char *geodec_eviction_name(geodec_eviction e);
/* GEODEC_EVICTION_KINDS for an unknown name. */
geodec_eviction geodec_eviction_named(const char *name);

/* Belady: the pass, from the current one on, in which the expert is needed next; INT64_MAX: never again. */
typedef int64_t geodec_eviction_next(void *ctx, int32_t layer, int32_t expert);

#endif
