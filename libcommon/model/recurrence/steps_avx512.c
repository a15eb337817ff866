#include "recurrence/recurrence_internal.h"

#if defined(__AVX512F__)
#define VARIANT(name) name##_avx512
#include "recurrence/steps_body.h"

const geodec__recurrence *const geodec__recurrence_avx512 = &steps_avx512;
#else
/* Compiled without these instructions: never chosen. */
const geodec__recurrence *const geodec__recurrence_avx512 = 0;
#endif
