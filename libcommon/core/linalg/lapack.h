/* Start-up of the numerical libraries. Checked LAPACK calls are in eig.h, chol.h, svd.h and expm.h. */
#ifndef GEODEC_LINALG_LAPACK_H
#define GEODEC_LINALG_LAPACK_H

#include "base/err.h"

/* Sets one BLAS thread (results must not depend on BLAS threads; Geodec parallelises outside BLAS) and disables GSL's
 * aborting error handler. Idempotent; tools and tests call it once at start-up. */
void geodec_linalg_init(void);
/* Name of OpenBLAS's kernel family on this CPU, e.g. "SkylakeX": recorded in results, since last bits depend on it. */
const char *geodec_linalg_core(void);

#endif
