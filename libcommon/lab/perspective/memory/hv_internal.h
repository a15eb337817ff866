/* Internal: the loops over all bits of a hypervector, one table for each instruction set. All give the same bits. */
#ifndef GEODEC_PERSPECTIVE_MEMORY_HV_INTERNAL_H
#define GEODEC_PERSPECTIVE_MEMORY_HV_INTERNAL_H

#include "lab/perspective/memory/hv.h"

enum {
    GEODEC__HV_TAIL = GEODEC_HV_BITS % 64, /* bits of the last word */
    GEODEC__HV_PADDING = GEODEC_HV_COUNTS - GEODEC_HV_BITS
};
#define GEODEC__HV_LAST ((UINT64_C(1) << GEODEC__HV_TAIL) - 1)

typedef struct geodec__hv_ops {
    const char *name;
    int32_t (*distance)(const uint64_t *a, const uint64_t *b);
    void (*add)(int16_t *count, const uint64_t *v);
    /* Padding of out is 0. */
    void (*majority)(const int16_t *count, const uint64_t *tie, uint64_t *out);
} geodec__hv_ops;
extern const geodec__hv_ops geodec__hv_scalar, geodec__hv_avx2, geodec__hv_avx512;
/* The best of this processor up to the set. AVX-512 needs VPOPCNTDQ. */
const geodec__hv_ops *geodec__hv_for(geodec_isa isa);

#endif
