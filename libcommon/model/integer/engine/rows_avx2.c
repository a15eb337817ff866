#if defined(__AVX2__)
#define ROWS geodec__rows_avx2
#include "integer/engine/rows_body.h"
#else
typedef int geodec__rows_no_avx2; /* built for another architecture */
#endif
