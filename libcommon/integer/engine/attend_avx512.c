#if defined(__AVX512DQ__)
#define ATTEND geodec__engine_attend_avx512
#include "integer/engine/attend_body.h"
#else
typedef int geodec__engine_no_avx512; /* built for another architecture */
#endif
