#include "recurrence/recurrence_internal.h"

#if defined(__AVX512F__)
#define VARIANT(name) name##_avx512
#include "recurrence/steps_body.h"

geodec__recurrence_fn *const geodec__recurrence_avx512 = run_avx512;
#else
/* Compiled without these instructions: never chosen. */
geodec__recurrence_fn *const geodec__recurrence_avx512 = 0;
#endif
