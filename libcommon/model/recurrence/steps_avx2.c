#include "recurrence/recurrence_internal.h"

#if defined(__AVX2__)
#define VARIANT(name) name##_avx2
#include "recurrence/steps_body.h"

const geodec__recurrence *const geodec__recurrence_avx2 = &steps_avx2;
#else
/* Compiled without these instructions: never chosen. */
const geodec__recurrence *const geodec__recurrence_avx2 = 0;
#endif
