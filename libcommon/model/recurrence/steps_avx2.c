#include "recurrence/recurrence_internal.h"

#if defined(__AVX2__)
#define VARIANT(name) name##_avx2
#include "recurrence/steps_body.h"

geodec__recurrence_fn *const geodec__recurrence_avx2 = run_avx2;
#else
/* Compiled without these instructions: never chosen. */
geodec__recurrence_fn *const geodec__recurrence_avx2 = 0;
#endif
