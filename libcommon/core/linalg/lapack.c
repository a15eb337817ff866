#include "linalg/lapack.h"

#include <cblas.h>
#include <gsl/gsl_errno.h>

void geodec_linalg_init(void)
{
    openblas_set_num_threads(1);
    (void)gsl_set_error_handler_off();
}

const char *geodec_linalg_core(void) { return openblas_get_corename(); }
