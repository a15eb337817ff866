/* Start-up of the numerical libraries; checked LAPACK calls are in eig.h, chol.h, svd.h, expm.h. */
#ifndef GEODEC_LINALG_LAPACK_H
#define GEODEC_LINALG_LAPACK_H

#include "base/err.h"

/* One BLAS thread (Geodec parallelises outside BLAS; results must not depend on BLAS threads) and GSL's aborting error
 * handler off. Idempotent; tools and tests call it once at start-up. */
GEODEC_API void geodec_linalg_init(void);
/* Name of OpenBLAS's kernel family on this CPU, e.g. "SkylakeX": recorded in results, since last bits depend on it. */
GEODEC_API const char *geodec_linalg_core(void);

#endif
