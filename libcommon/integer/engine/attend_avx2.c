#if defined(__AVX2__)
#define ATTEND geodec__engine_attend_avx2
#include "integer/engine/attend_body.h"
#else
typedef int geodec__engine_no_avx2; /* built for another architecture */
#endif
