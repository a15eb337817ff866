/* Internal: the format of traces. */
#ifndef GEODEC_STREAMING_TRACE_INTERNAL_H
#define GEODEC_STREAMING_TRACE_INTERNAL_H

#include "streaming/trace.h"

#define GEODEC__TRACE_MAGIC "GEXTRACE"
enum {
    GEODEC__TRACE_VERSION = 2,     /* of a run without differences */
    GEODEC__TRACE_DIFFERENCES = 3, /* the head also has them; a read names its own; three more totals */
    GEODEC__TRACE_EDGE = 28,       /* bytes of one: layer, a, b, u64 bytes, f32 below, 0 */
    GEODEC__TRACE_EDGES_MAX = 1 << 22,
    GEODEC__TRACE_BEFORE = 16, /* magic, version, bytes of the head */
    GEODEC__TRACE_OPTIONS = 36,
    GEODEC__TRACE_COUNTERS = 13,
    GEODEC__TRACE_TOTALS = (GEODEC__TRACE_COUNTERS + 2 + 3) * 8,
    GEODEC__TRACE_MORE = 3 * 8, /* of the totals of a run with differences */
    /* bytes of calls: the names of slots.h, then */
    GEODEC__TRACE_TIME = 9,
    GEODEC__TRACE_END = 10
};

static inline void geodec__trace_put32(uint8_t *to, uint32_t v)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(v >> (8 * i));
}
static inline void geodec__trace_put64(uint8_t *to, uint64_t v)
{
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(v >> (8 * i));
}
static inline uint32_t geodec__trace_get32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}
static inline uint64_t geodec__trace_get64(const uint8_t *p)
{
    return (uint64_t)geodec__trace_get32(p) | (uint64_t)geodec__trace_get32(p + 4) << 32;
}
static inline uint32_t geodec__trace_bits(float f)
{
    union {
        float f;
        uint32_t u;
    } x = {.f = f};
    return x.u;
}
static inline float geodec__trace_float(uint32_t u)
{
    union {
        uint32_t u;
        float f;
    } x = {.u = u};
    return x.f;
}

#endif
